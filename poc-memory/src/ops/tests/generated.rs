//! Compares generated documents with the tables they come from: the reference, the schemas, the stage table.
//!
//! With `POC_MEMORY_BLESS=1` in the environment the tests write the documents instead.

use crate::agent;
use crate::config::{self, Config};
use crate::ops::{self, OPS};
use crate::query::tests::reference;
use crate::query::vocabulary;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Compares a document with what it shall be, or makes it so.
#[track_caller]
fn fresh(name: &str, wanted: &str) {
    let path = document(name);
    if std::env::var_os("POC_MEMORY_BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let line = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    let line = line.unwrap_or_else(|| found.lines().count().min(wanted.lines().count()));
    assert!(
        found == wanted,
        "{name} is not what the tables say from line {} on, where it shall say\n{}\n`just bless` writes it anew",
        line + 1,
        wanted.lines().skip(line).take(3).collect::<Vec<_>>().join("\n"),
    );
}

/// REFERENCE.md is the manual of the language and of agent files.
#[test]
fn the_reference_is_fresh() {
    fresh("REFERENCE.md", &format!("{}\n{}", reference::page(), agent::tests::reference::page()));
}

/// What `agent schema` prints is what editors of the bundled agents find.
#[test]
fn the_schema_of_agent_files_is_fresh() {
    let schema = serde_json::to_string_pretty(&agent::definition::schema()).unwrap();
    fresh("schema/agent.json", &format!("{schema}\n"));
}

/// `schema/config.json` describes every setting of config.toml.
#[test]
fn the_schema_of_the_settings_is_fresh() {
    let schema = serde_json::to_string_pretty(&config::schema().unwrap()).unwrap();
    fresh("schema/config.json", &format!("{schema}\n"));
}

/// `schema/ops.json` describes the request and the answer of every op.
#[test]
fn the_schemas_of_the_ops_are_fresh() {
    let tenants = Config::defaults().unwrap().tenant_schema;
    let fields = |schema: Value| match schema {
        Value::Object(fields) => fields,
        other => panic!("{other} is not an object"),
    };
    let schemas = OPS.iter().map(|op| {
        let mut request = fields((op.request_schema)().to_value());
        op.add_tenant(&mut request, &tenants);
        let answer = ops::versioned_schema(fields((op.answer_schema)().to_value()));
        (op.name.to_owned(), json!({"request": request, "answer": answer}))
    });
    let schemas: Map<String, Value> = schemas.collect();
    let text = serde_json::to_string_pretty(&Value::Object(schemas)).unwrap();
    fresh("schema/ops.json", &format!("{text}\n"));
}

/// ARCHITECTURE.md opens with the words of the language.
#[test]
fn the_stage_table_of_the_architecture_is_fresh() {
    let page = std::fs::read_to_string(document("ARCHITECTURE.md")).unwrap();
    let head = "| stage | kind | what it does |\n|---|---|---|\n";
    let (before, rest) = page.split_once(head).expect("ARCHITECTURE.md has a table of stages");
    let (_, behind) = rest.split_once("\n\n").expect("something follows the table");
    let rows = vocabulary().iter().map(|stage| {
        let signature = reference::cell(&stage.signature());
        format!("| `{signature}` | {} | {} |", stage.kind().name(), reference::cell(stage.doc))
    });
    let rows: Vec<String> = rows.collect();
    fresh("ARCHITECTURE.md", &format!("{before}{head}{}\n\n{behind}", rows.join("\n")));
}
