//! Verbs about the daemon itself.

mod status;
mod stop;

pub(crate) use status::Status;
pub(crate) use stop::Stop;
