//! Globs over keys: `*` matches any run of characters, `?` matches one character, `[a-z]` one character of a set, and
//! `[!a-z]` one character outside it. All other characters match themselves, including `/` and `{`, which have a
//! special meaning in glob libraries for file paths.

use memchr::memmem::Finder;

/// A compiled glob. Most keys are rejected by a search for literal bytes.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    text: String,
    // The literal characters at the start; `tail` has those at the end.
    head: String,
    tail: String,
    // The other runs of literal characters, in order.
    pieces: Vec<Finder<'static>>,
    // The tokens between head and tail; `None` if these are only `*` and the pieces.
    middle: Option<Vec<Token>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Char(char),
    AnyChar,
    AnyRun,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// Why a glob is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GlobError {
    #[error("its `[` is never closed by a `]`")]
    OpenClass,
    #[error("its range `{0}-{1}` runs backwards")]
    BackwardRange(char, char),
}

impl PartialEq for Glob {
    fn eq(&self, other: &Glob) -> bool {
        self.text == other.text
    }
}

impl Glob {
    /// Compiles a glob.
    pub(super) fn parse(text: &str) -> Result<Glob, GlobError> {
        let mut tokens = tokens(text)?;
        let from = tokens.iter().rposition(|token| token.char().is_none()).map_or(0, |last| last + 1);
        let tail = tokens.drain(from..).filter_map(|token| token.char()).collect();
        let until = tokens.iter().position(|token| token.char().is_none()).unwrap_or(0);
        let head = tokens.drain(..until).filter_map(|token| token.char()).collect();
        let pieces = tokens.split(|token| token.char().is_none()).filter(|piece| !piece.is_empty());
        let piece = |piece: &[Token]| piece.iter().filter_map(Token::char).collect::<String>();
        let pieces = pieces.map(|tokens| Finder::new(&piece(tokens)).into_owned()).collect();
        let is_star_or_literal = |token: &Token| *token == Token::AnyRun || token.char().is_some();
        let middle = (tokens.is_empty() || !tokens.iter().all(is_star_or_literal)).then_some(tokens);
        Ok(Glob { text: text.to_owned(), head, tail, pieces, middle })
    }

    /// The glob as written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the glob has no special characters and therefore matches only one text.
    pub(super) fn is_literal(&self) -> bool {
        self.middle.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether the glob matches the whole of `text`.
    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(rest) = self.between(text) else { return false };
        let mut open = rest.as_bytes();
        // The first occurrence leaves the most text for the other pieces.
        let has_pieces = self.pieces.iter().all(|piece| match piece.find(open) {
            Some(at) => {
                open = open.get(at + piece.needle().len()..).unwrap_or_default();
                true
            }
            None => false,
        });
        has_pieces && self.middle.as_ref().is_none_or(|tokens| matches(tokens, rest))
    }

    /// The text between head and tail; `None` if the text does not have them.
    fn between<'t>(&self, text: &'t str) -> Option<&'t str> {
        // An empty `String` has a dangling pointer, and comparing zero bytes there is slow on some processors.
        let rest = if self.head.is_empty() { text } else { text.strip_prefix(self.head.as_str())? };
        if self.tail.is_empty() { Some(rest) } else { rest.strip_suffix(self.tail.as_str()) }
    }
}

/// Whether the tokens match the whole of `text`.
fn matches(tokens: &[Token], text: &str) -> bool {
    // The match is greedy with a single backtracking point: only the last `*` may need another length.
    let (mut at, mut rest) = (0, text.chars());
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        match tokens.get(at) {
            Some(Token::AnyRun) => {
                at += 1;
                retry = Some((at, rest.clone()));
                continue;
            }
            Some(token) => {
                let mut ahead = rest.clone();
                if ahead.next().is_some_and(|char| token.accepts(char)) {
                    (at, rest) = (at + 1, ahead);
                    continue;
                }
            }
            None if rest.as_str().is_empty() => return true,
            None => {}
        }
        let Some((from, mut later)) = retry.take() else { return false };
        if later.next().is_none() {
            return false;
        }
        (at, rest) = (from, later.clone());
        retry = Some((from, later));
    }
}

impl Token {
    /// The character of a literal token.
    fn char(&self) -> Option<char> {
        match self {
            Token::Char(char) => Some(*char),
            _ => None,
        }
    }

    fn accepts(&self, char: char) -> bool {
        match self {
            Token::Char(own) => *own == char,
            Token::AnyChar => true,
            Token::AnyRun => false,
            Token::Class { negated, ranges } => {
                ranges.iter().any(|&(low, high)| (low..=high).contains(&char)) != *negated
            }
        }
    }
}

/// Splits a glob into tokens. Several `*` in a row become one.
fn tokens(text: &str) -> Result<Vec<Token>, GlobError> {
    let mut tokens = Vec::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' if tokens.last() == Some(&Token::AnyRun) => {}
            '*' => tokens.push(Token::AnyRun),
            '?' => tokens.push(Token::AnyChar),
            '[' => tokens.push(class(&mut chars)?),
            other => tokens.push(Token::Char(other)),
        }
    }
    Ok(tokens)
}

/// Parses a character class after its `[`. A `]` directly after the `[` is a member of the class.
fn class(chars: &mut std::str::Chars<'_>) -> Result<Token, GlobError> {
    let negated = chars.as_str().starts_with(['!', '^']);
    if negated {
        chars.next();
    }
    let mut ranges = Vec::new();
    loop {
        let low = match chars.next() {
            None => return Err(GlobError::OpenClass),
            Some(']') if !ranges.is_empty() => return Ok(Token::Class { negated, ranges }),
            Some(low) => low,
        };
        let mut ahead = chars.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                *chars = ahead;
                high
            }
            _ => low,
        };
        if low > high {
            return Err(GlobError::BackwardRange(low, high));
        }
        ranges.push((low, high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(glob: &str, yes: &[&str], no: &[&str]) {
        let compiled = Glob::parse(glob).unwrap();
        for text in yes {
            assert!(compiled.matches(text), "`{glob}` should match `{text}`");
        }
        for text in no {
            assert!(!compiled.matches(text), "`{glob}` should not match `{text}`");
        }
    }

    #[test]
    fn globs_match_whole_keys() {
        check("journal#*", &["journal#", "journal#2026-11-21"], &["journal", "ajournal#1"]);
        check("*/b-tree?", &["notes/b-trees", "a/b/b-treeé"], &["b-trees", "notes/b-tree"]);
        check("a*b*c", &["abc", "axxbxxbyc"], &["ab", "abcd"]);
        check("[a-c]x[!0-9]", &["bxq", "cx-"], &["dxq", "bx5", "bx"]);
        check("[]-]", &["]", "-"], &["a"]);
        check("{a,b}\\**", &["{a,b}\\", "{a,b}\\*z"], &["a"]);
        check("**", &["", "anything"], &[]);
        check("", &[""], &["a"]);
        check("abc", &["abc"], &["ab", "abcd", "xabc"]);
        // Head and tail do not overlap.
        check("aba*aba", &["abaaba", "abaxaba"], &["aba", "ababa"]);
        check("*ab*ab*", &["abab", "xabxabx"], &["ab", "aab"]);
        check("é*é?", &["ééa", "éxéé"], &["éé", "éa"]);
    }

    #[test]
    fn invalid_globs_are_explained() {
        assert_eq!(Glob::parse("a[bc").unwrap_err().to_string(), "its `[` is never closed by a `]`");
        assert_eq!(Glob::parse("[z-a]").unwrap_err().to_string(), "its range `z-a` runs backwards");
    }

    /// A direct implementation of the definition, which tries every length of every run.
    fn naive(tokens: &[Token], text: &[char]) -> bool {
        match (tokens.split_first(), text.split_first()) {
            (None, rest) => rest.is_none(),
            (Some((Token::AnyRun, later)), _) => (0..=text.len()).any(|skip| naive(later, &text[skip..])),
            (Some((token, later)), Some((char, rest))) => token.accepts(*char) && naive(later, rest),
            (Some(_), None) => false,
        }
    }

    poc_laws::laws! {
        #[test]
        fn matching_agrees_with_the_definition(
            glob in prop_oneof!["[ab*]{0,8}", "[abé*?]{0,8}", "([ab*?]|\\[!?[abé]\\]){0,6}"], text in "[abé]{0,9}",
        ) {
            let chars: Vec<char> = text.chars().collect();
            let expected = naive(&tokens(&glob).unwrap(), &chars);
            prop_assert_eq!(Glob::parse(&glob).unwrap().matches(&text), expected, "`{}` and `{}`", glob, text);
        }
    }
}
