//! `daemon install` and `daemon uninstall`

use super::service::{Service, ServiceManager};
use super::{start, stop};
use crate::cli::command_context::CommandContext;
use crate::cli::local::LocalCommand;
use crate::ops::Terminal;
use poc_config::files;
use poc_graph::error::{Code, Error, Result};
use serde::Serialize;
use std::path::PathBuf;

/// Start the daemon with your session: registers it with systemd or launchd, and starts it
///
/// systemd restarts it when it fails or hangs. It runs while you are logged in; `loginctl enable-linger` keeps it
/// running afterwards.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonInstall {
    /// Only print the file that would be written
    #[arg(long)]
    dry_run: bool,
}

/// The answer of `daemon install`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct DaemonInstallOutput {
    /// The file that registers the daemon.
    pub(in crate::cli) file: PathBuf,
    /// Its text.
    text: String,
    /// Whether the file was written; otherwise it already existed, or this was a dry run.
    pub(in crate::cli) written: bool,
    /// The daemon's process id, unless this was a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
}

impl LocalCommand for DaemonInstall {
    const NAME: &'static str = "daemon install";
    type Output = DaemonInstallOutput;

    fn run(self, context: &CommandContext) -> Result<DaemonInstallOutput> {
        if self.dry_run {
            let (manager, file) = manager(context)?;
            let text = manager.text(&Service::of(&context.paths)?);
            return Ok(DaemonInstallOutput { file, text, written: false, pid: None });
        }
        install(context)
    }

    fn show(installed: &DaemonInstallOutput, _: &Terminal) -> String {
        let DaemonInstallOutput { file, text, written, pid } = installed;
        let file = file.display();
        match pid {
            None => format!("{file}:\n{text}"),
            Some(pid) if *written => {
                format!("wrote {file}\nthe daemon is running (pid {pid}) and starts with your session\n")
            }
            Some(pid) => {
                format!(
                    "{file} is up to date\nthe daemon is running (pid {pid}) and starts with your session\n"
                )
            }
        }
    }
}

/// No longer start the daemon with your session: stops it and removes what `daemon install` wrote
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonUninstall {}

/// The answer of `daemon uninstall`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct DaemonUninstallOutput {
    /// The file that registered the daemon.
    file: PathBuf,
    /// Whether the file existed.
    removed: bool,
}

impl LocalCommand for DaemonUninstall {
    const NAME: &'static str = "daemon uninstall";
    type Output = DaemonUninstallOutput;

    fn run(self, context: &CommandContext) -> Result<DaemonUninstallOutput> {
        uninstall(context)
    }

    fn show(output: &DaemonUninstallOutput, _: &Terminal) -> String {
        match output.removed {
            true => format!("removed {}\n", output.file.display()),
            false => "the daemon is not registered\n".to_owned(),
        }
    }
}

/// Registers the daemon and starts it.
///
/// # Errors
/// `unavailable` when there is no service manager or it refuses; a file that was written for it is removed again.
pub(in crate::cli) fn install(context: &CommandContext) -> Result<DaemonInstallOutput> {
    let (manager, file) = manager(context)?;
    context.config()?;
    manager.reach()?;
    context.paths.create()?;
    let text = manager.text(&Service::of(&context.paths)?);
    let before = std::fs::read_to_string(&file).ok();
    let written = before.as_deref() != Some(text.as_str());
    if written {
        // A running daemon must be stopped: one without the service manager holds the store, and one with it
        // uses the old file.
        match stop::stop(context) {
            Err(error) if error.code != Code::Unavailable => return Err(error),
            _ => {}
        }
        if manager == ServiceManager::Launchd {
            // A loaded agent keeps the text of its old file.
            manager.disable(&context.paths)?;
        }
        files::write(&file, &text)?;
    }
    if let Err(error) = enable(manager, context, written) {
        if written {
            let restored = match &before {
                Some(text) => files::write(&file, text),
                None => files::remove(&file),
            };
            restored?;
        }
        return Err(error);
    }
    let pid = start::wait(context)?.pid;
    Ok(DaemonInstallOutput { file, text, written, pid: Some(pid) })
}

/// Enables the daemon. If the file did not change, enables it only if the daemon is not running.
fn enable(manager: ServiceManager, context: &CommandContext, written: bool) -> Result<()> {
    if !written && start::is_running(context) {
        return Ok(());
    }
    manager.enable(&context.paths)
}

/// Removes the registration of the daemon.
///
/// # Errors
/// `unavailable` when the service manager refuses.
pub(in crate::cli) fn uninstall(context: &CommandContext) -> Result<DaemonUninstallOutput> {
    let (manager, file) = manager(context)?;
    let removed = file.exists();
    if removed {
        manager.disable(&context.paths)?;
        files::remove(&file)?;
    }
    Ok(DaemonUninstallOutput { file, removed })
}

fn manager(context: &CommandContext) -> Result<(ServiceManager, PathBuf)> {
    let Some(manager) = ServiceManager::of_system() else {
        return Err(Error::unavailable("this system has neither systemd nor launchd")
            .hint("`poc-memory daemon start` starts the daemon; let your service manager run `poc-daemon`"));
    };
    let file = manager.file(&context.paths).ok_or_else(|| {
        Error::config("`HOME` is not set").hint("services of the user are registered below the home folder")
    })?;
    Ok((manager, file))
}
