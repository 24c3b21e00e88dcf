//! `pipeline complete`

use crate::ops::text::table;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_graph::error::Result;
use poc_search::query::{self, Completion, Completions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Complete a pipeline that is being typed: the stages, fields, parameters, values and saved pipelines that may come
/// next, each with its meaning.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineComplete {
    /// The pipeline as typed so far
    #[serde(default)]
    #[arg(default_value = "")]
    pipeline: String,
    /// Byte offset of the place in the text; if omitted, its end
    #[arg(long, value_name = "OFFSET")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<usize>,
}

impl Op for PipelineComplete {
    const NAME: &'static str = "pipeline complete";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/pipeline/complete");
    type Output = Completions;

    fn run(self, ctx: &Ctx<'_>) -> Result<Completions> {
        let catalog = ctx.host.catalog()?;
        let agents: Vec<&str> = catalog.agents.keys().map(String::as_str).collect();
        let at = self.at.unwrap_or(self.pipeline.len());
        Ok(query::complete(&self.pipeline, at, &ctx.memory.names.load(), &agents))
    }

    fn show(output: &Completions, _: &Terminal) -> String {
        let rows: Vec<Vec<String>> = output
            .items
            .iter()
            .map(|Completion { text, kind, about }| vec![text.clone(), kind.clone(), about.clone()])
            .collect();
        let line = |name: &str, text: &Option<String>| {
            text.as_ref().map_or_else(String::new, |text| format!("{name}: {text}\n"))
        };
        format!("{}{}{}", line("syntax", &output.signature), line("expects", &output.expects), table(&rows))
    }
}
