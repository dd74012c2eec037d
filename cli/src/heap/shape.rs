//! How the library's structures are laid out, as far as a walk asks for it often.

use crate::heap::layout::Layout;
use anyhow::Result;

/// Numbers of the layout that are asked for often.
pub struct Shape {
    pub pointer: usize,
    pub slice_bytes: u64,
    pub middle_max_bytes: u64,
    pub none: u64,
    /// The entry is of a block in a list.
    pub cached: u64,
    /// The entry is of a block behind a guard.
    pub guarded: u64,
    /// Ends the list of a span's free blocks.
    pub no_block: u64,
    pub region_bytes: u64,
    pub first_slice: u64,
    pub used_pages: u64,
    pub dirty_pages: u64,
    pub spans: u64,
    pub block_pages: u64,
    pub span: Span,
    pub span_size: u64,
}

pub struct Span {
    pub free_list: u64,
    pub extended_count: u64,
    pub state: u64,
    pub central: u64,
    pub class_index: u64,
    pub slice_count: u64,
    pub dirty_pages: u64,
    pub hole_pages: u64,
}

impl Shape {
    pub fn of(layout: &Layout) -> Result<Shape> {
        let number = |name| layout.number(name);
        Ok(Shape {
            pointer: number("pointer.size")? as usize,
            slice_bytes: 1 << number("slice.shift")?,
            middle_max_bytes: number("middle.max_bytes")?,
            none: number("span.none")?,
            cached: number("block.cached")?,
            guarded: number("block.guarded")?,
            no_block: number("block.none")?,
            region_bytes: number("region.bytes")?,
            first_slice: number("region.first_slice")?,
            used_pages: number("region.used_pages")?,
            dirty_pages: number("region.dirty_pages")?,
            spans: number("region.spans")?,
            block_pages: number("region.block_pages")?,
            span: Span {
                free_list: number("span.free_list")?,
                extended_count: number("span.extended_count")?,
                state: number("span.state")?,
                central: number("span.central")?,
                class_index: number("span.class_index")?,
                slice_count: number("span.slice_count")?,
                dirty_pages: number("span.dirty_pages")?,
                hole_pages: number("span.hole_pages")?,
            },
            span_size: number("span.size")?,
        })
    }
}
