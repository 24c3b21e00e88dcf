//! What the end-to-end tests share: temporary homes, HTTP clients, mock models, and a runner of console transcripts.

pub(crate) mod deadline;
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
