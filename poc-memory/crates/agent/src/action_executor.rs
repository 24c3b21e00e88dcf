//! Applies one permitted action of an agent within a transaction.

use super::permit::{PermittedAction, Refusal, RefusalReason};
use super::selection::may_be_read;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Node, NodeId, State, Trust, Visit, VisitOutcome, plural, provenance};
use poc_notes::insert::{self, PreparedNote};
use poc_notes::link::{self, Link, LinkOutcome};
use poc_notes::{Draft, Memory, derivation, rename, succession, supersede, weight};
use poc_rank::lookalike::{WordProfile, have_same_words};
use poc_rank::max_link_strength::max_link_strength;
use poc_store::Transaction;
use std::cell::RefCell;

/// Applies the actions of one agent at one instant.
pub(super) struct ActionExecutor<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// The agent.
    pub agent: &'a str,
    /// Maximum live nodes derived from one node; `None` if a person approved the action.
    pub max_per_source: Option<usize>,
    /// The current time.
    pub now: Timestamp,
    /// The derived notes that were inserted so far.
    pub inserted: RefCell<Vec<NodeId>>,
}

/// The new note of an action, prepared outside of transactions.
pub(super) struct ActionNote {
    note: PreparedNote,
    /// The stored derived notes that are most similar to it; empty unless the action is an `insert`, and for quotations.
    similar: Vec<NodeId>,
}

/// How a new note relates to its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceRelation {
    /// It is derived from them.
    Derived,
    /// It is a part of a replaced note, to which it is linked.
    Part,
}

type Verdict<T> = std::result::Result<T, Refusal>;

/// How many of the stored notes nearest to a new derived note are compared with it, for each of its vectors.
const COMPARED: usize = 32;

/// How many vectors of a new derived note are compared: those of its title and of the start of its body.
const COMPARED_VECTORS: usize = 2;

/// Prepares and embeds the new note of an action. Called outside of transactions, because embedding is slow.
pub(super) fn prepare(memory: &Memory, permitted: &PermittedAction) -> Verdict<Option<ActionNote>> {
    let Some(draft) = permitted.draft() else { return Ok(None) };
    let note = insert::prepare(memory, draft.clone()).map_err(refusal)?;
    let similar = match permitted {
        PermittedAction::Insert { .. } if !is_quotation(draft) => {
            similar_derived_notes(memory, &note).map_err(refusal)?
        }
        _ => Vec::new(),
    };
    Ok(Some(ActionNote { note, similar }))
}

fn is_quotation(draft: &Draft) -> bool {
    draft.key.as_deref().is_some_and(Node::is_quotation_key)
}

/// The derived notes among the stored notes nearest to a new one. A note with the same words is one of the nearest, so
/// that a bounded number is enough.
fn similar_derived_notes(memory: &Memory, note: &PreparedNote) -> Result<Vec<NodeId>> {
    let view = memory.store.view();
    let is_readable = |id| view.find(id).is_some_and(|ix| may_be_read(&view, ix));
    let is_derived = |id| view.find(id).is_some_and(|ix| view.sources(ix).next().is_some());
    let mut similar: Vec<NodeId> = Vec::new();
    for vector in note.vectors().iter().take(COMPARED_VECTORS) {
        let near = memory.vectors.search(vector, COMPARED, &is_readable)?;
        for id in near.into_iter().map(|hit| hit.id).filter(|id| is_derived(*id)) {
            if !similar.contains(&id) {
                similar.push(id);
            }
        }
    }
    Ok(similar)
}

/// Records a visit of a node that the agent itself has created.
pub(super) fn record_own_visit(
    tx: &mut Transaction<'_>,
    agent: &str,
    id: NodeId,
    now: Timestamp,
) -> Result<()> {
    let Some(node) = tx.node(id)? else { return Ok(()) };
    tx.put_visit(agent, id, &Visit { at: now, outcome: VisitOutcome::Processed, version: node.version })
}

impl ActionExecutor<'_> {
    /// Applies one action and returns the nodes it created, or the reason why it was refused. `relation` applies to
    /// inserted nodes. An error comes from the store and ends the run.
    pub(super) fn execute(
        &self,
        tx: &mut Transaction<'_>,
        permitted: &PermittedAction,
        note: Option<&ActionNote>,
        relation: SourceRelation,
    ) -> Result<Verdict<Vec<NodeId>>> {
        let note = || note.ok_or_else(|| Error::internal("a new note was not prepared"));
        let config = &self.memory.config;
        let done = match permitted {
            PermittedAction::Link { from, to, strength, reason } => {
                self.add_link(tx, &self.link(*from, *to, *strength, reason))
            }
            PermittedAction::Weigh { node, delta } => {
                let change = weight::WeightChange::By(*delta);
                weight::change(tx, *node, change, &config.weight, self.now).map(|_| Ok(Vec::new()))
            }
            PermittedAction::Replace { old, new, reason } => {
                let provenance = provenance::of_agent(self.agent);
                supersede::apply(tx, *old, *new, &provenance, reason, config, self.now)
                    .map(|_| Ok(Vec::new()))
            }
            PermittedAction::Rename { node, from, to } => rename(tx, *node, from, to),
            PermittedAction::Rewrite { .. } => self.rewrite(tx, &note()?.note),
            PermittedAction::Revise { sources, reason, .. } => {
                self.revise(tx, &note()?.note, sources, reason)
            }
            PermittedAction::Insert { draft, sources, reason } => {
                let ActionNote { note, similar } = note()?;
                let refusal = match relation {
                    SourceRelation::Derived => self.refuse_derived(tx, draft, sources, similar)?,
                    SourceRelation::Part => None,
                };
                match refusal {
                    Some(refusal) => Ok(Err(refusal)),
                    None => self.insert(tx, note, sources, reason, relation),
                }
            }
        };
        match done {
            Err(error) if matches!(error.code, Code::InvalidArgument | Code::Conflict | Code::NotFound) => {
                Ok(Err(refusal(error)))
            }
            done => done,
        }
    }

    /// Adds a link, unless there is one between the two notes in either direction.
    fn add_link(&self, tx: &mut Transaction<'_>, link: &Link) -> Result<Verdict<Vec<NodeId>>> {
        let linked = || present("the two notes are already linked");
        if tx.edge(link.dst, EdgeKind::Link, link.src)?.is_some() {
            return Ok(Err(linked()));
        }
        Ok(match link::add(tx, link, self.now)? {
            LinkOutcome::AlreadyPresent(_) => Err(linked()),
            LinkOutcome::Added => Ok(Vec::new()),
        })
    }

    /// Stores the replacement of a note.
    fn rewrite(&self, tx: &mut Transaction<'_>, note: &PreparedNote) -> Result<Verdict<Vec<NodeId>>> {
        // The reply did not name the existing note with the same text, so that note must not become the replacement.
        if let Some(existing) = note.existing_note(tx)? {
            return Ok(Err(same_text(tx, existing)?));
        }
        Ok(Ok(vec![insert::apply(tx, note, self.now)?.id]))
    }

    /// Stores the replacement of a derived note, which is derived from `sources`.
    fn revise(
        &self,
        tx: &mut Transaction<'_>,
        note: &PreparedNote,
        sources: &[NodeId],
        reason: &str,
    ) -> Result<Verdict<Vec<NodeId>>> {
        let written = self.rewrite(tx, note)?;
        let provenance = provenance::of_agent(self.agent);
        for &id in written.iter().flatten() {
            derivation::set_sources(tx, id, sources, &provenance, reason, self.now)?;
        }
        Ok(written)
    }

    /// Stores a note and connects it with its sources.
    fn insert(
        &self,
        tx: &mut Transaction<'_>,
        note: &PreparedNote,
        sources: &[NodeId],
        reason: &str,
        relation: SourceRelation,
    ) -> Result<Verdict<Vec<NodeId>>> {
        let made = insert::apply(tx, note, self.now)?;
        if made.duplicate {
            return Ok(Err(same_text(tx, made.id)?));
        }
        match relation {
            SourceRelation::Derived => {
                let provenance = provenance::of_agent(self.agent);
                derivation::add_sources(tx, made.id, sources, &provenance, reason, self.now)?;
                if !sources.is_empty() {
                    self.inserted.borrow_mut().push(made.id);
                }
            }
            SourceRelation::Part => {
                let strength = link::STRENGTH.min(max_link_strength(Trust::Agent));
                for &source in sources {
                    link::add(tx, &self.link(made.id, source, strength, reason), self.now)?;
                }
            }
        }
        Ok(Ok(vec![made.id]))
    }

    /// Transfers data from a split note to its parts.
    pub(super) fn hand_over_to_parts(
        &self,
        tx: &mut Transaction<'_>,
        old: NodeId,
        parts: &[NodeId],
    ) -> Result<()> {
        let (embedder, config) = (self.memory.embedder.name(), &self.memory.config);
        succession::apply_to_parts(tx, old, parts, embedder, config, self.now)
    }

    /// Why a new note may not be derived from its sources: one of them has nearly the same text, already has
    /// the maximum number of derived notes, or has a derived note with nearly the same text; or one of the `similar`
    /// notes, which were derived from any notes, or one that was just inserted has the same words.
    fn refuse_derived(
        &self,
        tx: &Transaction<'_>,
        draft: &Draft,
        sources: &[NodeId],
        similar: &[NodeId],
    ) -> Result<Option<Refusal>> {
        let text = format!(
            "{}\n{}",
            draft.title.as_deref().unwrap_or_default(),
            draft.body.as_deref().unwrap_or_default()
        );
        let is_quotation = is_quotation(draft);
        for &source in sources {
            let derived = derivation::derived_notes(tx, source)?;
            // A quotation adds the question that its source answers, or leaves out the rest of its source. An edit of the
            // source may change one word of it.
            if !is_quotation && let Some(why) = repeated_text(tx, &text, source, &derived)? {
                return Ok(Some(present(&why)));
            }
            if self.max_per_source.is_some_and(|max| derived.len() >= max) {
                let key = tx.node(source)?.map(|node| node.key).unwrap_or_default();
                let were = if derived.len() == 1 { "was" } else { "were" };
                let notes = plural(derived.len() as u64, "note");
                let why = format!("{notes} {were} already derived from `{key}`");
                return Ok(Some(RefusalReason::OverLimit.because(why)));
            }
        }
        for &id in similar.iter().chain(self.inserted.borrow().iter()) {
            // A stale note may no longer be true, so it does not keep out a new one.
            let Some(other) = tx.node(id)?.filter(|node| node.state == State::Active) else { continue };
            if have_same_words(&text, &other.text()) {
                let why = format!("`{}`, derived from another note, has the same words", other.key);
                return Ok(Some(present(&why)));
            }
        }
        Ok(None)
    }

    fn link(&self, src: NodeId, dst: NodeId, strength: f64, reason: &str) -> Link {
        let (reason, provenance) = (reason.to_owned(), provenance::of_agent(self.agent));
        Link { src, dst, kind: EdgeKind::Link, strength, reason, provenance }
    }
}

/// Why a text is no new note about `source`: the source has nearly the same text, or one of the notes `derived` from it,
/// of which quotations do not count.
fn repeated_text(
    tx: &Transaction<'_>,
    text: &str,
    source: NodeId,
    derived: &[Node],
) -> Result<Option<String>> {
    let about = tx.node(source)?.map(|node| node.text()).unwrap_or_default();
    let (words, about) = (WordProfile::of(text), WordProfile::of(&about));
    if words.repeats(&about) {
        return Ok(Some("its source has nearly the same text".to_owned()));
    }
    // A fact that differs only in a number absent from the source is still a duplicate.
    let is_same = |other: &Node| words.is_near_duplicate_about(&WordProfile::of(&other.text()), &about);
    let same = derived.iter().filter(|other| !other.is_quotation()).find(|other| is_same(other));
    Ok(same.map(|other| format!("`{}`, derived from the same note, has nearly the same text", other.key)))
}

/// Changes the key of a note, unless it has another one than the agent read.
fn rename(tx: &mut Transaction<'_>, id: NodeId, from: &str, to: &str) -> Result<Verdict<Vec<NodeId>>> {
    if tx.node(id)?.is_none_or(|node| node.key != from) {
        return Ok(Err(RefusalReason::ChangedSinceRead.because(format!("`{from}` was renamed since"))));
    }
    rename::apply(tx, id, Some(to), &[]).map(|_| Ok(Vec::new()))
}

/// Turns an error about the values of an action into a refusal.
fn refusal(error: Error) -> Refusal {
    RefusalReason::InvalidValue.because(error.message)
}

/// Why a new note with the text of a stored note is refused.
fn same_text(tx: &Transaction<'_>, stored: NodeId) -> Result<Refusal> {
    // The key of a quarantined note must not reach a model.
    let named = tx.node(stored)?.filter(|node| node.trust > Trust::Quarantined);
    Ok(present(&match named {
        Some(node) => format!("`{}` has the same text", node.key),
        None => "a note with this text already exists".to_owned(),
    }))
}

fn present(why: &str) -> Refusal {
    RefusalReason::AlreadyPresent.because(why)
}
