//! Stories about agents: from a file to a changed graph and back.

mod before;
mod budgets;
mod catching_up;
mod changing;
mod explaining;
mod files;
mod fleet;
mod hostile;
mod judge;
mod meanwhile;
mod models;
mod month;
mod pauses;
mod poison;
mod prompts;
mod proposals;
mod reruns;
mod runs;
mod targets;
mod trials;
mod undoing;
mod world;
mod writers;
