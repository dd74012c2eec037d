//! The modules of a running process, read from /proc.

use crate::binary::elf::{Image, Segment};
use crate::failure::reason;
use crate::process::deepbind;
use crate::process::memory::Memory;
use anyhow::{Context, Result, anyhow, bail};
use procfs::ProcError;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process as ProcessFolder};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub struct Process {
    pub pid: i32,
    pub executable: PathBuf,
    /// By address.
    pub modules: Vec<Module>,
    memory: Memory,
}

/// An ELF file loaded into the process.
pub struct Module {
    pub path: PathBuf,
    pub image: Rc<Image>,
    /// What the loader added to the addresses in the file.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    /// The place in the loader's list, which is the order in which symbols are looked up. `None`
    /// for a module in a namespace of its own (dlmopen).
    pub order: Option<usize>,
    /// The places in the loader's list of the modules that this one looks in before all others,
    /// where it was opened with RTLD_DEEPBIND.
    pub looks_first_in: Option<Vec<usize>>,
}

impl Module {
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    pub fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// Images of the files already read, by device and inode. `None` is a file that is not ELF.
type Images = HashMap<((i32, i32), u64), Option<Rc<Image>>>;

impl Process {
    pub fn open(pid: i32) -> Result<Process> {
        let folder = ProcessFolder::new(pid).map_err(|cause| not_readable(pid, cause))?;
        let maps = folder.maps().map_err(|cause| not_readable(pid, cause))?;
        let executable = folder.exe().map_err(|cause| not_readable(pid, cause))?;
        let memory = folder.mem().map_err(|cause| not_readable(pid, cause))?;
        let modules = find_modules(pid, &maps.0)?;
        let memory = Memory::new(memory);
        let mut process = Process { pid, executable, modules, memory };
        process.order_modules();
        Ok(process)
    }

    /// The main program's module.
    pub fn program(&self) -> Result<&Module> {
        let first = self.modules.iter().find(|module| module.order == Some(0));
        let by_path = || self.modules.iter().find(|module| module.path == self.executable);
        first.or_else(by_path).ok_or_else(|| {
            anyhow!("cannot find {} among its own mappings", self.executable.display())
        })
    }

    /// Whether there is no loader: a static program.
    pub fn is_static(&self) -> bool {
        self.program()
            .is_ok_and(|program| program.image.interpreter.is_none() && program.order.is_none())
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // for calls that are counted
    pub fn thread_count(&self) -> Result<usize> {
        let folder = ProcessFolder::new(self.pid).map_err(|cause| not_readable(self.pid, cause))?;
        let tasks = folder.tasks().map_err(|cause| not_readable(self.pid, cause))?;
        Ok(tasks.count())
    }

    pub fn module_at(&self, address: u64) -> Option<&Module> {
        self.modules.iter().find(|module| module.contains(address))
    }

    /// Modules in the order in which symbols are looked up.
    pub fn scope(&self) -> Vec<&Module> {
        let mut scope: Vec<_> =
            self.modules.iter().filter(|module| module.order.is_some()).collect();
        scope.sort_by_key(|module| module.order);
        scope
    }

    pub fn read_bytes(&self, address: u64, count: usize) -> Result<Vec<u8>> {
        self.memory.read_bytes(address, count)
    }

    /// A pointer of the process at an address.
    pub fn read_pointer(&self, address: u64, image: &Image) -> Result<u64> {
        self.memory.read_pointer(address, image)
    }

    /// Numbers the modules as in the loader's list (struct r_debug and link_map in <link.h>).
    /// Where there is no list, as in a static program, no module has a number.
    fn order_modules(&mut self) {
        let list = self.loader_list().unwrap_or_default();
        let place = |link_map: &u64| list.iter().position(|(other, _)| other == link_map);
        let find = |module: &Module| {
            let order = list.iter().position(|(_, bias)| *bias == module.bias)?;
            let first =
                deepbind::searched_first(&self.memory, &module.image, list[order].0, list[0].0);
            let looks_first_in = first.map(|first| first.iter().filter_map(place).collect());
            Some((order, looks_first_in))
        };
        let found: Vec<_> = self.modules.iter().map(find).collect();
        for (module, found) in self.modules.iter_mut().zip(found) {
            if let Some((order, looks_first_in)) = found {
                (module.order, module.looks_first_in) = (Some(order), looks_first_in);
            }
        }
    }

    /// The addresses of the loader's link_maps, and their modules' biases.
    fn loader_list(&self) -> Option<Vec<(u64, u64)>> {
        const MODULE_COUNT_MAX: usize = 100_000;
        let program = self.modules.iter().find(|module| module.path == self.executable)?;
        let word = program.image.architecture.pointer_bytes();
        let read = |address: u64| self.read_pointer(address, &program.image).ok();
        let debug = self.debug_entry(program).or_else(|| self.debug_symbol())?;
        let mut list = Vec::new();
        let mut module = read(debug + word)?;
        while module != 0 && list.len() < MODULE_COUNT_MAX {
            list.push((module, read(module)?));
            module = read(module + 3 * word)?;
        }
        Some(list)
    }

    /// The address of r_debug, from DT_DEBUG in the program's dynamic section.
    fn debug_entry(&self, program: &Module) -> Option<u64> {
        const DT_DEBUG: u64 = object::elf::DT_DEBUG.0 as u64;
        const ENTRY_COUNT_MAX: u64 = 1000;
        let word = program.image.architecture.pointer_bytes();
        let dynamic = program.image.dynamic_address?.wrapping_add(program.bias);
        for entry in 0..ENTRY_COUNT_MAX {
            let address = dynamic.wrapping_add(entry * 2 * word);
            let tag = self.read_pointer(address, &program.image).ok()?;
            match tag {
                0 => return None,
                DT_DEBUG => {
                    let value = self.read_pointer(address + word, &program.image).ok()?;
                    return Some(value).filter(|&value| value != 0);
                }
                _ => {}
            }
        }
        None
    }

    /// The same, from the loader's own symbol, for a program started by naming the loader.
    fn debug_symbol(&self) -> Option<u64> {
        self.modules.iter().find_map(|module| {
            let symbol = module.image.export("_r_debug")?;
            Some(symbol.address.wrapping_add(module.bias))
        })
    }
}

/// The file of the program that a process runs, and its arguments.
pub fn executed(pid: i32) -> Result<(PathBuf, Vec<OsString>)> {
    let folder = ProcessFolder::new(pid).map_err(|cause| not_readable(pid, cause))?;
    let file = folder.exe().map_err(|cause| not_readable(pid, cause))?;
    let words = format!("/proc/{pid}/cmdline");
    let words = std::fs::read(&words).with_context(|| format!("cannot read {words}"))?;
    let words = words.split(|byte| *byte == 0);
    let mut argv: Vec<OsString> = words.map(|word| OsString::from_vec(word.to_vec())).collect();
    argv.pop(); // behind the last zero byte
    Ok((file, argv))
}

fn not_readable(pid: i32, cause: ProcError) -> anyhow::Error {
    match cause {
        _ if !Path::new("/proc/self").exists() => anyhow!(
            "cannot look into a process, as /proc is not mounted: mount it by 'mount -t proc proc \
             /proc'; or let loam say itself that it serves a program, by 'loam run --stats'"
        ),
        ProcError::PermissionDenied(_) => anyhow!("cannot read process {pid}{}", ways_to_trace()),
        ProcError::NotFound(_) if Path::new("/proc").join(pid.to_string()).exists() => {
            anyhow!("process {pid} has no program: a kernel thread, or it has ended")
        }
        ProcError::NotFound(_) => anyhow!("there is no process {pid}"),
        ProcError::Io(cause, _) if cause.raw_os_error() == Some(nix::libc::ESRCH) => {
            anyhow!("there is no process {pid}")
        }
        ProcError::Io(cause, _) => anyhow!("cannot read process {pid}: {}", reason(&cause)),
        other => anyhow!("cannot read process {pid}: {other}"),
    }
}

/// What is to be done where the kernel refuses to let a process be read.
pub fn ways_to_trace() -> &'static str {
    ways_to_trace_for(nix::unistd::geteuid().is_root())
}

/// Who is root is not told to be.
fn ways_to_trace_for(is_root: bool) -> &'static str {
    if is_root {
        ": the kernel does not let root either: it takes CAP_SYS_PTRACE (in a container \
         --cap-add=SYS_PTRACE)"
    } else {
        ": the kernel does not let you; do it as root, or as the process's own user where \
         kernel.yama.ptrace_scope is 0 (in a container with --cap-add=SYS_PTRACE)"
    }
}

/// Every ELF file that is mapped with code, as often as it is.
fn find_modules(pid: i32, maps: &[MemoryMap]) -> Result<Vec<Module>> {
    let mut images = Images::new();
    let mut modules: Vec<Module> = Vec::new();
    for map in maps {
        let MMapPath::Path(path) = &map.pathname else { continue };
        if modules.iter().any(|module| module.contains(map.address.0)) {
            continue;
        }
        let image = match images.get(&(map.dev, map.inode)) {
            Some(image) => image.clone(),
            None => {
                let image = read_mapped(pid, map, path)?.map(Rc::new);
                images.insert((map.dev, map.inode), image.clone());
                image
            }
        };
        let Some(module) = image.and_then(|image| place(path, image, map)) else { continue };
        if maps.iter().any(|other| is_code_of(&module, map, other)) {
            modules.push(module);
        }
    }
    Ok(modules)
}

fn is_code_of(module: &Module, first: &MemoryMap, map: &MemoryMap) -> bool {
    map.inode == first.inode
        && map.dev == first.dev
        && module.contains(map.address.0)
        && map.perms.contains(MMPermissions::EXECUTE)
}

/// Works out where the rest of a file lies from where one of its parts is mapped.
fn place(path: &Path, image: Rc<Image>, map: &MemoryMap) -> Option<Module> {
    let page_bytes = procfs::page_size();
    let floor = |value: u64| value - value % page_bytes;
    let is_mapped = |segment: &&Segment| floor(segment.offset) == map.offset;
    let mapped = image.segments.iter().find(is_mapped)?;
    let bias = map.address.0.wrapping_sub(floor(mapped.address));
    let low = image.segments.iter().map(|segment| floor(segment.address)).min()?;
    let end_of = |segment: &Segment| segment.address.saturating_add(segment.size_bytes);
    let high = image.segments.iter().map(end_of).max()?;
    let (start, end) = (bias.wrapping_add(low), bias.wrapping_add(high));
    Some(Module { path: path.into(), image, bias, start, end, order: None, looks_first_in: None })
}

/// Reads a mapped file. It is found through the process's own root folder, as it may live in a
/// container, or through the mapping itself if it has been deleted since.
fn read_mapped(pid: i32, map: &MemoryMap, path: &Path) -> Result<Option<Image>> {
    let text = path.to_string_lossy();
    let (start, end) = map.address;
    let through_mapping = format!("/proc/{pid}/map_files/{start:x}-{end:x}");
    let through_root = format!("/proc/{pid}/root{text}");
    let is_deleted = text.ends_with(" (deleted)");
    let candidates =
        if is_deleted { vec![through_mapping] } else { vec![through_root, through_mapping] };
    let is_code = map.perms.contains(MMPermissions::EXECUTE);
    let mut opened = candidates.iter().map(File::open);
    match opened.find_map(Result::ok) {
        Some(file) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => {
            let image = Image::read_from(file);
            // Data that only looks like ELF is none of ours.
            if is_code {
                image.with_context(|| text.into_owned())
            } else {
                Ok(image.ok().flatten())
            }
        }
        Some(_) => Ok(None),
        None if is_code => bail!("cannot read {text}, which process {pid} has loaded"),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_not_told_to_be_root() {
        assert!(!ways_to_trace_for(true).contains("as root"));
        assert!(ways_to_trace_for(false).contains("do it as root"));
    }
}
