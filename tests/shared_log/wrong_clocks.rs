//! Daemons over one log on machines whose clocks differ.

use super::{insert, keys, settings, settled_export};
use crate::support::slow_agent::{agent, count};
use crate::support::world::{WAIT_LIMIT, World};
use poc_postgres::testing::TestServer;
use serde_json::Value;
use std::collections::BTreeSet;

/// The rows of the agent's runs, more than there are.
const HISTORY: [&str; 5] = ["agent", "history", "often", "--limit", "1000"];

/// The scheduled slots that have a row. A row without one belongs to a batch that continues a run.
fn slots(history: &Value) -> Vec<String> {
    let runs = history["runs"].as_array().unwrap().iter().filter(|run| run["occasion"] == "schedule");
    runs.map(|run| run["scheduled_at"].as_str().unwrap().to_owned()).collect()
}

fn newest(history: &Value) -> String {
    slots(history).into_iter().max().unwrap_or_default()
}

/// Settings of a daemon, which runs agents or not.
fn configure(world: &World, server: &TestServer, runs_agents: bool) {
    let more = format!("[daemon]\nheartbeat = \"1s\"\nruns-agents = {runs_agents}\n");
    let agents = "[agents]\ncatch-up-spread = \"0s\"\n";
    world.write("config.toml", &format!("{}{more}{agents}", settings(server)));
}

#[test]
fn a_clock_that_is_set_back_repeats_no_slot_and_ends_no_lease() {
    let Some(server) = TestServer::start() else { return };
    let (Some(right), Some(wrong)) = (World::with_clock(), World::with_clock()) else { return };
    let mut worlds = [right, wrong];
    for world in &worlds {
        configure(world, &server, true);
        let often = agent("default", "every 2s");
        world.write("agents/often.toml", &format!("{often}[budget]\nmax-runs-per-day = 100000\n"));
    }
    worlds[0].json(&["store", "init"]);
    worlds.iter_mut().for_each(World::start_daemon);
    let mut seen = String::new();
    for (round, shift) in ["+0", "-3h", "-50h", "+0"].into_iter().enumerate() {
        worlds[1].write("clock", shift);
        // Both write at the same time, so that they need leases.
        std::thread::scope(|scope| {
            for (at, world) in worlds.iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..8 {
                        assert_eq!(insert(world, &format!("note-{round}-{at}-{number}")), 0);
                    }
                });
            }
        });
        // The slots of the clock that is right are run, whatever the other one shows.
        for _ in 0..2 {
            let history = worlds[0].until(WAIT_LIMIT, &HISTORY, |history| newest(history) > seen);
            seen = newest(&history);
        }
        let history = worlds[0].json(&HISTORY);
        let slots = slots(&history);
        let once: BTreeSet<&String> = slots.iter().collect();
        assert_eq!(once.len(), slots.len(), "{shift}: a slot has two rows: {history:#}");
        assert_eq!(count(&history, "interrupted"), 0, "{shift}: {history:#}");
    }
    worlds.iter_mut().for_each(World::stop_daemon);
    // Runs would change the memory between two exports.
    worlds.iter().for_each(|world| configure(world, &server, false));
    worlds.iter_mut().for_each(World::start_daemon);
    assert_eq!(keys(&settled_export(&worlds)).len(), 4 * 2 * 8);
}
