//! `community:N`: members of community N. Community 0 is the largest.

use super::definition::{Cost, Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};

pub(super) const STAGE: StageDef = StageDef {
    word: "community",
    params: &[Param {
        name: "N",
        position: ParamPosition::Colon,
        value_type: ParamType::Count(0, u32::MAX as usize),
        presence: Presence::Required,
        doc: "the number of the community",
    }],
    doc: "Keeps the members of a community; community 0 is the largest",
    more: "Communities are found by the Leiden algorithm (Traag, Waltman and van Eck 2019), which maximizes \
           modularity over edges with a strength of at least 0.3. Every community is connected. In a graph of up \
           to `exact-below` notes and edges (`[structure]`), communities depend only on the graph. In a larger one \
           that has changed little, the search starts from the earlier communities, so that most of them stay. \
           They are numbered by size, so a number may denote another community after the graph has changed.",
    example: Example { pipeline: "community:0", output: &["b-tree", "wal", "crash-notes"] },
    describe: |call| format!("of community {}", call.count("N").unwrap_or_default()),
    implementation: StageImplementation::Filter(|call, ctx| {
        let wanted = call.count("N")? as u32;
        let communities = ctx.communities();
        Ok(Box::new(move |ix| communities.of(ix) == Some(wanted)))
    }),
    hints: Hints { cost: Cost::Derived, ..Hints::NONE },
};
