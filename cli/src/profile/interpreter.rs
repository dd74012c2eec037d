//! Stacks of an interpreter: the lines of its program take the place of the functions that
//! evaluate them.

use crate::profile::call::Call;
use crate::profile::known::Language;
use crate::profile::symbols::Frame;
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

/// The calls in the order in which they have called each other. The interpreter's own stay where they
/// are inside of all lines, where they say what a line does, and are as much the system's as the C
/// library's; so is what imports a module for a line of the program.
pub fn stack(mut calls: Vec<Call>) -> Vec<Call> {
    if !calls.iter().any(is_python) {
        return calls;
    }
    let interpreter = interpreter(&calls);
    for call in calls.iter_mut().filter(|call| is_interpreters(call, interpreter.as_ref())) {
        call.frames.iter_mut().for_each(|frame| frame.is_systems = true);
    }
    let mut calls = merged(calls, interpreter.as_ref());
    see_through_imports(calls.iter_mut().flat_map(|call| &mut call.frames).collect());
    calls
}

fn merged(calls: Vec<Call>, interpreter: Option<&Arc<Module>>) -> Vec<Call> {
    let (lines, natives): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(is_python);
    let mut lines = lines.into_iter().peekable();
    let (mut merged, mut is_inside) = (Vec::new(), false);
    for native in natives {
        if is_evaluator(&native) {
            is_inside = true;
            for line in lines.by_ref() {
                let is_entry = line.place.as_ref().is_some_and(Place::is_entry);
                merged.push(line);
                if is_entry {
                    break;
                }
            }
            continue;
        }
        // Outside of all lines only the program's own say who has called the interpreter.
        let is_shown = !is_inside
            || !is_interpreters(&native, interpreter)
                && (lines.peek().is_some() || has_own_line(&native));
        if is_shown {
            merged.push(native);
        }
    }
    merged.extend(lines);
    merged
}

/// Where there is a line of a file outside of them.
fn see_through_imports(frames: Vec<&mut Frame>) {
    let file = |frame: &Frame| frame.line.as_ref().map_or(String::new(), |(file, _)| file.clone());
    let is_lines = |frame: &Frame| frame.language == Language::Python;
    let is_files = |frame: &&mut Frame| is_lines(frame) && !file(frame).starts_with('<');
    let last = frames.iter().rposition(is_files).unwrap_or(0);
    for frame in frames.into_iter().take(last) {
        frame.is_systems |= is_lines(frame) && file(frame).starts_with(IMPORT);
    }
}

/// The file that it is in.
fn interpreter(calls: &[Call]) -> Option<Arc<Module>> {
    calls.iter().find(|call| is_evaluator(call))?.place.as_ref()?.module.clone()
}

fn is_python(call: &Call) -> bool {
    call.place.as_ref().is_some_and(Place::is_python)
}

fn is_evaluator(call: &Call) -> bool {
    !is_python(call) && call.frames.iter().any(|frame| frame.function.starts_with(EVALUATOR))
}

fn is_interpreters(call: &Call, interpreter: Option<&Arc<Module>>) -> bool {
    let Some(module) = call.place.as_ref().and_then(|place| place.module.as_ref()) else {
        return call.frames.iter().any(|frame| frame.function.starts_with(TRAMPOLINE));
    };
    let is_its_module = interpreter.is_some_and(|other| other.path == module.path);
    is_its_module || module.path.to_string_lossy().contains(EXTENSIONS)
}

fn has_own_line(call: &Call) -> bool {
    call.frames.iter().any(|frame| !frame.is_systems && frame.line.is_some())
}
