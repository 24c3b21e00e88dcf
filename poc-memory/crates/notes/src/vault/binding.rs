//! Which folders are bound, and what was read from their files.

use super::digest::FileDigest;
use crate::resolve::quoted;
use crate::{Memory, import};
use poc_config::paths::Paths;
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::{Record, Records, Table, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The length of the key of a vault, with which the keys of its files begin.
pub(super) const VAULT_KEY_BYTES: usize = 4;

/// A folder that is bound to the memory of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultBinding {
    /// Its number in the tenant.
    pub number: u32,
    /// Its name, unique in the tenant.
    pub name: String,
    /// The canonical path of the folder.
    pub folder: PathBuf,
    /// Whether links of agents and approved replacements are written into the files.
    pub write_back: bool,
    /// When it was bound.
    pub bound: Timestamp,
}

impl Record for VaultBinding {
    const TABLE: Table = Table::Vaults;
}

impl VaultBinding {
    /// The provenance of the notes and edges that the files make. An import of the folder writes the same one.
    pub fn provenance(&self) -> String {
        format!("{}{}", import::PROVENANCE, self.name)
    }

    /// The key of its record.
    pub(super) fn key(&self) -> [u8; VAULT_KEY_BYTES] {
        self.number.to_be_bytes()
    }
}

/// The record of a file of a vault: what was read from it, and the note that it became.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct VaultFile {
    /// The note.
    pub(super) node: NodeId,
    /// The name that the note should get from the file.
    pub(super) desired_name: String,
    /// The name that the note got from the file; differs from `desired_name` if a note outside the vault has
    /// that name.
    pub(super) name: String,
    /// The digest of the file.
    pub(super) digest: FileDigest,
    /// Whether the note was created from the file or from an earlier import of it. Otherwise it already
    /// existed with the same text, and changes of the file do not change it.
    pub(super) is_own: bool,
    /// Whether the properties of the note come from this file: the first of the files with the text.
    pub(super) is_source: bool,
    /// When the file was found deleted and the note was retired; `None` while the file exists.
    pub(super) deleted_at: Option<Timestamp>,
    /// The state of write-back for the file.
    pub(super) write_back: WriteBackState,
}

/// The state of write-back for a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WriteBackState {
    /// The links that it has written.
    pub(super) written: Vec<(NodeId, String)>,
    /// Notes whose links a person has removed from the file after they had been written.
    pub(super) declined: Vec<NodeId>,
    /// The note that superseded the note of the file, as long as the file has the old text.
    pub(super) replaced: Option<NodeId>,
}

impl Record for VaultFile {
    const TABLE: Table = Table::Vaults;
}

/// The records of the files of a vault, by path.
pub(super) type VaultFiles = BTreeMap<String, VaultFile>;

/// The record of a file of another vault than the one that is synchronised.
#[derive(Clone, Debug)]
pub(super) struct FileElsewhere {
    pub(super) vault: VaultBinding,
    pub(super) path: String,
    pub(super) file: VaultFile,
}

/// The records of the files of a vault.
pub(super) fn files<R: Records + ?Sized>(records: &R, vault: &VaultBinding) -> Result<VaultFiles> {
    let prefix = vault.key();
    let mut files = VaultFiles::new();
    for (key, bytes) in records.raw_range(Table::Vaults, &prefix)? {
        let path = key.get(prefix.len()..).unwrap_or_default();
        if !path.is_empty() {
            let path = String::from_utf8_lossy(path).into_owned();
            files.insert(path, VaultFile::decode(&bytes)?);
        }
    }
    Ok(files)
}

/// Stores the record of a file, or deletes it.
pub(super) fn put_file(
    tx: &mut Transaction<'_>,
    vault: &VaultBinding,
    path: &str,
    file: Option<&VaultFile>,
) -> Result<()> {
    let key = [vault.key().as_slice(), path.as_bytes()].concat();
    match file {
        Some(file) => tx.put(&key, file),
        None => tx.delete::<VaultFile>(&key),
    }
}

/// The vaults of a tenant, by name.
pub fn bindings(memory: &Memory) -> Result<Vec<VaultBinding>> {
    let mut vaults = Vec::new();
    for key in memory.store.raw_keys(Table::Vaults, &[])? {
        if key.len() == VAULT_KEY_BYTES {
            vaults.extend(memory.store.record::<VaultBinding>(&key)?);
        }
    }
    vaults.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(vaults)
}

/// The vault with a name or a folder.
///
/// # Errors
/// `not_found` with the names that exist.
pub fn named(memory: &Memory, name: &str) -> Result<VaultBinding> {
    let vaults = bindings(memory)?;
    let folder = Path::new(name).canonicalize().ok();
    let is_meant = |vault: &&VaultBinding| vault.name == name || Some(&vault.folder) == folder.as_ref();
    let known = vaults.iter().map(|vault| format!("`{}`", vault.name)).collect::<Vec<_>>().join(", ");
    vaults.iter().find(is_meant).cloned().ok_or_else(|| {
        let error = Error::not_found(format!("there is no vault `{name}`")).field("vault");
        match known.is_empty() {
            true => error.hint("`poc-memory vault add FOLDER` binds one"),
            false => error.hint(format!("the vaults are {known}")),
        }
    })
}

/// The vault that a file or folder belongs to, if any.
pub fn bound_folder(memory: &Memory, path: &Path) -> Result<Option<VaultBinding>> {
    let Ok(path) = path.canonicalize() else { return Ok(None) };
    Ok(bindings(memory)?.into_iter().find(|vault| path.starts_with(&vault.folder)))
}

/// A vault whose folder is in another folder and not hidden there, if there is any.
pub fn bound_below(memory: &Memory, folder: &Path) -> Result<Option<VaultBinding>> {
    let Ok(folder) = folder.canonicalize() else { return Ok(None) };
    let is_below =
        |vault: &VaultBinding| vault.folder.starts_with(&folder) && !is_hidden_below(&vault.folder, &folder);
    Ok(bindings(memory)?.into_iter().find(is_below))
}

/// The vault and the file from which a note gets its text, if there is one.
pub fn file_of_note(memory: &Memory, note: NodeId) -> Result<Option<(VaultBinding, String)>> {
    for vault in bindings(memory)? {
        let is_source = |file: &VaultFile| {
            file.node == note && file.is_own && file.is_source && file.deleted_at.is_none()
        };
        let source = files(&memory.store, &vault)?.into_iter().find(|(_, file)| is_source(file));
        if let Some((path, _)) = source {
            return Ok(Some((vault, path)));
        }
    }
    Ok(None)
}

/// Binds a folder. Without `name`, the vault gets the name of the folder.
///
/// # Errors
/// `invalid_argument` if it is not a folder, `conflict` if it is bound, is in a bound folder or contains one.
pub fn add(memory: &Memory, folder: &Path, name: Option<&str>, write_back: bool) -> Result<VaultBinding> {
    let given = folder.display();
    let folder = folder.canonicalize().map_err(|error| {
        Error::invalid(format!("`{given}` cannot be read: {error}"))
            .hint("name a folder of Markdown")
            .field("folder")
    })?;
    if !folder.is_dir() {
        return Err(Error::invalid(format!("`{given}` is not a folder"))
            .hint("name the folder that contains the files; `poc-memory import` takes a single file")
            .field("folder"));
    }
    if folder.to_str().is_none() {
        return Err(Error::invalid("the path of the folder is not UTF-8").hint("rename it").field("folder"));
    }
    check_apart(&memory.paths, &folder)?;
    let vaults = bindings(memory)?;
    for vault in &vaults {
        check_disjoint(vault, &folder)?;
    }
    let is_taken = |name: &str| vaults.iter().any(|vault| vault.name == name);
    let name = match name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" ")) {
        Some(name) if name.is_empty() || name.contains('/') => {
            return Err(Error::invalid(format!("`{name}` is not a valid name of a vault"))
                .hint("give one without `/`")
                .field("name"));
        }
        Some(name) if is_taken(&name) => {
            return Err(Error::conflict(format!("a vault `{name}` already exists"))
                .hint("give another name")
                .field("name"));
        }
        Some(name) => name,
        None => {
            let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            crate::key::unique(&name, |name| Ok(is_taken(name)))?
        }
    };
    let number = vaults.iter().map(|vault| vault.number).max().map_or(1, |last| last.saturating_add(1));
    let bound = memory.now();
    let vault = VaultBinding { number, name, folder, write_back, bound };
    memory.store.transact(memory.cause("manual", "vault add"), |tx| tx.put(&vault.key(), &vault))?;
    Ok(vault)
}

/// Sets whether links of agents and approved replacements are written into the files of a vault.
pub fn set_write_back(memory: &Memory, vault: &VaultBinding, write_back: bool) -> Result<()> {
    let vault = VaultBinding { write_back, ..vault.clone() };
    memory.store.transact(memory.cause("manual", "vault write-back"), |tx| tx.put(&vault.key(), &vault))?;
    Ok(())
}

/// Refuses a folder that overlaps with a bound one: its notes would exist twice.
fn check_disjoint(vault: &VaultBinding, folder: &Path) -> Result<()> {
    let (name, bound) = (&vault.name, vault.folder.display());
    let error = if *folder == vault.folder {
        Error::conflict(format!("the folder is already bound as the vault `{name}`"))
            .hint(format!("`poc-memory vault sync {}` synchronises it now", quoted(name)))
    } else if folder.starts_with(&vault.folder) {
        Error::conflict(format!("the folder is in the vault `{name}` (`{bound}`), which contains its notes"))
            .hint("nothing needs to be done: subfolders are synchronised with their vault")
    } else if vault.folder.starts_with(folder) {
        Error::conflict(format!("the folder contains the vault `{name}` (`{bound}`)")).hint(format!(
            "first `poc-memory vault remove {}`: its notes stay, and the new vault takes them over",
            quoted(name)
        ))
    } else {
        return Ok(());
    };
    Err(error.field("folder"))
}

/// Refuses a folder that contains the files of the memory, or is among them.
fn check_apart(paths: &Paths, folder: &Path) -> Result<()> {
    let own = paths.store();
    let own = own.canonicalize().unwrap_or(own);
    if folder.starts_with(&own) || own.starts_with(folder) && !is_hidden_below(&own, folder) {
        return Err(Error::conflict(format!(
            "the folder and the files of this memory (`{}`) overlap",
            own.display()
        ))
        .hint("name a folder with notes only")
        .field("folder"));
    }
    Ok(())
}

/// Whether a path below a folder contains a hidden part, which no scan enters.
fn is_hidden_below(path: &Path, folder: &Path) -> bool {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.iter().any(|part| part.to_string_lossy().starts_with('.'))
}
