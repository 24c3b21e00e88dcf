//! A memory whose clock is stopped at the time of the generated graph.

use crate::graph::NOW;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::rng::SeededRng;
use poc_graph::time::ManualClock;
use poc_notes::Memory;
use std::path::Path;
use std::sync::Arc;

/// Opens the memory in a folder with the default settings, and creates it when it is missing.
pub fn open(folder: &Path) -> Memory {
    open_with(folder, Config::defaults().unwrap())
}

/// The same with other settings.
pub fn open_with(folder: &Path, config: Config) -> Memory {
    let (paths, clock) = (Paths::in_folder(folder), Arc::new(ManualClock::new(NOW)));
    Memory::open(paths, config, clock, Arc::new(SeededRng::new(7))).unwrap()
}
