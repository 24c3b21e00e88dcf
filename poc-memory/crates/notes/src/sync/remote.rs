//! Finds and opens the remote store.

use super::binding::RemoteLocation;
use crate::Memory;
use crate::resolve::operand;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Code, Error, Result};
use poc_graph::similar;
use poc_store::Store;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A remote store that was found but not opened.
pub struct RemoteStore {
    paths: Paths,
    name: String,
}

/// Finds the store at a location.
///
/// # Errors
/// `not_found` if there is none; `conflict` if it is this memory's own store or has a newer format. Nothing is
/// opened or changed.
pub(super) fn find(memory: &Memory, location: &RemoteLocation) -> Result<RemoteStore> {
    let paths = locate(memory, location)?;
    let name = format!("the remote `{location}`");
    if !is_store(&paths.store()) {
        return Err(missing(memory, location, &paths)?);
    }
    check_other(memory, &paths, &name)?;
    Store::check_format(&paths.store()).map_err(|error| of_remote(&name, error))?;
    Ok(RemoteStore { paths, name })
}

/// Creates an empty store at a location that has none.
pub(super) fn create(memory: &Memory, location: &RemoteLocation) -> Result<RemoteStore> {
    let paths = locate(memory, location)?;
    if is_store(&paths.store()) {
        return find(memory, location);
    }
    let found = RemoteStore { paths, name: format!("the remote `{location}`") };
    drop(found.open(memory)?);
    Ok(found)
}

fn locate(memory: &Memory, location: &RemoteLocation) -> Result<Paths> {
    match location {
        RemoteLocation::Profile(name) => memory.paths.of_profile(name).map_err(|error| error.field("remote")),
        // The folder may be the store itself, or the root folder of a memory.
        RemoteLocation::Folder(folder) if is_store(folder) => Ok(Paths::of_store(folder)),
        RemoteLocation::Folder(folder) => Ok(Paths::in_folder(folder)),
    }
}

impl RemoteStore {
    /// The folder of the store.
    pub fn store(&self) -> std::path::PathBuf {
        self.paths.store()
    }

    /// The id of the process that has it open, if any; 0 if the id is unknown.
    pub fn holder(&self) -> Result<Option<u32>> {
        Store::holder(&self.paths.store())
    }

    /// Opens it with its own configuration, so that pushed notes are embedded and get edges as if they had been
    /// written there.
    ///
    /// # Errors
    /// `locked` if a process has it open.
    pub(super) fn open(&self, memory: &Memory) -> Result<Memory> {
        let config = Config::load(&self.paths.config_file()).map_err(|error| of_remote(&self.name, error))?;
        let opened = Memory::open(self.paths.clone(), config, memory.clock.clone(), memory.rng.clone());
        opened.map_err(|error| match error.code {
            Code::Locked => self.locked(&error),
            _ => of_remote(&self.name, error),
        })
    }

    fn locked(&self, error: &Error) -> Error {
        if error.message.ends_with(&Store::holder_name(std::process::id())) {
            return Error::new(Code::Locked, format!("{} is being synchronised already", self.name))
                .hint("try again when that is done");
        }
        let message = error.message.replacen("the store", &self.name, 1);
        let profile = match self.paths.profile() {
            poc_config::paths::DEFAULT_PROFILE => String::new(),
            name => format!(" --profile {name}"),
        };
        Error::new(Code::Locked, message)
            .hint(format!("stop it first: a daemon with `poc-memory{profile} daemon stop`"))
    }
}

fn is_store(folder: &Path) -> bool {
    Store::exists(folder)
}

/// Refuses a remote that is this store, also through a link or another mount. A copy is another store, even
/// though it has the same store id.
fn check_other(memory: &Memory, paths: &Paths, name: &str) -> Result<()> {
    let (own, other) = (memory.paths.store(), paths.store());
    let file = |folder: &Path, part: &str| {
        let found = std::fs::metadata(folder.join(part)).ok()?;
        Some((found.dev(), found.ino()))
    };
    let same = ["lock", "log"].iter().any(|part| {
        let own = file(&own, part);
        own.is_some() && own == file(&other, part)
    });
    if same {
        return Err(Error::conflict(format!("{name} is the local store itself"))
            .hint("name another profile or folder")
            .field("remote"));
    }
    Ok(())
}

fn missing(memory: &Memory, location: &RemoteLocation, paths: &Paths) -> Result<Error> {
    let error = match location {
        RemoteLocation::Profile(name) => {
            let names = memory.paths.profiles()?;
            let error = Error::not_found(match paths.exists() {
                true => format!("the profile `{name}` has no store yet"),
                false => format!("there is no profile `{name}`"),
            });
            match similar::closest(name, names.iter().map(String::as_str)).filter(|near| near != name) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("`poc-memory profile create {name}` creates it")),
            }
        }
        RemoteLocation::Folder(folder) if folder.is_dir() => {
            Error::not_found(format!("there is no store in `{}`", folder.display()))
                .hint(format!("`{}` creates an empty one there", create_command(folder)))
        }
        RemoteLocation::Folder(folder) => {
            Error::not_found(format!("there is no folder `{}`", folder.display()))
                .hint(format!("is its disk mounted? `{}` creates it", create_command(folder)))
        }
    };
    Ok(error.field("remote"))
}

/// The command that creates a store in a folder and binds it.
fn create_command(folder: &Path) -> String {
    format!("poc-memory profile remote bind --create {}", operand(&folder.display().to_string()))
}

fn of_remote(name: &str, error: Error) -> Error {
    let others = error.others.into_iter().map(|other| of_remote(name, other)).collect();
    Error { message: format!("{name}: {}", error.message), others, ..error }
}
