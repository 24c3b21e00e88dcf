//! `profile list`, `profile show` and `profile create`.

use super::local::Local;
use super::session::Session;
use crate::dispatch::InProcess;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// List the profiles: memories of their own, chosen with `--profile NAME`
#[derive(Debug, clap::Args)]
pub(super) struct List {}

/// What `profile list` answers.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    profiles: Vec<Profile>,
}

/// One profile.
#[derive(Debug, Serialize)]
pub(super) struct Profile {
    /// `default` is the one without a name.
    name: String,
    /// Whether it is the one this command was asked about.
    current: bool,
    /// Whether it has a store yet.
    stored: bool,
    /// Process id of its daemon, when one runs.
    daemon: Option<u32>,
    /// Its settings.
    config: PathBuf,
    store: PathBuf,
    /// Where its daemon is reached.
    socket: PathBuf,
}

impl Profile {
    fn of(paths: &Paths, current: &Paths) -> Profile {
        Profile {
            name: paths.profile().to_owned(),
            current: paths == current,
            stored: paths.store().join("log").is_dir(),
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

/// The process id of a profile's daemon. One that does not answer, or has settings that cannot be
/// read, is none.
fn daemon(paths: &Paths) -> Option<u32> {
    let config = Config::load(&paths.config_file()).ok();
    let (_, status) = super::daemon::ask(paths, config.as_ref()).ok()??;
    Some(status.pid)
}

impl Local for List {
    const NAME: &'static str = "profile list";
    type Output = Listed;

    fn run(self, session: &Session) -> Result<Listed> {
        let current = &session.paths;
        let mut profiles = Vec::new();
        for name in current.profiles()? {
            profiles.push(Profile::of(&current.of_profile(&name)?, current));
        }
        Ok(Listed { profiles })
    }

    fn show(listed: &Listed) -> String {
        let width = listed.profiles.iter().map(|profile| profile.name.chars().count()).max().unwrap_or(0);
        listed.profiles.iter().fold(String::new(), |mut text, profile| {
            let mark = if profile.current { '*' } else { ' ' };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{mark} {:<width$}  {}", profile.name, profile.state());
            text
        })
    }
}

/// Show where a profile lives, and whether its daemon runs
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The profile; the one in use when none is given
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl Local for Show {
    const NAME: &'static str = "profile show";
    type Output = Profile;

    fn run(self, session: &Session) -> Result<Profile> {
        let current = &session.paths;
        let paths = match &self.name {
            Some(name) => current.of_profile(name)?,
            None => current.clone(),
        };
        if !paths.exists() {
            return Err(unknown(current, paths.profile())?);
        }
        Ok(Profile::of(&paths, current))
    }

    fn show(profile: &Profile) -> String {
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

/// Make a profile: a memory of its own, with an empty store
///
/// Its settings are the defaults until `poc-memory --profile NAME init` writes a file to edit.
#[derive(Debug, clap::Args)]
pub(super) struct Create {
    /// Letters, digits, `-`, `_` and `.`
    #[arg(value_name = "NAME")]
    name: String,
}

impl Local for Create {
    const NAME: &'static str = "profile create";
    type Output = Profile;

    fn run(self, session: &Session) -> Result<Profile> {
        let paths = session.paths.of_profile(&self.name)?;
        if paths.store().join("log").is_dir() {
            return Err(Error::conflict(format!("there is a profile `{}`", paths.profile()))
                .hint(format!("use it: `poc-memory --profile {} …`", paths.profile())));
        }
        let config = Config::load(&paths.config_file())?;
        drop(InProcess::open(paths.clone(), config)?);
        Ok(Profile::of(&paths, &session.paths))
    }

    fn show(profile: &Profile) -> String {
        format!("made the profile `{}` with an empty store in {}\n", profile.name, profile.store.display())
    }
}

/// What to say of a profile that is not there.
pub(super) fn unknown(paths: &Paths, name: &str) -> Result<Error> {
    let names = paths.profiles()?;
    let near = similar::to(name, names.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    Ok(Error::not_found(format!("there is no profile `{name}`"))
        .hint(format!("{near}`poc-memory profile create {name}` makes one of that name"))
        .field("profile"))
}

/// Refuses a profile that is not there: a name that was mistyped must not look like a memory that has
/// forgotten everything.
pub(super) fn must_exist(session: &Session) -> Result<()> {
    let paths = &session.paths;
    if paths.exists() { Ok(()) } else { Err(unknown(paths, paths.profile())?) }
}
