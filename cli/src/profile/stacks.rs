//! The sites of a profile with names, without what is loam's own, and by the place in the program
//! that they are about.

use crate::arguments::ProfFigure;
use crate::profile::interpreter;
use crate::profile::symbols::{Frame, Symbols};
use crate::profile::written::{Pin, Place, Profile, Site, Sum, Sums};
use std::collections::HashMap;

/// Who has called whom for a block.
pub struct Stack {
    /// The innermost first.
    pub frames: Vec<Frame>,
    /// Beginning with those of them that are the program's.
    pub places: Vec<Place>,
    pub sums: Sums,
    pub pins: Vec<Pin>,
}

/// A line of the program with all that is taken there.
pub struct Line {
    pub frame: Frame,
    /// Of the stack that has most.
    pub callers: Vec<Frame>,
    pub sums: Sums,
    pub pins: Vec<Pin>,
}

impl Line {
    /// Half of what it pins is by blocks of this age at least.
    pub fn pinned_age_ms(&self) -> Option<u64> {
        let aged = self.pins.iter().filter_map(|pin| Some((pin.age_ms?, pin.bytes)));
        let mut aged: Vec<(u64, i64)> = aged.collect();
        aged.sort_unstable_by_key(|(age, _)| std::cmp::Reverse(*age));
        let half = aged.iter().map(|(_, bytes)| bytes).sum::<i64>() / 2;
        let mut older = 0;
        let median = aged.iter().find(|(_, bytes)| {
            older += bytes;
            older >= half
        });
        median.map(|(age, _)| *age)
    }
}

pub fn chosen(sums: &Sums, by: ProfFigure) -> Sum {
    match by {
        ProfFigure::Live => sums.live,
        ProfFigure::Peak => sums.peak,
        ProfFigure::Taken => sums.taken,
        ProfFigure::Retained => sums.retained,
        ProfFigure::Pinned => sums.pinned,
    }
}

/// Those that the profile has.
pub fn figures(profile: &Profile) -> Vec<ProfFigure> {
    use ProfFigure::{Live, Peak, Pinned, Retained, Taken};
    let of_pages: &[ProfFigure] = if profile.held.is_some() { &[Retained, Pinned] } else { &[] };
    [&[Live, Peak, Taken], of_pages].concat()
}

pub fn name_of(by: ProfFigure) -> &'static str {
    match by {
        ProfFigure::Live => "live",
        ProfFigure::Peak => "peak",
        ProfFigure::Taken => "taken",
        ProfFigure::Retained => "retained",
        ProfFigure::Pinned => "pinned",
    }
}

/// Before a call of the program's there are so many of loam's at most.
const OWN_DEPTH: usize = 12;

/// Of code without tables and frame pointers.
const NO_STACK: &str = "[unknown: no stack was found]";

pub fn named(profile: &Profile, symbols: &mut Symbols) -> Vec<Stack> {
    profile.sites.iter().map(|site| named_stack(site, symbols)).collect()
}

fn named_stack(site: &Site, symbols: &mut Symbols) -> Stack {
    let mut is_allocation = |place: &Place| {
        // Linked in, loam is known by the names that programs call alone.
        let mut names = || symbols.frames(place).to_vec().into_iter().map(|frame| frame.function);
        is_loams(place) || place.known.is_none() && names().all(|name| is_entry_point(&name))
    };
    let own = site.callers.iter().take(OWN_DEPTH).rposition(&mut is_allocation);
    let begin = own.map_or(0, |last| last + 1);
    let places = match &site.callers[begin..] {
        [] => &site.callers[..],
        places => places,
    };
    let (places, mut frames) = interpreter::stack(places, symbols);
    if frames.is_empty() {
        frames.push(Frame::unnamed(NO_STACK));
    }
    Stack { frames, places, sums: site.sums, pins: site.pins.clone() }
}

fn is_loams(place: &Place) -> bool {
    let name = place.module.as_ref().and_then(|module| module.path.file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with("libloam"))
}

fn is_entry_point(function: &str) -> bool {
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
    let name = function.split('(').next().unwrap_or(function);
    name.starts_with("lm_") || name.starts_with("loam_") || NAMES.contains(&name)
}

/// Containers and strings of languages' libraries take memory for whoever uses them.
fn has_a_line_of_the_program(frame: &Frame) -> bool {
    let Some((file, _)) = &frame.line else { return false };
    const FOLDERS: [&str; 4] = ["/include/c++/", "/rustc/", "/lib/rustlib/", "/library/alloc/"];
    !frame.is_systems && !FOLDERS.iter().any(|folder| file.contains(folder))
}

/// The innermost frame that has a line of the program's own; if none has, the innermost function
/// that is not the system's, though its debug files may have lines.
fn place_of(stack: &Stack) -> Option<usize> {
    let frames = &stack.frames;
    let with_line = frames.iter().position(has_a_line_of_the_program);
    let without = || frames.iter().position(|frame| !frame.is_systems && frame.line.is_none());
    with_line.or_else(without).or((!frames.is_empty()).then_some(0))
}

/// By the place in the program that each is about, the largest first.
pub fn lines(stacks: &[Stack], by: ProfFigure) -> Vec<Line> {
    let mut all: Vec<(Line, i64)> = Vec::new();
    let mut known: HashMap<Frame, usize> = HashMap::new();
    for stack in stacks {
        let Some(at) = place_of(stack) else { continue };
        let frame = &stack.frames[at];
        let callers = || stack.frames[at + 1..].to_vec();
        let size = chosen(&stack.sums, by).bytes.abs();
        let index = *known.entry(frame.clone()).or_insert_with(|| {
            let (frame, sums) = (frame.clone(), Sums::default());
            all.push((Line { frame, callers: callers(), sums, pins: Vec::new() }, -1));
            all.len() - 1
        });
        let (line, largest) = &mut all[index];
        line.sums += stack.sums;
        line.pins.extend(&stack.pins);
        if size > *largest {
            (line.callers, *largest) = (callers(), size);
        }
    }
    let mut lines: Vec<Line> = all.into_iter().map(|(line, _)| line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(chosen(&line.sums, by).bytes.abs()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        let line = (!file.is_empty()).then(|| (file.to_owned(), 7));
        Frame { line, ..Frame::unnamed(function) }
    }

    fn stack(frames: &[(&str, &str)], live: i64) -> Stack {
        let sums = Sums { live: Sum { count: 1, bytes: live }, ..Sums::default() };
        let frames = frames.iter().map(|(function, file)| frame(function, file)).collect();
        Stack { frames, places: Vec::new(), sums, pins: Vec::new() }
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
    fn a_function_without_a_line_goes_before_the_c_librarys_with_one() {
        let start = ("__libc_start_call_main", "nptl/libc_start_call_main.h");
        let mut stack = stack(&[("strdup", "string/strdup.c"), ("main", ""), start], 10);
        for of_the_c_library in [0, 2] {
            stack.frames[of_the_c_library].is_systems = true;
        }
        assert_eq!(lines(&[stack], ProfFigure::Live)[0].frame.function, "main");
    }

    #[test]
    fn samples_without_a_stack_are_shown() {
        let live = Sum { count: 1, bytes: 100 };
        let sums = Sums { live, ..Sums::default() };
        let sites = vec![Site { callers: Vec::new(), sums, pins: Vec::new() }];
        let profile = Profile { sites, ..Profile::default() };
        let stacks = named(&profile, &mut Symbols::default());
        assert_eq!(lines(&stacks, ProfFigure::Live)[0].sums.live, live);
    }

    #[test]
    fn what_programs_call_is_known() {
        assert!(is_entry_point("operator new(unsigned long)"));
        assert!(is_entry_point("loam_malloc"));
        assert!(!is_entry_point("malloc_report"));
    }
}
