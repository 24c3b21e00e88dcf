//! `pipeline check`

use crate::ops::text::diagnostic_text;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Exit, Result};
use poc_search::query::Pipeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Check whether pipelines are valid and report all errors, without running them. Without arguments all saved
/// pipelines are checked.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineCheck {
    /// Pipelines; `@NAME` for a saved one
    #[arg(value_name = "PIPELINE", help = "Pipelines, each in quotes; `@NAME` for a saved one")]
    #[serde(default)]
    pipelines: Vec<String>,
}

/// The errors and warnings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PipelineCheckOutput {
    pipelines: Vec<CheckedPipeline>,
}

/// The result of checking one pipeline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CheckedPipeline {
    /// The text of the pipeline, as given or saved.
    text: String,
    /// Its name, if all saved pipelines are checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
    /// Whether it is valid.
    sound: bool,
    /// Its canonical form if valid, with saved pipelines expanded; `TERMS` is the place of search terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    /// What is wrong; absent if the pipeline is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<FileDiagnostic>,
}

impl CheckedPipeline {
    fn of(text: &str, saved: Option<&str>, parsed: Result<Pipeline>) -> CheckedPipeline {
        CheckedPipeline {
            text: text.to_owned(),
            saved: saved.map(str::to_owned),
            sound: parsed.is_ok(),
            pipeline: parsed.as_ref().ok().map(ToString::to_string),
            problem: parsed.as_ref().err().cloned().map(FileDiagnostic::from),
        }
    }
}

impl Op for PipelineCheck {
    const NAME: &'static str = "pipeline check";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/pipeline/check");
    type Output = PipelineCheckOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<PipelineCheckOutput> {
        let names = ctx.memory.names.load();
        let mut pipelines: Vec<CheckedPipeline> = self
            .pipelines
            .iter()
            .map(|text| CheckedPipeline::of(text, None, Pipeline::template(text, &names)))
            .collect();
        if pipelines.is_empty() {
            let saved = names.all_saved().iter();
            pipelines.extend(
                saved.map(|(name, saved)| CheckedPipeline::of(&saved.text, Some(name), names.check(name))),
            );
        }
        Ok(PipelineCheckOutput { pipelines })
    }

    fn show(output: &PipelineCheckOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for checked in &output.pipelines {
            match &checked.problem {
                Some(wrong) => text.push_str(&format!("error: {}", diagnostic_text(wrong))),
                None => {
                    let name = checked.saved.as_ref().map_or_else(String::new, |name| format!("@{name}: "));
                    let pipeline = checked.pipeline.as_deref().unwrap_or(&checked.text);
                    text.push_str(&format!("{name}ok, {pipeline}\n"));
                }
            }
        }
        if output.pipelines.is_empty() {
            text.push_str("no pipelines are saved\n");
        }
        text
    }

    fn exit(output: &PipelineCheckOutput) -> Exit {
        match output.pipelines.iter().find(|checked| !checked.sound) {
            None => Exit::Ok,
            Some(checked) if checked.saved.is_some() => Exit::Config,
            Some(_) => Exit::Usage,
        }
    }
}
