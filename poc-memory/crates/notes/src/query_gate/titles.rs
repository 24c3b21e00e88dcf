//! The gates over titles, `two-path` and `fused`: the best of the notes with the nearest titles.

use super::{GateQuery, GateReason, GateResult};
use crate::{Memory, rerank};
use poc_config::GateKind;
use poc_graph::error::Result;
use poc_graph::{Node, NodeId};
use poc_rank::gate::two_path::GatePath;
use poc_rank::gate::{GateSignals, TitleSignals, Verdict};
use poc_rank::histogram::Histogram;

/// Judges by the titles nearest to the query. With a cross-encoder, its likelihood for each of these notes is one of
/// the signals.
///
/// # Errors
/// As for [`super::judge`].
pub(super) fn judge_titles(memory: &Memory, query: &GateQuery<'_>, gate: GateKind) -> Result<GateResult> {
    let &GateQuery { view, text, vector, visibility, exclusions } = query;
    let config = &memory.config.query;
    let is_pointer = |id| view.find(id).is_some_and(|ix| view.is_pointer(ix));
    let keep = |id: NodeId| query.may_answer(id) && !is_pointer(id);
    let near = memory.vectors.search_titles(vector, config.pool, &keep)?;
    let mut cosines = Histogram::default();
    near.iter().for_each(|hit| cosines.add(hit.cosine));
    let mut candidates: Vec<(Node, f64)> = Vec::with_capacity(near.len());
    for hit in near.iter().filter(|hit| hit.cosine >= config.title_min_vec) {
        candidates.extend(memory.store.node(hit.id)?.map(|node| (node, hit.cosine)));
    }
    let likelihoods = match &memory.reranker {
        Some(reranker) if !candidates.is_empty() => {
            let texts: Vec<String> =
                candidates.iter().map(|(node, _)| rerank::passage(memory, node, None)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            reranker.likelihoods(text, &texts)?.into_iter().map(Some).collect()
        }
        _ => vec![None; candidates.len()],
    };
    let judged = candidates.into_iter().zip(likelihoods).map(|((node, cosine), likelihood)| {
        let signals = TitleSignals::of(text, &node.title, cosine, likelihood);
        let (signals, verdict, reason) = decide(memory, signals, gate);
        (signals.order_value(verdict), signals, verdict, reason, node)
    });
    // If several titles have the same order value, the nearest one wins.
    let best = judged.reduce(|best, other| if other.0 > best.0 { other } else { best });
    let (signals, verdict, reason, best) = match best {
        Some((_, signals, verdict, reason, node)) => (signals, verdict, reason, Some(node)),
        None => (TitleSignals::default(), Verdict::Miss, GateReason::NothingFound, None),
    };
    let found = match verdict {
        Verdict::Miss => {
            let retriever = memory.retriever(view).without(exclusions.except).within(exclusions.within);
            rerank::find_near(memory, retriever, text, vector, config.fallback, visibility)?.hits
        }
        Verdict::Weak | Verdict::Strong => Vec::new(),
    };
    let signals = GateSignals::Titles(signals);
    Ok(GateResult {
        gate,
        verdict,
        reason,
        signals,
        best,
        found,
        unknown_names: Vec::new(),
        missing_subjects: Vec::new(),
        cosines,
    })
}

/// The verdict on one title, and what decided.
fn decide(memory: &Memory, signals: TitleSignals, gate: GateKind) -> (TitleSignals, Verdict, GateReason) {
    let config = &memory.config.query;
    if gate == GateKind::Fused {
        let fused = Some(signals.weighted_mean(&config.fused));
        return (TitleSignals { fused, ..signals }, signals.judge_fused(&config.fused), GateReason::Fused);
    }
    let verdict = signals.judge_two_path(&config.two_path);
    let reason = match (signals.path(&config.two_path), verdict) {
        (Some(GatePath::Spelling), Verdict::Strong) => GateReason::Spelling,
        (Some(GatePath::Meaning), Verdict::Strong) => GateReason::Meaning,
        (Some(_), _) => GateReason::CrossEncoder,
        (None, _) => GateReason::NoPath,
    };
    (signals, verdict, reason)
}
