//! The mention index: which notes mention which. A note mentions another note if its body contains the title or the key
//! of that note. Two notes share a name if both bodies contain it.
//!
//! A body contains a title if it contains the words of the title in sequence, as whole words, folded but not stemmed,
//! without `'s`, and the first of them starts with a capital in the body. A bracketed suffix of a title is ignored
//! (`Mercury` names `Mercury (planet)`). A title must have at least four letters and at most sixteen words. Only titles
//! that were chosen explicitly count ([`poc_graph::Node::own_title`]).
//!
//! A key of several parts (`retry-policy`, `INC-90037`) must occur exactly as it is, and so must a title that is an
//! identifier (`store_open`); no capital is required. A key that is a single plain word is never mentioned, because
//! such words are too common in texts. A former key of a note counts like its key, and another name
//! ([`poc_graph::Node::other_names`]) like its title, and so does the last part of a key that is written like a title
//! ([`poc_graph::Node::titles`]).
//!
//! Mentions are not stored but computed on demand. The index keeps a hash table of the names, the words of each body as
//! numbers, and for each word the bodies that contain it. The notes that a note mentions are found by looking up the
//! words of its body in the table. The notes that mention it are found by searching the bodies that contain all words
//! of one of its names, except common words. Adding a name therefore costs only its own words, however many bodies
//! contain it, and no stored mention can become outdated.
//!
//! Two kinds of names are ignored: a name whose words are each in more than 2,048 bodies, and a name that more than 64
//! notes have.

mod digest;
mod name_table;
mod packed;
mod postings;
mod snapshot;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

use crate::per_tenant::Index;
use crate::snapshotted::SnapshottedIndex;
use poc_graph::error::Result;
use poc_graph::{Delta, Node, NodeId};
use poc_store::NoteDigests;
use poc_store::atomic_file::Fingerprint;
use postings::MentionPostings;
#[cfg(any(fuzzing, test))]
pub(crate) use snapshot::saved_again;
use std::path::{Path, PathBuf};
use words::FoldedWords;

/// The index of mentions among live notes.
pub struct MentionIndex(SnapshottedIndex<MentionPostings>);

impl MentionIndex {
    /// Creates the index with its snapshot in a directory. Nothing is read before [`Index::load`], and readers wait for
    /// [`Index::release`].
    pub fn closed(directory: &Path) -> MentionIndex {
        // The revision of the words must be incremented when their segmentation, their folding or the titles of notes
        // (`Node::titles`) change.
        MentionIndex(SnapshottedIndex::closed(directory, Fingerprint::of("mention index 4, words 5")))
    }

    /// An independent copy of the current state. It exists only in memory.
    pub fn fork(&self) -> MentionIndex {
        MentionIndex(self.0.fork())
    }

    /// The notes that a note mentions, sorted by id. Empty if the note is not in the index.
    pub fn mentioned_by(&self, id: NodeId) -> Vec<NodeId> {
        self.0.read().mentioned_by(id)
    }

    /// The notes that mention a note, sorted by id. Empty if the note is not in the index.
    pub fn mentioning(&self, id: NodeId) -> Vec<NodeId> {
        self.0.read().mentioning(id)
    }

    /// For each of the given notes, in order: the other notes that share a name with it, each once, with the number of
    /// bodies that contain the rarest of the shared names.
    ///
    /// A name is a word with at least three letters or digits, except stop words, days and months. The number of bodies
    /// that contain it with a capital or as an identifier must be at least three times the number of bodies that
    /// contain it only without. Capitals in headings and at the start of a sentence do not count, and neither do parts
    /// of identifiers. Names that occur in more than `max` bodies, in any spelling, or in `text` are ignored.
    pub fn sharing_names(&self, ids: &[NodeId], max: usize, text: &str) -> Vec<Vec<(NodeId, usize)>> {
        let postings = self.0.read();
        let excluded = postings.word_numbers(&FoldedWords::of(text));
        ids.iter().map(|id| postings.sharing_names(*id, max, &excluded)).collect()
    }

    /// The names that two notes share as defined for [`MentionIndex::sharing_names`], folded, rarest first.
    pub fn names_between(&self, notes: [NodeId; 2], max: usize, text: &str) -> Vec<String> {
        let postings = self.0.read();
        let excluded = postings.word_numbers(&FoldedWords::of(text));
        postings.names_between(notes, max, &excluded).into_iter().map(str::to_owned).collect()
    }

    /// The words of a text that are names judging by their capital letter, folded.
    pub fn capitalized_names(text: &str) -> Vec<String> {
        distinctive_names(&FoldedWords::words(text))
    }

    /// The acronyms of a question, such as `CSS`, folded. In a note, words of capitals are no evidence for a name,
    /// because headings and warnings have them, too.
    pub fn acronyms(question: &str) -> Vec<String> {
        words::acronyms(question).into_iter().filter(|word| postings::is_distinctive(word)).collect()
    }

    /// The words of a text that indicate its subject, folded: names by their capital letter, and words with a digit.
    pub fn names_and_numbers(text: &str) -> Vec<String> {
        let words = FoldedWords::words(text);
        let mut found = distinctive_names(&words);
        let has_digit = |word: &str| word.chars().any(|c| c.is_ascii_digit());
        found.extend(words.iter().filter(|(word, _)| has_digit(word)).map(|(word, _)| word.to_owned()));
        let mut seen = rustc_hash::FxHashSet::default();
        found.retain(|word| seen.insert(word.clone()));
        found
    }

    /// The words of a text and its identifiers, folded.
    pub fn folded_words(text: &str) -> rustc_hash::FxHashSet<String> {
        FoldedWords::of(text)
            .iter()
            .filter(|(word, _)| !word.is_empty())
            .map(|(word, _)| word.to_owned())
            .collect()
    }

    /// The notes that a text mentions, sorted by id.
    pub fn in_text(&self, text: &str) -> Vec<NodeId> {
        self.0.read().in_text(&FoldedWords::of(text))
    }
}

fn distinctive_names(words: &FoldedWords) -> Vec<String> {
    words.capitalized_names().filter(|word| postings::is_distinctive(word)).map(str::to_owned).collect()
}

impl Index for MentionIndex {
    const NAME: &'static str = "mentions";

    fn empty_in(&self, directory: &Path) -> MentionIndex {
        MentionIndex(self.0.empty_in(directory))
    }

    fn load(&self) -> bool {
        self.0.load(snapshot::decode)
    }

    fn claimed_seq(&self) -> Option<u64> {
        self.0.claimed_seq()
    }

    fn is_saved(&self) -> bool {
        self.0.is_saved()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes(MentionPostings::bytes)
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
        let names_and_body =
            |node: &Node| (words::names(node.titles(), node.names()), FoldedWords::of(&node.body));
        let put = |postings: &mut MentionPostings, id, (names, body): (Vec<FoldedWords>, FoldedWords)| {
            postings.put(id, &names, &body);
        };
        self.0.apply(seq, deltas, names_and_body, put, MentionPostings::remove);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        self.0.checkpoint(snapshot::encode)
    }

    fn digests(&self) -> NoteDigests {
        self.0.read().digests()
    }

    fn damaged_files(&self) -> Vec<PathBuf> {
        self.0.damaged_file().into_iter().collect()
    }
}
