//! The text index: BM25 over titles and bodies, in memory.

mod compared_note;
mod compounds;
mod dates;
mod days;
mod digest;
pub(super) mod fold;
mod frames;
mod function_words;
mod hit;
mod joined;
mod postings;
mod relations;
mod scores;
mod snapshot;
pub(super) mod stop_words;
mod subjects;
#[cfg(test)]
mod tests;
pub(super) mod tokens;
pub(super) mod words;
use crate::error::IndexError;
use crate::per_tenant::Index;
use crate::snapshotted::SnapshottedIndex;
pub use compared_note::ComparedNote;
pub use hit::{TextField, TextHit};
pub use joined::JoinedScores;
use poc_graph::error::Result;
use poc_graph::{Delta, NodeId};
use poc_rank::lookalike::WordSketch;
use poc_store::NoteDigests;
use poc_store::atomic_file::Fingerprint;
use postings::{Parameters, Postings, TextScope};
pub use scores::{QueryTerms, TextScores};
#[cfg(any(fuzzing, test))]
pub(crate) use snapshot::saved_again;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use subjects::DifferingSubjects;
use tokens::{TermCache, Tokenizer};
pub use tokens::{is_name, names, without_possessive};

/// The text index of live nodes.
pub struct TextIndex {
    content: SnapshottedIndex<Postings>,
    tokenizer: Arc<Tokenizer>,
    parameters: Parameters,
}

impl TextIndex {
    /// Opens the saved snapshot in a directory if it is valid and matches the settings. Otherwise the index starts
    /// empty ([`Index::applied`] is 0) and must be rebuilt.
    ///
    /// # Errors
    /// `invalid_config` if a setting is out of range or the language is unknown.
    pub fn open(directory: &Path, config: &poc_config::TextConfig) -> Result<TextIndex> {
        let index = TextIndex::closed(directory, config)?;
        index.load();
        index.release();
        Ok(index)
    }

    /// Like [`TextIndex::open`], but nothing is read before [`Index::load`], and readers wait for [`Index::release`].
    ///
    /// # Errors
    /// `invalid_config` if a setting is out of range or the language is unknown.
    pub fn closed(directory: &Path, config: &poc_config::TextConfig) -> Result<TextIndex> {
        let parameters = parameters(config)?;
        let tokenizer = Arc::new(Tokenizer::new(&config.language)?);
        // The revision of the tokens must be incremented when the tokenizer or the titles of notes (`Node::titles`)
        // change, because they then give other terms.
        let fingerprint = Fingerprint::of(&format!("text index 4, tokens 4, {}", config.language));
        let content = SnapshottedIndex::closed(directory, fingerprint);
        Ok(TextIndex { content, tokenizer, parameters })
    }

    /// An independent copy of the current state. It exists only in memory.
    pub fn fork(&self) -> TextIndex {
        self.with_content(self.content.fork())
    }

    /// Creates an index with the same tokenizer and parameters but other content.
    fn with_content(&self, content: SnapshottedIndex<Postings>) -> TextIndex {
        TextIndex { content, tokenizer: self.tokenizer.clone(), parameters: self.parameters }
    }

    /// Checks that texts of a language can be indexed.
    ///
    /// # Errors
    /// `invalid_config` with the known languages.
    pub fn check_language(language: &str) -> Result<()> {
        Tokenizer::new(language).map(drop)
    }

    /// The best nodes that contain any term of the query in one field and that `keep` accepts, best first. Equal scores
    /// are ordered by id. Stop words (`what did she`), or function words of
    /// a query in another language, are ignored unless the query has no other words. `keep` is only
    /// called for nodes with a sufficient score.
    pub fn search(
        &self,
        query: &str,
        field: TextField,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<TextHit> {
        self.find(query, TextScope::Field(field), limit, keep)
    }

    /// Like [`TextIndex::search`], but over both fields as one document, in which a term of the title counts
    /// `title-weight` times.
    pub fn search_all(&self, query: &str, limit: usize) -> Vec<TextHit> {
        self.find(query, TextScope::Both, limit, &|_| true)
    }

    /// The terms that a text is indexed by, in order and with repetitions.
    pub fn tokens(&self, text: &str) -> Vec<String> {
        self.tokenizer.terms(text)
    }

    /// The distinct terms that a query searches for.
    pub fn query_tokens(&self, query: &str) -> Vec<String> {
        self.tokenizer.query(query)
    }

    /// The number of live notes with a term in their title or body.
    pub fn frequency(&self, term: &str) -> usize {
        self.content.read().frequency(term)
    }

    /// The word sketches of live notes, in the given order; `None` for notes that are not in the index.
    pub fn word_sketches(&self, ids: impl Iterator<Item = NodeId>) -> Vec<Option<WordSketch>> {
        let content = self.content.read();
        ids.map(|id| content.sketch(id)).collect()
    }

    /// The terms and names of a query, with access to their postings.
    pub fn query_terms(&self, query: &str) -> QueryTerms<'_> {
        QueryTerms::of(query, self.content.read(), &self.tokenizer)
    }

    /// The BM25 scores of all notes that contain a term of the query. Title and body are one document, in which
    /// a term of the title counts `title-weight` times.
    pub fn scores(&self, query: &str) -> TextScores<'_> {
        TextScores::of_all(self.query_terms(query), self.parameters)
    }

    /// The best hits of [`TextIndex::search`], in one field or in both.
    fn find(
        &self,
        query: &str,
        scope: TextScope,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<TextHit> {
        let terms = self.tokenizer.query(query);
        let hits = self.content.read().search(&terms, scope, limit, self.parameters, keep);
        hits.into_iter().map(|hit| TextHit { id: hit.id, score: hit.score }).collect()
    }
}

fn parameters(config: &poc_config::TextConfig) -> Result<Parameters> {
    let invalid = |field: &str, problem: String, hint: &str| {
        let (field, hint) = (format!("text.{field}"), hint.to_owned());
        Err(IndexError::InvalidSetting { field, problem, hint }.into())
    };
    if !(config.k1.is_finite() && config.k1 >= 0.0) {
        let problem = format!("k1 of BM25 cannot be {}", config.k1);
        return invalid("k1", problem, "a number from 0 up");
    }
    if !(0.0..=1.0).contains(&config.b) {
        let problem = format!("b of BM25 cannot be {}", config.b);
        return invalid("b", problem, "a number from 0 to 1");
    }
    if !(config.title_weight.is_finite() && config.title_weight >= 0.0) {
        let problem = format!("a term of a title cannot count {} times", config.title_weight);
        return invalid("title-weight", problem, "a number from 0 up");
    }
    Ok(Parameters { k1: config.k1, b: config.b, title: config.title_weight })
}

impl Index for TextIndex {
    const NAME: &'static str = "text";

    fn empty_in(&self, directory: &Path) -> TextIndex {
        self.with_content(self.content.empty_in(directory))
    }

    fn load(&self) -> bool {
        self.content.load(snapshot::decode)
    }

    fn claimed_seq(&self) -> Option<u64> {
        self.content.claimed_seq()
    }

    fn is_saved(&self) -> bool {
        self.content.is_saved()
    }

    fn bytes(&self) -> u64 {
        self.content.bytes(Postings::bytes)
    }

    fn release(&self) {
        self.content.release();
    }

    fn applied(&self) -> u64 {
        self.content.applied()
    }

    fn reset(&self) -> Result<()> {
        self.content.reset()
    }

    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()> {
        let mut cache = TermCache::default();
        let put = |postings: &mut Postings, id, (title, body, sketch): (Vec<_>, Vec<_>, _)| {
            postings.put(id, &title, &body, sketch);
        };
        self.content.apply(
            seq,
            deltas,
            |node| {
                // A title derived from the beginning of the body is not indexed, because its terms would count twice.
                // Other names, and a key that is written like a title, are searched like the title.
                let mut title = Vec::new();
                for text in node.titles() {
                    title.append(&mut self.tokenizer.cached_terms(text, &mut cache));
                }
                let body = self.tokenizer.cached_terms(&node.body, &mut cache);
                (title, body, WordSketch::of(&node.text()))
            },
            put,
            Postings::remove,
        );
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        self.content.checkpoint(snapshot::encode)
    }

    fn digests(&self) -> NoteDigests {
        self.content.read().digests()
    }

    fn damaged_files(&self) -> Vec<PathBuf> {
        self.content.damaged_file().into_iter().collect()
    }
}
