//! Is this known? The note that says what was asked, when one passes the gate.

use super::{Memory, weigh};
use crate::config;
use crate::error::{Error, Result};
use crate::graph::{Node, NodeId, Sight, View};
use crate::rank::gate::{Signals, Verdict};
use crate::rank::histogram::Histogram;
use crate::rank::jaccard;
use crate::retrieve::Hit;
use crate::store::Cause;

/// What is known of a question.
#[derive(Clone, Debug)]
pub struct Known {
    /// How sure it is.
    pub verdict: Verdict,
    /// The best candidate with its signals; of a miss the one that came nearest.
    pub best: Option<(Node, Signals)>,
    /// The cosines of the titles looked at.
    pub seen: Histogram,
}

/// Judges the notes with the titles nearest to a text, whose vector is `vector`, and tells the best.
pub fn recognize(memory: &Memory, view: &View, text: &str, vector: &[f32], sight: Sight) -> Result<Known> {
    let config = &memory.config.query;
    let gate = gate(memory)?;
    let near = memory.vectors.search_titles(vector, config.pool, &view.found_at(sight))?;
    let mut seen = Histogram::default();
    near.iter().for_each(|hit| seen.add(hit.cosine));
    let mut best: Option<(f64, Verdict, Node, Signals)> = None;
    for hit in near.into_iter().filter(|hit| hit.cosine >= gate.least_vec) {
        let Some(node) = memory.store.node(hit.id)? else { continue };
        let signals = Signals {
            vec: hit.cosine.clamp(0.0, 1.0),
            lex: jaccard::spelling(text, &node.title),
            jaccard: jaccard::words(text, &node.title),
            ce: None,
        };
        let verdict =
            if config.use_fused_gate { signals.judge_fused(&config.fused) } else { signals.judge(gate) };
        let merit = signals.merit(verdict);
        if best.as_ref().is_none_or(|(greatest, ..)| merit > *greatest) {
            best = Some((merit, verdict, node, signals));
        }
    }
    Ok(match best {
        Some((_, verdict, node, signals)) => Known { verdict, best: Some((node, signals)), seen },
        None => Known { verdict: Verdict::Miss, best: None, seen },
    })
}

fn gate(memory: &Memory) -> Result<&config::Gate> {
    let kind = &memory.config.embedder.kind;
    memory.config.query.gate(kind).ok_or_else(|| {
        Error::config(format!("there is no gate for the embedder `{kind}`"))
            .hint("add a section `[query.gates.default]`")
            .field("query.gates")
    })
}

/// The notes nearest to what is not known.
pub fn fallback(memory: &Memory, view: &View, text: &str, vector: &[f32], sight: Sight) -> Result<Vec<Hit>> {
    let wanted = memory.config.query.fallback;
    Ok(memory.retriever().find_near(text, vector, wanted, &view.found_at(sight))?.hits)
}

/// Counts that a note was used.
pub fn touch(memory: &Memory, id: NodeId, cause: Cause) -> Result<()> {
    let now = cause.at;
    memory.store.transact(cause, |tx| weigh::touch(tx, id, &memory.config.weight, now))?;
    Ok(())
}
