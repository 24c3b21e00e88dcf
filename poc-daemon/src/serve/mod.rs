//! How the daemon is spoken to.

mod conversation;
pub(crate) mod socket;

#[cfg(test)]
mod tests;
