//! The architectures that loam has objects for.

use crate::binary::elf::Architecture;
use object::elf;

/// An architecture that loam may have an object for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, serde::Serialize)]
#[value(rename_all = "lower")]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    #[value(name = "x86_64", alias = "amd64")]
    #[serde(rename = "x86_64")]
    X86_64,
    #[value(alias = "arm64")]
    Aarch64,
    Riscv64,
    #[value(alias = "armv7")]
    Armhf,
    #[value(alias = "i686")]
    I386,
}

impl Arch {
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
            Arch::Riscv64 => "riscv64",
            Arch::Armhf => "armhf",
            Arch::I386 => "i386",
        }
    }

    pub fn of(architecture: Architecture) -> Option<Arch> {
        let Architecture { machine, is_64, is_little_endian } = architecture;
        match (machine, is_64, is_little_endian) {
            (elf::EM_X86_64, true, true) => Some(Arch::X86_64),
            (elf::EM_AARCH64, true, true) => Some(Arch::Aarch64),
            (elf::EM_RISCV, true, true) => Some(Arch::Riscv64),
            (elf::EM_ARM, false, true) => Some(Arch::Armhf),
            (elf::EM_386, false, true) => Some(Arch::I386),
            _ => None,
        }
    }

    /// That of this machine.
    pub fn host() -> Option<Arch> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Arch::X86_64),
            "aarch64" => Some(Arch::Aarch64),
            "riscv64" => Some(Arch::Riscv64),
            "arm" => Some(Arch::Armhf),
            "x86" => Some(Arch::I386),
            _ => None,
        }
    }
}

impl std::fmt::Display for Arch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}
