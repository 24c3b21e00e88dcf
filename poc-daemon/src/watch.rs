//! Keeps the agents as their files are.

use crate::shared::Shared;
use poc_memory::agent::Catalog;
use poc_memory::error::Result;
use std::sync::Arc;

/// Follows the folders of agents and prompts until the daemon is to stop.
pub(crate) async fn run(shared: Arc<Shared>) {
    shared.stopped().await;
}

/// Reads agents and prompts anew, now. Blocks while it reads.
pub(crate) fn reload(shared: &Shared) -> Result<Arc<Catalog>> {
    let catalog = Arc::new(Catalog::load(&shared.memory)?);
    shared.catalog.store(catalog.clone());
    shared.state.lock().reloaded = Some(shared.memory.now());
    Ok(catalog)
}
