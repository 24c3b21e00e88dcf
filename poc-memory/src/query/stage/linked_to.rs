//! `linked-to:KEY`: nodes tied to the node with the key, by an edge of any kind that graph stages
//! see, in either direction.

use super::{Example, StageDef, Work};
use crate::error::Error;
use crate::query::param::{Absent, Param, Place, Takes};

pub(super) const STAGE: StageDef = StageDef {
    word: "linked-to",
    params: &[Param {
        name: "KEY",
        place: Place::Colon,
        takes: Takes::Name,
        absent: Absent::Error,
        doc: "the key of the other node",
    }],
    doc: "Keeps nodes tied to the node with a key",
    more: "",
    example: Example { pipeline: "linked-to:wal", gives: &["b-tree", "crash-notes"] },
    does: |call| format!("tied to `{}`", call.text("KEY").unwrap_or_default()),
    work: Work::Filter(|call, ctx| {
        let view = ctx.sources.view;
        let key = call.text("KEY")?;
        let center = view.find_key(&key).ok_or_else(|| {
            Error::not_found(format!("`linked-to` names `{key}`, which is no node's key"))
                .hint("`poc-memory search TERMS` shows keys")
        })?;
        Ok(Box::new(move |ix| view.are_tied(center, ix)))
    }),
};
