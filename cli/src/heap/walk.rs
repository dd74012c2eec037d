//! All regions of a process, page by page, and what else is loam's.

use crate::heap::figures::{
    Blocks, Class, Content, Figures, Heap, Kind, Owner, Page, Range, Resident,
};
use crate::heap::layout::Layout;
use crate::heap::lists::{Lists, Place};
use crate::heap::residency::Pages;
use crate::heap::source::{Process, Source};
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What is in the heaps of the process.
pub fn walk(source: &dyn Source) -> Result<Figures> {
    let layout = Layout::find(source)?;
    let regions = find_regions(source, &layout)?;
    let lists = Lists::read(source, &layout, &regions.iter().copied().collect())?;
    let mut walker = Walker::new(source, &layout, &lists)?;
    for &region in &regions {
        walker.add_region(region)?;
    }
    walker.add_huge()?;
    walker.add_kept()?;
    walker.add_metadata(&regions)?;
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

/// Numbers of the layout that are asked for often.
struct Shape {
    pointer: usize,
    slice_bytes: u64,
    chunk_bytes: u64,
    class_middle: u64,
    none: u64,
    spare: u64,
    on_its_way: u64,
    /// The entry is of a block behind a guard.
    guarded: u64,
    /// Ends the list of a span's free blocks.
    no_block: u64,
    region_bytes: u64,
    first_slice: u64,
    used_pages: u64,
    dirty_pages: u64,
    spans: u64,
    chunks: u64,
    block_pages: u64,
    span: Span,
    span_size: u64,
    chunk_size: u64,
    chunk_dirty_pages: u64,
}

struct Span {
    free_list: u64,
    extended_count: u64,
    state: u64,
    owner: u64,
    class_index: u64,
    slice_count: u64,
    hole_pages: u64,
}

impl Shape {
    fn of(layout: &Layout) -> Result<Shape> {
        let number = |name| layout.number(name);
        Ok(Shape {
            pointer: number("pointer.size")? as usize,
            slice_bytes: 1 << number("slice.shift")?,
            chunk_bytes: 1 << number("chunk.shift")?,
            class_middle: number("class.middle")?,
            none: number("span.none")?,
            spare: number("span.spare")?,
            on_its_way: number("block.on_its_way")?,
            guarded: number("block.guarded")?,
            no_block: number("block.none")?,
            region_bytes: number("region.bytes")?,
            first_slice: number("region.first_slice")?,
            used_pages: number("region.used_pages")?,
            dirty_pages: number("region.dirty_pages")?,
            spans: number("region.spans")?,
            chunks: number("region.chunks")?,
            block_pages: number("region.block_pages")?,
            span: Span {
                free_list: number("span.free_list")?,
                extended_count: number("span.extended_count")?,
                state: number("span.state")?,
                owner: number("span.owner")?,
                class_index: number("span.class_index")?,
                slice_count: number("span.slice_count")?,
                hole_pages: number("span.hole_pages")?,
            },
            span_size: number("span.size")?,
            chunk_size: number("chunk.size")?,
            chunk_dirty_pages: number("chunk.dirty_pages")?,
        })
    }
}

struct Walker<'source> {
    source: &'source dyn Source,
    layout: &'source Layout,
    lists: &'source Lists,
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

/// Where each block of a span is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Live,
    Free,
    Away(Place),
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
        let heaps: Vec<Heap> =
            lists.heaps.iter().map(|found| heap(&found.owner, source.process())).collect();
        let orphans = heap(&Owner::Orphans, source.process());
        let figures = Figures {
            page_bytes,
            small: Blocks::default(),
            middle: Blocks::default(),
            large: Blocks::default(),
            huge: Blocks::default(),
            larger_counts: BTreeMap::new(),
            resident: Resident::default(),
            classes: classes(source, layout)?,
            heaps: heaps.into_iter().chain([orphans]).collect(),
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
            lists,
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

    /// The heap's index, or that of orphans.
    fn heap_at(&self, address: u64) -> usize {
        self.heaps.get(&address).copied().unwrap_or(self.lists.heaps.len())
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
            let owner = self.heap_at(field(self.shape.span.owner, self.shape.pointer));
            if state != self.shape.none && slices != 0 && class_index <= self.shape.class_middle {
                let count = slices * slice_pages;
                if class_index == self.shape.class_middle {
                    self.add_chunk(region, page, owner);
                } else if state == self.shape.spare {
                    let kind = (Kind::Cached, Content::Nothing);
                    self.add_pages(region, page..page + count, Some(owner), kind);
                } else {
                    self.add_span(region, page, span, owner)?;
                }
                return Ok(count);
            }
        }
        Ok(self.add_block(region, page, None))
    }

    /// Adds the middle or large block that begins there.
    fn add_block(&mut self, region: &Region, page: u64, chunk_owner: Option<usize>) -> u64 {
        let entry = region.header.word(self.shape.block_pages + page * 4, 4);
        let count = entry & !(self.shape.on_its_way | self.shape.guarded);
        if count == 0 || count > region.resident.len() as u64 - page {
            let kind = (Kind::Unused, Content::Nothing);
            self.add_pages(region, page..page + 1, chunk_owner, kind);
            return 1;
        }
        let content = if chunk_owner.is_some() { Content::Middle } else { Content::Large };
        let bytes = count * self.page();
        self.figures.active_bytes += bytes;
        if entry & self.shape.on_its_way == 0 {
            let blocks = match chunk_owner {
                Some(_) => &mut self.figures.middle,
                None => &mut self.figures.large,
            };
            blocks.add(bytes);
            *self.figures.larger_counts.entry(bytes).or_default() += 1;
            if let Some(owner) = chunk_owner {
                self.figures.heaps[owner].live_bytes += bytes;
            }
            self.add_pages(region, page..page + count, chunk_owner, (Kind::Live, content));
            return count;
        }
        let (heap, kind) = match self.places.get(&(region.start + page * self.page())) {
            Some(Place::Cached(heap)) => (Some(*heap), Kind::Cached),
            _ => (chunk_owner, Kind::Waiting),
        };
        self.add_pages(region, page..page + count, heap, (kind, content));
        count
    }

    fn add_chunk(&mut self, region: &Region, first: u64, owner: usize) {
        let count = self.shape.chunk_bytes / self.page();
        let chunk = self.shape.chunks + first / count * self.shape.chunk_size;
        let mut page = first;
        while page < first + count {
            let entry = region.header.word(self.shape.block_pages + page * 4, 4);
            if entry != 0 {
                page += self.add_block(region, page, Some(owner));
                continue;
            }
            let dirty = chunk + self.shape.chunk_dirty_pages;
            let is_dirty = region.header.bit(dirty, page - first);
            let kind = if is_dirty { Kind::Dirty } else { Kind::Unused };
            self.add_pages(region, page..page + 1, Some(owner), (kind, Content::Nothing));
            page += 1;
        }
    }

    /// Where each carved block of the span is.
    fn states(&self, pages: &Pages, first_free: u64, count: u64, block_bytes: u64) -> Vec<State> {
        let mut states: Vec<State> = (0..count)
            .map(|i| match self.places.get(&(pages.start + i * block_bytes)) {
                Some(place) => State::Away(*place),
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

    fn add_span(&mut self, region: &Region, page: u64, span: u64, owner: usize) -> Result<()> {
        let field = |offset, width| region.header.word(span + offset, width);
        let class_index = field(self.shape.span.class_index, 1) as usize;
        let (carved, holes) =
            (field(self.shape.span.extended_count, 2), field(self.shape.span.hole_pages, 8));
        let free_list = field(self.shape.span.free_list, self.shape.pointer);
        let bytes = field(self.shape.span.slice_count, 1) * self.shape.slice_bytes;
        let block_bytes = self.figures.classes[class_index].block_bytes.max(1);
        let carved = carved.min(bytes / block_bytes);
        let (from, page_bytes) = (page as usize, self.page());
        let to = (from + (bytes / page_bytes) as usize).min(region.resident.len());
        let start = region.start + page * page_bytes;
        let resident = &region.resident[from..to];
        let none = vec![false; resident.len()];
        let read = if free_list == self.shape.no_block { &none } else { resident };
        let pages = Pages::read(self.source, start, read, page_bytes)?;
        let mut states = self.states(&pages, free_list, carved, block_bytes);
        mark_holes(&mut states, holes, block_bytes, page_bytes);
        self.count_blocks(&states, class_index, bytes, owner);
        for (index, _) in resident.iter().enumerate().filter(|(_, is)| **is) {
            let range = index as u64 * page_bytes..(index as u64 + 1) * page_bytes;
            self.pages[from + index] = Some(self.add_span_page(&states, range, class_index, owner));
        }
        Ok(())
    }

    fn count_blocks(&mut self, states: &[State], class_index: usize, bytes: u64, owner: usize) {
        let count = |is: fn(&State) -> bool| states.iter().filter(|state| is(state)).count() as u64;
        let class = &mut self.figures.classes[class_index];
        let live = count(|state| *state == State::Live);
        class.span_count += 1;
        class.span_bytes += bytes;
        class.carved_count += states.len() as u64;
        class.live_count += live;
        class.free_count += count(|state| *state == State::Free);
        class.cached_count += count(|state| matches!(state, State::Away(Place::Cached(_))));
        class.waiting_count += count(|state| *state == State::Away(Place::Waiting));
        self.figures.active_bytes += bytes;
        self.figures.small.count += live;
        self.figures.small.bytes += live * class.block_bytes;
        self.figures.heaps[owner].live_bytes += live * class.block_bytes;
    }

    /// Divides a page that is in memory among the blocks on it.
    fn add_span_page(
        &mut self,
        states: &[State],
        page: std::ops::Range<u64>,
        class_index: usize,
        owner: usize,
    ) -> Page {
        let block_bytes = self.figures.classes[class_index].block_bytes.max(1);
        let first = page.start / block_bytes;
        let last = (page.end - 1) / block_bytes;
        let (mut live, mut live_count, mut free) = (0, 0, 0);
        let mut away = Vec::new();
        for index in first..=last {
            let block = index * block_bytes..(index + 1) * block_bytes;
            let bytes = block.end.min(page.end) - block.start.max(page.start);
            match states.get(index as usize) {
                Some(State::Live) => {
                    live += bytes;
                    // Of a block on two pages the first counts.
                    live_count += u64::from(block.start >= page.start);
                }
                Some(State::Free) => free += bytes,
                Some(State::Away(place)) => away.push((*place, bytes)),
                None => {}
            }
        }
        let away_bytes: u64 = away.iter().map(|(_, bytes)| bytes).sum();
        let unused = page.end - page.start - live - free - away_bytes;
        let is_idle = live == 0 && away.is_empty();
        let kind = if is_idle { Kind::Idle } else { Kind::Between };
        // The rest of a page of which all that was cut is free goes back with it.
        let (free, unused) = if is_idle && free != 0 { (free + unused, 0) } else { (free, unused) };
        let found = Page {
            kind: span_page_kind(live, free, unused, &away),
            content: Content::Small(class_index as u16),
            live_bytes: live as u32,
            live_count: live_count as u16,
            between_bytes: if live != 0 { free as u32 } else { 0 },
            heap: u32::try_from(owner).ok(),
        };
        let class = &mut self.figures.classes[class_index];
        for (kind, bytes) in [(Kind::Live, live), (kind, free), (Kind::Unused, unused)] {
            class.resident.add(kind, bytes);
        }
        if found.is_pinned(page.end - page.start) {
            class.pinning_count += live_count;
            class.pinned_bytes += free;
        }
        for (place, bytes) in &away {
            let kind = if *place == Place::Waiting { Kind::Waiting } else { Kind::Cached };
            class.resident.add(kind, *bytes);
        }
        self.add(Some(owner), Kind::Live, live);
        self.add(Some(owner), kind, free);
        self.add(Some(owner), Kind::Unused, unused);
        for (place, bytes) in away {
            match place {
                Place::Cached(heap) => self.add(Some(heap), Kind::Cached, bytes),
                Place::Waiting => self.add(Some(owner), Kind::Waiting, bytes),
            }
        }
        found
    }

    /// Adds pages of loam's own, or of one huge block.
    fn add_range(&mut self, start: u64, bytes: u64, kind: Kind) -> Result<()> {
        let page = self.page();
        let start = start / page * page;
        let resident = self.source.resident(start, bytes.div_ceil(page) as usize, page)?;
        let count = resident.iter().filter(|&&is| is).count() as u64;
        self.add(None, kind, count * page);
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
                *self.figures.larger_counts.entry(bytes).or_default() += 1;
                self.figures.active_bytes += bytes;
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
        const TAG_BYTES: u64 = 4;
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
}

/// What a page of a span counts as: with live blocks that, else what most of it is.
fn span_page_kind(live: u64, free: u64, unused: u64, away: &[(Place, u64)]) -> Kind {
    let waiting: u64 =
        away.iter().filter(|(place, _)| *place == Place::Waiting).map(|(_, bytes)| bytes).sum();
    let cached = away.iter().map(|(_, bytes)| bytes).sum::<u64>() - waiting;
    let parts = [
        (free, Kind::Idle),
        (cached, Kind::Cached),
        (waiting, Kind::Waiting),
        (unused, Kind::Unused),
    ];
    match parts.iter().max_by_key(|(bytes, _)| bytes) {
        Some((_, kind)) if live == 0 => *kind,
        _ => Kind::Live,
    }
}

fn heap(owner: &Owner, process: &Process) -> Heap {
    let of_thread = |id| process.threads.iter().find(|thread| thread.id == id);
    let thread = if let Owner::Thread(id) = owner { of_thread(*id) } else { None };
    Heap {
        owner: owner.clone(),
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

/// Free blocks that reach onto pages that have been given back are on no list.
fn mark_holes(states: &mut [State], holes: u64, block_bytes: u64, page_bytes: u64) {
    for page in (0..64).filter(|page| holes >> page & 1 == 1) {
        let first = page * page_bytes / block_bytes;
        let last = ((page + 1) * page_bytes - 1) / block_bytes;
        for index in first..=last {
            if let Some(state) = states.get_mut(index as usize) {
                *state = State::Free;
            }
        }
    }
}
