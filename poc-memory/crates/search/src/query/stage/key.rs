//! `key:GLOB`: nodes whose whole key matches.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use crate::retrieve::key::notes_of_name;

pub(super) const STAGE: StageDef = StageDef {
    word: "key",
    params: &[Param {
        name: "GLOB",
        position: ParamPosition::Colon,
        value_type: ParamType::Glob,
        presence: Presence::Required,
        doc: "a glob for the whole key, or a name of a note",
    }],
    doc: "Keeps notes whose key matches a glob",
    more: "`*` matches any run of characters, `?` one character, and `[abc]`, `[a-z]` and `[!a]` one character \
           of a set. Letter case matters. A text without these special characters is a name, as commands take \
           it: the key, a former key or another name of a note, the key in other capitals, or its end after a \
           `/`. If several notes have the name, all of them match. A glob with `|`, `,` or spaces needs quotes.",
    example: Example { pipeline: "key:session#*", output: &["session#1", "session#2"] },
    describe: |call| match call.glob("GLOB") {
        Ok(glob) => format!("whose key matches `{}`", glob.text()),
        Err(_) => String::new(),
    },
    implementation: StageImplementation::Filter(|call, ctx| {
        let view = ctx.sources.view;
        let glob = call.glob("GLOB")?;
        if glob.is_literal() {
            let named = notes_of_name(view, glob.text());
            return Ok(Box::new(move |ix| named.binary_search(&ix).is_ok()));
        }
        Ok(Box::new(move |ix| glob.matches(view.key(ix))))
    }),
    hints: Hints::NONE,
};
