//! The parser: checks the stages of a text against their definitions. It finds every error that can be found without a
//! store, and reports all of them together.

use super::arguments::Arguments;
use super::ast::{Pipeline, StageCall};
use super::diagnostic::{self, SourceDiagnostic, SourceDiagnostics};
use super::lex::{self, RawArgument, RawStage, RawWord, Values};
use super::names::Names;
use super::stage::definition::StageKind;
use super::stage_error::StageError;
use super::value::quoted;
use super::{binding, stage, stage_word};
use poc_graph::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The maximum length of a pipeline in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The maximum number of stages, including those of saved pipelines.
const MAX_STAGES: usize = 64;

/// The maximum nesting depth of saved pipelines.
const MAX_DEPTH: usize = 16;

/// The number of best notes of an implicit `hybrid:` from which an algorithm starts. An algorithm passes on what its
/// input scores, so the many weak notes of a search would outweigh the few good ones.
const SEARCH_SEEDS: usize = 5;

/// Why a pipeline is too large after its saved pipelines and values have been inserted.
#[derive(Debug, thiserror::Error)]
enum SizeError {
    #[error("the pipeline has {0} stages, including those of its saved pipelines and the implicit `all`")]
    Stages(usize),
    #[error("the pipeline has {0} bytes, including its saved pipelines and values")]
    Bytes(usize),
}

impl From<SizeError> for Error {
    fn from(error: SizeError) -> Error {
        let max = match error {
            SizeError::Stages(_) => format!("at most {MAX_STAGES} stages are allowed"),
            SizeError::Bytes(_) => format!("at most {MAX_BYTES} bytes are allowed"),
        };
        Error::invalid(error.to_string()).hint(max)
    }
}

impl Pipeline {
    /// Parses and checks a pipeline as written in an agent file. A pipeline that does not start with a generator starts
    /// with an implicit `all`.
    ///
    /// # Errors
    /// `invalid_argument` with all errors, each with its position in the text of the pipeline.
    pub fn parse(text: &str, names: &Names) -> Result<Pipeline> {
        build(text, std::slice::from_ref(&(0..text.len())), names, None, None)
    }

    /// Like [`Pipeline::parse`], with values for the `${NAME}` parameters in the text. A value is always part of the
    /// argument that contains the parameter, as if it were quoted: it cannot add a stage.
    ///
    /// # Errors
    /// `invalid_argument` with all errors, each with its position in the text of the pipeline. A parameter without a
    /// value is an error.
    pub fn with_values(text: &str, names: &Names, values: &BTreeMap<String, String>) -> Result<Pipeline> {
        build(text, std::slice::from_ref(&(0..text.len())), names, None, Some(values))
    }

    /// The names of the `${NAME}` parameters in a text.
    pub fn parameters(text: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, behind) = (rest.get(..at).unwrap_or(""), rest.get(at + 2..).unwrap_or(""));
            let end = behind.find(|char| !lex::is_part_of_name(char)).unwrap_or(behind.len());
            let (name, behind) = behind.split_at_checked(end).unwrap_or((behind, ""));
            if !before.ends_with('$') && behind.starts_with('}') {
                names.insert(name.to_owned());
            }
            rest = behind;
        }
        names
    }

    /// Like [`Pipeline::parse`], for a pipeline that may be completed with search terms: if its first stage takes a
    /// text and has none, the placeholder `TERMS` is used.
    ///
    /// # Errors
    /// `invalid_argument` with all errors, each with its position in the text of the pipeline.
    pub fn template(text: &str, names: &Names) -> Result<Pipeline> {
        match missing_text(text, names, 0) {
            Some(_) => Pipeline::from_parts(&["TERMS".into()], &[text.to_owned()], names),
            None => Pipeline::parse(text, names),
        }
    }

    /// Parses and checks a pipeline from the command line: free search terms, then `-p` stages, each of which may
    /// contain `|`. If the first stage takes a text and has none (as in `-p hybrid`), the terms become that text, even
    /// if the stage is part of a saved pipeline. Otherwise the pipeline starts with an implicit `hybrid:` with the
    /// terms, so that the stages continue the plain search. If the first stage is an algorithm, it starts from the best
    /// 5 notes of this search.
    ///
    /// # Errors
    /// `invalid_argument` with all errors, each with its position in the text of the pipeline.
    pub fn from_parts(terms: &[String], stages: &[String], names: &Names) -> Result<Pipeline> {
        let mut all = stages.to_vec();
        let mut text_of_saved = None;
        if !terms.is_empty() {
            let terms = terms.join(" ");
            match all.first_mut().and_then(|first| Some((missing_text(first, names, 0)?, first))) {
                Some((MissingText::At(offset), first)) => {
                    first.insert_str(offset, &format!(":{}", quoted(&terms)));
                }
                Some((MissingText::InSaved, _)) => text_of_saved = Some(terms),
                None => {
                    let stage = stage::for_free_terms().ok_or(StageError::NoTermStage)?;
                    let cut = match all.first().is_some_and(|first| starts_with_algorithm(first, names, 0)) {
                        true => format!(" | limit:{SEARCH_SEEDS}"),
                        false => String::new(),
                    };
                    all.insert(0, format!("{}:{}{cut}", stage.word, quoted(&terms)));
                }
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
        build(&text, &parts, names, text_of_saved, None)
    }
}

/// The position where the text of the first stage is missing.
enum MissingText {
    /// At this byte offset.
    At(usize),
    /// Inside the saved pipeline that the first stage refers to.
    InSaved,
}

/// Where the text is missing if the first stage of a pipeline is a generator that takes a text and has none.
fn missing_text(text: &str, names: &Names, depth: usize) -> Option<MissingText> {
    let stages = lex::stages(text, 0..text.len(), None, &mut Vec::new());
    let first = stages.first().filter(|first| first.not.is_none() && has_no_text(first))?;
    match first.word.strip_prefix('@') {
        Some(name) if depth < MAX_DEPTH => {
            missing_text(names.saved(name)?.1, names, depth + 1).map(|_| MissingText::InSaved)
        }
        Some(_) => None,
        None => {
            stage::find(&first.word)?.text_param()?;
            Some(MissingText::At(first.word_span.end))
        }
    }
}

/// Whether the first stage of a pipeline, or of the saved pipeline that it refers to, is an algorithm.
fn starts_with_algorithm(text: &str, names: &Names, depth: usize) -> bool {
    let stages = lex::stages(text, 0..text.len(), None, &mut Vec::new());
    let Some(first) = stages.first() else { return false };
    match first.word.strip_prefix('@') {
        Some(name) if depth < MAX_DEPTH => {
            names.saved(name).is_some_and(|(_, text)| starts_with_algorithm(text, names, depth + 1))
        }
        Some(_) => false,
        None => stage::find(&first.word).is_some_and(|stage| stage.kind() == StageKind::Algorithm),
    }
}

fn has_no_text(stage: &RawStage) -> bool {
    stage.value.is_none() && stage.trailing.is_empty()
}

/// Builds a pipeline from the `parts` of a text. `terms` is the text for a first stage, inside a saved pipeline, that
/// has none. `values` has the values of the `${NAME}` parameters.
fn build(
    source: &str,
    parts: &[Range<usize>],
    names: &Names,
    terms: Option<String>,
    values: Option<&Values>,
) -> Result<Pipeline> {
    let mut builder = Builder {
        names,
        terms,
        values,
        calls: Vec::new(),
        used: BTreeSet::new(),
        diagnostics: Vec::new(),
        broken: BTreeSet::new(),
    };
    builder.text(source, parts, &mut Vec::new());
    let starts_with_generator =
        builder.calls.first().is_some_and(|call| call.def.kind() == StageKind::Generator);
    if !starts_with_generator {
        let def = stage::implicit_generator();
        let arguments = Arguments { word: def.word, params: def.params, values: Vec::new() };
        builder.calls.insert(0, StageCall { def, negated: false, arguments, saved: None });
    }
    if !builder.diagnostics.is_empty() {
        return Err(diagnostic::error(builder.diagnostics));
    }
    let pipeline = Pipeline { calls: builder.calls, used: builder.used };
    if pipeline.calls.len() > MAX_STAGES {
        return Err(SizeError::Stages(pipeline.calls.len()).into());
    }
    let bytes = pipeline.to_string().len();
    if bytes > MAX_BYTES {
        return Err(SizeError::Bytes(bytes).into());
    }
    Ok(pipeline)
}

/// Collects the stages of a pipeline and replaces the names of saved pipelines by their stages.
struct Builder<'a> {
    names: &'a Names,
    /// The text for a first stage that has none.
    terms: Option<String>,
    /// The values of the parameters. They apply to the pipeline itself, not to saved pipelines.
    values: Option<&'a Values>,
    calls: Vec<StageCall>,
    /// The saved pipelines used, directly or indirectly.
    used: BTreeSet<Arc<str>>,
    /// The texts that have errors: the pipeline itself first, then saved pipelines.
    diagnostics: Vec<SourceDiagnostics>,
    /// The saved pipelines that are invalid or use an invalid one.
    broken: BTreeSet<&'a str>,
}

impl<'a> Builder<'a> {
    /// Adds the stages of a text. `chain` lists the saved pipelines being expanded, outermost first; the last one is
    /// that of the text itself.
    fn text(&mut self, source: &str, parts: &[Range<usize>], chain: &mut Vec<&'a str>) {
        let mut problems = Vec::new();
        if source.len() > MAX_BYTES {
            let message = format!("a pipeline of {} bytes is too long", source.len());
            let problem =
                SourceDiagnostic::new(0..0, message).hint(format!("at most {MAX_BYTES} bytes are allowed"));
            return self.diagnostics.push(SourceDiagnostics::new(chain.last(), "", vec![problem]));
        }
        let mut raw: Vec<RawStage> = Vec::new();
        for part in parts {
            let values = self.values.filter(|_| chain.is_empty());
            raw.extend(lex::stages(source, part.clone(), values, &mut problems));
        }
        if let Some(stage) = raw.get(MAX_STAGES) {
            let message = format!("the pipeline has {} stages", raw.len());
            let problem = SourceDiagnostic::new(stage.span.start..source.len(), message);
            problems.push(problem.hint(format!("at most {MAX_STAGES} stages are allowed")));
        }
        for (position, stage) in raw.iter().enumerate().take(MAX_STAGES) {
            let before = self.calls.len();
            match stage.word.strip_prefix('@').filter(|name| !name.contains("${")) {
                Some(name) => self.saved(stage, name, chain, &mut problems),
                None => self.stage(stage, raw.len() == 1, chain, &mut problems),
            }
            let first_def = self.calls.get(before).map(|call| call.def);
            if let Some(def) = first_def.filter(|def| position > 0 && def.kind() == StageKind::Generator) {
                problems.push(stage_word::not_first(stage, def, raw.first()));
            }
        }
        if !problems.is_empty() {
            let diagnostics = SourceDiagnostics::new(chain.last(), source, problems);
            let at = if chain.is_empty() { 0 } else { self.diagnostics.len() };
            self.diagnostics.insert(at, diagnostics);
        }
    }

    /// Adds a stage of the language.
    fn stage(&mut self, stage: &RawStage, alone: bool, chain: &[&str], problems: &mut Vec<SourceDiagnostic>) {
        // A misplaced quote makes the rest of the stage look wrong too, so only the quote is reported.
        let misread = problems.iter().any(|problem| within(&problem.span, &stage.span));
        if misread && stage.word.contains("${") {
            return;
        }
        let Some(def) = stage_word::look_up(stage, alone, self.names, problems) else { return };
        if let Some(not) = stage.not.clone().filter(|_| def.kind() != StageKind::Filter) {
            let message =
                format!("`!` cannot come before `{}`, which is {}", def.word, with_article(def.kind()));
            problems.push(SourceDiagnostic::new(not, message).hint("only a filter can be negated"));
        }
        let mut stage = stage.clone();
        if has_no_text(&stage) && def.text_param().is_some() && self.calls.is_empty() {
            let end = stage.word_span.end..stage.word_span.end;
            let word = |text| RawWord { text, span: end.clone(), equals: None };
            stage.value =
                self.terms.take().map(|terms| RawArgument { words: vec![word(terms)], mark: end.clone() });
        }
        let values = match misread {
            true => vec![None; def.params.len()],
            false => binding::bind(&stage, def, self.names, problems),
        };
        let saved = chain.last().map(|&name| name.into());
        let arguments = Arguments { word: def.word, params: def.params, values };
        self.calls.push(StageCall { def, negated: stage.not.is_some(), arguments, saved });
    }

    /// Adds the stages of the saved pipeline that `stage` refers to.
    fn saved(
        &mut self,
        stage: &RawStage,
        name: &str,
        chain: &mut Vec<&'a str>,
        problems: &mut Vec<SourceDiagnostic>,
    ) {
        let problem = |message: String| SourceDiagnostic::new(stage.word_span.clone(), message);
        let Some((name, text)) = self.names.saved(name) else {
            return problems.push(self.names.unknown(name, problem));
        };
        if let Some(not) = stage.not.clone() {
            let message = format!("`!` cannot come before `@{name}`, a saved pipeline");
            problems.push(SourceDiagnostic::new(not, message).hint("only a filter can be negated"));
        }
        if stage.span.end > stage.word_span.end {
            let rest = stage.word_span.end..stage.span.end;
            let message = format!("`@{name}` takes no arguments");
            problems.push(SourceDiagnostic::new(rest, message).hint("write further stages after a `|`"));
        }
        if let Some(from) = chain.iter().position(|link| *link == name) {
            let mut cycle: Vec<String> =
                chain.get(from..).unwrap_or(&[]).iter().map(|link| format!("`@{link}`")).collect();
            cycle.push(format!("`@{name}`"));
            let message = format!("`@{name}` contains itself: {}", cycle.join(" → "));
            return problems.push(problem(message).hint("remove one of these references"));
        }
        if chain.len() == MAX_DEPTH {
            let message = format!("saved pipelines are nested more than {MAX_DEPTH} deep");
            return problems
                .push(problem(message).hint("write the stages of some of them instead of their names"));
        }
        self.used.insert(name.into());
        // An invalid pipeline is reported only once, and one that is too long is not expanded further.
        if self.broken.contains(name) || self.calls.len() > MAX_STAGES {
            return;
        }
        let before = (self.diagnostics.len(), self.calls.len());
        chain.push(name);
        self.text(text, std::slice::from_ref(&(0..text.len())), chain);
        chain.pop();
        if self.diagnostics.len() > before.0 || self.calls.len() == before.1 {
            self.broken.insert(name);
        }
    }
}

fn within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.start < outer.end.max(outer.start + 1)
}

fn with_article(kind: StageKind) -> String {
    let article = if kind == StageKind::Algorithm { "an" } else { "a" };
    format!("{article} {}", kind.name())
}
