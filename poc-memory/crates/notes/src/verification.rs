//! Verifies all files of a memory, and stores the result of the last verification.

use super::{Memory, embedder};
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use poc_index::structure;
use poc_store::{DamagedPart, StorePart, VerifyCallbacks, atomic_file};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How often the daemon verifies a memory.
pub const INTERVAL: Span = Span::WEEK;

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// When the verification ended.
    pub at: Timestamp,
    /// Files and folders that are damaged or differ from the log, or that were rebuilt because they were damaged; empty
    /// if there are none.
    #[serde(rename = "findings")]
    pub damaged: Vec<DamagedFile>,
}

/// A file or folder that is damaged or differs from the log, or was damaged when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedFile {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong.
    pub message: String,
    /// How to repair it.
    pub hint: String,
    /// Whether it was rebuilt from the log already, so that nothing has to be done.
    #[serde(default, rename = "rebuilt", skip_serializing_if = "std::ops::Not::not")]
    pub is_rebuilt: bool,
}

impl DamagedFile {
    fn of(part: DamagedPart) -> DamagedFile {
        let DamagedPart { part, path, message, is_rebuilt } = part;
        let hint = match part {
            StorePart::Records if is_rebuilt => {
                "what was left of it was moved to `quarantine/`, and it was rebuilt from the log: nothing has to be done"
                    .to_owned()
            }
            _ if is_rebuilt => {
                "nothing is lost and nothing has to be done; if it happens again, the disk may be failing"
                    .to_owned()
            }
            StorePart::Log => {
                "stop the daemon: `poc-memory repair` shows what can be done and changes nothing by itself"
                    .to_owned()
            }
            _ if !path.exists() => {
                "restart the daemon: the file is created again when the memory is opened".to_owned()
            }
            _ => format!(
                "stop the daemon and delete `{}`: the next command rebuilds it from the log",
                path.display()
            ),
        };
        DamagedFile { path, message, hint, is_rebuilt }
    }
}

/// Compares everything on disk with the log, while the memory is used, and saves the result.
///
/// # Errors
/// As `Store::verify`.
pub fn verify(memory: &Memory, callbacks: &VerifyCallbacks<'_>) -> Result<Verification> {
    let mut parts = memory.store.verify(callbacks)?;
    let derived = |path: PathBuf, message: &str| DamagedPart {
        part: StorePart::Index,
        path,
        message: message.to_owned(),
        is_rebuilt: false,
    };
    let structure = structure::damaged_file(&memory.paths.structure());
    parts.extend(structure.map(|path| derived(path, "its content does not match its checksum")));
    let store = memory.paths.store();
    if !matches!(embedder::recorded_name(&store), Ok(Some(name)) if name == memory.embedder.name()) {
        parts.push(derived(embedder::file(&store), "it does not name the embedder of the store"));
    }
    let damaged = parts.into_iter().map(DamagedFile::of).collect();
    let verification = Verification { at: memory.now(), damaged };
    // Return the result even if the disk is not writable.
    if let Err(error) = save(&memory.paths.verification(), &verification) {
        tracing::warn!("the result of the verification was not saved: {error}");
    }
    Ok(verification)
}

fn save(path: &Path, verification: &Verification) -> Result<()> {
    let text = serde_json::to_string_pretty(verification)
        .map_err(|error| Error::internal(format!("a verification cannot be encoded: {error}")))?;
    atomic_file::write_plain(path, &[text.as_bytes(), b"\n"])
}

/// The result of the last verification; `None` if there was none or its result cannot be read.
pub fn last(path: &Path) -> Option<Verification> {
    let text = std::fs::read(path).ok()?;
    serde_json::from_slice(&text)
        .inspect_err(|error| tracing::warn!("`{}` cannot be read: {error}", path.display()))
        .ok()
}

/// Whether the memory is to be verified again. A result dated in the future comes from a wrong
/// clock and is ignored.
pub fn is_due(last: Option<&Verification>, now: Timestamp) -> bool {
    last.is_none_or(|last| now < last.at || last.at.plus(INTERVAL) <= now)
}

/// The damaged files that the last verification found, one line each.
pub fn problems(path: &Path) -> Vec<String> {
    let Some(Verification { at, damaged }) = last(path) else { return Vec::new() };
    let line = |DamagedFile { path, message, hint, .. }: DamagedFile| {
        format!("`{}`: {message} (verified at {at}; {hint})", path.display())
    };
    damaged.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, TestMemory};
    use crate::{backup, insert};
    use poc_graph::{Delta, Node, Tuple};
    use poc_store::DerivedIndex as _;
    use std::sync::Arc;

    const QUIET: VerifyCallbacks<'static> =
        VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };

    fn damaged_files(memory: &Memory) -> Vec<PathBuf> {
        verify(memory, &QUIET).unwrap().damaged.into_iter().map(|file| file.path).collect()
    }

    /// A memory of two tenants, of which everything is saved.
    fn saved() -> TestMemory {
        let memory = TestMemory::new();
        for number in 0..12 {
            memory.note(&format!("note-{number}"), &format!("Body {number} about the journal of Lisbon."));
        }
        let other = memory.of(&Tuple::new([("user", "ann")]).unwrap());
        let body = "The gate of Porto opens at noon.";
        insert::insert(&other, testing::draft(body), other.cause("manual", "insert")).unwrap();
        memory.store.checkpoint().unwrap();
        memory
    }

    #[test]
    fn damage_of_every_file_is_found_while_the_memory_is_open() {
        let memory = saved();
        assert_eq!(damaged_files(&memory), Vec::<PathBuf>::new());
        let mut files = backup::files_below(&memory.paths.store()).unwrap();
        files.retain(|file| {
            // sled's files are read when they are opened.
            let is_of_records = file.starts_with(memory.paths.store().join("records"));
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            !is_of_records && !["lock", "reserve", "verification.json"].contains(&name.as_str())
        });
        // Log, view, embedder, and for each tenant text, vectors and mentions, with their manifests.
        assert!(files.len() >= 12, "{files:?}");
        for file in files {
            let whole = std::fs::read(&file).unwrap();
            for at in [0, whole.len() / 2, whole.len() - 1] {
                let mut bytes = whole.clone();
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 0x40;
                }
                std::fs::write(&file, bytes).unwrap();
                let is_readable_text = file.extension().is_some_and(|extension| extension == "json");
                let found = damaged_files(&memory);
                assert!(is_readable_text || found == [file.clone()], "{} at {at}: {found:?}", file.display());
            }
            std::fs::write(&file, whole).unwrap();
        }
        assert_eq!(damaged_files(&memory), Vec::<PathBuf>::new());
    }

    #[test]
    fn files_that_are_deleted_while_the_memory_is_open_are_found() {
        let memory = saved();
        let indexes = ["text/snapshot", "text/tenants/manifest", "vectors/manifest", "mentions/snapshot"];
        for name in ["view", "head", "embedder.json"].into_iter().chain(indexes) {
            let file = memory.paths.store().join(name);
            let bytes = std::fs::read(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            let damaged = verify(&memory, &QUIET).unwrap().damaged;
            let [found] = &damaged[..] else { panic!("{name}: {damaged:?}") };
            assert_eq!(found.path, file);
            assert!(found.hint.starts_with("restart the daemon"), "{found:?}");
            std::fs::write(&file, bytes).unwrap();
        }
        assert_eq!(damaged_files(&memory), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_index_that_lacks_a_note_or_has_another_text_is_found() {
        let memory = saved();
        let node = memory.find("note-3").unwrap();
        let other = Delta::Node(Arc::new(Node { body: "something else".into(), ..node.clone() }));
        let tenant = memory.store.tenant();
        let folder = |name: &str| memory.paths.store().join(name);
        for harm in [Delta::NodeDeleted(node.id), other] {
            let is_other = matches!(harm, Delta::Node(_));
            memory.text_by_tenant.apply(0, tenant, std::slice::from_ref(&harm)).unwrap();
            assert_eq!(damaged_files(&memory), [folder("text")]);
            let message = verify(&memory, &QUIET).unwrap().damaged.remove(0).message;
            assert_eq!(message, "the index differs from the records: `note-3`");
            memory.text_by_tenant.apply(0, tenant, &[Delta::Node(Arc::new(node.clone()))]).unwrap();
            memory.mentions_by_tenant.apply(0, tenant, &[harm]).unwrap();
            assert_eq!(damaged_files(&memory), [folder("mentions")]);
            memory.mentions_by_tenant.apply(0, tenant, &[Delta::Node(Arc::new(node.clone()))]).unwrap();
            assert_eq!(damaged_files(&memory), Vec::<PathBuf>::new(), "{is_other}");
        }
        memory.vectors_by_tenant.apply(0, tenant, &[Delta::NodeDeleted(node.id)]).unwrap();
        assert_eq!(damaged_files(&memory), [folder("vectors")]);
    }

    #[test]
    fn a_memory_is_verified_once_a_week() {
        let at = |days: i64| Timestamp(days * Span::DAY.0);
        let last = Verification { at: at(100), damaged: Vec::new() };
        assert!(is_due(None, at(100)));
        for (day, due) in [(100, false), (106, false), (107, true), (200, true), (99, true)] {
            assert_eq!(is_due(Some(&last), at(day)), due, "day {day}");
        }
    }

    #[test]
    fn a_result_is_read_back_and_a_damaged_result_is_ignored() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("verification.json");
        assert!(last(&path).is_none() && problems(&path).is_empty());
        let (message, hint) = ("it is damaged".into(), "delete it".into());
        let file = DamagedFile { path: "/m/view".into(), message, hint, is_rebuilt: false };
        let verification = Verification { at: Timestamp(0), damaged: vec![file] };
        save(&path, &verification).unwrap();
        assert_eq!(last(&path), Some(verification));
        insta::assert_snapshot!(problems(&path)[0], @"`/m/view`: it is damaged (verified at 1970-01-01T00:00:00.000Z; delete it)");
        std::fs::write(&path, "{").unwrap();
        assert!(last(&path).is_none());
    }
}
