//! The sections of the hooks of assistants and of their transcripts.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// What the hooks of assistants add to a conversation.
    HooksConfig {
        /// Which notes they add.
        scope: HookScope,
        /// How sure `query` must be that there is a note on what was typed.
        gate: HookGate,
        /// Maximum number of notes for a prompt; 0 for none.
        notes: usize,
        /// Maximum number of characters of a note.
        note_chars: usize,
        /// Maximum number of characters for a prompt.
        prompt_chars: usize,
        /// Maximum number of characters at the start of a session; 0 for nothing.
        start_chars: usize,
    }
);

/// Which notes hooks add to a conversation in the folder of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookScope {
    /// Only those of the project.
    Project,
    /// Those of the project first, then those of no project.
    Person,
    /// Those of the project first, then all others.
    All,
}

/// The minimum verdict of `query` for which the hook of a prompt adds notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookGate {
    /// STRONG.
    Strong,
    /// WEAK.
    Weak,
}

section!(
    /// The transcripts of assistants.
    TranscriptsConfig {
        /// Whether the daemon captures all sessions in `folders`. It always captures sessions whose hooks call it.
        follow: bool,
        /// Where assistants keep the transcripts of their sessions: absolute, or below the home folder as `~/…`.
        folders: Vec<String>,
        /// Transcripts that have not changed for this long are not captured. `import` takes them.
        max_age: Span,
        /// A transcript is captured when it has not changed for this long.
        quiet: Span,
    }
);
