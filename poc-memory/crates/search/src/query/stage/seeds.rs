//! Selects the seeds of an algorithm from its input.

use crate::query::context::QueryContext;
use crate::query::scan::visible_at;
use crate::query::set::ScoredNode;
use crate::query::top::best_first;
use poc_graph::{Ix, SpectralEmbedding};
use rustc_hash::FxHashSet;

/// The nodes of the set with a score above 0, in order. Adds a remark if others are omitted.
pub(super) fn positive(ctx: &QueryContext<'_>, items: &[ScoredNode]) -> Vec<ScoredNode> {
    let seeds: Vec<ScoredNode> = items.iter().filter(|item| item.score > 0.0).copied().collect();
    if seeds.len() < items.len() {
        ctx.remark(format!("{} of {} in the set have a score above 0", seeds.len(), items.len()));
    }
    seeds
}

/// The best `max` nodes of the set with a score above 0, best first. Equal scores are ordered by id. Adds a remark if
/// others are omitted.
pub(super) fn best(ctx: &QueryContext<'_>, items: &[ScoredNode], max: usize) -> Vec<(Ix, f64)> {
    let mut seeds = positive(ctx, items);
    best_first(ctx.sources.view, &mut seeds);
    if seeds.len() > max {
        ctx.remark(format!("from the {max} best of {}", seeds.len()));
        seeds.truncate(max);
    }
    seeds.into_iter().map(|item| (item.ix, item.score)).collect()
}

/// The nodes of the set, in order, that are live, have a score above 0 and have coordinates in the embedding. Adds a
/// remark if others are omitted.
pub(super) fn embedded(
    ctx: &QueryContext<'_>,
    embedding: &SpectralEmbedding,
    items: &[ScoredNode],
) -> Vec<ScoredNode> {
    let mut is_live = visible_at(ctx.sources.view, ctx.sources.visibility());
    let mut has_position =
        |item: &ScoredNode| item.score > 0.0 && embedding.component(item.ix).is_some() && is_live(item.ix);
    let seeds: Vec<ScoredNode> = items.iter().filter(|item| has_position(item)).copied().collect();
    if seeds.len() < items.len() {
        ctx.remark(format!("{} of {} in the set have edges and a score above 0", seeds.len(), items.len()));
    }
    seeds
}

/// Returns a function that tells whether a node is live and not in the set.
pub(super) fn others<'a>(ctx: &QueryContext<'a>, items: &[ScoredNode]) -> impl FnMut(Ix) -> bool + 'a {
    let mut is_live = visible_at(ctx.sources.view, ctx.sources.visibility());
    let set: FxHashSet<Ix> = items.iter().map(|item| item.ix).collect();
    move |ix| is_live(ix) && !set.contains(&ix)
}
