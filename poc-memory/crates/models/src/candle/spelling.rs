//! The bytes of vocabulary tokens.

/// How a vocabulary represents bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// GPT-2: each byte is one printable character.
    Bytes,
    /// SentencePiece: text with `▁` for a space, and `<0x0A>` for a byte without a piece.
    Pieces,
}

impl Spelling {
    /// The bytes of a token, or `None` when its name represents none.
    pub(super) fn bytes(self, token: &str) -> Option<Vec<u8>> {
        match self {
            Spelling::Bytes => token.chars().map(byte).collect(),
            Spelling::Pieces => {
                let hex = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
                let byte = hex.filter(|hex| hex.len() == 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                Some(byte.map_or_else(|| token.replace('▁', " ").into_bytes(), |byte| vec![byte]))
            }
        }
    }
}

/// The byte that a GPT-2 character represents: printable ones are themselves, the others are numbered from U+0100.
fn byte(character: char) -> Option<u8> {
    let code = u32::from(character);
    let byte = match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => code,
        0x100..=0x120 => code - 0x100,
        0x121..=0x142 => code - 0x121 + 0x7F,
        0x143 => 0xAD,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character_and_every_piece_a_text() {
        let mut seen = std::collections::BTreeSet::new();
        for character in (0..0x200).filter_map(char::from_u32) {
            if let Some(byte) = byte(character) {
                assert!(seen.insert(byte), "{character}");
            }
        }
        assert_eq!(seen.len(), 256);
        let spelt = |spelling: Spelling, token: &str| {
            spelling.bytes(token).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        assert_eq!(spelt(Spelling::Bytes, "Ġsplit"), Some(" split".into()));
        assert_eq!(spelt(Spelling::Bytes, "Ċ"), Some("\n".into()));
        assert_eq!(spelt(Spelling::Bytes, "Ã©"), Some("é".into()));
        assert_eq!(spelt(Spelling::Bytes, "<｜end▁of▁sentence｜>"), None);
        assert_eq!(spelt(Spelling::Pieces, "▁split"), Some(" split".into()));
        assert_eq!(spelt(Spelling::Pieces, "<0x0A>"), Some("\n".into()));
        assert_eq!(spelt(Spelling::Pieces, "<0x0>"), Some("<0x0>".into()));
    }
}
