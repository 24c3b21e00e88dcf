//! Which notes name which: a note mentions another when the title of that stands in its body.
//!
//! A title stands in a body when its words do, one after another and whole, folded but not stemmed, the
//! first of them there with a capital. What follows in brackets at the end of a title is cut (`Mercury
//! (planet)` is named by `Mercury`); it needs four letters, and has at most sixteen words. Only titles
//! that somebody gave count ([`crate::graph::Node::own_title`]); keys do not: a text names them as
//! `[[key]]`, and that is a link.
//!
//! No mention is stored. The index keeps the titles as a trie of words, of each body its words as numbers
//! and for each word the bodies that have it, and works mentions out when they are asked for: from a note
//! by walking the trie along its body, to a note by looking through the bodies that have the rarest word
//! of its title. So a new title costs nothing but its own words, however many bodies it stands in, and
//! nothing can get out of step.
//!
//! A title whose every word stands in more than [`COMMON`] bodies names nothing in particular, and neither
//! does one that more than [`SHARED`] notes have: they are in nobody's mentions.

mod holdings;
mod packed;
mod snapshot;
#[cfg(test)]
mod tests;
mod titles;
mod vocabulary;
mod words;

use crate::error::Result;
use crate::graph::{Delta, NodeId};
use crate::index::gate::Gate;
use crate::index::tenants::Index;
use crate::store::sealed::{self, Fingerprint};
use holdings::Holdings;
use parking_lot::{RwLock, RwLockReadGuard};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use words::Folded;

/// Bodies that may have the rarest word of a title.
const COMMON: usize = 2_048;

/// Notes that may have one title.
const SHARED: usize = 64;

/// The mentions among live notes.
pub struct MentionIndex {
    // A fork has none: it is never saved.
    file: Option<PathBuf>,
    state: RwLock<State>,
    gate: Gate,
    // `State::changes` as of the saved snapshot.
    saved: AtomicU64,
}

#[derive(Default)]
struct State {
    holdings: Holdings,
    applied: u64,
    // Counts what was taken in since the index was opened.
    changes: u64,
}

/// What a delta means here.
enum Change {
    Put { id: NodeId, title: Folded, body: Folded },
    Remove(NodeId),
}

impl MentionIndex {
    /// The index whose snapshot is in a directory. Nothing is read before [`Index::load`], and whoever
    /// asks waits for [`Index::release`].
    pub fn closed(directory: &Path) -> MentionIndex {
        MentionIndex {
            file: Some(directory.join("snapshot")),
            state: RwLock::default(),
            gate: Gate::default(),
            saved: AtomicU64::new(0),
        }
    }

    /// A copy in memory alone, as it is now, which goes its own way.
    pub fn fork(&self) -> MentionIndex {
        let state = {
            let state = self.read();
            State { holdings: state.holdings.clone(), applied: state.applied, changes: 0 }
        };
        let gate = Gate::default();
        gate.open();
        MentionIndex { file: None, state: RwLock::new(state), gate, saved: AtomicU64::new(0) }
    }

    /// The notes that a note mentions, by id; none when it is not there.
    pub fn from(&self, id: NodeId) -> Vec<NodeId> {
        self.read().holdings.from(id)
    }

    /// The notes that mention a note, by id; none when it is not there.
    pub fn to(&self, id: NodeId) -> Vec<NodeId> {
        self.read().holdings.to(id)
    }

    /// The notes whose title stands in a text, by id.
    pub fn in_text(&self, text: &str) -> Vec<NodeId> {
        self.read().holdings.in_text(&Folded::of(text))
    }

    /// The state, once readers may see it.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.gate.pass();
        self.state.read()
    }
}

fn fingerprint() -> Fingerprint {
    // Other words, or another way of folding them, are another revision.
    Fingerprint::of("mention index 1, words 1")
}

impl Index for MentionIndex {
    const NAME: &'static str = "mentions";

    fn another(&self, directory: &Path) -> MentionIndex {
        MentionIndex::closed(directory)
    }

    fn load(&self) -> bool {
        let saved = self.file.as_ref().and_then(|file| sealed::read(file, fingerprint()));
        let state = saved.and_then(|(applied, bytes)| {
            Some(State { holdings: snapshot::decode(&bytes)?, applied, changes: 0 })
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
        // Readers wait only while words are put in, not while texts are split into them.
        let changes: Vec<Change> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Node(node) if node.state.is_live() => Some(Change::Put {
                    id: node.id,
                    title: words::name(node.own_title().unwrap_or_default()),
                    body: Folded::of(&node.body),
                }),
                Delta::Node(node) => Some(Change::Remove(node.id)),
                Delta::NodeGone(id) => Some(Change::Remove(*id)),
                _ => None,
            })
            .collect();
        let mut state = self.state.write();
        for change in changes {
            match change {
                Change::Put { id, title, body } => state.holdings.put(id, &title, &body),
                Change::Remove(id) => state.holdings.remove(id),
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
            (snapshot::encode(&state.holdings)?, state.applied, state.changes)
        };
        sealed::write(file, fingerprint(), applied, &[&bytes])?;
        self.saved.store(changes, Ordering::Release);
        Ok(())
    }
}
