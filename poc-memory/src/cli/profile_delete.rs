//! `profile delete`

use super::command_context::CommandContext;
use super::confirmation::confirm;
use super::local::LocalCommand;
use crate::ops::Terminal;
use poc_config::Config;
use poc_graph::error::{Code, Error, Result};
use poc_notes::resolve::quoted;
use poc_store::Store;
use serde::Serialize;
use std::path::PathBuf;

/// Delete a profile with its notes, settings and agents
///
/// Nothing of it can be restored: export the notes first if you may need them. On a terminal it asks for the
/// name of the profile; elsewhere `--yes` is required. The default profile and a profile in use are refused.
#[derive(Debug, clap::Args)]
pub(super) struct ProfileDelete {
    /// The profile
    #[arg(value_name = "NAME")]
    name: String,
    /// Delete without asking
    #[arg(long, short)]
    yes: bool,
}

/// The answer of `profile delete`.
#[derive(Debug, Serialize)]
pub(super) struct ProfileDeleteOutput {
    name: String,
    /// The folders that were deleted.
    folders: Vec<PathBuf>,
}

impl LocalCommand for ProfileDelete {
    const NAME: &'static str = "profile delete";
    type Output = ProfileDeleteOutput;

    fn run(self, context: &CommandContext) -> Result<ProfileDeleteOutput> {
        let paths = context.paths.of_profile(&self.name)?;
        let Some(folders) = paths.own_folders() else {
            return Err(Error::invalid("the default profile cannot be deleted")
                .hint("its folders contain all profiles; `poc-memory delete NOTE` deletes a note")
                .field("name"));
        };
        if !paths.exists() {
            let hint = match paths.closest_profile()? {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`poc-memory profile list` lists the profiles".to_owned(),
            };
            return Err(Error::not_found(format!("there is no profile `{}`", self.name))
                .hint(hint)
                .field("profile"));
        }
        let config = Config::load(&paths.config_file()).ok();
        if let Ok(Some((_, status))) = super::daemon_client::connect_with_status(&paths, config.as_ref()) {
            return Err(Error::conflict(format!(
                "the daemon of `{}` is running (process {})",
                self.name, status.pid
            ))
            .hint(format!("stop it first: `poc-memory --profile {} daemon stop`", quoted(&self.name))));
        }
        if !self.yes {
            confirm(&self.name, &format!("This deletes all notes of `{}`.", self.name))?;
        }
        if let Some(pid) = Store::holder(&paths.store())? {
            return Err(Error::new(
                Code::Locked,
                format!("the store of `{}` is held by {}", self.name, Store::holder_name(pid)),
            )
            .hint("wait for it to end, or stop it"));
        }
        let mut deleted = Vec::new();
        for folder in folders {
            match std::fs::remove_dir_all(&folder) {
                Ok(()) => deleted.push(folder),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("the folder `{}` cannot be deleted: {error}", folder.display());
                    return Err(Error::unavailable(message).hint("delete the remaining folders manually"));
                }
            }
        }
        Ok(ProfileDeleteOutput { name: self.name, folders: deleted })
    }

    fn show(output: &ProfileDeleteOutput, _: &Terminal) -> String {
        let folders = output.folders.iter().map(|folder| format!("  {}\n", folder.display()));
        format!("deleted the profile `{}`:\n{}", output.name, folders.collect::<String>())
    }
}
