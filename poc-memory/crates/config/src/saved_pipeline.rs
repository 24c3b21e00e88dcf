//! A pipeline in the settings, with the place where it is defined.

use poc_graph::error::ErrorLocation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A saved pipeline. Its text is not validated here, so that a mistake in it does not prevent the program
/// from starting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct SavedPipeline {
    /// Its text.
    pub text: String,
    /// Where it is defined.
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
