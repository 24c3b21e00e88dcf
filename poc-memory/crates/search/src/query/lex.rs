//! The lexer: splits a text into stages, words and arguments, without interpreting them.
//!
//! A quote opens only where a value may start (at the start of a word, or after `:` or `=`), so
//! `match:don't` needs no quotes. Inside quotes, a doubled quote is the quote itself.

use super::diagnostic::{SourceDiagnostic, short};
use poc_graph::similar;
use std::collections::BTreeMap;
use std::ops::Range;

/// The values of `${NAME}` parameters, by name.
pub(super) type Values = BTreeMap<String, String>;

/// A word: text without unquoted spaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RawWord {
    /// The text, with quotes resolved.
    pub(super) text: String,
    /// The byte range in the source, including quotes.
    pub(super) span: Range<usize>,
    /// The byte offset in `text` of the first `=` outside quotes.
    pub(super) equals: Option<usize>,
}

/// An argument: the words between a `:` or `,` and the next `,` or `|`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RawArgument {
    /// The words of the argument.
    pub(super) words: Vec<RawWord>,
    /// The byte range of the `:` or `,` before it.
    pub(super) mark: Range<usize>,
}

/// One stage as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RawStage {
    /// The byte range of the `!` before the stage, if there is one.
    pub(super) not: Option<Range<usize>>,
    /// The word of the stage.
    pub(super) word: String,
    /// The byte range of the word.
    pub(super) word_span: Range<usize>,
    /// The argument after the first `:`.
    pub(super) value: Option<RawArgument>,
    /// The arguments after each `,`.
    pub(super) arguments: Vec<RawArgument>,
    /// The words after a stage word that has no `:`.
    pub(super) trailing: Vec<RawWord>,
    /// The byte range of the whole stage.
    pub(super) span: Range<usize>,
    /// The text of the whole stage.
    pub(super) text: String,
}

/// Splits `part` of `text` into stages. With `values`, each `${NAME}` is replaced by the value of that parameter. A
/// value is always literal text: it cannot end a word, a quote or a stage.
pub(super) fn stages(
    text: &str,
    part: Range<usize>,
    values: Option<&Values>,
    problems: &mut Vec<SourceDiagnostic>,
) -> Vec<RawStage> {
    let part_text = text.get(part.clone()).unwrap_or("");
    let rest = part_text.char_indices().peekable();
    let mut lexer = Lexer { rest, base: part.start, end: part.end, values, problems };
    let mut stages = Vec::new();
    loop {
        let mut stage = lexer.stage();
        text.get(stage.span.clone()).unwrap_or("").clone_into(&mut stage.text);
        stages.push(stage);
        if lexer.rest.next_if(|(_, char)| *char == '|').is_none() {
            return stages;
        }
    }
}

/// Whether the name of a parameter may contain a character.
pub(super) fn is_part_of_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '-' | '_')
}

struct Lexer<'a, 'p> {
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
    base: usize,
    end: usize,
    values: Option<&'p Values>,
    problems: &'p mut Vec<SourceDiagnostic>,
}

impl Lexer<'_, '_> {
    /// Whether the rest starts with these characters.
    fn starts_with(&self, text: &str) -> bool {
        let mut rest = self.rest.clone();
        text.chars().all(|wanted| rest.next().is_some_and(|(_, char)| char == wanted))
    }

    /// Reads a `${NAME}` if the text has parameters. In `$${`, the first `$` is dropped and the rest is literal.
    fn parameter(&mut self, text: &mut String) -> bool {
        let Some(values) = self.values else { return false };
        if self.starts_with("$${") {
            self.rest.next();
            text.extend([self.rest.next(), self.rest.next()].into_iter().flatten().map(|(_, char)| char));
            return true;
        }
        if !self.starts_with("${") {
            return false;
        }
        let start = self.offset();
        self.rest.next();
        self.rest.next();
        let mut name = String::new();
        while let Some((_, char)) = self.rest.next_if(|(_, char)| is_part_of_name(*char)) {
            name.push(char);
        }
        if self.take('}').is_none() {
            let end = self.offset();
            self.problems.push(
                SourceDiagnostic::new(start..end, "this `${` is not followed by a name and a `}`")
                    .hint("write `${NAME}`; `$${` is the text `${`"),
            );
            return true;
        }
        match values.get(&name) {
            Some(value) => text.push_str(value),
            None => {
                let end = self.offset();
                let problem =
                    SourceDiagnostic::new(start..end, format!("there is no parameter `{}`", short(&name)));
                self.problems.push(match similar::closest(&name, values.keys().map(String::as_str)) {
                    Some(near) => problem.hint(format!("did you mean `${{{near}}}`?")),
                    None => problem.hint(format!("add `{name} = \"…\"` under `[query.params]`")),
                });
            }
        }
        true
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, char)| *char)
    }

    /// The offset of the next character.
    fn offset(&mut self) -> usize {
        self.rest.peek().map_or(self.end, |(at, _)| self.base + at)
    }

    fn take(&mut self, wanted: char) -> Option<Range<usize>> {
        let start = self.offset();
        self.rest.next_if(|(_, char)| *char == wanted).map(|_| start..start + wanted.len_utf8())
    }

    fn skip_space(&mut self) {
        while self.rest.next_if(|(_, char)| char.is_whitespace()).is_some() {}
    }

    fn stage(&mut self) -> RawStage {
        self.skip_space();
        let mut stage = RawStage { span: self.offset()..self.offset(), ..RawStage::default() };
        stage.not = self.take('!');
        self.skip_space();
        while let Some(again) = self.take('!') {
            self.problems.push(SourceDiagnostic::new(again, "a second `!`").hint("one `!` negates a filter"));
            self.skip_space();
        }
        let start = self.offset();
        while let Some((_, char)) =
            self.rest.next_if(|(_, char)| !char.is_whitespace() && !matches!(char, ':' | ',' | '|'))
        {
            stage.word.push(char);
        }
        stage.word_span = start..self.offset();
        if self.values.is_some() && stage.word.contains("${") {
            let problem = SourceDiagnostic::new(
                stage.word_span.clone(),
                "a parameter cannot stand for a stage or a part of its word",
            );
            self.problems
                .push(problem.hint("write the stage out and the parameter in its argument: `type:${kind}`"));
        }
        if let Some(mark) = self.take(':') {
            stage.value = Some(self.argument(mark));
        }
        stage.trailing = self.words();
        while let Some(mark) = self.take(',') {
            let argument = self.argument(mark);
            stage.arguments.push(argument);
        }
        let ends = [
            stage.word_span.end,
            stage.not.as_ref().map_or(0, |span| span.end),
            stage.value.as_ref().map_or(0, RawArgument::end),
            stage.arguments.last().map_or(0, RawArgument::end),
            stage.trailing.last().map_or(0, |word| word.span.end),
        ];
        stage.span.end = ends.into_iter().fold(stage.span.start, usize::max);
        stage
    }

    fn argument(&mut self, mark: Range<usize>) -> RawArgument {
        RawArgument { words: self.words(), mark }
    }

    /// The words up to the next `,`, `|` or the end.
    fn words(&mut self) -> Vec<RawWord> {
        let mut words = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None | Some(',' | '|') => return words,
                Some(_) => words.push(self.word()),
            }
        }
    }

    fn word(&mut self) -> RawWord {
        let start = self.offset();
        let mut word = RawWord::default();
        let mut value_starts = true;
        while let Some(char) = self.peek() {
            match char {
                '$' if self.parameter(&mut word.text) => {
                    value_starts = false;
                    continue;
                }
                '"' | '\'' if value_starts => {
                    self.quoted(char, &mut word.text);
                    value_starts = false;
                    continue;
                }
                ',' | '|' => break,
                space if space.is_whitespace() => break,
                '=' if word.equals.is_none() => word.equals = Some(word.text.len()),
                _ => {}
            }
            word.text.push(char);
            value_starts = matches!(char, ':' | '=');
            self.rest.next();
        }
        word.span = start..self.offset();
        word
    }

    /// Reads a quoted text up to its closing quote.
    fn quoted(&mut self, quote: char, text: &mut String) {
        let opened = self.offset();
        self.rest.next();
        loop {
            if self.parameter(text) {
                continue;
            }
            let Some((_, char)) = self.rest.next() else { break };
            if char != quote {
                text.push(char);
            } else if self.take(quote).is_some() {
                text.push(quote);
            } else {
                let after = self.offset();
                if self.peek().is_some_and(|next| !next.is_whitespace() && !matches!(next, ',' | '|')) {
                    let problem =
                        SourceDiagnostic::new(after..after + 1, "text follows a closing quote directly");
                    self.problems.push(problem.hint(format!(
                        "put all of the value in quotes; inside, `{quote}` is written `{quote}{quote}`"
                    )));
                }
                return;
            }
        }
        self.problems.push(
            SourceDiagnostic::new(opened..opened + 1, format!("this `{quote}` is never closed"))
                .hint(format!("close it with another `{quote}`")),
        );
    }
}

impl RawArgument {
    /// The byte offset of its end.
    pub(super) fn end(&self) -> usize {
        self.words.last().map_or(self.mark.end, |word| word.span.end)
    }
}
