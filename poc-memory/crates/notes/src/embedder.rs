//! Determines the embedder of a store: the one that made its vectors, even if the configuration names
//! another.
//!
//! Vectors of two embedders are not comparable, so a store keeps its embedder until a migration has computed
//! all vectors again (see [`super::migrate`]). The file `embedder.json` in the store records the embedder and
//! its settings. The vectors carry its name as well, so a missing file is rebuilt from them.
use poc_embed::{Embedder, UnavailableEmbedder};
use poc_graph::error::{Error, Result};
use poc_store::{EmbedderCount, Store, atomic_file};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The contents of `embedder.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EmbedderRecord {
    /// The name of the embedder.
    pub(super) name: String,
    /// Number of dimensions of its vectors.
    pub(super) dimensions: usize,
    /// The settings it is opened with.
    pub(super) settings: poc_config::EmbedderConfig,
    /// Whether some notes may lack vectors of it, because they were written while a migration ended.
    #[serde(default)]
    pub(super) incomplete: bool,
}

/// The embedder to open a store with.
pub(super) struct EmbedderChoice {
    pub(super) embedder: Arc<dyn Embedder>,
    /// The settings it is opened with.
    pub(super) settings: poc_config::EmbedderConfig,
    /// The settings of the configured embedder, if that is another one.
    pub(super) wanted: Option<poc_config::EmbedderConfig>,
    /// The contents of the file.
    pub(super) record: Option<EmbedderRecord>,
    /// Why the configured embedder cannot be used.
    pub(super) problem: Option<String>,
}

const FILE: &str = "embedder.json";

/// The embedder of the store in a directory, or the configured one for a new store.
pub(super) fn choose(directory: &Path, settings: &poc_config::EmbedderConfig) -> Result<EmbedderChoice> {
    let (configured, record) = (poc_embed::open(settings), read(directory)?);
    let (configured, stored) = match (configured, record.clone()) {
        (Err(problem), Some(stored)) => return Ok(fallback(stored, settings, &problem)),
        (Ok(configured), Some(stored)) if stored.name != configured.name() => (configured, stored),
        (configured, _) => {
            let (embedder, settings) = (configured?, settings.clone());
            return Ok(EmbedderChoice { embedder, settings, wanted: None, record, problem: None });
        }
    };
    tracing::warn!(
        "the vectors of this store were computed by `{}`, but the settings name `{}`: `poc-memory embed migrate` computes them again",
        stored.name,
        configured.name()
    );
    let wanted = Some(settings.clone());
    Ok(EmbedderChoice {
        embedder: store_embedder(&stored),
        settings: stored.settings,
        wanted,
        record,
        problem: None,
    })
}

/// The embedder of a store whose configured embedder cannot be used.
fn fallback(
    stored: EmbedderRecord,
    settings: &poc_config::EmbedderConfig,
    problem: &Error,
) -> EmbedderChoice {
    let wanted = Some(settings.clone()).filter(|settings| *settings != stored.settings);
    let problem = Some(format!("embedder: {}", problem.line()));
    let (embedder, settings, record) = (store_embedder(&stored), stored.settings.clone(), Some(stored));
    EmbedderChoice { embedder, settings, wanted, record, problem }
}

/// The embedder of a store, or a placeholder that returns the error if it cannot be opened any more.
fn store_embedder(stored: &EmbedderRecord) -> Arc<dyn Embedder> {
    let embedder = poc_embed::open(&stored.settings).ok().filter(|embedder| embedder.name() == stored.name);
    embedder.unwrap_or_else(|| Arc::new(UnavailableEmbedder::new(stored.name.clone(), stored.dimensions)))
}

/// Records the embedder of a store that was opened with `choice`, and returns the record. Returns `None` if the
/// store has vectors of another embedder: that one is recorded, and the store has to be opened again.
pub(super) fn record_choice(
    directory: &Path,
    store: &Store,
    choice: &EmbedderChoice,
) -> Result<Option<EmbedderRecord>> {
    let (name, dimensions) = (choice.embedder.name(), choice.embedder.dimensions());
    let settings = choice.settings.clone();
    let own = EmbedderRecord { name: name.to_owned(), dimensions, settings, incomplete: false };
    let written = |record: EmbedderRecord| write(directory, &record).map(|()| Some(record));
    match &choice.record {
        // Only the settings of the embedder may have changed.
        Some(record) if choice.wanted.is_some() || record.settings == own.settings => {
            Ok(Some(record.clone()))
        }
        Some(record) => written(EmbedderRecord { incomplete: record.incomplete, ..own }),
        None => {
            let found = store.embedders()?;
            // With vectors of several embedders some may be missing: a migration was interrupted, or notes
            // were added after one.
            let incomplete = found.len() > 1;
            let max = found.first().map(|first| first.vectors);
            let has_name_and_most = |found: &&EmbedderCount| found.name == name && Some(found.vectors) == max;
            match found.iter().find(has_name_and_most).or(found.first()) {
                Some(EmbedderCount { name: found, dimensions, .. }) if found != name => {
                    let settings = settings_from_name(found, *dimensions, &choice.settings);
                    let (name, dimensions) = (found.clone(), *dimensions);
                    write(directory, &EmbedderRecord { name, dimensions, settings, incomplete })
                        .map(|()| None)
                }
                _ => written(EmbedderRecord { incomplete, ..own }),
            }
        }
    }
}

/// Settings that open the embedder with a name, as far as they can be derived from the name.
fn settings_from_name(
    name: &str,
    dimensions: usize,
    like: &poc_config::EmbedderConfig,
) -> poc_config::EmbedderConfig {
    let (kind, rest) = name.split_once('-').unwrap_or((name, ""));
    let model = match kind {
        "http" => rest.split_once('-').map_or("", |(_, model)| model).to_owned(),
        _ => String::new(),
    };
    poc_config::EmbedderConfig { kind: kind.to_owned(), model, dimensions, ..like.clone() }
}

/// The recorded name of the embedder of the store in a directory.
pub fn recorded_name(directory: &Path) -> Result<Option<String>> {
    Ok(read(directory)?.map(|record| record.name))
}

/// The file that records the embedder of the store in a directory.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// The text before the checksum, which is the last field of the file: the BLAKE3 of all text before this
/// field, as 64 hexadecimal digits. Files of earlier releases have no checksum.
const CHECKSUM: &str = ",\n  \"checksum\": \"";

/// Records the embedder that the store uses once it is opened again.
pub(super) fn write(directory: &Path, record: &EmbedderRecord) -> Result<()> {
    let text = serde_json::to_string_pretty(record)
        .map_err(|error| Error::internal(format!("the embedder cannot be recorded: {error}")))?;
    let fields = text.strip_suffix("\n}").unwrap_or(&text);
    let checksum = blake3::hash(fields.as_bytes()).to_hex();
    let text = format!("{fields}{CHECKSUM}{checksum}\"\n}}\n");
    atomic_file::write_plain(&file(directory), &[text.as_bytes()])
}

/// The record in the content of the file, or what is wrong with it.
fn parse(text: &[u8]) -> Result<EmbedderRecord, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    if let Some((fields, rest)) = text.rsplit_once(CHECKSUM)
        && rest.get(..64) != Some(blake3::hash(fields.as_bytes()).to_hex().as_str())
    {
        return Err("its content does not match its checksum".to_owned());
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Reads the file; `None` if it is missing or damaged, in which case it is rebuilt from the vectors.
pub(super) fn read(directory: &Path) -> Result<Option<EmbedderRecord>> {
    let path = file(directory);
    match std::fs::read(&path) {
        Ok(text) => Ok(parse(&text)
            .inspect_err(|error| tracing::warn!("`{}` is created again: {error}", path.display()))
            .ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unavailable(format!("`{}` cannot be read: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> EmbedderRecord {
        let settings = poc_config::Config::defaults().unwrap().embedder;
        EmbedderRecord { name: "hash-384".to_owned(), dimensions: 384, settings, incomplete: true }
    }

    #[test]
    fn a_file_without_a_checksum_is_read() {
        let folder = poc_graph::testing::folder();
        std::fs::write(file(folder.path()), serde_json::to_string_pretty(&record()).unwrap()).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(record()));
    }

    poc_laws::laws! {
        /// A changed byte makes the file invalid or does not change its content.
        #[test]
        fn a_damaged_file_is_rejected(at in any::<prop::sample::Index>(), flip in 1u8..) {
            let folder = poc_graph::testing::folder();
            write(folder.path(), &record()).unwrap();
            prop_assert_eq!(read(folder.path()).unwrap(), Some(record()));
            let mut bytes = std::fs::read(file(folder.path())).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            std::fs::write(file(folder.path()), bytes).unwrap();
            let found = read(folder.path()).unwrap();
            prop_assert!(found.is_none() || found == Some(record()), "{:?}", found);
        }
    }
}
