//! Ops on the daemon itself.

mod check;
mod status;
mod stop;
mod tail;

pub(crate) use check::DaemonCheck;
pub(crate) use status::DaemonStatusRequest;
pub(crate) use stop::DaemonStop;
pub(crate) use tail::tail;
