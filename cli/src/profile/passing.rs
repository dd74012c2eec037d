//! Functions that take memory for whoever calls them: a library's, and those of a program that only
//! pass on, such as `xmalloc`. They are seen through, to the place in the program that is to answer.

use crate::profile::symbols::Frame;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A stack's frames that are a program's, the innermost first, and which of them is the answer.
pub struct Trail<'stack> {
    pub frames: Vec<&'stack Frame>,
    pub at: usize,
    /// What was taken, which is known whatever figure is shown.
    pub blocks: f64,
    pub bytes: f64,
    /// Seen through by what the profile shows, not by name.
    has_passed: bool,
}

impl<'stack> Trail<'stack> {
    pub fn new(frames: Vec<&'stack Frame>, blocks: i64, bytes: i64) -> Trail<'stack> {
        let (blocks, bytes) = (blocks as f64, bytes as f64);
        Trail { frames, at: 0, blocks, bytes, has_passed: false }
    }

    fn function(&self) -> Function<'stack> {
        function_of(self.frames[self.at])
    }

    fn caller(&self) -> Option<Function<'stack>> {
        self.frames.get(self.at + 1).map(|frame| function_of(frame))
    }
}

/// With its file, since names are not everywhere only once.
pub type Function<'stack> = (&'stack str, Option<&'stack str>);

pub fn function_of(frame: &Frame) -> Function<'_> {
    (&frame.function, frame.line.as_ref().map(|(file, _)| file.as_str()))
}

/// A function of a program's that passes on is called by another one that does, and so on.
const ROUNDS: usize = 16;

/// Moves the trails' answers outwards as long as their functions only pass on.
pub fn see_through(trails: &mut [Trail]) {
    for _ in 0..ROUNDS {
        let mut members: HashMap<Function, Vec<&Trail>> = HashMap::new();
        for trail in trails.iter() {
            members.entry(trail.function()).or_default().push(trail);
        }
        let named = |function: &&Function| is_named_for_it(function.0);
        let passing: HashSet<Function> = members.keys().filter(named).copied().collect();
        let shown: HashSet<Function> = members
            .iter()
            .filter(|(function, members)| !passing.contains(*function) && passes_on(members))
            .map(|(function, _)| *function)
            .collect();
        let mut is_done = true;
        for trail in trails.iter_mut().filter(|trail| trail.at + 1 < trail.frames.len()) {
            let function = trail.function();
            let is_shown = shown.contains(&function);
            if is_shown || passing.contains(&function) {
                trail.at += 1;
                trail.has_passed |= is_shown;
                is_done = false;
            }
        }
        if is_done {
            return;
        }
    }
}

/// Blocks of a function that is told how large they are differ by more than this between callers.
const SIZES_DIFFER: f64 = 1.1;
/// One that does more than to pass on takes memory in more lines.
const LINES_MAX: usize = 2;

/// By what the profile shows of all the stacks that a function is the answer of: it has callers that
/// differ, and takes memory in a line or two for all of them. If these are lines of one function, or
/// it does so through another one that passes on, the sizes have to differ as well: else everything
/// that is called twice would.
fn passes_on(members: &[&Trail]) -> bool {
    let lines: HashSet<&Frame> = members.iter().map(|trail| trail.frames[trail.at]).collect();
    let is_recursive = |trail: &&Trail| {
        let outer = trail.frames[trail.at + 1..].iter();
        outer.clone().any(|frame| function_of(frame) == trail.function())
    };
    if lines.len() > LINES_MAX || members.iter().any(is_recursive) {
        return false;
    }
    let is_first = members.iter().all(|trail| !trail.has_passed);
    let functions: HashSet<_> = members.iter().filter_map(|trail| trail.caller()).collect();
    functions.len() > 1 && (is_first || sizes_differ(members, Trail::caller))
        || sizes_differ(members, |trail| trail.frames.get(trail.at + 1).copied())
}

/// From one caller to another.
fn sizes_differ<'stack, Caller: Hash + Eq>(
    members: &[&Trail<'stack>],
    caller_of: impl Fn(&Trail<'stack>) -> Option<Caller>,
) -> bool {
    let mut callers: HashMap<Caller, (f64, f64)> = HashMap::new();
    for trail in members.iter().filter(|trail| trail.blocks > 0.0) {
        let Some(caller) = caller_of(trail) else { continue };
        let (blocks, bytes) = callers.entry(caller).or_default();
        *blocks += trail.blocks;
        *bytes += trail.bytes;
    }
    let sizes = || callers.values().map(|(blocks, bytes)| bytes / blocks);
    sizes().fold(0.0, f64::max) > sizes().fold(f64::MAX, f64::min) * SIZES_DIFFER
}

/// `xmalloc`, `g_malloc0`, `PyObject_Malloc`, `sqlite3DbMallocRaw`, `pool_alloc`, `xstrdup`
fn is_named_for_it(function: &str) -> bool {
    const ENDS: [&str; 6] = ["alloc", "allocate", "strdup", "strndup", "memdup", "asprintf"];
    /// What may stand behind these.
    const MORE: [&str; 19] = [
        "_", "0", "1", "2", "n", "z", "zero", "zeroed", "array", "aligned", "raw", "safe", "bytes",
        "mem", "memory", "or_die", "internal", "usable", "impl",
    ];
    let name = last_name(function).to_lowercase();
    let mut name = name.as_str();
    if name.ends_with("dealloc") || name.ends_with("deallocate") {
        return false;
    }
    loop {
        if ENDS.iter().any(|end| name.ends_with(end)) {
            return true;
        }
        let shorter = MORE.iter().find_map(|more| name.strip_suffix(more));
        match shorter {
            Some(shorter) => name = shorter,
            None => return false,
        }
    }
}

/// `void fill<int>(int)` as `void fill<int>`.
pub fn without_arguments(function: &str) -> &str {
    match function.find('(') {
        Some(at) if at > 0 && !function.starts_with('<') => &function[..at],
        _ => function,
    }
}

/// `void std::vector<int>::push_back(int const&)` without types: `std::vector::push_back`.
fn qualified_name(function: &str) -> String {
    let mut name = String::new();
    let mut depth = 0;
    for letter in function.chars() {
        match letter {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => name.push(letter),
            _ => {}
        }
    }
    name.split(' ').next_back().unwrap_or_default().to_owned()
}

fn last_name(function: &str) -> String {
    let name = qualified_name(function);
    name.rsplit("::").next().unwrap_or_default().to_owned()
}

/// Of a language's library, by the name: where there are no lines. Only Rust's have no arguments.
pub fn is_librarys(function: &str) -> bool {
    // Some are too long to be made out.
    const OF_CXX: [&str; 6] = ["std::", "__gnu_cxx::", "_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx"];
    const OF_RUST: [&str; 5] = ["alloc::", "core::", "std::", "hashbrown::", "__rust"];
    let name = qualified_name(function);
    let of_rust = |name: &str| OF_RUST.iter().any(|start| name.starts_with(start));
    let has_arguments = function.contains('(');
    OF_CXX.iter().any(|start| name.starts_with(start))
        || !has_arguments && of_rust(function.trim_start_matches(['<', '&', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_that_they_allocate_are_known() {
        for name in [
            "xmalloc",
            "g_malloc0",
            "PyObject_Malloc",
            "sqlite3DbMallocRaw",
            "pool_alloc",
            "xstrdup",
            "kmem_zalloc",
            "Arena::allocate(unsigned long)",
            "safe_realloc",
            "xmalloc2",
            "my_alloc_or_die",
            "Pool<int>::alloc_n(int)",
            "mymalloc_array",
        ] {
            assert!(is_named_for_it(name), "{name}");
        }
        for name in
            ["keep", "node_new", "list_dealloc", "std::vector::push_back(int)", "alloc_table"]
        {
            assert!(!is_named_for_it(name), "{name}");
        }
    }

    #[test]
    fn libraries_of_languages_are_known_by_name() {
        for name in [
            "void std::vector<int, std::allocator<int> >::push_back(int const&)",
            "alloc::raw_vec::RawVec<T>::grow",
            "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
        ] {
            assert!(is_librarys(name), "{name}");
        }
        for name in ["core::Engine::load(int)", "void fill<std::string>(std::string)", "app::main"]
        {
            assert!(!is_librarys(name), "{name}");
        }
    }

    fn frame(function: &str, line: u32) -> Frame {
        Frame { line: Some(("app.c".to_owned(), line)), ..Frame::unnamed(function) }
    }

    /// The answers of stacks of these functions, the innermost first, with the size of a block.
    fn answers(stacks: &[(&[(&str, u32)], i64)]) -> Vec<String> {
        let frames: Vec<Vec<Frame>> = stacks
            .iter()
            .map(|(names, _)| names.iter().map(|(name, line)| frame(name, *line)).collect())
            .collect();
        let mut trails: Vec<Trail> = frames
            .iter()
            .zip(stacks)
            .map(|(frames, (_, size))| Trail::new(frames.iter().collect(), 10, 10 * size))
            .collect();
        see_through(&mut trails);
        trails.iter().map(|trail| trail.frames[trail.at].function.clone()).collect()
    }

    #[test]
    fn one_wrapper_with_two_callers_is_seen_through_whatever_its_name() {
        let [first, second] =
            [[("get", 3), ("read", 10), ("main", 90)], [("get", 3), ("keep", 20), ("main", 91)]];
        assert_eq!(answers(&[(&first, 64), (&second, 64)]), ["read", "keep"]);
    }

    #[test]
    fn a_function_with_one_caller_is_the_answer() {
        let stacks: [&[(&str, u32)]; 2] =
            [&[("keep", 3), ("main", 90)], &[("keep", 3), ("main", 91)]];
        assert_eq!(answers(&[(stacks[0], 64), (stacks[1], 64)]), ["keep", "keep"]);
        // Told how much by lines of one function, it is none.
        assert_eq!(answers(&[(stacks[0], 64), (stacks[1], 128)]), ["main", "main"]);
    }

    #[test]
    fn a_wrapper_of_a_wrapper_is_known_by_the_sizes_that_it_passes_on() {
        let stacks: [&[(&str, u32)]; 3] = [
            &[("get", 3), ("string", 10), ("read", 30), ("main", 90)],
            &[("get", 3), ("string", 10), ("keep", 40), ("main", 91)],
            &[("get", 3), ("node", 15), ("main", 92)],
        ];
        let of = |sizes: [i64; 3]| answers(&[0, 1, 2].map(|at| (stacks[at], sizes[at])));
        assert_eq!(of([64, 200, 48]), ["read", "keep", "node"]);
        assert_eq!(of([64, 64, 48]), ["string", "string", "node"]);
    }

    #[test]
    fn what_calls_itself_passes_nothing_on() {
        let stacks: [&[(&str, u32)]; 2] = [
            &[("parse", 3), ("list", 10), ("parse", 5), ("main", 90)],
            &[("parse", 3), ("load", 20), ("main", 91)],
        ];
        assert_eq!(answers(&[(stacks[0], 64), (stacks[1], 64)]), ["parse", "parse"]);
    }

    #[test]
    fn what_takes_memory_in_many_lines_is_no_wrapper() {
        let stacks: [&[(&str, u32)]; 3] = [
            &[("open", 3), ("accept", 10), ("main", 90)],
            &[("open", 4), ("retry", 20), ("main", 91)],
            &[("open", 5), ("retry", 20), ("main", 91)],
        ];
        assert_eq!(answers(&stacks.map(|stack| (stack, 64))), ["open"; 3]);
    }
}
