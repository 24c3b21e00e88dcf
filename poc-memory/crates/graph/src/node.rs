//! The node: one note, and the activity kept beside it.

use super::id::NodeId;
use super::message::ChunkRef;
use super::tenant::Tenant;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of note a node is: a built-in one or one from the settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeType(pub String);

impl NodeType {
    /// The type of a note that records an occasion, such as a message or a session.
    pub const EPISODIC: &str = "episodic";

    /// The type of a question that was answered by the notes it is derived from.
    pub const QUESTION: &str = "question";

    /// The types every store knows.
    pub const BUILT_IN: [&str; 6] =
        [NodeType::EPISODIC, "daily", "weekly", "monthly", NodeType::DEFAULT, NodeType::QUESTION];

    /// The default type of a note.
    pub const DEFAULT: &str = "semantic";

    /// Whether notes of a type describe an episode or a period: a message, a session, a day, a week or a month.
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

            /// The name people and JSON use.
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
    /// How fast a node fades: the category scales its decay.
    Category {
        /// Never fades.
        Core = "core",
        /// Everyday notes.
        General = "general",
        /// How things work.
        Technical = "technical",
        /// Something seen once.
        Observation = "observation",
        /// Something to do.
        Task = "task",
    }
);

named!(
    /// Where a node is in its life.
    State {
        /// In use.
        Active = "active",
        /// In use, but an agent or a person doubts it.
        Stale = "stale",
        /// Replaced by another node; out of retrieval, kept in history.
        Superseded = "superseded",
        /// Past its date; out of retrieval.
        Expired = "expired",
    }
);

impl State {
    /// Whether searches and algorithms see a node in this state.
    pub fn is_live(self) -> bool {
        matches!(self, State::Active | State::Stale)
    }
}

named!(
    /// How far a text may be relied on. What is derived has the least trust of its sources.
    Trust {
        /// Kept away from every prompt until a person looks at it.
        Quarantined = "quarantined",
        /// From outside: imported files, fetched text.
        External = "external",
        /// Written by an agent.
        Agent = "agent",
        /// Written by the user.
        User = "user",
        /// Confirmed by the user for good.
        Pinned = "pinned",
    }
);

named!(
    /// Which store a node was created in.
    Origin {
        /// Here, and nowhere else yet.
        Local = "local",
        /// Pulled from a remote store.
        Remote = "remote",
        /// Created here and copied to the remote store.
        Pushed = "pushed",
    }
);

/// One note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The permanent id of the node.
    pub id: NodeId,
    /// The tenant that owns the node.
    pub tenant: Tenant,
    /// The name people use, unique within the tenant.
    pub key: String,
    /// The title, one line.
    pub title: String,
    /// The text, in Markdown.
    pub body: String,
    /// The kind of note.
    pub node_type: NodeType,
    /// The category, which scales the decay.
    pub category: Category,
    /// Normalised (trimmed, lower case, NFC), in order, without repeats.
    pub keywords: Vec<String>,
    /// Who made it: `manual`, `import:FILE`, `agent:NAME`, or any text with an optional part after `:`.
    pub provenance: String,
    /// The trust level of the text.
    pub trust: Trust,
    /// The author, if known.
    pub author: Option<String>,
    /// Where it came from: a URL, a file, a ticket.
    pub source: Option<String>,
    /// Emotional intensity, from 0 (none) to 10.
    pub emotion: f32,
    /// When it was first stored.
    pub created: Timestamp,
    /// When its text or state last changed. Learning changes the activity only.
    pub modified: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// The lifecycle state.
    pub state: State,
    /// The store that created it.
    pub origin: Origin,
    /// [`Node::hash`] of the text.
    pub content_hash: [u8; 32],
    /// The number of changes, starting at 1; the token for compare-and-set.
    pub version: u32,
    /// Its former keys, oldest first, at most [`MAX_ALIASES`](crate::MAX_ALIASES). They name the node as its key
    /// does; no other node of the tenant has one of them as key or alias.
    pub aliases: Vec<String>,
}

/// BLAKE3 of title, NUL, body, NUL, the sorted keywords joined by `,`.
pub fn content_hash(title: &str, body: &str, keywords: &[String]) -> [u8; 32] {
    let mut sorted: Vec<&str> = keywords.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    hasher.update(title.as_bytes()).update(b"\0").update(body.as_bytes()).update(b"\0");
    hasher.update(sorted.join(",").as_bytes());
    *hasher.finalize().as_bytes()
}

impl Node {
    /// Its key, then its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.key).chain(&self.aliases).map(String::as_str)
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
            Some(of) => *blake3::Hasher::new()
                .update(&content)
                .update(of.to_string().as_bytes())
                .finalize()
                .as_bytes(),
        }
    }
}

/// The usage statistics of a node. They are stored separately, so learning does not count as an edit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The weight at `touched`, from which it decays; initially 1.0, from 0.01 to 100.
    pub weight: f64,
    /// When the weight was last written.
    pub touched: Timestamp,
    /// How often the node was used.
    pub accesses: u64,
    /// Spaced-repetition interval in days: one of [`Activity::LADDER`]; 0 before the first replay.
    pub replay_interval: u16,
    /// When it was last replayed.
    pub replayed: Option<Timestamp>,
    /// The time of the last feedback. Creation, search hits and recalls are not feedback.
    pub judged: Option<Timestamp>,
}

impl Activity {
    /// Days between two replays of a node, shortest first; the last one repeats.
    pub const LADDER: [u16; 5] = [1, 3, 7, 14, 30];

    /// The activity of a node created at `now` with `weight`.
    pub fn new(now: Timestamp, weight: f64) -> Self {
        Activity { weight, touched: now, accesses: 0, replay_interval: 0, replayed: None, judged: None }
    }
}
