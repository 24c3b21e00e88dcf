//! Ops on vaults: folders of Markdown that are bound to the memory.

mod add;
mod list;
mod outcome;
mod remove;
mod status;
mod sync;
mod undone;
mod write_back;

pub(crate) use add::VaultAdd;
pub(crate) use list::{VaultList, lag};
pub(crate) use remove::VaultRemove;
pub(crate) use status::VaultStatusRequest;
pub(crate) use sync::VaultSyncRequest;
pub(super) use undone::{UndoneFiles, undone_files};
pub(crate) use write_back::VaultWriteBack;
