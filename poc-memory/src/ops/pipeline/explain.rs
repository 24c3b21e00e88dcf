//! `pipeline explain`

use crate::ops::text::degraded;
use crate::ops::{Access, Ctx, Op};
use poc_graph::error::Result;
use poc_notes::Reading;
use poc_notes::freshness::AsOf;
use poc_search::query::{Explanation, Outline, Pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Say what every stage of a pipeline does, with its arguments and defaults; with `run` also how
/// many notes it takes and gives, and how long it needs.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explain {
    /// Pipelines; `@NAME` for a saved one
    #[arg(
        value_name = "PIPELINE",
        required = true,
        help = "Pipelines, each in quotes; `@NAME` for a saved one"
    )]
    pipelines: Vec<String>,
    /// Run them too
    #[arg(long)]
    #[serde(default)]
    run: bool,
}

/// What pipelines do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Explained {
    pipelines: Vec<One>,
    /// What was read, when they were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of: Option<AsOf>,
    /// Transactions the slowest index was behind, when they were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<u64>,
    /// What made the answers poorer than they should be, when they were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    degraded: Option<Vec<String>>,
}

/// What one pipeline does.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct One {
    /// In its canonical form, saved pipelines written out; `TERMS` stands where search terms
    /// belong.
    pipeline: String,
    stages: Vec<Outline>,
    /// What it did, when it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<Explanation>,
}

impl Op for Explain {
    const NAME: &'static str = "pipeline explain";
    const ACCESS: Access = Access::Read;
    type Output = Explained;

    fn run(self, ctx: &Ctx<'_>) -> Result<Explained> {
        let names = ctx.memory.names.load();
        let parsed = self.pipelines.iter().map(|text| match self.run {
            true => Pipeline::parse(text, &names),
            false => Pipeline::template(text, &names),
        });
        let parsed: Vec<Pipeline> = parsed.collect::<Result<_>>()?;
        let reading = Reading::of(ctx.memory, None)?;
        let one = |pipeline: Pipeline| -> Result<One> {
            let ran = match self.run {
                true => Some(pipeline.run(&reading.sources())?.1),
                false => None,
            };
            Ok(One { pipeline: pipeline.to_string(), stages: pipeline.outline(), ran })
        };
        let pipelines = parsed.into_iter().map(one).collect::<Result<_>>()?;
        let freshness = self.run.then(|| reading.freshness());
        Ok(Explained {
            pipelines,
            as_of: freshness.as_ref().map(|freshness| freshness.as_of),
            lag: freshness.as_ref().map(|freshness| freshness.lag),
            degraded: freshness.map(|freshness| freshness.degraded),
        })
    }

    fn show(output: &Explained) -> String {
        let mut text = String::new();
        for one in &output.pipelines {
            if !text.is_empty() {
                text.push('\n');
            }
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}\n", one.pipeline);
            text.extend(one.stages.iter().map(ToString::to_string));
            if let Some(ran) = &one.ran {
                let _ = write!(text, "\n{ran}");
            }
        }
        text + &degraded(output.degraded.as_deref().unwrap_or_default())
    }
}
