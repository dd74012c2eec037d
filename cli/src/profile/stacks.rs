//! The sites of a profile with names, without what is loam's own.

use crate::arguments::ProfFigure;
use crate::profile::call::Call;
use crate::profile::interpreter;
use crate::profile::own;
use crate::profile::symbols::{Frame, Symbols};
use crate::profile::written::{Pin, Profile, Site, Sum, Sums};

/// Who has called whom for a block.
pub struct Stack {
    /// The innermost first.
    pub calls: Vec<Call>,
    pub sums: Sums,
    pub pins: Vec<Pin>,
}

impl Stack {
    /// The innermost first. There is one at least.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &Frame> {
        self.calls.iter().flat_map(|call| &call.frames)
    }
}

pub fn chosen(sums: &Sums, by: ProfFigure) -> Sum {
    match by {
        ProfFigure::Live => sums.live,
        ProfFigure::Peak => sums.peak,
        ProfFigure::Taken => sums.taken,
        ProfFigure::Freed => sums.freed,
        ProfFigure::Pinned => sums.pinned,
    }
}

/// What places are ordered by: of what their blocks pin, by what is free beside them.
pub fn order(sums: &Sums, by: ProfFigure) -> i64 {
    match by {
        ProfFigure::Pinned => sums.beside.bytes,
        _ => chosen(sums, by).bytes.abs(),
    }
}

/// Those that the profile has.
pub fn figures(profile: &Profile) -> Vec<ProfFigure> {
    use ProfFigure::{Freed, Live, Peak, Pinned, Taken};
    let of_pages: &[ProfFigure] = if profile.held.is_some() { &[Freed, Pinned] } else { &[] };
    [&[Live, Peak, Taken], of_pages].concat()
}

pub fn name_of(by: ProfFigure) -> &'static str {
    match by {
        ProfFigure::Live => "live",
        ProfFigure::Peak => "peak",
        ProfFigure::Taken => "taken",
        ProfFigure::Freed => "freed",
        ProfFigure::Pinned => "pinned",
    }
}

/// Of code without tables and frame pointers.
const NO_STACK: &str = "[unknown: no stack was found]";

pub fn named(profile: &Profile, symbols: &mut Symbols) -> Vec<Stack> {
    profile.sites.iter().map(|site| named_stack(site, symbols)).collect()
}

fn named_stack(site: &Site, symbols: &mut Symbols) -> Stack {
    let named = site
        .callers
        .iter()
        .map(|place| Call { place: Some(place.clone()), frames: symbols.frames(place).to_vec() });
    let mut calls = interpreter::stack(without_own(named.collect()));
    if calls.is_empty() {
        calls.push(Call { place: None, frames: vec![Frame::unnamed(NO_STACK)] });
    }
    Stack { calls, sums: site.sums, pins: site.pins.clone() }
}

fn without_own(mut calls: Vec<Call>) -> Vec<Call> {
    let frames = calls.iter().take(own::DEPTH).flat_map(|call| {
        let is_in_library = call.place.as_ref().is_some_and(own::is_in_library);
        call.frames.iter().map(move |frame| (frame, is_in_library))
    });
    let mut own = own::count(frames);
    for call in &mut calls {
        let of_call = own.min(call.frames.len());
        call.frames.drain(..of_call);
        own -= of_call;
    }
    calls.retain(|call| !call.frames.is_empty());
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_without_a_stack_are_shown() {
        let live = Sum { bytes: 100, ..Sum::default() };
        let sums = Sums { live, ..Sums::default() };
        let sites = vec![Site { number: 1, callers: Vec::new(), sums, pins: Vec::new() }];
        let profile = Profile { sites, ..Profile::default() };
        let stacks = named(&profile, &mut Symbols::default());
        let names: Vec<&str> = stacks[0].frames().map(|frame| frame.function.as_str()).collect();
        assert_eq!((names, stacks[0].sums.live), (vec![NO_STACK], live));
    }

    /// With optimization at link time, malloc may be in the function that calls it.
    #[test]
    fn what_is_loams_may_end_within_a_place() {
        let call = |names: &[&str]| Call {
            place: None,
            frames: names.iter().map(|name| Frame::unnamed(name)).collect(),
        };
        let calls = vec![call(&["this_site", "take"]), call(&["malloc", "keep"]), call(&["main"])];
        let left = without_own(calls);
        assert_eq!(left.len(), 2);
        assert_eq!((left[0].frames.len(), left[0].frames[0].function.as_str()), (1, "keep"));
    }
}
