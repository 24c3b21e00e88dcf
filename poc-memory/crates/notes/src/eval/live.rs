//! Evaluation of a store by questions about its own notes. It only reads.
//!
//! The questions are those of a file, or the confirmed questions of the store. A confirmed question leads to the notes
//! that answered it, so it is left out while the same question is asked.
//!
//! The file has one JSON object per line: `text`, the question; `keys`, the keys or ids of the notes that
//! answer it; and optionally `id` and `type`.

use super::measure::EvalPhase;
use super::report::{DEPTH, Latency, QuestionResult, TypeMeasures, rows};
use super::set::{NO_TYPE, Question, fields, line_error, lines, string_field};
use crate::confirmed_question::{self, ConfirmedQuestion};
use crate::{Memory, rerank, resolve};
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, View, Visibility, cancellation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

/// The type of confirmed questions.
const CONFIRMED: &str = "confirmed";

/// A question about the notes of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveQuestion {
    question: Question,
    answers: Vec<NodeId>,
}

/// How a store answers questions about its own notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveReport {
    /// The embedder in use.
    pub embedder: String,
    /// Notes in the store, without confirmed questions.
    pub notes: u64,
    /// A row for each type of question, by name, then one for all questions.
    pub rows: Vec<TypeMeasures>,
    /// The latency of a question.
    pub latency: Latency,
    /// Every question, with the keys of the notes found and missed.
    pub questions: Vec<QuestionResult>,
}

/// The confirmed questions of a store.
///
/// # Errors
/// `invalid_argument` if there are none; those of the store.
pub fn confirmed(memory: &Memory) -> Result<Vec<LiveQuestion>> {
    let view = memory.store.view();
    let questions: Vec<LiveQuestion> = confirmed_question::all(memory, usize::MAX)?
        .into_iter()
        .filter_map(|ConfirmedQuestion { id, text, answers }| {
            LiveQuestion::new(&view, id.to_string(), text, CONFIRMED.to_owned(), answers)
        })
        .collect();
    if questions.is_empty() {
        return Err(Error::invalid("no question is confirmed in this memory").hint(
            "confirm which note answered with `poc-memory reinforce NOTE --for \"the question\"`, or give a file of \
             questions: `poc-memory eval --live FILE`",
        ));
    }
    Ok(questions)
}

/// The questions of a file.
///
/// # Errors
/// `not_found` if there is no such file; `invalid_argument` with file and line for malformed lines, unknown keys and
/// a file without questions.
pub fn read(memory: &Memory, file: &Path) -> Result<Vec<LiveQuestion>> {
    let name = file.display().to_string();
    let text = poc_config::files::read_text(file).map_err(|error| {
        match error.kind() {
            std::io::ErrorKind::NotFound => Error::not_found("there is no such file"),
            _ => Error::invalid(format!("cannot be read: {error}")),
        }
        .hint(FORMAT)
        .file(name.clone())
    })?;
    let view = memory.store.view();
    let (mut questions, mut ids) = (Vec::new(), HashMap::new());
    for (number, line) in lines(&text) {
        let fields = fields(file, number, line)?;
        let text = string_field(&fields, "text")
            .ok_or_else(|| line_error(file, number, "the question has no `text`").hint(FORMAT))?;
        let id = string_field(&fields, "id").unwrap_or_else(|| number.to_string());
        if let Some(first) = ids.insert(id.clone(), number) {
            let message = format!("duplicate question id `{id}`, first used at line {first}");
            return Err(line_error(file, number, message).hint("give each its own id, or none"));
        }
        let mut answers = Vec::new();
        for key in keys(&fields)
            .ok_or_else(|| line_error(file, number, "the question has no `keys`").hint(FORMAT))?
        {
            let node = resolve::find(&memory.store, &view, &key).map_err(|error| {
                let unknown = line_error(file, number, error.message);
                error.hint.into_iter().fold(unknown, Error::hint)
            })?;
            answers.extend(confirmed_question::representatives(&view, node.id));
        }
        let kind = string_field(&fields, "type").unwrap_or_else(|| NO_TYPE.to_owned());
        let question = LiveQuestion::new(&view, id, text, kind, answers).ok_or_else(|| {
            line_error(file, number, "none of the notes is active")
                .hint("`poc-memory get NOTE` shows the state of a note")
        })?;
        questions.push(question);
    }
    if questions.is_empty() {
        return Err(Error::invalid("the file has no questions").hint(FORMAT).file(name));
    }
    Ok(questions)
}

/// The form of a line, for error messages.
const FORMAT: &str = "write {\"text\": \"the question\", \"keys\": [\"key-of-the-note\"]} on each line";

/// The keys of a question: a list of texts, or one text. `None` if there are none.
fn keys(fields: &Map<String, Value>) -> Option<Vec<String>> {
    let keys = match fields.get("keys")? {
        Value::String(key) => vec![key.clone()],
        Value::Array(keys) => {
            keys.iter().map(|key| key.as_str().map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some(keys).filter(|keys: &Vec<String>| !keys.is_empty())
}

impl LiveQuestion {
    /// A question with the live ones of its answers; `None` if none is live.
    fn new(
        view: &View,
        id: String,
        text: String,
        kind: String,
        answers: Vec<NodeId>,
    ) -> Option<LiveQuestion> {
        let mut live = BTreeMap::new();
        for answer in answers {
            if let Some(ix) = view.find(answer).filter(|&ix| view.is_live(ix)) {
                live.insert(view.key(ix).to_owned(), answer);
            }
        }
        let relevant: BTreeMap<String, f64> = live.keys().map(|key| (key.clone(), 1.0)).collect();
        let question = Question { id, text, kind, group: 0, relevant };
        (!live.is_empty()).then(|| LiveQuestion { question, answers: live.into_values().collect() })
    }
}

/// Asks the questions in the current state of a store. Nothing is written and nothing counts as used.
///
/// # Errors
/// Those of the embedder and the store.
pub fn run(
    memory: &Memory,
    questions: &[LiveQuestion],
    progress: &dyn Fn(EvalPhase, u64, u64),
) -> Result<LiveReport> {
    let view = memory.store.view();
    let visibility = Visibility::of_person(memory.now());
    let confirmed = confirmed_question::all(memory, usize::MAX)?;
    let total = questions.len() as u64;
    let (mut results, mut took) = (Vec::with_capacity(questions.len()), Vec::new());
    for (done, LiveQuestion { question, answers }) in (1..).zip(questions) {
        cancellation::check()?;
        let same = confirmed.iter().filter(|other| other.text == question.text).map(|other| other.id);
        let except: Vec<NodeId> = same.collect();
        let started = Instant::now();
        let retriever = memory.retriever(&view).without(&except);
        let wanted = memory.config.retrieve.top_k.max(DEPTH);
        let hits = rerank::find(memory, retriever, &question.text, wanted, visibility)?.hits;
        took.push(started.elapsed());
        let hits: Vec<NodeId> = hits.iter().take(DEPTH).map(|hit| hit.id).collect();
        let gains: Vec<f64> = hits.iter().map(|id| f64::from(u8::from(answers.contains(id)))).collect();
        let key = |id: &NodeId| view.find(*id).map(|ix| view.key(ix).to_owned());
        let missed = answers.iter().filter(|answer| !hits.contains(answer));
        let documents = [hits.iter().filter_map(key).collect(), missed.filter_map(key).collect()];
        results.push(QuestionResult::new(question, &gains, &vec![1.0; answers.len()], documents));
        progress(EvalPhase::Asking, done, total);
    }
    Ok(LiveReport {
        embedder: memory.embedder.name().to_owned(),
        notes: view.live_count().saturating_sub(confirmed.len()) as u64,
        rows: rows(&results),
        latency: Latency::of(&took),
        questions: results,
    })
}
