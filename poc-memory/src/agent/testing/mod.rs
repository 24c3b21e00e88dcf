//! What tests of agents and of their models share.

pub(crate) mod request;
pub(crate) mod world;
