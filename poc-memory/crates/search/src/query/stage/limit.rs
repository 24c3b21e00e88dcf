//! `limit:N`: the first N.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};

pub(super) const STAGE: StageDef = StageDef {
    word: "limit",
    params: &[Param {
        name: "N",
        position: ParamPosition::Colon,
        value_type: ParamType::Count(1, usize::MAX),
        presence: Presence::Required,
        doc: "the number of notes to keep",
    }],
    doc: "Keeps the first N notes",
    more: "The order is that of the stage before.",
    example: Example { pipeline: "all | limit:2", output: &["b-tree", "wal"] },
    describe: |call| format!("the first {}", call.count("N").unwrap_or_default()),
    implementation: StageImplementation::Cut(|call, len| 0..call.count("N").unwrap_or(len).min(len)),
    hints: Hints::NONE,
};
