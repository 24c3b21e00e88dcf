//! `profile list`, `profile show` and `profile create`.

use super::command_context::CommandContext;
use super::local::LocalCommand;
use crate::dispatch::{self, InProcess};
use crate::ops::Terminal;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_store::Store;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// List the profiles: separate memories, chosen with `--profile NAME`
#[derive(Debug, clap::Args)]
pub(super) struct ProfileList {}

/// The answer of `profile list`.
#[derive(Debug, Serialize)]
pub(super) struct ProfileListOutput {
    profiles: Vec<ProfileOutput>,
}

/// One profile.
#[derive(Debug, Serialize)]
pub(super) struct ProfileOutput {
    /// Name of the profile; `default` for the profile without a name.
    name: String,
    /// Whether it is the profile of this command.
    current: bool,
    /// Whether it has a store.
    stored: bool,
    /// Process id of its daemon, if one runs.
    daemon: Option<u32>,
    /// Its settings file.
    config: PathBuf,
    store: PathBuf,
    /// The socket of its daemon.
    socket: PathBuf,
}

impl ProfileOutput {
    fn of(paths: &Paths, current: &Paths) -> ProfileOutput {
        ProfileOutput {
            name: paths.profile().to_owned(),
            current: paths == current,
            stored: Store::exists(&paths.store()),
            daemon: daemon(paths),
            config: paths.config_file(),
            store: paths.store(),
            socket: paths.socket(),
        }
    }

    fn state(&self) -> String {
        match (self.daemon, self.stored) {
            (Some(pid), _) => format!("daemon {pid}"),
            (None, true) => "no daemon".into(),
            (None, false) => "no store yet".into(),
        }
    }
}

/// The process id of a profile's daemon; `None` if it does not answer or the settings are invalid.
fn daemon(paths: &Paths) -> Option<u32> {
    let config = Config::load(&paths.config_file()).ok();
    let (_, status) = super::daemon_client::connect_with_status(paths, config.as_ref()).ok()??;
    Some(status.pid)
}

impl LocalCommand for ProfileList {
    const NAME: &'static str = "profile list";
    type Output = ProfileListOutput;

    fn run(self, context: &CommandContext) -> Result<ProfileListOutput> {
        let current = &context.paths;
        let mut profiles = Vec::new();
        for name in current.profiles()? {
            profiles.push(ProfileOutput::of(&current.of_profile(&name)?, current));
        }
        Ok(ProfileListOutput { profiles })
    }

    fn show(listed: &ProfileListOutput, _: &Terminal) -> String {
        let width = listed.profiles.iter().map(|profile| profile.name.chars().count()).max().unwrap_or(0);
        listed.profiles.iter().fold(String::new(), |mut text, profile| {
            let mark = if profile.current { '*' } else { ' ' };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{mark} {:<width$}  {}", profile.name, profile.state());
            text
        })
    }
}

/// Show the paths of a profile, and whether its daemon runs
#[derive(Debug, clap::Args)]
pub(super) struct ProfileShow {
    /// The profile; the one in use when none is given
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl LocalCommand for ProfileShow {
    const NAME: &'static str = "profile show";
    type Output = ProfileOutput;

    fn run(self, context: &CommandContext) -> Result<ProfileOutput> {
        let current = &context.paths;
        let paths = match &self.name {
            Some(name) => current.of_profile(name)?,
            None => current.clone(),
        };
        paths.must_exist()?;
        Ok(ProfileOutput::of(&paths, current))
    }

    fn show(profile: &ProfileOutput, _: &Terminal) -> String {
        format!(
            "profile   {}\nsettings  {}\nstore     {}\nsocket    {}\nstate     {}\n",
            profile.name,
            profile.config.display(),
            profile.store.display(),
            profile.socket.display(),
            profile.state()
        )
    }
}

/// Create a profile: a separate memory with an empty store
///
/// Its settings are the defaults until `poc-memory --profile NAME init` writes a file to edit.
#[derive(Debug, clap::Args)]
pub(super) struct ProfileCreate {
    /// Letters, digits, `-`, `_` and `.`
    #[arg(value_name = "NAME")]
    name: String,
}

impl LocalCommand for ProfileCreate {
    const NAME: &'static str = "profile create";
    type Output = ProfileOutput;

    fn run(self, context: &CommandContext) -> Result<ProfileOutput> {
        let paths = context.paths.of_profile(&self.name)?;
        if Store::exists(&paths.store()) {
            return Err(Error::conflict(format!("the profile `{}` already exists", paths.profile()))
                .hint(format!("use it: `poc-memory --profile {} …`", paths.profile())));
        }
        let config = dispatch::load_settings(&paths.config_file())?;
        drop(InProcess::open(paths.clone(), config)?);
        Ok(ProfileOutput::of(&paths, &context.paths))
    }

    fn show(profile: &ProfileOutput, _: &Terminal) -> String {
        format!("created the profile `{}` with an empty store in {}\n", profile.name, profile.store.display())
    }
}
