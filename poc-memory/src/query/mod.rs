//! The pipeline language. It sees a [`View`] and the indexes, takes no lock and cannot write.

use crate::config::Config;
use crate::embed::Embedder;
use crate::error::Result;
use crate::graph::{Ix, View};
use crate::index::{TextIndex, VectorIndex};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a pipeline reads.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The graph.
    pub view: &'a View,
    /// Words.
    pub text: &'a TextIndex,
    /// Vectors.
    pub vectors: &'a VectorIndex,
    /// Turns the texts of a pipeline into vectors.
    pub embedder: &'a dyn Embedder,
    /// The settings.
    pub config: &'a Config,
    /// The instant the pipeline runs at.
    pub now: Timestamp,
    /// Whether a visit counts only for the version it saw, so that a node edited since counts as
    /// not visited.
    pub revisit_on_change: bool,
}

/// A node with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The node.
    pub ix: Ix,
    /// The score.
    pub score: f64,
}

/// Two nodes that are alike in text but live in different communities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The node with the smaller index.
    pub a: Ix,
    /// The other.
    pub b: Ix,
    /// Their similarity, 0–1.
    pub similarity: f64,
}

/// What a stage takes and returns.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// The nodes, in order.
    pub items: Vec<Scored>,
    /// The pairs a generator found; only pairs whose members are both in `items` count.
    pub pairs: Vec<Pair>,
}

/// What one stage did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageReport {
    /// The stage as written.
    pub stage: String,
    /// `generator`, `filter`, `transform` or `algorithm`.
    pub kind: String,
    /// What it does, in words.
    pub does: String,
    /// Nodes that went in.
    #[serde(rename = "in")]
    pub taken: usize,
    /// Nodes that came out.
    #[serde(rename = "out")]
    pub given: usize,
    /// Time in microseconds.
    pub micros: f64,
    /// Whether derived structure was fresh or computed now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a whole pipeline did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Stage by stage.
    pub stages: Vec<StageReport>,
    /// Time in microseconds.
    pub total_micros: f64,
}

/// A checked pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {}

impl Pipeline {
    /// Parses and checks a pipeline as written in an agent file.
    pub fn parse(_text: &str) -> Result<Pipeline> {
        todo!()
    }

    /// Parses and checks the command line's form: free terms, then `-p` stages. Terms become an
    /// implicit `match:` in front.
    pub fn from_parts(_terms: &[String], _stages: &[String]) -> Result<Pipeline> {
        todo!()
    }

    /// The duration of a `not-visited:AGENT,DURATION` stage for this agent, if it has one.
    pub fn not_visited(&self, _agent: &str) -> Option<Option<crate::time::Span>> {
        todo!()
    }

    /// Runs it.
    pub fn run(&self, _sources: &Sources<'_>) -> Result<(ResultSet, Explanation)> {
        todo!()
    }
}

impl std::fmt::Display for Pipeline {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
