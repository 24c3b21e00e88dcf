//! Erases from the copy of a shared log what another daemon has erased.

use super::{
    ErasedTexts, LAST_ERASURES, LastErasures, clear_quarantine, files_with, quarantine_with, remove_file,
    remove_late_run_files, require_no_only_copies,
};
use crate::{Memory, vault};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_store::{CompactionCallbacks, Record as _, Table};

/// Removes what another daemon has erased from the shared log from the files of this one: from its copy of the log, the
/// records, the indexes, the prompts of runs, the copies of files of vaults and the quarantine. Backups on this machine
/// are not searched. Returns the number of the last transaction that was deleted; `None` if there is nothing to remove,
/// or if this daemon is erasing something itself.
///
/// # Errors
/// As `Store::compact`, and `unavailable` when a file cannot be read or deleted. The next call continues.
pub fn complete_elsewhere(memory: &Memory, callbacks: &CompactionCallbacks<'_>) -> Result<Option<u64>> {
    let Some(last) = memory.store.erased_elsewhere()? else { return Ok(None) };
    let Some(_running) = memory.erasing.try_lock() else { return Ok(None) };
    // The texts are only in the history that the compaction deletes.
    let texts = erased_texts(memory, callbacks)?;
    for folder in [memory.paths.runs(), vault::copies_folder(&memory.paths)] {
        files_with(&folder, &texts)?.iter().try_for_each(|file| remove_file(file))?;
    }
    let folder = memory.paths.store();
    let quarantine = quarantine_with(memory, &texts)?;
    match require_no_only_copies(memory, &quarantine, &texts) {
        Ok(()) => clear_quarantine(&folder, &quarantine).map(drop)?,
        Err(error) => {
            tracing::warn!("the quarantine of this machine may contain an erased text: {}", error.line());
        }
    }
    memory.store.compact(Some(Timestamp(i64::MAX)), callbacks)?;
    for file in remove_late_run_files(&memory.paths.runs(), &texts).unread {
        tracing::warn!("`{}` may contain an erased text", file.display());
    }
    if memory.store.erased_elsewhere()?.is_some() {
        return Err(Error::internal("the history with the erased text could not be deleted"));
    }
    Ok(Some(last))
}

/// The texts of all erasures that the history of this copy has.
fn erased_texts(memory: &Memory, callbacks: &CompactionCallbacks<'_>) -> Result<ErasedTexts> {
    let mut texts = ErasedTexts::default();
    let store = &memory.store;
    for seq in store.first_seq()..=store.last_seq() {
        (callbacks.check_cancelled)()?;
        for write in store.transaction_of_any_tenant(seq)?.into_iter().flat_map(|txn| txn.writes) {
            if let (Table::Meta, LAST_ERASURES, Some(after)) =
                (write.table, write.key.as_slice(), &write.after)
            {
                let mark = LastErasures::decode(after)?;
                mark.erasures.iter().try_for_each(|erasure| erasure.add_texts(memory, &mut texts))?;
            }
        }
    }
    Ok(texts)
}
