//! The diagnostics of a pipeline, and the error that shows them under its text.

use poc_graph::error::{Diagnostic, Error, ErrorLocation, PipelineDiagnostics};
use std::fmt::Write;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// A diagnostic with its position in bytes. A [`Diagnostic`] of an error counts characters instead.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SourceDiagnostic {
    /// The byte range in the text of the pipeline.
    pub(super) span: Range<usize>,
    /// The message.
    pub(super) message: String,
    /// How to correct it.
    pub(super) hint: Option<String>,
}

impl SourceDiagnostic {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        SourceDiagnostic { span, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A text with its diagnostics.
#[derive(Clone, Debug)]
pub(super) struct SourceDiagnostics {
    /// The name of the saved pipeline; `None` for the pipeline itself.
    pub(super) saved: Option<String>,
    text: String,
    problems: Vec<SourceDiagnostic>,
}

impl SourceDiagnostics {
    pub(super) fn new(saved: Option<&&str>, text: &str, mut problems: Vec<SourceDiagnostic>) -> Self {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        SourceDiagnostics { saved: saved.map(|name| (*name).to_owned()), text: text.to_owned(), problems }
    }

    fn name(&self) -> Option<String> {
        self.saved.as_ref().map(|name| format!("the saved pipeline `@{name}`"))
    }
}

/// The number of diagnostics shown for one text. Further ones are only counted.
const MAX_SHOWN: usize = 10;

/// The maximum length of a shown line in characters. For a longer line, only the part around the diagnostic is shown.
const MAX_LINE_CHARS: usize = 160;

/// Combines the diagnostics of a pipeline into one error. A single diagnostic is shown as its message, followed by the
/// text with carets. Several are shown as the text, followed by the carets and message of each. The error's `at`
/// contains them as data.
pub(super) fn error(texts: Vec<SourceDiagnostics>) -> Error {
    let error = match texts.as_slice() {
        [text] if text.problems.len() == 1 => single(text),
        _ => several(&texts),
    };
    error
        .at(ErrorLocation { pipelines: texts.into_iter().map(as_data).collect(), ..ErrorLocation::default() })
}

fn single(text: &SourceDiagnostics) -> Error {
    let mut message = String::new();
    let mut hint = None;
    for problem in &text.problems {
        if let Some(name) = text.name() {
            let _ = write!(message, "in {name}: ");
        }
        message.push_str(&problem.message);
        let line = Line::of(&text.text, problem.span.start).around(&problem.span);
        if !text.text.trim().is_empty() {
            let _ = write!(message, "\n  {}\n  {}", line.render(), line.carets(&problem.span));
        }
        hint.clone_from(&problem.hint);
    }
    let error = Error::invalid(message);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn several(texts: &[SourceDiagnostics]) -> Error {
    let count: usize = texts.iter().map(|text| text.problems.len()).sum();
    let name = match texts {
        [text] => text.name().unwrap_or_else(|| "this pipeline".into()),
        _ => "this pipeline".into(),
    };
    let mut message = format!("{count} problems in {name}");
    for text in texts {
        if let Some(name) = text.name().filter(|_| texts.len() > 1) {
            let _ = write!(message, "\n  in {name}:");
        }
        let mut render: Option<Line<'_>> = None;
        for problem in text.problems.iter().take(MAX_SHOWN) {
            let line = Line::of(&text.text, problem.span.start).around(&problem.span);
            if render.as_ref() != Some(&line) {
                let _ = write!(message, "\n  {}", line.render());
            }
            let _ = write!(message, "\n  {} {}", line.carets(&problem.span), problem.message);
            if let Some(hint) = &problem.hint {
                let _ = write!(message, "; {hint}");
            }
            render = Some(line);
        }
        if text.problems.len() > MAX_SHOWN {
            let _ = write!(message, "\n  … and {} more", text.problems.len() - MAX_SHOWN);
        }
    }
    Error::invalid(message)
}

/// Converts the diagnostics of a text to data, with offsets in characters.
fn as_data(text: SourceDiagnostics) -> PipelineDiagnostics {
    // A long text may have a problem at each character.
    let starts: Vec<usize> = text.text.char_indices().map(|(at, _)| at).collect();
    let characters = |bytes: usize| starts.partition_point(|at| *at < bytes);
    let diagnostics = text.problems.iter().map(|problem| {
        let offset = characters(problem.span.start);
        let length = characters(problem.span.end).saturating_sub(offset);
        Diagnostic { offset, length, message: problem.message.clone(), hint: problem.hint.clone() }
    });
    let problems = diagnostics.collect();
    PipelineDiagnostics { problems, text: text.text, saved: text.saved }
}

/// Truncates a word to its first 40 characters.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("")),
        None => text.to_owned(),
    }
}

/// A line of the pipeline, or a part of a long line.
#[derive(PartialEq)]
struct Line<'a> {
    start: usize,
    text: &'a str,
    cut: (bool, bool),
}

impl<'a> Line<'a> {
    fn of(text: &'a str, offset: usize) -> Self {
        let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = before.len() + after.find('\n').unwrap_or(after.len());
        Line { start, text: text.get(start..end).unwrap_or(""), cut: (false, false) }
    }

    /// The part around a span if the line is too long to show.
    fn around(self, span: &Range<usize>) -> Self {
        if self.text.chars().nth(MAX_LINE_CHARS).is_none() {
            return self;
        }
        let before = self.text.get(..span.start - self.start).unwrap_or(self.text);
        let from = before.char_indices().rev().nth(MAX_LINE_CHARS / 2 - 1).map_or(0, |(offset, _)| offset);
        let shown = self.text.get(from..).unwrap_or("").char_indices().nth(MAX_LINE_CHARS);
        let to = shown.map_or(self.text.len(), |(length, _)| from + length);
        Line {
            start: self.start + from,
            text: self.text.get(from..to).unwrap_or(""),
            cut: (from > 0, to < self.text.len()),
        }
    }

    fn render(&self) -> String {
        let flat = self.text.chars().map(|char| if char.is_control() { ' ' } else { char });
        let cut = |cut: bool| cut.then_some('…').into_iter();
        cut(self.cut.0).chain(flat).chain(cut(self.cut.1)).collect::<String>().trim_end().to_owned()
    }

    /// Carets under the span. They count terminal columns: a character may take two columns or none.
    fn carets(&self, span: &Range<usize>) -> String {
        let column = |offset: usize| {
            let before = self.text.char_indices().take_while(|(at, _)| self.start + at < offset);
            // Control characters are shown as spaces, so they are one column wide.
            before.map(|(_, char)| char.width().unwrap_or(1)).sum::<usize>()
        };
        let (from, to) = (column(span.start), column(span.end));
        let indent = from + usize::from(self.cut.0);
        format!("{:indent$}{}", "", "^".repeat((to - from).max(1)))
    }
}
