//! What was stripped off a file, as the file names it (.gnu_debuglink, as gdb's manual has it under
//! "Debugging Information in Separate Files").

use flate2::Crc;
use object::{File, Object, ReadCache};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// `None` if the file names none, or there is none with the checksum.
pub fn file_of(stripped: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(std::fs::File::open(stripped).ok()?);
    let file = File::parse(&cache).ok()?;
    let (name, checksum) = file.gnu_debuglink().ok()??;
    let name = Path::new(OsStr::from_bytes(name));
    let folder = stripped.canonicalize().ok()?.parent()?.to_owned();
    let of_system = Path::new("/usr/lib/debug").join(folder.strip_prefix("/").ok()?);
    let mut places =
        [folder.join(name), folder.join(".debug").join(name), of_system.join(name)].into_iter();
    places.find(|path| path.is_file() && checksum_of(path) == Some(checksum))
}

fn checksum_of(path: &Path) -> Option<u32> {
    const PART_BYTES: usize = 1 << 16;
    let mut file = std::fs::File::open(path).ok()?;
    let (mut checksum, mut part) = (Crc::new(), vec![0; PART_BYTES]);
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(checksum.sum()),
            count => checksum.update(&part[..count]),
        }
    }
}
