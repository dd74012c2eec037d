//! What is answered about one process: its heap for people, its profile for programs.

use crate::account::report::Report;
use crate::account::sums::Account;
use crate::arguments::ProfFigure;
use crate::exporter::reply::Reply;
use crate::heap::figures::Figures;
use crate::heap::glibc;
use crate::heap::layout::Layout;
use crate::heap::live::Live;
use crate::heap::source::Source;
use crate::heap::walk::walk;
use crate::picture::heap::Heap;
use crate::profile::pprof::{self, Shown};
use crate::profile::symbols::Symbols;
use crate::profile::written::Profile;
use crate::profile::{living, stacks};
use anyhow::{Context, Result, ensure};
use hyper::header::{self, HeaderValue};
use std::time::SystemTime;

#[derive(Debug, Clone, Copy)]
pub enum About {
    /// The page that `explain --html` writes.
    Heap,
    /// For pprof, which shows this unless it is told otherwise.
    Profile(ProfFigure),
}

/// What was read of the process; what is made of it takes nothing of that.
pub enum Found {
    Heap(Reply),
    Profile(Box<Profile>, Shown),
}

impl About {
    pub fn read(self, pid: i32, with_glibc: bool) -> Result<Found> {
        // What is said of other processes by `explain` has their words in it: not for a network.
        let files = Live::open_files(pid)?;
        if with_glibc && matches!(self, About::Heap) && !Layout::is_in(&files) {
            let source = Live::open(pid)?;
            let figures = glibc::walk(&source).ok().flatten();
            let title = &files.process().title;
            let figures = figures.with_context(|| format!("{title} is not on loam or glibc"))?;
            return Ok(Found::Heap(heap(&source, &figures)?));
        }
        ensure!(Layout::is_in(&files), "{} is not on loam", files.process().title);
        Ok(match self {
            About::Heap => {
                let source = Live::open(pid)?;
                Found::Heap(heap(&source, &walk(&source)?)?)
            }
            About::Profile(by) => {
                let shown = Shown { by, at: Some(SystemTime::now()) };
                Found::Profile(Box::new(living::read(&files)?), shown)
            }
        })
    }
}

impl Found {
    pub fn reply(self) -> Result<Reply> {
        match self {
            Found::Heap(page) => Ok(page),
            Found::Profile(profile, shown) => pack(&profile, shown),
        }
    }
}

fn heap(source: &Live, figures: &Figures) -> Result<Reply> {
    let report = Report::of(&Account::of(source.process(), figures), figures);
    Ok(Reply::page(Heap::read(source, &report, figures).page()?))
}

fn pack(profile: &Profile, shown: Shown) -> Result<Reply> {
    let stacks = stacks::named(profile, &mut Symbols::default());
    let packed = pprof::encode(profile, &stacks, shown)?;
    let reply = Reply::of("application/octet-stream", packed);
    let name = HeaderValue::from_static("attachment; filename=\"profile.pb.gz\"");
    Ok(reply.with(header::CONTENT_DISPOSITION, name))
}
