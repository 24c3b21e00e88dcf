//! Vaults: folders of Markdown that are bound to the memory.
//!
//! A sync compares what exists: the files of the folder, and the records of what was read from them before. It first
//! decides which note each file is ([`plan`]), then gives notes their names and retires those without files
//! ([`moves`]), then stores texts ([`contents`]), and at last the links of all files ([`links`]). Each part is a series
//! of transactions that leave the records in agreement with the notes, so the next sync completes an interrupted one.

mod binding;
mod digest;
mod links;
mod moves;
mod names;
mod plan;
mod report;
mod scan;
mod scan_record;
mod sketch;
mod status;
mod store_notes;
mod sync;
#[cfg(test)]
mod tests;
mod unbind;
mod write_back;
mod written_properties;

pub use binding::{VaultBinding, add, bindings, bound_folder, named, set_write_back};
pub use report::{AmbiguousLink, FileProblem, RenamedFile, UnresolvedVaultLink, VaultReport};
pub use scan::{FolderState, folders};
pub use status::{VaultStatus, status};
pub use sync::{SyncOptions, sync};
pub use unbind::remove;
