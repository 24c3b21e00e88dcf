//! Selects the nodes of a run, and counts what a run would select.

use super::empty_selection::EmptySelection;
use super::next_due::next_due;
use super::protection::may_be_read;
use super::staleness::{Staleness, StalenessReason};
use super::{Selection, handles, pair_groups};
use crate::Definition;
use crate::ledger::StatusReason;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Ix, NodeId, View};
use poc_notes::Memory;
use poc_search::query::{Explanation, Pipeline, ResultSet, Sources, VisitRules};
use std::collections::HashSet;

/// The outcome of a selection.
#[derive(Debug)]
pub enum SelectionOutcome {
    /// The selected nodes.
    Selected(Selection),
    /// Nothing to do, for this reason, with a message that says what would help.
    Nothing(StatusReason, String),
}

/// Which nodes a run selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Stale results of the pipeline.
    Stale,
    /// All results of the pipeline, regardless of visits.
    Forced,
    /// Only this node.
    Only(NodeId),
}

/// What a run for a tenant would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// Whether a run of stale nodes would select any.
    pub(crate) has_work: bool,
    /// Number of stale results that existed before an instant and were not visited since; 0 if there are too few for a
    /// run.
    pub(crate) left: usize,
    /// The number of the tenant's last transaction that it shows.
    pub(crate) seq: u64,
    /// Without work: when time alone may have made something due; `None` means never.
    pub(crate) due: Option<Timestamp>,
}

/// What a run would find now. `since` is the instant of [`Outlook::left`].
///
/// # Errors
/// Those of the pipeline.
pub(crate) fn outlook(memory: &Memory, definition: &Definition, since: Timestamp) -> Result<Outlook> {
    memory.store.settle();
    let (view, now) = (memory.store.view(), memory.now());
    let pipeline = &definition.query.pipeline;
    let stale = Staleness::of(memory, definition, now);
    let min_stale = definition.freshness.min_stale.max(1);
    let enough = |set: &ResultSet| set.items.len() >= definition.query.min_results.max(1);
    let stale_nodes = |set: &ResultSet| pair_groups::stale_nodes(set, |ix| stale.is_stale(&view, ix));
    let has_work = |set: &ResultSet| enough(set) && stale_nodes(set).len() >= min_stale;
    let set = query(memory, definition, &view, pipeline)?;
    let is_left = |ix: Ix| {
        let is_visited = view.visit(&definition.name, ix).is_some_and(|visit| visit.at >= since);
        view.created(ix) < since && !is_visited
    };
    let left = stale_nodes(&set).into_iter().filter(|&ix| is_left(ix)).count();
    let left = if enough(&set) && left >= min_stale { left } else { 0 };
    let mut outlook = Outlook { has_work: has_work(&set), left, seq: view.seq, due: None };
    if !outlook.has_work {
        // If the notes before the final sorts and limits are not enough for a run, it does not matter whether time
        // changes their order.
        let unordered = pipeline.without_final_order();
        let is_idle = unordered == *pipeline || !has_work(&query(memory, definition, &view, &unordered)?);
        outlook.due = next_due(definition, if is_idle { &unordered } else { pipeline }, &view, now);
    }
    Ok(outlook)
}

/// Selects the nodes of a run. `context` is the number of tokens that the model can read and write, if known: a small
/// model gets fewer nodes and candidates.
pub fn select(
    memory: &Memory,
    definition: &Definition,
    scope: Scope,
    context: Option<usize>,
) -> Result<SelectionOutcome> {
    // Wait for indexes that are being built, so that the run does not use incomplete results.
    memory.store.settle();
    let view = memory.store.view();
    let now = memory.now();
    let agent = definition.name.as_str();
    let pipeline = match scope {
        Scope::Forced => &definition.query.pipeline.without_visits_of(agent),
        Scope::Stale | Scope::Only(_) => &definition.query.pipeline,
    };
    let (mut set, stages) = match scope {
        Scope::Only(id) => (single_node(&view, id)?, Explanation::default()),
        Scope::Forced | Scope::Stale => run_pipeline(memory, definition, &view, pipeline)?,
    };
    let results = set.items.len();
    retain_readable(&view, &mut set);
    let min = if matches!(scope, Scope::Only(_)) { 1 } else { definition.query.min_results }.max(1);
    let hidden = results - set.items.len();
    let rules = &definition.query;
    let nothing = EmptySelection { agent, rules, stages: &stages, results, hidden, min };
    let not_stale = |fresh: usize| {
        let window = definition.window().map(|window| window.to_string());
        Ok(SelectionOutcome::Nothing(StatusReason::NotStale, nothing.not_stale(fresh, window)))
    };
    if set.items.len() < min {
        // Nodes that the pipeline itself excludes because of visits count as fresh.
        if scope == Scope::Stale && pipeline.not_visited(agent).is_some() {
            let widened = query(memory, definition, &view, &pipeline.without_visits_of(agent))?.items.len();
            if widened >= min {
                return not_stale(widened);
            }
        }
        return Ok(SelectionOutcome::Nothing(StatusReason::TooFewResults, nothing.too_few()));
    }
    let staleness = Staleness::of(memory, definition, now);
    let is_stale = |ix: Ix| staleness.is_stale(&view, ix);
    let mut stale = pair_groups::stale_nodes(&set, is_stale);
    if scope == Scope::Stale && stale.len() < definition.freshness.min_stale.max(1) {
        return not_stale(set.items.iter().filter(|item| !is_stale(item.ix)).count());
    }
    let pairs = pair_groups::pairs(&set);
    let partners = match scope {
        // The prompt shows the note alone, so it counts as visited only if no pair with a visited note is left to show.
        Scope::Only(_) if pipeline.finds_pairs() => {
            let all = pair_groups::pairs(&query(memory, definition, &view, pipeline)?);
            pair_groups::visited_partners(memory, agent, &view, &all, is_stale)?
        }
        Scope::Only(_) | Scope::Forced | Scope::Stale => {
            pair_groups::visited_partners(memory, agent, &view, &pairs, is_stale)?
        }
    };
    let settings = &memory.config.agents;
    let is_small = context.is_some_and(|context| context <= settings.small_context);
    let (max, candidates) = match is_small {
        true => (settings.small_nodes, settings.candidates.min(settings.small_candidates)),
        false => (usize::MAX, settings.candidates),
    };
    // A prompt about pairs has no link candidates, because it asks only about the paired notes.
    let candidates = if pairs.is_empty() { candidates } else { 0 };
    // Partners that a limit of the pipeline removed come instead of other results, not in addition to them.
    let max = definition.query.max_results.min(max).min(set.items.len());
    let selected: Vec<Ix> = match scope {
        // If one node of a pair is stale, the other one is read as well.
        Scope::Stale => {
            partners.move_shown_back(&mut stale);
            pair_groups::in_groups(&stale, &partners.of, max)
        }
        Scope::Forced | Scope::Only(_) => set.items.iter().take(max).map(|item| item.ix).collect(),
    };
    let mut selection = handles::build(memory, definition, view, &selected, &pairs, candidates, now)?;
    (selection.partners, selection.shown_beside_partners) = (partners.of, partners.shown);
    Ok(SelectionOutcome::Selected(selection))
}

/// Number of stale results of an agent now, also of those that the final `limit:` of its pipeline leaves for
/// later runs.
///
/// # Errors
/// Those of the pipeline.
pub fn backlog(memory: &Memory, definition: &Definition) -> Result<usize> {
    let view = memory.store.view();
    let set = query(memory, definition, &view, &definition.query.pipeline.without_final_limits())?;
    let stale = Staleness::of(memory, definition, memory.now());
    Ok(set.items.iter().filter(|item| stale.is_stale(&view, item.ix)).count())
}

/// The results of an agent's pipeline now, counted by freshness.
#[derive(Clone, Debug, PartialEq)]
pub struct FreshnessCounts {
    /// Counts and times of each stage.
    pub stages: Explanation,
    /// Number of results.
    pub results: usize,
    /// Results that appear in no prompt: not live, or quarantined.
    pub excluded: usize,
    /// Results the agent has never visited.
    pub never: usize,
    /// Results edited since the visit.
    pub changed: usize,
    /// Results visited too long ago.
    pub old: usize,
    /// Fresh results, including those that the pipeline excludes because of visits.
    pub fresh: usize,
}

/// Counts the results of an agent's pipeline by freshness.
///
/// # Errors
/// Those of the pipeline.
pub fn count_freshness(memory: &Memory, definition: &Definition) -> Result<FreshnessCounts> {
    memory.store.settle();
    let view = memory.store.view();
    let pipeline = &definition.query.pipeline;
    let (found, stages) = run_pipeline(memory, definition, &view, pipeline)?;
    let stale = Staleness::of(memory, definition, memory.now());
    let results = found.items.len();
    let readable: Vec<Ix> =
        found.items.iter().map(|item| item.ix).filter(|&ix| may_be_read(&view, ix)).collect();
    let excluded = results - readable.len();
    let mut counts = FreshnessCounts { stages, results, excluded, never: 0, changed: 0, old: 0, fresh: 0 };
    for ix in readable {
        match stale.why(&view, ix) {
            Some(StalenessReason::Never) => counts.never += 1,
            Some(StalenessReason::Changed) => counts.changed += 1,
            Some(StalenessReason::Old) => counts.old += 1,
            None => counts.fresh += 1,
        }
    }
    if pipeline.not_visited(&definition.name).is_some() {
        let unfiltered = query(memory, definition, &view, &pipeline.without_visits_of(&definition.name))?;
        counts.fresh = unfiltered.items.iter().filter(|item| !stale.is_stale(&view, item.ix)).count();
    }
    Ok(counts)
}

/// Whether an agent has enough stale nodes to run, and a part of its backlog is among `nodes`, which changed.
/// A changed node that the final `limit:` of the pipeline leaves for a later run counts, too: the run reads
/// what is before it. Uses the indexes as they are, without waiting for pending updates.
pub(crate) fn stale_among(memory: &Memory, definition: &Definition, nodes: &HashSet<NodeId>) -> Result<bool> {
    let view = memory.store.view();
    let pipeline = &definition.query.pipeline;
    let set = query(memory, definition, &view, pipeline)?;
    let stale = Staleness::of(memory, definition, memory.now());
    let reasons = |set: &ResultSet| -> Vec<(Ix, StalenessReason)> {
        let nodes = pair_groups::stale_nodes(set, |ix| stale.is_stale(&view, ix));
        nodes.into_iter().filter_map(|ix| Some((ix, stale.why(&view, ix)?))).collect()
    };
    let found = reasons(&set);
    let enough = set.items.len() >= definition.query.min_results.max(1)
        && found.len() >= definition.freshness.min_stale.max(1);
    // A node that was visited after its change is not a reason to run, even if the visit is old.
    let is_changed = |(ix, why): &(Ix, StalenessReason)| {
        !matches!(why, StalenessReason::Old) && view.id(*ix).is_some_and(|id| nodes.contains(&id))
    };
    if !enough || found.iter().any(is_changed) {
        return Ok(enough);
    }
    let widened = pipeline.without_final_limits();
    Ok(widened != *pipeline && reasons(&query(memory, definition, &view, &widened)?).iter().any(is_changed))
}

/// Like [`backlog`], if the pipeline is a plain scan, which is cheap. `None` for pipelines that search or walk the
/// graph, and for pipelines that fail, for example because a node they name was deleted.
pub fn backlog_of_scan(memory: &Memory, definition: &Definition) -> Option<usize> {
    if !definition.query.pipeline.is_scan() {
        return None;
    }
    backlog(memory, definition).ok()
}

/// Runs a pipeline and removes nodes that may not appear in a prompt.
fn query(memory: &Memory, definition: &Definition, view: &View, pipeline: &Pipeline) -> Result<ResultSet> {
    let (mut set, _) = run_pipeline(memory, definition, view, pipeline)?;
    retain_readable(view, &mut set);
    Ok(set)
}

/// Removes nodes that may not appear in a prompt, with their pairs.
fn retain_readable(view: &View, set: &mut ResultSet) {
    set.items.retain(|item| may_be_read(view, item.ix));
    for pairs in [&mut set.pairs, &mut set.cut_pairs] {
        pairs.retain(|pair| may_be_read(view, pair.a) && may_be_read(view, pair.b));
    }
}

fn run_pipeline(
    memory: &Memory,
    definition: &Definition,
    view: &View,
    pipeline: &Pipeline,
) -> Result<(ResultSet, Explanation)> {
    let visits = VisitRules::Agent { name: &definition.name, rule: definition.visit_rule(&memory.config) };
    // Nodes that agents may not read must not take the place of others below a limit of the pipeline.
    let (quarantined, pointers) = (false, false);
    let sources = memory.sources(view);
    pipeline.run(&Sources { visits, quarantined, pointers, ..sources })
}

/// Checks that agents may read a note.
///
/// # Errors
/// `invalid_argument` when it is not in use or quarantined, `not_found` when it was deleted.
pub(crate) fn require_readable(memory: &Memory, id: NodeId) -> Result<()> {
    single_node(&memory.store.view(), id).map(drop)
}

/// The result set of one node, if agents may read it.
fn single_node(view: &View, id: NodeId) -> Result<ResultSet> {
    let deleted = || Error::not_found(format!("the note `{id}` was deleted"));
    let ix = view.find(id).ok_or_else(deleted)?;
    if !may_be_read(view, ix) {
        return Err(Error::invalid(format!("agents may not read `{}`", view.key(ix)))
            .hint("the note must be in use and not quarantined"));
    }
    Ok(ResultSet::of(vec![poc_search::query::ScoredNode { ix, score: 1.0 }]))
}
