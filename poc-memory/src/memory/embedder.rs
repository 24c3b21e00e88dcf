//! Which embedder a store has: the one its vectors were made by, whatever the settings say by now.
//!
//! Vectors of two embedders cannot be compared, so the store keeps the one it began with until a
//! migration has made all vectors anew (see [`super::migrate`]). The file `embedder.json` in the store says
//! which it is and by what settings it is opened; the vectors themselves carry its name, and the file is
//! made from them when it is missing.

use crate::config;
use crate::embed::{self, Embedder, LostEmbedder};
use crate::error::{Error, Result};
use crate::store::{Store, sealed};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The name of the embedder.
    pub(super) name: String,
    /// Length of its vectors.
    pub(super) dimensions: usize,
    /// What it is opened by.
    pub(super) settings: config::Embedder,
    /// Whether notes may lack its vectors: a migration ended while others wrote.
    #[serde(default)]
    pub(super) incomplete: bool,
}

/// The embedder to open a store with.
pub(super) struct Chosen {
    pub(super) embedder: Arc<dyn Embedder>,
    /// What it is opened by.
    pub(super) settings: config::Embedder,
    /// What the settings name instead.
    pub(super) wanted: Option<config::Embedder>,
    /// What the file said.
    pub(super) record: Option<Record>,
}

const FILE: &str = "embedder.json";

/// The embedder of the store in a directory; of a new one that of the settings.
pub(super) fn choose(directory: &Path, settings: &config::Embedder) -> Result<Chosen> {
    let ours = embed::open(settings)?;
    let record = read(directory)?;
    let Some(of) = record.clone().filter(|record| record.name != ours.name()) else {
        return Ok(Chosen { embedder: ours, settings: settings.clone(), wanted: None, record });
    };
    let theirs = embed::open(&of.settings).ok().filter(|theirs| theirs.name() == of.name);
    let lost = || Arc::new(LostEmbedder::new(of.name.clone(), of.dimensions)) as Arc<dyn Embedder>;
    tracing::warn!(
        "the vectors of this store were made by `{}`, the settings name `{}`: `poc-memory embed migrate` makes them anew",
        of.name,
        ours.name()
    );
    Ok(Chosen {
        embedder: theirs.unwrap_or_else(lost),
        settings: of.settings,
        wanted: Some(settings.clone()),
        record,
    })
}

/// Remembers the embedder of a store that has been opened with what `chosen` says; false when the store
/// has vectors of another one, which is remembered instead: then it is to be opened again.
pub(super) fn settle(directory: &Path, store: &Store, chosen: &Chosen) -> Result<bool> {
    let (name, dimensions) = (chosen.embedder.name(), chosen.embedder.dimensions());
    let settings = chosen.settings.clone();
    let own = Record { name: name.to_owned(), dimensions, settings, incomplete: false };
    match &chosen.record {
        // Nothing but the way to it may have changed.
        Some(record) if chosen.wanted.is_some() || record.settings == own.settings => Ok(true),
        Some(record) => write(directory, &Record { incomplete: record.incomplete, ..own }).map(|()| true),
        None => {
            let found = store.embedders()?;
            if found.is_empty() || found.iter().any(|(found, _)| found == name) {
                // Beside vectors of others its own may be those of a migration that was stopped.
                let incomplete = found.len() > 1;
                return write(directory, &Record { incomplete, ..own }).map(|()| true);
            }
            if let Some((found, dimensions)) = found.into_iter().next() {
                let settings = described(&found, dimensions, &chosen.settings);
                write(directory, &Record { name: found, dimensions, settings, incomplete: false })?;
            }
            Ok(false)
        }
    }
}

/// Settings that would open the embedder with a name, as far as names tell.
fn described(name: &str, dimensions: usize, like: &config::Embedder) -> config::Embedder {
    let (kind, rest) = name.split_once('-').unwrap_or((name, ""));
    let model = match kind {
        "http" => rest.split_once('-').map_or("", |(_, model)| model).to_owned(),
        _ => String::new(),
    };
    config::Embedder { kind: kind.to_owned(), model, dimensions, ..like.clone() }
}

/// Says which embedder the store has from its next opening on.
pub(super) fn write(directory: &Path, record: &Record) -> Result<()> {
    let text = serde_json::to_string_pretty(record)
        .map_err(|error| Error::internal(format!("the embedder cannot be recorded: {error}")))?;
    sealed::write_plain(&directory.join(FILE), &[text.as_bytes(), b"\n"])
}

/// What the file says; `None` when there is none, or one that is damaged: then the vectors say it.
pub(super) fn read(directory: &Path) -> Result<Option<Record>> {
    let path = directory.join(FILE);
    match std::fs::read(&path) {
        Ok(text) => Ok(serde_json::from_slice(&text)
            .inspect_err(|error| tracing::warn!("`{}` is made anew: {error}", path.display()))
            .ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unavailable(format!("`{}` cannot be read: {error}", path.display()))),
    }
}
