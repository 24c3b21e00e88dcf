//! Unbinds a folder.

use super::binding::{self, VaultBinding};
use super::scan_record;
use crate::Memory;
use poc_graph::error::Result;

/// Unbinds a folder, and returns the number of its files that have a note. The notes remain as imported
/// notes.
pub fn remove(memory: &Memory, vault: &VaultBinding) -> Result<u64> {
    let files = binding::files(&memory.store, vault)?;
    memory.store.transact(memory.cause("manual", "vault remove"), |tx| {
        for path in files.keys() {
            binding::put_file(tx, vault, path, None)?;
        }
        tx.delete::<VaultBinding>(&vault.key())
    })?;
    scan_record::remove(memory, vault);
    Ok(files.values().filter(|file| file.deleted_at.is_none()).count() as u64)
}
