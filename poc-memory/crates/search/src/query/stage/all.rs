//! `all`: every live node, by id.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::context::QueryContext;
use crate::query::example::Example;
use crate::query::scan::{Scan, StateSet, state_at};
use crate::query::set::ScoredNode;
use poc_graph::Ix;

/// The number of nodes in a block: one chunk of the columns.
const BLOCK: Ix = poc_graph::Column::<u8>::CHUNK as Ix;

pub(super) const STAGE: StageDef = StageDef {
    word: "all",
    params: &[],
    doc: "Every live note with score 1, by id; a `state:` filter adds the notes in that state",
    more: "A pipeline that does not start with a generator starts with `all`. A note is live when it is \
           active or stale and not past its `expires`. A `state:NAME` anywhere in the pipeline (but not \
           `!state:NAME`) adds the notes in that state.",
    example: Example {
        pipeline: "all",
        output: &[
            "b-tree",
            "wal",
            "session#1",
            "session#2",
            "lsm-tree",
            "day#2026-11-21",
            "crash-notes",
            "todo/benchmarks",
        ],
    },
    describe: |_| "every live note, by id".into(),
    implementation: StageImplementation::Scan(|ctx| Box::new(All::new(ctx))),
    hints: Hints::NONE,
};

struct All<F> {
    next: Ix,
    slots: Ix,
    admits: F,
}

impl All<()> {
    fn new<'a>(ctx: &'a QueryContext<'a>) -> All<impl FnMut(Ix) -> bool + 'a> {
        let view = ctx.sources.view;
        let mut state = state_at(view, ctx.sources.now);
        let (states, visibility) = (ctx.states, ctx.sources.visibility());
        if states != StateSet::live() {
            ctx.remark("widened by `state:`");
        }
        let leaves_out = ctx.leaves_out();
        let admits = move |ix| {
            state(ix).is_some_and(|state| states.contains(state))
                && visibility.admits(view.trust(ix))
                && !leaves_out(ix)
        };
        All { next: 0, slots: view.slots(), admits }
    }
}

impl<F: FnMut(Ix) -> bool> Scan for All<F> {
    fn next(&mut self, block: &mut Vec<ScoredNode>) -> bool {
        let end = self.next.saturating_add(BLOCK).min(self.slots);
        if self.next >= end {
            return false;
        }
        // A rejected node is overwritten by the next one, because a branch would be hard to predict.
        block.resize((end - self.next) as usize, ScoredNode { ix: 0, score: 1.0 });
        let mut kept = 0;
        for ix in self.next..end {
            if let Some(slot) = block.get_mut(kept) {
                *slot = ScoredNode { ix, score: 1.0 };
            }
            kept += usize::from((self.admits)(ix));
        }
        block.truncate(kept);
        self.next = end;
        true
    }
}
