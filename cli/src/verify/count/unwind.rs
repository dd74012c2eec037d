//! From a function's frame to that of its caller, by the tables that compilers write (.eh_frame).

use crate::verify::count::functions::Functions;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection, UnwindTableRow, X86_64,
};
use nix::libc::user_regs_struct;
use std::collections::HashMap;

/// By the numbers of the x86-64 ABI: sixteen general ones and the return address.
const REGISTER_COUNT: usize = 17;

/// Where a function will go on, and with which registers.
#[derive(Clone)]
pub struct Frame {
    registers: [u64; REGISTER_COUNT],
}

impl Frame {
    /// The caller's, when a function is about to begin. Registers that calls do not preserve have
    /// no meaning here.
    pub fn of_caller(at_begin: &user_regs_struct, return_address: u64) -> Frame {
        let mut registers = [0; REGISTER_COUNT];
        let preserved = [
            (X86_64::RBX, at_begin.rbx),
            (X86_64::RBP, at_begin.rbp),
            (X86_64::RSP, at_begin.rsp + 8),
            (X86_64::R12, at_begin.r12),
            (X86_64::R13, at_begin.r13),
            (X86_64::R14, at_begin.r14),
            (X86_64::R15, at_begin.r15),
            (X86_64::RA, return_address),
        ];
        for (register, value) in preserved {
            registers[usize::from(register.0)] = value;
        }
        Frame { registers }
    }

    pub fn return_address(&self) -> u64 {
        self.registers[usize::from(X86_64::RA.0)]
    }

    /// The frame of the one that called. `None` where a rule is not among the usual ones.
    pub fn leave(&self, row: &Row, read: impl Fn(u64) -> Option<u64>) -> Option<Frame> {
        let &CfaRule::RegisterAndOffset { register: Register(base), offset } = row.cfa() else {
            return None;
        };
        let frame = self.registers.get(usize::from(base))?.wrapping_add_signed(offset);
        let mut registers = self.registers;
        for (number, value) in registers.iter_mut().enumerate() {
            let register = Register(u16::try_from(number).ok()?);
            match row.register(register) {
                Some(RegisterRule::Offset(offset)) => {
                    *value = read(frame.wrapping_add_signed(offset))?;
                }
                None | Some(RegisterRule::SameValue) if register != X86_64::RA => {}
                _ => return None,
            }
        }
        registers[usize::from(X86_64::RSP.0)] = frame;
        Some(Frame { registers })
    }
}

pub type Row = UnwindTableRow<usize>;

/// The rules of one file, as far as they were asked for.
#[derive(Default)]
pub struct Rules {
    rows: HashMap<u64, Option<Row>>,
}

impl Rules {
    /// The rules at an address of the file.
    pub fn at(&mut self, functions: &Functions, address: u64) -> Option<&Row> {
        self.rows.entry(address).or_insert_with(|| look_up(functions, address)).as_ref()
    }
}

fn look_up(functions: &Functions, address: u64) -> Option<Row> {
    let frames = EhFrame::new(&functions.frames.bytes, LittleEndian);
    let bases = BaseAddresses::default()
        .set_eh_frame(functions.frames.address)
        .set_text(functions.code_address);
    let mut context = UnwindContext::new();
    let cie = EhFrame::cie_from_offset;
    frames.unwind_info_for_address(&bases, &mut context, address, cie).ok().cloned()
}
