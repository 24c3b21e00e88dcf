//! Stores written by earlier releases.

use super::world::{ScriptedModel, World, outcomes, parse};
use crate::Catalog;
use crate::ledger::{self, ActionState, Run, Status, StatusReason, TriggerKind};
use crate::run::{RunOptions, Trigger, run_with};
use crate::undo::undo;
use poc_graph::error::Code;
use poc_graph::time::{Span, Timestamp};
use poc_store::Record;
use std::path::Path;

/// A store written before rows had version 2: three notes, an undone run, an equal run that was not undone, a
/// failed run, a run whose process was killed, and slots of a disabled agent.
fn store_with_rows_of_version_1() -> World {
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/store-with-runs-1");
    let world = World::with(|home| {
        let folder = home.join("store/log");
        std::fs::create_dir_all(&folder).unwrap();
        for file in std::fs::read_dir(&log).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    });
    world.clock.set(Timestamp::parse("2026-11-22T13:00:00Z").unwrap());
    world
}

fn state_of(run: &Run) -> Vec<ActionState> {
    run.actions.iter().map(|action| action.state).collect()
}

#[test]
fn rows_of_version_1_are_read() {
    use ActionState::{Applied, Refused, Undone};
    let world = store_with_rows_of_version_1();
    let rows = ledger::rows(&world.memory, None, 10).unwrap();
    let rows_read: Vec<(&str, Status, Option<StatusReason>, TriggerKind)> =
        rows.iter().map(|run| (run.agent.as_str(), run.status, run.reason, run.trigger)).collect();
    let off = ("off", Status::Skipped, Some(StatusReason::Disabled), TriggerKind::Slot);
    assert_eq!(
        rows_read,
        [
            off,
            off,
            off,
            ("slow", Status::Interrupted, None, TriggerKind::Manual),
            ("lost", Status::Failed, Some(StatusReason::InvalidConfig), TriggerKind::Manual),
            ("fixture", Status::Partial, None, TriggerKind::Manual),
            ("fixture", Status::Partial, None, TriggerKind::Manual),
        ]
    );
    let (kept, undone) = (&rows[5], &rows[6]);
    assert_eq!(state_of(kept), [Applied, Refused, Applied, Refused]);
    assert_eq!(state_of(undone), [Undone, Refused, Undone, Refused]);
    assert_eq!((kept.actions[0].seq, kept.actions[1].seq), (kept.seq, None));
    assert_eq!(
        outcomes(kept),
        [
            "link `btree-split` to `btree-merge` at 0.8: applied",
            "link `btree-split` to `N9` (unknown) at 0.5: unknown-handle",
            "move the weight of `journal` by +0.1: applied",
            "supersede `btree-split` by `btree-merge`: proposed",
        ]
    );

    // Its writes can be undone, and the row is then written in the current version.
    assert_eq!(undo(&world.memory, undone, &[]).unwrap_err().code, Code::Conflict);
    assert!(undo(&world.memory, kept, &[]).unwrap().items.iter().all(|item| item.refused.is_none()));
    let world = world.reopen();
    let row = ledger::find(&world.memory, &kept.id.to_string()).unwrap();
    assert_eq!(state_of(&row), [Undone, Refused, Undone, Refused]);
}

#[test]
fn agent_states_of_earlier_releases_are_read() {
    let world = store_with_rows_of_version_1();
    let off = ledger::rows(&world.memory, Some("off"), 10).unwrap();
    let text = "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
        [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n";
    let mut definition = parse(text).unwrap();
    definition.name = "off".into();
    let run = |slot| {
        let nothing = ScriptedModel::doing_nothing(&["link-add"]);
        run_with(&world.memory, &definition, &nothing, Trigger::Slot(slot), &RunOptions::default())
    };
    for row in &off {
        assert_eq!(run(row.scheduled_at.unwrap()).unwrap_err().code, Code::Conflict);
    }
    let after = run(off[0].scheduled_at.unwrap().plus(Span::HOUR)).unwrap();
    assert_eq!((after.status, after.trigger), (Status::Noop, TriggerKind::Slot));
}

#[test]
fn stored_agents_of_earlier_releases_are_read() {
    let world = store_with_rows_of_version_1();
    let catalog = Catalog::load(&world.memory).unwrap();
    let names: Vec<&str> = catalog.agents.keys().map(String::as_str).collect();
    // The `agents` folder is missing, and two agents name models that are not configured.
    assert_eq!(names, ["fixture", "linker", "lost", "off", "replay", "separator", "slow"]);
    assert!(
        catalog.agents.values().all(|entry| entry.since < Timestamp::parse("2026-11-22T12:49:00Z").unwrap())
    );
    let good: Vec<&str> = names.into_iter().filter(|name| catalog.get(name).is_ok()).collect();
    assert_eq!(good, ["linker", "lost", "off", "replay", "separator"]);
}

#[test]
fn rows_of_versions_2_to_4_lack_the_fields_of_later_ones() {
    let world = store_with_rows_of_version_1();
    for row in ledger::rows(&world.memory, None, 10).unwrap() {
        let mut bytes = row.encode().unwrap();
        assert_eq!(bytes.first(), Some(&5));
        for (version, field) in [(4, "the nodes of links"), (3, "the tenant"), (2, "the omitted actions")] {
            assert_eq!(bytes.pop(), Some(0), "{field}");
            bytes[0] = version;
            assert_eq!(Run::decode(&bytes).unwrap(), row, "without {field}");
        }
    }
}

#[test]
fn a_reason_that_no_run_gets_any_more_is_read() {
    let world = store_with_rows_of_version_1();
    let mut row = ledger::rows(&world.memory, None, 1).unwrap().remove(0);
    let mut stored_with = |reason| {
        row.reason = Some(reason);
        row.encode().unwrap()
    };
    let stored = stored_with(StatusReason::NoLanguageModel);
    // A reason is stored as its index.
    let other = stored_with(StatusReason::Elsewhere);
    let bytes: Vec<(u8, u8)> = std::iter::zip(stored.clone(), other).filter(|(a, b)| a != b).collect();
    assert_eq!(bytes, [(14, 13)]);
    let read = Run::decode(&stored).unwrap();
    assert_eq!(read.reason.map(StatusReason::name), Some("no-language-model"));
}

#[test]
fn a_row_of_a_newer_version_is_reported_as_newer() {
    let error = Run::decode(&[6, 0, 0]).unwrap_err();
    assert_eq!(error.message, "a record of Runs has version 6, this release reads up to 5");
}
