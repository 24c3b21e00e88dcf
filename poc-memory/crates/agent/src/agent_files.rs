//! The files of an agent as an editor reads, checks and replaces them: the agent file and its template.
//!
//! A file is replaced only if it has not changed since it was read, and its former text is kept beside it.

use super::catalog::{MAX_BYTES, read_text, template};
use super::definition::{check_name, schema};
use super::new_agent::AgentDraft;
use super::template::checked_name;
use super::{Definition, DefinitionContext, embedded};
use poc_config::paths::{Paths, create_private};
use poc_config::{atomic_write, files};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Code, Error, Result};
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder inside `agents` and `prompts` with the texts that were replaced last.
const PREVIOUS: &str = ".previous";

/// A file of an agent, as read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentFile {
    /// Its name in the folder of the profile: `agents/linker.toml`.
    pub file: String,
    /// Its text.
    pub text: String,
    /// BLAKE3 hash of the text, in hex.
    pub version: String,
    /// Whether it is the bundled text, because there is no file of this name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bundled: bool,
    /// The text that `agent save` replaced last, or else the bundled one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

/// The files of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentFiles {
    /// The agent file.
    pub agent: AgentFile,
    /// Its template; absent if the prompt is in the agent file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<AgentFile>,
}

/// New texts for the files of an agent. A text that is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentEdits {
    /// The text of the agent file.
    pub agent: Option<String>,
    /// The text of the template that the agent file names.
    pub prompt: Option<String>,
}

/// The versions that were read before the files were edited; absent for a file that did not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedVersions {
    /// Version of the agent file.
    pub agent: Option<String>,
    /// Version of the template.
    pub prompt: Option<String>,
}

/// The files of an agent.
///
/// # Errors
/// `not_found` when the agent has no file and is not bundled, `invalid_config` when a file cannot be read.
pub fn read(memory: &Memory, agent: &str) -> Result<AgentFiles> {
    check_name(agent)?;
    let location = FileLocation::agent(&memory.paths, agent);
    let file = location
        .read()?
        .ok_or_else(|| Error::not_found(format!("there is no agent `{agent}`")).field("agent"))?;
    let prompt = template_of(&file.text).map(|name| FileLocation::prompt(&memory.paths, &name)?.read());
    Ok(AgentFiles { agent: file, prompt: prompt.transpose()?.flatten() })
}

/// Checks the files of an agent with edits: the definition, or all its diagnostics.
///
/// # Errors
/// As [`read`].
pub fn check(
    memory: &Memory,
    agent: &str,
    edits: &AgentEdits,
) -> Result<std::result::Result<Definition, Vec<FileDiagnostic>>> {
    Ok(match check_despite_errors(memory, agent, edits)? {
        (Some(definition), diagnostics) if diagnostics.is_empty() => Ok(definition),
        (_, diagnostics) => Err(diagnostics),
    })
}

/// Like [`check`], but with the definition of files with errors, if they have one: nothing may run it, but further
/// mistakes can be found in it.
///
/// # Errors
/// As [`read`].
pub fn check_despite_errors(
    memory: &Memory,
    agent: &str,
    edits: &AgentEdits,
) -> Result<(Option<Definition>, Vec<FileDiagnostic>)> {
    let file = format!("agents/{agent}.toml");
    let text = match &edits.agent {
        Some(text) => text.clone(),
        None => read(memory, agent)?.agent.text,
    };
    for (name, text) in [(file.as_str(), Some(&text)), ("the template", edits.prompt.as_ref())] {
        if text.is_some_and(|text| text.len() as u64 > MAX_BYTES) {
            let long = FileDiagnostic::new(format!("it has more than {MAX_BYTES} bytes"));
            return Ok((None, vec![long.file(name)]));
        }
    }
    let own = template_of(&text);
    let (prompts, names) = (memory.paths.prompts(), memory.names.load());
    let template = |name: &str| match &edits.prompt {
        Some(text) if own.as_deref() == Some(name) => checked_name(name).map(|_| text.clone()),
        _ => template(&prompts, name),
    };
    let context = DefinitionContext { config: &memory.config, names: &names, template: &template };
    Ok(Definition::parse_despite_errors(agent, &file, &text, &context))
}

/// Writes new texts of an agent's files if the agent is then valid; returns whether a file changed. Each file that is
/// replaced must still have the version that was read.
///
/// # Errors
/// `invalid_argument` with the first diagnostic, `conflict` when a file has changed since it was read,
/// `unavailable` when a file cannot be written. After an error, no file has changed.
pub fn save(memory: &Memory, agent: &str, edits: &AgentEdits, versions: &ExpectedVersions) -> Result<bool> {
    check_name(agent)?;
    check(memory, agent, edits)?.map_err(|diagnostics| first_error(agent, diagnostics))?;
    let (agents, prompts) = (memory.paths.agents(), memory.paths.prompts());
    [&agents, &prompts].into_iter().try_for_each(|folder| create_private(folder))?;
    let location = FileLocation::agent(&memory.paths, agent);
    let text = match &edits.agent {
        Some(text) => {
            location.require_version(versions.agent.as_deref())?;
            text.clone()
        }
        None => location.read()?.map(|file| file.text).unwrap_or_default(),
    };
    // The template is written first: without it, a new agent would be invalid for a moment.
    let prompt = match (&edits.prompt, template_of(&text)) {
        (Some(prompt), Some(name)) => Some((FileLocation::prompt(&memory.paths, &name)?, prompt)),
        (Some(_), None) => {
            let error = Error::invalid(format!("the file of `{agent}` names no template"));
            return Err(error.hint("its prompt is in the agent file itself").field("prompt"));
        }
        (None, _) => None,
    };
    let mut changed = false;
    let mut undo = None;
    if let Some((location, prompt)) = &prompt {
        let before = location.on_disk()?;
        changed = location.replace(versions.prompt.as_deref(), prompt)?;
        undo = Some((location, prompt, before)).filter(|_| changed);
    }
    if edits.agent.is_some() {
        match location.replace(versions.agent.as_deref(), &text) {
            Ok(is_new) => changed |= is_new,
            Err(error) => {
                if let Some((location, written, before)) = undo {
                    location.put_back(written, before.as_deref())?;
                }
                return Err(error);
            }
        }
    }
    Ok(changed)
}

/// Writes the files of a new agent; returns their paths, the agent file first.
///
/// # Errors
/// `conflict` when one of them exists or the name is that of a bundled agent, `unavailable` when they cannot
/// be written. After an error, no file remains.
pub fn create(paths: &Paths, agent: &str, draft: AgentDraft) -> Result<Vec<PathBuf>> {
    let location = FileLocation::agent(paths, agent);
    let file = location.path();
    if location.bundled.is_some() && !file.exists() {
        return Err(Error::conflict(format!("`{agent}` is a bundled agent"))
            .hint(format!("choose another name: `poc-memory agent new my-{agent} --from {agent}` copies it"))
            .field("agent"));
    }
    paths.create()?;
    [paths.agents(), paths.prompts()].iter().try_for_each(|folder| create_private(folder))?;
    let prompt = draft.prompt.map(|prompt| (paths.prompts().join(prompt.name), prompt.text));
    if file.symlink_metadata().is_ok() {
        return Err(Error::conflict(format!("the agent `{agent}` already exists"))
            .hint(format!("edit `{}`, or choose another name", file.display()))
            .field("agent"));
    }
    if let Some((file, _)) = prompt.as_ref().filter(|(file, _)| file.symlink_metadata().is_ok()) {
        return Err(already_exists(file));
    }
    write_schema(paths)?;
    // The prompt is written first: without it, the agent would be invalid for a moment.
    let mut created = Vec::new();
    for (file, text) in prompt.into_iter().chain([(file, draft.agent)]) {
        match files::write_new(&file, &text) {
            Ok(true) => created.push(file),
            ended => {
                // Best effort: a file that cannot be removed does no harm.
                created.iter().for_each(|written| _ = std::fs::remove_file(written));
                return Err(ended.err().unwrap_or_else(|| already_exists(&file)));
            }
        }
    }
    created.reverse();
    Ok(created)
}

/// Writes the JSON Schema that agent files refer to, and returns whether the file changed. It is replaced without
/// asking, because it belongs to the program.
///
/// # Errors
/// `unavailable` when it cannot be written.
pub fn write_schema(paths: &Paths) -> Result<bool> {
    let path = paths.agent_schema();
    let text = serde_json::to_string_pretty(&schema()).unwrap_or_default() + "\n";
    if std::fs::read_to_string(&path).is_ok_and(|current| current == text) {
        return Ok(false);
    }
    create_private(path.parent().unwrap_or(&path))?;
    files::write(&path, &text)?;
    Ok(true)
}

fn already_exists(file: &Path) -> Error {
    Error::conflict(format!("`{}` already exists", file.display()))
        .hint("edit it, or choose another name")
        .field("agent")
}

/// The first diagnostic as the error of a request, with the number of the others. The text is an argument of
/// the request, so the code is not that of a broken file.
fn first_error(agent: &str, diagnostics: Vec<FileDiagnostic>) -> Error {
    let more = diagnostics.len().saturating_sub(1);
    let first = diagnostics.into_iter().next();
    let error = first.map_or_else(|| Error::config(format!("the agent `{agent}` is invalid")), Error::from);
    let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    Error { code: Code::InvalidArgument, message: error.message.clone() + &others, ..error }
}

/// The name of the template in the text of an agent file; none if the text is not valid TOML.
fn template_of(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    table.get("prompt")?.get("template")?.as_str().map(str::to_owned)
}

/// The BLAKE3 hash of a text, in hex.
fn version(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Whether a file is in a folder when links are followed.
fn is_inside(path: &Path, folder: &Path) -> bool {
    path.canonicalize()
        .ok()
        .zip(folder.canonicalize().ok())
        .is_some_and(|(path, folder)| path.starts_with(folder))
}

/// The location of a file of an agent, and its bundled text.
struct FileLocation {
    folder: PathBuf,
    /// `agents` or `prompts`.
    kind: &'static str,
    name: String,
    /// The text that the program contains; `None` for files of custom agents.
    bundled: Option<&'static str>,
}

impl FileLocation {
    fn agent(paths: &Paths, agent: &str) -> FileLocation {
        let name = format!("{agent}.toml");
        let bundled = embedded::agents().iter().find(|file| file.name == name).map(|file| file.text);
        FileLocation { folder: paths.agents(), kind: "agents", name, bundled }
    }

    fn prompt(paths: &Paths, name: &str) -> Result<FileLocation> {
        checked_name(name)?;
        let bundled = embedded::prompts().iter().find(|file| file.name == name).map(|file| file.text);
        Ok(FileLocation { folder: paths.prompts(), kind: "prompts", name: name.to_owned(), bundled })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn previous_path(&self) -> PathBuf {
        self.folder.join(PREVIOUS).join(&self.name)
    }

    /// Its name in the folder of the profile: `agents/linker.toml`.
    fn label(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// The text of the file on disk.
    fn on_disk(&self) -> Result<Option<String>> {
        let path = self.path();
        match read_text(&path) {
            // As in a run, a link to a template must not lead out of the folder.
            Ok(_) if self.kind == "prompts" && !is_inside(&path, &self.folder) => {
                Err(Error::config(format!("`{}` is outside the `prompts` folder", self.label()))
                    .hint("copy it into the folder"))
            }
            Ok(text) => Ok(Some(text.map_err(|diagnostic| diagnostic.file(self.label()))?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::config(format!("cannot be read: {error}")).file(self.label())),
        }
    }

    /// The file, or else the bundled text.
    fn read(&self) -> Result<Option<AgentFile>> {
        let current = self.on_disk()?;
        let bundled = current.is_none();
        let Some(text) = current.or_else(|| self.bundled.map(str::to_owned)) else { return Ok(None) };
        let replaced = read_text(&self.previous_path()).ok().and_then(std::result::Result::ok);
        let previous =
            replaced.or_else(|| self.bundled.map(str::to_owned)).filter(|previous| *previous != text);
        Ok(Some(AgentFile { file: self.label(), version: version(&text), text, bundled, previous }))
    }

    /// Returns `conflict` if the file does not have the version that was read.
    fn require_version(&self, read: Option<&str>) -> Result<()> {
        let current = self.read()?.map(|file| file.version);
        if current.as_deref() == read { Ok(()) } else { Err(self.changed_error()) }
    }

    fn changed_error(&self) -> Error {
        Error::conflict(format!("`{}` has changed since it was read", self.label()))
            .hint("read it again, and repeat your change")
            .file(self.label())
    }

    /// Replaces the version that was read by a text; returns whether the file changed.
    fn replace(&self, read: Option<&str>, text: &str) -> Result<bool> {
        self.require_version(read)?;
        let current = self.on_disk()?;
        if current.as_deref().or(self.bundled) == Some(text) {
            return Ok(false);
        }
        let path = self.path();
        create_private(path.parent().unwrap_or(&self.folder))?;
        let Some(old) = current else {
            return if files::write_new(&path, text)? { Ok(true) } else { Err(self.changed_error()) };
        };
        // A link is followed, so that the file it leads to is replaced and not the link.
        let real = path.canonicalize().map_err(|error| files::write_error(&path, &error))?;
        let previous = self.previous_path();
        create_private(previous.parent().unwrap_or(&self.folder))?;
        files::write(&previous, &old)?;
        self.exchange(&real, read, text)?;
        Ok(true)
    }

    /// Replaces the version that was read. A change between reading and writing is detected and kept.
    fn exchange(&self, path: &Path, read: Option<&str>, text: &str) -> Result<()> {
        let is_read = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(version).as_deref() == read;
        let replaced = atomic_write::synced_temporary(path, text.as_bytes())
            .and_then(|temporary| atomic_write::replace_expected(path, temporary, is_read));
        match replaced {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.changed_error()),
            Err(error) => Err(files::write_error(path, &error)),
        }
    }

    /// Reverts a replacement.
    fn put_back(&self, written: &str, before: Option<&str>) -> Result<()> {
        match before {
            Some(before) => self.replace(Some(&version(written)), before).map(drop),
            None => files::remove(&self.path()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world::World;

    const MINE: &str = "[query]\npipeline = \"all\"\n[prompt]\ntemplate = \"mine.md\"\nplaceholders = [\"NODES\"]\n\
        [execution]\nmodel = \"default\"\nactions = [\"weight\"]\nschedule = \"on-demand\"\n";

    fn edit(agent: Option<&str>, prompt: Option<&str>) -> AgentEdits {
        AgentEdits { agent: agent.map(str::to_owned), prompt: prompt.map(str::to_owned) }
    }

    fn versions(files: &AgentFiles) -> ExpectedVersions {
        let prompt = files.prompt.as_ref().map(|prompt| prompt.version.clone());
        ExpectedVersions { agent: Some(files.agent.version.clone()), prompt }
    }

    fn world() -> World {
        let world = World::new();
        world.file("prompts/mine.md", "{{ NODES }}");
        world.file("agents/mine.toml", MINE);
        world
    }

    fn on_disk(world: &World, file: &str) -> Option<String> {
        std::fs::read_to_string(world.home.path().join(file)).ok()
    }

    #[test]
    fn a_valid_text_replaces_the_text_that_was_read_and_keeps_a_copy() {
        let world = world();
        let files = read(&world.memory, "mine").unwrap();
        assert_eq!((files.agent.text.as_str(), files.agent.previous.as_deref()), (MINE, None));
        let new = MINE.replace("\"all\"", "\"all | limit:3\"");
        assert!(save(&world.memory, "mine", &edit(Some(&new), None), &versions(&files)).unwrap());
        let saved = read(&world.memory, "mine").unwrap();
        assert_eq!((saved.agent.text.as_str(), saved.agent.previous.as_deref()), (new.as_str(), Some(MINE)));
        // Saving the same text again changes nothing, and the previous version stays available.
        assert!(!save(&world.memory, "mine", &edit(Some(&new), None), &versions(&saved)).unwrap());
        assert_eq!(read(&world.memory, "mine").unwrap(), saved);
        // Saving the previous text restores it.
        assert!(save(&world.memory, "mine", &edit(Some(MINE), None), &versions(&saved)).unwrap());
        assert_eq!(read(&world.memory, "mine").unwrap().agent.previous.as_deref(), Some(new.as_str()));
    }

    #[test]
    fn a_change_by_another_program_is_never_overwritten() {
        let world = world();
        let files = read(&world.memory, "mine").unwrap();
        let (theirs, ours) = (format!("# theirs\n{MINE}"), format!("# ours\n{MINE}"));
        world.file("agents/mine.toml", &theirs);
        let error = save(&world.memory, "mine", &edit(Some(&ours), None), &versions(&files)).unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert_eq!(on_disk(&world, "agents/mine.toml").as_deref(), Some(theirs.as_str()));
        // A change between the comparison and the replacement is restored.
        let location = FileLocation::agent(&world.memory.paths, "mine");
        let error =
            location.exchange(&location.path(), versions(&files).agent.as_deref(), &ours).unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert_eq!(on_disk(&world, "agents/mine.toml").as_deref(), Some(theirs.as_str()));
        // A new file does not replace one that was created in the meantime.
        let error =
            save(&world.memory, "mine", &edit(Some(&ours), None), &ExpectedVersions::default()).unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        // A file that was deleted in the meantime is not created again.
        let read = versions(&read(&world.memory, "mine").unwrap());
        std::fs::remove_file(world.home.path().join("agents/mine.toml")).unwrap();
        let error = save(&world.memory, "mine", &edit(Some(&ours), None), &read).unwrap_err();
        assert_eq!((error.code, on_disk(&world, "agents/mine.toml")), (Code::Conflict, None));
    }

    #[test]
    fn an_invalid_text_is_not_written_and_both_files_change_or_neither() {
        let world = world();
        let files = read(&world.memory, "mine").unwrap();
        let broken = MINE.replace("pipeline", "pipelne");
        let error = save(&world.memory, "mine", &edit(Some(&broken), None), &versions(&files)).unwrap_err();
        assert_eq!(
            (error.code, error.at.unwrap().line),
            (Code::InvalidArgument, Some(1)),
            "{}",
            error.message
        );
        // The template is checked together with the agent file: neither is valid without the other.
        let with_topology = MINE.replace("[\"NODES\"]", "[\"NODES\", \"TOPOLOGY\"]");
        let prompt = "{{ TOPOLOGY }} {{ NODES }}";
        for half in [edit(Some(&with_topology), None), edit(None, Some(prompt))] {
            let error = save(&world.memory, "mine", &half, &versions(&files)).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
        }
        // The agent file was changed in the meantime, so the template stays as it was, too.
        world.file("agents/mine.toml", &format!("# theirs\n{MINE}"));
        let both = edit(Some(&with_topology), Some(prompt));
        assert_eq!(save(&world.memory, "mine", &both, &versions(&files)).unwrap_err().code, Code::Conflict);
        assert_eq!(on_disk(&world, "prompts/mine.md").as_deref(), Some("{{ NODES }}"));
        let files = read(&world.memory, "mine").unwrap();
        assert!(save(&world.memory, "mine", &both, &versions(&files)).unwrap());
        assert_eq!(on_disk(&world, "prompts/mine.md").as_deref(), Some(prompt));
        assert_eq!(on_disk(&world, "agents/mine.toml").as_deref(), Some(with_topology.as_str()));
    }

    #[test]
    fn a_bundled_agent_gets_a_file_when_it_is_changed() {
        let world = World::new();
        let files = read(&world.memory, "linker").unwrap();
        assert!(files.agent.bundled && files.prompt.as_ref().unwrap().bundled);
        let same = edit(Some(&files.agent.text), None);
        assert!(!save(&world.memory, "linker", &same, &versions(&files)).unwrap());
        assert_eq!(on_disk(&world, "agents/linker.toml"), None);
        let new = files.agent.text.replace("limit:20", "limit:5");
        assert!(save(&world.memory, "linker", &edit(Some(&new), None), &versions(&files)).unwrap());
        let saved = read(&world.memory, "linker").unwrap().agent;
        assert!(!saved.bundled && saved.previous == Some(files.agent.text), "{saved:?}");
        assert_eq!(read(&world.memory, "nobody").unwrap_err().code, Code::NotFound);
        assert_eq!(read(&world.memory, "../linker").unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn a_link_to_an_agent_file_stays_a_link() {
        let world = world();
        let path = world.home.path().join("agents/mine.toml");
        std::fs::rename(&path, world.home.path().join("kept.toml")).unwrap();
        std::os::unix::fs::symlink(world.home.path().join("kept.toml"), &path).unwrap();
        let files = read(&world.memory, "mine").unwrap();
        let new = format!("# new\n{MINE}");
        assert!(save(&world.memory, "mine", &edit(Some(&new), None), &versions(&files)).unwrap());
        assert!(path.is_symlink());
        assert_eq!(on_disk(&world, "kept.toml").as_deref(), Some(new.as_str()));
    }
}
