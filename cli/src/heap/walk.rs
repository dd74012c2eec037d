//! All regions of a process, page by page, and what else is loam's.

use crate::heap::blocks::{State, divided, mark_holes, on_page};
use crate::heap::figures::{
    Allocator, Blocks, Class, Content, Figures, Heap, Keeper, Kind, Larger, Page, Range, Resident,
};
use crate::heap::glibc;
use crate::heap::layout::Layout;
use crate::heap::lists::{Lists, Place};
use crate::heap::residency::Pages;
use crate::heap::shape::Shape;
use crate::heap::source::{Process, Source};
use crate::heap::without;
use anyhow::{Result, bail, ensure};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What is in the heaps of the process, of loam's or of glibc's.
pub fn walk(source: &dyn Source) -> Result<Figures> {
    if let Some(layout) = Layout::look_for(source)? {
        return with(source, layout);
    }
    let seen = without::look(source);
    let walked = if seen.is_others { None } else { glibc::walk(source)? };
    let Some(mut figures) = walked else { bail!("{}", without::told(source)) };
    if let Allocator::Glibc(glibc) = &mut figures.allocator {
        (glibc.wrapper, glibc.start, glibc.runtime) = (seen.wrapper, seen.start, seen.runtime);
    }
    Ok(figures)
}

/// What is in the heaps of a process on loam.
pub fn of_loam(source: &dyn Source) -> Result<Figures> {
    with(source, Layout::find(source)?)
}

fn with(source: &dyn Source, layout: Layout) -> Result<Figures> {
    let regions = find_regions(source, &layout)?;
    let lists = Lists::read(source, &layout, &regions.iter().copied().collect())?;
    let mut walker = Walker::new(source, &layout, &lists)?;
    for &region in &regions {
        walker.add_region(region)?;
    }
    walker.add_huge()?;
    walker.add_kept()?;
    walker.add_metadata(&regions)?;
    walker.add_profile()?;
    Ok(walker.figures)
}

/// Where regions are, by the map of them.
fn find_regions(source: &dyn Source, layout: &Layout) -> Result<Vec<u64>> {
    let shift = layout.number("region.shift")?;
    let count = 1_usize << (layout.number("region.address_bits")? - shift);
    let map = source.bytes(layout.root("region_map")?, count / 8)?;
    let places = map.iter().enumerate().filter(|(_, byte)| **byte != 0);
    let bits = places.flat_map(|(at, byte)| {
        (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| (at * 8 + bit) as u64)
    });
    Ok(bits.map(|place| place << shift).collect())
}

struct Walker<'source> {
    source: &'source dyn Source,
    layout: &'source Layout,
    shape: Shape,
    /// Indices of heaps by the address of their record.
    heaps: HashMap<u64, usize>,
    /// Blocks that are known to be free without being on a span's list.
    places: &'source HashMap<u64, Place>,
    /// Of the region that is being walked.
    pages: Vec<Option<Page>>,
    figures: Figures,
}

/// A region that is being walked.
struct Region {
    start: u64,
    header: Pages,
    resident: Vec<bool>,
}

impl<'source> Walker<'source> {
    fn new(
        source: &'source dyn Source,
        layout: &'source Layout,
        lists: &'source Lists,
    ) -> Result<Walker<'source>> {
        let os = layout.root("os")? + layout.number("os.page_bytes")?;
        let page_bytes = layout.pointer_at(source, os)?;
        ensure!(
            page_bytes.is_power_of_two() && (4096..=1 << 16).contains(&page_bytes),
            "{} has not started loam yet",
            source.process().title
        );
        let heaps = lists.heaps.iter().map(|found| heap(found.keeper, source.process()));
        let figures = Figures {
            allocator: Allocator::Loam,
            page_bytes,
            small: Blocks::default(),
            middle: Blocks::default(),
            large: Blocks::default(),
            huge: Blocks::default(),
            larger: BTreeMap::new(),
            resident: Resident::default(),
            classes: classes(source, layout)?,
            heaps: heaps.collect(),
            absent: HashMap::new(),
            region_count: 0,
            ranges: Vec::new(),
            active_bytes: 0,
            mapped_bytes: 0,
            tags: None,
        };
        let indices = lists.heaps.iter().enumerate().map(|(i, found)| (found.address, i));
        Ok(Walker {
            source,
            layout,
            shape: Shape::of(layout)?,
            heaps: indices.collect(),
            places: &lists.blocks,
            pages: Vec::new(),
            figures,
        })
    }

    fn page(&self) -> u64 {
        self.figures.page_bytes
    }

    fn add(&mut self, heap: Option<usize>, kind: Kind, bytes: u64) {
        self.figures.resident.add(kind, bytes);
        if let Some(heap) = heap {
            self.figures.heaps[heap].resident.add(kind, bytes);
        }
    }

    /// Resident bytes of the pages that begin in a region there.
    fn resident_bytes(&self, region: &Region, page: u64, count: u64) -> u64 {
        let pages = region.resident.iter().skip(page as usize).take(count as usize);
        pages.filter(|&&is| is).count() as u64 * self.page()
    }

    /// Adds the block of a size that has pages of its own.
    fn add_larger(&mut self, bytes: u64, resident_bytes: u64) {
        let Larger { count, resident_bytes: sum } = self.figures.larger.entry(bytes).or_default();
        (*count, *sum) = (*count + 1, *sum + resident_bytes);
        self.figures.active_bytes += bytes;
    }

    /// Adds pages of a region that are all of one kind.
    fn add_pages(
        &mut self,
        region: &Region,
        at: std::ops::Range<u64>,
        heap: Option<usize>,
        (kind, content): (Kind, Content),
    ) {
        let bytes = self.resident_bytes(region, at.start, at.end - at.start);
        self.add(heap, kind, bytes);
        let page = Page::whole(kind, content, self.page(), heap);
        for at in at.start as usize..(at.end as usize).min(region.resident.len()) {
            self.pages[at] = region.resident[at].then_some(page);
        }
    }

    fn add_region(&mut self, start: u64) -> Result<()> {
        let page = self.page();
        let header_bytes = self.layout.number("region.size")?.next_multiple_of(page);
        let in_header = self.source.resident(start, (header_bytes / page) as usize, page)?;
        let header = Pages::read(self.source, start, &in_header, page)?;
        let bytes = header.word(self.shape.region_bytes, 4);
        let most = 1 << self.layout.number("region.shift")?;
        if bytes == 0 || bytes > most || !bytes.is_multiple_of(page) {
            return Ok(()); // it has just begun
        }
        let resident = self.source.resident(start, (bytes / page) as usize, page)?;
        let region = Region { start, header, resident };
        self.figures.region_count += 1;
        self.figures.mapped_bytes += bytes;
        let first = region.header.word(self.shape.first_slice, 4) * self.shape.slice_bytes / page;
        self.pages = vec![None; region.resident.len()];
        self.add_pages(&region, 0..first, None, (Kind::Metadata, Content::Nothing));
        let (mut at, end) = (first, bytes / page);
        while at < end {
            at += self.add_page(&region, at)?.max(1);
        }
        let pages = std::mem::take(&mut self.pages);
        self.figures.ranges.push(Range { start, resident: region.resident, pages });
        Ok(())
    }

    /// Adds what begins on the page, and returns how many pages to go on by.
    fn add_page(&mut self, region: &Region, page: u64) -> Result<u64> {
        if !region.header.bit(self.shape.used_pages, page) {
            let is_dirty = region.header.bit(self.shape.dirty_pages, page);
            let kind = if is_dirty { Kind::Dirty } else { Kind::Unused };
            self.add_pages(region, page..page + 1, None, (kind, Content::Nothing));
            return Ok(1);
        }
        let slice_pages = self.shape.slice_bytes / self.page();
        if page.is_multiple_of(slice_pages) {
            let span = self.shape.spans + page / slice_pages * self.shape.span_size;
            let field = |offset, width| region.header.word(span + offset, width);
            let state = field(self.shape.span.state, 1);
            let class_index = field(self.shape.span.class_index, 1);
            let slices = field(self.shape.span.slice_count, 1);
            let is_class = class_index < self.figures.classes.len() as u64;
            if state != self.shape.none && slices != 0 && is_class {
                self.add_span(region, page, span)?;
                return Ok(slices * slice_pages);
            }
        }
        Ok(self.add_block(region, page))
    }

    /// Adds the middle or large block that begins there.
    fn add_block(&mut self, region: &Region, page: u64) -> u64 {
        let entry = region.header.word(self.shape.block_pages + page * 4, 4);
        let count = entry & !(self.shape.cached | self.shape.guarded);
        if count == 0 || count > region.resident.len() as u64 - page {
            self.add_pages(region, page..page + 1, None, (Kind::Unused, Content::Nothing));
            return 1;
        }
        let (bytes, pages) = (count * self.page(), page..page + count);
        let is_middle = bytes <= self.shape.middle_max_bytes;
        let content = if is_middle { Content::Middle } else { Content::Large };
        let resident_bytes = self.resident_bytes(region, page, count);
        if entry & self.shape.cached != 0 {
            // On its way from one list to another it is in none.
            let place = self.places.get(&(region.start + page * self.page()));
            let kind = place.map_or(Kind::Cached, |place| place.kind());
            self.figures.active_bytes += bytes;
            self.add_pages(region, pages, place.map(|place| place.heap()), (kind, content));
            return count;
        }
        let blocks = if is_middle { &mut self.figures.middle } else { &mut self.figures.large };
        blocks.add(bytes);
        self.add_larger(bytes, resident_bytes);
        self.add_pages(region, pages, None, (Kind::Live, content));
        count
    }

    /// Where each carved block of the span is.
    fn states(&self, pages: &Pages, first_free: u64, count: u64, block_bytes: u64) -> Vec<State> {
        let mut states: Vec<State> = (0..count)
            .map(|i| match self.places.get(&(pages.start + i * block_bytes)) {
                Some(place) => State::Listed(*place),
                None => State::Live,
            })
            .collect();
        let mut block = first_free;
        for _ in 0..count {
            let offset = block.wrapping_sub(pages.start);
            let index = (offset / block_bytes) as usize;
            let is_end = block == self.shape.no_block;
            if is_end || !offset.is_multiple_of(block_bytes) || index >= states.len() {
                break;
            }
            states[index] = State::Free;
            block = pages.word(offset, self.shape.pointer);
        }
        states
    }

    fn add_span(&mut self, region: &Region, page: u64, span: u64) -> Result<()> {
        let field = |offset, width| region.header.word(span + offset, width);
        let class_index = field(self.shape.span.class_index, 1) as usize;
        let central = field(self.shape.span.central, self.shape.pointer);
        let heap = self.heaps.get(&central).copied();
        let (carved, holes) =
            (field(self.shape.span.extended_count, 2), field(self.shape.span.hole_pages, 8));
        let free_list = field(self.shape.span.free_list, self.shape.pointer);
        let bytes = field(self.shape.span.slice_count, 1) * self.shape.slice_bytes;
        let block_bytes = self.figures.classes[class_index].block_bytes.max(1);
        let carved = carved.min(bytes / block_bytes);
        let (from, page_bytes) = (page as usize, self.page());
        let to = (from + (bytes / page_bytes) as usize).min(region.resident.len());
        if heap.is_some_and(|heap| self.figures.heaps[heap].keeper == Keeper::Profile) {
            self.figures.active_bytes += bytes;
            let all = page..to as u64;
            self.add_pages(region, all, heap, (Kind::Profile, Content::Nothing));
            return Ok(());
        }
        let start = region.start + page * page_bytes;
        let resident = &region.resident[from..to];
        let none = vec![false; resident.len()];
        let read = if free_list == self.shape.no_block { &none } else { resident };
        let pages = Pages::read(self.source, start, read, page_bytes)?;
        let mut states = self.states(&pages, free_list, carved, block_bytes);
        mark_holes(&mut states, holes, block_bytes, page_bytes);
        self.count_blocks(&states, class_index, bytes, heap);
        let dirty = field(self.shape.span.dirty_pages, 8);
        let uncut = (carved * block_bytes).div_ceil(page_bytes) as usize;
        for (index, is_resident) in resident.iter().enumerate() {
            let range = index as u64 * page_bytes..(index as u64 + 1) * page_bytes;
            if !is_resident {
                self.note_absent(start + range.start, &states, range, block_bytes);
                continue;
            }
            if index >= uncut {
                let is_dirty = dirty >> index.min(63) & 1 == 1;
                let kind = if is_dirty { Kind::Dirty } else { Kind::Unused };
                let (at, content) = (page + index as u64, Content::Small(class_index as u16));
                self.add_pages(region, at..at + 1, heap, (kind, content));
                self.figures.classes[class_index].resident.add(kind, page_bytes);
                continue;
            }
            self.pages[from + index] = Some(self.add_span_page(&states, range, class_index, heap));
        }
        Ok(())
    }

    fn note_absent(
        &mut self,
        address: u64,
        states: &[State],
        page: std::ops::Range<u64>,
        block_bytes: u64,
    ) {
        let blocks = on_page(states, &page, block_bytes);
        let live: u64 = blocks.filter(|(state, _)| *state == State::Live).map(|(_, b)| b).sum();
        if live != 0 {
            self.figures.absent.insert(address, live as u32);
        }
    }

    fn count_blocks(
        &mut self,
        states: &[State],
        class_index: usize,
        bytes: u64,
        heap: Option<usize>,
    ) {
        let count = |is: fn(&State) -> bool| states.iter().filter(|state| is(state)).count() as u64;
        let class = &mut self.figures.classes[class_index];
        let live = count(|state| *state == State::Live);
        class.span_count += 1;
        class.span_bytes += bytes;
        class.carved_count += states.len() as u64;
        class.live_count += live;
        class.free_count += count(|state| *state == State::Free);
        class.cached_count += count(|state| matches!(state, State::Listed(Place::Cache(_))));
        class.depot_count += count(|state| matches!(state, State::Listed(Place::Depot(_))));
        self.figures.active_bytes += bytes;
        self.figures.small.count += live;
        self.figures.small.bytes += live * class.block_bytes;
        if let Some(heap) = heap {
            self.figures.heaps[heap].live_bytes += live * class.block_bytes;
        }
    }

    /// Divides a page that is in memory among the blocks on it.
    fn add_span_page(
        &mut self,
        states: &[State],
        page: std::ops::Range<u64>,
        class_index: usize,
        heap: Option<usize>,
    ) -> Page {
        let block_bytes = self.figures.classes[class_index].block_bytes.max(1);
        let page_bytes = page.end - page.start;
        let mut live = 0;
        let mut listed = Vec::new();
        for (state, bytes) in on_page(states, &page, block_bytes) {
            match state {
                State::Live => live += bytes,
                State::Listed(place) => listed.push((place, bytes)),
                State::Free => {}
            }
        }
        let parts = divided(page_bytes, live, heap, &listed);
        for (kind, heap, bytes) in &parts {
            self.figures.classes[class_index].resident.add(*kind, *bytes);
            self.add(*heap, *kind, *bytes);
        }
        let most = parts.iter().max_by_key(|(_, _, bytes)| bytes);
        let kind = if live != 0 { Kind::Live } else { most.map_or(Kind::Idle, |part| part.0) };
        Page {
            kind,
            content: Content::Small(class_index as u16),
            live_bytes: live as u32,
            heap: heap.and_then(|index| u32::try_from(index).ok()),
        }
    }

    /// Adds pages of loam's own, or of one huge block.
    fn add_range(&mut self, start: u64, bytes: u64, kind: Kind) -> Result<()> {
        let page = self.page();
        let start = start / page * page;
        let resident = self.source.resident(start, bytes.div_ceil(page) as usize, page)?;
        let count = resident.iter().filter(|&&is| is).count() as u64;
        self.add(None, kind, count * page);
        if kind == Kind::Live {
            self.add_larger(bytes, count * page);
        }
        let content = if kind == Kind::Live { Content::Huge } else { Content::Nothing };
        let whole = Page::whole(kind, content, page, None);
        let pages = resident.iter().map(|is| is.then_some(whole)).collect();
        self.figures.ranges.push(Range { start, resident, pages });
        Ok(())
    }

    fn add_huge(&mut self) -> Result<()> {
        let pointer = self.shape.pointer as u64;
        let buckets = self.layout.root("huge_buckets")?;
        let field = |name| self.layout.number(name);
        let (next, address, size) =
            (field("huge.next")?, field("huge.address")?, field("huge.size")?);
        for bucket in 0..field("huge.bucket_count")? {
            let mut seen = HashSet::new();
            let at = |address| self.layout.pointer_at(self.source, address);
            let mut record = at(buckets + bucket * pointer)?;
            let mut blocks = Vec::new();
            while record != 0 && seen.insert(record) {
                blocks.push((at(record + address)?, at(record + size)?));
                record = at(record + next)?;
            }
            for (start, bytes) in blocks {
                self.figures.huge.add(bytes);
                self.figures.mapped_bytes += bytes;
                self.add_range(start, bytes, Kind::Live)?;
            }
        }
        Ok(())
    }

    /// Mappings of huge blocks that have been freed.
    fn add_kept(&mut self) -> Result<()> {
        let (first, size) =
            (self.layout.root("kept_mappings")?, self.layout.number("mapping.size")?);
        let (address_at, size_at) =
            (self.layout.number("mapping.address")?, self.layout.number("mapping.bytes")?);
        for index in 0..self.layout.number("mappings.count")? {
            let at = |offset| self.layout.pointer_at(self.source, first + index * size + offset);
            let (address, bytes) = (at(address_at)?, at(size_at)?);
            if address != 0 {
                self.figures.mapped_bytes += bytes;
                self.add_range(address, bytes, Kind::Dirty)?;
            }
        }
        Ok(())
    }

    fn add_metadata(&mut self, regions: &[u64]) -> Result<()> {
        let mut batch = self.layout.pointer_at(self.source, self.layout.root("meta")?)?;
        let mut seen = HashSet::new();
        while batch != 0 && seen.insert(batch) {
            self.add_range(batch, self.layout.number("meta.batch_bytes")?, Kind::Metadata)?;
            batch =
                self.layout.pointer_at(self.source, batch + self.layout.number("meta.next")?)?;
        }
        let tags = self.layout.root("tags")?;
        let at = |name| self.layout.pointer_at(self.source, tags + self.layout.number(name)?);
        let (table, multiplier) = (at("tags.table")?, at("tags.multiplier")?);
        if multiplier == 0 {
            return Ok(());
        }
        const TAG_BYTES: u64 = 1;
        let word_count = self.layout.number("tags.words")?;
        self.figures.tags = Some((table, table + word_count * TAG_BYTES));
        let words = |address: u64| {
            table + address / self.shape.slice_bytes * TAG_BYTES / self.page() * self.page()
        };
        let mut pages: Vec<u64> = regions.iter().map(|&region| words(region)).collect();
        pages.sort_unstable();
        pages.dedup();
        for page in pages {
            self.add_range(page, self.page(), Kind::Metadata)?;
        }
        Ok(())
    }

    /// What a profile has beside its heap: records among loam's own, and tables in loam's variables.
    fn add_profile(&mut self) -> Result<()> {
        let size = self.shape.pointer as u64;
        let number = |name| self.layout.number(name);
        let records = self.layout.root("profile_totals")? + number("totals.record_bytes")?;
        let records = self.layout.pointer_at(self.source, records)?;
        if records == 0 {
            return Ok(());
        }
        self.figures.resident.move_to(Kind::Profile, Kind::Metadata, records);
        let freed = number("freed.count")? * number("freed.size")?;
        let tables =
            [("profile_freed", freed), ("profile_samples", number("sample.bucket_count")? * size)];
        for (root, bytes) in tables {
            // Other variables may be on the pages at either end.
            let (start, page) = (self.layout.root(root)?, self.page());
            let (first, end) = (start.next_multiple_of(page), (start + bytes) / page * page);
            if first < end {
                self.add_range(first, end - first, Kind::Profile)?;
            }
        }
        Ok(())
    }
}

fn heap(keeper: Keeper, process: &Process) -> Heap {
    let of_thread = |id| process.threads.iter().find(|thread| thread.id == id);
    let thread = if let Keeper::Cache(id) = keeper { of_thread(id) } else { None };
    Heap {
        keeper,
        thread_name: thread.and_then(|thread| thread.name.clone()),
        live_bytes: 0,
        resident: Resident::default(),
    }
}

fn classes(source: &dyn Source, layout: &Layout) -> Result<Vec<Class>> {
    let (table, size) = (layout.root("classes")?, layout.number("class.size")?);
    let block_bytes_at = layout.number("class.block_bytes")?;
    let class = |index| -> Result<Class> {
        let bytes = source.bytes(table + index * size + block_bytes_at, 4)?;
        let block_bytes = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok(Class { block_bytes: block_bytes.into(), ..Class::default() })
    };
    (0..layout.number("class.count")?).map(class).collect()
}
