//! How a program starts: finding it as execvp(3) does, following scripts to the ELF program that
//! really runs, and the environment that preloads loam.

use crate::binary::elf::Image;
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND, in_one_line, reason, reason_of_errno};
use nix::unistd::{AccessFlags, access};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The ELF program that a command line ends up running.
pub struct Target {
    pub path: PathBuf,
    /// The arguments that start it directly, its own name first.
    pub argv: Vec<OsString>,
    /// `None` if the file is neither ELF nor a script, or may be executed but not read.
    pub image: Option<Image>,
    /// Why there is no image, where the file could not be read.
    pub unreadable: Option<String>,
}

/// Scripts may be run by scripts; Linux follows this many.
const SCRIPT_DEPTH_MAX: u32 = 5;

/// Finds the file that a name stands for: a path if it holds a slash, else searched in PATH.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return check_executable(&path).map(|()| path);
    }
    if name.is_empty() {
        return Err(Failure::new(NOT_FOUND, "cannot run a program without a name"));
    }
    let search_path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut denied = None;
    for folder in std::env::split_paths(&search_path) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let path = folder.join(name);
        match check_executable(&path) {
            Ok(()) => return Ok(path),
            Err(failure) if failure.status == NOT_EXECUTABLE => {
                denied.get_or_insert(failure);
            }
            _ => {}
        }
    }
    Err(denied.unwrap_or_else(|| {
        Failure::new(NOT_FOUND, format!("{}: not found in PATH", name.display()))
    }))
}

fn check_executable(path: &Path) -> Result<(), Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let shown = path.display();
    let metadata = path.metadata().map_err(|cause| {
        let is_missing = matches!(cause.kind(), NotFound | NotADirectory);
        let status = if is_missing { NOT_FOUND } else { NOT_EXECUTABLE };
        Failure::new(status, format!("cannot run {shown}: {}", reason(&cause)))
    })?;
    if metadata.is_dir() {
        return Err(Failure::new(NOT_EXECUTABLE, format!("cannot run {shown}: is a directory")));
    }
    access(path, AccessFlags::X_OK)
        .map_err(|errno| Failure::new(NOT_EXECUTABLE, cannot_run(path, &reason_of_errno(errno))))
}

/// The line for what is there and cannot be run. A program of another system says so itself.
pub fn cannot_run(path: &Path, why: &str) -> String {
    let shown = path.display();
    if is_for_windows(path) {
        return format!("{shown} is a program for Windows, which cannot be run here");
    }
    match Image::read(path) {
        Ok(Some(image)) if image.is_library => {
            format!("{shown} is a shared library, not a program")
        }
        _ => format!("cannot run {shown}: {why}"),
    }
}

pub fn is_for_windows(path: &Path) -> bool {
    let mut magic = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"MZ"
}

/// Follows scripts to the program that runs in the end.
pub fn resolve(path: &Path, arguments: &[OsString]) -> Result<Target, Failure> {
    let mut path = path.to_path_buf();
    let mut argv = arguments.to_vec();
    for _ in 0..SCRIPT_DEPTH_MAX {
        let Some(line) = script_line(&path) else { break };
        argv[0] = path.clone().into();
        let script = path;
        (path, argv) = interpreter(&line, argv).map_err(|failure| {
            let text =
                format!("{}: in its first line: {}", script.display(), in_one_line(&failure.cause));
            Failure::new(failure.status, text)
        })?;
    }
    let (image, unreadable) = match Image::read(&path) {
        Ok(image) => (image, None),
        Err(cause) => (None, Some(in_one_line(&cause))),
    };
    Ok(Target { path, argv, image, unreadable })
}

/// What stands behind `#!` in a script's first line, as much as Linux reads of it.
fn script_line(path: &Path) -> Option<Vec<u8>> {
    const LINE_MAX_BYTES: u64 = 255;
    let mut start = Vec::new();
    File::open(path).ok()?.take(LINE_MAX_BYTES).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    Some(line.trim_ascii().to_vec())
}

/// The program that a `#!` line names and the arguments it is started with.
fn interpreter(line: &[u8], script: Vec<OsString>) -> Result<(PathBuf, Vec<OsString>), Failure> {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let path = PathBuf::from(OsString::from_vec(line[..end].to_vec()));
    let option = line[end..].trim_ascii();
    check_executable(&path)?;
    let mut argv = vec![path.clone().into_os_string()];
    if !option.is_empty() {
        if let Some(words) = words_of_env(&path, option) {
            let found = find(&words[0])?;
            return Ok((found, words.into_iter().chain(script).collect()));
        }
        argv.push(OsString::from_vec(option.to_vec()));
    }
    argv.extend(script);
    Ok((path, argv))
}

/// The command in `/usr/bin/env COMMAND` or `env -S COMMAND ARGUMENTS`, if it is as plain as that.
fn words_of_env(path: &Path, option: &[u8]) -> Option<Vec<OsString>> {
    if path.file_name()? != "env" {
        return None;
    }
    let is_plain = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    let words: Vec<&[u8]> = match option.strip_prefix(b"-S") {
        Some(split) => {
            split.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
        }
        None => vec![option],
    };
    words.first().filter(|word| is_plain(word))?;
    let is_quoted = words.iter().any(|word| word.iter().any(|byte| b"'\"\\$#".contains(byte)));
    (!is_quoted).then(|| words.iter().map(|word| OsString::from_vec(word.to_vec())).collect())
}

/// The value of LOAM_OPTIONS with options behind what is there already: the last one counts.
pub fn options(added: &[String]) -> Option<OsString> {
    let present = std::env::var_os("LOAM_OPTIONS").filter(|present| !present.is_empty());
    let mut parts: Vec<OsString> = present.into_iter().collect();
    parts.extend(added.iter().map(OsString::from));
    let value = parts.join(OsStr::new(","));
    (!added.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_lines_name_their_command() {
        let env = Path::new("/usr/bin/env");
        assert_eq!(words_of_env(env, b"python3"), Some(vec!["python3".into()]));
        assert_eq!(words_of_env(env, b"-S awk -f"), Some(vec!["awk".into(), "-f".into()]));
        assert_eq!(words_of_env(env, b"-i sh"), None);
        assert_eq!(words_of_env(Path::new("/bin/sh"), b"-e"), None);
    }
}
