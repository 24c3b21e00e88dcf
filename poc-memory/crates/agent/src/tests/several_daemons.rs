//! Runs of agents on several daemons over one log.

use super::fleet::{Fleet, nothing};
use crate::ledger::{self, BudgetDays, DaySpending, Run, Status, StatusReason};
use poc_config::RunnableAgents;
use poc_graph::error::Code;
use poc_graph::time::{Span, Timestamp};
use poc_notes::testing::TestMemory;
use poc_store::testing::{LogFault, MemoryLog, MemoryLogWriter};
use std::sync::Arc;
use std::time::Duration;

struct Daemon {
    memory: TestMemory,
    writer: Arc<MemoryLogWriter>,
}

impl Daemon {
    fn new(log: &Arc<MemoryLog>, seed: u64) -> Daemon {
        let writer = log.writer();
        Daemon { memory: TestMemory::over(writer.clone(), seed), writer }
    }

    fn claim(&self, slot: Timestamp) -> poc_graph::error::Result<Run> {
        ledger::claim(&self.memory, Run::new_running(&self.memory, "tester", Some(slot)))
    }

    /// The status of each row as this daemon shows it, the latest first.
    fn statuses(&self, log: &MemoryLog) -> Vec<Status> {
        assert!(self.memory.store.wait_published(log.records().len() as u64, Duration::from_secs(60)));
        let rows = ledger::rows(&self.memory, Some("tester"), 10).unwrap();
        rows.into_iter().map(|row| ledger::with_current_status(&self.memory, row).status).collect()
    }
}

#[test]
fn a_slot_is_run_once_and_completed_by_another_daemon_when_its_own_dies() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (Daemon::new(&log, 1), Daemon::new(&log, 2));
    let slot = first.memory.now();
    let run = first.claim(slot).unwrap();
    // While the first is alive, the second claims nothing and ends nothing.
    assert_eq!(second.claim(slot).unwrap_err().code, Code::Conflict);
    let late = second.claim(slot.plus(Span::MINUTE)).unwrap();
    assert_eq!((late.status, late.reason), (Status::Skipped, Some(StatusReason::Overlap)));
    assert!(ledger::interrupt_orphaned(&second.memory).unwrap().is_empty());
    assert_eq!(second.statuses(&log), [Status::Skipped, Status::Running]);

    first.writer.terminate();
    let ended = ledger::interrupt_orphaned(&second.memory).unwrap();
    assert_eq!(ended.iter().map(|row| row.id).collect::<Vec<_>>(), [run.id]);
    assert_eq!(second.statuses(&log), [Status::Skipped, Status::Interrupted]);
    assert_eq!(ledger::agents_to_repeat(&second.memory).unwrap(), ["tester"]);
    let again = second.claim(slot).unwrap();
    assert_eq!(again.status, Status::Running);
    // The first daemon was only cut off. The result of its run is discarded.
    let mut done = run.clone();
    done.finish(&first.memory, Status::Ok, None);
    assert_eq!(ledger::close(&first.memory, &done).unwrap_err().code, Code::Conflict);
    let mut done = again;
    done.finish(&second.memory, Status::Ok, None);
    ledger::close(&second.memory, &done).unwrap();
    assert_eq!(first.statuses(&log), [Status::Ok, Status::Skipped, Status::Interrupted]);
}

#[test]
fn a_claim_ends_the_runs_of_a_dead_daemon() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (Daemon::new(&log, 1), Daemon::new(&log, 2));
    let slot = first.memory.now();
    first.claim(slot).unwrap();
    // A daemon that makes its first claim after the other has read the heartbeats does not count as dead.
    assert_eq!(second.statuses(&log), [Status::Running]);
    first.writer.terminate();
    assert_eq!(second.claim(slot.plus(Span::HOUR)).unwrap().status, Status::Running);
    assert_eq!(second.statuses(&log), [Status::Running, Status::Interrupted]);
}

#[test]
fn after_an_outage_of_the_log_no_daemon_counts_as_dead() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (Daemon::new(&log, 1), Daemon::new(&log, 2));
    // A daemon reads the log when it claims, even if its thread does not follow the log at that time.
    second.writer.silence(true);
    let slot = first.memory.now();
    first.claim(slot).unwrap();
    assert_eq!(second.claim(slot).unwrap_err().code, Code::Conflict);
    second.writer.plan(vec![Some(LogFault::Unreachable)]);
    let later = slot.plus(Span::HOUR);
    assert_eq!(second.claim(later).unwrap_err().code, Code::Unavailable);
    first.writer.terminate();
    assert!(ledger::interrupt_orphaned(&second.memory).unwrap().is_empty());
    assert_eq!(second.claim(later).unwrap().reason, Some(StatusReason::Overlap));
}

/// A daemon that starts knows of no outage before.
#[test]
fn after_a_start_of_the_log_no_daemon_counts_as_dead() {
    let log = Arc::new(MemoryLog::default());
    let first = Daemon::new(&log, 1);
    first.claim(first.memory.now()).unwrap();
    first.writer.terminate();
    let second = Daemon::new(&log, 2);
    log.set_uptime(Some(Duration::from_secs(14)));
    assert!(ledger::interrupt_orphaned(&second.memory).unwrap().is_empty());
    log.set_uptime(Some(Duration::from_secs(15)));
    assert_eq!(ledger::interrupt_orphaned(&second.memory).unwrap().len(), 1);
}

#[test]
fn a_row_that_could_not_be_ended_is_ended_later() {
    let log = Arc::new(MemoryLog::default());
    let daemon = Daemon::new(&log, 1);
    let run = daemon.claim(daemon.memory.now()).unwrap();
    assert!(ledger::interrupt_orphaned(&daemon.memory).unwrap().is_empty(), "the run is in progress");
    ledger::end_run(&daemon.memory, run.id);
    let again = daemon.claim(daemon.memory.now().plus(Span::HOUR)).unwrap();
    assert_eq!(again.status, Status::Running);
    assert_eq!(daemon.statuses(&log), [Status::Running, Status::Interrupted]);
}

#[test]
fn a_claim_whose_answer_is_lost_blocks_no_daemon() {
    let log = Arc::new(MemoryLog::default());
    let daemon = Daemon::new(&log, 1);
    let slot = daemon.memory.now();
    // The append succeeds, but every response to it is lost.
    daemon.writer.plan(vec![Some(LogFault::AnswerLost); 12]);
    assert_eq!(daemon.claim(slot).unwrap_err().code, Code::Unavailable);
    daemon.writer.plan(Vec::new());
    while daemon.memory.store.read_only().is_some() {
        std::thread::yield_now();
    }
    assert_eq!(daemon.claim(slot.plus(Span::HOUR)).unwrap().status, Status::Running);
    assert_eq!(daemon.statuses(&log), [Status::Running, Status::Interrupted]);
}

#[test]
fn two_daemons_do_not_reserve_the_same_dollar() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (Daemon::new(&log, 1), Daemon::new(&log, 2));
    let slot = first.memory.now();
    let run = first.claim(slot).unwrap();
    let other = Run::new_running(&second.memory, "other", Some(slot));
    let other = ledger::claim(&second.memory, other).unwrap();
    // From here on, the second daemon learns of the other's reservation only when its own append is refused.
    second.writer.silence(true);
    let day = slot.minus(Span::HOUR)..slot.plus(Span::HOUR);
    let days = BudgetDays { own: day.clone(), all_agents: day.clone() };
    let reserve = |daemon: &Daemon, run: &Run| {
        let decide = |spent: DaySpending| match spent.all_agents + 2.0 <= 3.5 {
            true => Ok(((), 2.0)),
            false => Err("over budget"),
        };
        ledger::reserve(&daemon.memory, run, &days, decide).unwrap()
    };
    assert_eq!(reserve(&first, &run), Ok(()));
    assert_eq!(reserve(&second, &other), Err("over budget"));
    assert_eq!(ledger::spent_by_all(&second.memory, &day).unwrap(), 2.0);
}

#[test]
fn a_daemon_runs_the_agents_that_its_settings_name() {
    let mut fleet =
        Fleet::new(&[("here", "schedule = \"hourly\"\n"), ("elsewhere", "schedule = \"hourly\"\n")], |_| {
            nothing()
        });
    fleet.world.config().daemon.runs_agents = RunnableAgents::Named(vec!["here".into()]);
    fleet.hours(3);
    let rows = fleet.rows();
    assert!(rows.len() >= 2 && rows.iter().all(|row| row.agent == "here"), "{rows:#?}");
    let refused =
        ledger::claim(&fleet.world.memory, Run::new_running(&fleet.world.memory, "elsewhere", None));
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (Code::Rejected, "this daemon does not run `elsewhere`")
    );
}
