//! Nodes: a node is one note. Its usage statistics are stored separately.

use super::id::NodeId;
use super::message::ChunkRef;
use super::provenance;
use super::tenant::Tenant;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a note: one of [`NodeType::BUILT_IN`] or one from the settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeType(pub String);

impl NodeType {
    /// The type of notes about an event, such as a message or a session.
    pub const EPISODIC: &str = "episodic";

    /// The type of questions that are answered by the notes they are derived from.
    pub const QUESTION: &str = "question";

    /// The types that every store supports.
    pub const BUILT_IN: [&str; 6] =
        [NodeType::EPISODIC, "daily", "weekly", "monthly", NodeType::DEFAULT, NodeType::QUESTION];

    /// The default type of a note.
    pub const DEFAULT: &str = "semantic";

    /// Whether a type describes an event or a period: a message, a session, a day, a week or a month.
    pub fn is_episodic_kind(name: &str) -> bool {
        ![NodeType::DEFAULT, NodeType::QUESTION].contains(&name) && NodeType::BUILT_IN.contains(&name)
    }
}

impl Default for NodeType {
    fn default() -> Self {
        NodeType(NodeType::DEFAULT.into())
    }
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The name used on all surfaces and in JSON.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// The value with this name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(super) use named;

named!(
    /// How fast a note loses weight: the category scales its decay.
    Category {
        /// Never decays.
        Core = "core",
        /// Everyday notes, with the default rate of decay.
        General = "general",
        /// How something works.
        Technical = "technical",
        /// Something observed once.
        Observation = "observation",
        /// Something to do.
        Task = "task",
    }
);

named!(
    /// The lifecycle state of a note.
    State {
        /// In use; the initial state.
        Active = "active",
        /// In use, but an agent or a person marked it as doubtful.
        Stale = "stale",
        /// Replaced by another note. Excluded from retrieval but kept in history.
        Superseded = "superseded",
        /// Past its expiry time. Excluded from retrieval.
        Expired = "expired",
    }
);

impl State {
    /// Whether searches and graph algorithms include nodes in this state.
    pub fn is_live(self) -> bool {
        matches!(self, State::Active | State::Stale)
    }
}

named!(
    /// How far a text may be relied on. Derived notes get the lowest trust of their sources.
    Trust {
        /// Excluded from every prompt until a person reviews it.
        Quarantined = "quarantined",
        /// From an external source: an imported file or fetched text.
        External = "external",
        /// Written by an agent.
        Agent = "agent",
        /// Written by the user.
        User = "user",
        /// Permanently confirmed by the user.
        Pinned = "pinned",
    }
);

named!(
    /// Which store a node was created in.
    Origin {
        /// Created here and not yet copied to the remote store.
        Local = "local",
        /// Pulled from a remote store.
        Remote = "remote",
        /// Created here and copied to the remote store.
        Pushed = "pushed",
    }
);

/// A note with its metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The permanent id of the node.
    pub id: NodeId,
    /// The tenant that owns the node.
    pub tenant: Tenant,
    /// The readable name, unique within the tenant.
    pub key: String,
    /// The title, a single line.
    pub title: String,
    /// The text of the note in Markdown.
    pub body: String,
    /// The type of the note.
    pub node_type: NodeType,
    /// The category, which scales the decay.
    pub category: Category,
    /// The keywords, normalised (trimmed, lower case, NFC), sorted and without duplicates.
    pub keywords: Vec<String>,
    /// Who created the note: `manual`, `import:FILE`, `agent:NAME`, or any text with an optional part after `:`.
    pub provenance: String,
    /// The trust level of the text.
    pub trust: Trust,
    /// The author, if known.
    pub author: Option<String>,
    /// The origin of the text: a URL, a file or a ticket.
    pub source: Option<String>,
    /// Emotional intensity, 0 (none) to 10.
    pub emotion: f32,
    /// When the note was first stored.
    pub created: Timestamp,
    /// When the text or state last changed. Learning does not change it; it only updates the activity.
    pub modified: Timestamp,
    /// When the note expires; `None` if it never does.
    pub expires: Option<Timestamp>,
    /// The lifecycle state.
    pub state: State,
    /// The store that created the note.
    pub origin: Origin,
    /// The hash of the content, from [`Node::hash`].
    pub content_hash: [u8; 32],
    /// The version number: 1 for a new note, plus one for each change. Compare-and-set requests refer to it.
    pub version: u32,
    /// The former keys of the note, oldest first, at most [`MAX_ALIASES`](crate::MAX_ALIASES). They still identify the
    /// note; no other note of the tenant has one of them as its key or alias.
    pub aliases: Vec<String>,
    /// Other names of the note, such as `aliases` in the front matter of its file, at most
    /// [`MAX_ALIASES`](crate::MAX_ALIASES). Several notes may have the same one, and keys take precedence.
    pub other_names: Vec<String>,
}

/// The BLAKE3 hash of the title, NUL, the body, NUL and the sorted keywords joined by `,`.
pub fn content_hash(title: &str, body: &str, keywords: &[String]) -> [u8; 32] {
    let mut sorted: Vec<&str> = keywords.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    hasher.update(title.as_bytes()).update(b"\0").update(body.as_bytes()).update(b"\0");
    hasher.update(sorted.join(",").as_bytes());
    *hasher.finalize().as_bytes()
}

/// The beginning of the key of a confirmed question.
const QUESTION_PREFIX: &str = "question-";
/// The beginning of the key of a quotation.
const QUOTATION_PREFIX: &str = "quote-";
/// The number of hexadecimal digits that follow it.
const KEY_DIGITS: usize = 12;

/// A key of a prefix and the first digits of a content hash. It has no words of the note, which would match questions a
/// second time.
fn content_key(prefix: &str, content_hash: &[u8; 32]) -> String {
    let bytes = content_hash.iter().take(KEY_DIGITS / 2);
    let digits: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{digits}")
}

/// Whether a key is a [`content_key`] with this prefix, also one with a number that makes it unique.
fn is_content_key(prefix: &str, key: &str) -> bool {
    let rest = key.strip_prefix(prefix).and_then(|rest| rest.split_at_checked(KEY_DIGITS));
    rest.is_some_and(|(digits, number)| {
        digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            && (number.is_empty() || number.starts_with('-'))
    })
}

/// Precedes the question in the title of a quotation.
const ASKED: &str = ", asked “";

/// The title of a quotation: who said it, on which day, and the question that it answers.
pub fn quotation_title(speaker: &str, day: Option<&str>, question: Option<&str>) -> String {
    let day = day.map(|day| format!(", {day}")).unwrap_or_default();
    let question = question.map(|question| format!("{ASKED}{question}”")).unwrap_or_default();
    format!("{speaker}{day}{question}")
}

/// The key of a quotation: a derived note that repeats text of its source, and nothing else. It only helps to find the
/// source.
pub fn quotation_key(title: &str, body: &str) -> String {
    content_key(QUOTATION_PREFIX, &content_hash(title, body, &[]))
}

impl Node {
    /// The key, then the aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.key).chain(&self.aliases).map(String::as_str)
    }

    /// The key of a confirmed question with this content.
    pub fn question_key(&self) -> String {
        content_key(QUESTION_PREFIX, &self.content_hash)
    }

    /// Whether a key is a [`Node::question_key`], also one with a number that makes it unique.
    pub fn is_question_key(key: &str) -> bool {
        is_content_key(QUESTION_PREFIX, key)
    }

    /// Whether it is a quotation, if it was derived from another note: an agent wrote it, and it has a
    /// [`quotation_key`].
    pub fn is_quotation(&self) -> bool {
        provenance::is_agent(&self.provenance) && Node::is_quotation_key(&self.key)
    }

    /// The question in the title of a quotation ([`quotation_title`]). It is text of the note before its source.
    pub fn answered_question(&self) -> Option<&str> {
        self.title.split_once(ASKED).filter(|_| self.is_quotation())?.1.strip_suffix('”')
    }

    /// Whether a key is a [`quotation_key`], also one with a number that makes it unique.
    pub fn is_quotation_key(key: &str) -> bool {
        is_content_key(QUOTATION_PREFIX, key)
    }

    /// The title and the body, separated by a line break.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.title, self.body)
    }

    /// The hash that identifies the content: [`content_hash`] of title, body and keywords. Chunks of
    /// messages also hash their source, because two messages with the same text are distinct.
    pub fn hash(&self) -> [u8; 32] {
        let content = content_hash(&self.title, &self.body, &self.keywords);
        match ChunkRef::from_source(self.source.as_deref()) {
            None => content,
            Some(chunk) => *blake3::Hasher::new()
                .update(&content)
                .update(chunk.to_string().as_bytes())
                .finalize()
                .as_bytes(),
        }
    }
}

/// The usage statistics of a node. They are stored separately, so that learning does not count as an edit of the note.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The weight at the time `touched`, from which it decays; 0.01–100, initially [`Activity::INITIAL_WEIGHT`].
    pub weight: f64,
    /// When the weight was last written.
    pub touched: Timestamp,
    /// The number of times the note was used.
    pub accesses: u64,
    /// Interval of spaced repetition in days: one of [`Activity::REPLAY_DAYS`], or 0 before the first replay.
    pub replay_interval: u16,
    /// When the note was last replayed; `None` if never.
    pub replayed: Option<Timestamp>,
    /// When the note last got feedback. Creation, search hits and recalls are not feedback.
    pub judged: Option<Timestamp>,
}

impl Activity {
    /// The days between two replays of a note, shortest first. The last interval repeats.
    pub const REPLAY_DAYS: [u16; 5] = [1, 3, 7, 14, 30];

    /// The weight of a new node that was not given one.
    pub const INITIAL_WEIGHT: f64 = 1.0;

    /// The activity of a node created at `now` that was not given a weight.
    pub fn initial(now: Timestamp) -> Self {
        Activity::new(now, Activity::INITIAL_WEIGHT)
    }

    /// The activity of a node created at `now` with `weight`.
    pub fn new(now: Timestamp, weight: f64) -> Self {
        Activity { weight, touched: now, accesses: 0, replay_interval: 0, replayed: None, judged: None }
    }
}
