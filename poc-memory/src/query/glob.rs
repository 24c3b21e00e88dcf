//! Globs over keys: `*` is any run of characters, `?` one character, `[a-z]` one of a set, `[!a-z]`
//! one outside it. Everything else stands for itself, `/` and `{` included, which is why a glob
//! library for file paths would not do.

/// A compiled glob.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Glob {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Char(char),
    AnyChar,
    AnyRun,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Glob {
    /// Compiles a glob; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Glob, String> {
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
        Ok(Glob { text: text.to_owned(), tokens })
    }

    /// The glob as written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches the whole of `text`.
    pub(super) fn matches(&self, text: &str) -> bool {
        // Greedy with one place to come back to: only the last `*` can need another length.
        let (mut at, mut rest) = (0, text.chars());
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            match self.tokens.get(at) {
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
}

impl Token {
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

/// Reads a class behind its `[`. A `]` right at the start is a member.
fn class(chars: &mut std::str::Chars<'_>) -> Result<Token, String> {
    let negated = chars.as_str().starts_with(['!', '^']);
    if negated {
        chars.next();
    }
    let mut ranges = Vec::new();
    loop {
        let low = match chars.next() {
            None => return Err("its `[` is never closed by a `]`".into()),
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
            return Err(format!("its range `{low}-{high}` runs backwards"));
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
    fn words_of_the_glob() {
        check("journal#*", &["journal#", "journal#2026-11-21"], &["journal", "ajournal#1"]);
        check("*/b-tree?", &["notes/b-trees", "a/b/b-treeé"], &["b-trees", "notes/b-tree"]);
        check("a*b*c", &["abc", "axxbxxbyc"], &["ab", "abcd"]);
        check("[a-c]x[!0-9]", &["bxq", "cx-"], &["dxq", "bx5", "bx"]);
        check("[]-]", &["]", "-"], &["a"]);
        check("{a,b}\\**", &["{a,b}\\", "{a,b}\\*z"], &["a"]);
        check("**", &["", "anything"], &[]);
    }

    #[test]
    fn what_is_wrong_with_a_glob() {
        assert_eq!(Glob::parse("a[bc").unwrap_err(), "its `[` is never closed by a `]`");
        assert_eq!(Glob::parse("[z-a]").unwrap_err(), "its range `z-a` runs backwards");
    }

    /// The definition, by trying every length of every run.
    fn naive(tokens: &[Token], text: &[char]) -> bool {
        match (tokens.split_first(), text.split_first()) {
            (None, rest) => rest.is_none(),
            (Some((Token::AnyRun, later)), _) => (0..=text.len()).any(|skip| naive(later, &text[skip..])),
            (Some((token, later)), Some((char, rest))) => token.accepts(*char) && naive(later, rest),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn the_same_as_the_definition(glob in "[ab*?]{0,8}", text in "[ab]{0,9}") {
            let compiled = Glob::parse(&glob).unwrap();
            let chars: Vec<char> = text.chars().collect();
            prop_assert_eq!(compiled.matches(&text), naive(&compiled.tokens, &chars));
        }
    }
}
