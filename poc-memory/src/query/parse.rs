//! Stages as written, checked against the table of words: everything that can be wrong without
//! looking at a store is found here, and all of it is reported together.

use super::ast::{Call, Pipeline};
use super::field;
use super::lex::{self, Argument, RawStage, Word};
use super::names::Names;
use super::param::{Absent, Param, Place, Takes, unreadable};
use super::problem::{self, Problem};
use super::stage::{self, Kind, StageDef};
use super::value::{Value, quoted};
use crate::error::{Error, Result};
use crate::similar;
use std::ops::Range;

/// Bytes a pipeline may have.
const MAX_BYTES: usize = 64 * 1024;

/// Stages a pipeline may have.
const MAX_STAGES: usize = 64;

impl Pipeline {
    /// Parses and checks a pipeline as written in an agent file. A pipeline that does not start
    /// with a generator starts with an implicit `all`.
    ///
    /// # Errors
    /// `invalid_argument` with everything that is wrong, under the pipeline.
    pub fn parse(text: &str, names: &Names) -> Result<Pipeline> {
        build(text, std::slice::from_ref(&(0..text.len())), names)
    }

    /// Parses and checks the command line's form: free terms, then `-p` stages, each of which may
    /// itself hold `|`. Terms become the text of a first stage that takes one and has none
    /// (`hybrid`), else an implicit `match:` in front.
    ///
    /// # Errors
    /// As [`Pipeline::parse`].
    pub fn from_parts(terms: &[String], stages: &[String], names: &Names) -> Result<Pipeline> {
        let mut all = stages.to_vec();
        if !terms.is_empty() {
            let terms = quoted(&terms.join(" "));
            match all.first_mut().and_then(|first| Some((text_place(first)?, first))) {
                Some((place, first)) => first.insert_str(place, &format!(":{terms}")),
                None => all.insert(0, format!("match:{terms}")),
            }
        }
        let mut text = String::new();
        let mut parts = Vec::new();
        for part in &all {
            if !parts.is_empty() {
                text.push_str(" | ");
            }
            let start = text.len();
            text.push_str(part);
            parts.push(start..text.len());
        }
        if parts.is_empty() {
            parts.push(0..0);
        }
        build(&text, &parts, names)
    }
}

/// Where in a part of a pipeline the text of its first stage belongs, when that is a generator that
/// takes a text and has none.
fn text_place(part: &str) -> Option<usize> {
    let stages = lex::stages(part, 0..part.len(), &mut Vec::new());
    let first = stages.first()?;
    let lacks_text = first.not.is_none() && first.value.is_none() && first.trailing.is_empty();
    let takes_text = stage::find(&first.word)?.text().is_some();
    (lacks_text && takes_text).then_some(first.word_span.end)
}

fn build(source: &str, parts: &[Range<usize>], names: &Names) -> Result<Pipeline> {
    if source.len() > MAX_BYTES {
        let message = format!("a pipeline of {} bytes is too long", source.len());
        return Err(Error::invalid(message).hint(format!("at most {MAX_BYTES} bytes are read")));
    }
    let mut problems = Vec::new();
    let mut raw: Vec<RawStage> = Vec::new();
    for part in parts {
        raw.extend(lex::stages(source, part.clone(), &mut problems));
    }
    if let Some(stage) = raw.get(MAX_STAGES) {
        problems.push(Problem::new(
            stage.span.start..source.len(),
            format!("a pipeline has at most {MAX_STAGES} stages, this one has {}", raw.len()),
        ));
    }
    let mut calls = Vec::new();
    let mut starts_with_generator = false;
    for (position, stage) in raw.iter().enumerate().take(MAX_STAGES) {
        // A quote in the wrong place makes everything behind it look wrong: one problem is enough.
        let misread = problems.iter().any(|problem| within(&problem.span, &stage.span));
        let Some(def) = look_up(stage, raw.len() == 1, &mut problems) else { continue };
        if def.kind() == Kind::Generator {
            starts_with_generator |= position == 0;
            if position > 0 {
                problems.push(not_first(stage, def, raw.first()));
            }
        }
        if let Some(not) = stage.not.clone().filter(|_| def.kind() != Kind::Filter) {
            let message =
                format!("`!` cannot stand before `{}`, which is {}", def.word, with_article(def.kind()));
            problems.push(Problem::new(not, message).hint("only a filter can be negated"));
        }
        if !misread {
            let values = vec![None; def.params.len()];
            let reading = Reading { stage, def, names, values, problems: &mut problems };
            calls.push(Call { def, negated: stage.not.is_some(), values: reading.read() });
        }
    }
    if !problems.is_empty() {
        return Err(problem::error(source, problems));
    }
    if !starts_with_generator && let Some(def) = stage::find("all") {
        calls.insert(0, Call { def, negated: false, values: Vec::new() });
    }
    Ok(Pipeline { calls })
}

fn within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.start < outer.end.max(outer.start + 1)
}

fn with_article(kind: Kind) -> String {
    let article = if kind == Kind::Algorithm { "an" } else { "a" };
    format!("{article} {}", kind.name())
}

fn look_up(stage: &RawStage, alone: bool, problems: &mut Vec<Problem>) -> Option<&'static StageDef> {
    let word = stage.word.as_str();
    if word.is_empty() {
        let nothing = stage.value.is_none() && stage.arguments.is_empty() && stage.not.is_none();
        problems.push(match nothing {
            true if alone => Problem::new(stage.span.clone(), "the pipeline is empty")
                .hint("`all | limit:20` is a short one"),
            true => Problem::new(stage.span.clone(), "a stage is missing here")
                .hint("stages stand between single `|`"),
            false => Problem::new(stage.span.clone(), "a stage starts with its word, as in `type:daily`"),
        });
        return None;
    }
    let found = stage::find(word);
    if found.is_none() {
        let problem = Problem::new(stage.word_span.clone(), format!("unknown stage `{}`", short(word)));
        let sorts = field::FIELDS.iter().find(|field| field.word == word).and_then(|field| field.sort);
        let near = similar::to(word, stage::vocabulary().iter().map(|stage| stage.word));
        problems.push(match (sorts, near) {
            (Some(sort), _) => problem.hint(format!("it is a field to sort by: `sort:{sort}`")),
            (None, Some(near)) => problem.hint(format!("did you mean `{near}`?")),
            (None, None) => problem.hint("`poc-memory search --help` lists every stage"),
        });
    }
    found
}

fn not_first(stage: &RawStage, def: &StageDef, first: Option<&RawStage>) -> Problem {
    let problem = Problem::new(
        stage.word_span.clone(),
        format!("`{}` produces a set and can only be the first stage", def.word),
    );
    match first.filter(|first| first.word == "match") {
        Some(_) => problem.hint("search terms already are the first stage, `match:`"),
        None => problem.hint("put it first, or leave it out"),
    }
}

/// At most 40 characters of a word that may be anything.
fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("")),
        None => text.to_owned(),
    }
}

/// Reads the arguments of one stage.
struct Reading<'a> {
    stage: &'a RawStage,
    def: &'static StageDef,
    names: &'a Names,
    values: Vec<Option<Value>>,
    problems: &'a mut Vec<Problem>,
}

impl Reading<'_> {
    fn read(mut self) -> Vec<Option<Value>> {
        let before = self.problems.len();
        self.colon();
        for argument in &self.stage.arguments {
            self.comma(argument);
        }
        self.words(&self.stage.trailing);
        if self.problems.len() == before {
            self.missing();
        }
        self.values
    }

    fn problem(&mut self, span: Range<usize>, message: String) {
        let signature = self.def.signature();
        self.problems.push(Problem::new(span, message).hint(format!("write `{signature}`")));
    }

    fn colon(&mut self) {
        let Some(argument) = &self.stage.value else { return };
        match self.free(Place::Colon) {
            Some(position) => self.argument(position, argument),
            None => {
                let span = argument.mark.start..argument.end();
                self.problem(span, format!("`{}` takes nothing behind a `:`", self.def.word));
            }
        }
    }

    fn comma(&mut self, argument: &Argument) {
        let Some(first) = argument.words.first() else {
            let message = format!("a parameter of `{}` is missing behind this `,`", self.def.word);
            return self.problem(argument.mark.clone(), message);
        };
        if let Some((name, value)) = first.equals.and_then(|at| first.text.split_at_checked(at)) {
            return self.named(name, value, argument, first);
        }
        match self.free(Place::Comma) {
            Some(position) => self.argument(position, argument),
            None => {
                let span = first.span.start..argument.end();
                self.problem(span, format!("`{}` takes no further `{}`", self.def.word, short(&first.text)));
            }
        }
    }

    fn named(&mut self, name: &str, value: &str, argument: &Argument, first: &Word) {
        let named = || self.def.params.iter().enumerate().filter(|(_, param)| param.place == Place::Named);
        let Some((position, param)) = named().find(|(_, param)| param.name == name) else {
            let near = similar::to(name, named().map(|(_, param)| param.name));
            let message = format!("`{}` has no parameter `{}`", self.def.word, short(name));
            match near {
                Some(near) => {
                    let hint = format!("did you mean `{near}`?");
                    self.problems.push(Problem::new(first.span.clone(), message).hint(hint));
                }
                None => self.problem(first.span.clone(), message),
            }
            return;
        };
        if self.values.get(position).is_some_and(Option::is_some) {
            let message = format!("`{name}` of `{}` is given twice", self.def.word);
            return self.problem(first.span.clone(), message);
        }
        let text = value.get(1..).unwrap_or("");
        self.set(position, param, text, first.span.clone());
        self.words(argument.words.get(1..).unwrap_or(&[]));
    }

    /// The first parameter at a place that has no value yet.
    fn free(&self, place: Place) -> Option<usize> {
        let mut params = self.def.params.iter().zip(&self.values);
        params.position(|(param, value)| param.place == place && value.is_none())
    }

    fn argument(&mut self, position: usize, argument: &Argument) {
        let Some(param) = self.def.params.get(position) else { return };
        let Some((first, others)) = argument.words.split_first() else {
            let message = format!("`{}` needs {}", self.def.word, param.takes.words());
            return self.problem(argument.mark.clone(), message);
        };
        match param.takes.joins() {
            Some(joint) => {
                let texts: Vec<&str> = argument.words.iter().map(|word| word.text.as_str()).collect();
                self.set(position, param, &texts.join(joint), first.span.start..argument.end());
            }
            None => {
                self.set(position, param, &first.text, first.span.clone());
                self.words(others);
            }
        }
    }

    /// Words behind a value: for the parameters that stand behind a space.
    fn words(&mut self, words: &[Word]) {
        for word in words {
            match self.free(Place::Space).and_then(|at| Some((at, self.def.params.get(at)?))) {
                Some((position, param)) => self.set(position, param, &word.text, word.span.clone()),
                None => {
                    let message = format!("`{}` does not belong to `{}`", short(&word.text), self.def.word);
                    let hint = "stages are divided by `|`; a value with spaces stands in quotes";
                    self.problems.push(Problem::new(word.span.clone(), message).hint(hint));
                    return;
                }
            }
        }
    }

    fn set(&mut self, position: usize, param: &Param, text: &str, span: Range<usize>) {
        match param.takes.read(text) {
            Ok(Value::Text(name)) if param.takes == Takes::NodeType && !self.names.has_type(&name) => {
                self.problems.push(self.unknown_type(&name, span));
            }
            Ok(value) => {
                if let Some(slot) = self.values.get_mut(position) {
                    *slot = Some(value);
                }
            }
            Err(reason) => {
                self.problems.push(unreadable(self.def.word, param, &short(text), span, reason));
            }
        }
    }

    fn unknown_type(&self, name: &str, span: Range<usize>) -> Problem {
        let problem = Problem::new(span, format!("unknown node type `{}`", short(name)));
        match similar::to(name, self.names.types()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => {
                let known: Vec<String> = self.names.types().map(|known| format!("`{known}`")).collect();
                problem.hint(format!("types are {}; add others under `[nodes] types`", known.join(", ")))
            }
        }
    }

    fn missing(&mut self) {
        let mut params = self.def.params.iter().zip(&self.values);
        let missing = params.find(|(param, value)| param.absent == Absent::Error && value.is_none());
        let Some((param, _)) = missing else { return };
        let message = format!("`{}` needs {}", self.def.word, param.takes.words());
        let problem = Problem::new(self.stage.word_span.clone(), message);
        let signature = self.def.signature();
        self.problems.push(match self.def.text() {
            Some(_) => problem.hint(format!("write `{signature}`; search terms in front serve as its text")),
            None => problem.hint(format!("write `{signature}`")),
        });
    }
}
