//! Inserts notes: [`prepare`] does the slow work outside a transaction, [`apply`] stores the result in one.

use super::draft::Draft;
use super::insert_plan::{self, PlannedNote};
use super::samples::InsertSamples;
use super::{Memory, automatic_edges, consolidate, derivation, key, rename, resolve, supersede};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Node, NodeId, former_title_of, is_title_of, project_name};
use poc_store::{Cause, Transaction};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A validated and embedded note with its edges, before it is stored.
#[derive(Clone, Debug)]
pub struct PreparedNote {
    content: Content,
    /// Whether it has the text of a note that another note of the batch changes.
    follows_change: bool,
    supersedes: Option<NodeId>,
    ignores_labels: bool,
    /// Whether it updates the note that has its key, if there is one.
    is_update: bool,
    /// Whether the update is only for a certain version.
    expects_version: bool,
    provenance: String,
    config: Arc<Config>,
}

#[derive(Clone, Debug)]
enum Content {
    /// A node with this content exists.
    Known(NodeId),
    /// It becomes a new node or version.
    New(Box<PlannedNote>),
}

impl PreparedNote {
    /// The stored note with the same text, other than the one to be superseded.
    pub fn existing_note(&self, tx: &Transaction<'_>) -> Result<Option<NodeId>> {
        match &self.content {
            Content::Known(id) => Ok(Some(*id)),
            Content::New(planned) => {
                let same = tx.find_hash(&planned.node.content_hash)?;
                Ok(same.filter(|&same| Some(same) != self.supersedes))
            }
        }
    }

    /// The vectors of its title and of the passages of its body; none if its text is stored already.
    pub fn vectors(&self) -> &[Vec<f32>] {
        match &self.content {
            Content::Known(_) => &[],
            Content::New(planned) => {
                planned.text.as_ref().map(|text| text.vectors.as_slice()).unwrap_or_default()
            }
        }
    }

    /// Whether it has the text of a note that another note of its batch changes. If it is stored after that one, it is
    /// not taken for a duplicate of a text that no note has any more.
    pub(super) fn follows_change(&self) -> bool {
        self.follows_change
    }

    /// The note whose text it changes.
    fn changed_note(&self) -> Option<NodeId> {
        match &self.content {
            Content::New(planned) if planned.replaces.is_some() && planned.text_changes => {
                Some(planned.node.id)
            }
            _ => None,
        }
    }

    /// Whether it must be prepared again, because another writer has stored, changed or deleted the note that it
    /// depends on since it was prepared.
    pub(super) fn is_outdated(&self, tx: &Transaction<'_>) -> Result<bool> {
        let planned = match &self.content {
            Content::Known(id) => return Ok(tx.node(*id)?.is_none()),
            Content::New(planned) => planned,
        };
        if !self.is_update || self.expects_version {
            return Ok(false);
        }
        match planned.replaces {
            Some(version) => Ok(!is_unchanged(tx.node(planned.node.id)?.as_ref(), &planned.node, version)),
            None => Ok(tx.find_key(&planned.node.key)?.is_some()),
        }
    }
}

/// The result of inserting a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertReport {
    /// The node.
    pub id: NodeId,
    /// Its key.
    pub key: String,
    /// Whether a node with the same content existed and was left unchanged.
    pub duplicate: bool,
    /// Whether the note became a new version of an existing node.
    pub updated: bool,
    /// Its version.
    pub version: u32,
    /// Number of edges created to notes that share a keyword.
    pub keyword_edges: usize,
    /// Number of edges created to notes of similar meaning.
    pub semantic_edges: usize,
    /// Number of the transaction that stored it; `None` for a duplicate.
    pub seq: Option<u64>,
}

/// Maximum number of times that a note is prepared because other writers change what it depends on. In each round, at
/// least one of them finishes.
const MAX_PREPARATIONS: usize = 30;

/// Prepares and stores one note.
///
/// # Errors
/// `invalid_argument` for an invalid draft, `conflict` if the key is taken, the note does not have the expected
/// version, or other writers keep changing it; those of the embedder and the store.
pub fn insert(memory: &Memory, draft: Draft, cause: Cause) -> Result<InsertReport> {
    commit(memory, || Ok(draft.clone()), cause)
}

/// Like [`insert`]. `draft` is called again if another writer changes what the note depends on before it is stored,
/// because the draft may depend on it, too.
pub fn commit(memory: &Memory, draft: impl Fn() -> Result<Draft>, cause: Cause) -> Result<InsertReport> {
    let now = cause.at;
    for _ in 1..MAX_PREPARATIONS {
        let prepared = prepare(memory, draft()?)?;
        let stored = memory.store.transact(cause.clone(), |tx| match prepared.is_outdated(tx)? {
            true => Ok(None),
            false => apply(tx, &prepared, now).map(Some),
        })?;
        if let Some(report) = stored.value {
            return Ok(report);
        }
    }
    let prepared = prepare(memory, draft()?)?;
    Ok(memory.store.transact(cause, |tx| apply(tx, &prepared, now))?.value)
}

/// Prepares one note. Call it outside of any transaction, because embedding takes time.
///
/// # Errors
/// `invalid_argument` for an invalid draft; those of the embedder.
pub fn prepare(memory: &Memory, draft: Draft) -> Result<PreparedNote> {
    prepare_all(memory, vec![draft])?
        .pop()
        .unwrap_or_else(|| Err(Error::internal("the note to prepare is missing")))
}

/// Prepares notes that will be stored in one transaction, in this order: each may get edges to those before it.
/// All texts are embedded in one call. An invalid note does not affect the others.
///
/// # Errors
/// Those of the embedder and the indexes. Each result has the error of its own draft.
pub fn prepare_all(memory: &Memory, drafts: Vec<Draft>) -> Result<Vec<Result<PreparedNote>>> {
    let now = memory.now();
    let plans: Vec<Result<(PreparedNote, Option<NodeId>)>> =
        drafts.into_iter().map(|draft| plan(memory, draft, now)).collect();
    let changed: FxHashSet<NodeId> =
        plans.iter().flatten().filter_map(|(note, _)| note.changed_note()).collect();
    let with_content = |(note, same): (PreparedNote, Option<NodeId>)| match same {
        // Whether that note still has the text is known only when this one is stored.
        Some(same) if changed.contains(&same) => PreparedNote { follows_change: true, ..note },
        Some(same) => PreparedNote { content: Content::Known(same), ..note },
        None => note,
    };
    let mut prepared: Vec<Result<PreparedNote>> =
        plans.into_iter().map(|plan| plan.map(with_content)).collect();
    let mut unembedded: Vec<&mut PlannedNote> = prepared
        .iter_mut()
        .flatten()
        .filter_map(|note| match &mut note.content {
            Content::New(planned) if planned.text_changes => Some(&mut **planned),
            _ => None,
        })
        .collect();
    insert_plan::embed_and_link(memory, &mut unembedded)?;
    Ok(prepared)
}

/// Plans a note. Also returns the stored note with the same text, if there is one.
fn plan(memory: &Memory, draft: Draft, now: Timestamp) -> Result<(PreparedNote, Option<NodeId>)> {
    let draft = draft.checked(&memory.config, now)?;
    let planned = insert_plan::plan(memory, &draft, now)?;
    let (node, supersedes) = (&planned.node, draft.supersedes);
    let (is_update, expects_version) = (draft.update, draft.if_version.is_some());
    let ignores_labels = draft.ignores_labels && planned.replaces.is_none();
    let same = same_content(|hash| memory.store.find_hash(hash), &planned, ignores_labels)?;
    let same = same.filter(|same| planned.replaces.is_none() && supersedes != Some(*same));
    let same_node = same.map(|id| memory.store.node(id)).transpose()?.flatten();
    let same = same.filter(|_| same_node.is_none_or(|node| !consolidate::is_past_date(&node, now)));
    let content = match planned.replaces {
        Some(version) if version == node.version && !planned.names_change => Content::Known(node.id),
        _ => Content::New(Box::new(planned)),
    };
    let (provenance, config) = (draft.provenance, memory.config.clone());
    let note = PreparedNote {
        content,
        follows_change: false,
        supersedes,
        ignores_labels,
        is_update,
        expects_version,
        provenance,
        config,
    };
    Ok((note, same))
}

/// The note with the same content, also with the title that an earlier release gave it. With `ignores_labels`,
/// also a note that lacks only the labels of projects, because it was stored outside of the project, or before notes
/// got labels.
fn same_content(
    find: impl Fn(&[u8; 32]) -> Result<Option<NodeId>>,
    planned: &PlannedNote,
    ignores_labels: bool,
) -> Result<Option<NodeId>> {
    let node = &planned.node;
    let same = find(&node.content_hash)?;
    if same.is_some() {
        return Ok(same);
    }
    let mut variants = Vec::new();
    let derived = is_title_of(&node.title, &node.body).then(|| former_title_of(&node.body)).flatten();
    // The former title of a new version is that of the note itself.
    let given = planned.former_title.clone().filter(|_| planned.replaces.is_none());
    for title in [derived, given].into_iter().flatten().filter(|title| *title != node.title) {
        variants.push(Node { title, ..node.clone() });
    }
    if ignores_labels && node.keywords.iter().any(|word| project_name(word).is_some()) {
        let unlabelled = |node: &Node| {
            let mut node = node.clone();
            node.keywords.retain(|word| project_name(word).is_none());
            node
        };
        let more: Vec<Node> = std::iter::once(node).chain(&variants).map(unlabelled).collect();
        variants.extend(more);
    }
    for variant in variants {
        let same = find(&variant.hash())?;
        if same.is_some() {
            return Ok(same);
        }
    }
    Ok(None)
}

/// Stores a prepared note. All checks happen before the first write, so that a failure leaves the transaction
/// unchanged. A note with the same text that is past `expires` gets the state `expired`, because no search finds it.
pub fn apply(tx: &mut Transaction<'_>, prepared: &PreparedNote, now: Timestamp) -> Result<InsertReport> {
    // The samples of a single insert are stored at once.
    apply_with(tx, prepared, now, &mut InsertSamples::default())
}

/// Like [`apply`], for one of several notes whose samples are stored together.
pub(super) fn apply_with(
    tx: &mut Transaction<'_>,
    prepared: &PreparedNote,
    now: Timestamp,
    samples: &mut InsertSamples,
) -> Result<InsertReport> {
    let planned = match &prepared.content {
        Content::Known(id) => return apply_duplicate(tx, *id, prepared, now),
        Content::New(planned) => planned,
    };
    let mut node = planned.node.clone();
    let mut past = None;
    if let Some(same) = same_content(|hash| tx.find_hash(hash), planned, prepared.ignores_labels)?
        && (same != node.id || planned.replaces.is_none())
        && Some(same) != prepared.supersedes
    {
        past = tx.node(same)?.filter(|same| consolidate::is_past_date(same, now));
        if past.is_none() {
            return match planned.replaces {
                None => apply_duplicate(tx, same, prepared, now),
                Some(_) => Err(same_text(&node, &resolve::expect(tx, same)?)),
            };
        }
    }
    let retired = prepared.supersedes.map(|old| supersede::check(tx, old)).transpose()?;
    match planned.replaces {
        Some(version) => check_unchanged(tx, &node, version)?,
        None => node.key = free_key(tx, &node, planned.is_key_derived, prepared.is_update, retired.as_ref())?,
    }

    if let Some(past) = past {
        consolidate::expire(tx, past, now)?;
    }
    if let Some(mut old) = retired.clone() {
        if old.key == node.key {
            old.key = key::of_retired(tx, &old.key)?;
        }
        old.aliases.retain(|alias| *alias != node.key);
        supersede::retire(tx, old, now)?;
    }
    tx.put_node(&node)?;
    put_activity(tx, &node, planned, now)?;
    let mut counts = automatic_edges::EdgeCounts::default();
    if let Some(text) = &planned.text {
        tx.put_vectors(node.id, &text.embedder, &text.vectors)?;
        if planned.replaces.is_some() {
            automatic_edges::delete(tx, node.id)?;
        }
        counts = automatic_edges::create(tx, node.id, &text.edges, &prepared.provenance, now)?;
        samples.add(tx, &text.embedder, &text.cosines)?;
        if planned.replaces.is_some() {
            derivation::source_changed(tx, node.id, now)?;
        }
    }
    if let Some(old) = &retired {
        supersede::link(tx, old, node.id, &prepared.provenance, "", &prepared.config, now)?;
        if let Some(weight) = planned.weight
            && let Some(activity) = tx.activity(node.id)?
        {
            tx.put_activity(node.id, &Activity { weight, touched: now, ..activity })?;
        }
    }
    Ok(InsertReport {
        id: node.id,
        key: node.key,
        duplicate: false,
        updated: planned.replaces.is_some(),
        version: node.version,
        keyword_edges: counts.keyword,
        semantic_edges: counts.semantic,
        seq: Some(tx.seq()),
    })
}

/// Stores nothing for a note whose content is already stored. If the note was to supersede a node, the node with that
/// content supersedes it.
fn apply_duplicate(
    tx: &mut Transaction<'_>,
    id: NodeId,
    prepared: &PreparedNote,
    now: Timestamp,
) -> Result<InsertReport> {
    let node = tx.node(id)?.ok_or_else(|| {
        Error::conflict(format!("the note `{id}` with the same text was deleted in between"))
            .hint("try again")
    })?;
    if let Some(old) = prepared.supersedes {
        supersede::apply(tx, old, id, &prepared.provenance, "", &prepared.config, now)?;
    }
    Ok(InsertReport {
        id,
        key: node.key,
        duplicate: true,
        updated: false,
        version: node.version,
        keyword_edges: 0,
        semantic_edges: 0,
        seq: None,
    })
}

/// Sets the weight of a new node, or of a known node if a weight was given.
fn put_activity(tx: &mut Transaction<'_>, node: &Node, planned: &PlannedNote, now: Timestamp) -> Result<()> {
    match (planned.replaces, planned.weight) {
        (None, weight) => {
            tx.put_activity(node.id, &Activity::new(now, weight.unwrap_or(Activity::INITIAL_WEIGHT)))
        }
        (Some(_), Some(weight)) => {
            let activity = tx.activity(node.id)?.unwrap_or_else(|| Activity::new(now, weight));
            tx.put_activity(node.id, &Activity { weight, touched: now, ..activity })
        }
        (Some(_), None) => Ok(()),
    }
}

/// Checks that the node to update was not changed since the update was prepared, and that it is live.
fn check_unchanged(tx: &Transaction<'_>, next: &Node, version: u32) -> Result<()> {
    let stored = tx.node(next.id)?;
    if !is_unchanged(stored.as_ref(), next, version) {
        let error = changed_in_between(&next.key);
        return Err(match stored {
            Some(stored) => error.version(stored.version),
            None => error,
        });
    }
    if next.state.is_live() {
        return Ok(());
    }
    let error = Error::conflict(format!("`{}` is {}, so its text cannot be changed", next.key, next.state));
    Err(match supersede::successor(tx, next.id)? {
        Some(successor) => error.hint(format!("update `{}`, which replaces it", successor.key)),
        None => error.hint("give the note another key"),
    })
}

/// The error for an update of a note that another writer has stored or changed since the update was prepared.
fn changed_in_between(key: &str) -> Error {
    Error::conflict(format!("`{key}` was changed in between")).hint("try again")
}

/// Whether the stored node still has the key and the version that the update of it was prepared for.
fn is_unchanged(stored: Option<&Node>, next: &Node, version: u32) -> bool {
    stored.is_some_and(|stored| stored.version == version && stored.key == next.key)
}

/// The key of a new node: a derived key is made unique, a given key must be free.
fn free_key(
    tx: &Transaction<'_>,
    node: &Node,
    is_derived: bool,
    is_update: bool,
    retired: Option<&Node>,
) -> Result<String> {
    if is_derived {
        return key::unique(&node.key, |key| Ok(tx.find_key(key)?.is_some()));
    }
    let Some(owner) = rename::other_owner(tx, &node.key, retired.map_or(node.id, |old| old.id))? else {
        return Ok(node.key.clone());
    };
    if is_update {
        return Err(changed_in_between(&node.key).version(owner.version));
    }
    let mut hint = format!(
        "give `update` to store it as a new version, `supersedes` with `{}` to retire the old note, or another key to \
         keep both",
        node.key
    );
    if owner.key != node.key {
        hint += &format!("; `{}` frees the key", rename::forget_command(&node.key, &owner));
    }
    Err(rename::key_conflict(&node.key, &owner).hint(hint).field("key"))
}

/// The error for an update to the text of another note.
fn same_text(node: &Node, other: &Node) -> Error {
    Error::conflict(format!("`{}` already has this text", other.key))
        .hint(format!("to retire `{}`, supersede it with `{}`", node.key, other.key))
}
