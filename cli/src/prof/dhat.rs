//! The format of DHAT's viewer (dh_view.html), version 2, which Valgrind's dhat/dh_main.c describes.
//! The Firefox profiler reads it, too.

use crate::profile::stacks::Stack;
use crate::profile::symbols::Frame;
use crate::profile::written::{Profile, Sum};
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::HashMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'profile> {
    dhat_file_version: u32,
    mode: &'static str,
    verb: &'static str,
    /// There are figures of the peak and of the end.
    bklt: bool,
    /// There are none of reads and writes.
    bkacc: bool,
    tu: &'static str,
    #[serde(rename = "Mtu")]
    million_tu: &'static str,
    tuth: u64,
    cmd: &'profile str,
    pid: u64,
    /// When it ended, and when the peak was: a profile knows no times, but that this is all of it.
    te: u64,
    tg: u64,
    pps: Vec<Point>,
    ftbl: Vec<String>,
}

/// Of one stack: bytes and blocks in all, at the peak of the whole, and at the end.
#[derive(Serialize)]
struct Point {
    tb: u64,
    tbk: u64,
    /// Lifetimes of all blocks together.
    tl: u64,
    /// At the stack's own peak, of which no more is known than what it had at the others.
    mb: u64,
    mbk: u64,
    gb: u64,
    gbk: u64,
    eb: u64,
    ebk: u64,
    fs: Vec<usize>,
}

/// The viewer wants frames as "ADDRESS: FUNCTION (FILE:LINE)".
fn text(frame: &Frame, number: usize) -> String {
    let line = frame.line.as_ref().map(|(file, line)| format!(" ({file}:{line})"));
    format!("{number:#x}: {}{}", frame.function, line.unwrap_or_default())
}

fn positive(sum: Sum) -> (u64, u64) {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    (number(sum.bytes), number(sum.count))
}

pub fn encode(profile: &Profile, stacks: &[Stack]) -> Result<Vec<u8>> {
    let mut table = vec!["[root]".to_owned()];
    let mut numbers: HashMap<&Frame, usize> = HashMap::new();
    let mut pps = Vec::new();
    for stack in stacks {
        let Stack { sums, .. } = stack;
        let ((gb, gbk), (eb, ebk)) = (positive(sums.peak), positive(sums.live));
        let (mb, mbk) = (gb.max(eb), gbk.max(ebk));
        // Rounded, a block more may be there than were taken.
        let (tb, tbk) = positive(sums.taken);
        let mut number = |frame| -> usize {
            *numbers.entry(frame).or_insert_with(|| {
                table.push(text(frame, table.len()));
                table.len() - 1
            })
        };
        let fs = stack.frames().map(&mut number).collect();
        pps.push(Point { tb: tb.max(mb), tbk: tbk.max(mbk), tl: 0, mb, mbk, gb, gbk, eb, ebk, fs });
    }
    pps.retain(|point| point.tb != 0);
    let file = File {
        dhat_file_version: 2,
        mode: "heap",
        verb: "Allocated",
        bklt: true,
        bkacc: false,
        tu: "millionths of the run",
        million_tu: "run",
        tuth: 0,
        cmd: &profile.process,
        pid: profile.pid,
        te: 1_000_000,
        tg: 0,
        pps,
        ftbl: table,
    };
    serde_json::to_vec(&file).context("cannot write JSON")
}
