//! `limit:N`: the first N.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::param::{Absent, Param, Place, Takes};

pub(super) const STAGE: StageDef = StageDef {
    word: "limit",
    params: &[Param {
        name: "N",
        place: Place::Colon,
        takes: Takes::Count(1, usize::MAX),
        absent: Absent::Error,
        doc: "how many stay",
    }],
    doc: "Keeps the first N",
    more: "The order is that of the stage before.",
    example: Example { pipeline: "all | limit:2", gives: &["b-tree", "wal"] },
    does: |call| format!("the first {}", call.count("N").unwrap_or_default()),
    work: Work::Cut(|call, len| 0..call.count("N").unwrap_or(len).min(len)),
    hints: Hints::NONE,
};
