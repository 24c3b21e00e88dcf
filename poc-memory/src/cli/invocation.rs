//! The command line with which other programs start this one, with the folders and the profile of this call.

use super::command_context::CommandContext;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_notes::resolve::quoted;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A command line of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The program.
    pub(super) program: String,
    /// Its arguments, the global options first.
    pub(super) arguments: Vec<String>,
    /// The environment variables that determine the folders of the memory. Assistants pass on only a few
    /// environment variables.
    pub(super) environment: BTreeMap<&'static str, String>,
}

impl Invocation {
    /// A command with the tenant, the profile and the folders of this call.
    pub(super) fn of(context: &CommandContext, command: &[&str]) -> Result<Invocation> {
        let mut arguments = Vec::new();
        for pair in &context.globals.tenant {
            arguments.extend(["--tenant".to_owned(), pair.clone()]);
        }
        if let Some(profile) = &context.globals.profile {
            arguments.extend(["--profile".to_owned(), profile.clone()]);
        }
        arguments.extend(command.iter().map(|word| (*word).to_owned()));
        let environment =
            Paths::variables()?.into_iter().map(|(name, path)| (name, path.display().to_string())).collect();
        Ok(Invocation { program: program()?.display().to_string(), arguments, environment })
    }

    /// The command as a line for a shell, with the environment in front.
    pub(super) fn shell_line(&self) -> String {
        let environment = self.environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words = std::iter::once(&self.program).chain(&self.arguments).map(|word| quoted(word));
        environment.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// The path of this program. Prefers the path in `PATH` if it is the same file: package managers replace the
/// target of a symlink.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(|error| {
        Error::unavailable(format!("the path of this program cannot be determined: {error}"))
    })?;
    let name = own.file_name().unwrap_or_default().to_owned();
    let same = |path: &PathBuf| {
        path.canonicalize().is_ok_and(|real| own.canonicalize().is_ok_and(|own| own == real))
    };
    let found = in_path(Path::new(&name)).find(same);
    Ok(found.unwrap_or(own))
}

/// Whether a program is in `PATH`.
pub(super) fn is_in_path(name: &str) -> bool {
    in_path(Path::new(name)).any(|file| file.is_file())
}

/// The possible paths of a program, in the order of `PATH`.
fn in_path(name: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    folders.into_iter().filter(|folder| folder.is_absolute()).map(move |folder| folder.join(name))
}
