//! The heap of a process on glibc, read from outside: nothing is prepared in it and nothing of it is
//! stopped. What is read is looked at before it is believed, and read again if the process has
//! changed it meanwhile; what does not add up in the end is an error of one line.

mod arenas; // arenas, by what they are
mod chunks; // the chunks of a region
mod links; // of long lists, by chunk
mod lists; // tcaches and fastbins
mod mapped; // chunks that are mapped by themselves
mod memory; // words, wherever pointers lead
mod pages; // what is on each page
mod parameters; // what malloc has of the whole process
mod region; // one region, chunk by chunk
mod regions; // where chunks follow each other
mod sizes; // classes of what chunks hold
mod version; // which glibc it is

use crate::heap::figures::{
    Allocator, Blocks, Content, Counted, Figures, Glibc, Heap, Keeper, Kind, Larger, Page, Range,
    Resident,
};
use crate::heap::source::{Process, Source};
use anyhow::{Result, bail};
use arenas::Arenas;
use chunks::Guide;
use lists::Lists;
use mapped::Mapped;
use memory::{Memory, PAGE_BYTES};
use pages::Sums;
use parameters::Parameters;
use region::{Found, Walk};
use regions::Region;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fmt::{Display, Formatter};

/// Of one that goes on: what has been torn is read again.
const TRIES: usize = 3;
/// Tcaches of so many threads are found where only the heap leads to them.
const LATE_MAX: usize = 1 << 12;

/// `None` of a process without glibc's malloc, or that has never called it.
pub fn walk(source: &dyn Source) -> Result<Option<Figures>> {
    let tries = if source.process().is_live { TRIES } else { 1 };
    let title = || source.process().title.clone();
    for _ in 1..tries {
        if let Ok(figures) = once(source) {
            return Ok(figures);
        }
    }
    once(source).map_err(|cause| Unsteady(format!("{}: {cause:#}", title())).into())
}

/// The heap does not add up: it is damaged, or has changed too much while it was read.
#[derive(Debug)]
pub struct Unsteady(String);

impl Display for Unsteady {
    fn fmt(&self, out: &mut Formatter) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl Error for Unsteady {}

fn once(source: &dyn Source) -> Result<Option<Figures>> {
    let Some(arenas) = arenas::find(source)? else { return Ok(None) };
    let parameters = parameters::find(source, &arenas)?;
    let mut memory = Memory::new(source);
    let regions = regions::of(&mut memory, &arenas, parameters.as_ref())?;
    let mapped = mapped::find(source, &regions, parameters.as_ref())?;
    if regions.is_empty() && mapped.is_empty() {
        return Ok(None);
    }
    let mut late = BTreeSet::new();
    loop {
        let lists = lists::read(&mut memory, &arenas, &regions, &late, is_busy(source))?;
        let mut whole = Whole::new(source, &arenas, &lists);
        whole.add_regions(&regions)?;
        let suspects = std::mem::take(&mut whole.found.suspects);
        let more = suspects.into_iter().filter(|at| {
            !late.contains(at) && lists::shape_at(&mut memory, &regions, *at).is_some()
        });
        let more: Vec<u64> = more.collect();
        if more.is_empty() || late.len() > LATE_MAX {
            whole.add_mapped(&mapped)?;
            return Ok(Some(whole.figures(parameters)));
        }
        late.extend(more);
        memory = Memory::new(source);
    }
}

/// Whether it goes on while it is read, or has been stopped in the midst of something.
fn is_busy(source: &dyn Source) -> bool {
    let process = source.process();
    process.is_live && process.threads.iter().any(|thread| !thread.is_waiting)
}

struct Whole<'a> {
    source: &'a dyn Source,
    arenas: &'a Arenas,
    lists: &'a Lists,
    found: Found,
    huge: Blocks,
    larger: BTreeMap<u64, Larger>,
    ranges: Vec<Range>,
    mapped_bytes: u64,
}

impl<'a> Whole<'a> {
    fn new(source: &'a dyn Source, arenas: &'a Arenas, lists: &'a Lists) -> Whole<'a> {
        Whole {
            source,
            arenas,
            lists,
            found: Found::new(Sums::new(heaps(source.process(), arenas, lists))),
            huge: Blocks::default(),
            larger: BTreeMap::new(),
            ranges: Vec::new(),
            mapped_bytes: 0,
        }
    }

    fn add_regions(&mut self, regions: &[Region]) -> Result<()> {
        let tcaches: Vec<u64> = self.lists.tcaches.iter().map(|one| one.address).collect();
        let lists = self.lists;
        let walk = Walk {
            source: self.source,
            page_bytes: PAGE_BYTES,
            lists,
            tcaches: &tcaches,
            first_tcache: self.arenas.arenas.len(),
        };
        let mut system_bytes = vec![0; self.arenas.arenas.len()];
        for region in regions {
            self.mapped_bytes += region.end - region.start;
            system_bytes[region.arena] += region.end - region.start;
            self.add_region(&walk, *region)?;
        }
        for (index, arena) in self.arenas.arenas.iter().enumerate() {
            let (known, found) = (arena.system_bytes, system_bytes[index]);
            if known > found + found / 50 + (1 << 20) {
                bail!(
                    "glibc's {} does not add up: it has {known} bytes of memory, of which {found} \
                     are found",
                    self.found.sums.heaps[index].name()
                );
            }
        }
        Ok(())
    }

    /// With the parts that follow where others have taken memory by brk in between.
    fn add_region(&mut self, walk: &Walk, region: Region) -> Result<()> {
        let mut part = Some((region, region.start / PAGE_BYTES * PAGE_BYTES));
        while let Some((one, from_page)) = part {
            let walked = self.add_part(walk, one, from_page)?;
            let end_page = walked.end.next_multiple_of(PAGE_BYTES);
            self.ranges.push(walked.range);
            part = self.after(region, walked.end).map(|next| (next, end_page));
        }
        Ok(())
    }

    /// What does not add up is read again; and in the end, while somebody is in the midst of a call,
    /// left out.
    fn add_part(&mut self, walk: &Walk, region: Region, from_page: u64) -> Result<region::Walked> {
        const BYTES_OF_A_GAP: u64 = 1 << 16;
        let arena = &self.arenas.arenas[region.arena];
        let (source, top_at) = (self.source, arena.top_at);
        let mut top = || Memory::new(source).word(top_at);
        let mut resume = |at: u64| Some(self.after(region, at + 16)?.first);
        let gaps = match is_busy(source) || source.process().is_live && arena.is_locked {
            true => {
                source.process().threads.len()
                    + ((region.end - region.start) / BYTES_OF_A_GAP) as usize
            }
            false => 0,
        };
        let tries: &[usize] = if source.process().is_live { &[0, 0, gaps, gaps] } else { &[0] };
        let mut last = Ok(());
        for &gaps in tries {
            let mut found = self.found.clone();
            let mut guide = Guide { top: &mut top, resume: &mut resume, gaps };
            match walk.add(&mut found, region, from_page, &mut guide) {
                Ok(walked) => {
                    self.found = found;
                    return Ok(walked);
                }
                Err(cause) => last = Err(cause),
            }
        }
        last.and_then(|()| bail!("glibc's heap cannot be read"))
    }

    /// Where chunks go on in the region: at one that is known.
    fn after(&self, region: Region, end: u64) -> Option<Region> {
        let arena = &self.arenas.arenas[region.arena];
        let listed = &self.lists.chunks;
        let listed = listed.get(listed.partition_point(|(at, _)| *at < end)).map(|(at, _)| *at);
        let known = listed.into_iter().chain(arena.binned.iter().copied()).chain([arena.top]);
        let anchor = known.filter(|at| region.contains(*at) && *at >= end).min()?;
        let first = regions::begin_before(&mut Memory::new(self.source), end, anchor);
        Some(Region { start: first, first, ..region })
    }

    fn add_mapped(&mut self, mapped: &[Mapped]) -> Result<()> {
        for one in mapped {
            let count = (one.bytes / PAGE_BYTES) as usize;
            let resident = self.source.resident(one.start, count, PAGE_BYTES)?;
            let resident_bytes = resident.iter().filter(|is| **is).count() as u64 * PAGE_BYTES;
            let header = (one.block - one.start).min(resident_bytes);
            self.huge.add(one.block_bytes);
            self.mapped_bytes += one.bytes;
            let sums = &mut self.found.sums;
            sums.resident.add(Kind::Live, resident_bytes - header);
            sums.resident.add(Kind::Metadata, header);
            let larger = self.larger.entry(one.block_bytes).or_default();
            larger.count += 1;
            larger.resident_bytes += resident_bytes - header;
            let header_pages = (one.block - one.start).div_ceil(PAGE_BYTES) as usize;
            let inner = resident.iter().skip(header_pages);
            let least = match inner.clone().all(|is| *is) {
                true => one.block_bytes,
                false => inner.filter(|is| **is).count() as u64 * PAGE_BYTES,
            };
            self.found.on_loam.add(one.block_bytes, (least, resident_bytes));
            let page = Page::whole(Kind::Live, Content::Huge, PAGE_BYTES, None);
            let pages = resident.iter().map(|is| is.then_some(page)).collect();
            self.ranges.push(Range { start: one.start, resident, pages });
        }
        Ok(())
    }

    fn figures(self, parameters: Option<Parameters>) -> Figures {
        let Found { sums, small, middle, large, .. } = self.found;
        let shape = self.lists.tcaches.first().map(|one| one.shape.about);
        let links = self.lists.are_protected.map(|are| match are {
            true => "protected links (from 2.32)",
            false => "plain links (to 2.31)",
        });
        let layout = [Some(self.arenas.layout.about), shape, links];
        let counted = Counted {
            version: version::of(self.source.process(), &self.arenas.file),
            layout: layout.into_iter().flatten().map(str::to_owned).collect(),
            arena_count: self.arenas.arenas.len() as u64,
            tcache_count: self.lists.tcaches.len() as u64,
            tcache_bytes: self.found.tcache_bytes,
            fastbin_bytes: self.found.fastbin_bytes,
            bin_bytes: self.found.bin_bytes,
            top_bytes: self.found.top_bytes,
            trim_bytes: self.found.trim_bytes,
            mapped_count: self.huge.count,
            known_mapped_count: parameters.map(|known| known.mapped_count),
        };
        let glibc = Glibc {
            counted,
            on_loam: self.found.on_loam,
            wrapper: None,
            start: None,
            runtime: None,
        };
        let active = [small, middle, large, self.huge].iter().map(|blocks| blocks.bytes).sum();
        Figures {
            page_bytes: PAGE_BYTES,
            small,
            middle,
            large,
            huge: self.huge,
            larger: self.larger,
            resident: sums.resident,
            classes: sums.classes,
            heaps: sums.heaps,
            absent: HashMap::new(),
            region_count: self.ranges.len() as u64,
            ranges: self.ranges,
            active_bytes: active,
            mapped_bytes: self.mapped_bytes,
            tags: None,
            allocator: Allocator::Glibc(Box::new(glibc)),
        }
    }
}

/// Arenas, and behind them tcaches.
fn heaps(process: &Process, arenas: &Arenas, lists: &Lists) -> Vec<Heap> {
    let heap = |keeper, thread_name| Heap {
        keeper,
        thread_name,
        live_bytes: 0,
        resident: Resident::default(),
    };
    let name_of = |id: Option<u32>| {
        let thread = process.threads.iter().find(|thread| Some(thread.id) == id);
        thread.and_then(|thread| thread.name.clone())
    };
    let arenas = arenas.arenas.iter().enumerate().map(|(index, arena)| {
        heap(Keeper::Arena { index, thread_count: arena.thread_count }, None)
    });
    let tcaches = lists.tcaches.iter().map(|tcache| {
        let keeper = tcache.thread.map_or(Keeper::Tcache, Keeper::Cache);
        heap(keeper, name_of(tcache.thread))
    });
    arenas.chain(tcaches).collect()
}
