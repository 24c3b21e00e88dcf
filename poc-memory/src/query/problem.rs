//! Everything that is wrong with one pipeline, shown under the pipeline.

use crate::error::Error;
use std::fmt::Write;
use std::ops::Range;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    /// Where: bytes of the pipeline's text.
    pub(super) span: Range<usize>,
    /// What is wrong.
    pub(super) message: String,
    /// What would be right.
    pub(super) hint: Option<String>,
}

impl Problem {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Problem { span, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Problems shown of one pipeline; what follows is counted.
const MOST: usize = 10;

/// Longer lines are shown in part, around the problem.
const WIDEST: usize = 160;

/// The problems of a pipeline as one error. One problem: its message, then the pipeline with
/// carets. Several: the pipeline once, then carets and message of each.
pub(super) fn error(text: &str, mut problems: Vec<Problem>) -> Error {
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    if let [problem] = problems.as_slice() {
        let mut message = problem.message.clone();
        let line = Line::of(text, problem.span.start).around(&problem.span);
        if !text.trim().is_empty() {
            let _ = write!(message, "\n  {}\n  {}", line.shown(), line.carets(&problem.span));
        }
        let error = Error::invalid(message);
        return match &problem.hint {
            Some(hint) => error.hint(hint),
            None => error,
        };
    }
    let mut message = format!("{} problems in this pipeline", problems.len());
    let mut shown: Option<Line<'_>> = None;
    for problem in problems.iter().take(MOST) {
        let line = Line::of(text, problem.span.start).around(&problem.span);
        if shown.as_ref() != Some(&line) {
            let _ = write!(message, "\n  {}", line.shown());
        }
        let _ = write!(message, "\n  {} {}", line.carets(&problem.span), problem.message);
        if let Some(hint) = &problem.hint {
            let _ = write!(message, "; {hint}");
        }
        shown = Some(line);
    }
    if problems.len() > MOST {
        let _ = write!(message, "\n  … and {} more", problems.len() - MOST);
    }
    Error::invalid(message)
}

/// A line of the pipeline, or a part of one.
#[derive(PartialEq)]
struct Line<'a> {
    start: usize,
    text: &'a str,
    cut: (bool, bool),
}

impl<'a> Line<'a> {
    fn of(text: &'a str, offset: usize) -> Self {
        let (before, behind) = text.split_at_checked(offset).unwrap_or((text, ""));
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = before.len() + behind.find('\n').unwrap_or(behind.len());
        Line { start, text: text.get(start..end).unwrap_or(""), cut: (false, false) }
    }

    /// The part around a span, when the line is too long.
    fn around(self, span: &Range<usize>) -> Self {
        if self.text.chars().count() <= WIDEST {
            return self;
        }
        let at = span.start - self.start;
        let places: Vec<usize> = self.text.char_indices().map(|(place, _)| place).collect();
        let here = places.partition_point(|&place| place < at);
        let first = here.saturating_sub(WIDEST / 2);
        let from = places.get(first).copied().unwrap_or(0);
        let to = places.get(first + WIDEST).copied().unwrap_or(self.text.len());
        Line {
            start: self.start + from,
            text: self.text.get(from..to).unwrap_or(""),
            cut: (from > 0, to < self.text.len()),
        }
    }

    fn shown(&self) -> String {
        let flat = self.text.chars().map(|char| if char.is_control() { ' ' } else { char });
        let cut = |cut: bool| cut.then_some('…').into_iter();
        cut(self.cut.0).chain(flat).chain(cut(self.cut.1)).collect::<String>().trim_end().to_owned()
    }

    fn carets(&self, span: &Range<usize>) -> String {
        let place =
            |offset: usize| self.text.char_indices().take_while(|(at, _)| self.start + at < offset).count();
        let (from, to) = (place(span.start), place(span.end));
        let indent = from + usize::from(self.cut.0);
        format!("{:indent$}{}", "", "^".repeat((to - from).max(1)))
    }
}
