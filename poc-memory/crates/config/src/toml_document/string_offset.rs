//! Byte offsets of the characters of TOML strings, which have four kinds of quotes and may contain escapes.

/// Byte offset in `file` of the character with index `number` in the string whose opening quote is at `start`. For
/// values that are not strings this is `start`; beyond the last character it is the end of the string.
pub(super) fn byte_offset(file: &str, start: usize, number: usize) -> usize {
    let raw = file.get(start..).unwrap_or("");
    let quotes = [("\"\"\"", true, true), ("'''", false, true), ("\"", true, false), ("'", false, false)];
    let Some((quote, escapes, lines)) = quotes.into_iter().find(|(quote, ..)| raw.starts_with(quote)) else {
        return start;
    };
    let mut at = start + quote.len();
    let rest = |at: usize| file.get(at..).unwrap_or("");
    if lines {
        // A line break directly after the opening quotes is not part of the string.
        at += line_break(rest(at));
    }
    let mut remaining = number;
    loop {
        let here = rest(at);
        if lines
            && escapes
            && let Some(length) = folded(here)
        {
            at += length;
            continue;
        }
        if remaining == 0 || here.is_empty() || here.starts_with(quote) {
            return at;
        }
        remaining -= 1;
        at += if escapes && here.starts_with('\\') {
            match here.as_bytes().get(1) {
                Some(b'u') => 6,
                Some(b'U') => 10,
                Some(b'x') => 4,
                _ => 2,
            }
        } else {
            line_break(here).max(here.chars().next().map_or(1, char::len_utf8))
        };
    }
}

/// Length in bytes of the line break that begins here; 0 if there is none.
fn line_break(text: &str) -> usize {
    if text.starts_with("\r\n") { 2 } else { usize::from(text.starts_with('\n')) }
}

/// Length in bytes of a line continuation: a backslash at the end of a line and the following white space.
fn folded(text: &str) -> Option<usize> {
    let after = text.strip_prefix('\\')?;
    let line = after.trim_start_matches([' ', '\t']);
    (line_break(line) > 0).then(|| text.len() - after.trim_start_matches([' ', '\t', '\r', '\n']).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value of the only string in a file, and the offsets of its characters.
    fn offsets(literal: &str) -> (String, Vec<usize>) {
        let file = format!("x = {literal}");
        let table: toml::Table = toml::from_str(&file).unwrap();
        let text = table["x"].as_str().unwrap().to_owned();
        let offsets = (0..text.chars().count()).map(|number| byte_offset(&file, 4, number)).collect();
        (text, offsets)
    }

    #[test]
    fn escapes_and_folded_lines_are_counted() {
        let file = "x = \"a\\u00e9\\n\\\"b\"";
        assert_eq!(byte_offset(file, 4, 4), file.find("b").unwrap());
        let file = "x = \"\"\"\nfirst \\\n   second\nthird\"\"\"";
        let text = offsets("\"\"\"\nfirst \\\n   second\nthird\"\"\"").0;
        assert_eq!(text, "first second\nthird");
        assert_eq!(byte_offset(file, 4, 6), file.find("second").unwrap());
        assert_eq!(byte_offset(file, 4, text.find("third").unwrap()), file.find("third").unwrap());
        assert_eq!(byte_offset(file, 4, 1000), file.rfind("\"\"\"").unwrap());
        assert_eq!(byte_offset("x = 5", 4, 3), 4);
    }

    poc_laws::laws! {
        /// For every kind of quotes, each letter is found at its offset.
        #[test]
        fn offsets_of_letters_are_exact_for_every_quoting(text in "[a-zä\n\t\r\\\\\"' ]{0,24}") {
            let basic = toml::Value::String(text.clone()).to_string();
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "\\r");
            let mut literals = vec![basic, format!("\"\"\"\n{escaped}\"\"\""), format!("\"\"\"\\\n  z{escaped}\"\"\"")];
            if !text.contains(['\'', '\r']) {
                literals.push(format!("'''\n{text}'''"));
            }
            for literal in literals {
                let file = format!("x = {literal}");
                let (text, offsets) = offsets(&literal);
                for (char, offset) in text.chars().zip(offsets).filter(|(char, _)| char.is_alphabetic()) {
                    let found = file[offset..].chars().next().unwrap();
                    prop_assert_eq!(found, char, "{}", file);
                }
            }
        }
    }
}
