//! Verbs about the other store that this one is synchronised with.

mod bind;
mod detach;
mod status;
mod sync;

pub(crate) use bind::Bind;
pub(crate) use detach::Detach;
pub(crate) use status::Status;
pub(crate) use sync::RemoteSync;
