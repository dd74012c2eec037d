//! What processes and threads are called. A name is its owner's to choose, and may be missing.

/// `server (7)`, or `process 7` without a name, or the name alone; of what says neither `unknown`.
pub fn with_number(kind: &str, name: &str, number: Option<u64>) -> String {
    let name = printable(name.trim());
    match (name.as_str(), number) {
        ("", Some(number)) => format!("{kind} {number}"),
        ("", None) => format!("unknown {kind}"),
        (_, Some(number)) => format!("{name} ({number})"),
        (_, None) => name,
    }
}

/// Without what would steer a terminal.
pub fn printable(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_leaves_no_gap() {
        assert_eq!(with_number("process", "server", Some(7)), "server (7)");
        assert_eq!(with_number("process", "", Some(7)), "process 7");
        assert_eq!(with_number("thread", " ", Some(7)), "thread 7");
        assert_eq!(with_number("process", "core.7", None), "core.7");
        assert_eq!(with_number("process", "", None), "unknown process");
        assert_eq!(with_number("process", "a\u{1b}[2J", Some(1)), "a\u{fffd}[2J (1)");
    }
}
