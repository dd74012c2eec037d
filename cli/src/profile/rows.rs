//! A profile by the places in the program that are to answer for what is taken, with their callers.

use crate::arguments::{ProfFigure, ProfRows};
use crate::profile::passing::{self, Trail, see_through};
use crate::profile::stacks::{Stack, chosen, order};
use crate::profile::symbols::Frame;
use crate::profile::written::{Pin, Sum, Sums};
use std::collections::HashMap;

/// What is told apart.
#[derive(Debug, Clone, Copy)]
pub struct Grouping {
    pub by: ProfFigure,
    pub rows: ProfRows,
    /// The place and so many of its callers, less one.
    pub frames: usize,
}

impl Grouping {
    pub fn lines(by: ProfFigure) -> Grouping {
        Grouping { by, rows: ProfRows::Line, frames: 1 }
    }
}

/// A place in the program with all that is taken there.
pub struct Row {
    /// The place; behind it those callers that it is told apart by.
    pub frames: Vec<Frame>,
    /// What the place takes memory through, of the stack that has most: its own callee first.
    pub through: Vec<Frame>,
    /// Who calls the last of the frames: the one that has most first.
    pub callers: Vec<Caller>,
    pub sums: Sums,
    pub pins: Vec<Pin>,
}

/// What a caller has of the row's chosen figure, and who calls it.
pub struct Caller {
    pub frame: Frame,
    pub sum: Sum,
    pub callers: Vec<Caller>,
}

impl Row {
    pub fn frame(&self) -> &Frame {
        &self.frames[0]
    }

    /// All of the stack that has most, outwards from the place.
    pub fn largest_callers(&self) -> Vec<&Frame> {
        let mut chain: Vec<&Frame> = self.frames[1..].iter().collect();
        let mut next = self.callers.first();
        while let Some(caller) = next {
            chain.push(&caller.frame);
            next = caller.callers.first();
        }
        chain
    }

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

/// By the place in the program that each stack is about, the largest first.
pub fn rows(stacks: &[Stack], grouping: Grouping) -> Vec<Row> {
    let mut trails: Vec<Trail> = stacks.iter().map(trail).collect();
    see_through(&mut trails);
    let mut rows: HashMap<Vec<Frame>, Vec<Member>> = HashMap::new();
    for (stack, trail) in stacks.iter().zip(&trails) {
        let member = Member::new(stack, trail, grouping);
        rows.entry(member.shown.clone()).or_default().push(member);
    }
    let row = |(frames, members): (Vec<Frame>, Vec<Member>)| row(frames, members, grouping.by);
    let mut rows: Vec<Row> = rows.into_iter().map(row).collect();
    rows.sort_by(|one, other| {
        let key = |row: &Row| order(&row.sums, grouping.by);
        let names = |row: &Row| row.frames.iter().map(Frame::shown).collect::<Vec<_>>();
        key(other).cmp(&key(one)).then_with(|| names(one).cmp(&names(other)))
    });
    rows
}

fn trail(stack: &Stack) -> Trail<'_> {
    let Sums { taken, live, .. } = stack.sums;
    let Sum { count, bytes, .. } = if taken.count > 0 { taken } else { live };
    Trail::new(program_frames(stack), count, bytes)
}

/// Those that have a line of the program's own; if none has, those functions that are not a
/// library's; if all are, the first.
fn program_frames(stack: &Stack) -> Vec<&Frame> {
    let is_nameless = |frame: &&Frame| {
        !frame.is_systems && frame.line.is_none() && !passing::is_librarys(&frame.function)
    };
    let kinds: [&dyn Fn(&&Frame) -> bool; 3] = [
        &|frame| line_is_of(frame, Owner::Program),
        &|frame| line_is_of(frame, Owner::Package),
        &is_nameless,
    ];
    let found = kinds.iter().map(|kind| stack.frames().filter(kind).collect::<Vec<_>>());
    let mut found = found.filter(|frames| !frames.is_empty());
    found.next().unwrap_or_else(|| stack.frames().take(1).collect())
}

#[derive(PartialEq)]
enum Owner {
    Program,
    /// Of a package that the program is built from; or the program itself was installed so.
    Package,
    Language,
}

/// Containers and strings of languages' libraries take memory for whoever uses them.
fn line_is_of(frame: &Frame, owner: Owner) -> bool {
    let Some((file, _)) = &frame.line else { return false };
    const OF_LANGUAGES: [&str; 5] =
        ["/usr/include/", "/include/c++/", "/rustc/", "/lib/rustlib/", "/library/alloc/"];
    const OF_PACKAGES: [&str; 2] = ["/registry/src/", "/git/checkouts/"];
    let is_in = |folders: &[&str]| folders.iter().any(|folder| file.contains(folder));
    let is_pythons = file.contains("/lib/python3") && !file.contains("-packages/");
    let of = match () {
        () if is_in(&OF_LANGUAGES) || is_pythons => Owner::Language,
        () if is_in(&OF_PACKAGES) => Owner::Package,
        () => Owner::Program,
    };
    !frame.is_systems && of == owner
}

/// A stack, as a row has it.
struct Member<'stack> {
    stack: &'stack Stack,
    shown: Vec<Frame>,
    through: Vec<&'stack Frame>,
    callers: Vec<&'stack Frame>,
}

impl<'stack> Member<'stack> {
    fn new(stack: &'stack Stack, trail: &Trail<'stack>, grouping: Grouping) -> Member<'stack> {
        let place = trail.frames[trail.at];
        let is_place = |frame: &&Frame| std::ptr::eq(*frame, place);
        let mut through: Vec<&Frame> =
            stack.frames().take_while(|frame| !is_place(frame)).collect();
        through.reverse();
        let of_program = || trail.frames[trail.at..].iter().copied();
        let all = || stack.frames().skip_while(|frame| !is_place(frame));
        let count = grouping.frames.max(1);
        let (shown, callers): (Vec<Frame>, Vec<&Frame>) = match grouping.rows {
            ProfRows::Stack => (all().cloned().collect(), Vec::new()),
            ProfRows::Line => {
                (of_program().take(count).cloned().collect(), of_program().skip(count).collect())
            }
            ProfRows::Function => (
                of_program().take(count).map(Frame::without_line_number).collect(),
                of_program().skip(count).collect(),
            ),
        };
        Member { stack, shown, through, callers }
    }
}

fn row(frames: Vec<Frame>, mut members: Vec<Member>, by: ProfFigure) -> Row {
    let of = |member: &Member| chosen(&member.stack.sums, by);
    members.sort_by_key(|member| std::cmp::Reverse(order(&member.stack.sums, by)));
    let mut sums = Sums::default();
    members.iter().for_each(|member| sums += member.stack.sums);
    // Beside a line, functions that have none say little.
    let has_line = frames[0].line.is_some();
    let is_shown = |frame: &&&Frame| {
        !frame.is_systems
            && !passing::is_librarys(&frame.function)
            && (frame.line.is_some() || !has_line)
    };
    let largest = &members[0];
    Row {
        frames,
        through: largest.through.iter().filter(is_shown).map(|frame| (*frame).clone()).collect(),
        callers: callers(members.iter().map(|one| (one.callers.as_slice(), of(one))).collect()),
        sums,
        pins: members.iter().flat_map(|member| member.stack.pins.iter().copied()).collect(),
    }
}

/// The frames of a stack from one on, and what it has.
type Outwards<'row> = (&'row [&'row Frame], Sum);

/// The callers that the lists begin with, each with its own.
fn callers(lists: Vec<Outwards>) -> Vec<Caller> {
    let mut nearest: Vec<(&Frame, Vec<Outwards>)> = Vec::new();
    let mut known: HashMap<&Frame, usize> = HashMap::new();
    for (frames, sum) in lists {
        let Some((first, others)) = frames.split_first() else { continue };
        let at = *known.entry(first).or_insert_with(|| {
            nearest.push((first, Vec::new()));
            nearest.len() - 1
        });
        nearest[at].1.push((others, sum));
    }
    let caller = |(frame, lists): (&Frame, Vec<Outwards>)| {
        let mut sum = Sum::default();
        lists.iter().for_each(|(_, one)| sum += *one);
        Caller { frame: frame.clone(), sum, callers: callers(lists) }
    };
    let mut callers: Vec<Caller> = nearest.into_iter().map(caller).collect();
    callers.sort_by_key(|caller| std::cmp::Reverse(caller.sum.bytes.abs()));
    callers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::call::Call;

    fn frame(function: &str, file: &str) -> Frame {
        let line = (!file.is_empty()).then(|| (file.to_owned(), 7));
        Frame { line, ..Frame::unnamed(function) }
    }

    fn stack(frames: &[(&str, &str)], live: i64) -> Stack {
        let sum = Sum { count: 1, bytes: live, ..Sum::default() };
        let sums = Sums { live: sum, taken: sum, ..Sums::default() };
        let frames = frames.iter().map(|(function, file)| frame(function, file)).collect();
        Stack { calls: vec![Call { place: None, frames }], sums, pins: Vec::new() }
    }

    fn by_line(stacks: &[Stack]) -> Vec<Row> {
        rows(stacks, Grouping::lines(ProfFigure::Live))
    }

    #[test]
    fn a_container_is_counted_for_who_uses_it() {
        let vector = ("std::vector::push_back", "/usr/include/c++/12/bits/vector.tcc");
        let stacks = [
            stack(&[vector, ("fill", "main.cc"), ("main", "main.cc")], 10),
            stack(&[("fill", "main.cc"), ("main", "main.cc")], 30),
            stack(&[("strdup", ""), ("read", "")], 5),
        ];
        let rows = by_line(&stacks);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].frame().function, "fill");
        assert_eq!(rows[0].sums.live.bytes, 40);
        assert_eq!(rows[0].callers[0].frame.function, "main");
        assert_eq!(rows[1].frame().function, "read");
        assert_eq!(rows[1].through[0].function, "strdup");
    }

    #[test]
    fn a_function_without_a_line_goes_before_the_c_librarys_with_one() {
        let start = ("__libc_start_call_main", "nptl/libc_start_call_main.h");
        let mut stack = stack(&[("strdup", "string/strdup.c"), ("main", ""), start], 10);
        for of_the_c_library in [0, 2] {
            stack.calls[0].frames[of_the_c_library].is_systems = true;
        }
        assert_eq!(by_line(&[stack])[0].frame().function, "main");
    }

    #[test]
    fn callers_that_differ_are_told_apart_with_their_parts() {
        let stacks = [
            stack(&[("keep", "a.c"), ("read", "a.c"), ("main", "a.c")], 30),
            stack(&[("keep", "b.c"), ("first", "b.c"), ("main", "a.c")], 10),
            stack(&[("keep", "b.c"), ("keep", "b.c"), ("main", "a.c")], 60),
        ];
        let rows = by_line(&stacks);
        assert_eq!(rows.len(), 2, "files tell functions of one name apart");
        let parts = |row: &Row| -> Vec<(String, i64)> {
            row.callers.iter().map(|one| (one.frame.function.clone(), one.sum.bytes)).collect()
        };
        assert_eq!(parts(&rows[0]), [("keep".to_owned(), 60), ("first".to_owned(), 10)]);
        let grouping = Grouping { frames: 2, ..Grouping::lines(ProfFigure::Live) };
        let rows = super::rows(&stacks, grouping);
        assert_eq!(rows.iter().map(|row| row.sums.live.bytes).collect::<Vec<_>>(), [60, 30, 10]);
        assert_eq!(rows[1].frames[1].function, "read");
    }

    #[test]
    fn whatever_is_told_apart_the_sum_is_the_same() {
        let stacks = [
            stack(&[("xmalloc", "a.c"), ("read", "a.c"), ("main", "a.c")], 30),
            stack(&[("xmalloc", "a.c"), ("keep", "b.c"), ("main", "a.c")], 11),
        ];
        for kind in [ProfRows::Line, ProfRows::Function, ProfRows::Stack] {
            let grouping = Grouping { rows: kind, ..Grouping::lines(ProfFigure::Live) };
            let rows = rows(&stacks, grouping);
            assert_eq!(rows.iter().map(|row| row.sums.live.bytes).collect::<Vec<_>>(), [30, 11]);
            assert_eq!(rows[0].frame().function, "read");
            assert_eq!(rows[0].through[0].function, "xmalloc");
        }
    }
}
