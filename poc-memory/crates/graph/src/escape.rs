//! Escapes characters with which a text could control a terminal or imitate lines of an output.

use std::borrow::Cow;

/// A text with its control characters, and the characters that turn the direction of a line, escaped as in Rust. Line
/// breaks and tabs stay.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_harmless(c) || c == '\n' || c == '\t')
}

/// Like [`escape_text`], with line breaks and tabs escaped, too: a text that is part of a line, such as the name of a
/// file.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_harmless(c) && !matches!(c, '\u{2028}' | '\u{2029}'))
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match stays(c) {
            true => escaped.push(c),
            false => escaped.extend(c.escape_default()),
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character neither controls a terminal nor reorders a line.
fn is_harmless(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_that_change_an_output_are_escaped() {
        assert_eq!(escape_text("a\u{1b}]0;x\u{7}b\n\tü\u{202e}"), "a\\u{1b}]0;x\\u{7}b\n\tü\\u{202e}");
        assert_eq!(escape_line("a\u{1b}\nb\r\tü\u{2028}語"), "a\\u{1b}\\nb\\r\\tü\\u{2028}語");
        assert!(matches!(escape_line("notes/die Brücke.md"), Cow::Borrowed(_)));
    }

    poc_laws::laws! {
        #[test]
        fn an_escaped_text_is_one_line_without_control_characters(text in any::<String>()) {
            let line = escape_line(&text);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert_eq!(escape_line(&line), line.clone());
            let escaped = escape_text(&text);
            prop_assert_eq!(escape_line(&escaped), line);
        }
    }
}
