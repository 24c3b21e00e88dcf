//! On-change agents.

use super::fleet::{Answer, Fleet, fails, nothing, replying};
use crate::due_slots::{DueRun, Tick};
use crate::ledger::{self, Pause, Run, Status, Trigger, TriggerKind};
use crate::pause::pause;
use crate::run::run;
use crate::scheduler;
use chrono_tz::Tz;
use poc_graph::error::Code;
use poc_graph::time::Span;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SECONDS: Span = Span(10 * Span::SECOND.0);

/// An on-change agent and two notes older than it, after its cooldown.
fn fleet(more: &str) -> Fleet {
    let mut fleet = Fleet::new(&[("linker", &format!("schedule = \"on-change\"\n{more}"))], |_| nothing());
    seconds(&mut fleet, 600);
    assert_eq!(fleet.rows(), [], "nothing has changed since it was added");
    fleet
}

fn seconds(fleet: &mut Fleet, seconds: i64) {
    fleet.pass(Span(seconds * Span::SECOND.0), SECONDS);
}

/// An agent that inserts a note in every run, of a type that another one reads.
fn inserts(pipeline: &str, more: &str) -> String {
    format!(
        "[query]\npipeline = \"{pipeline}\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"insert\"]\nschedule = \"on-change\"\n{more}"
    )
}

/// Inserts with a new key every time.
fn writer() -> impl FnMut() -> Answer {
    let mut count = 0;
    move || {
        count += 1;
        // The words differ each time, because a note that repeats its source would be refused.
        let word: String = format!("{count}").chars().map(|c| (b'a' + c as u8 - b'0') as char).collect();
        replying(&format!(
            r#"{{"notes": "", "insert": [{{"reason": "", "key": "found-{count}", "title": "Found {word}{word}",
            "body": "{word}one {word}two {word}three.", "keywords": [], "sources": ["N1"]}}]}}"#
        ))
    }
}

#[test]
fn an_on_change_agent_runs_after_a_quiet_period() {
    let mut fleet = fleet("");
    let before = fleet.world.memory.store.last_seq();
    seconds(&mut fleet, 3600);
    assert_eq!(fleet.world.memory.store.last_seq(), before, "nothing is written when nothing has changed");
    fleet.world.note("a", "one");
    seconds(&mut fleet, 20);
    fleet.world.note("b", "two");
    seconds(&mut fleet, 30);
    assert_eq!(fleet.rows().len(), 0);
    seconds(&mut fleet, 10);
    insta::assert_snapshot!(fleet.story(), @"11-21T09:11 linker change: noop");
    // It also processed the notes that it had never visited.
    assert_eq!(fleet.rows()[0].visited.len(), 4);
    seconds(&mut fleet, 3600);
    assert_eq!(fleet.rows().len(), 1);
    fleet.world.edit("a", "one and a half");
    seconds(&mut fleet, 60);
    assert_eq!(fleet.rows()[1].selected.len(), 1);
    // Irrelevant changes write no row.
    let mut semantic = super::world::draft("c", "three");
    semantic.node_type = Some("semantic".into());
    fleet.world.draft(semantic);
    seconds(&mut fleet, 600);
    assert_eq!(fleet.rows().len(), 2);
}

#[test]
fn constant_changes_delay_a_run_only_up_to_the_limit() {
    let mut fleet = fleet("");
    for count in 0..40 {
        fleet.world.note(&format!("note-{count}"), &format!("number {count}"));
        seconds(&mut fleet, 20);
    }
    let waits: Vec<i64> = fleet
        .rows()
        .windows(2)
        .map(|pair| (pair[1].started.0 - pair[0].started.0) / Span::SECOND.0)
        .collect();
    assert!(!waits.is_empty() && waits.iter().all(|wait| (300..=330).contains(wait)), "{waits:?}");
}

/// The runs of the other agent end more often than the quiet period, and write only visits.
#[test]
fn runs_of_other_agents_do_not_delay_a_run() {
    let often = ("often", "schedule = \"every 20s\"\n");
    let mut fleet = Fleet::new(&[("linker", "schedule = \"on-change\"\n"), often], |_| nothing());
    seconds(&mut fleet, 600);
    fleet.world.note("a", "one");
    let written = fleet.world.memory.now();
    seconds(&mut fleet, 60);
    let rows = fleet.rows();
    let started = rows.iter().find(|row| row.agent == "linker").map(|row| row.started);
    assert!(started.is_some_and(|started| started <= written.plus(Span(40 * Span::SECOND.0))), "{started:?}");
}

#[test]
fn changes_made_while_no_daemon_ran_are_handled() {
    let fleet = fleet("");
    fleet.world.note("a", "one");
    let mut fleet = fleet.restart();
    seconds(&mut fleet, 60);
    assert_eq!(fleet.rows().len(), 1);
    // The process of the daemon ends during a run.
    fleet.world.edit("a", "two");
    let changes = ledger::state(&fleet.world.memory, "linker").unwrap();
    let after = changes.changes(fleet.catalog.agents["linker"].since).unwrap().done;
    let (found, until) = (fleet.world.memory.now(), fleet.world.memory.store.view().seq);
    let trigger = Trigger::Change { after, until, found };
    let claim = |fleet: &Fleet| {
        let row = Run::for_trigger(&fleet.world.memory, "linker", trigger);
        ledger::claim_for(&fleet.world.memory, row, trigger)
    };
    claim(&fleet).unwrap();
    assert_eq!(claim(&fleet).unwrap_err().code, Code::Conflict);
    let mut fleet = fleet.restart();
    seconds(&mut fleet, 60);
    let statuses: Vec<Status> = fleet.rows().iter().map(|row| row.status).collect();
    assert_eq!(statuses, [Status::Noop, Status::Interrupted, Status::Noop]);
    assert!(fleet.rows().iter().all(|row| row.trigger == TriggerKind::Change));
}

#[test]
fn changes_from_before_a_long_sleep_are_handled_once() {
    let mut fleet = fleet("[schedule]\ncatch-up = \"skip\"\n");
    fleet.world.note("a", "one");
    // The machine sleeps before the run that was due begins.
    let (memory, found) = (&fleet.world.memory, fleet.world.memory.now());
    let changes = ledger::state(memory, "linker").unwrap().changes(fleet.catalog.agents["linker"].since);
    let trigger = Trigger::Change { after: changes.unwrap().done, until: memory.store.view().seq, found };
    let due = DueRun { agent: "linker".into(), trigger, late: false };
    fleet.world.clock.advance(Span(3 * Span::DAY.0));
    let tick = Tick::now(memory, Tz::UTC);
    let row = scheduler::run_due(memory, &fleet.catalog, &due, tick, &fleet.options).unwrap().unwrap();
    assert_eq!((row.status, row.visited.len()), (Status::Noop, 3), "{row:#?}");
    seconds(&mut fleet, 600);
    assert_eq!(fleet.rows().len(), 1, "{}", fleet.story());
    // No daemon runs for three days.
    fleet.world.note("b", "two");
    fleet.world.clock.advance(Span(3 * Span::DAY.0));
    let mut fleet = fleet.restart();
    seconds(&mut fleet, 600);
    let visited: Vec<usize> = fleet.rows().iter().map(|row| row.visited.len()).collect();
    assert_eq!(visited, [3, 1], "{}", fleet.story());
}

#[test]
fn a_failed_on_change_run_is_repeated_after_a_long_sleep() {
    let is_up = Arc::new(AtomicBool::new(false));
    let answers = is_up.clone();
    let file = "schedule = \"on-change\"\n[retry]\nrerun = [\"1h\"]\n";
    let mut fleet = Fleet::new(&[("linker", file)], move |_| match answers.load(Ordering::Relaxed) {
        true => nothing(),
        false => fails(),
    });
    seconds(&mut fleet, 60);
    fleet.world.note("a", "one");
    seconds(&mut fleet, 120);
    is_up.store(true, Ordering::Relaxed);
    fleet.world.clock.advance(Span(3 * Span::DAY.0));
    seconds(&mut fleet, 600);
    let rows: Vec<_> = fleet.rows().iter().map(|row| (row.trigger, row.status)).collect();
    assert_eq!(rows, [(TriggerKind::Change, Status::Failed), (TriggerKind::Rerun, Status::Noop)]);
}

#[test]
fn a_blocked_on_change_run_waits_or_leaves_a_row() {
    let mut cool = fleet("[schedule]\ncooldown = \"20m\"\n");
    cool.world.note("a", "one");
    seconds(&mut cool, 300);
    cool.world.note("b", "two");
    seconds(&mut cool, 3600);
    insta::assert_snapshot!(cool.story(), @r"
    11-21T08:10 linker change: noop
    11-21T08:30 linker change: noop
    ");
    let mut paused = fleet("");
    let memory = &paused.world.memory;
    let rest = Pause { since: memory.now(), until: None, note: String::new() };
    pause(memory, "linker", &rest, memory.cause("manual", "agent pause")).unwrap();
    paused.world.note("a", "one");
    seconds(&mut paused, 3600);
    insta::assert_snapshot!(paused.story(), @"11-21T08:10 linker change: skipped paused");
    let mut failing = Fleet::new(
        &[("linker", "schedule = \"on-change\"\n[failure]\npause-after = 0\n[retry]\nrerun = [\"1h\"]\n")],
        |_| fails(),
    );
    seconds(&mut failing, 60);
    failing.world.note("a", "one");
    seconds(&mut failing, 6 * 3600);
    insta::assert_snapshot!(failing.story(), @r"
    11-21T08:01 linker change: failed provider-down
    11-21T09:01 linker rerun: failed provider-down
    ");
}

#[test]
fn changes_beyond_one_run_are_handled_by_further_runs() {
    let mut fleet = Fleet::new(
        &[(
            "linker",
            "[query]\npipeline = \"all | type:episodic\"\nmax-results = 2\n[prompt]\n\
             inline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\n\
             actions = [\"link-add\"]\nschedule = \"on-change\"\n",
        )],
        |_| nothing(),
    );
    seconds(&mut fleet, 60);
    for count in 0..5 {
        fleet.world.note(&format!("note-{count}"), &format!("number {count}"));
    }
    seconds(&mut fleet, 3600);
    let visited: Vec<usize> = fleet.rows().iter().map(|row| row.visited.len()).collect();
    assert_eq!(visited, [2, 2, 2, 1]);
}

#[test]
fn a_changed_note_beyond_the_limit_starts_a_run_and_counts_in_the_backlog() {
    let file = |pipeline: &str| {
        format!(
            "[query]\npipeline = \"{pipeline}\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\nschedule = \"on-change\"\n"
        )
    };
    let unread = file("all | type:episodic | not-visited:linker | sort:created asc | limit:1");
    let mut fleet = Fleet::new(&[("linker", &unread)], |_| nothing());
    seconds(&mut fleet, 600);
    let backlog =
        |fleet: &Fleet| crate::selection::backlog(&fleet.world.memory, &fleet.definition("linker")).unwrap();
    // Two notes are older than the agent, so that nothing has changed for it.
    assert_eq!((fleet.rows().len(), backlog(&fleet)), (0, 2));
    fleet.world.note("new", "the newest of all");
    assert_eq!(backlog(&fleet), 3);
    seconds(&mut fleet, 3600);
    let visited: usize = fleet.rows().iter().map(|row| row.visited.len()).sum();
    assert_eq!((visited, backlog(&fleet)), (3, 0));
    // A limit before a filter selects notes, so the filter does not see the others.
    let first = file("all | type:episodic | sort:created asc | limit:1 | not-visited:linker");
    let mut fleet = Fleet::new(&[("linker", &first)], |_| nothing());
    seconds(&mut fleet, 600);
    fleet.world.note("new", "the newest of all");
    seconds(&mut fleet, 3600);
    assert_eq!((fleet.rows().len(), backlog(&fleet)), (0, 1));
}

#[test]
fn an_agents_own_writes_do_not_trigger_it() {
    let mut write = writer();
    let agent = inserts("all", "");
    let mut fleet = Fleet::new(&[("writer", &agent)], move |_| write());
    seconds(&mut fleet, 60);
    fleet.world.note("a", "one");
    seconds(&mut fleet, 24 * 3600);
    let rows = fleet.rows();
    assert_eq!(rows.iter().map(|row| row.applied_actions().count()).collect::<Vec<_>>(), [1], "{rows:?}");
    // Notes of a manual run do not trigger it either.
    run(&fleet.world.memory, &fleet.definition("writer"), Trigger::Manual, &fleet.options).unwrap();
    seconds(&mut fleet, 3600);
    assert_eq!(fleet.rows().iter().filter(|row| row.trigger == TriggerKind::Change).count(), 1);
}

#[test]
fn agents_in_a_feedback_loop_stop_at_their_budget() {
    let mut write = writer();
    let agent = inserts("all", "[budget]\nmax-runs-per-day = 5\n");
    let mut fleet = Fleet::new(&[("one", &agent), ("two", &agent)], move |_| write());
    seconds(&mut fleet, 60);
    fleet.world.note("a", "one");
    fleet.pass(Span(3 * Span::DAY.0), Span(30 * Span::SECOND.0));
    let rows = fleet.rows();
    let of = |agent: &str| rows.iter().filter(|row| row.agent == agent && row.status == Status::Ok).count();
    assert_eq!((of("one"), of("two"), rows.len()), (5, 5, 11), "{}", fleet.story());
    let last = rows.iter().map(|row| row.started).max().unwrap();
    assert!(last.0 - rows[0].started.0 < Span::HOUR.0, "{}", fleet.story());
    let without = inserts("all", "[budget]\nmax-runs-per-day = 0\n");
    let errors = super::world::parse(&without).unwrap_err();
    insta::assert_snapshot!(errors[0].line(), @"agents/tester.toml:11:1: an agent that runs `on-change` needs a limit on its runs; set `budget.max-runs-per-day` to at least 1");
}

#[test]
fn changes_during_a_pause_are_handled_after_it() {
    let mut fleet = fleet("");
    let rest = Pause { since: fleet.world.memory.now(), until: None, note: String::new() };
    let cause = fleet.world.memory.cause("manual", "agent pause");
    pause(&fleet.world.memory, "linker", &rest, cause).unwrap();
    fleet.world.note("a", "one");
    seconds(&mut fleet, 1800);
    fleet.world.note("b", "two");
    seconds(&mut fleet, 1800);
    let mut fleet = fleet.restart();
    seconds(&mut fleet, 1800);
    assert_eq!(fleet.rows().len(), 1, "{}", fleet.story());
    let check_cancelled = |state: &mut ledger::AgentState| {
        state.resume();
        Ok(())
    };
    let cause = fleet.world.memory.cause("manual", "agent resume");
    ledger::update_state(&fleet.world.memory, "linker", cause, check_cancelled).unwrap();
    seconds(&mut fleet, 3600);
    let statuses: Vec<Status> = fleet.rows().iter().map(|row| row.status).collect();
    assert_eq!(statuses, [Status::Skipped, Status::Noop], "{}", fleet.story());
    assert_eq!(fleet.rows()[1].selected.len(), 4);
}

#[test]
fn changes_while_over_budget_are_handled_the_next_day() {
    let mut fleet = fleet("[budget]\nmax-runs-per-day = 1\n");
    fleet.world.note("a", "one");
    seconds(&mut fleet, 120);
    fleet.world.note("b", "two");
    fleet.pass(Span(36 * Span::HOUR.0), Span(30 * Span::SECOND.0));
    let rows = fleet.rows();
    let well: Vec<&Run> = rows.iter().filter(|row| row.status == Status::Noop).collect();
    assert_eq!(well.iter().map(|row| row.selected.len()).collect::<Vec<_>>(), [3, 1], "{}", fleet.story());
    assert!(rows.len() < 20, "{}", fleet.story());
}

#[test]
fn changes_during_a_manual_run_are_handled_afterwards() {
    let fleet = fleet("");
    let memory = &fleet.world.memory;
    fleet.world.note("a", "one");
    let since = fleet.catalog.agents["linker"].since;
    let changes = || ledger::state(memory, "linker").unwrap().changes(since).unwrap();
    let (after, until) = (changes().done, memory.store.view().seq);
    let trigger = Trigger::Change { after, until, found: memory.now() };
    let before = changes();
    ledger::claim(memory, Run::new_running(memory, "linker", None)).unwrap();
    let claimed = ledger::claim_for(memory, Run::for_trigger(memory, "linker", trigger), trigger);
    assert_eq!(claimed.unwrap_err().code, Code::Conflict);
    assert_eq!(changes(), before);
}
