//! Is this known? The note that says what was asked, when what is found passes the gate.

use super::{Memory, rerank, weigh};
use crate::config;
use crate::error::{Error, Result};
use crate::graph::{Node, NodeId, Sight, View, normal_key};
use crate::rank::gate::{Signals, Verdict};
use crate::rank::histogram::Histogram;
use crate::retrieve::Hit;
use crate::store::Cause;

/// What is known of a question.
#[derive(Clone, Debug)]
pub struct Known {
    /// How sure it is.
    pub verdict: Verdict,
    /// How the question and what was found agree.
    pub signals: Signals,
    /// The best note that was found, also of a miss.
    pub best: Option<Node>,
    /// What was found, best first: as many as are named when nothing is known.
    pub found: Vec<Hit>,
    /// The names in the question (`INC-90037`) that no note holds: it is about something else than they are.
    pub unheld: Vec<String>,
    /// The cosines of the notes looked at.
    pub seen: Histogram,
}

/// Finds notes for a text and judges whether they know of it.
///
/// # Errors
/// As [`agreement`]; `invalid_config` when there is no gate for the embedder.
pub fn recognize(memory: &Memory, view: &View, text: &str, sight: Sight) -> Result<Known> {
    let config = &memory.config.query;
    let gate = gate(memory)?;
    let Agreement { signals, mut found, best, unheld, by_key } = agreement(memory, view, text, sight, &[])?;
    let mut seen = Histogram::default();
    found.iter().take(config.pool).filter_map(|hit| hit.near).for_each(|near| seen.add(near.cosine));
    let best = best.map(|id| memory.store.node(id)).transpose()?.flatten();
    let verdict = match signals.judge(gate) {
        // Deleted since the view was taken.
        _ if best.is_none() => Verdict::Miss,
        _ if by_key => Verdict::Strong,
        Verdict::Strong if !unheld.is_empty() => Verdict::Weak,
        verdict => verdict,
    };
    found.truncate(config.fallback);
    Ok(Known { verdict, signals, best, found, unheld, seen })
}

/// How a question and what was found for it agree.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// How they do.
    pub signals: Signals,
    /// What was found, best first.
    pub found: Vec<Hit>,
    /// The note that agrees best: the first, if it was asked for by its key or speaks of at least half as
    /// much of the question as another that was looked at.
    pub best: Option<NodeId>,
    /// The names in the question that no note holds.
    pub unheld: Vec<String>,
    /// Whether the question is the key of that note, and nothing else.
    pub by_key: bool,
}

/// How a question and what is found for it ([`rerank::find`]) agree ([`crate::rank::gate`]); as if the notes of
/// `except` were not there.
///
/// # Errors
/// What the embedder fails with.
pub fn agreement(
    memory: &Memory,
    view: &View,
    text: &str,
    sight: Sight,
    except: &[NodeId],
) -> Result<Agreement> {
    let config = &memory.config.query;
    let wanted = config.pool.max(config.fallback);
    let found = rerank::find(memory, view, text, wanted, sight, except)?;
    let words = memory.text.asked(text);
    let looked_at = found.hits.iter().take(config.pool);
    let key = |hit: &Hit| view.find(hit.id).map_or("", |ix| view.key(ix));
    // Who is asked for by key need not say it.
    let covered = looked_at.map(|hit| (hit, words.coverage(hit.id, if hit.by_key { key(hit) } else { "" })));
    let covered: Vec<(&Hit, f64)> = covered.collect();
    let coverage = covered.iter().fold(0.0, |most: f64, (_, coverage)| most.max(*coverage));
    let cosine = found.cosine.unwrap_or(0.0);
    // They come in its order.
    let likelihood = found.hits.first().and_then(|hit| hit.likelihood);
    let signals = Signals::of(coverage, cosine, config.cosine_weight).judged(likelihood);
    let own = |(hit, coverage): &(&Hit, f64)| {
        Signals::of(*coverage, hit.near.map_or(0.0, |near| near.cosine), config.cosine_weight).certainty
    };
    let first = covered.first();
    let speaks = |(_, own): &(&Hit, f64)| likelihood.is_some() || *own >= coverage / 2.0;
    let most = || covered.iter().rev().max_by(|a, b| own(a).total_cmp(&own(b)));
    let best = first.filter(|first| first.0.by_key || speaks(first)).or_else(most).map(|(hit, _)| *hit);
    let sees = |id| !except.contains(&id) && view.find(id).is_some_and(|ix| view.is_found_at(ix, sight));
    let is_key = |name: &str| view.find_key(&normal_key(name)).and_then(|ix| view.id(ix)).is_some_and(sees);
    let unheld = words.unheld(&sees, &is_key).map(str::to_owned).collect();
    let by_key = best.is_some_and(|hit| hit.by_key && key(hit) == normal_key(text));
    Ok(Agreement { signals, best: best.map(|hit| hit.id), found: found.hits, unheld, by_key })
}

/// What is as certain as `query` needs it, with the embedder or the cross-encoder in use.
fn gate(memory: &Memory) -> Result<&config::Gate> {
    if let Some(reranker) = &memory.reranker {
        return Ok(&reranker.config().gate);
    }
    let kind = &memory.config.embedder.kind;
    memory.config.query.gate(kind).ok_or_else(|| {
        Error::config(format!("there is no gate for the embedder `{kind}`"))
            .hint("add a section `[query.gates.default]`")
            .field("query.gates")
    })
}

/// Counts that a note was used.
pub fn touch(memory: &Memory, id: NodeId, cause: Cause) -> Result<()> {
    let now = cause.at;
    memory.store.transact(cause, |tx| weigh::touch(tx, id, &memory.config.weight, now))?;
    Ok(())
}
