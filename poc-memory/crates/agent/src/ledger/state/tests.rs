use super::*;
use crate::ledger::recent_spending::{QUARTER, QUARTERS};
use crate::ledger::{ActionRecord, ActionState};
use poc_graph::time::Span;
use poc_store::WriteRange;

fn row(id: u8, slot: Option<i64>, status: Status, started: i64, cost: Option<f64>) -> Run {
    let mut row = Run::new(RunId::from_bytes([id; 16]), "linker", slot.map(Timestamp), Timestamp(started));
    (row.status, row.cost) = (status, cost);
    row.finished = (status != Status::Running).then_some(Timestamp(started + 10));
    row
}

#[test]
fn skipped_rows_do_not_count_as_runs() {
    let mut state = AgentState::default();
    state.record(&row(1, Some(5), Status::Running, 5, None));
    assert_eq!((state.running(), state.last()), (Some(RunId::from_bytes([1; 16])), None));
    // A manual request in the meantime.
    state.record(&row(2, None, Status::Skipped, 6, None));
    assert!(state.running().is_some());
    state.record(&row(1, Some(5), Status::TimedOut, 5, Some(0.5)));
    state.record(&row(3, None, Status::Failed, 20, Some(0.25)));
    state.record(&row(4, Some(30), Status::Skipped, 30, None));
    assert_eq!((state.running(), state.failures()), (None, 2));
    assert_eq!(state.last().map(|last| (last.ended, last.status)), Some((Timestamp(30), Status::Failed)));
    assert_eq!(state.spending_between(Timestamp(0), Timestamp(QUARTER.0)), Spending { runs: 2, cost: 0.75 });
    state.record(&row(5, None, Status::Noop, QUARTER.0, None));
    assert_eq!(state.failures(), 0);
    assert_eq!(state.spending_between(Timestamp(0), Timestamp(QUARTER.0)), Spending { runs: 2, cost: 0.75 });
    assert_eq!(
        state.spending_between(Timestamp(QUARTER.0), Timestamp(2 * QUARTER.0)),
        Spending { runs: 1, cost: 0.0 }
    );
    state.record(&row(6, None, Status::Ok, Span::DAY.0 * 3, Some(1.0)));
    assert_eq!(
        state.spending_between(Timestamp(Span::DAY.0), Timestamp(Span::DAY.0 * 4)),
        Spending { runs: 1, cost: 1.0 }
    );
}

#[test]
fn a_temporarily_wrong_clock_loses_no_spending_of_today() {
    let mut state = AgentState::default();
    let (today, quarters) = (Span::DAY.0 * 100, 26 * 4);
    for at in 0..quarters {
        state.record(&row(1, None, Status::Ok, today + at * QUARTER.0, Some(1.0)));
    }
    for at in [200, -3, 9_000, 9_002, 40_000] {
        state.record(&row(2, None, Status::Ok, Span::DAY.0 * at, Some(1.0)));
    }
    state.record(&row(3, None, Status::Ok, today, Some(1.0)));
    let day = (Timestamp(today), Timestamp(today + quarters * QUARTER.0));
    assert_eq!(state.spending_between(day.0, day.1), Spending { runs: 105, cost: 105.0 });
    for at in 0..1_000 {
        state.record(&row(4, None, Status::Ok, today + at * QUARTER.0, None));
    }
    assert_eq!(state.spent.len(), QUARTERS);
}

#[test]
fn a_run_over_budget_is_not_rerun() {
    for trigger in [TriggerKind::Slot, TriggerKind::Change] {
        let mut state = AgentState::default();
        let failed = Run { trigger, ..row(1, Some(5), Status::Failed, 5, None) };
        state.record(&failed);
        assert!(state.pending_rerun().is_some());
        state.record(&Run { reason: Some(StatusReason::OverBudget), ..failed });
        assert_eq!(state.pending_rerun(), None);
    }
}

#[test]
fn a_run_whose_actions_were_all_refused_is_neither_a_failure_nor_a_success() {
    let action = |state| ActionRecord {
        kind: None,
        summary: String::new(),
        why: String::new(),
        state,
        refusal_code: None,
        detail: None,
        seq: None,
        writes: WriteRange::default(),
        changes: Vec::new(),
    };
    let partial = |states: &[ActionState]| Run {
        actions: states.iter().map(|state| action(*state)).collect(),
        ..row(1, None, Status::Partial, 5, None)
    };
    let mut state = AgentState::default();
    state.record(&row(2, None, Status::Failed, 4, None));
    state.record(&partial(&[ActionState::Refused, ActionState::Refused]));
    state.record(&partial(&[ActionState::Refused]));
    assert_eq!(state.failures(), 1);
    state.record(&partial(&[ActionState::Refused, ActionState::Proposed]));
    assert_eq!(state.failures(), 0);
}

#[test]
fn a_slot_can_be_retried_until_it_was_interrupted_twice() {
    let mut state = AgentState::default();
    state.record(&row(1, Some(5), Status::Interrupted, 5, None));
    assert!(state.can_retry(Timestamp(5)) && !state.can_retry(Timestamp(4)));
    state.record(&row(2, Some(5), Status::Running, 6, None));
    let mut ended = state.clone();
    ended.record(&row(2, Some(5), Status::Noop, 6, None));
    assert!(!ended.can_retry(Timestamp(5)));
    state.record(&row(2, Some(5), Status::Interrupted, 6, None));
    assert!(!state.can_retry(Timestamp(5)));
}

#[test]
fn a_slot_counts_as_one_run_even_if_its_first_run_was_skipped() {
    let runs = |state: &AgentState| state.spending_between(Timestamp(0), Timestamp(QUARTER.0)).runs;
    let batch =
        |id, slot, at| Run { trigger: TriggerKind::Batch, ..row(id, Some(slot), Status::Noop, at, None) };
    let mut state = AgentState::default();
    state.record(&row(1, Some(5), Status::Skipped, 5, None));
    assert_eq!(runs(&state), 0);
    state.record(&batch(2, 5, 6));
    state.record(&batch(3, 5, 7));
    assert_eq!(runs(&state), 1);
    state.record(&row(4, Some(30), Status::Noop, 30, None));
    state.record(&batch(5, 30, 31));
    assert_eq!(runs(&state), 2);
}

#[test]
fn states_of_version_5_have_no_counted_slot() {
    let mut state = AgentState::default();
    state.record(&row(1, None, Status::Noop, 5, Some(0.5)));
    let mut bytes = state.encode().unwrap();
    assert_eq!((bytes.pop(), bytes.first()), (Some(0), Some(&6)));
    bytes[0] = 5;
    assert_eq!(AgentState::decode(&bytes).unwrap(), state);
}
