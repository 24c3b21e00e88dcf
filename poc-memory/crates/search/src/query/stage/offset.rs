//! `offset:N`: all but the first N.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};

pub(super) const STAGE: StageDef = StageDef {
    word: "offset",
    params: &[Param {
        name: "N",
        position: ParamPosition::Colon,
        value_type: ParamType::Count(0, usize::MAX),
        presence: Presence::Required,
        doc: "the number of notes to skip",
    }],
    doc: "Skips the first N notes",
    more: "Followed by `limit:N`, it selects a page of a result.",
    example: Example { pipeline: "all | offset:1 | limit:2", output: &["wal", "session#1"] },
    describe: |call| format!("all but the first {}", call.count("N").unwrap_or_default()),
    implementation: StageImplementation::Cut(|call, len| call.count("N").unwrap_or(0).min(len)..len),
    hints: Hints::NONE,
};
