//! A memory whose clock stands still at the instant of the graph.

use crate::graph::NOW;
use poc_memory::chance::SeededChance;
use poc_memory::config::Config;
use poc_memory::memory::Memory;
use poc_memory::paths::Paths;
use poc_memory::time::ManualClock;
use std::path::Path;
use std::sync::Arc;

/// Opens the memory in a folder with the settings as shipped, making it when it is missing.
pub fn open(folder: &Path) -> Memory {
    open_with(folder, Config::defaults().unwrap())
}

/// The same with other settings.
pub fn open_with(folder: &Path, config: Config) -> Memory {
    let (paths, clock) = (Paths::in_folder(folder), Arc::new(ManualClock::new(NOW)));
    Memory::open(paths, config, clock, Arc::new(SeededChance::new(7))).unwrap()
}
