//! With what a process allocates that has no loam, by its modules.

use crate::binary::elf::Image;
use crate::process::modules::{Module, Process};

/// What allocators define besides, and how they are called.
const MARKS: [(&str, &str); 8] = [
    ("mallocx", "jemalloc"),
    ("je_malloc", "jemalloc"),
    ("mi_malloc", "mimalloc"),
    ("tc_malloc", "tcmalloc"),
    ("TCMallocInternalMalloc", "tcmalloc"),
    ("rpmalloc", "rpmalloc"),
    ("sn_malloc", "snmalloc"),
    ("scalable_malloc", "TBB malloc"),
];

/// `glibc`, `jemalloc`, or the file that malloc is in; `None` where that cannot be told.
pub fn name(process: &Process) -> Option<String> {
    let program = process.program().ok()?;
    if process.is_static() {
        return Some(marked(program).unwrap_or("static").to_owned());
    }
    let scope = process.scope();
    let module = scope.into_iter().find(|module| module.image.export("malloc").is_some())?;
    let is_own = module.path == program.path;
    let file = module.file_name();
    let name = match file.as_str() {
        _ if is_own => marked(module).unwrap_or("its own"),
        name if name.starts_with("libc.so.") || name.starts_with("libc-2.") => "glibc",
        name if name.starts_with("ld-musl-") || name.starts_with("libc.musl-") => "musl",
        name => marked(module).unwrap_or(name),
    };
    Some(name.to_owned())
}

/// The allocator that a library is; `None` for one that has no mark, as one that passes calls on.
pub fn of_library(image: &Image) -> Option<&'static str> {
    image.export("malloc")?;
    if image.is_loam() { Some("loam") } else { mark_in(image) }
}

fn marked(module: &Module) -> Option<&'static str> {
    mark_in(&module.image)
}

fn mark_in(image: &Image) -> Option<&'static str> {
    let defines = |symbol| image.export(symbol).is_some() || image.has_internal(symbol);
    let mark = MARKS.iter().find(|(symbol, _)| defines(symbol));
    mark.map(|(_, name)| *name)
}
