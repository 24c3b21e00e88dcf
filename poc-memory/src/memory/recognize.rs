//! Is this known? The note that says what was asked, when what is found passes the gate.

use super::{Memory, rerank, weigh};
use crate::config;
use crate::error::{Error, Result};
use crate::graph::{Node, NodeId, Sight, View};
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
    let (signals, mut found) = agreement(memory, view, text, sight, &[])?;
    let mut seen = Histogram::default();
    found.iter().take(config.pool).filter_map(|hit| hit.near).for_each(|near| seen.add(near.cosine));
    let best = found.first().map(|hit| memory.store.node(hit.id)).transpose()?.flatten();
    // Deleted since the view was taken.
    let verdict = if best.is_some() { signals.judge(gate) } else { Verdict::Miss };
    found.truncate(config.fallback);
    Ok(Known { verdict, signals, best, found, seen })
}

/// How a question and what is found for it ([`rerank::find`]) agree ([`crate::rank::gate`]), and what that is; as if the
/// notes of `except` were not there.
///
/// # Errors
/// What the embedder fails with.
pub fn agreement(
    memory: &Memory,
    view: &View,
    text: &str,
    sight: Sight,
    except: &[NodeId],
) -> Result<(Signals, Vec<Hit>)> {
    let config = &memory.config.query;
    let wanted = config.pool.max(config.fallback);
    let found = rerank::find(memory, view, text, wanted, sight, except)?;
    let words = memory.text.scores(text);
    let looked_at = found.hits.iter().take(config.pool);
    let coverage = looked_at.map(|hit| words.coverage(hit.id)).fold(0.0, f64::max);
    let cosine = found.cosine.unwrap_or(0.0);
    // They come in its order.
    let likelihood = found.hits.first().and_then(|hit| hit.likelihood);
    Ok((Signals::of(coverage, cosine, config.cosine_weight).judged(likelihood), found.hits))
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
