//! `generated-key`: nodes whose key nobody has chosen.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};

pub(super) const STAGE: StageDef = StageDef {
    word: "generated-key",
    params: &[Param {
        name: "len",
        position: ParamPosition::Named,
        value_type: ValueType::Count(1, 512),
        presence: Presence::Default("60"),
        doc: "characters from which on a key counts as one, whatever it says",
    }],
    doc: "Keeps nodes whose key looks as if nobody had chosen it: an id, a placeholder, or very long",
    more: "A key is generated when it has `len` characters or more; when a part of it, between `- _ . : / #`, \
           is an id (hexadecimal digits and letters from a to f, 8 or more; letters and digits mixed, 16 or \
           more; 8 digits or more); or when it says nothing but `untitled`, `note`, `new`, `document` or the \
           like, with a number or without.",
    example: Example { pipeline: "generated-key,len=15", output: &["todo/benchmarks"] },
    describe: |call| {
        format!(
            "whose key is an id, a placeholder or {} characters long",
            call.count("len").unwrap_or_default()
        )
    },
    work: Work::Filter(|call, ctx| {
        let (view, len) = (ctx.sources.view, call.count("len")?);
        Ok(Box::new(move |ix| is_generated(view.key(ix), len)))
    }),
    hints: Hints::NONE,
};

/// What programs call a thing that has no name.
const PLACEHOLDERS: [&str; 8] = ["untitled", "unnamed", "note", "new", "document", "doc", "entry", "memory"];

/// Whether nobody has chosen a key: it has `len` characters or more, is an id or a placeholder.
pub fn is_generated(key: &str, len: usize) -> bool {
    if key.chars().count() >= len {
        return true;
    }
    if parts(key).any(is_id) {
        return true;
    }
    // Whatever folder an untitled note lies in, it has no name.
    let mut name = parts(key.rsplit(['/', '#']).next().unwrap_or(key));
    let is_number = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let is_placeholder = |part: &str| PLACEHOLDERS.contains(&part.to_lowercase().as_str());
    name.clone().any(is_placeholder) && name.all(|part| is_placeholder(part) || is_number(part))
}

fn parts(key: &str) -> impl Iterator<Item = &str> + Clone {
    key.split(['-', '_', '.', ':', '/', '#', ' ']).filter(|part| !part.is_empty())
}

/// Whether a word is an id: nobody would say it aloud.
pub fn is_id(word: &str) -> bool {
    let (mut digits, mut letters, mut hex) = (0, 0, true);
    for c in word.chars() {
        match c {
            '0'..='9' => digits += 1,
            'a'..='f' | 'A'..='F' => letters += 1,
            _ if c.is_ascii_alphabetic() => (letters, hex) = (letters + 1, false),
            _ => return false,
        }
    }
    let long = digits + letters;
    match (digits, letters) {
        (_, 0) => digits >= 8,
        (0, _) => false,
        _ if hex => long >= 8,
        _ => long >= 16 && digits >= 4 && letters >= 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_chooses_an_id_a_placeholder_or_a_sentence() {
        for key in [
            "550e8400-e29b-41d4-a716-446655440000",
            "note-b0ab338c",
            "msg_01HXYZ8K3M2N5P7QRSTV",
            "import/1763715600",
            "untitled",
            "Untitled-3",
            "new document 2",
            "note",
            "work/untitled-2",
        ] {
            assert!(is_generated(key, 60), "{key}");
        }
        for key in [
            "journal-btree-split",
            "2026-11-07-journal-replay",
            "day#2026-11-21",
            "journal#j-2026-03-10",
            "inc-90037",
            "sha256",
            "utf8mb4-collation",
            "note-on-journals",
            "new-york",
            "deadbeef",
            "ff",
            "été",
        ] {
            assert!(!is_generated(key, 60), "{key}");
        }
        assert!(is_generated(&"word-".repeat(12), 60) && !is_generated(&"word-".repeat(11), 60));
    }
}
