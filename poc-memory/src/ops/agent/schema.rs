//! `agent schema`

use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::definition;
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Print the JSON Schema of agent files, for editors that complete and validate them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentSchema {}

/// The schema.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentSchemaOutput {
    /// JSON Schema, draft 2020-12.
    schema: Map<String, Value>,
}

impl Op for AgentSchema {
    const NAME: &'static str = "agent schema";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/agent/schema");
    const FORMER_PATH: Option<&'static str> = Some("/v1/schema/agent");
    type Output = AgentSchemaOutput;

    fn run(self, _: &Ctx<'_>) -> Result<AgentSchemaOutput> {
        Ok(AgentSchemaOutput { schema: definition::schema() })
    }

    fn show(output: &AgentSchemaOutput, _: &Terminal) -> String {
        // A map of JSON is JSON.
        serde_json::to_string_pretty(&output.schema).unwrap_or_default() + "\n"
    }

    fn verbatim(_: &AgentSchemaOutput) -> bool {
        true
    }
}
