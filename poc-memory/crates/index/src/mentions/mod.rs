//! Which notes name which: a note mentions another when title or key of that stands in its body, and two have
//! a name in common when it stands in both.
//!
//! A title stands in a body when its words do, one after another and whole, folded but not stemmed, the
//! first of them there with a capital; `'s` apart. What follows in brackets at the end of a title is cut
//! (`Mercury (planet)` is named by `Mercury`); it needs four letters, and has at most sixteen words. Only
//! titles that somebody gave count ([`poc_graph::Node::own_title`]).
//!
//! A key of several parts (`retry-policy`, `INC-90037`) stands in a body as it is, and so does a title that
//! is an identifier (`store_open`): no capital is asked for. A key that is one plain word names nothing, since
//! texts are full of those.
//!
//! No mention is stored. The index keeps these names as a trie of words, of each body its words as numbers
//! and for each word the bodies that have it, and works mentions out when they are asked for: from a note
//! by walking the trie along its body, to a note by looking through the bodies that have all words of one
//! of its names, the common words apart. So a new name costs nothing but its own words, however many bodies it stands in, and
//! nothing can get out of step.
//!
//! A name whose every word stands in more than 2,048 bodies names nothing in particular, and neither
//! does one that more than 64 notes have: they are in nobody's mentions.

mod packed;
mod postings;
mod snapshot;
#[cfg(test)]
mod tests;
mod titles;
mod vocabulary;
mod words;

use crate::snapshotted::SnapshottedIndex;
use crate::tenants::Index;
use poc_graph::error::Result;
use poc_graph::{Delta, Node, NodeId};
use poc_store::atomic_file::Fingerprint;
use postings::MentionPostings;
use std::path::Path;
use words::Folded;

/// The mentions among live notes.
pub struct MentionIndex(SnapshottedIndex<MentionPostings>);

impl MentionIndex {
    /// The index whose snapshot is in a directory. Nothing is read before [`Index::load`], and whoever
    /// asks waits for [`Index::release`].
    pub fn closed(directory: &Path) -> MentionIndex {
        // Other words, or another way of folding them, are another revision.
        MentionIndex(SnapshottedIndex::closed(directory, Fingerprint::of("mention index 3, words 3")))
    }

    /// A copy in memory alone, as it is now, which goes its own way.
    pub fn fork(&self) -> MentionIndex {
        MentionIndex(self.0.fork())
    }

    /// The notes that a note mentions, by id; none when it is not there.
    pub fn mentioned_by(&self, id: NodeId) -> Vec<NodeId> {
        self.0.read().mentioned_by(id)
    }

    /// The notes that mention a note, by id; none when it is not there.
    pub fn mentioning(&self, id: NodeId) -> Vec<NodeId> {
        self.0.read().mentioning(id)
    }

    /// For each of some notes, in their order, those that have a name in common with it, each once, with how
    /// many bodies have the rarest of these names. Names are words of three letters or digits and more, no
    /// stop words, days or months, of which at least three times as many bodies have them with a capital or
    /// as an identifier as have them only without; a capital in a heading or at the head of a sentence says
    /// nothing, nor does a part of a name told by its form. At most `most` bodies have them, however they
    /// are spelt there, and `text` has not.
    pub fn sharing_names(&self, ids: &[NodeId], most: usize, text: &str) -> Vec<Vec<(NodeId, usize)>> {
        let postings = self.0.read();
        let excluded = postings.word_numbers(&Folded::of(text));
        ids.iter().map(|id| postings.sharing_names(*id, most, &excluded)).collect()
    }

    /// The names by which [`MentionIndex::sharing_names`] ties two notes, folded, those that the fewest bodies have
    /// first.
    pub fn names_between(&self, notes: [NodeId; 2], most: usize, text: &str) -> Vec<String> {
        let postings = self.0.read();
        let excluded = postings.word_numbers(&Folded::of(text));
        postings.names_between(notes, most, &excluded).into_iter().map(str::to_owned).collect()
    }

    /// The words of a text that are names by their capital, folded.
    pub fn capitalized_names(text: &str) -> Vec<String> {
        let words = Folded::words(text);
        words.capitalized_names().filter(|word| postings::is_distinctive(word)).map(str::to_owned).collect()
    }

    /// The notes of which a name stands in a text, by id.
    pub fn in_text(&self, text: &str) -> Vec<NodeId> {
        self.0.read().in_text(&Folded::of(text))
    }
}

impl Index for MentionIndex {
    const NAME: &'static str = "mentions";

    fn empty_in(&self, directory: &Path) -> MentionIndex {
        MentionIndex(self.0.empty_in(directory))
    }

    fn load(&self) -> bool {
        self.0.load(snapshot::decode)
    }

    fn release(&self) {
        self.0.release();
    }

    fn applied(&self) -> u64 {
        self.0.applied()
    }

    fn reset(&self) -> Result<()> {
        self.0.reset()
    }

    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        let said = |node: &Node| {
            (words::names(node.own_title().unwrap_or_default(), &node.key), Folded::of(&node.body))
        };
        let put = |postings: &mut MentionPostings, id, (names, body): (Vec<Folded>, Folded)| {
            postings.put(id, &names, &body);
        };
        self.0.apply(seq, deltas, said, put, MentionPostings::remove);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        self.0.checkpoint(snapshot::encode)
    }
}
