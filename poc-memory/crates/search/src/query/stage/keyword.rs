//! `keyword:WORD`: nodes with a keyword.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::arguments::Arguments;
use crate::query::example::Example;
use crate::query::keyword_filter::KeywordFilter;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use poc_graph::error::Result;
use poc_graph::normal_keyword;

pub(super) const STAGE: StageDef = StageDef {
    word: "keyword",
    params: &[Param {
        name: "WORD",
        position: ParamPosition::Colon,
        value_type: ParamType::Text,
        presence: Presence::Required,
        doc: "the keyword",
    }],
    doc: "Keeps notes with a keyword",
    more: "Keywords are compared in the form that `insert` stores: trimmed, in lower case, with accents \
           normalized.",
    example: Example { pipeline: "keyword:Storage", output: &["b-tree", "lsm-tree"] },
    describe: |call| format!("with the keyword `{}`", call.text("WORD").unwrap_or_default()),
    implementation: StageImplementation::Filter(|call, ctx| {
        let view = ctx.sources.view;
        let number = view.keyword_number(&keyword(call)?);
        Ok(Box::new(KeywordFilter::new(view, number.into_iter().collect())))
    }),
    hints: Hints { keyword: Some(keyword), ..Hints::NONE },
};

/// The keyword in its stored form.
fn keyword(call: &Arguments) -> Result<String> {
    Ok(normal_keyword(&call.text("WORD")?))
}
