//! A request for a model under test.

use crate::agent::definition::ActionKind;
use crate::agent::model::{CancellationToken, Request};
use crate::agent::selection::Selection;
use crate::chance::SeededChance;
use crate::config::Config;
use crate::graph::View;
use crate::index::TextIndex;
use crate::time::{Span, Timestamp};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Everything a [`Request`] borrows.
pub(crate) struct TestRequest {
    pub(crate) agent: String,
    pub(crate) selection: Selection,
    pub(crate) text: TextIndex,
    pub(crate) actions: Vec<ActionKind>,
    pub(crate) stable: usize,
    pub(crate) corrections: Vec<(String, String)>,
    pub(crate) schema: Value,
    pub(crate) timeout: Span,
    pub(crate) attempts: u32,
    pub(crate) now: Timestamp,
    pub(crate) cancellation: CancellationToken,
    pub(crate) chance: SeededChance,
}

impl TestRequest {
    pub(crate) fn new(agent: &str) -> TestRequest {
        TestRequest {
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
            cancellation: CancellationToken::new(),
            chance: SeededChance::new(1),
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
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
            cancellation: &self.cancellation,
            began: &|_| {},
        }
    }
}
