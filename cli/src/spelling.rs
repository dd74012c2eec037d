//! What was meant by a word that was mistyped.

/// The first of the names that differs from what was typed in a few letters.
pub fn meant<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names.into_iter().find(|name| is_like(name, typed))
}

/// Whether so few letters are wrong that it was mistyped.
pub fn is_like(name: &str, typed: &str) -> bool {
    const LETTERS_TO_A_MISTAKE: usize = 3;
    strsim::osa_distance(name, typed) <= (name.len() / LETTERS_TO_A_MISTAKE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_wrong_letters_are_a_mistake_and_other_words_are_not() {
        for (name, typed) in [("run", "rnu"), ("verify", "verfiy"), ("suite", "suit")] {
            assert!(is_like(name, typed), "{typed}");
        }
        for (name, typed) in [("man", "make"), ("run", "ls"), ("graft", "git")] {
            assert!(!is_like(name, typed), "{typed}");
        }
        assert_eq!(meant("larsn", ["factor", "larson"]), Some("larson"));
        assert_eq!(meant("ghost", ["factor", "larson"]), None);
    }
}
