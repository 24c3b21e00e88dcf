//! Saves the views of tenants with many notes in their files.

use super::CommitQueue;
use crate::log::SyncedLog;
use poc_graph::error::Result;
use poc_graph::{Tenant, View};
use std::sync::Arc;

impl CommitQueue {
    /// Saves the views in memory that have changed since they were saved, and deletes files that are of no use.
    pub(crate) fn save_views(&self, synced: &SyncedLog<'_>) -> Result<()> {
        let Some(files) = &self.view_files else { return Ok(()) };
        let writer = files.writer();
        // The views are taken one after the other, so that those that are unloaded meanwhile are freed.
        for tenant in self.loaded() {
            if let Some(view) = self.in_memory(tenant) {
                writer.save(tenant, &view, synced)?;
            }
        }
        writer.delete_unusable(&|tenant| self.counts(tenant))
    }

    /// The tenants whose saved view has all of their transactions up to `seq`.
    pub(crate) fn tenants_with_saved_view(&self, seq: u64) -> Result<Vec<Tenant>> {
        let Some(files) = &self.view_files else { return Ok(Vec::new()) };
        files.tenants_with_all(seq, &|tenant| self.counts(tenant))
    }

    /// Saves the view of a tenant that is to be unloaded, if it has changed since it was saved. Returns whether it may
    /// be unloaded now: it may not while other files are written, because that may take long.
    pub(crate) fn save_view(&self, tenant: Tenant, synced: &SyncedLog<'_>) -> Result<bool> {
        let Some(files) = &self.view_files else { return Ok(true) };
        let is_large = |view: Arc<View>| files.is_large(view.node_count() as u64);
        if !self.in_memory(tenant).is_some_and(is_large) {
            return Ok(true);
        }
        let Some(writer) = files.try_writer() else { return Ok(false) };
        // The view is read while no other thread writes: an older one may have a text that was erased since.
        if let Some(view) = self.in_memory(tenant) {
            writer.save(tenant, &view, synced)?;
        }
        Ok(true)
    }

    /// Whether a view in memory of a tenant with many notes is in no file.
    pub(crate) fn lacks_view_file(&self) -> bool {
        let Some(files) = &self.view_files else { return false };
        self.published.read().views.loaded_views().any(|(tenant, view)| files.lacks(tenant, view))
    }

    /// The paths of the files with views of tenants, in the folder of the store.
    ///
    /// # Errors
    /// `unavailable` if their folder cannot be read.
    pub(crate) fn view_file_names(&self) -> Result<Vec<String>> {
        self.view_files.as_ref().map_or_else(|| Ok(Vec::new()), |files| files.names())
    }

    /// The view that the file of a tenant gives, after transaction `last`, the last one of the tenant. `None` if the
    /// file cannot be used.
    pub(crate) fn view_of_file(&self, tenant: Tenant, last: u64) -> Option<View> {
        Some(self.view_files.as_ref()?.read(tenant, last)?.1)
    }

    fn in_memory(&self, tenant: Tenant) -> Option<Arc<View>> {
        self.published.read().views.peek(tenant).cloned()
    }
}
