//! Records a run as an entry of `[[tests]]`: the notes as they were read, the reply and the outcome.

use super::fixture::Fixture;
use super::sandbox::{Sandbox, TestOutcome};
use crate::definition::Definition;
use crate::ledger::Run;
use crate::model::{CallFailure, Model, Reply, Request};
use crate::run::{RunOptions, Trigger, models, run_among};
use parking_lot::Mutex;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use poc_notes::interchange::Note;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// Fields of an action that contain one or several handles.
const HANDLES: [&str; 6] = ["from", "to", "node", "by", "sources", "links"];

/// Runs an agent like [`run`](crate::run::run) and records the run as an entry of `[[tests]]` that has been
/// verified to pass. The entry has its own error, because the run is already complete when it is recorded.
///
/// # Errors
/// Those of a run.
pub fn record(
    memory: &Memory,
    definition: &Definition,
    options: &RunOptions,
) -> Result<(Run, Result<String>)> {
    record_among(memory, definition, models(memory, definition, options), options)
}

/// Maximum bytes of a test; an agent file may have four times as many.
const MAX_BYTES: usize = 1 << 18;

/// Like [`record`], with the caller's models.
pub(crate) fn record_among(
    memory: &Memory,
    definition: &Definition,
    models: Vec<(&str, Arc<dyn Model>)>,
    options: &RunOptions,
) -> Result<(Run, Result<String>)> {
    let kept = Mutex::default();
    let models: Vec<(&str, Recorder<'_>)> =
        models.into_iter().map(|(name, model)| (name, Recorder { memory, model, kept: &kept })).collect();
    let asked: Vec<(&str, &dyn Model)> =
        models.iter().map(|(name, model)| (*name, model as &dyn Model)).collect();
    let run = run_among(memory, definition, &asked, Trigger::Manual, options)?;
    drop(asked);
    drop(models);
    let entry = match kept.into_inner() {
        Some(recording) => recording.entry(memory, definition).and_then(require_size),
        None => Err(Error::conflict("no model answered, so there is nothing to record")),
    };
    Ok((run, entry))
}

/// Checks that the entry is small enough for an agent file.
fn require_size(entry: String) -> Result<String> {
    if entry.len() <= MAX_BYTES {
        return Ok(entry);
    }
    let message = format!("the test would have {} bytes, more than {MAX_BYTES}", entry.len());
    Err(Error::conflict(message).hint(
        "run it on fewer or shorter notes, such as a single one: `poc-memory agent run NAME --record --target NOTE`",
    ))
}

/// A wrapper that stores the request and reply of a model.
struct Recorder<'a> {
    memory: &'a Memory,
    model: Arc<dyn Model>,
    kept: &'a Mutex<Option<Recording>>,
}

/// The notes in a prompt in the order of their handles, each with whether it was selected, and their neighbours.
type PromptNotes = (Vec<(Note, bool)>, Vec<Note>);

/// Which notes go into the fixture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FixtureScope {
    /// Selected notes and those the reply names.
    Named,
    /// All notes in the prompt.
    Shown,
    /// Also their neighbours.
    Neighbors,
}

/// One recorded turn of a model.
#[derive(Debug)]
struct Recording {
    now: Timestamp,
    /// The notes in the prompt in the order of their handles, and whether each was selected.
    notes: Vec<(Note, bool)>,
    /// Their neighbours.
    around: Vec<Note>,
    reply: String,
}

impl Recorder<'_> {
    /// The notes of a turn, as they are before anything is applied.
    fn notes(&self, request: &Request<'_>) -> Result<PromptNotes> {
        let view = &request.selection.view;
        let read = |id: NodeId| Note::read(&self.memory.store, view, id);
        let (mut notes, mut near) = (Vec::new(), BTreeSet::new());
        for handle in &request.selection.handles {
            if let Some(note) = read(handle.node.id)? {
                notes.push((note, handle.is_selected()));
            }
            near.extend(view.merged_edges(handle.ix).filter_map(|edge| view.id(edge.ix)));
        }
        let known: BTreeSet<NodeId> = notes.iter().map(|(note, _)| note.id).collect();
        let around = near.difference(&known).map(|&id| read(id)).collect::<Result<Vec<_>>>()?;
        Ok((notes, around.into_iter().flatten().collect()))
    }
}

impl Model for Recorder<'_> {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let notes = self.notes(request);
        let answered = self.model.call(request)?;
        // A turn that cannot be recorded is reported when the entry is written.
        if let Ok((notes, around)) = notes {
            let reply = answered.stored_text();
            *self.kept.lock() = Some(Recording { now: request.now, notes, around, reply });
        }
        Ok(answered)
    }

    fn max_cost(&self, request: &Request<'_>) -> Option<f64> {
        self.model.max_cost(request)
    }

    fn context(&self) -> Option<usize> {
        self.model.context()
    }

    fn is_language_model(&self) -> bool {
        self.model.is_language_model()
    }

    fn suspension(&self, now: Timestamp) -> Option<String> {
        self.model.suspension(now)
    }
}

impl Recording {
    /// The entry of `[[tests]]`, verified to pass.
    ///
    /// # Errors
    /// `conflict` when the pipeline selects other notes in a memory that contains only these.
    fn entry(&self, memory: &Memory, definition: &Definition) -> Result<String> {
        let config = super::settings(&memory.config)?;
        let selected: BTreeSet<&str> =
            self.notes.iter().filter(|(_, chosen)| *chosen).map(|(note, _)| note.key.as_str()).collect();
        // Other notes are included only if the selection depends on them.
        for reach in [FixtureScope::Named, FixtureScope::Shown, FixtureScope::Neighbors] {
            let lines = self.fixture(reach, &definition.name)?;
            let fixture = Fixture::read(&lines, self.now)
                .map_err(|found| found.into_iter().next().map_or_else(lost, Error::from))?;
            let sandbox = |fixture: &Fixture| Sandbox::new(&config, fixture, self.now);
            let seen = sandbox(&fixture)?.run(definition, None)?;
            // The order may change the handles; the reply is rewritten to match.
            if seen.selected.iter().map(String::as_str).collect::<BTreeSet<_>>() != selected {
                continue;
            }
            let Some(reply) = self.reply(&seen.handles) else { continue };
            let outcome = sandbox(&fixture)?.run(definition, Some(&reply))?;
            if let Some(why) = outcome.failed {
                return Err(Error::invalid(format!("the run cannot be recorded as a test: {why}"))
                    .hint("a test needs a reply that validates; `poc-memory agent inspect` shows this one"));
            }
            return Ok(self.written(definition, &lines, &reply, &outcome));
        }
        Err(Error::conflict(
            "the run cannot be recorded as a test: with only these notes, its outcome differs",
        )
        .hint(
            "a pipeline that depends on the whole graph needs a fixture written by hand; `poc-memory agent inspect` shows the reply",
        ))
    }

    /// The notes as JSON Lines, with edges among themselves alone.
    fn fixture(&self, reach: FixtureScope, agent: &str) -> Result<String> {
        let named = self.named();
        let shown = (1..).zip(&self.notes).filter(|(number, (_, chosen))| {
            *chosen || reach != FixtureScope::Named || named.contains(number)
        });
        let around = self.around.iter().filter(|_| reach == FixtureScope::Neighbors);
        let notes: Vec<&Note> = shown.map(|(_, (note, _))| note).chain(around).collect();
        let ids: BTreeSet<NodeId> = notes.iter().map(|note| note.id).collect();
        let mut lines = String::new();
        for note in notes {
            let mut note = note.clone();
            note.edges.retain(|edge| ids.contains(&edge.to));
            if self.notes.iter().any(|(one, chosen)| *chosen && one.id == note.id) {
                // A forced run may have selected notes it had visited.
                note.visits.retain(|visit| visit.agent != agent);
            }
            // The message of a chunk refers to chunks that the fixture does not contain.
            note.message = None;
            let line = serde_json::to_string(&note)
                .map_err(|error| Error::internal(format!("a note cannot be encoded: {error}")))?;
            lines.push_str(&line);
            lines.push('\n');
        }
        Ok(lines)
    }

    /// The numbers of the handles that the reply names.
    fn named(&self) -> BTreeSet<usize> {
        let Ok(reply) = serde_json::from_str::<Value>(&self.reply) else {
            return (1..=self.notes.len()).collect();
        };
        let actions = reply.as_object().into_iter().flat_map(|fields| fields.values());
        let actions = actions.filter_map(Value::as_array).flatten().filter_map(Value::as_object);
        let values = actions.flat_map(|action| HANDLES.iter().filter_map(|field| action.get(*field)));
        let names = values.flat_map(|value| match value {
            Value::Array(names) => names.iter().collect(),
            name => vec![name],
        });
        names.filter_map(Value::as_str).map(number).collect()
    }

    /// The reply with the handles that its notes have in the sandbox; `None` when the sandbox lacks one of them.
    fn reply(&self, handles: &[String]) -> Option<String> {
        let Ok(mut reply) = serde_json::from_str::<Value>(&self.reply) else {
            // Handles in prose or in a fence cannot be rewritten.
            let same = self.notes.iter().map(|(note, _)| &note.key).eq(handles);
            return same.then(|| self.reply.clone());
        };
        let places: BTreeMap<&str, usize> =
            handles.iter().enumerate().map(|(at, key)| (key.as_str(), at + 1)).collect();
        let moved = |name: &str| -> Option<String> {
            let number: usize = name.trim().strip_prefix('N').and_then(|number| number.parse().ok())?;
            let (note, _) = self.notes.get(number.checked_sub(1)?)?;
            places.get(note.key.as_str()).map(|place| format!("N{place}"))
        };
        let known = |name: &str| self.notes.len() >= number(name) && number(name) > 0;
        let mut found = true;
        let mut change = |value: &mut Value| {
            if let Value::String(name) = value
                && known(name)
            {
                match moved(name) {
                    Some(name) => *value = Value::String(name),
                    None => found = false,
                }
            }
        };
        let lists = reply.as_object_mut().into_iter().flat_map(|fields| fields.values_mut());
        for action in lists.filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut) {
            for field in HANDLES {
                match action.get_mut(field) {
                    Some(Value::Array(names)) => names.iter_mut().for_each(&mut change),
                    Some(name) => change(name),
                    None => {}
                }
            }
        }
        found.then(|| reply.to_string())
    }

    fn written(&self, definition: &Definition, lines: &str, reply: &str, outcome: &TestOutcome) -> String {
        let day = Timestamp(self.now.0 - self.now.0.rem_euclid(Span::SECOND.0));
        let taken = |name: &str| definition.tests.iter().any(|test| test.name == name);
        let (first, mut number) = (format!("recorded {day}"), 2);
        let mut name = first.clone();
        while taken(&name) {
            name = format!("{first} ({number})");
            number += 1;
        }
        let mut text = format!("\n[[tests]]\nname = {}\nnow = \"{}\"\n", quoted(&name), self.now);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "fixture = {}", long_string(lines));
        let _ = writeln!(text, "response = {}", long_string(reply));
        for (key, values) in [
            ("selected", &outcome.selected),
            ("applied", &outcome.applied),
            ("proposed", &outcome.proposed),
            ("rejected", &outcome.rejected),
        ] {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            let _ = match values.as_slice() {
                [] | [_] => writeln!(text, "expect.{key} = [{}]", values.join("")),
                _ => writeln!(text, "expect.{key} = [\n    {},\n]", values.join(",\n    ")),
            };
        }
        text
    }
}

fn number(handle: &str) -> usize {
    handle.trim().strip_prefix('N').and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn lost() -> Error {
    Error::internal("the fixture of the recording is missing")
}

/// A text as a TOML string on one line.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A text as a multi-line TOML string where possible, because it is easier to read.
pub(crate) fn long_string(text: &str) -> String {
    let plain = !text.contains("'''")
        && !text.ends_with('\'')
        && !text.contains(|c: char| c.is_control() && c != '\n');
    if plain { format!("'''\n{}\n'''", text.trim_end_matches('\n')) } else { quoted(text) }
}
