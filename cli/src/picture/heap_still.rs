//! What is in a process's heaps, as a still: what the page has, without what takes a pointer.

use crate::picture::colors::Color;
use crate::picture::heap::{Content, Heap};
use crate::picture::map::Map;
use crate::picture::still::mark::Still;
use crate::picture::still::sheet::{Sheet, WIDTH};

pub fn draw(heap: &Heap) -> Still {
    let content = heap.content();
    let mut sheet = Sheet::new(&content.title);
    sheet.paragraph(&content.answer, true);
    let texts = [content.rest].into_iter().chain(content.advice.iter().copied());
    texts.for_each(|text| sheet.paragraph(text, false));
    let facts = content.facts.iter().map(|(name, fact)| format!("{name}: {fact}"));
    sheet.paragraph(&facts.collect::<Vec<_>>().join("; "), false);
    put_pins(&mut sheet, &content);
    sheet.heading("Where the memory is");
    sheet.whole(&content.whole);
    let account = content.account.iter().map(|line| {
        let text = format!("{}: {}, {}", line.name, line.size, line.share);
        (Color::of_part(line.color), text)
    });
    sheet.key(&account.collect::<Vec<_>>());
    put_map(&mut sheet, &Map::of(heap.figures), &content);
    sheet.heading(content.names.sizes_heading);
    let colors = [
        ("full", "live"),
        ("pinned", "free beside them"),
        ("free", "free pages"),
        ("cached", "in lists, and the rest"),
    ];
    sheet.key(&colors.map(|(color, name)| (Color::of_part(color), name.to_owned())));
    sheet.bars(&content.sizes);
    sheet.heading("Sizes of the blocks that the program has");
    sheet.bars(&content.histogram);
    sheet.heading(content.names.heaps_heading);
    sheet.bars(&content.heaps);
    sheet.finish()
}

fn put_pins(sheet: &mut Sheet, content: &Content) {
    match &content.pins {
        Some(pins) if !pins.is_empty() => {
            sheet.heading("Who keeps the pages");
            sheet.pins(pins);
        }
        Some(_) => {}
        None if content.pinning_sizes.is_empty() => {}
        None => {
            sheet.heading("What keeps pages");
            for size in &content.pinning_sizes {
                sheet.paragraph(&format!("{} beside {}", size.beside, size.blocks), false);
            }
        }
    }
}

fn put_map(sheet: &mut Sheet, map: &Map, content: &Content) {
    sheet.heading("Page by page, from the lowest address at the top left, line by line");
    let (side, cells) = map.still(WIDTH);
    sheet.cells(cells, side);
    let lists = if content.is_loams {
        "free, in caches and depots"
    } else {
        "free, in tcaches and fastbins"
    };
    sheet.below(&[
        ("free", "free, would come back"),
        ("cached", lists),
        ("rest", "never used"),
        ("own", content.names.records),
    ]);
}
