//! Rows of runs: claimed once, ended once, pruned.

use super::super::world::{ScriptedModel, World};
use super::{link, two};
use crate::ledger::{self, Status, StatusReason};
use crate::review;
use crate::run::{RunOptions, Trigger, run_with, transcript};
use crate::run_limiter::{RunLimiter, expect_free};
use crate::undo::undo;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::Code;
use poc_graph::time::Span;
use serde_json::json;

#[test]
fn a_slot_runs_once_and_a_late_reply_is_discarded() {
    let world = World::new();
    let definition = two(&world);
    let slot = Trigger::Slot(world.memory.now());
    let nothing = ScriptedModel::doing_nothing(&["link-add", "weight"]);
    run_with(&world.memory, &definition, &nothing, slot, &RunOptions::default()).unwrap();
    let error = run_with(&world.memory, &definition, &nothing, slot, &RunOptions::default()).unwrap_err();
    assert_eq!(error.code, Code::Conflict);

    let before = world.graph();
    let late = ScriptedModel::replying(json!({"notes": "", "link-add": [link("N1", "N2")], "weight": []}))
        .during_call(|_| {
            // A second run is refused, then another process ends this one.
            let (unused, manual) = (ScriptedModel::new(Vec::new()), Trigger::Manual);
            let second = run_with(&world.memory, &definition, &unused, manual, &RunOptions::default());
            let refusal = second.unwrap_err();
            assert_eq!(
                (refusal.code, refusal.message.as_str()),
                (Code::Conflict, "`tester` is already running")
            );
            let refusal = expect_free(&world.memory, "tester").unwrap_err();
            assert!(
                refusal
                    .message
                    .starts_with("`tester` is already running, since 2026-11-21T08:00:00.000Z (run `")
            );
            ledger::abandon(&world.memory, |_| true, Status::Interrupted, "stopped").unwrap();
        });
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let error = run_with(&world.memory, &definition, &late, Trigger::Manual, &forced).unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert_eq!(world.graph(), before);
}

#[test]
fn of_manual_runs_at_once_all_but_the_first_are_refused() {
    let mut world = World::new();
    world.config().agents.max_concurrent_runs = 1;
    let (limiter, memory) = (RunLimiter::default(), &world.memory);
    let (send, results) = std::sync::mpsc::channel();
    let of_other_agent = limiter.acquire(memory, &CancellationToken::new()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            let (limiter, send) = (&limiter, send.clone());
            scope.spawn(move || {
                let permit = limiter.acquire_interactive(memory, "tester", &CancellationToken::new());
                send.send(permit.map(drop).map_err(|error| error.code)).unwrap();
            });
        }
        // The first one waits, and the others do not.
        for _ in 0..5 {
            assert_eq!(results.recv().unwrap(), Err(Code::Conflict));
        }
        drop(of_other_agent);
        assert_eq!(results.recv().unwrap(), Ok(()));
    });
    assert!(limiter.acquire_interactive(memory, "tester", &CancellationToken::new()).is_ok());
}

#[test]
fn a_run_of_a_dead_process_is_marked_interrupted() {
    let world = World::new();
    let definition = two(&world);
    let row = ledger::Run::new_running(&world.memory, "tester", None);
    ledger::claim(&world.memory, row).unwrap();
    // Another instance id: the old process has ended.
    world.clock.advance(Span::MINUTE);
    let mut world = world.reopen();
    let since = |world: &World| {
        let state = ledger::state(&world.memory, "tester").unwrap();
        ledger::current_run(&world.memory, "tester", &state).unwrap().map(|run| run.started)
    };
    let [row] = ledger::rows(&world.memory, Some("tester"), 10).unwrap().try_into().unwrap();
    world.memory.instance.clone_from(&row.instance);
    assert_eq!(
        (since(&world), ledger::with_current_status(&world.memory, row.clone()).status),
        (Some(row.started), Status::Running)
    );
    world.memory.instance = "another".into();
    // Its status is reported before it is stored.
    assert_eq!(
        (since(&world), ledger::with_current_status(&world.memory, row).status),
        (None, Status::Interrupted)
    );
    let run = world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"]));
    assert_eq!(run.status, Status::Noop);
    let rows = ledger::rows(&world.memory, Some("tester"), 10).unwrap();
    assert_eq!(rows.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Noop, Status::Interrupted]);
    let of = |status, limit| {
        let rows = ledger::rows_with_status(&world.memory, None, &[status], limit).unwrap();
        rows.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(of(Status::Noop, 10), [rows[0].id]);
    // The limit counts the rows that have the status.
    assert_eq!(of(Status::Interrupted, 1), [rows[1].id]);
    assert_eq!(of(Status::Running, 10), []);
}

#[test]
fn rows_and_transcripts_beyond_the_limit_are_pruned() {
    let mut world = World::new();
    world.config().agents.keep_rows = 3;
    world.config().agents.keep_bodies = 2;
    let definition = two(&world);
    let forced = RunOptions { force: true, ..RunOptions::default() };
    let mut runs = Vec::new();
    for _ in 0..5 {
        world.clock.advance(Span::MINUTE);
        let (nothing, slot) =
            (ScriptedModel::doing_nothing(&["link-add", "weight"]), Trigger::Slot(world.memory.now()));
        runs.push(run_with(&world.memory, &definition, &nothing, slot, &forced).unwrap());
    }
    let rows = ledger::rows(&world.memory, None, 10).unwrap();
    assert_eq!(rows.iter().map(|run| run.id).collect::<Vec<_>>(), [runs[4].id, runs[3].id, runs[2].id]);
    // The state still knows the slot.
    let slot = Trigger::Slot(runs[0].scheduled_at.unwrap());
    let again =
        run_with(&world.memory, &definition, &ScriptedModel::new(Vec::new()), slot, &forced).unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    let kept: Vec<bool> = runs.iter().map(|run| transcript(&world.memory, run).unwrap().is_some()).collect();
    assert_eq!(kept, [false, false, false, true, true]);
}

#[test]
fn runs_after_the_clock_was_set_back_are_the_newest() {
    let world = World::new();
    let definition = two(&world);
    let run = |world: &World| {
        let nothing = ScriptedModel::doing_nothing(&["link-add", "weight"]);
        let forced = RunOptions { force: true, ..RunOptions::default() };
        run_with(&world.memory, &definition, &nothing, Trigger::Manual, &forced).unwrap()
    };
    let ids = |world: &World| -> Vec<_> {
        ledger::rows(&world.memory, None, 10).unwrap().into_iter().map(|run| run.id).collect()
    };
    let first = run(&world);
    world.clock.set(world.memory.now().minus(Span::DAY));
    // Within a process, ids ascend in any case.
    let mut world = world.reopen();
    let second = run(&world);
    world.clock.advance(Span::MINUTE);
    let third = run(&world);
    assert!(second.started < first.started);
    assert_eq!(ids(&world), [third.id, second.id, first.id]);
    assert_ne!(third.id.short(), second.id.short());
    let since = ledger::rows_since(&world.memory, first.started).unwrap();
    assert_eq!(since.into_iter().map(|run| run.id).collect::<Vec<_>>(), [first.id]);
    // The oldest rows are deleted, not those that the clock says are.
    world.config().agents.keep_rows = 2;
    let fourth = run(&world);
    assert_eq!(ids(&world), [fourth.id, third.id]);
}

#[test]
fn the_id_of_a_run_follows_those_of_all_agents() {
    let world = World::new();
    let add = |world: &World, agent: &str| {
        let memory = &world.memory;
        let row = ledger::Run::new_running(memory, agent, None);
        memory.store.transact(memory.cause("manual", "test"), |tx| tx.put(&row.key(), &row)).unwrap();
        row.id
    };
    let mut ids: Vec<_> = ["b", "bb", "a", "b"].map(|agent| add(&world, agent)).into();
    world.clock.set(world.memory.now().minus(Span::DAY));
    let world = world.reopen();
    ids.extend(["a", "c", "bb", "a"].map(|agent| add(&world, agent)));
    assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
}

#[test]
fn rows_of_recent_changes_rejections_and_undone_links_outlast_the_limit() {
    let mut world = World::new();
    world.config().agents.keep_rows = 1;
    let definition = two(&world);
    let linked = json!({"notes": "", "link-add": [link("N1", "N2")], "weight": []});
    let raised = |node: &str| {
        let raise = json!({"reason": "", "node": node, "delta": 0.1});
        json!({"notes": "", "link-add": [], "weight": [raise]})
    };
    let run = |reply: Option<serde_json::Value>, propose: bool| {
        world.clock.advance(Span::MINUTE);
        let options = RunOptions { force: true, propose, ..RunOptions::default() };
        let model = match reply {
            Some(reply) => ScriptedModel::replying(reply),
            None => ScriptedModel::doing_nothing(&["link-add", "weight"]),
        };
        run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap().id
    };
    let kept = || -> Vec<_> {
        ledger::rows(&world.memory, None, 10).unwrap().into_iter().map(|run| run.id).collect()
    };
    let undone = run(Some(linked), false);
    undo(&world.memory, &ledger::find(&world.memory, &undone.to_string()).unwrap(), &[]).unwrap();
    let rejected = run(Some(raised("N1")), true);
    review::reject(&world.memory, rejected, &[], "").unwrap();
    let applied = run(Some(raised("N2")), false);
    run(None, false);
    let last = run(None, false);
    assert_eq!(kept(), [last, applied, rejected, undone]);
    world.clock.advance(Span(3 * Span::DAY.0));
    let last = run(None, false);
    assert_eq!(kept(), [last, rejected, undone]);
}

#[test]
fn a_run_that_panics_fails_and_does_not_block_its_agent() {
    let world = World::new();
    let definition = two(&world);
    let broken = ScriptedModel::new(Vec::new()).during_call(|_| panic!("out of range"));
    let error =
        run_with(&world.memory, &definition, &broken, Trigger::Manual, &RunOptions::default()).unwrap_err();
    assert_eq!(error.message, "the run panicked: out of range");
    let row = ledger::rows(&world.memory, Some("tester"), 1).unwrap().remove(0);
    assert_eq!((row.status, row.message), (Status::Failed, Some(error.line())));
    assert_eq!(
        world.run(&definition, &ScriptedModel::doing_nothing(&["link-add", "weight"])).status,
        Status::Noop
    );
}

#[test]
fn a_running_row_is_never_pruned() {
    let mut world = World::new();
    world.config().agents.keep_rows = 2;
    let running =
        ledger::claim(&world.memory, ledger::Run::new_running(&world.memory, "tester", None)).unwrap();
    for hour in 1..6 {
        let slot = world.memory.now().plus(Span(hour * Span::HOUR.0));
        let reason = Some(StatusReason::Overlap);
        let outcome = ledger::RowOutcome { status: Status::Skipped, reason, message: None };
        ledger::record_without_run(&world.memory, "tester", Trigger::Slot(slot), outcome).unwrap();
    }
    let rows = ledger::rows(&world.memory, Some("tester"), 10).unwrap();
    assert_eq!((rows.len(), ledger::running(&world.memory).unwrap()), (2, vec![running]));
}
