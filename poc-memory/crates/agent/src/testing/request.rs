//! A request for a model under test.

use crate::definition::ActionKind;
use crate::model::{RejectedReply, Request};
use crate::selection::Selection;
use poc_config::Config;
use poc_graph::View;
use poc_graph::cancellation::CancellationToken;
use poc_graph::rng::SeededRng;
use poc_graph::time::{Span, Timestamp};
use poc_index::TextIndex;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Everything a [`Request`] borrows.
pub struct TestRequest {
    pub agent: String,
    pub selection: Selection,
    pub text: TextIndex,
    pub actions: Vec<ActionKind>,
    pub stable: usize,
    pub corrections: Vec<RejectedReply>,
    pub schema: Value,
    pub timeout: Span,
    pub attempts: u32,
    pub attended: bool,
    pub now: Timestamp,
    pub cancellation: CancellationToken,
    pub rng: SeededRng,
}

impl TestRequest {
    pub fn new(agent: &str) -> TestRequest {
        TestRequest {
            agent: agent.into(),
            selection: Selection {
                view: Arc::new(View::new()),
                handles: Vec::new(),
                pairs: Vec::new(),
                partners: std::collections::HashMap::new(),
                shown_beside_partners: std::collections::HashSet::new(),
                sessions: std::collections::HashMap::new(),
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
            attended: false,
            now: Timestamp(0),
            cancellation: CancellationToken::new(),
            rng: SeededRng::new(1),
        }
    }

    pub fn request(&self) -> Request<'_> {
        Request {
            selection: &self.selection,
            text: &self.text,
            actions: &self.actions,
            shows_derived: false,
            only_quotations: false,
            max_chars: 4000,
            agent: &self.agent,
            system: "the system",
            prompt: "the prompt",
            stable: self.stable,
            corrections: &self.corrections,
            schema: &self.schema,
            timeout: self.timeout,
            attempts: self.attempts,
            attended: self.attended,
            now: self.now,
            rng: &self.rng,
            cancellation: &self.cancellation,
            on_child_process: &|_| {},
        }
    }
}
