//! The sites of a profile with names, without what is loam's own, and by the place in the program
//! that they are about.

use crate::arguments::ProfFigure;
use crate::prof::profile::{Place, Profile, Site, Sum, Sums};
use crate::prof::symbols::{Frame, Symbols};
use std::collections::HashMap;

/// Who has called whom for a block.
pub struct Stack {
    /// The innermost first.
    pub frames: Vec<Frame>,
    /// Beginning with those of them that are the program's.
    pub places: Vec<Place>,
    pub sums: Sums,
}

/// A line of the program with all that is taken there.
pub struct Line {
    pub frame: Frame,
    /// Of the stack that has most.
    pub callers: Vec<Frame>,
    pub sums: Sums,
}

pub fn chosen(sums: &Sums, by: ProfFigure) -> Sum {
    match by {
        ProfFigure::Live => sums.live,
        ProfFigure::Peak => sums.peak,
        ProfFigure::Taken => sums.taken,
    }
}

pub fn named(profile: &Profile, symbols: &mut Symbols) -> Vec<Stack> {
    let stack = |site: &Site, symbols: &mut Symbols| {
        let own = site.callers.iter().take_while(|place| is_loams(place)).count();
        let mut places = &site.callers[own.min(site.callers.len().saturating_sub(1))..];
        let mut frames = Vec::new();
        for (at, place) in places.iter().enumerate() {
            let found = symbols.frames(place);
            // Linked in, or compiled in, loam is known by its names alone.
            if frames.is_empty() && found.iter().all(|frame| is_allocation(&frame.function)) {
                if at + 1 < places.len() {
                    continue;
                }
            }
            if frames.is_empty() {
                places = &places[at..];
            }
            frames.extend(found.iter().cloned());
        }
        Stack { frames, places: places.to_vec(), sums: site.sums }
    };
    profile.sites.iter().map(|site| stack(site, symbols)).collect()
}

fn is_loams(place: &Place) -> bool {
    let name = place.module.as_ref().and_then(|module| module.path.file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with("libloam"))
}

fn is_allocation(function: &str) -> bool {
    const NAMES: [&str; 16] = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
        "valloc",
        "pvalloc",
        "operator new",
        "operator new[]",
        "__libc_malloc",
        "__libc_calloc",
        "__libc_realloc",
        "__libc_memalign",
        "__libc_malloc_impl",
    ];
    const STATICS: [&str; 5] =
        ["take_any", "take_elsewhere", "malloc_any", "malloc_when_empty", "begin_sample"];
    let name = function.split('(').next().unwrap_or(function);
    let is_ours = name.starts_with("lm_") || name.starts_with("loam_");
    is_ours || NAMES.contains(&name) || STATICS.contains(&name) || name.starts_with("sample_")
}

/// Containers and strings of languages' libraries take memory for whoever uses them.
fn is_of_a_library(frame: &Frame) -> bool {
    let Some((file, _)) = &frame.line else { return true };
    const FOLDERS: [&str; 4] = ["/include/c++/", "/rustc/", "/lib/rustlib/", "/library/alloc/"];
    FOLDERS.iter().any(|folder| file.contains(folder))
}

/// By the innermost frame that has a line of the program's own, or the innermost if none has.
pub fn lines(stacks: &[Stack], by: ProfFigure) -> Vec<Line> {
    let mut all: Vec<(Line, i64)> = Vec::new();
    let mut known: HashMap<Frame, usize> = HashMap::new();
    for stack in stacks {
        let at = stack.frames.iter().position(|frame| !is_of_a_library(frame)).unwrap_or(0);
        let Some(frame) = stack.frames.get(at) else { continue };
        let callers = || stack.frames[at + 1..].to_vec();
        let size = chosen(&stack.sums, by).bytes.abs();
        let index = *known.entry(frame.clone()).or_insert_with(|| {
            let line = Line { frame: frame.clone(), callers: callers(), sums: Sums::default() };
            all.push((line, -1));
            all.len() - 1
        });
        let (line, largest) = &mut all[index];
        line.sums += stack.sums;
        if size > *largest {
            (line.callers, *largest) = (callers(), size);
        }
    }
    let mut lines: Vec<Line> = all.into_iter().map(|(line, _)| line).collect();
    lines.retain(|line| chosen(&line.sums, by) != Sum::default());
    lines.sort_by_key(|line| std::cmp::Reverse(chosen(&line.sums, by).bytes.abs()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        let line = (!file.is_empty()).then(|| (file.to_owned(), 7));
        Frame { function: function.to_owned(), line }
    }

    fn stack(frames: &[(&str, &str)], live: i64) -> Stack {
        let sums = Sums { live: Sum { count: 1, bytes: live }, ..Sums::default() };
        let frames = frames.iter().map(|(function, file)| frame(function, file)).collect();
        Stack { frames, places: Vec::new(), sums }
    }

    #[test]
    fn a_container_is_counted_for_who_uses_it() {
        let vector = ("std::vector::push_back", "/usr/include/c++/12/bits/vector.tcc");
        let stacks = [
            stack(&[vector, ("fill", "main.cc"), ("main", "main.cc")], 10),
            stack(&[("fill", "main.cc"), ("other", "main.cc")], 30),
            stack(&[("strdup", ""), ("read", "")], 5),
        ];
        let lines = lines(&stacks, ProfFigure::Live);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].frame.function, "fill");
        assert_eq!(lines[0].sums.live.bytes, 40);
        assert_eq!(lines[0].callers[0].function, "other");
        assert_eq!(lines[1].frame.function, "strdup");
    }

    #[test]
    fn allocation_functions_are_known() {
        assert!(is_allocation("operator new(unsigned long)"));
        assert!(is_allocation("lm_malloc_slow"));
        assert!(!is_allocation("malloc_report"));
    }
}
