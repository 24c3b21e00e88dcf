//! `sort:FIELD [asc|desc]`: puts the set in order. The fields are those of the table of fields.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::field::sorted_by;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};
use crate::query::value::Direction;
use poc_graph::error::Error;

pub(super) const STAGE: StageDef = StageDef {
    word: "sort",
    params: &[
        Param {
            name: "FIELD",
            position: ParamPosition::Colon,
            value_type: ValueType::SortField,
            presence: Presence::Required,
            doc: "what to sort by",
        },
        Param {
            name: "DIRECTION",
            position: ParamPosition::Space,
            value_type: ValueType::Direction,
            presence: Presence::Default("desc"),
            doc: "smallest or greatest first",
        },
    ],
    doc: "Puts the set in order by a field, greatest first unless `asc` is said",
    more: "Ties go by id, so the order is always the same. `visited:AGENT` counts a node never visited \
           as visited before all others. With `limit:N` behind it only the first N are put in order.",
    example: Example {
        pipeline: "sort:content-len asc | limit:2",
        output: &["todo/benchmarks", "day#2026-11-21"],
    },
    describe: |call| {
        let first = match call.direction("DIRECTION") {
            Ok(Direction::Asc) => "smallest",
            _ => "greatest",
        };
        format!("orders by {}, {first} first", call.text("FIELD").unwrap_or_default())
    },
    work: Work::Sort(|call, ctx| {
        let text = call.text("FIELD")?;
        let (field, argument) = sorted_by(&text).map_err(Error::internal)?;
        Ok(((field.read)(ctx, argument), call.direction("DIRECTION")?))
    }),
    hints: Hints::NONE,
};
