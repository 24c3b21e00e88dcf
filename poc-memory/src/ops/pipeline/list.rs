//! `pipeline list`

use crate::ops::text::{diagnostic_text, table};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// List the saved pipelines of `[pipelines]` in config.toml.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineList {}

/// The saved pipelines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PipelineListOutput {
    /// The saved pipelines, sorted by name.
    pipelines: Vec<SavedPipelineRow>,
}

/// A saved pipeline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SavedPipelineRow {
    /// Name of the pipeline, without the `@`.
    name: String,
    /// Its text as saved.
    text: String,
    /// Whether it is valid.
    sound: bool,
    /// Its canonical form if valid, with saved pipelines expanded; `TERMS` is the place of search terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<FileDiagnostic>,
}

impl Op for PipelineList {
    const NAME: &'static str = "pipeline list";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/pipeline/list");
    const NAMES_COMMANDS: bool = true;
    type Output = PipelineListOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<PipelineListOutput> {
        let names = ctx.memory.names.load();
        let row = |(name, text): (&String, &str)| {
            let checked = names.check(name);
            SavedPipelineRow {
                name: name.clone(),
                text: text.to_owned(),
                sound: checked.is_ok(),
                pipeline: checked.as_ref().ok().map(ToString::to_string),
                problem: checked.as_ref().err().cloned().map(FileDiagnostic::from),
            }
        };
        let saved = names.all_saved().iter().map(|(name, saved)| (name, saved.text.as_str()));
        Ok(PipelineListOutput { pipelines: saved.map(row).collect() })
    }

    fn show(output: &PipelineListOutput, _: &Terminal) -> String {
        if output.pipelines.is_empty() {
            return "no pipelines are saved; save one in config.toml:\n\n  [pipelines]\n  recent = \"age:<7d | limit:20\"\n\n\
                    and use it as `poc-memory search -p @recent`\n"
                .to_owned();
        }
        let rows: Vec<Vec<String>> = output
            .pipelines
            .iter()
            .map(|row| {
                let state = if row.sound { "ok" } else { "broken" };
                let words: Vec<&str> = row.text.split_whitespace().collect();
                vec![format!("@{}", row.name), state.to_owned(), words.join(" ")]
            })
            .collect();
        let mut text = table(&rows);
        for wrong in output.pipelines.iter().filter_map(|row| row.problem.as_ref()) {
            text.push('\n');
            text.push_str(&diagnostic_text(wrong));
        }
        text
    }
}
