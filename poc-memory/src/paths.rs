//! Where things live on disk.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The directories of one profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    config: PathBuf,
    data: PathBuf,
    runtime: PathBuf,
}

impl Paths {
    /// `POC_MEMORY_HOME` puts everything in one folder; else the XDG directories, which default
    /// to `~/.config`, `~/.local/share` and, for the socket, the data directory. A profile is a
    /// sub-folder with its own store, socket and daemon.
    pub fn from_environment(profile: Option<&str>) -> Result<Paths> {
        Paths::resolve(
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from),
            profile,
        )
    }

    fn resolve(variable: impl Fn(&str) -> Option<PathBuf>, profile: Option<&str>) -> Result<Paths> {
        let paths = match variable("POC_MEMORY_HOME") {
            Some(home) => Paths::in_folder(&absolute(home)?),
            None => {
                let home = || {
                    variable("HOME").ok_or_else(|| {
                        Error::config("neither `POC_MEMORY_HOME` nor `HOME` is set")
                            .hint("set `POC_MEMORY_HOME` to the folder that shall hold the memory")
                    })
                };
                let under = |xdg: &str, fallback: &str| -> Result<PathBuf> {
                    match variable(xdg) {
                        Some(path) => Ok(path.join("poc-memory")),
                        None => Ok(home()?.join(fallback).join("poc-memory")),
                    }
                };
                let data = under("XDG_DATA_HOME", ".local/share")?;
                Paths {
                    config: under("XDG_CONFIG_HOME", ".config")?,
                    runtime: variable("XDG_RUNTIME_DIR")
                        .map_or_else(|| data.clone(), |path| path.join("poc-memory")),
                    data,
                }
            }
        };
        match profile {
            None => Ok(paths),
            Some(name)
                if name.is_empty()
                    || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
                    || name.starts_with('.') =>
            {
                Err(Error::invalid(format!("`{name}` is not a profile name"))
                    .hint("use letters, digits, `-`, `_` and `.`")
                    .field("profile"))
            }
            Some(name) => Ok(Paths {
                config: paths.config.join("profiles").join(name),
                data: paths.data.join("profiles").join(name),
                runtime: paths.runtime.join("profiles").join(name),
            }),
        }
    }

    /// Everything in one folder.
    pub fn in_folder(home: &Path) -> Paths {
        Paths { config: home.to_owned(), data: home.to_owned(), runtime: home.to_owned() }
    }

    /// The operator's settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Agent files.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// Prompt templates.
    pub fn prompts(&self) -> PathBuf {
        self.config.join("prompts")
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.data.join("store")
    }

    /// What is derived from a large graph, in the store.
    pub fn structure(&self) -> PathBuf {
        self.store().join("structure")
    }

    /// Prompts and replies of past runs.
    pub fn runs(&self) -> PathBuf {
        self.data.join("runs")
    }

    /// The daemon's log.
    pub fn daemon_log(&self) -> PathBuf {
        self.data.join("daemon.log")
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("daemon.sock")
    }

    /// The token of REST that may do everything.
    pub fn token(&self) -> PathBuf {
        self.config.join("token")
    }

    /// The token of REST that may only read.
    pub fn read_token(&self) -> PathBuf {
        self.config.join("token-read")
    }

    /// Makes the directories that are missing, readable by their owner only. Those of agents and
    /// prompts are left to whoever reads them: one that vanished must be seen to have vanished.
    pub fn create(&self) -> Result<()> {
        for directory in [&self.config, &self.data, &self.runtime, &self.store()] {
            create_private(directory)?;
        }
        Ok(())
    }
}

/// Makes a directory and its missing parents with mode 0700.
pub fn create_private(directory: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        Error::unavailable(format!("the folder `{}` cannot be made: {error}", directory.display()))
            .hint("set `POC_MEMORY_HOME` to a folder you may write to")
    })
}

fn absolute(path: PathBuf) -> Result<PathBuf> {
    std::path::absolute(&path)
        .map_err(|error| Error::config(format!("`{}` is not a usable folder: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_puts_everything_in_one_folder() {
        let paths =
            Paths::resolve(|name| (name == "POC_MEMORY_HOME").then(|| "/m".into()), Some("work")).unwrap();
        assert_eq!(paths.store(), Path::new("/m/profiles/work/store"));
        assert_eq!(paths.socket(), Path::new("/m/profiles/work/daemon.sock"));
    }

    #[test]
    fn a_profile_name_cannot_leave_its_folder() {
        for wrong in ["", "..", "a/b", ".x"] {
            assert!(Paths::resolve(|_| Some("/m".into()), Some(wrong)).is_err(), "{wrong}");
        }
    }
}
