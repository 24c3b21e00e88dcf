//! `pipeline explain`

use crate::ops::explanation_text::explanation_text;
use crate::ops::pipeline_agents::PipelineAgents;
use crate::ops::{Access, Ctx, Op, Terminal, argument, pipeline_ages, pipeline_keywords};
use poc_graph::error::Result;
use poc_notes::ReadSnapshot;
use poc_notes::answer_status::AsOf;
use poc_search::query::{Explanation, Outline, Pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Explain every stage of a pipeline with its arguments and defaults. With `run` it is also run: the answer
/// then has the number of notes in and out of each stage, and its time.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineExplain {
    /// Pipelines; `@NAME` for a saved one
    #[arg(
        value_name = "PIPELINE",
        required = true,
        help = "Pipelines, each in quotes; `@NAME` for a saved one"
    )]
    pipelines: Vec<String>,
    /// Also run them
    #[arg(long)]
    #[serde(default)]
    run: bool,
}

/// The explained pipelines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PipelineExplainOutput {
    pipelines: Vec<ExplainedPipeline>,
    /// The state that was read, if they were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of: Option<AsOf>,
    /// How many transactions the slowest index was behind, if they were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<u64>,
    /// Problems that may have made the results incomplete, if they were run, and names of agents that are probably
    /// misspelt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    degraded: Option<Vec<String>>,
}

/// One pipeline explained.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExplainedPipeline {
    /// Its canonical form, with saved pipelines expanded; `TERMS` is the place of search terms.
    pipeline: String,
    stages: Vec<Outline>,
    /// The counts and times of its stages, if it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<Explanation>,
}

impl Op for PipelineExplain {
    const NAME: &'static str = "pipeline explain";
    const ACCESS: Access = Access::Read;
    type Output = PipelineExplainOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<PipelineExplainOutput> {
        let texts = self.pipelines.iter().map(String::as_str);
        argument::check_length(texts, "pipelines", &ctx.memory.config.search)?;
        let names = ctx.memory.names.load();
        let parsed = self.pipelines.iter().map(|text| match self.run {
            true => Pipeline::parse(text, &names),
            false => Pipeline::template(text, &names),
        });
        let parsed: Vec<Pipeline> = parsed.collect::<Result<_>>()?;
        let agents = PipelineAgents::of(ctx, &parsed);
        let snapshot = ReadSnapshot::of(ctx.memory, None)?
            .with_quarantined(ctx.visibility(false).quarantined)
            .with_visit_rules(agents.visit_rules(&ctx.memory.config));
        let misspelt: Vec<String> = parsed
            .iter()
            .flat_map(|pipeline| {
                let mut misspelt = agents.problems(snapshot.view(), pipeline);
                misspelt.extend(pipeline_keywords::problems(&snapshot, pipeline));
                misspelt.extend(pipeline_ages::problems(pipeline));
                misspelt
            })
            .collect();
        let one = |pipeline: Pipeline| -> Result<ExplainedPipeline> {
            let ran = match self.run {
                true => Some(pipeline.run(&snapshot.sources())?.1),
                false => None,
            };
            Ok(ExplainedPipeline { pipeline: pipeline.to_string(), stages: pipeline.outline(), ran })
        };
        let pipelines = parsed.into_iter().map(one).collect::<Result<_>>()?;
        let status = self.run.then(|| snapshot.answer_status());
        let degraded = match &status {
            Some(status) => Some([status.degraded.clone(), misspelt].concat()),
            None => (!misspelt.is_empty()).then_some(misspelt),
        };
        Ok(PipelineExplainOutput {
            pipelines,
            as_of: status.as_ref().map(|status| status.as_of),
            lag: status.as_ref().map(|status| status.lag),
            degraded,
        })
    }

    fn show(output: &PipelineExplainOutput, terminal: &Terminal) -> String {
        let mut text = String::new();
        for one in &output.pipelines {
            if !text.is_empty() {
                text.push('\n');
            }
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}\n", one.pipeline);
            text.extend(one.stages.iter().map(ToString::to_string));
            if let Some(ran) = &one.ran {
                let _ = write!(text, "\n{}", explanation_text(terminal, ran));
            }
        }
        text
    }
}
