//! Parsers for the fuzz targets, with properties that must hold for any input: see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use super::recent_searches::RecentSearches;
use super::{OpExecutor, prompts, resources, results, tools};
use crate::ops::{self, Access, OpDef};
use poc_config::{Config, TenantSchema, ToolSet};
use poc_graph::error::{Error, Result};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde_json::Value;
use std::sync::LazyLock;

static TENANTS: LazyLock<TenantSchema> = LazyLock::new(|| Config::defaults().unwrap().tenant_schema);

/// Offers a set of tools, decodes their requests, and answers none of them.
struct Decoder(ToolSet);

impl OpExecutor for Decoder {
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value> {
        ops::fuzzing::decode(op, request, &TENANTS)?;
        Err(Error::not_found("there is no memory"))
    }

    fn offers(&self, access: Access) -> bool {
        access != Access::Person
    }

    fn tool_set(&self) -> ToolSet {
        self.0
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        Some(&TENANTS)
    }

    fn shares_log(&self) -> bool {
        false
    }
}

/// Reads a message of a client, and decodes the arguments of the call in it.
pub fn mcp_message(bytes: &[u8]) {
    let Ok(ClientJsonRpcMessage::Request(request)) = serde_json::from_slice(bytes) else { return };
    match request.request {
        ClientRequest::CallToolRequest(call) => {
            let arguments = call.params.arguments.unwrap_or_default();
            for set in [ToolSet::All, ToolSet::Seed] {
                let caller = Decoder(set);
                let offered = tools::offered(&caller);
                let Some(tool) = offered.into_iter().find(|tool| tool.name == call.params.name) else {
                    continue;
                };
                match tool.call(&caller, &RecentSearches::default(), arguments.clone()) {
                    Ok(answer) => drop(results::success(&caller, answer)),
                    Err(error) => drop(results::failure(&caller, &tool, &error)),
                }
            }
        }
        ClientRequest::GetPromptRequest(prompt) => {
            let arguments = prompt.params.arguments.unwrap_or_default();
            let _ = prompts::get(&Decoder(ToolSet::Default), &prompt.params.name, &arguments);
        }
        ClientRequest::ReadResourceRequest(resource) => {
            let _ = resources::read(&Decoder(ToolSet::Default), &resource.params.uri);
        }
        ClientRequest::ListResourcesRequest(list) => {
            let cursor = list.params.and_then(|params| params.cursor);
            let _ = resources::page(&Decoder(ToolSet::Default), cursor.as_deref());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_is_read() {
        poc_graph::testing::corpus("mcp_message").iter().for_each(|bytes| super::mcp_message(bytes));
    }
}
