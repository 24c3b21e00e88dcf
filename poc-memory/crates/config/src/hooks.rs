//! The sections for assistants' hooks and transcripts.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// Hooks of assistants, which add notes to a conversation.
    HooksConfig {
        /// Which notes hooks add in the folder of a project.
        scope: HookScope,
        /// The minimum verdict of `query` on the prompt for which a hook adds notes.
        gate: HookGate,
        /// Maximum number of notes added to a prompt; 0 for none.
        notes: usize,
        /// Maximum number of characters per note.
        note_chars: usize,
        /// Maximum number of characters added to a prompt.
        prompt_chars: usize,
        /// Maximum number of characters added at the start of a session; 0 for none.
        start_chars: usize,
    }
);

/// Which notes hooks add to a conversation that takes place in the folder of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookScope {
    /// Only notes of the project.
    Project,
    /// Notes of the project first, then notes without a project.
    Person,
    /// Notes of the project first, then all others.
    All,
}

/// The minimum verdict of `query` for which the prompt hook adds notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookGate {
    /// Only for STRONG.
    Strong,
    /// For STRONG and WEAK.
    Weak,
}

section!(
    /// The transcripts of assistants.
    TranscriptsConfig {
        /// Whether the daemon captures all sessions in `folders`. Sessions whose hooks call the daemon are always
        /// captured.
        follow: bool,
        /// The folders of assistants' transcripts: absolute, or below the home folder as `~/…`.
        folders: Vec<String>,
        /// Transcripts that have been unchanged for longer are not captured automatically; `import` accepts them.
        max_age: Span,
        /// How long a transcript must be unchanged before it is captured.
        quiet: Span,
        /// Whether secrets in sessions (keys, tokens, private keys, passwords) are stored, as with
        /// `import --allow-secrets`; otherwise each is replaced by its kind.
        allow_secrets: bool,
    }
);
