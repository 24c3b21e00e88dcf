//! Running a checked pipeline. Stages run in the order written; filters right behind a scan, and a
//! sort behind those, join its pass, and a sort gives only what the cuts right behind it leave.
//! Neither can be observed: every stage reports the counts it would have alone.

use super::ast::{Call, Pipeline};
use super::explain::{Explanation, StageReport};
use super::pass::{Meter, Pass};
use super::scan::{Comparison, Filter, States};
use super::stage::{Kind, Work, goes_by};
use super::{ResultSet, Scored, Sources, top};
use crate::error::{Error, Result};
use crate::graph::{Communities, Embedding, Ix, Outliers, Rules, Source, State, key_like, normal_key};
use crate::time::Span;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the stages of one run share.
pub(super) struct Ctx<'a> {
    /// What is read.
    pub(super) sources: Sources<'a>,
    /// The states `all` gives.
    pub(super) states: States,
    note: RefCell<Option<String>>,
    // What was answered from before the latest changes.
    reused: RefCell<Vec<String>>,
}

impl<'a> Ctx<'a> {
    fn new(sources: &Sources<'a>, states: States) -> Self {
        Ctx { sources: *sources, states, note: RefCell::default(), reused: RefCell::default() }
    }

    /// Adds a remark on where something derived from the whole graph came from.
    fn derived(&self, what: &str, source: Source) {
        self.note(format!("{what} {source}"));
        if let Source::Reused(_) = source {
            self.reused.borrow_mut().push(format!("{what} {source}"));
        }
    }

    /// Adds a remark to the report of the stage at work.
    pub(super) fn note(&self, text: impl Into<String>) {
        let mut note = self.note.borrow_mut();
        *note = Some(match note.take() {
            Some(earlier) => format!("{earlier}; {}", text.into()),
            None => text.into(),
        });
    }

    /// The node with a key, in any state.
    ///
    /// # Errors
    /// `not_found`, naming the stage that asks.
    pub(super) fn node(&self, stage: &str, key: &str) -> Result<Ix> {
        let view = self.sources.view;
        view.find_key(&normal_key(key)).ok_or_else(|| {
            let error = Error::not_found(format!("`{stage}` names `{key}`, which is no node's key"));
            error.hint(match key_like(view, key) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`poc-memory search TERMS` shows keys".into(),
            })
        })
    }

    /// The communities, with a remark on where they came from.
    pub(super) fn communities(&self) -> Arc<Communities> {
        let (communities, source) = self.sources.view.communities(&self.rules());
        self.derived("communities", source);
        communities
    }

    /// The spectral embedding, with a remark on where it came from.
    pub(super) fn embedding(&self) -> Arc<Embedding> {
        let (embedding, source) = self.sources.view.embedding(&self.rules());
        self.derived("embedding", source);
        match embedding.unfinished() {
            0 => {}
            1 => self.note("one component was not finished: it has fewer dimensions"),
            more => self.note(format!("{more} components were not finished: they have fewer dimensions")),
        }
        embedding
    }

    /// The outlier scores, with a remark on where they came from; `None` in a large graph in which
    /// nobody has computed them.
    pub(super) fn outliers(&self) -> Option<Arc<Outliers>> {
        let Some((outliers, source)) = self.sources.view.outliers(&self.rules()) else {
            self.note("outlier scores not computed yet: displacement is from clustering");
            return None;
        };
        self.derived("outlier scores", source);
        Some(outliers)
    }

    fn rules(&self) -> Rules {
        self.sources.config.structure.rules()
    }
}

impl Pipeline {
    /// The duration of a `not-visited:AGENT,DURATION` stage for this agent, if it has one.
    pub fn not_visited(&self, agent: &str) -> Option<Option<Span>> {
        let call = self.calls.iter().find(|call| {
            let asks = if call.negated { "visited" } else { "not-visited" };
            call.def.word == asks && call.text("AGENT").is_ok_and(|named| named == agent)
        })?;
        Some(call.duration("DURATION"))
    }

    /// Runs it.
    ///
    /// # Errors
    /// `not_found` when a stage names a node that is not there; the indexes' own.
    pub fn run(&self, sources: &Sources<'_>) -> Result<(ResultSet, Explanation)> {
        let started = Instant::now();
        let ctx = Ctx::new(sources, self.states());
        let mut meters: Vec<Meter> = self.calls.iter().map(|_| Meter::default()).collect();
        let Front { mut set, mut len, done: mut at } = generate(&self.calls, &ctx, &mut meters)?;
        while let (Some(call), Some(meter)) = (self.calls.get(at), meters.get_mut(at)) {
            let behind = self.calls.get(at + 1..).unwrap_or(&[]);
            step(call, behind, &ctx, &mut set, &mut len, meter)?;
            at += 1;
        }
        keep_whole_pairs(&mut set);
        let total = started.elapsed();
        let stages = self.calls.iter().zip(meters).map(|(call, meter)| report(call, meter)).collect();
        let mut reused = ctx.reused.into_inner();
        reused.dedup();
        Ok((set, Explanation { stages, total_micros: micros(total), reused }))
    }

    /// The same pipeline without what it says about an agent's visits.
    pub fn unvisited(&self, agent: &str) -> Pipeline {
        let about = |call: &Call| {
            matches!(call.def.word, "visited" | "not-visited")
                && call.text("AGENT").is_ok_and(|named| named == agent)
        };
        let calls = self.calls.iter().filter(|call| !about(call)).cloned().collect();
        Pipeline { calls, used: self.used.clone() }
    }

    /// Whether it is one pass over the columns, sorts, cuts and filters: cheap at any time. Other
    /// generators and algorithms search an index or walk the graph; `diverse` compares vectors,
    /// `community` may have to compute the communities.
    pub fn is_scan(&self) -> bool {
        let mut calls = self.calls.iter();
        calls.next().is_some_and(|first| first.def.word == "all")
            && calls.all(|call| {
                matches!(call.def.kind(), Kind::Filter | Kind::Transform)
                    && !matches!(call.def.word, "diverse" | "community")
            })
    }

    /// Whether a new node of a type and a provenance, whose text has so many characters at most, may be among
    /// what it gives, as far as these tell.
    pub fn may_give(&self, node_type: &str, provenance: &str, most_chars: usize) -> bool {
        // What an algorithm gives has nothing to do with the filters before it.
        let algorithm = self.calls.iter().rposition(|call| call.def.kind() == Kind::Algorithm);
        let behind = self.calls.get(algorithm.map_or(0, |at| at + 1)..).unwrap_or(&[]);
        behind.iter().all(|call| {
            let named = || call.text("NAME").unwrap_or_default();
            let passes = match call.def.word {
                "type" => named() == node_type,
                "provenance" => goes_by(provenance, &named()),
                "state" => call.state("NAME").is_ok_and(|state| state == State::Active),
                "content-len" if !call.negated => {
                    return call.compare("CMP").is_ok_and(|compare| compare.holds_up_to(most_chars as f64));
                }
                _ => return true,
            };
            passes != call.negated
        })
    }

    /// What it filters by, as it is written where filters alone stand: without what gives all nodes in front.
    pub fn filters(&self) -> String {
        let text = self.to_string();
        text.strip_prefix("all | ").map(str::to_owned).unwrap_or(text)
    }

    /// Whether it does nothing but filter.
    pub fn only_filters(&self) -> bool {
        let mut calls = self.calls.iter();
        calls.next().is_some_and(|first| first.def.word == "all")
            && calls.all(|call| call.def.kind() == Kind::Filter)
    }

    /// Which of the given nodes pass all of the pipeline's filters; its other stages play no part.
    ///
    /// # Errors
    /// As [`Pipeline::run`].
    pub fn passing(&self, sources: &Sources<'_>, nodes: &[Ix]) -> Result<Vec<Ix>> {
        let ctx = Ctx::new(sources, self.states());
        let mut items: Vec<Scored> = nodes.iter().map(|&ix| Scored { ix, score: 1.0 }).collect();
        for call in self.calls.iter().filter(|call| call.def.kind() == Kind::Filter) {
            if let Some(mut filter) = filter(call, &ctx)? {
                filter.retain(&mut items, !call.negated);
            }
        }
        Ok(items.into_iter().map(|item| item.ix).collect())
    }

    /// Live states, and those `state:` filters ask for.
    fn states(&self) -> States {
        let asked = self.calls.iter().filter(|call| !call.negated && call.def.word == "state");
        asked.filter_map(|call| call.state("NAME").ok()).fold(States::live(), States::with)
    }
}

/// What the stages at the front of a pipeline gave together.
struct Front {
    set: ResultSet,
    /// How many items there are as far as the language is concerned.
    len: usize,
    /// How many stages are done.
    done: usize,
}

/// Runs the generator, with what can join its pass where it can be scanned: the filters right
/// behind it, and a sort behind those when cuts leave only its first few.
fn generate(calls: &[Call], ctx: &Ctx<'_>, meters: &mut [Meter]) -> Result<Front> {
    let (Some((call, behind)), Some((meter, meters))) = (calls.split_first(), meters.split_first_mut())
    else {
        return Ok(Front { set: ResultSet::default(), len: 0, done: 0 });
    };
    let started = Instant::now();
    match call.def.work {
        Work::Generate(generate) => {
            let set = generate(call, ctx)?;
            meter.given = set.items.len();
            meter.note = ctx.note.take();
            meter.elapsed = started.elapsed();
            Ok(Front { len: set.items.len(), set, done: 1 })
        }
        Work::Scan(scan) => {
            let mut pass = Pass::new(scan(ctx), ctx.sources.view);
            meter.note = ctx.note.take();
            for (at, (call, meter)) in behind.iter().zip(meters.iter_mut()).enumerate() {
                let resolving = Instant::now();
                if let Some(filter) = filter(call, ctx)? {
                    pass.filter(filter, !call.negated);
                } else if let Work::Sort(sort) = call.def.work
                    && let cuts = behind.get(at + 1..).unwrap_or(&[])
                    && let wanted = left_by_cuts(cuts, usize::MAX)
                    && wanted < usize::MAX
                {
                    // What follows is a cut, which ends the loop.
                    pass.sort(sort(call, ctx)?, wanted);
                } else {
                    break;
                }
                meter.note = ctx.note.take();
                meter.elapsed = resolving.elapsed();
            }
            let done = 1 + pass.joined();
            let items = pass.run(meter, meters);
            let len = meters.get(..done - 1).and_then(<[Meter]>::last).unwrap_or(meter).given;
            Ok(Front { set: ResultSet { items, pairs: Vec::new() }, len, done })
        }
        _ => Err(Error::internal(format!("`{}` cannot start a pipeline", call.def.word))),
    }
}

/// Resolves a filter; `None` when the stage is not one.
fn filter<'a>(call: &'a Call, ctx: &'a Ctx<'a>) -> Result<Option<Box<dyn Filter + 'a>>> {
    Ok(match call.def.work {
        Work::Filter(resolve) => Some(resolve(call, ctx)?),
        Work::Compare(field) => {
            let compare = call.compare("CMP")?;
            let until = field.unit.is_time().then_some(ctx.sources.now);
            let field = (field.read)(ctx, "");
            let (relation, bound) = (compare.relation, compare.quantity.amount());
            Some(Box::new(Comparison { field, relation, bound, until, values: Vec::new() }))
        }
        _ => None,
    })
}

/// Runs a stage that is not a generator. `len` is how many items there are as far as the language
/// is concerned: behind a sort that gave only what the next cuts leave it is more than are there.
fn step(
    call: &Call,
    behind: &[Call],
    ctx: &Ctx<'_>,
    set: &mut ResultSet,
    len: &mut usize,
    meter: &mut Meter,
) -> Result<()> {
    let started = Instant::now();
    meter.taken = *len;
    match call.def.work {
        Work::Sort(sort) => {
            let (mut field, direction) = sort(call, ctx)?;
            let mut values = Vec::with_capacity(set.items.len());
            field.read(&set.items, &mut values);
            let wanted = left_by_cuts(behind, *len);
            top::order(ctx.sources.view, &mut set.items, &values, direction, wanted);
        }
        Work::Order(order) => order(call, ctx, &mut set.items, left_by_cuts(behind, *len))?,
        Work::Cut(cut) => {
            let range = cut(call, *len);
            set.items.truncate(range.end);
            set.items.drain(..range.start.min(set.items.len()));
            *len = range.len();
        }
        Work::Algorithm(run) => {
            *set = ResultSet { items: run(call, ctx, &set.items)?, pairs: Vec::new() };
            *len = set.items.len();
        }
        Work::Filter(_) | Work::Compare(_) => {
            if let Some(mut filter) = filter(call, ctx)? {
                filter.retain(&mut set.items, !call.negated);
            }
            *len = set.items.len();
        }
        Work::Scan(_) | Work::Generate(_) => {
            return Err(Error::internal(format!("`{}` stands inside a pipeline", call.def.word)));
        }
    }
    meter.given = *len;
    meter.note = ctx.note.take();
    meter.elapsed = started.elapsed();
    Ok(())
}

/// How many of the first `len` items the cuts right behind a sort look at.
fn left_by_cuts(behind: &[Call], len: usize) -> usize {
    let mut range = 0..len;
    for call in behind {
        let Work::Cut(cut) = call.def.work else { break };
        let inner = cut(call, range.len());
        range = range.start + inner.start..range.start + inner.end;
    }
    range.end
}

/// Only pairs whose members are both still in the set count.
fn keep_whole_pairs(set: &mut ResultSet) {
    if !set.pairs.is_empty() {
        let members: FxHashSet<Ix> = set.items.iter().map(|item| item.ix).collect();
        set.pairs.retain(|pair| members.contains(&pair.a) && members.contains(&pair.b));
    }
}

fn report(call: &Call, meter: Meter) -> StageReport {
    StageReport {
        stage: call.to_string(),
        kind: call.def.kind().name().into(),
        does: call.does(),
        taken: meter.taken,
        given: meter.given,
        micros: micros(meter.elapsed),
        note: meter.note,
        saved: call.saved.as_deref().map(str::to_owned),
    }
}

fn micros(elapsed: Duration) -> f64 {
    elapsed.as_nanos() as f64 / 1e3
}
