//! A month of runs of all bundled agents over a few hundred notes, with all proposals approved. Search results
//! must not get worse.
//!
//! The test uses its own notes. The ignored test uses the first conversation of the data set in the folder
//! `POC_MEMORY_MONTH` (`docs.jsonl`, `queries.jsonl`, `qrels.tsv`).

use super::world::World;
use crate::Catalog;
use crate::Definition;
use crate::definition::ActionKind;
use crate::ledger::{ActionRecord, Run, Status, StatusReason};
use crate::permit::RefusalReason;
use crate::review::approve;
use crate::run::{RunOptions, Trigger, run};
use crate::selection::backlog;
use poc_graph::rng::{Rng, SeededRng};
use poc_graph::time::{Span, Timestamp};
use poc_graph::{NodeId, Visibility};
use poc_notes::Draft;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const NIGHTS: u32 = 30;
/// Maximum number of batches of an agent in a night.
const BATCHES: usize = 20;
const TOP: usize = 10;

/// A question, and a text that only the notes with the answer contain.
struct Probe {
    asks: String,
    mark: String,
}

struct MonthSimulation {
    world: World,
    agents: Vec<Arc<Definition>>,
    probes: Vec<Probe>,
    last: BTreeMap<String, Run>,
}

impl MonthSimulation {
    fn new(world: World, probes: Vec<Probe>) -> MonthSimulation {
        let catalog = Catalog::load(&world.memory).unwrap();
        let agents: Vec<_> = catalog.agents.keys().map(|name| catalog.get(name).unwrap().clone()).collect();
        assert_eq!(agents.len(), 8);
        MonthSimulation { world, agents, probes, last: BTreeMap::new() }
    }

    /// Live notes with their texts.
    fn live(&self) -> Vec<(NodeId, String)> {
        let (store, view) = (&self.world.memory.store, self.world.memory.store.view());
        let ids = (0..view.slots()).filter(|&ix| view.is_live(ix)).filter_map(|ix| view.id(ix));
        let with_text =
            |id| store.node(id).unwrap().map(|node| (id, format!("{}\n{}", node.title, node.body)));
        ids.filter_map(with_text).collect()
    }

    /// The share of questions with an answer among the first ten hits. Notes that only quote an answer do not
    /// count.
    fn recall(&self) -> f64 {
        let memory = &self.world.memory;
        let view = memory.store.view();
        let own = |id: NodeId| view.find(id).is_some_and(|ix| view.provenance_name(ix) == "agent:transfer");
        let texts: BTreeMap<NodeId, String> = self.live().into_iter().collect();
        let found = self.probes.iter().filter(|probe| {
            let visibility = Visibility { now: memory.now(), quarantined: true };
            let hits = memory.retriever(&view).find(&probe.asks, TOP, visibility).unwrap().hits;
            hits.iter()
                .any(|hit| !own(hit.id) && texts.get(&hit.id).is_some_and(|text| text.contains(&probe.mark)))
        });
        found.count() as f64 / self.probes.len() as f64
    }

    fn night(&mut self, number: u32) {
        self.world.clock.advance(Span::DAY);
        for agent in self.agents.clone() {
            let weekly = agent.execution.schedule.to_string() == "weekly";
            if weekly && !number.is_multiple_of(7) {
                continue;
            }
            // A scheduled run continues in batches until everything that was stale is read.
            let mut first = None;
            for _ in 0..BATCHES {
                let ran = run(&self.world.memory, &agent, Trigger::Manual, &RunOptions::default()).unwrap();
                assert!(
                    matches!(ran.status, Status::Ok | Status::Noop | Status::Proposed | Status::Skipped),
                    "{}: {ran:#?}",
                    agent.name
                );
                for action in &ran.actions {
                    let refused = action.refusal_code.as_deref().and_then(RefusalReason::parse);
                    assert!(!refused.is_some_and(RefusalReason::is_failure), "{}: {action:#?}", agent.name);
                }
                for item in approve(&self.world.memory, ran.id, &[]).unwrap() {
                    assert!(item.refused.is_none(), "{}: {item:?}", agent.name);
                }
                let is_done = ran.visited.is_empty();
                first.get_or_insert(ran);
                if is_done {
                    break;
                }
            }
            self.last.extend(first.map(|ran| (agent.name.clone(), ran)));
        }
    }

    /// Runs a month. After that, the agents have visited all notes of the test; an external data set may have
    /// more notes.
    fn month(&mut self, to_the_end: bool) {
        let (before, notes) = (self.recall(), self.live().len());
        let mut worst = before;
        for number in 1..=NIGHTS {
            self.night(number);
            if number.is_multiple_of(7) || number == NIGHTS {
                worst = worst.min(self.recall());
            }
        }
        let after = self.live();
        println!("Recall@10 {before:.4}, at its lowest {worst:.4}; {notes} notes, then {}", after.len());
        assert!(worst >= before - 0.005, "Recall@10 was {before} and fell to {worst}");
        assert!(after.len() as f64 <= notes as f64 * 1.05, "{notes} notes have become {}", after.len());
        let lost: Vec<&str> = self
            .probes
            .iter()
            .map(|probe| probe.mark.as_str())
            .filter(|mark| !after.iter().any(|(_, text)| text.contains(*mark)))
            .collect();
        assert!(lost.is_empty(), "these facts are no longer in any note: {lost:?}");
        let bounds = &self.world.memory.config.weight;
        for (id, text) in &after {
            let weight = self.world.weight(*id);
            assert!((bounds.floor..=bounds.cap).contains(&weight), "{text} weighs {weight}");
        }
        // Only weights still change, because they decay and are raised again within their bounds.
        for (name, run) in &self.last {
            let weighs = |action: &ActionRecord| action.kind == Some(ActionKind::Weight);
            let rests = matches!(run.reason, Some(StatusReason::NotStale | StatusReason::TooFewResults));
            let agent = self.agents.iter().find(|agent| agent.name == *name).unwrap();
            if !to_the_end && backlog(&self.world.memory, agent).unwrap() > 0 {
                continue;
            }
            assert!(
                rests || run.actions.iter().all(weighs),
                "{name} still changes more than weights: {run:#?}"
            );
        }
    }
}

#[test]
fn a_month_of_all_agents_does_not_degrade_the_memory() {
    let world = World::new();
    let probes = write(&world, 160);
    let mut simulation = MonthSimulation::new(world, probes);
    simulation.month(true);
    let done: BTreeSet<String> = simulation
        .live()
        .iter()
        .filter_map(|(id, _)| {
            let view = simulation.world.memory.store.view();
            view.find(*id).map(|ix| view.provenance_name(ix).to_owned())
        })
        .collect();
    // Every agent that writes has written something.
    for agent in ["agent:split", "agent:transfer"] {
        assert!(done.contains(agent), "{agent} among {done:?}");
    }
    let view = simulation.world.memory.store.view();
    assert!((0..view.slots()).any(|ix| view.aliases(ix).next().is_some()), "no note was renamed");
}

#[test]
#[ignore = "needs a data set in the folder POC_MEMORY_MONTH: docs.jsonl, queries.jsonl and qrels.tsv"]
fn a_month_over_an_external_data_set() {
    let folder = std::env::var_os("POC_MEMORY_MONTH")
        .expect("set POC_MEMORY_MONTH to a folder with docs.jsonl, queries.jsonl and qrels.tsv");
    let world = World::new();
    let probes = take(&world, Path::new(&folder));
    MonthSimulation::new(world, probes).month(false);
}

/// Notes like those of a team that runs a service: sessions, facts, similar notes with different numbers,
/// repeated notes, generated keys, and a long note with headings.
fn write(world: &World, count: usize) -> Vec<Probe> {
    const WHAT: [&str; 12] = [
        "The importer of invoices",
        "The search index",
        "The journal of the engine",
        "The broker's certificate",
        "The nightly backup",
        "The tariff query",
        "The pager",
        "The release of the portal",
        "The flaky login test",
        "The disk of the second machine",
        "The mail to customers",
        "The rounding of amounts",
    ];
    const HOW: [&str; 10] = [
        "was late again after somebody had changed it on Friday",
        "lost two rows, which nobody saw until the monthly report",
        "took four times as long as the week before",
        "failed with a message that named the wrong folder",
        "was rewritten and is half as long now",
        "ran out of memory while the import was going on",
        "is to be frozen in the week before a release",
        "answered in the wrong zone for customers overseas",
        "was blamed, but the network was the cause",
        "works, and nobody remembers why it had not",
    ];
    const WHO: [&str; 8] = ["Ann", "Mira", "Jonas", "Petra", "Selim", "Ruth", "Tariq", "Ines"];
    const THEN: [&str; 9] = [
        "We agreed to look at it on Thursday.",
        "A check at the start would have told us.",
        "The fix was a single line.",
        "It is written down in the runbook.",
        "Customers noticed nothing.",
        "Two of them called.",
        "It has to be measured first.",
        "Nobody wants to touch it before the holidays.",
        "The old way is still there behind a switch.",
    ];
    let rng = SeededRng::new(11);
    let pick = |many: &[&'static str]| many[rng.next_u64() as usize % many.len()];
    let mut probes = Vec::new();
    for number in 0..count {
        let (what, how, who) = (pick(&WHAT), pick(&HOW), pick(&WHO));
        let mark = format!("INC-{}", 4000 + number * 7);
        let body = format!("{what} {how} ({mark}). {who} found it. {} {}", pick(&THEN), pick(&THEN));
        let key = match number % 30 {
            3 => format!("{:08x}-{:04x}", 0x3f2a_9c00 + number, number),
            7 => format!("untitled-{number}"),
            11 => format!("2026-11-07-{}", body.to_lowercase().replace([' ', '(', ')', '.'], "-")),
            _ => format!("note-on-{}", mark.to_lowercase()),
        };
        let mut draft = super::world::draft(&key, &body);
        draft.title = Some(format!("{what} {}", how.split(' ').take(3).collect::<Vec<_>>().join(" ")));
        draft.node_type = Some(if number % 3 == 0 { "semantic" } else { "episodic" }.into());
        draft.created = Some(world.memory.now().minus(Span(Span::DAY.0 * (number as i64 % 40))));
        world.draft(draft);
        probes.push(Probe { asks: format!("{what} {how}, {who} and {mark}"), mark });
    }
    // Facts that recur in several sessions in different words.
    let recurring = [
        "After lunch the gauge of Lodestar stopped once more, and Ruth restarted it by hand.",
        "Selim wants to replace the gauge of Lodestar before the year ends.",
        "It turned out that the Lodestar gauge ignores every second pulse at night.",
        "Ines has drawn how the gauge in Lodestar should work, on two sheets.",
    ];
    for (day, body) in recurring.into_iter().enumerate() {
        let mut draft = super::world::draft(&format!("lodestar-{day}"), body);
        draft.node_type = Some("episodic".into());
        draft.created = Some(world.memory.now().minus(Span(Span::DAY.0 * (day as i64 + 1))));
        world.draft(draft);
    }
    let mark = "engine-handbook-77";
    let text = |about: &str| {
        let what = "is done by one job in the background that gives way to everything else.";
        format!("{about} {what} {}", THEN.join(" "))
    };
    let (pages, runs, memory) =
        (text("Writing pages"), text("Merging runs"), text("Bounding memory").repeat(3));
    let body = format!(
        "What to know ({mark}).\n\n## Checkpoints\n{pages}\n\n## Compaction\n{runs}\n\n## Limits\n{memory}"
    );
    world.draft(super::world::draft("handbook", &body));
    probes.push(Probe { asks: format!("handbook what to know {mark}"), mark: mark.into() });
    probes
}

/// The notes and questions of the first conversation of a data set.
fn take(world: &World, folder: &Path) -> Vec<Probe> {
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let docs = lines("docs.jsonl");
    let group = docs[0]["meta"]["group"].clone();
    let mut bodies_by_id = BTreeMap::new();
    for (number, doc) in docs.iter().filter(|doc| doc["meta"]["group"] == group).enumerate() {
        let id = text(doc, "id");
        let body = text(doc, "text");
        world.draft(Draft {
            title: Some(text(doc, "title")).filter(|title| !title.is_empty()),
            node_type: Some("episodic".into()),
            created: Some(Timestamp(world.memory.now().0 - number as i64 * Span::HOUR.0)),
            ..super::world::draft(&id, &body)
        });
        bodies_by_id.insert(id, body);
    }
    let relevant: BTreeMap<String, String> = std::fs::read_to_string(folder.join("qrels.tsv"))
        .unwrap()
        .lines()
        .filter_map(|line| Some((line.split('\t').next()?.to_owned(), line.split('\t').nth(1)?.to_owned())))
        .collect();
    let probe = |query: &Value| {
        let mark = bodies_by_id.get(relevant.get(&text(query, "id"))?)?.clone();
        Some(Probe { asks: text(query, "text"), mark })
    };
    lines("queries.jsonl").iter().filter_map(probe).collect()
}
