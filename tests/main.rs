//! Stories: the real binaries, driven from outside.

mod agents;
mod both_ways;
mod documents;
mod generated;
mod kill;
mod reload;
mod schedule;
mod support;
