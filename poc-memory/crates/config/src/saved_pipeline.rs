//! A pipeline in the settings, with the position of its definition.

use poc_graph::error::ErrorLocation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A saved pipeline. Its text is not validated when the settings are loaded, so a mistake in it does not prevent the
/// program from starting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct SavedPipeline {
    /// The text of the pipeline.
    pub text: String,
    /// The position of the definition.
    pub at: ErrorLocation,
}

impl From<String> for SavedPipeline {
    fn from(text: String) -> Self {
        SavedPipeline { text, at: ErrorLocation::default() }
    }
}

impl From<SavedPipeline> for String {
    fn from(saved: SavedPipeline) -> Self {
        saved.text
    }
}
