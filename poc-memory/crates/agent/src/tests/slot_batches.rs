//! A scheduled run continues until nothing that was stale when it began is left.

use super::world::{ScriptedModel, World, agent};
use crate::Catalog;
use crate::batches::SlotBatches;
use crate::due_slots::Tick;
use crate::ledger::{Pause, Run, Status, TriggerKind};
use crate::pause::pause;
use crate::run::{RunOptions, Trigger, run};
use crate::scheduler::Scheduler;
use chrono_tz::Tz;
use poc_graph::time::Timestamp;
use serde_json::json;
use std::sync::Arc;

const AGENT: &str = "prompt.inline = \"{{ NODES }}\"\nprompt.placeholders = [\"NODES\"]\n\
    [execution]\nmodel = \"default\"\nactions = [\"weight\"]\nschedule = \"daily at 03:30\"\n";

/// A memory with 50 notes and an agent that is due every night.
struct Night {
    world: World,
    scheduler: Scheduler,
    catalog: Arc<Catalog>,
}

impl Night {
    fn new(more: &str) -> Night {
        let world = World::new();
        let query =
            "query.pipeline = \"all | not-visited:nightly | limit:20\"\nschedule.timezone = \"UTC\"\n";
        world.file("agents/nightly.toml", &format!("{query}{AGENT}{more}"));
        for number in 0..50 {
            world.note(&format!("note-{number}"), &format!("Remark {number} about the harbour."));
        }
        let catalog = Arc::new(Catalog::load(&world.memory).unwrap());
        let mut night = Night { world, scheduler: Scheduler::default(), catalog };
        night.runs("2026-11-21T09:00:00Z");
        night
    }

    /// The runs of the slots that are due at a time, in their order.
    fn runs(&mut self, now: &str) -> Vec<Run> {
        self.world.clock.set(Timestamp::parse(now).unwrap());
        let memory = &self.world.memory;
        let tick = Tick::now(memory, Tz::UTC);
        let runs = self.scheduler.tick(memory, &self.catalog, tick, &RunOptions::default());
        let runs = runs.into_iter().map(|run| run.unwrap().unwrap());
        // Bundled agents run, too.
        runs.filter(|run| run.agent == "nightly").collect()
    }
}

fn counts(runs: &[Run]) -> Vec<(TriggerKind, usize)> {
    runs.iter().map(|run| (run.trigger, run.visited.len())).collect()
}

#[test]
fn a_slot_reads_all_stale_notes_in_batches() {
    let mut night = Night::new("");
    let runs = night.runs("2026-11-22T03:30:00Z");
    let expected = [(TriggerKind::Slot, 20), (TriggerKind::Batch, 20), (TriggerKind::Batch, 10)];
    assert_eq!(counts(&runs), expected);
    // The next night finds nothing.
    let runs = night.runs("2026-11-23T03:30:00Z");
    assert_eq!(runs.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Skipped]);
}

#[test]
fn the_batches_of_a_slot_count_as_one_run_of_the_day() {
    let mut night = Night::new("[budget]\nmax-runs-per-day = 1\n");
    assert_eq!(night.runs("2026-11-22T03:30:00Z").len(), 3);
}

#[test]
fn zero_minutes_mean_one_batch() {
    let mut night = Night::new("max-minutes = 0\n");
    assert_eq!(counts(&night.runs("2026-11-22T03:30:00Z")), [(TriggerKind::Slot, 20)]);
    assert_eq!(counts(&night.runs("2026-11-23T03:30:00Z")), [(TriggerKind::Slot, 20)]);
}

#[test]
fn notes_that_are_always_stale_are_read_once() {
    let mut night = Night::new("[freshness]\nwindow = \"0s\"\n");
    let visited: Vec<usize> =
        night.runs("2026-11-22T03:30:00Z").iter().map(|run| run.visited.len()).collect();
    assert_eq!(visited.iter().sum::<usize>(), 50);
}

#[test]
fn notes_written_during_the_night_wait_for_the_next() {
    let mut night = Night::new("");
    night.world.clock.set(Timestamp::parse("2026-11-22T03:30:00Z").unwrap());
    for number in 0..30 {
        night.world.note(&format!("late-{number}"), &format!("Late remark {number} about the pier."));
    }
    let read: usize = night.runs("2026-11-22T03:30:00Z").iter().map(|run| run.visited.len()).sum();
    assert!((50..=60).contains(&read), "{read}");
}

#[test]
fn a_paused_agent_runs_no_further_batch() {
    let night = Night::new("");
    night.world.clock.set(Timestamp::parse("2026-11-22T03:30:00Z").unwrap());
    let memory = &night.world.memory;
    let definition = night.catalog.get("nightly").unwrap();
    let trigger = Trigger::Slot(memory.now());
    let first = run(memory, definition, trigger, &RunOptions::default()).unwrap();
    let mut batches = SlotBatches::after(&first).unwrap();
    let mut next = |run: &Run| batches.run_next(memory, &night.catalog, run, &RunOptions::default()).unwrap();
    let second = next(&first).unwrap();
    assert_eq!((second.trigger, second.scheduled_at), (TriggerKind::Batch, first.scheduled_at));
    let rest = Pause { since: memory.now(), until: None, note: String::new() };
    pause(memory, "nightly", &rest, memory.cause("test", "pause")).unwrap();
    assert_eq!(next(&second), None);
    // A manual run has no batches.
    let asked = run(memory, definition, Trigger::Manual, &RunOptions::default()).unwrap();
    assert!(SlotBatches::after(&asked).is_none());
}

#[test]
fn actions_beyond_a_limit_are_done_in_the_next_batch() {
    let world = World::new();
    let notes: Vec<_> = (0..6).map(|number| world.note(&format!("note-{number}"), "A remark.")).collect();
    let definition = agent("\"weight\"", "[limits.weight]\nmax = 4\n");
    let raise = |names: &[&str]| {
        let change = |name: &&str| json!({"reason": "", "node": name, "delta": 0.1});
        json!({"weight": names.iter().map(change).collect::<Vec<_>>(), "notes": ""})
    };
    let all = ["N1", "N2", "N3", "N4", "N5", "N6"];
    let first = world.run(&definition, &ScriptedModel::replying(raise(&all)));
    assert_eq!((first.applied_actions().count(), first.visited.as_slice()), (4, &notes[..4]));
    let second = world.run(&definition, &ScriptedModel::replying(raise(&all[..2])));
    assert_eq!((second.applied_actions().count(), second.visited.as_slice()), (2, &notes[4..]));
}

#[test]
fn a_note_with_some_actions_beyond_a_limit_is_read_again_if_the_run_visits_another_one() {
    let world = World::new();
    let notes: Vec<_> = (0..3).map(|number| world.note(&format!("note-{number}"), "A remark.")).collect();
    let definition = agent("\"link-add\"", "[limits.link-add]\nmax = 1\n");
    let links = |pairs: &[(&str, &str)]| {
        let link = |(from, to): &(&str, &str)| json!({"reason": "", "from": from, "to": to, "strength": 0.5});
        json!({"link-add": pairs.iter().map(link).collect::<Vec<_>>(), "notes": ""})
    };
    let both = links(&[("N1", "N2"), ("N1", "N3")]);
    let first = world.run(&definition, &ScriptedModel::replying(both));
    assert_eq!((first.applied_actions().count(), first.visited.as_slice()), (1, &notes[1..2]), "{first:#?}");
    let second = world.run(&definition, &ScriptedModel::replying(links(&[("N1", "N2")])));
    assert_eq!(second.visited, [notes[0], notes[2]], "{second:#?}");
    assert_eq!(second.applied_actions().count(), 1);
}
