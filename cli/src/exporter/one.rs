//! What is answered about one process: its heap for people, its profile for programs.

use crate::account::report::Report;
use crate::account::sums::Account;
use crate::arguments::ProfFigure;
use crate::exporter::reply::Reply;
use crate::heap::layout::Layout;
use crate::heap::live::Live;
use crate::heap::source::Source;
use crate::heap::walk::walk;
use crate::picture::heap::Heap;
use crate::profile::pprof::{self, Shown};
use crate::profile::symbols::Symbols;
use crate::profile::{living, stacks};
use anyhow::{Result, ensure};
use hyper::header::{self, HeaderValue};
use std::time::SystemTime;

#[derive(Debug, Clone, Copy)]
pub enum About {
    /// The page that `explain --html` writes.
    Heap,
    /// For pprof, which shows this unless it is told otherwise.
    Profile(ProfFigure),
}

impl About {
    pub fn read(self, pid: i32) -> Result<Reply> {
        // What is said of other processes by `explain` has their words in it: not for a network.
        let files = Live::open_files(pid)?;
        ensure!(Layout::is_in(&files), "{} is not on loam", files.process().title);
        match self {
            About::Heap => heap(&Live::open(pid)?),
            About::Profile(by) => profile(&files, by),
        }
    }
}

fn heap(source: &Live) -> Result<Reply> {
    let figures = walk(source)?;
    let report = Report::of(&Account::of(source.process(), &figures), &figures);
    Ok(Reply::page(Heap::read(source, &report, &figures).page()?))
}

fn profile(source: &Live, by: ProfFigure) -> Result<Reply> {
    let profile = living::read(source)?;
    let stacks = stacks::named(&profile, &mut Symbols::default());
    let packed = pprof::encode(&profile, &stacks, Shown { by, at: Some(SystemTime::now()) })?;
    let reply = Reply::of("application/octet-stream", packed);
    let name = HeaderValue::from_static("attachment; filename=\"profile.pb.gz\"");
    Ok(reply.with(header::CONTENT_DISPOSITION, name))
}
