//! How the daemon is spoken to.

pub(crate) mod socket;
