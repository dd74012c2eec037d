//! loam's options while the program runs.

use core::ffi::{CStr, c_char, c_int};
use core::{fmt, ptr};

unsafe extern "C" {
    fn loam_control(
        name: *const c_char,
        get: *mut c_char,
        get_size: usize,
        set: *const c_char,
    ) -> c_int;
}

/// The errnos of `loam_control`, which are the same on all systems that loam is for.
const EPERM: c_int = 1;
const ENOENT: c_int = 2;
const EINVAL: c_int = 22;

/// Why an option was not told or not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no such option.
    Unknown,
    /// It is read when the program starts, and not set later.
    OnlyAtStart,
    /// It does not take this value.
    BadValue,
    /// The buffer has no room for the value.
    NoRoom,
}

impl fmt::Display for OptionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unknown => "there is no such option",
            Self::OnlyAtStart => "the option is only read at start",
            Self::BadValue => "the option does not take this value",
            Self::NoRoom => "there is no room for the option's value",
        })
    }
}

impl core::error::Error for OptionError {}

fn check(error: c_int) -> Result<(), OptionError> {
    match error {
        0 => Ok(()),
        EPERM => Err(OptionError::OnlyAtStart),
        ENOENT => Err(OptionError::Unknown),
        EINVAL => Err(OptionError::BadValue),
        _ => Err(OptionError::NoRoom),
    }
}

/// What an option's value is, as `LOAM_OPTIONS` would have it; 1024 bytes are enough for any that is
/// UTF-8.
///
/// ```
/// let mut buffer = [0; 1024];
/// assert_eq!(loam_malloc::option(c"purge_delay_ms", &mut buffer), Ok("500"));
/// ```
pub fn option<'a>(name: &CStr, buffer: &'a mut [u8]) -> Result<&'a str, OptionError> {
    // SAFETY: the name ends with a zero, and no more is written than the buffer has.
    check(unsafe {
        loam_control(name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len(), ptr::null())
    })?;
    let value = CStr::from_bytes_until_nul(buffer).map_err(|_| OptionError::NoRoom)?;
    value.to_str().map_err(|_| OptionError::NoRoom)
}

/// Sets an option from here on, in all threads. Not all can be: `docs/tuning.md` says which.
///
/// ```
/// use loam_malloc::{OptionError, set_option};
///
/// set_option(c"purge_delay_ms", c"2000")?;
/// assert_eq!(set_option(c"purge_delay_ms", c"soon"), Err(OptionError::BadValue));
/// assert_eq!(set_option(c"stats", c"text"), Err(OptionError::OnlyAtStart));
/// # Ok::<(), OptionError>(())
/// ```
pub fn set_option(name: &CStr, value: &CStr) -> Result<(), OptionError> {
    // SAFETY: both texts end with a zero, and nothing is to be written.
    check(unsafe { loam_control(name.as_ptr(), ptr::null_mut(), 0, value.as_ptr()) })
}
