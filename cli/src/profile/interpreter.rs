//! Stacks of an interpreter: the lines of its program take the place of the functions that
//! evaluate them.

use crate::profile::known::Language;
use crate::profile::symbols::{Frame, Symbols};
use crate::profile::written::{Module, Place};
use std::sync::Arc;

/// Each call of it evaluates a function of the program, and, from Python 3.11 on, others that this
/// one calls; also as compilers name what they have cut out of it.
const EVALUATOR: &str = "_PyEval_EvalFrameDefault";
/// What `python -X perf` puts between calls of it.
const TRAMPOLINE: &str = "py::";
/// Python's own modules in C.
const EXTENSIONS: &str = "/lib-dynload/";
const IMPORT: &str = "<frozen importlib";

/// In the order in which they have called each other. Functions of the interpreter's own stay where
/// they are inside of all lines: they say what a line does.
pub fn merged(places: &[Place], symbols: &mut Symbols) -> Vec<Place> {
    let (lines, natives): (Vec<&Place>, Vec<&Place>) =
        places.iter().partition(|place| place.is_python());
    if lines.is_empty() {
        return places.to_vec();
    }
    let interpreter = interpreter(places, symbols);
    let mut lines = lines.into_iter().peekable();
    let mut merged: Vec<Place> = Vec::new();
    let mut is_inside = false;
    for native in natives {
        if is_evaluator(native, symbols) {
            is_inside = true;
            while let Some(line) = lines.next() {
                merged.push(line.clone());
                if line.is_entry() {
                    break;
                }
            }
            continue;
        }
        let is_outside = is_inside && lines.peek().is_none();
        let is_shown = !is_inside
            || !is_interpreters(native, interpreter.as_ref(), symbols)
                && (!is_outside || has_own_line(native, symbols));
        if is_shown {
            merged.push(native.clone());
        }
    }
    merged.extend(lines.cloned());
    merged
}

/// The functions at the places, of which those of the interpreter are as much the system's as the
/// C library's are, and so is what imports a module for a line of the program.
pub fn frames(places: &[Place], symbols: &mut Symbols) -> Vec<Frame> {
    let interpreter = interpreter(places, symbols);
    let is_file = |frame: &Frame| matches!(&frame.line, Some((file, _)) if !file.starts_with('<'));
    let mut frames: Vec<Frame> = Vec::new();
    let has_python = places.iter().any(Place::is_python);
    for place in places {
        let is_systems =
            has_python && is_interpreters(place, interpreter.as_ref(), symbols);
        let all = symbols.frames(place);
        let marked = |frame: &Frame| Frame {
            is_systems: frame.is_systems || is_systems,
            ..frame.clone()
        };
        frames.extend(all.iter().map(marked));
    }
    let is_program = |frame: &Frame| frame.language == Language::Python && is_file(frame);
    let last = frames.iter().rposition(is_program).unwrap_or(0);
    for frame in &mut frames[..last] {
        let file = frame.line.as_ref().map_or("", |(file, _)| file);
        frame.is_systems |= frame.language == Language::Python && file.starts_with(IMPORT);
    }
    frames
}

/// The file that it is in.
fn interpreter(places: &[Place], symbols: &mut Symbols) -> Option<Arc<Module>> {
    places.iter().find(|place| is_evaluator(place, symbols))?.module.clone()
}

fn is_evaluator(place: &Place, symbols: &mut Symbols) -> bool {
    let frames = if place.is_python() { return false } else { symbols.frames(place) };
    frames.iter().any(|frame| frame.function.starts_with(EVALUATOR))
}

fn is_interpreters(
    place: &Place,
    interpreter: Option<&Arc<Module>>,
    symbols: &mut Symbols,
) -> bool {
    let Some(module) = &place.module else {
        return symbols.frames(place).iter().any(|frame| frame.function.starts_with(TRAMPOLINE));
    };
    let is_its_module = interpreter.is_some_and(|other| other.path == module.path);
    is_its_module || module.path.to_string_lossy().contains(EXTENSIONS)
}

fn has_own_line(place: &Place, symbols: &mut Symbols) -> bool {
    symbols.frames(place).iter().any(|frame| !frame.is_systems && frame.line.is_some())
}
