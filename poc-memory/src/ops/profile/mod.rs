//! Ops on the remote, the other store that this one is synchronised with.

mod bind;
mod detach;
mod status;
mod sync;

pub(crate) use bind::RemoteBind;
pub(crate) use detach::RemoteDetach;
pub(crate) use status::RemoteStatus;
pub(crate) use sync::RemoteSync;
