//! The memory that is shared with the program: layout.h describes it, with the same numbers.

use crate::record::time;
use anyhow::{Context, Result};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::ftruncate;
use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = 0x3164_726f_6365_7231;
pub const RING_COUNT: usize = 1024;
pub const RING_BYTES: usize = 1 << 20;
const RING_WORDS: u64 = (RING_BYTES / 8) as u64;
const HEADERS_OFFSET: usize = 4096;
const HEADER_BYTES: usize = 256;
const SHARED_BYTES: usize = RING_BYTES * (RING_COUNT + 1);
/// The calls of a stack that are recorded.
const FRAMES_MAX: u32 = 64;

/// As `struct record_common` has it.
#[repr(C)]
pub struct Common {
    magic: u64,
    start: u64,
    command: u32,
    program: AtomicU32,
    has_counter: u32,
    frames: u32,
    pub stop: AtomicU32,
    images: AtomicU32,
    pub rings: AtomicU32,
    pub refused: AtomicU32,
    pub left_out: AtomicU32,
}

pub const RING_FREE: u32 = 0;
pub const RING_USED: u32 = 2;
/// Of a process that is about to end.
pub const WAITS_TO_BE_LOOKED_AT: u32 = 1;
pub const IS_LOOKED_AT: u32 = 2;

/// As `struct record_header` has it.
#[repr(C)]
pub struct RingHeader {
    pub state: AtomicU32,
    /// These three are the thread's until `state` is RING_USED, and do not change then.
    pub image: AtomicU32,
    pub process: AtomicU32,
    pub thread: AtomicU32,
    pub ending: AtomicU32,
    pad0: [u8; 44],
    pub head: AtomicU64,
    pub time: AtomicU64,
    pad1: [u8; 48],
    pub tail: AtomicU64,
    pad2: [u8; 120],
}

pub struct Shared {
    file: OwnedFd,
    start: NonNull<u8>,
}

impl Shared {
    pub fn new(has_stacks: bool) -> Result<Shared> {
        let cannot = "cannot make memory to share with the program";
        let file = memfd_create(c"loam-record", MFdFlags::MFD_CLOEXEC).context(cannot)?;
        ftruncate(&file, SHARED_BYTES as libc::off_t).context(cannot)?;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new mapping, of a file that nobody else can make shorter before it is gone.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), SHARED_BYTES, protection, flags, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).context(cannot);
        }
        let start = NonNull::new(start.cast::<u8>()).context(cannot)?;
        let has_counter = time::has_counter();
        let common = Common {
            magic: MAGIC,
            start: time::counter(has_counter),
            command: std::process::id(),
            program: AtomicU32::new(0),
            has_counter: u32::from(has_counter),
            frames: if has_stacks { FRAMES_MAX } else { 0 },
            stop: AtomicU32::new(0),
            images: AtomicU32::new(0),
            rings: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            left_out: AtomicU32::new(0),
        };
        // SAFETY: the mapping begins with it, is large enough, and nobody else has it yet.
        unsafe { start.cast::<Common>().write(common) };
        Ok(Shared { file, start })
    }

    /// Where the recorder opens it. It is not inherited: programs close what they do not know.
    pub fn path(&self) -> OsString {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    pub fn common(&self) -> &Common {
        // SAFETY: `new` has put one there; what others change in it is atomic.
        unsafe { self.start.cast::<Common>().as_ref() }
    }

    pub fn time(&self) -> time::Time {
        time::Time::new(self.has_counter(), self.common().start)
    }

    fn has_counter(&self) -> bool {
        self.common().has_counter != 0
    }

    pub fn has_stacks(&self) -> bool {
        self.common().frames != 0
    }

    pub fn set_program(&self, process: u32) {
        self.common().program.store(process, Ordering::Relaxed);
    }

    pub fn header(&self, number: usize) -> &RingHeader {
        assert!(number < RING_COUNT);
        // SAFETY: within the mapping, all of whose bytes are a valid header, and all in it that
        // others change is atomic.
        unsafe {
            self.start.add(HEADERS_OFFSET + number * HEADER_BYTES).cast::<RingHeader>().as_ref()
        }
    }

    /// A word of a ring. The thread writes it before it moves its head beyond it.
    pub fn word(&self, number: usize, position: u64) -> u64 {
        assert!(number < RING_COUNT);
        let at = RING_BYTES * (number + 1) + (position % RING_WORDS) as usize * 8;
        // SAFETY: within the mapping, and a number whatever it is.
        unsafe { self.start.add(at).cast::<AtomicU64>().as_ref() }.load(Ordering::Relaxed)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `new` has mapped it, and what refers to it lives no longer than this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), SHARED_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn both_sides_have_one_layout() {
        assert_eq!(size_of::<RingHeader>(), HEADER_BYTES);
        assert_eq!((offset_of!(RingHeader, ending), offset_of!(RingHeader, head)), (16, 64));
        assert_eq!((offset_of!(RingHeader, time), offset_of!(RingHeader, tail)), (72, 128));
        assert_eq!((offset_of!(Common, stop), offset_of!(Common, left_out)), (32, 48));
        let header = include_str!("layout.h");
        let defines = |name: &str, value: &str| {
            assert!(header.contains(&format!("#define {name} {value}\n")))
        };
        defines("RECORD_MAGIC", &format!("{MAGIC:#x}u"));
        defines("RING_COUNT", &RING_COUNT.to_string());
        defines("HEADERS_OFFSET", &HEADERS_OFFSET.to_string());
        defines("HEADER_BYTES", &HEADER_BYTES.to_string());
        defines("FRAMES_MAX", &FRAMES_MAX.to_string());
    }
}
