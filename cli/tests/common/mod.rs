//! What the tests of the command share: compiled programs and a library to preload.

// Each test file uses a part of this.
#![allow(dead_code)]

pub mod exporter;
pub mod heaps;
pub mod libc;

use assert_cmd::Command;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;
use tempfile::TempDir;

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A path of the repository.
pub fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// For what tests make: of the checkout, unless its path is one that LD_PRELOAD cannot hold.
pub fn folder() -> PathBuf {
    let own = env!("CARGO_TARGET_TMPDIR");
    if !own.contains([' ', ':', '\t', '\n']) {
        return own.into();
    }
    let mine = std::env::temp_dir().join(format!("loam-cli-tests-{}", nix::unistd::geteuid()));
    std::fs::create_dir_all(&mine).expect("a folder");
    mine
}

/// A folder for one test's programs.
pub struct Workshop {
    folder: TempDir,
}

impl Workshop {
    pub fn new() -> Workshop {
        let folder = tempfile::tempdir_in(folder()).expect("a folder");
        Workshop { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A core file of the process; `None`, which is said, where nothing here makes one.
    pub fn core_of(&self, pid: &str) -> Option<PathBuf> {
        let path = self.path("core");
        let written = std::process::Command::new("gcore").arg("-o").arg(&path).arg(pid).output();
        if written.is_ok_and(|output| output.status.success()) {
            return Some(self.path(&format!("core.{pid}")));
        }
        eprintln!("not tested: there is no gcore, of Debian's package gdb");
        None
    }

    /// Compiles a fixture and gives the program's path.
    pub fn compile(&self, source: &str, flags: &[&str]) -> PathBuf {
        let path = self.path(Path::new(source).file_stem().unwrap().to_str().unwrap());
        compile(source, flags, &path);
        path
    }

    pub fn executable_file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::write(&path, content).expect("a written file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("an executable");
        path
    }
}

fn compile(source: &str, flags: &[&str], path: &Path) {
    let compiler = if source.ends_with(".cc") { "c++" } else { "cc" };
    let status = std::process::Command::new(compiler)
        .args(["-O0", "-fno-builtin", "-o"])
        .args([path, &fixture(source)])
        .args(flags)
        .status()
        .expect("a C and C++ compiler");
    assert!(status.success(), "{compiler} {source} {flags:?}");
}

/// A file that is built once for all processes that run tests. Its folder says how old the newest of
/// its sources (files, or folders of them) is, and it is never replaced: one of them may run it.
pub fn built_once(name: &str, sources: &[PathBuf], build: impl FnOnce(&Path)) -> PathBuf {
    let files = sources.iter().flat_map(walkdir::WalkDir::new);
    let times = files.map(|file| file.unwrap().metadata().unwrap().modified().unwrap());
    let newest = times.max().expect("sources").duration_since(UNIX_EPOCH).unwrap();
    let folder = folder().join(newest.as_nanos().to_string());
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    if !path.exists() {
        let own = tempfile::tempdir_in(&folder).expect("a folder");
        let built = own.path().join("built");
        build(&built);
        let is_there = std::fs::hard_link(&built, &path).is_ok() || path.exists();
        assert!(is_there, "{} cannot be written", path.display());
    }
    path
}

/// What a fixture with the allocator in it is made of.
pub fn sources_with_allocator(source: &str) -> [PathBuf; 3] {
    [fixture(source), checkout("src"), checkout("include")]
}

/// The allocator as an object of that name, compiled once.
pub fn allocator(name: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    built_once(name, &[checkout("src"), checkout("include")], |path| {
        let mut command = std::process::Command::new(compiler);
        command.args(["-O1", "-w", "-std=gnu11", "-fno-builtin", "-fexceptions"]).args(flags);
        command.arg("-I").arg(checkout("include")).arg("-I").arg(checkout("src"));
        command.arg("-c").arg(checkout("src/loam.c")).arg("-o").arg(path);
        let status = command.status().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
        assert!(status.success(), "{command:?}");
    })
}

/// The same for programs of this machine. It has no lines of its own: those of the fixture are told.
pub fn own_allocator() -> PathBuf {
    allocator("loam.o", "cc", &[])
}

/// The stand-in for libloam.so.
pub fn standin() -> &'static Path {
    static STANDIN: OnceLock<PathBuf> = OnceLock::new();
    STANDIN.get_or_init(|| {
        built_once("libloam-standin.so", &[fixture("standin.c")], |path| {
            compile("standin.c", &["-shared", "-fPIC"], path);
        })
    })
}

/// The library itself, compiled once: to be preloaded where the stand-in does not do.
pub fn real_library() -> PathBuf {
    built_once("libloam-of-tests.so", &[checkout("src"), checkout("include")], |path| {
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-O2", "-w", "-std=gnu11", "-fno-builtin", "-fPIC", "-shared"]);
        compiler.arg("-DLM_SHARED=1");
        compiler.arg("-I").arg(checkout("include")).arg("-I").arg(checkout("src"));
        compiler.arg(checkout("src/loam.c")).arg("-o").arg(path);
        assert!(compiler.status().expect("a compiler").success(), "{compiler:?}");
    })
}

/// What the command prints as JSON.
pub fn json(arguments: &[&str]) -> serde_json::Value {
    let output = loam().args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The library to preload: the real one where LOAM_LIBRARY names it, else the stand-in.
pub fn library() -> PathBuf {
    std::env::var_os("LOAM_LIBRARY").map_or_else(|| standin().to_path_buf(), PathBuf::from)
}

/// The command, with the library to preload.
pub fn loam() -> Command {
    let mut command = Command::cargo_bin("loam").expect("the command");
    command.env("LOAM_LIBRARY", library()).env_remove("LOAM_OPTIONS").env_remove("LD_PRELOAD");
    command
}

/// The same for a test that needs the process itself.
pub fn loam_process() -> std::process::Command {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("loam"));
    command.env("LOAM_LIBRARY", library()).env_remove("LOAM_OPTIONS").env_remove("LD_PRELOAD");
    command
}

/// A folder that every user may enter, as the checkout need not be, with a copy of the command: for
/// who becomes somebody else.
pub struct Public {
    folder: TempDir,
}

impl Public {
    pub fn new() -> Public {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
        let public = Public { folder };
        std::fs::copy(assert_cmd::cargo::cargo_bin!("loam"), public.command()).expect("a copy");
        public
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self) -> PathBuf {
        self.path("loam")
    }
}

/// A process of a test, killed at its end.
pub struct Background(pub Child);

impl Background {
    /// Starts it and waits for its first line of output.
    pub fn start(command: &mut std::process::Command) -> Background {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a started process");
        let output = child.stdout.take().expect("its output");
        let process = Background(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("its first line");
        assert!(!line.is_empty(), "it ended before it was ready");
        process
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
