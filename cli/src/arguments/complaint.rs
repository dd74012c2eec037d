//! What was mistyped, in one line that says what to type instead.

use crate::spelling::meant;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Verbs whose words after the program's name are the program's.
const VERBS_WITH_COMMANDS: [&str; 2] = ["verify", "bench"];

/// Clap explains over several lines; what it says first, and the way out, in one.
pub fn of(error: &clap::Error, words: &[OsString], definition: &clap::Command) -> String {
    let what = first_paragraph(&error.to_string());
    format!("{what}; {}", way_out(error, words, definition))
}

fn first_paragraph(text: &str) -> String {
    let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let joined = first.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    joined.trim_start_matches("error: ").to_owned()
}

fn way_out(error: &clap::Error, words: &[OsString], definition: &clap::Command) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if is_program(error, &words) {
        return format!("did you mean 'loam run {}'?", words.join(" "));
    }
    match (similar(error, &words, definition), dashes_missing(error, &words)) {
        (Some(similar), Some(dashes)) => format!("did you mean '{similar}'? Or {dashes}"),
        (Some(similar), None) => format!("did you mean '{similar}'?"),
        (None, Some(dashes)) => dashes,
        (None, None) => "try --help".to_owned(),
    }
}

/// What may have been meant.
fn similar(error: &clap::Error, words: &[String], definition: &clap::Command) -> Option<String> {
    let verb_of = |command: &clap::Command, kind| {
        let ContextValue::String(typed) = error.get(kind)? else { return None };
        meant(typed, command.get_subcommands().map(|verb| verb.get_name())).map(str::to_owned)
    };
    [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| suggested(error, kind))
        .or_else(|| verb_of(definition, ContextKind::InvalidSubcommand))
        // A mistyped verb of bench is taken for an argument.
        .or_else(|| verb_of(definition.find_subcommand("bench")?, ContextKind::InvalidArg))
        .or_else(|| similar_flag(error, definition.find_subcommand(words.first()?)?))
}

/// Of the verb's flags. Clap does not see two letters that have changed places in a short one.
fn similar_flag(error: &clap::Error, verb: &clap::Command) -> Option<String> {
    let ContextValue::String(typed) = error.get(ContextKind::InvalidArg)? else { return None };
    let typed = typed.strip_prefix("--")?;
    let flags = verb.get_arguments().filter_map(|argument| argument.get_long());
    meant(typed, flags).map(|flag| format!("--{flag}"))
}

/// The first of what clap has found to be like what was typed.
fn suggested(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(several) => several.first().cloned(),
        _ => None,
    }
}

/// What to type where a command's words were taken for this command's own.
fn dashes_missing(error: &clap::Error, words: &[String]) -> Option<String> {
    let verb = words.first().filter(|verb| VERBS_WITH_COMMANDS.contains(&verb.as_str()))?;
    let ContextValue::String(typed) = error.get(ContextKind::InvalidArg)? else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let wrong = words.iter().position(|word| word.starts_with(typed.as_str()))?;
    let program = (1..=wrong).find(|at| !words[*at].starts_with('-'))?;
    Some(match verb.as_str() {
        "verify" => format!("put -- before what is {}'s", words[program]),
        _ => "put -- before the command".to_owned(),
    })
}

/// Whether a verb that there is not is the name of a program.
fn is_program(error: &clap::Error, words: &[String]) -> bool {
    error.kind() == ErrorKind::InvalidSubcommand
        && words.first().is_some_and(|word| crate::process::launch::find(word.as_ref()).is_ok())
}
