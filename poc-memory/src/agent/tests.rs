//! Stories about agents: from a file to a changed graph and back.

mod before;
mod budgets;
mod catching_up;
mod changing;
mod files;
mod fleet;
mod models;
mod pauses;
mod prompts;
mod proposals;
mod reruns;
mod runs;
mod trials;
mod undoing;
mod world;
