//! Stores the documents and asks the questions.

use super::report::{DEPTH, EvalReport, ImportSpeed, Latency, QuestionResult};
use super::set::{EvalSet, Question, line_error};
use crate::Memory;
use crate::import::{self, ImportOptions, ImportSource, SourceLocation};
use crate::recall::{self, RecallOptions};
use crate::rerank;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_graph::rng::SeededRng;
use poc_graph::time::{Clock, SystemClock};
use poc_graph::{NodeId, Tuple, Visibility};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The seed of the ids of notes. Notes with equal scores are ordered by id, so random ids would change the figures.
const SEED: u64 = 1;

/// The phase of an evaluation, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalPhase {
    /// Documents are being stored.
    Storing,
    /// Questions are being asked.
    Asking,
}

/// The op that answers the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionOp {
    /// `retrieve`.
    Retrieve,
    /// `recall`, without learning from it.
    Recall,
}

/// The memory of a group, and the documents of each of its notes.
pub(super) struct LoadedGroup {
    pub(super) memory: Memory,
    documents: HashMap<NodeId, Vec<String>>,
    pub(super) notes: HashMap<String, NodeId>,
}

/// The documents of a set in a temporary memory.
pub struct Evaluation {
    groups: Vec<LoadedGroup>,
    embedder: String,
    stored: Duration,
    _folder: TempDir,
}

impl Evaluation {
    /// Stores the documents of a set in a temporary memory with this configuration. Agents and prompts are those of
    /// `settings`. Calls `progress` with the phase, the number of finished items and the total.
    ///
    /// # Errors
    /// `invalid_argument` with the line of the first document that cannot be stored; those of the memory and the
    /// embedder.
    pub fn load(
        set: &EvalSet,
        config: Config,
        settings: Option<&Paths>,
        clock: Arc<dyn Clock>,
        progress: &dyn Fn(EvalPhase, u64, u64),
    ) -> Result<Evaluation> {
        let (_folder, memory) = temporary_memory(config, settings, clock)?;
        let started = Instant::now();
        let groups = load(set, &memory, progress)?;
        memory.store.settle();
        let embedder = memory.embedder.name().to_owned();
        Ok(Evaluation { groups, embedder, stored: started.elapsed(), _folder })
    }

    pub(super) fn group(&self, number: usize) -> Option<&LoadedGroup> {
        self.groups.get(number)
    }

    /// The name of the embedder in use.
    pub fn embedder(&self) -> &str {
        &self.embedder
    }

    /// The memory of each group.
    pub fn memories(&self) -> impl ExactSizeIterator<Item = &Memory> {
        self.groups.iter().map(|group| &group.memory)
    }

    /// Asks the questions.
    ///
    /// # Errors
    /// Those of the embedder.
    pub fn ask(
        &self,
        set: &EvalSet,
        op: QuestionOp,
        progress: &dyn Fn(EvalPhase, u64, u64),
    ) -> Result<EvalReport> {
        let (asked, took) = ask(set, &self.groups, op, progress)?;
        let seconds = self.stored.as_secs_f64();
        Ok(EvalReport::new(
            set,
            &self.embedder,
            self.groups.iter().map(|group| group.documents.len() as u64).sum(),
            asked,
            Latency::of(&took),
            ImportSpeed { seconds, documents_per_second: set.len() as f64 / seconds.max(f64::EPSILON) },
        ))
    }
}

/// Stores the documents of a set in a temporary memory with this configuration and asks its questions.
///
/// # Errors
/// Those of [`Evaluation::load`] and [`Evaluation::ask`].
pub fn run(set: &EvalSet, config: Config, progress: &dyn Fn(EvalPhase, u64, u64)) -> Result<EvalReport> {
    Evaluation::load(set, config, None, Arc::new(SystemClock), progress)?.ask(
        set,
        QuestionOp::Retrieve,
        progress,
    )
}

/// A memory with this configuration in a temporary folder.
pub(super) fn temporary_memory(
    config: Config,
    settings: Option<&Paths>,
    clock: Arc<dyn Clock>,
) -> Result<(TempDir, Memory)> {
    let folder = tempfile::Builder::new()
        .prefix("poc-memory-eval-")
        .tempdir()
        .map_err(|error| Error::unavailable(format!("no folder can be made for the notes: {error}")))?;
    let paths = Paths::in_folder(folder.path());
    let paths = match settings {
        Some(settings) => paths.with_settings_of(settings),
        None => paths,
    };
    let memory = Memory::open_temporary(paths, config, clock, Arc::new(SeededRng::new(SEED)))?;
    Ok((folder, memory))
}

/// Stores the documents, each group as a tenant.
pub(super) fn load(
    set: &EvalSet,
    memory: &Memory,
    progress: &dyn Fn(EvalPhase, u64, u64),
) -> Result<Vec<LoadedGroup>> {
    let (mut before, total) = (0, set.len() as u64);
    let mut groups = Vec::with_capacity(set.groups.len());
    for (number, group) in set.groups.iter().enumerate() {
        let tenant = match &group.name {
            // The name of a group may not be a valid tenant name.
            Some(_) => Tuple::new([("group", number.to_string())])?,
            None => Tuple::default(),
        };
        let memory = memory.of(&tenant);
        let source = ImportSource::Lines(set.documents.clone(), group.lines.clone());
        let report = import::import(&memory, &source, &ImportOptions::default(), &|done, _| {
            progress(EvalPhase::Storing, before + done, total);
        })?;
        if let Some((SourceLocation::Line(line), error)) = report.failed.first() {
            let more = match report.failed.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let refused = line_error(&set.documents, *line, format!("{error}{more}"));
            return Err(Error { hint: error.hint.clone(), ..refused });
        }
        let ids: HashMap<u64, &String> = group.lines.iter().map(|(line, _)| *line).zip(&group.ids).collect();
        let mut filled = LoadedGroup { memory, documents: HashMap::new(), notes: HashMap::new() };
        for (location, node) in report.nodes {
            let SourceLocation::Line(line) = location else { continue };
            let Some(id) = ids.get(&line) else { continue };
            filled.documents.entry(node).or_default().push((*id).clone());
            filled.notes.insert((*id).clone(), node);
        }
        groups.push(filled);
        before += group.lines.len() as u64;
    }
    Ok(groups)
}

/// Asks every question; returns the results and how long each took.
fn ask(
    set: &EvalSet,
    groups: &[LoadedGroup],
    op: QuestionOp,
    progress: &dyn Fn(EvalPhase, u64, u64),
) -> Result<(Vec<QuestionResult>, Vec<Duration>)> {
    let total = set.questions.len() as u64;
    let (mut asked, mut took) = (Vec::with_capacity(set.questions.len()), Vec::new());
    let mut warm = HashSet::new();
    for (done, question) in (1..).zip(&set.questions) {
        let Some(group) = groups.get(question.group) else { continue };
        // Warm up: the first search of a group also loads data.
        if warm.insert(question.group) {
            find(&group.memory, &question.text, op)?;
        }
        let started = Instant::now();
        let hits = find(&group.memory, &question.text, op)?;
        took.push(started.elapsed());
        asked.push(score(question, group, &hits));
        progress(EvalPhase::Asking, done, total);
    }
    Ok((asked, took))
}

fn find(memory: &Memory, text: &str, op: QuestionOp) -> Result<Vec<NodeId>> {
    let (view, now) = (memory.store.view(), memory.now());
    // At least as many hits as `retrieve` returns, so that the latency is comparable.
    let wanted = memory.config.retrieve.top_k.max(DEPTH);
    if op == QuestionOp::Recall {
        let (vector, config) = (memory.embedder.embed_one(text)?, &memory.config.recall);
        let (hops, oversample) = (config.hops, config.oversample);
        let options = RecallOptions { text, vector: &vector, k: wanted, hops, oversample };
        let recalled = recall::recall(memory, &view, &options, now)?;
        return Ok(recalled.hits.into_iter().map(|hit| hit.id).collect());
    }
    let found = rerank::find(memory, memory.retriever(&view), text, wanted, Visibility::of_person(now))?;
    Ok(found.hits.into_iter().map(|hit| hit.id).collect())
}

/// Scores the hits. Documents that became one note count once, with their highest grade.
pub(super) fn score(question: &Question, group: &LoadedGroup, hits: &[NodeId]) -> QuestionResult {
    let mut grades: HashMap<NodeId, f64> = HashMap::new();
    for (document, grade) in &question.relevant {
        if let Some(note) = group.notes.get(document) {
            let best = grades.entry(*note).or_default();
            *best = best.max(*grade);
        }
    }
    let hits = hits.get(..hits.len().min(DEPTH)).unwrap_or_default();
    let gains: Vec<f64> = hits.iter().map(|hit| grades.get(hit).copied().unwrap_or(0.0)).collect();
    let ideal: Vec<f64> = grades.values().copied().collect();
    let found = hits.iter().filter_map(|hit| group.documents.get(hit)?.first().cloned()).collect();
    let is_missed = |id: &&String| group.notes.get(*id).is_none_or(|note| !hits.contains(note));
    let missed = question.relevant.keys().filter(is_missed).cloned().collect();
    QuestionResult::new(question, &gains, &ideal, [found, missed])
}
