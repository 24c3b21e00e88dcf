//! Ops on the daemon itself.

mod status;
mod stop;

pub(crate) use status::DaemonStatusRequest;
pub(crate) use stop::DaemonStop;
