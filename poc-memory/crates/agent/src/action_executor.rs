//! Applies one permitted action of an agent within a transaction.

use super::permit::{PermittedAction, Refusal, RefusalReason};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, NodeId, Visit, VisitOutcome, plural, provenance};
use poc_notes::insert::{self, PreparedNote};
use poc_notes::link::{self, Link, LinkOutcome};
use poc_notes::{Draft, Memory, derivation, rename, succession, supersede, weight};
use poc_rank::lookalike::WordProfile;
use poc_store::Transaction;

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
}

type Verdict<T> = std::result::Result<T, Refusal>;

/// Prepares and embeds the new node of an action. Called outside of transactions, because embedding is slow.
pub(super) fn prepare(memory: &Memory, permitted: &PermittedAction) -> Verdict<Option<PreparedNote>> {
    permitted.draft().map(|draft| insert::prepare(memory, draft.clone()).map_err(refusal)).transpose()
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
    /// Applies one action and returns the nodes it created, or the reason why it was refused. A new node that is a
    /// part of a replaced node is linked to it instead of being derived from it. An error comes from the store
    /// and ends the run.
    pub(super) fn execute(
        &self,
        tx: &mut Transaction<'_>,
        permitted: &PermittedAction,
        note: Option<&PreparedNote>,
        is_part: bool,
    ) -> Result<Verdict<Vec<NodeId>>> {
        let now = self.now;
        let note = || note.ok_or_else(|| Error::internal("a new note was not prepared"));
        let done = match permitted {
            PermittedAction::Link { from, to, strength, reason } => {
                if tx.edge(*to, EdgeKind::Link, *from)?.is_some() {
                    return Ok(Err(present("the two notes are already linked")));
                }
                match link::add(tx, &self.link(*from, *to, *strength, reason), now) {
                    Ok(LinkOutcome::AlreadyPresent(_)) => {
                        return Ok(Err(present("the two notes are already linked")));
                    }
                    other => other.map(|_| Vec::new()),
                }
            }
            PermittedAction::Weigh { node, delta } => {
                let change = weight::WeightChange::By(*delta);
                weight::change(tx, *node, change, &self.memory.config.weight, now).map(|_| Vec::new())
            }
            PermittedAction::Replace { old, new, reason } => supersede::apply(
                tx,
                *old,
                *new,
                &provenance::of_agent(self.agent),
                reason,
                &self.memory.config,
                now,
            )
            .map(|_| Vec::new()),
            PermittedAction::Rename { node, from, to } => {
                if tx.node(*node)?.is_none_or(|node| node.key != *from) {
                    let why = format!("`{from}` was renamed since");
                    return Ok(Err(RefusalReason::ChangedSinceRead.because(why)));
                }
                rename::apply(tx, *node, Some(to), &[]).map(|_| Vec::new())
            }
            PermittedAction::Rewrite { .. } | PermittedAction::Revise { .. } => {
                let note = note()?;
                // The reply did not name the existing note with the same text, so that note must not become
                // the replacement.
                if note.existing_note(tx)?.is_some() {
                    return Ok(Err(present("a note with this text already exists")));
                }
                insert::apply(tx, note, now).and_then(|made| {
                    if let PermittedAction::Revise { sources, reason, .. } = permitted {
                        let provenance = provenance::of_agent(self.agent);
                        derivation::set_sources(tx, made.id, sources, &provenance, reason, now)?;
                    }
                    Ok(vec![made.id])
                })
            }
            PermittedAction::Insert { draft, sources, reason } => {
                if !is_part && let Some(refusal) = self.refuse_derived(tx, draft, sources)? {
                    return Ok(Err(refusal));
                }
                match self.insert(tx, note()?, sources, reason, is_part) {
                    Ok(None) => return Ok(Err(present("a note with this text already exists"))),
                    Ok(Some(id)) => Ok(vec![id]),
                    Err(error) => Err(error),
                }
            }
        };
        match done {
            Ok(made) => Ok(Ok(made)),
            Err(error) if matches!(error.code, Code::InvalidArgument | Code::Conflict | Code::NotFound) => {
                Ok(Err(refusal(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Stores a new note, and links it to its sources if it is a part of them; otherwise it is derived from them.
    /// Returns its id, or `None` if a note with its text exists.
    fn insert(
        &self,
        tx: &mut Transaction<'_>,
        note: &PreparedNote,
        sources: &[NodeId],
        reason: &str,
        is_part: bool,
    ) -> Result<Option<NodeId>> {
        let made = insert::apply(tx, note, self.now)?;
        if made.duplicate {
            return Ok(None);
        }
        if is_part {
            for &source in sources {
                link::add(tx, &self.link(made.id, source, link::STRENGTH, reason), self.now)?;
            }
        } else {
            let provenance = provenance::of_agent(self.agent);
            derivation::add_sources(tx, made.id, sources, &provenance, reason, self.now)?;
        }
        Ok(Some(made.id))
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
    /// the maximum number of derived notes, or has a derived note with nearly the same text.
    fn refuse_derived(
        &self,
        tx: &Transaction<'_>,
        draft: &Draft,
        sources: &[NodeId],
    ) -> Result<Option<Refusal>> {
        let text = format!(
            "{}\n{}",
            draft.title.as_deref().unwrap_or_default(),
            draft.body.as_deref().unwrap_or_default()
        );
        let words = WordProfile::of(&text);
        for &source in sources {
            let derived = derivation::derived_notes(tx, source)?;
            let about = tx.node(source)?.map(|node| node.text()).unwrap_or_default();
            let about = WordProfile::of(&about);
            if words.repeats(&about) {
                return Ok(Some(present("its source has nearly the same text")));
            }
            for other in &derived {
                // A fact that differs only in a number absent from the source is still a duplicate.
                if words.is_near_duplicate_about(&WordProfile::of(&other.text()), &about) {
                    let why =
                        format!("`{}`, derived from the same note, has nearly the same text", other.key);
                    return Ok(Some(present(&why)));
                }
            }
            if self.max_per_source.is_some_and(|max| derived.len() >= max) {
                let key = tx.node(source)?.map(|node| node.key).unwrap_or_default();
                let were = if derived.len() == 1 { "was" } else { "were" };
                let notes = plural(derived.len() as u64, "note");
                let why = format!("{notes} {were} already derived from `{key}`");
                return Ok(Some(RefusalReason::OverLimit.because(why)));
            }
        }
        Ok(None)
    }

    fn link(&self, src: NodeId, dst: NodeId, strength: f64, reason: &str) -> Link {
        let (reason, provenance) = (reason.to_owned(), provenance::of_agent(self.agent));
        Link { src, dst, kind: EdgeKind::Link, strength, reason, provenance }
    }
}

/// Turns an error about the values of an action into a refusal.
fn refusal(error: Error) -> Refusal {
    RefusalReason::InvalidValue.because(error.message)
}

fn present(why: &str) -> Refusal {
    RefusalReason::AlreadyPresent.because(why)
}
