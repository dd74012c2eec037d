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

/// The places in the order in which they have called each other, and the functions there. The
/// interpreter's own stay where they are inside of all lines, where they say what a line does, and
/// are as much the system's as the C library's; so is what imports a module for a line of the
/// program.
pub fn stack(places: &[Place], symbols: &mut Symbols) -> (Vec<Place>, Vec<Frame>) {
    let interpreter = interpreter(places, symbols);
    let has_python = places.iter().any(Place::is_python);
    let places = match has_python {
        true => merged(places, interpreter.as_ref(), symbols),
        false => places.to_vec(),
    };
    let mut frames: Vec<Frame> = Vec::new();
    for place in &places {
        let is_systems = has_python && is_interpreters(place, interpreter.as_ref(), symbols);
        let found = symbols.frames(place);
        let frame =
            |frame: &Frame| Frame { is_systems: is_systems || frame.is_systems, ..frame.clone() };
        frames.extend(found.iter().map(frame));
    }
    see_through_imports(&mut frames);
    (places, frames)
}

fn merged(
    places: &[Place],
    interpreter: Option<&Arc<Module>>,
    symbols: &mut Symbols,
) -> Vec<Place> {
    let (lines, natives): (Vec<&Place>, Vec<&Place>) =
        places.iter().partition(|place| place.is_python());
    let mut lines = lines.into_iter().peekable();
    let (mut merged, mut is_inside) = (Vec::new(), false);
    for native in natives {
        if is_evaluator(native, symbols) {
            is_inside = true;
            for line in lines.by_ref() {
                merged.push(line.clone());
                if line.is_entry() {
                    break;
                }
            }
            continue;
        }
        // Outside of all lines only the program's own say who has called the interpreter.
        let is_shown = !is_inside
            || !is_interpreters(native, interpreter, symbols)
                && (lines.peek().is_some() || has_own_line(native, symbols));
        if is_shown {
            merged.push(native.clone());
        }
    }
    merged.extend(lines.cloned());
    merged
}

/// Where there is a line of a file outside of them.
fn see_through_imports(frames: &mut [Frame]) {
    let file = |frame: &Frame| frame.line.as_ref().map_or(String::new(), |(file, _)| file.clone());
    let is_python = |frame: &Frame| frame.language == Language::Python;
    let is_files = |frame: &Frame| is_python(frame) && !file(frame).starts_with('<');
    let last = frames.iter().rposition(is_files).unwrap_or(0);
    for frame in &mut frames[..last] {
        frame.is_systems |= is_python(frame) && file(frame).starts_with(IMPORT);
    }
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
