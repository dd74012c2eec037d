//! Texts of others in pictures.

/// For what is XML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML knows no other control characters, escaped or not.
            control if control.is_control() && control != '\n' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// At most this many characters, the last an ellipsis if there were more.
pub fn shortened(text: &str, length: usize) -> String {
    let clean: Vec<char> =
        text.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect();
    if clean.len() <= length {
        return clean.into_iter().collect();
    }
    clean.iter().take(length.saturating_sub(1)).chain(&['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_end_in_an_ellipsis() {
        assert_eq!(shortened("mimalloc", 8), "mimalloc");
        assert_eq!(shortened("mimalloc-secure", 8), "mimallo…");
    }

    #[test]
    fn what_xml_does_not_know_is_replaced() {
        assert_eq!(escaped("<a & 'b'>\u{1}"), "&lt;a &amp; &#39;b&#39;&gt;\u{fffd}");
    }
}
