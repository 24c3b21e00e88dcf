//! `type:NAME`: nodes of a type.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use poc_graph::NodeType;

pub(super) const STAGE: StageDef = StageDef {
    word: "type",
    params: &[Param {
        name: "NAME",
        position: ParamPosition::Colon,
        value_type: ParamType::NodeType,
        presence: Presence::Required,
        doc: "a built-in type or one of `[nodes] types` in the settings",
    }],
    doc: "Keeps notes of a type",
    more: "The built-in types are `episodic` (a session), `daily`, `weekly`, `monthly`, `semantic` and `question` \
           (confirmed questions). `[nodes] types` in the settings adds others.",
    example: Example { pipeline: "type:episodic", output: &["session#1", "session#2"] },
    describe: |call| format!("of type `{}`", call.text("NAME").unwrap_or_default()),
    implementation: StageImplementation::Filter(|call, ctx| {
        let view = ctx.sources.view;
        let mut types = view.node_types();
        Ok(match view.type_number(&call.text("NAME")?) {
            Some(number) => Box::new(move |ix| types.of(ix, u16::MAX) == number),
            None => Box::new(|_| false),
        })
    }),
    hints: Hints {
        // Facts and digests are derived from sessions.
        asks_for_derived: Some(|call| call.text("NAME").is_ok_and(|name| name != NodeType::EPISODIC)),
        passes: Some(|call, node| call.text("NAME").is_ok_and(|name| name == node.node_type)),
        ..Hints::NONE
    },
};
