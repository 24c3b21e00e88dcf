//! Stories about agents: from a file to a changed graph and back.

mod before;
mod budgets;
mod files;
mod models;
mod pauses;
mod prompts;
mod proposals;
mod runs;
mod undoing;
mod world;
