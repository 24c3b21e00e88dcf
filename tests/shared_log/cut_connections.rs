//! Connections between a daemon and the database that are cut at a message. The tests of `poc-postgres` cut them at
//! every message of a store; here, the daemon must also continue.

use super::{check_acknowledged, insert, settings, settled_export, world};
use crate::support::number_in;
use crate::support::world::{WAIT_LIMIT, World};
use poc_postgres::testing::{Cut, CutPoint, CuttingProxy, TestServer};
use std::collections::BTreeSet;

/// The keys of notes that were written, and of those for which this is not known.
#[derive(Default)]
struct Written {
    acknowledged: BTreeSet<String>,
    tried: BTreeSet<String>,
}

impl Written {
    fn note(&mut self, key: String, is_acknowledged: bool) {
        if is_acknowledged {
            self.acknowledged.insert(key.clone());
        }
        self.tried.insert(key);
    }
}

/// Writes by two daemons, of which the first one may lose a connection. Returns after it has recovered.
fn write(worlds: &[World], round: &str, written: &mut Written) {
    let single = format!("single-{round}");
    let is_acknowledged = insert(&worlds[0], &single) == 0;
    written.note(single, is_acknowledged);
    let batch: Vec<String> = (0..4).map(|number| format!("batch-{round}-{number}")).collect();
    let lines = batch
        .iter()
        .map(|key| format!("{{\"key\":\"{key}\",\"title\":\"{key}\",\"body\":\"A pier {key}\"}}\n"));
    worlds[0].write("lines.jsonl", &lines.collect::<String>());
    let is_acknowledged = worlds[0].run(&["import", "lines.jsonl"]).status == 0;
    batch.into_iter().for_each(|key| written.note(key, is_acknowledged));
    let other = format!("other-{round}");
    assert_eq!(insert(&worlds[1], &other), 0);
    let seq = worlds[1].json(&["stats"])["as_of"]["seq"].as_u64();
    written.note(other, true);
    worlds[0].until(WAIT_LIMIT, &["stats"], |stats| {
        stats["as_of"]["seq"].as_u64() >= seq && stats["degraded"].as_array().unwrap().is_empty()
    });
}

/// Cuts a connection of a daemon at some or all messages of a round of writes.
fn cut(most: u64) {
    let Some(server) = TestServer::start() else { return };
    let proxy = CuttingProxy::start(&server);
    let mut worlds = vec![World::new(), world(&server)];
    let cut_settings = settings(&server).replace(&server.address(), &proxy.address());
    worlds[0].write("config.toml", &format!("{cut_settings}[daemon]\nruns-agents = false\n"));
    worlds[1].json(&["store", "init"]);
    worlds.iter_mut().for_each(World::start_daemon);
    let mut written = Written::default();
    proxy.plan(None);
    write(&worlds, "uncut", &mut written);
    let messages = proxy.messages();
    assert!(messages > 20, "only {messages} messages");
    let count = messages.min(most);
    for number in 0..count {
        // Other rounds have about as many messages, so most cuts are within their round.
        let message = 1 + number * messages / count;
        let point = CutPoint::ALL[number as usize % CutPoint::ALL.len()];
        proxy.plan(Some(Cut { message, point }));
        write(&worlds, &number.to_string(), &mut written);
    }
    let found = check_acknowledged(&settled_export(&worlds), &written.acknowledged);
    assert!(found.is_subset(&written.tried));
    for key in found {
        let history = worlds[1].json(&["history", &key]);
        assert_eq!(history["changes"].as_array().unwrap().len(), 1, "{history:#}");
    }
    // The daemon repeats an append whose connection was cut, so most writes are acknowledged.
    assert!(written.acknowledged.len() * 4 >= written.tried.len() * 3, "{:?}", written.acknowledged);
}

#[test]
fn a_daemon_recovers_wherever_its_connection_is_cut() {
    cut(number_in("POC_MEMORY_CUTS", 12));
}

#[test]
#[ignore = "cuts a connection at every message, which takes minutes; `just reliability full R22` runs it"]
fn a_daemon_recovers_from_a_cut_at_every_message() {
    cut(u64::MAX);
}
