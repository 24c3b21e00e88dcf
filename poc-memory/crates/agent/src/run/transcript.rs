//! Prompts and replies of the newest runs, as files next to the store.

use crate::ledger::Run;
use crate::prompt::Prompt;
use poc_config::atomic_write::{Durability, write_private};
use poc_config::paths;
use poc_graph::error::{Error, Result};
use poc_notes::Memory;
use poc_notes::secrets::{SecretCounts, scrub};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The prompt and replies of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTranscript {
    /// The system prompt.
    pub system: String,
    /// The rendered template.
    pub prompt: String,
    /// The replies, turn by turn.
    pub turns: Vec<Exchange>,
    /// The agent file at that time; empty in transcripts of older releases.
    #[serde(default)]
    pub definition: String,
}

/// One reply of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The reply as received, with placeholders for secrets.
    pub reply: String,
    /// Its validation problems, which may quote the reply.
    pub problems: Vec<String>,
}

impl Exchange {
    /// Creates an exchange without the secrets that the model wrote.
    pub(super) fn new(reply: &str, problems: &[String]) -> Exchange {
        let mut found = SecretCounts::default();
        let mut scrubbed = |text: &str| scrub(text, &mut found).into_owned();
        let reply = scrubbed(reply);
        Exchange { reply, problems: problems.iter().map(|problem| scrubbed(problem)).collect() }
    }
}

/// The transcript of a run; `None` when it was pruned or the model was never called.
pub fn transcript(memory: &Memory, run: &Run) -> Result<Option<RunTranscript>> {
    let path = path(memory, run);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::damaged(format!("`{}` is damaged: {error}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unwritable(&path, &error)),
    }
}

/// Writes the transcript of a run and deletes the oldest ones beyond the configured number.
pub(super) fn keep(
    memory: &Memory,
    run: &Run,
    prompt: &Prompt,
    turns: Vec<Exchange>,
    definition: &str,
) -> Result<()> {
    let path = path(memory, run);
    let folder = path.parent().unwrap_or(Path::new("."));
    paths::create_private(folder)?;
    let (system, prompt, definition) = (prompt.system.clone(), prompt.text.clone(), definition.to_owned());
    let transcript = RunTranscript { system, prompt, turns, definition };
    let bytes = serde_json::to_vec_pretty(&transcript)
        .map_err(|error| Error::internal(format!("the prompt cannot be encoded: {error}")))?;
    write_private(&path, &bytes, Durability::Unsynced).map_err(|error| unwritable(&path, &error))?;
    prune(folder, memory.config.agents.keep_bodies).map_err(|error| unwritable(folder, &error))
}

/// Deletes the oldest files beyond `max`. Their names sort by time.
fn prune(folder: &Path, max: usize) -> std::io::Result<()> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    let surplus = files.len().saturating_sub(max);
    files.iter().take(surplus).try_for_each(std::fs::remove_file)
}

fn path(memory: &Memory, run: &Run) -> PathBuf {
    memory.paths.runs().join(&run.agent).join(format!("{}.json", run.id))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("`{}` cannot be used: {error}", path.display()))
}
