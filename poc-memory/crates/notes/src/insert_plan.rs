//! Plans what a draft becomes, based on the state of the store when it is prepared.

use super::automatic_edges::{self, AutomaticEdge, BatchNote};
use super::draft::{ClearableField, Draft, check_size};
use super::{Memory, key, passages, resolve};
use poc_embed::Embedder;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Category, Node, NodeType, Origin, State, Trust, is_title_of, title_of};
use poc_rank::histogram::Histogram;
use std::borrow::Cow;

/// A node to write.
#[derive(Clone, Debug)]
pub(super) struct PlannedNote {
    /// The node; its key is final if it was given.
    pub node: Node,
    /// The version of the stored node that this node updates.
    pub replaces: Option<u32>,
    /// Whether the key was derived from the title and may get a number.
    pub is_key_derived: bool,
    /// The title that an earlier release gave it.
    pub former_title: Option<String>,
    /// The weight to set.
    pub weight: Option<f64>,
    /// Whether the text differs from the stored one; otherwise vectors and edges stay unchanged.
    pub text_changes: bool,
    /// Whether the other names of the stored node change.
    pub names_change: bool,
    /// The vectors and edges derived from the text, once it is embedded.
    pub text: Option<EmbeddedText>,
}

/// Vectors and edges derived from the text of a node.
#[derive(Clone, Debug)]
pub(super) struct EmbeddedText {
    /// Name of the embedder.
    pub embedder: String,
    /// Vectors: the title, then the passages of the body.
    pub vectors: Vec<Vec<f32>>,
    /// Edges to create.
    pub edges: Vec<AutomaticEdge>,
    /// The cosines of the nearest notes.
    pub cosines: Histogram,
}

/// The node that a validated draft becomes. The text is not embedded yet.
pub(super) fn plan(memory: &Memory, draft: &Draft, now: Timestamp) -> Result<PlannedNote> {
    let stored = match &draft.key {
        Some(key) if draft.update => {
            let id = memory.store.find_key(key)?;
            id.map(|id| memory.store.node(id)).transpose()?.flatten()
        }
        _ => None,
    };
    check_expected(draft, stored.as_ref())?;
    let node = match &stored {
        Some(stored) => next_version(stored, draft, now),
        None => first_version(memory, draft, now)?,
    };
    check_size(&node.title, &node.body, &node.keywords, memory.config.insert.max_node_bytes)?;
    Ok(PlannedNote {
        replaces: stored.as_ref().map(|stored| stored.version),
        is_key_derived: draft.key.is_none(),
        former_title: draft.former_title.clone(),
        weight: draft.weight,
        names_change: stored.as_ref().is_some_and(|stored| stored.other_names != node.other_names),
        text_changes: stored.is_none_or(|stored| stored.content_hash != node.content_hash),
        text: None,
        node,
    })
}

/// Checks the version that the draft expects. The transaction checks that it has not changed since.
fn check_expected(draft: &Draft, stored: Option<&Node>) -> Result<()> {
    let absent = |field: &str, expected: &str, hint: &str| {
        let key = draft.key.as_deref().unwrap_or_default();
        let message = format!("there is no note `{key}`, but the request expects {expected}");
        Err(Error::conflict(message).hint(hint).version(0).field(field))
    };
    match (stored, draft.if_version) {
        (Some(stored), expected) => resolve::check_version(stored, expected),
        (None, _) if draft.must_exist => {
            absent("key", "one", "leave the condition out to store it as a new note")
        }
        (None, None | Some(0)) => Ok(()),
        (None, Some(expected)) => absent(
            "if_version",
            &format!("version {expected} of it"),
            "leave `if_version` out, or give 0, to store it as a new note",
        ),
    }
}

fn first_version(memory: &Memory, draft: &Draft, now: Timestamp) -> Result<Node> {
    let body = draft.body.clone().unwrap_or_default();
    let Some(title) = draft.title.clone().or_else(|| title_of(&body)) else {
        return Err(match &draft.key {
            // Without a text, an update cannot be meant to store a new note.
            Some(key) if draft.update && draft.if_version.is_none() => {
                resolve::unknown(key, &memory.store.view()).field("key")
            }
            _ => Error::invalid("the note has neither a title nor a body")
                .hint("give a title, a body or both")
                .field("title"),
        });
    };
    let keywords = draft.keywords.clone().unwrap_or_default();
    // The file may have been copied after the date of the last change, or by a clock that is ahead.
    let latest = draft.modified.map_or(now, |modified| modified.min(now));
    let created = draft.created.or(draft.file_modified.map(|time| time.min(latest)));
    let mut node = Node {
        id: memory.new_node_id(),
        tenant: memory.store.tenant(),
        key: draft.key.clone().unwrap_or_else(|| key::slug(&title)),
        content_hash: [0; 32],
        title,
        body,
        keywords,
        node_type: draft.node_type.clone().map_or_else(NodeType::default, NodeType),
        category: draft.category.unwrap_or(Category::General),
        provenance: draft.provenance.clone(),
        trust: draft.trust,
        author: draft.author.clone(),
        source: draft.source.clone(),
        emotion: draft.emotion.unwrap_or(0.0),
        created: created.unwrap_or(now),
        modified: draft.modified.or(created).unwrap_or(now),
        expires: draft.expires,
        state: State::Active,
        origin: Origin::Local,
        version: 1,
        aliases: Vec::new(),
        other_names: Vec::new(),
    };
    node.other_names = other_names(&node, draft).unwrap_or_default();
    node.content_hash = node.hash();
    Ok(node)
}

/// Whether a checked draft would create a new version of a node.
pub(super) fn changes(node: &Node, draft: &Draft, now: Timestamp) -> bool {
    next_version(node, draft, now).version != node.version
}

/// Whether two states of a node differ at most in the other names. These are not part of the text, so a change of them
/// makes no new version.
pub(super) fn is_same_version(before: &Node, after: &Node) -> bool {
    Node { other_names: after.other_names.clone(), ..before.clone() } == *after
}

/// The stored node updated with the fields of the draft. Provenance and trust change with the text.
fn next_version(stored: &Node, draft: &Draft, now: Timestamp) -> Node {
    let mut node = stored.clone();
    let replace = |field: &mut String, given: &Option<String>| {
        if let Some(given) = given {
            field.clone_from(given);
        }
    };
    replace(&mut node.body, &draft.body);
    // A title that was derived from the body changes with it, and only with it: an earlier release may have derived
    // another one.
    let has_same_body = node.body == stored.body;
    let is_former = has_same_body && draft.former_title.as_ref() == Some(&stored.title);
    let follows = !has_same_body && is_title_of(&stored.title, &stored.body);
    let given = draft.title.clone().filter(|_| !is_former);
    let title = given.or_else(|| title_of(&node.body).filter(|_| follows));
    replace(&mut node.title, &title);
    replace(&mut node.node_type.0, &draft.node_type);
    for field in &draft.clear {
        match field {
            ClearableField::Keywords => node.keywords.clear(),
            ClearableField::Author => node.author = None,
            ClearableField::Source => node.source = None,
            ClearableField::Expires => node.expires = None,
        }
    }
    if let Some(keywords) = &draft.keywords {
        node.keywords.clone_from(keywords);
    }
    node.category = draft.category.unwrap_or(node.category);
    node.author = draft.author.clone().or(node.author);
    node.source = draft.source.clone().or(node.source);
    node.emotion = draft.emotion.unwrap_or(node.emotion);
    node.created = draft.created.unwrap_or(node.created);
    node.expires = draft.expires.or(node.expires);
    if let Some(names) = other_names(&node, draft) {
        node.other_names = names;
    }
    node.content_hash = node.hash();
    // Author and source are shown with the text, so a model that changes them lowers the trust, too.
    let is_credited =
        draft.trust == Trust::Agent && (&node.author, &node.source) != (&stored.author, &stored.source);
    if node.content_hash != stored.content_hash || is_credited {
        node.provenance.clone_from(&draft.provenance);
        // The remote has the old text, so the note counts as local again.
        node.origin = Origin::Local;
        node.trust = next_trust(stored.trust, draft.trust);
    }
    if !is_same_version(stored, &node) {
        node.version = stored.version.saturating_add(1);
        node.modified = draft.modified.unwrap_or(now).max(stored.modified);
    }
    node
}

/// The other names that a draft gives a node, without its keys.
fn other_names(node: &Node, draft: &Draft) -> Option<Vec<String>> {
    let is_other = |name: &&String| node.names().all(|own| own != name.as_str());
    Some(draft.other_names.as_ref()?.iter().filter(is_other).cloned().collect())
}

/// The trust of a text after a writer has changed it. Only a person can raise it, because a text that a model
/// changes keeps parts of the old one.
fn next_trust(stored: Trust, writer: Trust) -> Trust {
    match writer {
        Trust::User => stored.max(writer),
        Trust::Agent => stored.min(writer),
        writer => writer,
    }
}

/// Embeds the texts of the notes in one call and determines the edges of each.
pub(super) fn embed_and_link(memory: &Memory, notes: &mut [&mut PlannedNote]) -> Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let nodes: Vec<&Node> = notes.iter().map(|note| &note.node).collect();
    let vectors = embed(memory, &nodes)?;
    // Edges are determined only once, so indexes that are still being built must be complete.
    memory.store.settle();
    let view = memory.store.view();
    let batch_note = |(node, vectors): (&Node, _)| BatchNote {
        id: node.id,
        text: node.text(),
        keywords: node.keywords.clone(),
        vectors,
        is_quotation: node.is_quotation(),
    };
    let batch: Vec<BatchNote> = nodes.into_iter().zip(vectors).map(batch_note).collect();
    let found = automatic_edges::find(memory, &view, &batch)?;
    for ((note, batch_note), (edges, cosines)) in notes.iter_mut().zip(batch).zip(found) {
        let embedder = memory.embedder.name().to_owned();
        note.text = Some(EmbeddedText { embedder, vectors: batch_note.vectors, edges, cosines });
    }
    Ok(())
}

/// The vectors of each node, embedded in one call: its title, then the passages of its body that differ from
/// the title, each with the title in front.
pub(super) fn embed(memory: &Memory, nodes: &[&Node]) -> Result<Vec<Vec<Vec<f32>>>> {
    vectors(&memory.config.vectors, memory.embedder.as_ref(), nodes)
}

/// Like [`embed`], with the given embedder.
pub(super) fn vectors(
    config: &poc_config::VectorsConfig,
    embedder: &dyn Embedder,
    nodes: &[&Node],
) -> Result<Vec<Vec<Vec<f32>>>> {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut counts = Vec::with_capacity(nodes.len());
    for node in nodes {
        let before = texts.len();
        texts.extend(passages::embedding_texts(node, config));
        counts.push(texts.len() - before);
    }
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let mut embedded = if texts.is_empty() { Vec::new() } else { embedder.embed(&texts)? }.into_iter();
    Ok(counts.into_iter().map(|count| embedded.by_ref().take(count).collect()).collect())
}
