//! The incoming set of an algorithm as its seeds.

use crate::query::context::Ctx;
use crate::query::scan::is_seen;
use crate::query::set::Scored;
use crate::query::top::best_first;
use poc_graph::{Embedding, Ix};
use rustc_hash::FxHashSet;

/// The best `most` of the set with a score above 0, best first, ties by id; a remark where others are
/// left out.
pub(super) fn best(ctx: &Ctx<'_>, items: &[Scored], most: usize) -> Vec<(Ix, f64)> {
    let mut seeds: Vec<Scored> = items.iter().filter(|item| item.score > 0.0).copied().collect();
    if seeds.len() < items.len() {
        ctx.note(format!("{} of {} in the set have a score above 0", seeds.len(), items.len()));
    }
    best_first(ctx.sources.view, &mut seeds);
    if seeds.len() > most {
        ctx.note(format!("from the {most} best of {}", seeds.len()));
        seeds.truncate(most);
    }
    seeds.into_iter().map(|item| (item.ix, item.score)).collect()
}

/// Those of the set, in its order, that are live, score above 0 and have a place in the embedding;
/// a remark where others are left out.
pub(super) fn placed(ctx: &Ctx<'_>, embedding: &Embedding, items: &[Scored]) -> Vec<Scored> {
    let mut is_live = is_seen(ctx.sources.view, ctx.sources.sight());
    let mut has_place =
        |item: &Scored| item.score > 0.0 && embedding.component(item.ix).is_some() && is_live(item.ix);
    let seeds: Vec<Scored> = items.iter().filter(|item| has_place(item)).copied().collect();
    if seeds.len() < items.len() {
        ctx.note(format!("{} of {} in the set have ties and a score above 0", seeds.len(), items.len()));
    }
    seeds
}

/// Accepts live nodes that are not in the set.
pub(super) fn others<'a>(ctx: &Ctx<'a>, items: &[Scored]) -> impl FnMut(Ix) -> bool + 'a {
    let mut is_live = is_seen(ctx.sources.view, ctx.sources.sight());
    let set: FxHashSet<Ix> = items.iter().map(|item| item.ix).collect();
    move |ix| is_live(ix) && !set.contains(&ix)
}
