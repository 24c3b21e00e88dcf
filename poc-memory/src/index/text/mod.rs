//! The inverted index in memory: BM25 over titles and bodies.

pub(super) mod fold;
mod postings;
mod scores;
mod snapshot;
mod stop;
#[cfg(test)]
mod tests;
mod tokens;

use crate::config;
use crate::error::{Error, Result};
use crate::graph::{Delta, NodeId};
use crate::index::gate::Gate;
use crate::index::tenants::Index;
use crate::store::sealed::{self, Fingerprint};
use parking_lot::{RwLock, RwLockReadGuard};
use postings::{Parameters, Postings, Scope};
pub use scores::TextScores;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokens::Tokenizer;

/// Which text of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The title.
    Title,
    /// The body.
    Body,
}

/// A node that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextHit {
    /// The node.
    pub id: NodeId,
    /// BM25 score, above 0.
    pub score: f64,
}

/// The text index of live nodes.
pub struct TextIndex {
    // A fork has none: it is never saved.
    file: Option<PathBuf>,
    fingerprint: Fingerprint,
    tokenizer: Arc<Tokenizer>,
    parameters: Parameters,
    state: RwLock<State>,
    gate: Gate,
    // `State::changes` as of the saved snapshot.
    saved: AtomicU64,
}

#[derive(Default)]
struct State {
    postings: Postings,
    applied: u64,
    // Counts what was taken in since the index was opened.
    changes: u64,
}

/// What a delta means here.
enum Change {
    Put { id: NodeId, title: Vec<String>, body: Vec<String> },
    Remove(NodeId),
}

impl TextIndex {
    /// Opens the saved snapshot in a directory when it is whole and fits the settings; else starts
    /// empty ([`Index::applied`] is 0) and waits to be fed. Settings out of range are refused.
    pub fn open(directory: &Path, config: &config::Text) -> Result<TextIndex> {
        let index = TextIndex::closed(directory, config)?;
        index.load();
        index.release();
        Ok(index)
    }

    /// As [`TextIndex::open`], but nothing is read before [`Index::load`], and whoever asks waits
    /// for [`Index::release`].
    pub fn closed(directory: &Path, config: &config::Text) -> Result<TextIndex> {
        let parameters = parameters(config)?;
        let tokenizer = Arc::new(Tokenizer::new(&config.language)?);
        let file = snapshot_in(directory);
        // Another token chain gives other terms: count its revision up when it changes.
        let fingerprint = Fingerprint::of(&format!("text index 2, tokens 1, {}", config.language));
        let (state, gate, saved) = Default::default();
        Ok(TextIndex { file: Some(file), fingerprint, tokenizer, parameters, state, gate, saved })
    }

    /// A copy in memory alone, as it is now, which goes its own way.
    pub fn fork(&self) -> TextIndex {
        let state = {
            let state = self.read();
            State { postings: state.postings.clone(), applied: state.applied, changes: 0 }
        };
        let gate = Gate::default();
        gate.open();
        TextIndex {
            file: None,
            fingerprint: self.fingerprint,
            tokenizer: self.tokenizer.clone(),
            parameters: self.parameters,
            state: RwLock::new(state),
            gate,
            saved: AtomicU64::new(0),
        }
    }

    /// The best matches of any of the query's terms in one field among the nodes that `keep` lets
    /// through, best first, ties by id. Words that only ask or refer (`what did she`) are ignored
    /// unless the query has no others. `keep` is asked only about nodes good enough to be among
    /// them.
    pub fn search(
        &self,
        query: &str,
        field: TextField,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<TextHit> {
        self.find(query, Scope::Field(field), limit, keep)
    }

    /// As [`TextIndex::search`] over both fields as one document, in which a term of the title
    /// counts `title-weight` times.
    pub fn search_all(&self, query: &str, limit: usize) -> Vec<TextHit> {
        self.find(query, Scope::Both, limit, &|_| true)
    }

    /// The terms a text is indexed under, in order, with repeats.
    pub fn tokens(&self, text: &str) -> Vec<String> {
        self.tokenizer.terms(text)
    }

    /// The terms a query looks for, without repeats.
    pub fn query_tokens(&self, query: &str) -> Vec<String> {
        self.tokenizer.query(query)
    }

    /// How many live notes have a term in title or body.
    pub fn frequency(&self, term: &str) -> usize {
        self.read().postings.frequency(term)
    }

    /// The state, once readers may see it.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.gate.pass();
        self.state.read()
    }

    fn find(&self, query: &str, scope: Scope, limit: usize, keep: &dyn Fn(NodeId) -> bool) -> Vec<TextHit> {
        let terms = self.tokenizer.query(query);
        let hits = self.read().postings.search(&terms, scope, limit, self.parameters, keep);
        hits.into_iter().map(|hit| TextHit { id: hit.id, score: hit.score }).collect()
    }
}

fn snapshot_in(directory: &Path) -> PathBuf {
    directory.join("snapshot")
}

fn parameters(config: &config::Text) -> Result<Parameters> {
    if !(config.k1.is_finite() && config.k1 >= 0.0) {
        return Err(Error::config(format!("k1 of BM25 cannot be {}", config.k1))
            .hint("a number from 0 up; 0.9 is usual")
            .field("text.k1"));
    }
    if !(0.0..=1.0).contains(&config.b) {
        return Err(Error::config(format!("b of BM25 cannot be {}", config.b))
            .hint("a number from 0 to 1; 0.4 is usual")
            .field("text.b"));
    }
    if !(config.title_weight.is_finite() && config.title_weight >= 0.0) {
        return Err(Error::config(format!("a term of a title cannot count {} times", config.title_weight))
            .hint("a number from 0 up; 3 is usual")
            .field("text.title-weight"));
    }
    Ok(Parameters { k1: config.k1, b: config.b, title: config.title_weight })
}

impl Index for TextIndex {
    const NAME: &'static str = "text";

    fn another(&self, directory: &Path) -> TextIndex {
        TextIndex {
            file: Some(snapshot_in(directory)),
            fingerprint: self.fingerprint,
            tokenizer: self.tokenizer.clone(),
            parameters: self.parameters,
            state: RwLock::default(),
            gate: Gate::default(),
            saved: AtomicU64::new(0),
        }
    }

    fn load(&self) -> bool {
        let saved = self.file.as_ref().and_then(|file| sealed::read(file, self.fingerprint));
        let state = saved.and_then(|(applied, bytes)| {
            Some(State { postings: snapshot::decode(&bytes)?, applied, changes: 0 })
        });
        state.map(|state| *self.state.write() = state).is_some()
    }

    fn release(&self) {
        self.gate.open();
    }

    fn applied(&self) -> u64 {
        self.state.read().applied
    }

    fn reset(&self) -> Result<()> {
        self.file.as_deref().map_or(Ok(()), sealed::remove)?;
        let mut state = self.state.write();
        *state = State { changes: state.changes + 1, ..State::default() };
        Ok(())
    }

    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        // Readers wait only while terms are put in, not while texts are split into them.
        let changes: Vec<Change> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Node(node) if node.state.is_live() => Some(Change::Put {
                    id: node.id,
                    // A title that only repeats how the text begins says nothing twice.
                    title: self.tokenizer.terms(node.own_title().unwrap_or_default()),
                    body: self.tokenizer.terms(&node.body),
                }),
                Delta::Node(node) => Some(Change::Remove(node.id)),
                Delta::NodeGone(id) => Some(Change::Remove(*id)),
                _ => None,
            })
            .collect();
        let mut state = self.state.write();
        for change in changes {
            match change {
                Change::Put { id, title, body } => state.postings.put(id, &title, &body),
                Change::Remove(id) => state.postings.remove(id),
            }
        }
        state.applied = state.applied.max(seq);
        state.changes += 1;
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let (bytes, applied, changes) = {
            let state = self.state.read();
            if state.changes == self.saved.load(Ordering::Acquire) {
                return Ok(());
            }
            (snapshot::encode(&state.postings)?, state.applied, state.changes)
        };
        sealed::write(file, self.fingerprint, applied, &[&bytes])?;
        self.saved.store(changes, Ordering::Release);
        Ok(())
    }
}
