//! Concurrent claims: a slot, a rerun and an agent are claimed by one thread only.

use super::world::World;
use crate::ledger::{self, Run, Status, Trigger};
use poc_graph::error::Code;
use poc_graph::time::Span;
use std::sync::Barrier;

const RACERS: usize = 16;
const ROUNDS: usize = 50;

/// The results of concurrent claims of the same row.
fn race(world: &World, row: impl Fn() -> Run + Sync, trigger: Trigger) -> Vec<Result<Run, Code>> {
    let barrier = Barrier::new(RACERS);
    std::thread::scope(|scope| {
        let claim = || {
            let row = row();
            barrier.wait();
            ledger::claim_for(&world.memory, row, trigger).map_err(|error| error.code)
        };
        let racers: Vec<_> = (0..RACERS).map(|_| scope.spawn(claim)).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    })
}

/// The one claimed run; the other claims are conflicts.
fn winner(outcomes: Vec<Result<Run, Code>>) -> Run {
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(|one| one.is_ok());
    assert!(lost.iter().all(|lost| matches!(lost, Err(Code::Conflict))), "{lost:?}");
    let mut won: Vec<Run> = won.into_iter().flatten().collect();
    assert_eq!(won.len(), 1);
    won.pop().unwrap()
}

fn end(world: &World, mut row: Run, status: Status) -> Run {
    row.finish(&world.memory, status, None);
    ledger::close(&world.memory, &row).unwrap();
    row
}

#[test]
fn only_one_of_many_claims_gets_a_slot_or_its_rerun() {
    let world = World::new();
    for round in 0..ROUNDS {
        let slot = world.memory.now();
        let claim = |trigger| Run::for_trigger(&world.memory, "racer", trigger);
        let slot = Trigger::Slot(slot);
        let row = winner(race(&world, || claim(slot), slot));
        let failed = end(&world, row, Status::Failed);
        // Neither a slot that is running nor one that has ended can be claimed again.
        let late = ledger::claim_for(&world.memory, claim(slot), slot);
        assert_eq!(late.unwrap_err().code, Code::Conflict);
        let again = Trigger::Rerun { run: failed.id, due: world.memory.now() };
        let row = winner(race(&world, || claim(again), again));
        end(&world, row, Status::Ok);
        world.clock.advance(Span::HOUR);
        let rows = ledger::rows(&world.memory, Some("racer"), usize::MAX).unwrap();
        assert_eq!(rows.len(), 2 * (round + 1));
    }
}

#[test]
fn concurrent_requests_run_an_agent_once() {
    let world = World::new();
    for _ in 0..ROUNDS {
        let row = winner(race(&world, || Run::new_running(&world.memory, "asked", None), Trigger::Manual));
        assert_eq!(ledger::running(&world.memory).unwrap(), std::slice::from_ref(&row));
        end(&world, row, Status::Noop);
    }
}
