//! The JSON Schema of requests and answers.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The JSON Schema of a type with all subschemas inlined: some clients do not follow references.
pub(crate) fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}
