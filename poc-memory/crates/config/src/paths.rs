//! The files and directories of a profile.

use super::atomic_write::is_temporary;
use super::files;
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name of the default profile.
pub const DEFAULT_PROFILE: &str = "default";

/// The environment variable that names one folder for all files.
const HOME: &str = "POC_MEMORY_HOME";

/// The folder that contains the named profiles.
const PROFILES: &str = "profiles";

/// The directories of one profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    roots: Roots,
    profile: Option<String>,
    config: PathBuf,
    data: PathBuf,
    runtime: PathBuf,
    store: PathBuf,
}

/// The directories of the default profile. Those of named profiles are inside them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Roots {
    config: PathBuf,
    data: PathBuf,
    runtime: PathBuf,
    /// The home folder of the user; `None` if it is not set, or if all files are in one folder.
    home: Option<PathBuf>,
}

impl Paths {
    /// The directories of a profile, or of the default profile if `profile` is `None`. If `POC_MEMORY_HOME` is set,
    /// everything is in that folder. Otherwise the XDG directories are used: by default `~/.config`, `~/.local/share`
    /// and, for the socket, the data directory. A named profile is a sub-folder with its own store, socket and daemon.
    pub fn from_environment(profile: Option<&str>) -> Result<Paths> {
        Paths::resolve(
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from),
            profile,
        )
    }

    fn resolve(variable: impl Fn(&str) -> Option<PathBuf>, profile: Option<&str>) -> Result<Paths> {
        let roots = match variable(HOME) {
            Some(home) => Roots::in_folder(&absolute(home)?),
            None => {
                let home = || {
                    variable("HOME").ok_or_else(|| {
                        Error::config("neither `POC_MEMORY_HOME` nor `HOME` is set")
                            .hint("set `POC_MEMORY_HOME` to a folder for the memory")
                    })
                };
                let under = |xdg: &str, fallback: &str| -> Result<PathBuf> {
                    match variable(xdg) {
                        Some(path) => Ok(path.join("poc-memory")),
                        None => Ok(home()?.join(fallback).join("poc-memory")),
                    }
                };
                let data = under("XDG_DATA_HOME", ".local/share")?;
                Roots {
                    config: under("XDG_CONFIG_HOME", ".config")?,
                    runtime: variable("XDG_RUNTIME_DIR")
                        .map_or_else(|| data.clone(), |path| path.join("poc-memory")),
                    home: variable("HOME"),
                    data,
                }
            }
        };
        match profile {
            None => Ok(roots.paths()),
            Some(name) => roots.paths().of_profile(name),
        }
    }

    /// The environment variables that determine the directories, with absolute paths. A process started with a
    /// different environment needs them to find the same memory.
    pub fn variables() -> Result<Vec<(&'static str, PathBuf)>> {
        Paths::chosen_variables(|name| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        })
    }

    fn chosen_variables(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Vec<(&'static str, PathBuf)>> {
        const XDG: [&str; 3] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"];
        let names = if variable(HOME).is_some() { &[HOME][..] } else { &XDG };
        names.iter().filter_map(|name| variable(name).map(|path| Ok((*name, absolute(path)?)))).collect()
    }

    /// The default profile with all of its directories in one folder.
    pub fn in_folder(home: &Path) -> Paths {
        Roots::in_folder(home).paths()
    }

    /// The directories for a store outside any profile. Its settings, if any, are in the folder that contains the
    /// store.
    pub fn of_store(store: &Path) -> Paths {
        Paths { store: store.to_owned(), ..Paths::in_folder(store.parent().unwrap_or(store)) }
    }

    /// These directories, but with the settings, agents and prompts of another profile.
    pub fn with_settings_of(self, other: &Paths) -> Paths {
        Paths { config: other.config.clone(), ..self }
    }

    /// The directories of another profile with the same roots.
    pub fn of_profile(&self, name: &str) -> Result<Paths> {
        if name == DEFAULT_PROFILE {
            return Ok(self.roots.clone().paths());
        }
        if !is_profile_name(name) {
            return Err(Error::invalid(format!("`{name}` is not a profile name"))
                .hint("use letters, digits, `-`, `_` and `.`")
                .field("profile"));
        }
        let below = |root: &Path| root.join(PROFILES).join(name);
        let data = below(&self.roots.data);
        Ok(Paths {
            roots: self.roots.clone(),
            profile: Some(name.to_owned()),
            config: below(&self.roots.config),
            runtime: below(&self.roots.runtime),
            store: data.join("store"),
            data,
        })
    }

    /// The name of this profile.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or(DEFAULT_PROFILE)
    }

    /// Whether this profile exists. The default profile always exists.
    pub fn exists(&self) -> bool {
        self.profile.is_none() || self.data.is_dir() || self.config.is_dir()
    }

    /// Fails if this profile does not exist, so that a misspelt name does not look like an empty memory.
    ///
    /// # Errors
    /// `not_found`, with the most similar profile name as a hint.
    pub fn must_exist(&self) -> Result<()> {
        if self.exists() {
            return Ok(());
        }
        let name = self.profile();
        let near = self.closest_profile()?;
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        Err(Error::not_found(format!("there is no profile `{name}`"))
            .hint(format!("{near}`poc-memory profile create {name}` creates it"))
            .field("profile"))
    }

    /// The existing profile with the most similar name, if there is one.
    pub fn closest_profile(&self) -> Result<Option<String>> {
        let names = self.profiles()?;
        let others = names.iter().map(String::as_str).filter(|name| *name != self.profile());
        Ok(similar::closest(self.profile(), others).map(str::to_owned))
    }

    /// The names of all existing profiles, the default profile first.
    pub fn profiles(&self) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        for root in [&self.roots.config, &self.roots.data] {
            let folder = root.join(PROFILES);
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(&folder, &error)),
            };
            for entry in entries {
                let entry = entry.map_err(|error| unreadable(&folder, &error))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.path().is_dir() && is_profile_name(&name) {
                    names.insert(name);
                }
            }
        }
        Ok(std::iter::once(DEFAULT_PROFILE.to_owned()).chain(names).collect())
    }

    /// The settings file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The folder of agent files.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// The folder of prompt templates.
    pub fn prompts(&self) -> PathBuf {
        self.config.join("prompts")
    }

    /// The JSON Schema of agent files, at the path to which the first line of an agent file refers editors.
    pub fn agent_schema(&self) -> PathBuf {
        self.schema().join("agent.json")
    }

    /// The folder of the schema of agent files.
    fn schema(&self) -> PathBuf {
        self.config.join("schema")
    }

    /// The folder of the store.
    pub fn store(&self) -> PathBuf {
        self.store.clone()
    }

    /// The file with the saved derived structure of a large graph, in the store.
    pub fn structure(&self) -> PathBuf {
        self.store().join("structure")
    }

    /// The file with the result of the last verification of the store.
    pub fn verification(&self) -> PathBuf {
        self.store().join("verification.json")
    }

    /// The folder of prompts and replies of past runs.
    pub fn runs(&self) -> PathBuf {
        self.data.join("runs")
    }

    /// The folder with the positions up to which assistants' transcripts were captured, one file per transcript.
    pub fn transcripts(&self) -> PathBuf {
        self.data.join("transcripts")
    }

    /// The folder with the results of the last scans of vaults, one file per vault, and with copies of the files that
    /// a write-back has changed.
    pub fn vaults(&self) -> PathBuf {
        self.data.join("vaults")
    }

    /// The log file of the daemon.
    pub fn daemon_log(&self) -> PathBuf {
        self.data.join("daemon.log")
    }

    /// The folder with the state of assistants' hooks: one file per session.
    pub fn hook_sessions(&self) -> PathBuf {
        self.data.join("hooks")
    }

    /// The log file of assistants' hooks.
    pub fn hook_log(&self) -> PathBuf {
        self.data.join("hooks.log")
    }

    /// The file that records what `setup` wrote.
    pub fn setup_record(&self) -> PathBuf {
        self.data.join("setup.json")
    }

    /// The socket of the daemon.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("daemon.sock")
    }

    /// The file with the token for a user's own programs.
    pub fn token(&self) -> PathBuf {
        self.config.join("token")
    }

    /// The file with the token for models.
    pub fn model_token(&self) -> PathBuf {
        self.config.join("token-model")
    }

    /// The file with the read-only token.
    pub fn read_token(&self) -> PathBuf {
        self.config.join("token-read")
    }

    /// The file with the sessions of browsers that are signed in to the page.
    pub fn page_sessions(&self) -> PathBuf {
        self.data.join("page-sessions.json")
    }

    /// The file that leads a browser to a link that signs it in, while the link works. It is in the home folder, unless
    /// all files are in one folder: a browser in a sandbox, such as a snap, can read no hidden folders there.
    pub fn sign_in_file(&self) -> PathBuf {
        let profile = self.profile.as_ref().map_or_else(String::new, |name| format!("-{name}"));
        match &self.roots.home {
            Some(home) => home.join(format!("poc-memory{profile}-sign-in.html")),
            None => self.data.join("sign-in.html"),
        }
    }

    /// The files and folders outside the store that are of use on this machine only, so that a backup leaves them out.
    pub fn machine_files(&self) -> [PathBuf; 12] {
        [
            self.transcripts(),
            self.vaults(),
            self.daemon_log(),
            self.hook_sessions(),
            self.hook_log(),
            self.setup_record(),
            self.socket(),
            self.token(),
            self.model_token(),
            self.read_token(),
            self.page_sessions(),
            self.sign_in_file(),
        ]
    }

    /// Whether a memory has a file or folder of this name in one of its top folders. Extensions are not compared: a
    /// former log has another one.
    pub fn has_name(&self, name: &OsStr) -> bool {
        let files =
            [self.config_file(), self.agents(), self.prompts(), self.schema(), self.store(), self.runs()];
        let stem = |name: &OsStr| name.to_string_lossy().split('.').next().map(str::to_owned);
        let is_named = |path: &PathBuf| path.file_name().and_then(stem) == stem(name);
        name == OsStr::new(PROFILES)
            || is_temporary(name)
            || self.machine_files().iter().chain(&files).any(is_named)
    }

    /// Creates missing directories, accessible only to their owner. The directories of agents and prompts are not
    /// created, because the code that reads them reports when they were deleted.
    pub fn create(&self) -> Result<()> {
        self.folders().iter().try_for_each(|folder| create_private(folder))
    }

    /// The folders that belong to a named profile alone; `None` for the default profile, whose folders contain all
    /// others.
    pub fn own_folders(&self) -> Option<Vec<PathBuf>> {
        self.profile.as_ref()?;
        let mut folders = vec![self.data.clone(), self.config.clone(), self.runtime.clone()];
        folders.sort();
        folders.dedup();
        Some(folders)
    }

    /// The top folders, which contain all files of the profile.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.config.clone(), self.data.clone(), self.runtime.clone(), self.store()];
        folders.dedup();
        folders
    }
}

impl Roots {
    fn in_folder(home: &Path) -> Roots {
        Roots { config: home.to_owned(), data: home.to_owned(), runtime: home.to_owned(), home: None }
    }

    fn paths(self) -> Paths {
        Paths {
            profile: None,
            config: self.config.clone(),
            data: self.data.clone(),
            runtime: self.runtime.clone(),
            store: self.data.join("store"),
            roots: self,
        }
    }
}

fn is_profile_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('.') && name != DEFAULT_PROFILE && name.chars().all(allowed)
}

fn unreadable(folder: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("the folder `{}` cannot be read: {error}", folder.display()))
}

/// What to do if a folder of the memory cannot be created.
const WRITABLE_FOLDER: &str =
    "name a folder that you may write to; `POC_MEMORY_HOME` sets the folder of the memory";

/// Creates a directory and its missing parents with mode 0700.
pub fn create_private(directory: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        Error::unavailable(format!("the folder `{}` cannot be created: {error}", directory.display())).hint(
            match files::foreign_owner(directory, &error) {
                Some(owner) => format!("{owner}: change the owner, or {WRITABLE_FOLDER}"),
                None => WRITABLE_FOLDER.to_owned(),
            },
        )
    })
}

/// Resolves a path in the settings: absolute, or below the home folder as `~/…`.
pub fn named(path: &str, home: Option<&str>) -> std::result::Result<PathBuf, String> {
    let full = match path.strip_prefix("~/") {
        Some(rest) => PathBuf::from(home.ok_or("`HOME` is not set")?).join(rest),
        None => PathBuf::from(path),
    };
    if full.is_absolute() {
        Ok(full)
    } else {
        Err(format!("write `{path}` as an absolute path or with `~/` in front"))
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf> {
    std::path::absolute(&path)
        .map_err(|error| Error::config(format!("`{}` is not a usable folder: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poc_memory_home_moves_all_paths_into_one_folder() {
        let paths =
            Paths::resolve(|name| (name == "POC_MEMORY_HOME").then(|| "/m".into()), Some("work")).unwrap();
        assert_eq!(paths.store(), Path::new("/m/profiles/work/store"));
        assert_eq!(paths.socket(), Path::new("/m/profiles/work/daemon.sock"));
    }

    #[test]
    fn a_browser_in_a_sandbox_can_read_the_file_that_signs_it_in() {
        let file = |variable: &'static str, path: &'static str, profile| {
            let paths = Paths::resolve(|name| (name == variable).then(|| path.into()), profile).unwrap();
            paths.sign_in_file().display().to_string()
        };
        assert_eq!(file("HOME", "/home/ann", None), "/home/ann/poc-memory-sign-in.html");
        assert_eq!(file("HOME", "/home/ann", Some("work")), "/home/ann/poc-memory-work-sign-in.html");
        assert_eq!(file("POC_MEMORY_HOME", "/m", None), "/m/sign-in.html");
        assert_eq!(file("POC_MEMORY_HOME", "/m", Some("work")), "/m/profiles/work/sign-in.html");
    }

    #[test]
    fn the_variables_that_another_process_needs_are_listed() {
        let variables = |set: &[(&str, &str)]| {
            let value =
                |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, path)| path.into());
            Paths::chosen_variables(value).unwrap()
        };
        assert_eq!(variables(&[]), []);
        let xdg = ("XDG_DATA_HOME", "/data");
        assert_eq!(variables(&[xdg]), [("XDG_DATA_HOME", "/data".into())]);
        assert_eq!(variables(&[xdg, ("POC_MEMORY_HOME", "/m")]), [("POC_MEMORY_HOME", "/m".into())]);
        let here = std::env::current_dir().unwrap();
        assert_eq!(variables(&[("POC_MEMORY_HOME", "m")]), [("POC_MEMORY_HOME", here.join("m"))]);
    }

    #[test]
    fn a_profile_lists_all_profiles_of_its_folder() {
        let folder = poc_graph::testing::folder();
        let unnamed = Paths::in_folder(folder.path());
        assert_eq!(unnamed.profiles().unwrap(), ["default"]);
        for name in ["work", "home"] {
            create_private(&unnamed.of_profile(name).unwrap().config).unwrap();
        }
        let work = unnamed.of_profile("work").unwrap();
        assert_eq!(work.profiles().unwrap(), ["default", "home", "work"]);
        assert_eq!((work.profile(), work.exists()), ("work", true));
        assert!(!work.of_profile("nowhere").unwrap().exists());
        assert_eq!(work.of_profile("default").unwrap(), unnamed);
    }

    #[test]
    fn a_store_can_be_outside_a_profile() {
        let paths = Paths::of_store(Path::new("/mnt/shared/notes"));
        assert_eq!(paths.store(), Path::new("/mnt/shared/notes"));
        assert_eq!(paths.config_file(), Path::new("/mnt/shared/config.toml"));
    }

    #[test]
    fn an_invalid_profile_name_is_refused() {
        for wrong in ["", "..", "a/b", ".x"] {
            assert!(Paths::resolve(|_| Some("/m".into()), Some(wrong)).is_err(), "{wrong}");
        }
    }
}
