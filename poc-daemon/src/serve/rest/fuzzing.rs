//! Parsers for the fuzz targets, with properties that must hold for any input: see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use super::note_path;
use super::query::Fields;
use super::request;
use axum::http::Request;
use poc_config::{Config, TenantSchema};
use poc_graph::error::Result;
use poc_memory::ops::{self, OPS, OpDef};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static TENANTS: LazyLock<TenantSchema> = LazyLock::new(|| Config::defaults().unwrap().tenant_schema);

static FIELDS: LazyLock<BTreeMap<&str, (&OpDef, Fields)>> = LazyLock::new(|| {
    let fields = |op: &OpDef| Fields::of(&(op.request_schema)().to_value()).with_former_text(op.former_text);
    OPS.iter().filter(|op| op.route.is_some()).map(|op| (op.name, (op, fields(op)))).collect()
});

/// Reads a query string as the arguments of an op. The first line names the op, the second is the text of all fields of
/// the path.
pub fn rest_query(text: &str) {
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (op, path, query) = (line(), line(), line());
    let Some((op, fields)) = FIELDS.get(op) else { return };
    check(op, request::from_query(fields, path_fields(op, path), query));
    if let Ok(request) = Request::get(format!("/v1/nodes/{path}?{query}")).body(()) {
        note_path::encode_key(request);
    }
}

/// Reads a JSON body as the arguments of an op. The first line names the op.
pub fn rest_body(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    let (op, body) = bytes.split_at(end);
    let Some((op, fields)) = std::str::from_utf8(op).ok().and_then(|op| FIELDS.get(op)) else { return };
    let body = body.strip_prefix(b"\n").unwrap_or_default();
    check(op, request::from_body(fields, path_fields(op, "a-note"), "tenant=user%3Dann", body));
    check(op, request::from_body(fields, [], "", body));
}

/// The fields in the path of an op, all with the same text.
fn path_fields<'a>(op: &OpDef, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let path = op.route.map_or("", |route| route.path);
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(move |name| (name, text))
}

fn check(op: &OpDef, request: Result<Value>) {
    let decoded = request.and_then(|request| ops::fuzzing::decode(op, request, &TENANTS));
    assert!(decoded.err().is_none_or(|error| !error.line().is_empty()));
}
