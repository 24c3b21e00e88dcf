//! Runs a checked pipeline. Stages run in the order written, with two optimisations. Filters directly after a scan, and
//! a sort after these, run in the same pass. A sort returns only the items that the cuts directly after it keep.
//! Neither optimisation can be observed: every stage reports the counts that it would have on its own.

use super::ast::{Pipeline, StageCall};
use super::context::QueryContext;
use super::explain::{Explanation, StageReport};
use super::pass::{Meter, Pass};
use super::scan::{ComparisonFilter, DayReader, FieldReader, Filter, StateSet};
use super::set::{InterferencePair, ResultSet, ScoredNode};
use super::sources::Sources;
use super::stage::definition::{StageImplementation, StageKind};
use super::stage_error::StageError;
use super::top;
use super::value::Quantity;
use poc_graph::error::Result;
use poc_graph::{Ix, cancellation};
use rustc_hash::{FxHashMap, FxHashSet};
use std::time::{Duration, Instant};

impl Pipeline {
    /// Runs the pipeline and reports what each stage did.
    ///
    /// # Errors
    /// `not_found` if a stage refers to a node that does not exist, `unavailable` if the request is cancelled, and
    /// errors of the indexes and the embedder.
    pub fn run(&self, sources: &Sources<'_>) -> Result<(ResultSet, Explanation)> {
        self.run_above(sources, usize::MAX, None)
    }

    /// Like [`Pipeline::run`], for a caller that uses only the first `wanted` nodes of the result. The other nodes are
    /// included, but possibly in another order. If the first stage searches, the notes to which it gives a score below
    /// `min_score` are left out, except the best one.
    ///
    /// # Errors
    /// Those of [`Pipeline::run`].
    pub fn run_above(
        &self,
        sources: &Sources<'_>,
        wanted: usize,
        min_score: Option<f64>,
    ) -> Result<(ResultSet, Explanation)> {
        let started = Instant::now();
        let ctx = QueryContext::new(sources, self.states(), self.lists_derived());
        let mut meters: Vec<Meter> = self.calls.iter().map(|_| Meter::default()).collect();
        cancellation::check()?;
        let PrefixResult { mut set, mut len, done: mut at } = generate(&self.calls, &ctx, &mut meters)?;
        if let (Some(min), 1, Some(meter)) = (min_score, at, meters.first_mut()) {
            set.remove_below(min);
            len = set.items.len();
            meter.output = len;
        }
        cancellation::check()?;
        while let (Some(call), Some(meter)) = (self.calls.get(at), meters.get_mut(at)) {
            let stages = self.calls.get(at + 1..).unwrap_or(&[]);
            step(call, LaterStages { stages, wanted }, &ctx, &mut set, &mut len, meter)?;
            // A cancelled stage returns an incomplete result.
            cancellation::check()?;
            at += 1;
        }
        separate_cut_pairs(&mut set);
        let total = started.elapsed();
        let stages = self.calls.iter().zip(meters).map(|(call, meter)| report(call, meter)).collect();
        let found_through = ctx.take_found_through();
        let reused = ctx.into_reused();
        Ok((set, Explanation { stages, total_micros: micros(total), reused, found_through }))
    }

    /// Returns those of the given nodes that pass all filters of the pipeline. Its other stages are ignored.
    ///
    /// # Errors
    /// `not_found` if a filter refers to a node that does not exist, and errors of the indexes.
    pub fn filter_nodes(&self, sources: &Sources<'_>, nodes: &[Ix]) -> Result<Vec<Ix>> {
        let ctx = QueryContext::new(sources, self.states(), self.lists_derived());
        let mut items: Vec<ScoredNode> = nodes.iter().map(|&ix| ScoredNode { ix, score: 1.0 }).collect();
        for call in self.calls.iter().filter(|call| call.def.kind() == StageKind::Filter) {
            if let Some(mut filter) = filter(call, &ctx)? {
                filter.retain(&mut items, !call.negated);
            }
        }
        Ok(items.into_iter().map(|item| item.ix).collect())
    }

    /// Whether one of its filters asks for derived notes.
    fn lists_derived(&self) -> bool {
        self.calls.iter().any(|call| !call.negated && call.def.asks_for_derived(&call.arguments))
    }

    /// The live states, and the states that its filters add to the scan.
    fn states(&self) -> StateSet {
        let calls = self.calls.iter().filter(|call| !call.negated);
        calls.filter_map(|call| call.def.widens_to(&call.arguments)).fold(StateSet::live(), StateSet::with)
    }
}

/// The result of the first stages of a pipeline, which run together.
struct PrefixResult {
    set: ResultSet,
    /// The length of the set as defined by the language, which may exceed the number of items.
    len: usize,
    /// The number of stages that have run.
    done: usize,
}

/// Runs the generator. If it is a scan, the filters directly after it run in the same pass, and so does a sort after
/// these if cuts keep only its first items.
fn generate(calls: &[StageCall], ctx: &QueryContext<'_>, meters: &mut [Meter]) -> Result<PrefixResult> {
    let (Some((call, later)), Some((meter, meters))) = (calls.split_first(), meters.split_first_mut()) else {
        return Ok(PrefixResult { set: ResultSet::default(), len: 0, done: 0 });
    };
    let started = Instant::now();
    match call.def.implementation {
        StageImplementation::Generate(generate) => {
            let mut set = generate(&call.arguments, ctx)?;
            // Generators that choose the nearest nodes have already left them out, so that others take their places.
            let leaves_out = ctx.leaves_out();
            set.items.retain(|item| !leaves_out(item.ix));
            meter.output = set.items.len();
            meter.note = ctx.take_note();
            meter.elapsed = started.elapsed();
            Ok(PrefixResult { len: set.items.len(), set, done: 1 })
        }
        StageImplementation::Scan(scan) => {
            let mut pass = Pass::new(scan(ctx), ctx.sources.view);
            meter.note = ctx.take_note();
            for (at, (call, meter)) in later.iter().zip(meters.iter_mut()).enumerate() {
                let resolving = Instant::now();
                if let Some(filter) = filter(call, ctx)? {
                    pass.filter(filter, !call.negated);
                } else if let StageImplementation::Sort(sort) = call.def.implementation
                    && let cuts = later.get(at + 1..).unwrap_or(&[])
                    && let wanted = needed_by_cuts(cuts, usize::MAX)
                    && wanted < usize::MAX
                {
                    // The next stage is a cut, which ends the loop.
                    pass.sort(sort(&call.arguments, ctx)?, wanted);
                } else {
                    break;
                }
                meter.note = ctx.take_note();
                meter.elapsed = resolving.elapsed();
            }
            let done = 1 + pass.joined();
            let items = pass.run(meter, meters);
            let len = meters.get(..done - 1).and_then(<[Meter]>::last).unwrap_or(meter).output;
            Ok(PrefixResult { set: ResultSet::of(items), len, done })
        }
        _ => Err(StageError::CannotStart(call.def.word.to_string()).into()),
    }
}

/// Resolves a filter; `None` if the stage is not a filter.
fn filter<'a>(call: &'a StageCall, ctx: &'a QueryContext<'a>) -> Result<Option<Box<dyn Filter + 'a>>> {
    Ok(match call.def.implementation {
        StageImplementation::Filter(resolve) => Some(resolve(&call.arguments, ctx)?),
        StageImplementation::FieldComparison(field) => {
            let compare = call.arguments.compare("CMP")?;
            let is_day = matches!(compare.quantity, Quantity::Day(_));
            let is_elapsed = field.unit.is_time() && !is_day;
            let (until, step) = (is_elapsed.then_some(ctx.sources.now), field.unit.step());
            let field = (field.read)(ctx, "");
            let field: Box<dyn FieldReader + 'a> = if is_day { Box::new(DayReader(field)) } else { field };
            let (relation, bound) = (compare.relation, compare.quantity.amount());
            Some(Box::new(ComparisonFilter { field, relation, bound, until, step, values: Vec::new() }))
        }
        _ => None,
    })
}

/// Runs a stage that is not a generator. `len` is the length of the set as defined by the language. After a sort that
/// returned only what the next cuts keep, `len` is greater than the number of items.
fn step(
    call: &StageCall,
    later: LaterStages<'_>,
    ctx: &QueryContext<'_>,
    set: &mut ResultSet,
    len: &mut usize,
    meter: &mut Meter,
) -> Result<()> {
    let started = Instant::now();
    meter.input = *len;
    match call.def.implementation {
        StageImplementation::Sort(sort) => {
            let (mut field, direction) = sort(&call.arguments, ctx)?;
            let mut values = Vec::with_capacity(set.items.len());
            field.read(&set.items, &mut values);
            let wanted = needed_by_cuts(later.stages, *len);
            top::order(ctx.sources.view, &mut set.items, &values, direction, wanted);
        }
        StageImplementation::Order(order) => {
            order(&call.arguments, ctx, &mut set.items, needed_by_cuts(later.stages, *len))?
        }
        StageImplementation::Cut(cut) => {
            let range = cut(&call.arguments, *len);
            set.items.truncate(range.end);
            set.items.drain(..range.start.min(set.items.len()));
            *len = range.len();
        }
        StageImplementation::Algorithm(run) => {
            let items = run(&call.arguments, ctx, &set.items, later.needed_in_order())?;
            *set = ResultSet::of(items);
            *len = set.items.len();
        }
        StageImplementation::Filter(_) | StageImplementation::FieldComparison(_) => {
            if let Some(mut filter) = filter(call, ctx)? {
                let keeps_unvisited =
                    call.def.hints.keeps_visited.map(|keeps| keeps != call.negated) == Some(false);
                if keeps_unvisited && !set.pairs.is_empty() {
                    retain_half_visited_pairs(filter.as_mut(), !call.negated, set);
                } else {
                    filter.retain(&mut set.items, !call.negated);
                    filter.retain(&mut set.uncut, !call.negated);
                }
            }
            *len = set.items.len();
        }
        StageImplementation::Scan(_) | StageImplementation::Generate(_) => {
            return Err(StageError::CanOnlyStart(call.def.word.to_string()).into());
        }
    }
    meter.output = *len;
    meter.note = ctx.take_note();
    meter.elapsed = started.elapsed();
    Ok(())
}

/// The stages after a given stage, and the number of first nodes that the caller will use.
#[derive(Clone, Copy)]
struct LaterStages<'a> {
    stages: &'a [StageCall],
    wanted: usize,
}

impl LaterStages<'_> {
    /// The number of first items that must be in order, for a set of unknown length.
    fn needed_in_order(self) -> usize {
        let needed = needed_by_cuts(self.stages, usize::MAX);
        match self.stages.is_empty() {
            true => needed.min(self.wanted),
            false => needed,
        }
    }
}

/// The number of first items, of `len`, that the cuts directly after a sort can use.
fn needed_by_cuts(later: &[StageCall], len: usize) -> usize {
    let mut range = 0..len;
    for call in later {
        let StageImplementation::Cut(cut) = call.def.implementation else { break };
        let inner = cut(&call.arguments, range.len());
        range = range.start + inner.start..range.start + inner.end;
    }
    range.end
}

/// Keeps the nodes that pass a filter for unvisited nodes. If only one member of a pair passes, keeps both members: a
/// new copy of a note can only be recognised beside the note. The other member directly follows the first node that
/// passes and is paired with it. A cut would otherwise keep the same visited nodes each time, and an agent would never
/// get to the others. Nodes that an earlier cut removed count as members of their pairs.
fn retain_half_visited_pairs(filter: &mut (dyn Filter + '_), wanted: bool, set: &mut ResultSet) {
    let mut passing = set.uncut.clone();
    filter.retain(&mut passing, wanted);
    let passing = indexes(&passing);
    set.pairs.retain(|pair| passing.contains(&pair.a) || passing.contains(&pair.b));
    // The visited partners of each passing node, the most similar one first.
    let mut partners: FxHashMap<Ix, Vec<Ix>> = FxHashMap::default();
    for pair in &set.pairs {
        for (one, other) in [(pair.a, pair.b), (pair.b, pair.a)] {
            if passing.contains(&one) && !passing.contains(&other) {
                partners.entry(one).or_default().push(other);
            }
        }
    }
    let by_ix: FxHashMap<Ix, ScoredNode> = set.items.iter().map(|item| (item.ix, *item)).collect();
    let mut placed: FxHashSet<Ix> = FxHashSet::default();
    let mut items = Vec::with_capacity(set.items.len());
    for item in set.items.iter().filter(|item| passing.contains(&item.ix)) {
        items.push(*item);
        let new = partners.get(&item.ix).into_iter().flatten().filter(|&&ix| placed.insert(ix));
        items.extend(new.filter_map(|ix| by_ix.get(ix).copied()));
    }
    set.items = items;
}

/// Drops the pairs with a member that a filter removed, and moves those with a member that a cut removed to
/// `cut_pairs`.
fn separate_cut_pairs(set: &mut ResultSet) {
    if set.pairs.is_empty() {
        return;
    }
    let (members, uncut) = (indexes(&set.items), indexes(&set.uncut));
    set.pairs.retain(|pair| uncut.contains(&pair.a) && uncut.contains(&pair.b));
    let is_complete = |pair: &InterferencePair| members.contains(&pair.a) && members.contains(&pair.b);
    (set.pairs, set.cut_pairs) = std::mem::take(&mut set.pairs).into_iter().partition(is_complete);
}

/// The indexes of the items.
fn indexes(items: &[ScoredNode]) -> FxHashSet<Ix> {
    items.iter().map(|item| item.ix).collect()
}

fn report(call: &StageCall, meter: Meter) -> StageReport {
    StageReport {
        stage: call.to_string(),
        kind: call.def.kind().name().into(),
        does: call.description(),
        input: meter.input,
        output: meter.output,
        micros: micros(meter.elapsed),
        note: meter.note,
        saved: call.saved.as_deref().map(str::to_owned),
    }
}

fn micros(elapsed: Duration) -> f64 {
    elapsed.as_nanos() as f64 / 1e3
}
