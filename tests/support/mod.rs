//! What the end-to-end tests share: temporary homes, HTTP clients, mock models, and a runner of console transcripts.

pub(crate) mod deadline;
pub(crate) mod export;
pub(crate) mod http;
pub(crate) mod incompressible;
pub(crate) mod mock_model;
pub(crate) mod slow_agent;
pub(crate) mod tiny_bert;
#[cfg(feature = "local-models")]
pub(crate) mod tiny_gguf;
pub(crate) mod transcript;
pub(crate) mod world;

pub(crate) use deadline::Deadline;
pub(crate) use world::{CommandResult, WAIT_LIMIT, World};

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Moves a file or a folder, and creates the folder that it moves into.
pub(crate) fn move_path(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(from, to).unwrap();
}

/// The number in an environment variable, or another one if it is not set to a number.
pub(crate) fn number_in<N: FromStr>(variable: &str, otherwise: N) -> N {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(otherwise)
}
