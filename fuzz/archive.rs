//! Feeds archives to what 'loam graft' reads them with.

#![no_main]
// The command's own files; it uses more of them than this does.
#![allow(dead_code)]

#[path = "../cli/src/binary"]
mod binary {
    pub mod elf;
    pub mod entry_points;
}

#[path = "../cli/src/graft"]
mod graft {
    pub mod archive;
    pub mod plan;
    pub mod rewrite;
    pub mod survey;
}

#[path = "../cli/tests/common/regraft.rs"]
mod regraft;

libfuzzer_sys::fuzz_target!(|data: &[u8]| regraft::check(data));
