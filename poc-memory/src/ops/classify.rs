//! `classify`

use super::argument::TextArgument;
use super::text::{plural, table};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect};
use poc_graph::error::Result;
use poc_notes::answer_status::{self, AsOf};
use poc_notes::classify;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Suggest keywords for a text: the most frequent ones on the keyword edges of the notes whose titles are
/// nearest to it. No model is called.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Classify {
    /// The text
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: TextArgument,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The suggested keywords, most frequent first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ClassifyOutput {
    keywords: Vec<KeywordCount>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct KeywordCount {
    keyword: String,
    /// Number of keyword edges between the nearest notes that have the keyword.
    count: usize,
}

impl Op for Classify {
    const NAME: &'static str = "classify";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/classify");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = ClassifyOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ClassifyOutput> {
        let memory = ctx.memory;
        let text = self.text.question(&ctx.memory.config.search)?;
        let view = memory.store.view();
        let counts = classify::classify(memory, &view, text, ctx.visibility(self.quarantined))?;
        let status = answer_status::of(memory, &view);
        Ok(ClassifyOutput {
            keywords: counts.into_iter().map(|(keyword, count)| KeywordCount { keyword, count }).collect(),
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn show(output: &ClassifyOutput, _: &Terminal) -> String {
        if output.keywords.is_empty() {
            return "no keyword fits\n".to_owned();
        }
        let row = |found: &KeywordCount| vec![found.keyword.clone(), plural(found.count as u64, "edge")];
        table(&output.keywords.iter().map(row).collect::<Vec<_>>())
    }
}
