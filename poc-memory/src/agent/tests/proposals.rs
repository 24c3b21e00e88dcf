//! Proposals as the store keeps them.

use super::world::{World, draft};
use crate::agent::ledger::ActionState;
use crate::agent::permit::Intent;
use crate::agent::proposal::{self, Proposal, proposals};
use crate::graph::{NodeId, RunId};

fn proposal(run: u8, index: u16, intent: Intent, state: ActionState) -> Proposal {
    Proposal {
        run: RunId::from_bytes([run; 16]),
        index,
        agent: "separator".into(),
        made: crate::time::Timestamp(5),
        summary: "supersede `a` by `b`".into(),
        why: "the same".into(),
        versions: intent.nodes().into_iter().map(|id| (id, 3)).collect(),
        intent,
        with: None,
        protect: vec!["provenance:manual".into()],
        state,
        decided: None,
    }
}

#[test]
fn proposals_are_kept_by_run_and_place() {
    let world = World::new();
    let id = |byte: u8| NodeId::from_bytes([byte; 16]);
    let mut note = draft("new", "A text that is longer than a row's.");
    note.keywords = Some(vec!["btree".into()]);
    let intents = [
        Intent::Replace { old: id(1), new: id(2), reason: "the same".into() },
        Intent::Rewrite { old: id(1), draft: Box::new(note.clone()) },
        Intent::Insert { draft: Box::new(note), links: vec![id(1), id(2)], reason: "part".into() },
        Intent::Link { from: id(1), to: id(2), strength: 0.5, reason: String::new() },
        Intent::Weigh { node: id(1), delta: -0.1 },
    ];
    let mut made: Vec<Proposal> = Vec::new();
    for run in [1, 2] {
        let of = |(index, intent)| {
            // Places beyond a byte stay in their order.
            proposal(run, index as u16 * 200, intent, ActionState::Proposed)
        };
        made.extend(intents.iter().cloned().enumerate().map(of));
    }
    made[3].state = ActionState::Rejected;
    let cause = world.memory.cause("manual", "agent run");
    world.memory.store.transact(cause, |tx| made.iter().rev().try_for_each(|one| one.put(tx))).unwrap();

    let world = world.reopen();
    assert_eq!(proposals(&world.memory, None).unwrap(), made);
    assert_eq!(proposals(&world.memory, Some(RunId::from_bytes([2; 16]))).unwrap(), made[5..]);
    assert_eq!(made.iter().filter(|one| one.is_open()).count(), 9);
    let cause = world.memory.cause("manual", "agent review");
    let one = world.memory.store.transact(cause, |tx| proposal::get(tx, made[4].run, made[4].index)).unwrap();
    assert_eq!(one.value.as_ref(), Some(&made[4]));
}
