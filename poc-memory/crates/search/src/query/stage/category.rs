//! `category:NAME`: nodes of a category.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use poc_graph::Category;

pub(super) const STAGE: StageDef = StageDef {
    word: "category",
    params: &[Param {
        name: "NAME",
        position: ParamPosition::Colon,
        value_type: ParamType::Category,
        presence: Presence::Required,
        doc: "the category",
    }],
    doc: "Keeps notes of a category, which sets how fast a note loses weight",
    more: "The categories are `core`, which never decays, `general`, `technical`, `observation` and `task`.",
    example: Example { pipeline: "category:task", output: &["todo/benchmarks"] },
    describe: |call| match call.category("NAME") {
        Ok(category) => format!("of the category `{category}`"),
        Err(_) => String::new(),
    },
    implementation: StageImplementation::Filter(|call, ctx| {
        let wanted = call.category("NAME")?;
        let mut categories = ctx.sources.view.categories();
        Ok(Box::new(move |ix| categories.of(ix, Category::General) == wanted))
    }),
    hints: Hints::NONE,
};
