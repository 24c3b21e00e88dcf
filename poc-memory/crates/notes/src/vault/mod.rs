//! Vaults: folders of Markdown that are bound to the memory.
//!
//! A sync compares the files of the folder with the records of what was read from them before. It first
//! decides which note each file belongs to ([`plan`]), then assigns names and retires notes without files
//! ([`moves`]), then stores texts ([`store_notes`]), and finally updates the links of all files ([`links`]).
//! After each transaction the records agree with the notes, so the next sync completes an interrupted one.
//!
//! The undo of a sync restores the notes and the records of their files ([`restored_files`]). The files still have
//! what was undone. The daemon leaves such a file alone until it changes; a sync that a person starts reads it again.
//! The same applies to files whose notes were deleted in the memory ([`deleted_notes`]).

mod binding;
mod bound_tenants;
mod deleted_notes;
mod digest;
mod links;
mod moves;
mod named_notes;
mod names;
mod note_chunks;
mod other_names;
mod plan;
mod report;
mod restored_files;
mod scan;
mod scan_record;
mod shared_notes;
mod sketch;
mod status;
mod store_notes;
mod sync;
#[cfg(test)]
mod tests;
mod unbind;
mod write_back;
mod written_properties;

pub use binding::{
    VaultBinding, add, bindings, bound_below, bound_folder, file_of_note, named, set_write_back,
};
pub use bound_tenants::{BoundTenants, VaultsOfTenant};
pub(crate) use deleted_notes::deletes_notes_of_files;
pub use report::{AmbiguousLink, FileError, RenamedFile, UnresolvedVaultLink, VaultReport};
pub(crate) use restored_files::restore_files;
pub use scan::{FolderState, folders};
pub use status::{FileChanges, VaultStatus, last_refused, status};
pub(crate) use sync::VAULT_SYNC_OP;
pub use sync::{SyncOptions, sync};
pub use unbind::remove;
pub(crate) use write_back::copies_folder;
