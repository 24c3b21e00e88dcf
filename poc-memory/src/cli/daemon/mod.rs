//! The commands on the daemon's process: start, stop, restart, install and log.

mod arguments;
mod install;
mod log;
mod process;
mod program;
mod service;
mod start;
mod stop;

pub use arguments::DaemonArguments;
pub(super) use install::{DaemonInstall, DaemonUninstall, install, uninstall};
pub(super) use log::DaemonLog;
pub(super) use process::start;
pub(super) use start::{DaemonRestart, DaemonStart, is_running, restart, start as start_and_wait};
pub(super) use stop::DaemonStop;
