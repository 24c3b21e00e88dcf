//! `schema/ops.json` and `schema/config.json` are generated from the Rust types.

use crate::ops::{self, OPS};
use poc_config::Config;
use poc_graph::testing::generated::assert_file;
use serde_json::{Map, Value, json};

/// `schema/config.json` describes every setting of config.toml.
#[test]
fn the_schema_of_the_settings_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&poc_config::schema().unwrap()).unwrap();
    assert_file("schema/config.json", &format!("{schema}\n"));
}

/// `schema/ops.json` describes the request and the answer of every op.
#[test]
fn the_schemas_of_the_ops_are_up_to_date() {
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
    assert_file("schema/ops.json", &format!("{text}\n"));
}
