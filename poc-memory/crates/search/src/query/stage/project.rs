//! `project:NAME`: nodes of a project.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::keyword_filter::KeywordFilter;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};
use poc_graph::{is_project, normal_keyword};

pub(super) const STAGE: StageDef = StageDef {
    word: "project",
    params: &[Param {
        name: "NAME",
        position: ParamPosition::Colon,
        value_type: ParamType::Text,
        presence: Presence::Required,
        doc: "the name of the project or its last components; `*` is every project",
    }],
    doc: "Keeps notes of a project",
    more: "A note belongs to a project if it has the keyword `project:NAME`. Sessions of assistants get it when they are \
           captured. The name is the remote of the repository (`github.com/ann/proj`), or the folder if there is none. \
           `project:proj` and `project:ann/proj` select it too. `!project:*` keeps the notes of no project.",
    example: Example { pipeline: "project:journal", output: &["todo/benchmarks"] },
    describe: |call| match call.text("NAME") {
        Ok(name) if name == "*" => "of a project".to_owned(),
        Ok(name) => format!("of the project `{name}`"),
        Err(_) => String::new(),
    },
    implementation: StageImplementation::Filter(|call, ctx| {
        let view = ctx.sources.view;
        // The name is a part of a keyword.
        let wanted = normal_keyword(&call.text("NAME")?);
        let selected = view.projects().filter(|(_, name)| is_project(name, &wanted));
        Ok(Box::new(KeywordFilter::new(view, selected.map(|(number, _)| number).collect())))
    }),
    hints: Hints::NONE,
};
