//! `key:GLOB`: nodes whose whole key matches.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};

pub(super) const STAGE: StageDef = StageDef {
    word: "key",
    params: &[Param {
        name: "GLOB",
        position: ParamPosition::Colon,
        value_type: ParamType::Glob,
        presence: Presence::Required,
        doc: "a glob for the whole key",
    }],
    doc: "Keeps notes whose key matches a glob",
    more: "A glob without special characters also matches a former key. `*` matches any run of characters, `?` one character, and `[abc]`, `[a-z]` and `[!a]` one \
           character of a set. Letter case matters. A glob with `|`, `,` or spaces needs quotes.",
    example: Example { pipeline: "key:session#*", output: &["session#1", "session#2"] },
    describe: |call| match call.glob("GLOB") {
        Ok(glob) => format!("whose key matches `{}`", glob.text()),
        Err(_) => String::new(),
    },
    implementation: StageImplementation::Filter(|call, ctx| {
        let view = ctx.sources.view;
        let glob = call.glob("GLOB")?;
        let is_literal = glob.is_literal();
        Ok(Box::new(move |ix| {
            glob.matches(view.key(ix)) || is_literal && view.aliases(ix).any(|alias| glob.matches(alias))
        }))
    }),
    hints: Hints::NONE,
};
