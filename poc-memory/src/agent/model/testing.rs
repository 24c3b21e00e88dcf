//! A turn to put to a model under test.

use super::{Request, Stop};
use crate::agent::definition::ActionKind;
use crate::agent::selection::Selection;
use crate::chance::SeededChance;
use crate::config::{Config, Provider, ProviderKind};
use crate::graph::View;
use crate::index::TextIndex;
use crate::time::{Span, Timestamp};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A provider of which nothing is said.
pub(super) fn provider(kind: ProviderKind) -> Provider {
    Provider {
        kind,
        base_url: None,
        key_env: None,
        key_file: None,
        command: None,
        env: None,
        replies: None,
        tokenizer: None,
        temperature: None,
        max_tokens: None,
        threads: None,
        concurrency: None,
    }
}

/// Everything a [`Request`] borrows.
pub(super) struct Turn {
    pub(super) agent: String,
    pub(super) selection: Selection,
    pub(super) text: TextIndex,
    pub(super) actions: Vec<ActionKind>,
    pub(super) stable: usize,
    pub(super) corrections: Vec<(String, String)>,
    pub(super) schema: Value,
    pub(super) timeout: Span,
    pub(super) attempts: u32,
    pub(super) now: Timestamp,
    pub(super) stop: Stop,
    pub(super) chance: SeededChance,
}

impl Turn {
    pub(super) fn new(agent: &str) -> Turn {
        Turn {
            agent: agent.into(),
            selection: Selection {
                view: Arc::new(View::new()),
                handles: Vec::new(),
                pairs: Vec::new(),
                read: Vec::new(),
            },
            text: TextIndex::open(Path::new("/nonexistent"), &Config::defaults().unwrap().text).unwrap(),
            actions: vec![ActionKind::LinkAdd],
            stable: 0,
            corrections: Vec::new(),
            schema: json!({
                "type": "object",
                "properties": {"notes": {"type": "string"}},
                "required": ["notes"],
                "additionalProperties": false,
            }),
            timeout: Span::MINUTE,
            attempts: 4,
            now: Timestamp(0),
            stop: Stop::new(),
            chance: SeededChance::new(1),
        }
    }

    pub(super) fn request(&self) -> Request<'_> {
        Request {
            selection: &self.selection,
            text: &self.text,
            actions: &self.actions,
            max_chars: 4000,
            agent: &self.agent,
            system: "the system",
            prompt: "the prompt",
            stable: self.stable,
            corrections: &self.corrections,
            schema: &self.schema,
            timeout: self.timeout,
            attempts: self.attempts,
            now: self.now,
            chance: &self.chance,
            stop: &self.stop,
            began: &|_| {},
        }
    }
}
