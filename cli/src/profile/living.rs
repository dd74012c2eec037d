//! The profile of a process that runs, or of one that has left a core, read from outside; and what
//! the walk through its heaps says of the pages that the samples are on.

use crate::heap::figures::{Figures, Kind, Page};
use crate::heap::image::Image;
use crate::heap::layout::Layout;
use crate::heap::pinned::{self, Pinned};
use crate::heap::samples::{self, Samples, Weight};
use crate::heap::source::{Name, Source};
use crate::heap::walk;
use crate::profile::known::Known;
use crate::profile::perf_map::PerfMap;
use crate::profile::place::Lines;
use crate::profile::written::{Held, Module, Pin, Profile, Site, Sum, Sums};
use anyhow::{Result, bail};
use nix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn read(source: &dyn Source) -> Result<Profile> {
    let Some(profile) = find(source)? else {
        let process = source.process();
        let ways = match process.pid.filter(|_| process.is_live) {
            Some(pid) => format!("have one taken with 'loam prof --start {pid}', or start it with"),
            None => "the process had none taken; start it with".to_owned(),
        };
        bail!("{} has no profile: {ways} LOAM_OPTIONS=profile=on", process.title);
    };
    Ok(profile)
}

/// `None` if none is taken.
pub fn find(source: &dyn Source) -> Result<Option<Profile>> {
    let layout = Layout::find(source)?;
    let Some(samples) = Samples::read(source, &layout)? else { return Ok(None) };
    let pages = Pages::of(walk::of_loam(source)?);
    let mut profile = Profile {
        process: source.process().name.clone(),
        pid: source.process().pid.unwrap_or(0),
        sample_bytes: samples.bytes,
        modules: modules(source),
        lines: lines(&samples.lines),
        total: Sums {
            taken: sum(samples.taken),
            live: sum(samples.live),
            peak: sum(samples.peak),
            ..Sums::default()
        },
        lost: samples.lost_count,
        ..Profile::default()
    };
    let mut found: HashMap<u64, Found> = HashMap::new();
    add_pinned(&samples, &pages, now_ms(source), &mut found);
    add_freed(&samples, &pages, &mut found);
    for (address, site) in &samples.sites {
        let Found { freed, pinned, beside, pins } = found.remove(address).unwrap_or_default();
        let callers = site.callers.iter().map(|caller| profile.place(*caller)).collect();
        let sums = Sums {
            taken: sum(site.taken),
            live: sum(site.live),
            peak: sum(site.peak),
            freed: freed.sum(),
            pinned: pinned.sum(),
            beside: beside.sum(),
        };
        profile.total.freed += sums.freed;
        profile.total.pinned += sums.pinned;
        profile.total.beside += sums.beside;
        profile.sites.push(Site { number: site.number, callers, sums, pins });
    }
    // In an order that does not change from one reading to the next.
    profile.sites.sort_by_key(|site| std::cmp::Reverse(site.sums.taken.bytes));
    profile.held = Some(pages.held);
    if let Some(pid) = source.process().pid.filter(|_| source.process().is_live) {
        profile.name_codes(|| PerfMap::of_process(pid));
    }
    Ok(Some(profile))
}

fn sum(weight: Weight) -> Sum {
    Sum {
        count: weight.count.round() as i64,
        bytes: weight.bytes.cast_signed(),
        samples: weight.samples.cast_signed(),
        variance: weight.variance,
    }
}

fn lines(lines: &[samples::Line]) -> Lines {
    let known = |one: &samples::Line| {
        let known = Known::python(&one.function, &one.file, one.line, one.function_line);
        (one.number, Arc::new(known))
    };
    lines.iter().map(known).collect()
}

/// By the clock that samples are dated by; `None` of a core.
fn now_ms(source: &dyn Source) -> Option<u64> {
    if !source.process().is_live {
        return None;
    }
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
    let ms = now.tv_sec() * 1000 + now.tv_nsec() / 1_000_000;
    u64::try_from(ms).ok()
}

fn modules(source: &dyn Source) -> Vec<Arc<Module>> {
    let mut images = HashMap::new();
    let mappings = &source.process().mappings;
    for mapping in mappings {
        let Name::File(path) = &mapping.name else { continue };
        if let Some(image) = Image::at(source, mapping) {
            let build_id = image.build_id().unwrap_or_default();
            let build_id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
            images.insert(path, (image.bias, build_id));
        }
    }
    let root = source.process().pid.filter(|_| source.process().is_live).and_then(other_root);
    let from_here = |path: &Path| {
        let there = root.as_ref().map(|root| root.join(path.strip_prefix("/").unwrap_or(path)));
        there.filter(|there| there.is_file()).unwrap_or_else(|| path.to_owned())
    };
    let module = |mapping: &crate::heap::source::Mapping| {
        let Name::File(path) = &mapping.name else { return None };
        let (bias, build_id) = images.get(path)?;
        Some(Arc::new(Module {
            start: mapping.start,
            end: mapping.end,
            bias: *bias,
            build_id: build_id.clone(),
            path: path.clone(),
            file: from_here(path),
        }))
    };
    mappings.iter().filter_map(module).collect()
}

/// Where the process's files are, if other ones are mounted there than here, as in a container.
fn other_root(pid: u64) -> Option<PathBuf> {
    let mounts = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let is_other = mounts(&pid.to_string())? != mounts("self")?;
    is_other.then(|| PathBuf::from(format!("/proc/{pid}/root")))
}

/// Of one place, before it is rounded.
#[derive(Default)]
struct Found {
    freed: Estimate,
    pinned: Estimate,
    beside: Estimate,
    pins: Vec<Pin>,
}

#[derive(Default, Clone, Copy)]
struct Estimate {
    count: f64,
    bytes: f64,
    samples: i64,
    variance: f64,
}

impl Estimate {
    /// A sample that stands for so many blocks, which have so many bytes.
    fn add(&mut self, count: f64, bytes: f64) {
        self.count += count;
        self.bytes += bytes;
        self.samples += 1;
        self.variance += bytes.powi(2) * (1.0 - 1.0 / count.max(1.0));
    }

    fn sum(self) -> Sum {
        Sum {
            count: self.count.round() as i64,
            bytes: self.bytes.round() as i64,
            samples: self.samples,
            variance: self.variance,
        }
    }
}

/// All pages of the heaps, to be looked up.
struct Pages {
    figures: Figures,
    held: Held,
}

impl Pages {
    fn of(mut figures: Figures) -> Pages {
        figures.ranges.sort_by_key(|range| range.start);
        let resident = |kind| figures.resident.of(kind);
        let held = Held {
            live: figures.live().bytes,
            freed: FREED.iter().map(|kind| resident(*kind)).sum(),
            pinned: figures.resident.pinned(),
            profile: resident(Kind::Profile),
        };
        Pages { figures, held }
    }

    /// The resident pages that a block is on, and how many of its bytes each has.
    fn under(&self, address: u64, bytes: u64) -> impl Iterator<Item = (&Page, u64)> {
        let page_bytes = self.figures.page_bytes;
        let ranges = &self.figures.ranges;
        let end = address.saturating_add(bytes);
        let index = ranges.partition_point(|range| range.start <= address);
        let range = index.checked_sub(1).map(|index| &ranges[index]);
        let pages = range.into_iter().flat_map(move |range| {
            let first = ((address - range.start) / page_bytes) as usize;
            let count = (end - range.start).div_ceil(page_bytes) as usize - first;
            let pages = range.pages.iter().enumerate().skip(first).take(count);
            pages.map(move |(at, page)| (range.start + at as u64 * page_bytes, page))
        });
        pages.filter_map(move |(start, page)| {
            let part = end.min(start + page_bytes) - address.max(start);
            Some((page.as_ref()?, part))
        })
    }

    /// By a live block, and by a sample's ordinary block that nobody has written to.
    fn pinned(&self, address: u64, bytes: u64) -> Pinned {
        let page_bytes = self.figures.page_bytes;
        let mut sum = Pinned::default();
        for (page, bytes) in self.under(address, bytes).filter(|(page, _)| page.live_bytes != 0) {
            sum += pinned::part(page_bytes, page.live_bytes.into(), bytes);
        }
        let end = address + bytes;
        let pages = (address / page_bytes..end.div_ceil(page_bytes)).map(|page| page * page_bytes);
        for page in pages {
            if let Some(live) = self.figures.absent.get(&page) {
                let bytes = end.min(page + page_bytes) - address.max(page);
                sum += pinned::part(page_bytes, (*live).into(), bytes);
            }
        }
        sum
    }
}

/// Each sample in use has its part of the pages that it is on.
fn add_pinned(
    samples: &Samples,
    pages: &Pages,
    now_ms: Option<u64>,
    found: &mut HashMap<u64, Found>,
) {
    for sample in &samples.in_use {
        let Pinned { bytes, beside } = pages.pinned(sample.address, sample.bytes);
        let place = found.entry(sample.site).or_default();
        place.pinned.add(sample.count, bytes * sample.count);
        place.beside.add(sample.count, beside * sample.count);
        place.pins.push(Pin {
            bytes: (bytes * sample.count).round() as i64,
            age_ms: now_ms.map(|now| now.saturating_sub(sample.taken_ms)),
        });
    }
}

/// Free, and nobody's in use is on the page.
const FREED: [Kind; 4] = [Kind::Idle, Kind::Cached, Kind::Depots, Kind::Dirty];

/// What was freed last is what is there: of two blocks that were at an address the later one, and
/// no more in all than there is.
fn add_freed(samples: &Samples, pages: &Pages, found: &mut HashMap<u64, Found>) {
    let mut left = pages.held.freed as f64;
    let mut seen = HashSet::new();
    for freed in samples.freed.iter().filter(|freed| freed.bytes != 0) {
        if left <= 0.0 {
            break;
        }
        if !seen.insert(freed.address) {
            continue;
        }
        let is_freed = |(page, _): &(&Page, u64)| FREED.contains(&page.kind);
        let under = pages.under(freed.address, freed.bytes);
        let bytes: u64 = under.filter(is_freed).map(|(_, bytes)| bytes).sum();
        let share = bytes as f64 / freed.bytes as f64;
        let still = (share * freed.weighted_bytes as f64).min(left);
        left -= still;
        let place = found.entry(freed.site).or_default();
        place.freed.add(still / freed.bytes as f64, still);
    }
}
