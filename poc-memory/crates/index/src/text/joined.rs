//! The BM25 scores of several notes read as one text.

use super::postings::{Parameters, Postings, Term, TextScope, weighted};
use poc_graph::NodeId;
use poc_rank::bm25;
use rustc_hash::FxHashMap;

/// Scores groups of notes for a query as if each group were one text. The statistics are those of the index: a group of
/// `n` notes is compared with `n` notes of average length.
pub struct JoinedScores<'a> {
    postings: &'a Postings,
    parameters: Parameters,
    // The terms of the query that occur in the index, with their inverse document frequencies.
    terms: Vec<(f64, &'a Term)>,
    average_length: f64,
    // The frequencies of each note are cached, because a note may be in several groups.
    notes: FxHashMap<NodeId, TermFrequencies>,
}

/// The frequencies of the query's terms in a note, in the order of the terms, and the length of the note in terms.
struct TermFrequencies {
    counts: Vec<f64>,
    length: f64,
}

impl<'a> JoinedScores<'a> {
    pub(super) fn of_terms(
        terms: &[String],
        postings: &'a Postings,
        parameters: Parameters,
    ) -> JoinedScores<'a> {
        let (documents, average_length) = postings.size(TextScope::Both, parameters.title);
        let known = terms.iter().filter_map(|name| postings.term(name));
        let terms = known.map(|term| (bm25::idf(documents, term.postings.len()), term)).collect();
        JoinedScores { postings, parameters, terms, average_length, notes: FxHashMap::default() }
    }

    /// The score of a group. Notes that are not in the index count as empty texts.
    pub fn of(&mut self, group: &[NodeId]) -> f64 {
        for id in group {
            if !self.notes.contains_key(id) {
                self.notes.insert(*id, self.frequencies(*id));
            }
        }
        let notes: Vec<&TermFrequencies> = group.iter().filter_map(|id| self.notes.get(id)).collect();
        let length: f64 = notes.iter().map(|note| note.length).sum();
        let average = self.average_length * group.len() as f64;
        let scores = self.terms.iter().enumerate().map(|(at, (idf, _))| {
            let count: f64 = notes.iter().filter_map(|note| note.counts.get(at)).sum();
            idf * bm25::saturation(count, length, average, self.parameters.k1, self.parameters.b)
        });
        scores.sum()
    }

    fn frequencies(&self, id: NodeId) -> TermFrequencies {
        let Some((document, lengths)) = self.postings.slot_and_lengths(id) else {
            return TermFrequencies { counts: Vec::new(), length: 0.0 };
        };
        let mut note = TermFrequencies { counts: vec![0.0; self.terms.len()], length: 0.0 };
        for (count, (_, term)) in note.counts.iter_mut().zip(&self.terms) {
            if let Some(posting) = term.posting(document) {
                (*count, _) = weighted(posting, lengths, TextScope::Both, self.parameters.title);
            }
        }
        note.length = lengths.weighted(self.parameters.title);
        note
    }
}

#[cfg(test)]
mod tests {
    use crate::per_tenant::Index;
    use crate::text::TextIndex;
    use poc_graph::{Delta, Node, NodeId, testing};
    use poc_rank::bm25;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Arc;

    const WORDS: [&str; 5] = ["harbour", "quay", "lemon", "soup", "lighthouse"];

    fn text() -> impl Strategy<Value = Vec<&'static str>> {
        proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..12)
    }

    poc_laws::laws! {
        /// A single note scores as in the index. Several notes score as BM25 of their concatenated texts, compared with
        /// as many notes of average length.
        #[test]
        fn joined_notes_score_as_one_text(bodies in proptest::collection::vec(text(), 1..12), from in any::<prop::sample::Index>(), count in 1usize..5) {
            let config = poc_config::Config::defaults().unwrap().text;
            let index = TextIndex::open(Path::new("/nonexistent"), &config).unwrap();
            let note = |(number, body): (u64, &Vec<&str>)| Node { title: String::new(), body: body.join(" "), ..testing::node(number) };
            let notes: Vec<Node> = (0..).zip(&bodies).map(note).collect();
            index.apply(1, &notes.iter().map(|note| Delta::Node(Arc::new(note.clone()))).collect::<Vec<_>>()).unwrap();
            let query = ["quay", "soup", "missing"];
            let scores = index.scores(&query.join(" "));
            let mut joined = scores.joined();
            for note in &notes {
                prop_assert!((joined.of(&[note.id]) - scores.of(note.id)).abs() < 1e-9);
            }
            let from = from.index(notes.len());
            let group = from..(from + count).min(notes.len());
            let ids: Vec<NodeId> = notes[group.clone()].iter().map(|note| note.id).collect();
            let together = bodies[group].concat();
            let average = bodies.iter().map(|body| body.len() as f64).sum::<f64>() / bodies.len() as f64;
            let expected: f64 = query.iter().map(|term| {
                let containing = bodies.iter().filter(|body| body.contains(term)).count();
                let count = together.iter().filter(|word| *word == term).count() as f64;
                let factor = bm25::saturation(count, together.len() as f64, average * ids.len() as f64, config.k1, config.b);
                if containing == 0 { 0.0 } else { bm25::idf(bodies.len(), containing) * factor }
            }).sum();
            prop_assert!((joined.of(&ids) - expected).abs() < 1e-9);
        }
    }
}
