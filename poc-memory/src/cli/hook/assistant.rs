//! The messages of hooks in the form of Claude Code, which Codex shares.

use crate::ops::HookEvent;
use poc_graph::error::{Error, Result};
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;

/// The message of an assistant to a hook. Unknown fields are ignored, and every field may be absent.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(super) struct AssistantInput {
    #[serde(default)]
    pub(super) session_id: String,
    #[serde(default)]
    pub(super) transcript_path: Option<PathBuf>,
    #[serde(default)]
    pub(super) cwd: Option<PathBuf>,
    #[serde(default)]
    pub(super) prompt: Option<String>,
    /// How a session starts.
    #[serde(default)]
    pub(super) source: Option<String>,
    /// Set if a subagent calls the hook.
    #[serde(default)]
    pub(super) agent_id: Option<String>,
}

impl AssistantInput {
    /// Reads the message.
    ///
    /// # Errors
    /// `invalid_argument` when it is not a JSON object with these fields.
    pub(super) fn read(text: &[u8]) -> Result<AssistantInput> {
        if text.trim_ascii().is_empty() {
            return Err(Error::invalid("the assistant's message is empty")
                .hint("an assistant calls this command; `poc-memory setup` registers it"));
        }
        serde_json::from_slice(text)
            .map_err(|error| Error::invalid(format!("the assistant's message cannot be read: {error}")))
    }
}

/// The answer that adds a text to the conversation. Only hooks of these two events may add one.
pub(super) fn answer(event: HookEvent, context: &str) -> String {
    let name = match event {
        HookEvent::SessionStart => "SessionStart",
        HookEvent::Prompt => "UserPromptSubmit",
        HookEvent::PreCompact | HookEvent::Stop | HookEvent::SessionEnd | HookEvent::Tool => {
            return String::new();
        }
    };
    json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": context } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_assistants_are_read() {
        let claude =
            br#"{"session_id": "2131b8f6", "transcript_path": "/home/ann/t.jsonl", "cwd": "/home/ann/proj",
            "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": "When?"}"#;
        let read = AssistantInput::read(claude).unwrap();
        assert_eq!((read.session_id.as_str(), read.prompt.as_deref()), ("2131b8f6", Some("When?")));
        // Codex has no transcript in an ephemeral session.
        let codex = br#"{"session_id": "01a2", "turn_id": "7", "transcript_path": null, "cwd": "/p", "source": "startup"}"#;
        let read = AssistantInput::read(codex).unwrap();
        assert_eq!((read.transcript_path, read.source.as_deref()), (None, Some("startup")));
        assert!(AssistantInput::read(b" \n").unwrap_err().message.contains("empty"));
        assert!(AssistantInput::read(b"{").unwrap_err().message.contains("cannot be read"));
    }

    #[test]
    fn an_answer_names_its_event() {
        insta::assert_snapshot!(
            answer(HookEvent::Prompt, "two\nlines"),
            @r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"two\nlines"}}"#
        );
        assert_eq!(answer(HookEvent::Stop, "x"), "");
    }
}
