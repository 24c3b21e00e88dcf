//! `sort:FIELD [asc|desc]`: sorts the set by a field of the table of fields.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::field::sorted_by;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::query::stage_error::StageError;
use crate::query::value::SortDirection;

pub(super) const STAGE: StageDef = StageDef {
    word: "sort",
    params: &[
        Param {
            name: "FIELD",
            position: ParamPosition::Colon,
            value_type: ParamType::SortField,
            presence: Presence::Required,
            doc: "the field to sort by",
        },
        Param {
            name: "DIRECTION",
            position: ParamPosition::Space,
            value_type: ParamType::Direction,
            presence: Presence::Default("desc"),
            doc: "`asc` for smallest first, `desc` for greatest first",
        },
    ],
    doc: "Sorts the set by a field, greatest first unless `asc` is given",
    more: "Ties are ordered by id, so the order is always the same. For `visited:AGENT`, a note that was \
           never visited counts as visited before all others. With `limit:N` after it only the first N notes \
           are sorted.",
    example: Example {
        pipeline: "sort:content-len asc | limit:2",
        output: &["todo/benchmarks", "day#2026-11-21"],
    },
    describe: |call| {
        let first = match call.direction("DIRECTION") {
            Ok(SortDirection::Asc) => "smallest",
            _ => "greatest",
        };
        format!("orders by {}, {first} first", call.text("FIELD").unwrap_or_default())
    },
    implementation: StageImplementation::Sort(|call, ctx| {
        let text = call.text("FIELD")?;
        let (field, argument) = sorted_by(&text).map_err(StageError::InvalidField)?;
        Ok(((field.read)(ctx, argument), call.direction("DIRECTION")?))
    }),
    hints: Hints::NONE,
};
