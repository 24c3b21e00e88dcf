//! Stories about agents: from a file to a changed graph and back.

mod before;
mod broken;
mod budgets;
mod catching_up;
mod explaining;
mod files;
mod fleet;
mod hostile;
mod judge;
mod keys;
mod meanwhile;
mod models;
mod month;
mod on_change;
mod params;
mod pauses;
mod poison;
mod prompts;
mod proposals;
mod racing;
mod reference;
mod reruns;
mod runaway;
mod runs;
mod schema;
mod targets;
mod trials;
mod undoing;
mod weeks;
mod wholes;
mod writers;

use super::testing::world;
