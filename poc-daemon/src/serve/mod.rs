//! How the daemon is spoken to.

mod call;
mod conversation;
pub(crate) mod rest;
pub(crate) mod socket;

#[cfg(test)]
mod tests;
