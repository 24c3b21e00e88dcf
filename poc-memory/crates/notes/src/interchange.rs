//! The interchange format of a node: what export writes and import reads back.

use super::draft::{self, EMOTION_MAX};
use super::markdown_frame::MarkdownFrame;
use super::{key, keyword_normalization, message};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{
    Activity, Category, ChunkRef, Edge, EdgeKind, MAX_ALIASES, Message, MessageId, Node, NodeId, NodeType,
    Origin, State, Tenant, Trust, View, Visit, VisitOutcome,
};
use poc_store::Records;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The version of this format; import refuses other versions.
pub const SCHEMA_VERSION: u32 = 1;

/// A node, its activity, the edges that start at it and its visits. Vectors are not included, because they are
/// computed from the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// [`SCHEMA_VERSION`]; this field marks a note as written by export.
    pub schema_version: u32,
    /// As in [`Node`], like all fields up to `version`.
    pub id: NodeId,
    /// Unique name of the node.
    pub key: String,
    /// Former keys, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Other names, which need not be unique.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<String>,
    /// Title, one line.
    pub title: String,
    /// Type, such as `semantic`.
    #[serde(rename = "type")]
    pub node_type: NodeType,
    /// Category, which sets how fast the weight decays.
    pub category: Category,
    /// Keywords, normalised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Who stored the node: `manual`, `import:FILE`, `agent:NAME`.
    pub provenance: String,
    /// How far the text is trusted.
    pub trust: Trust,
    /// Who wrote or said the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Where the text comes from, for example a URL or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Emotional intensity, 0 to 10.
    pub emotion: f32,
    /// When the node was first written.
    pub created: Timestamp,
    /// When the text, fields or state last changed.
    pub modified: Timestamp,
    /// When the node expires; absent if never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// State, such as `active` or `superseded`.
    pub state: State,
    /// Whether the node was written here or came from a remote.
    pub origin: Origin,
    /// Version, from 1.
    pub version: u32,
    /// As in [`Activity`], like all fields up to `replayed`.
    pub weight: f64,
    /// When the weight was last written.
    pub touched: Timestamp,
    /// Number of uses.
    pub accesses: u64,
    /// Spaced-repetition interval in days.
    pub replay_interval: u16,
    /// When the node was last replayed; absent if never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Timestamp>,
    /// Edges that start at the node, sorted by kind and target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<NoteEdge>,
    /// The last visit by each agent, by agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visits: Vec<NoteVisit>,
    /// The message that this is a chunk of; only the first remaining chunk of a message has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<NoteMessage>,
    /// The frames of the note: everything around its text in the Markdown files that it came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<MarkdownFrame>,
    /// The text, in Markdown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
}

/// A message, as in [`Message`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteMessage {
    /// Its id.
    pub id: MessageId,
    /// When the message was written.
    pub created: Timestamp,
    /// Who wrote the message.
    pub provenance: String,
    /// The metadata given with the message.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Its nodes, in the order of the text.
    pub chunks: Vec<NodeId>,
    /// The whole text of the message.
    pub text: String,
}

/// An edge of a [`Note`], as in [`Edge`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteEdge {
    /// The target of the edge.
    pub to: NodeId,
    /// Kind of the edge.
    pub kind: EdgeKind,
    /// Strength, 0 to 1, or the weight of an associative edge as of `touched`.
    pub strength: f64,
    /// When the edge was created.
    pub created: Timestamp,
    /// When the strength was last written.
    pub touched: Timestamp,
    /// Who created the edge.
    pub provenance: String,
    /// Why the edge exists; for a keyword edge the shared keywords.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A visit of a [`Note`], as in [`Visit`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteVisit {
    /// The agent.
    pub agent: String,
    /// When the agent visited the node.
    pub at: Timestamp,
    /// What the agent did with the node.
    pub outcome: VisitOutcome,
    /// The version of the node that the agent saw, from 1.
    pub version: u32,
}

impl NoteEdge {
    /// The edges from a node to nodes that are in `view`, by kind and target.
    fn all<R: Records + ?Sized>(records: &R, view: &View, id: NodeId) -> Result<Vec<NoteEdge>> {
        let mut edges: Vec<NoteEdge> = records
            .outgoing_edges(id)?
            .into_iter()
            .filter(|edge| view.find(edge.dst).is_some())
            .map(|edge| NoteEdge {
                to: edge.dst,
                kind: edge.kind,
                strength: edge.strength,
                created: edge.created,
                touched: edge.touched,
                provenance: edge.provenance,
                reason: edge.reason,
            })
            .collect();
        edges.sort_by_key(|edge| (edge.kind, edge.to));
        Ok(edges)
    }
}

impl NoteVisit {
    /// The visits of a node, by agent.
    fn all<R: Records + ?Sized>(records: &R, id: NodeId) -> Result<Vec<NoteVisit>> {
        let mut visits: Vec<NoteVisit> = records
            .visits(id)?
            .into_iter()
            .map(|(agent, visit)| NoteVisit {
                agent,
                at: visit.at,
                outcome: visit.outcome,
                version: visit.version,
            })
            .collect();
        visits.sort_by(|a, b| a.agent.cmp(&b.agent));
        Ok(visits)
    }
}

impl Note {
    /// Reads the note of a stored node; edges to nodes that are not in `view` are left out.
    pub fn read<R: Records + ?Sized>(records: &R, view: &View, id: NodeId) -> Result<Option<Note>> {
        let Some(node) = records.node(id)? else { return Ok(None) };
        let born = || Activity::initial(node.created);
        let activity = records.activity(id)?.unwrap_or_else(born);
        let message = match message::of(records, id, node.source.as_deref())? {
            Some((_, message)) if first_of(records, view, &message)? == Some(id) => {
                Some(NoteMessage::of(message)?)
            }
            _ => None,
        };
        Ok(Some(Note {
            schema_version: SCHEMA_VERSION,
            id,
            key: node.key,
            aliases: node.aliases,
            other_names: node.other_names,
            title: node.title,
            node_type: node.node_type,
            category: node.category,
            keywords: node.keywords,
            provenance: node.provenance,
            trust: node.trust,
            author: node.author,
            source: node.source,
            emotion: node.emotion,
            created: node.created,
            modified: node.modified,
            expires: node.expires,
            state: node.state,
            origin: node.origin,
            version: node.version,
            weight: activity.weight,
            touched: activity.touched,
            accesses: activity.accesses,
            replay_interval: activity.replay_interval,
            replayed: activity.replayed,
            edges: NoteEdge::all(records, view, id)?,
            visits: NoteVisit::all(records, id)?,
            message,
            frames: MarkdownFrame::all(records, id)?,
            body: node.body,
        }))
    }

    /// The node of this note in the memory of a tenant.
    pub fn node(&self, tenant: Tenant) -> Node {
        let mut node = Node {
            id: self.id,
            tenant,
            key: self.key.clone(),
            title: self.title.clone(),
            body: self.body.clone(),
            node_type: self.node_type.clone(),
            category: self.category,
            keywords: self.keywords.clone(),
            provenance: self.provenance.clone(),
            trust: self.trust,
            author: self.author.clone(),
            source: self.source.clone(),
            emotion: self.emotion,
            created: self.created,
            modified: self.modified,
            expires: self.expires,
            state: self.state,
            origin: self.origin,
            content_hash: [0; 32],
            version: self.version,
            aliases: self.aliases.clone(),
            other_names: self.other_names.clone(),
        };
        node.content_hash = node.hash();
        node
    }

    /// Its activity.
    pub fn activity(&self) -> Activity {
        Activity {
            weight: self.weight,
            touched: self.touched,
            accesses: self.accesses,
            replay_interval: self.replay_interval,
            replayed: self.replayed,
            judged: None,
        }
    }

    /// Its visits.
    pub fn visits(&self) -> impl Iterator<Item = (&str, Visit)> {
        self.visits.iter().map(|visit| {
            (visit.agent.as_str(), Visit { at: visit.at, outcome: visit.outcome, version: visit.version })
        })
    }

    /// Checks that a store could have written this note.
    pub(super) fn check(&self, config: &Config) -> Result<()> {
        let wrong = |field: &str, what: String| {
            Err(Error::invalid(what)
                .hint("only `poc-memory export` writes notes with `schema_version`: leave it out of your own")
                .field(field))
        };
        if key::checked(&self.key)? != self.key {
            return wrong("key", format!("the key {:?} is not trimmed and in NFC", self.key));
        }
        let mut names = HashSet::from([self.key.as_str()]);
        for alias in &self.aliases {
            if key::checked(alias)? != *alias || !names.insert(alias) {
                return wrong("aliases", format!("{alias:?} is not a former key"));
            }
        }
        if self.aliases.len() > MAX_ALIASES {
            return wrong("aliases", format!("a note has at most {MAX_ALIASES} former keys"));
        }
        if key::other_names(&self.other_names) != self.other_names {
            return wrong("other_names", "the other names are not in their stored form".into());
        }
        if keyword_normalization::normalize(&self.keywords)? != self.keywords {
            return wrong("keywords", "the keywords are not normalised".into());
        }
        if self.title.is_empty() || self.title.contains('\n') {
            return wrong("title", "the title is not one line of text".into());
        }
        if !(0.0..=EMOTION_MAX).contains(&self.emotion) {
            return wrong("emotion", format!("an emotion of {} is not within 0 to 10", self.emotion));
        }
        if !self.weight.is_finite() || self.weight < 0.0 {
            return wrong("weight", format!("a weight of {} is out of range", self.weight));
        }
        if self.version == 0 {
            return wrong("version", "versions count from 1".into());
        }
        for edge in &self.edges {
            let max = if edge.kind.is_associative() { f64::MAX } else { 1.0 };
            if !(0.0..=max).contains(&edge.strength) {
                return wrong("edges", format!("a strength of {} is out of range", edge.strength));
            }
            if edge.to == self.id {
                return wrong("edges", "an edge leads from the note to itself".into());
            }
        }
        if self.visits.iter().any(|visit| visit.agent.is_empty()) {
            return wrong("visits", "a visit names no agent".into());
        }
        if let Some(message) = &self.message {
            let of = ChunkRef::from_source(self.source.as_deref());
            if of.is_none_or(|of| of.message != message.id) || !message.chunks.contains(&self.id) {
                return wrong("message", "the note is not a chunk of its message".into());
            }
            if message.text.trim().is_empty() {
                return wrong("message", "the message is blank".into());
            }
        }
        draft::known_type(&self.node_type.0, config)?;
        draft::check_size(&self.title, &self.body, &self.keywords, config.insert.max_node_bytes)
    }
}

/// The first node that still is a chunk of a message: others may have been deleted or have another source.
fn first_of<R: Records + ?Sized>(records: &R, view: &View, message: &Message) -> Result<Option<NodeId>> {
    for &chunk in message.chunks.iter().filter(|&&chunk| view.find(chunk).is_some()) {
        let source = records.node(chunk)?.and_then(|node| node.source);
        if ChunkRef::from_source(source.as_deref()).is_some_and(|of| of.message == message.id) {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

impl NoteMessage {
    fn of(message: Message) -> Result<NoteMessage> {
        Ok(NoteMessage {
            id: message.id,
            created: message.created,
            provenance: message.provenance,
            metadata: message::metadata(&message.metadata)?,
            chunks: message.chunks,
            text: message.text,
        })
    }

    /// The message.
    pub fn message(&self) -> Message {
        Message {
            id: self.id,
            text: self.text.clone(),
            metadata: Value::Object(self.metadata.clone()).to_string(),
            created: self.created,
            provenance: self.provenance.clone(),
            chunks: self.chunks.clone(),
        }
    }
}

impl NoteEdge {
    /// The edge, starting at `src`.
    pub fn edge(&self, src: NodeId) -> Edge {
        Edge {
            src,
            dst: self.to,
            kind: self.kind,
            strength: self.strength,
            created: self.created,
            touched: self.touched,
            provenance: self.provenance.clone(),
            reason: self.reason.clone(),
        }
    }
}
