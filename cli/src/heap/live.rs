//! A process that runs.

use crate::heap::source::{Mapping, Name, Process, Source, Thread};
use crate::naming;
use crate::process::modules::ways_to_trace;
use anyhow::{Context, Result, anyhow};
use procfs::ProcError;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps, Process as Folder};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub struct Live {
    pid: i32,
    process: Process,
    memory: File,
    pagemap: File,
}

impl Live {
    pub fn open(pid: i32) -> Result<Live> {
        let folder = Folder::new(pid).map_err(|cause| refused(pid, cause))?;
        let mappings = folder.maps().map_err(|cause| refused(pid, cause))?;
        let mut live = Live::with(pid, &folder, &mappings, threads(&folder))?;
        if !live.count_pages() {
            let counted = folder.smaps().map_err(|cause| refused(pid, cause))?;
            live.process.mappings = counted.0.iter().map(mapping).collect();
        }
        Ok(live)
    }

    /// What of each mapping is in memory. The kernel would count it as well, but holds all mappings
    /// while it does, so that a call that maps memory waits: that is for processes alone with more
    /// addresses than can be looked at. `false` of these.
    fn count_pages(&mut self) -> bool {
        const BYTES_MAX: u64 = 64 << 30;
        let is_counted = |mapping: &Mapping| mapping.is_accessible && may_count(&mapping.name);
        let mappings = || self.process.mappings.iter();
        let all = mappings().filter(|mapping| is_counted(mapping));
        if all.map(|mapping| mapping.end - mapping.start).sum::<u64>() > BYTES_MAX {
            return false;
        }
        let counts: Vec<u64> = mappings()
            .map(|mapping| if is_counted(mapping) { self.resident_bytes(mapping) } else { 0 })
            .collect();
        for (mapping, bytes) in self.process.mappings.iter_mut().zip(counts) {
            mapping.resident_bytes = Some(bytes);
        }
        true
    }

    /// 0 of what is no memory, or has gone: whoever reads it is told.
    fn resident_bytes(&self, mapping: &Mapping) -> u64 {
        const PAGES_AT_ONCE: u64 = 1 << 15;
        let page = procfs::page_size();
        let (mut at, mut bytes) = (mapping.start, 0);
        while at < mapping.end {
            let count = ((mapping.end - at) / page).min(PAGES_AT_ONCE);
            let resident = self.resident(at, count as usize, page).unwrap_or_default();
            bytes += resident.iter().filter(|is| **is).count() as u64 * page;
            at += count * page;
        }
        bytes
    }

    /// Which files it has mapped, and its memory. What is in memory, and its threads, are left out:
    /// the kernel counts pages for the one, and looks at each of the others.
    pub fn open_files(pid: i32) -> Result<Live> {
        let folder = Folder::new(pid).map_err(|cause| refused(pid, cause))?;
        let mappings = folder.maps().map_err(|cause| refused(pid, cause))?;
        Live::with(pid, &folder, &mappings, Vec::new())
    }

    fn with(
        pid: i32,
        folder: &Folder,
        mappings: &MemoryMaps,
        threads: Vec<Thread>,
    ) -> Result<Live> {
        let failed = |cause| refused(pid, cause);
        let memory = folder.mem().map_err(failed)?;
        let pagemap =
            File::open(format!("/proc/{pid}/pagemap")).with_context(|| unreadable(pid, ""))?;
        let status = folder.status().map_err(failed)?;
        let name = naming::printable(&status.name);
        let shown = if name.is_empty() { String::new() } else { format!(" ({name})") };
        let process = Process {
            title: format!("process {pid}{shown}"),
            name,
            pid: u64::try_from(pid).ok(),
            is_live: true,
            mappings: mappings.0.iter().map(mapping).collect(),
            threads,
            resident_bytes: status.vmrss.map(|kib| kib * 1024),
            peak_bytes: status.vmhwm.map(|kib| kib * 1024),
        };
        if process.mappings.is_empty() {
            return Err(anyhow!("process {pid} has no memory: it has ended, or is the kernel's"));
        }
        Ok(Live { pid, process, memory, pagemap })
    }

    /// Stores a word there. In memory that the process may write to nothing else changes.
    pub fn write_word(pid: i32, address: u64, word: u32) -> Result<()> {
        let path = format!("/proc/{pid}/mem");
        let memory = File::options().write(true).open(path);
        let written = memory.and_then(|memory| memory.write_all_at(&word.to_le_bytes(), address));
        written.map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => anyhow!("process {pid} has ended meanwhile"),
            std::io::ErrorKind::PermissionDenied => anyhow!("{}", unwritable(pid)),
            _ => anyhow!(cause).context(format!("cannot write to the memory of process {pid}")),
        })
    }

    /// Or is about to: its memory is gone.
    pub fn has_ended(pid: i32) -> bool {
        let statistics = Folder::new(pid).and_then(|folder| folder.statm());
        !statistics.is_ok_and(|memory| memory.size != 0)
    }

    /// Whether the kernel has started it with more rights than its user has.
    pub fn is_privileged(pid: i32) -> Result<bool> {
        const AT_SECURE: u64 = 23;
        let values = Folder::new(pid).and_then(|folder| folder.auxv());
        Ok(values.map_err(|cause| refused(pid, cause))?.get(&AT_SECURE).is_some_and(|is| *is != 0))
    }

    /// Pages of zeros are no memory of the process's. What may be some is read, several at once.
    fn leave_out_zeros(
        &self,
        address: u64,
        page_bytes: u64,
        doubtful: &[bool],
        resident: &mut [bool],
    ) {
        const PAGES_AT_ONCE: usize = 64;
        let page = page_bytes as usize;
        let mut bytes = vec![0; if doubtful.contains(&true) { PAGES_AT_ONCE * page } else { 0 }];
        let mut from = 0;
        while let Some(skipped) = doubtful[from..].iter().position(|is| *is) {
            from += skipped;
            let count = doubtful[from..].iter().take(PAGES_AT_ONCE).take_while(|is| **is).count();
            let read = &mut bytes[..count * page];
            if self.read(address + from as u64 * page_bytes, read).is_ok() {
                for (index, one) in read.chunks_exact(page).enumerate() {
                    resident[from + index] = one.iter().any(|&byte| byte != 0);
                }
            }
            from += count;
        }
    }

    /// A file of memory that nobody has any longer ends at once. A process that ends is without
    /// before it is a zombie.
    fn lost(&self, cause: &std::io::Error) -> anyhow::Error {
        match cause.kind() {
            _ if Live::has_ended(self.pid) => anyhow!("process {} has ended meanwhile", self.pid),
            std::io::ErrorKind::UnexpectedEof => {
                anyhow!("process {} executes another program meanwhile", self.pid)
            }
            _ => anyhow!(unreadable(self.pid, "")),
        }
    }
}

fn unreadable(pid: i32, why: &str) -> String {
    format!("cannot read the memory of process {pid}{why}")
}

fn unwritable(pid: i32) -> String {
    format!("cannot write to the memory of process {pid}{}", ways_to_trace())
}

fn refused(pid: i32, cause: ProcError) -> anyhow::Error {
    match cause {
        ProcError::NotFound(_) => anyhow!("there is no process {pid}"),
        // Of one that has ended and is not waited for, a user is told that it is not permitted.
        ProcError::PermissionDenied(_) if has_ended(pid) => anyhow!("there is no process {pid}"),
        ProcError::PermissionDenied(_) => anyhow!("{}", unreadable(pid, ways_to_trace())),
        ProcError::Io(cause, _) if cause.kind() == std::io::ErrorKind::PermissionDenied => {
            anyhow!("{}", unreadable(pid, ways_to_trace()))
        }
        ProcError::Io(cause, _) if cause.raw_os_error() == Some(nix::libc::ESRCH) => {
            anyhow!("process {pid} has ended meanwhile")
        }
        other => anyhow!(other).context(unreadable(pid, "")),
    }
}

fn has_ended(pid: i32) -> bool {
    let statistics = Folder::new(pid).and_then(|folder| folder.stat());
    statistics.is_ok_and(|statistics| matches!(statistics.state, 'Z' | 'X'))
}

fn mapping(map: &MemoryMap) -> Mapping {
    let name = match &map.pathname {
        MMapPath::Path(path) => Name::File(path.clone()),
        MMapPath::Heap => Name::Heap,
        MMapPath::Stack | MMapPath::TStack(_) => Name::Stack,
        MMapPath::Anonymous => Name::Anonymous,
        MMapPath::Other(name) => Name::Other(name.clone()),
        _ => Name::Other(String::new()),
    };
    Mapping {
        start: map.address.0,
        end: map.address.1,
        offset: map.offset,
        name,
        is_accessible: map.perms.contains(MMPermissions::READ),
        resident_bytes: map.extension.map.get("Rss").copied(),
    }
}

/// Whether pages of it are what the kernel counts as the process's: those of devices and huge pages
/// that were set aside are not.
fn may_count(name: &Name) -> bool {
    let Name::File(path) = name else { return true };
    let path = path.to_string_lossy();
    let is_memory = ["/dev/shm/", "/dev/zero"].iter().any(|start| path.starts_with(start));
    is_memory || !["/dev/", "/anon_hugepage"].iter().any(|start| path.starts_with(start))
}

fn threads(folder: &Folder) -> Vec<Thread> {
    let Ok(tasks) = folder.tasks() else { return Vec::new() };
    let known = |task: procfs::process::Task| {
        let file = |name: &str| {
            std::fs::read_to_string(format!("/proc/{}/task/{}/{name}", task.pid, task.tid))
        };
        // "number, six arguments, stack pointer, instruction pointer"; without a call "-1" and the
        // two; or "running".
        let registers = file("syscall").unwrap_or_default();
        let is_waiting = registers.starts_with(|first: char| first.is_ascii_digit());
        let pointer = registers.split_whitespace().rev().nth(1);
        let pointer = pointer.and_then(|word| word.strip_prefix("0x"));
        Thread {
            id: task.tid.cast_unsigned(),
            name: file("comm").ok().map(|name| name.trim_end().to_owned()),
            stack_pointer: pointer.and_then(|digits| u64::from_str_radix(digits, 16).ok()),
            is_waiting,
        }
    };
    tasks.flatten().map(known).collect()
}

/// What an entry of pagemap says; see Documentation/admin-guide/mm/pagemap.rst.
const PRESENT: u64 = 1 << 63;
const IS_FILES: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;

impl Source for Live {
    fn process(&self) -> &Process {
        &self.process
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> Result<()> {
        self.memory.read_exact_at(buffer, address).map_err(|cause| self.lost(&cause))
    }

    fn resident(&self, address: u64, count: usize, page_bytes: u64) -> Result<Vec<bool>> {
        let mut entries = vec![0; count * 8];
        let offset = address / page_bytes * 8;
        self.pagemap.read_exact_at(&mut entries, offset).map_err(|cause| self.lost(&cause))?;
        let words = entries.chunks_exact(8);
        let words = words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        // The kernel's page of zeros, which is nobody's, is neither a file's nor exclusive.
        let may_be_zeros = |word: u64| word & (PRESENT | IS_FILES | EXCLUSIVE) == PRESENT;
        let (mut resident, mut doubtful) = (Vec::with_capacity(count), Vec::new());
        for word in words {
            resident.push(word & PRESENT != 0);
            doubtful.push(may_be_zeros(word));
        }
        self.leave_out_zeros(address, page_bytes, &doubtful, &mut resident);
        Ok(resident)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn memory_that_is_gone_is_told_from_memory_that_cannot_be_read() {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", "read word; exec sleep 100"]).stdin(Stdio::piped());
        let mut child = shell.spawn().expect("a process");
        let pid = child.id().cast_signed();
        let opened = || {
            let live = Live::open(pid).expect("its memory");
            let address = live.process.mappings[0].start;
            (live, address)
        };
        let says = |(live, address): &(Live, u64)| {
            live.read(*address, &mut [0]).err().map(|error| error.to_string())
        };
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("its name");
        while name() != "sh\n" {
            std::thread::yield_now();
        }
        let before = opened();
        let nowhere = (opened().0, 0);
        assert_eq!(says(&nowhere), Some(unreadable(pid, "")));
        child.stdin.take().expect("its input").write_all(b"word\n").expect("a line");
        while name() != "sleep\n" {
            std::thread::yield_now();
        }
        let executes = format!("process {pid} executes another program meanwhile");
        assert_eq!(says(&before), Some(executes));
        let after = opened();
        assert_eq!(says(&after), None);
        child.kill().expect("its end");
        child.wait().expect("its status");
        let ended = Some(format!("process {pid} has ended meanwhile"));
        assert_eq!((says(&before), says(&after)), (ended.clone(), ended));
    }
}
