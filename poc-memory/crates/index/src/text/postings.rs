//! The inverted index: which texts contain a term, and how often.

use super::hit::TextField;
use crate::packed_list::{PackedItem, PackedList, push_number, read_number};
use poc_graph::{NodeId, cancellation};
use poc_rank::bm25;
use poc_rank::lookalike::WordSketch;
use poc_rank::top_k::{Ranked, TopK};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The fields that a search covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextScope {
    /// One field.
    Field(TextField),
    /// Title and body as one document, in which a term of the title counts several times (the weighted fields
    /// of Robertson, Zaragoza and Taylor 2004).
    Both,
}

/// The parameters of BM25.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) k1: f64,
    pub(super) b: f64,
    /// The weight of a term in the title if title and body are one document.
    pub(super) title: f64,
}

/// The BM25 scores of all documents that contain any of the terms.
#[derive(Debug)]
pub(super) struct Scores {
    // By the document's slot; 0 for documents without any of the terms.
    by_document: Vec<f64>,
    // The slots of the documents with a score.
    touched: Vec<u32>,
}

impl Scores {
    /// All scores above 0 with the slots of their documents, in no particular order.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, f64)> {
        self.touched.iter().filter_map(|&slot| Some((slot, *self.by_document.get(slot as usize)?)))
    }
}

/// The occurrences of a term in one document: in its title and in its body, at most 65,535 each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Posting {
    /// The slot of the document.
    pub(super) document: u32,
    pub(super) title: u16,
    pub(super) body: u16,
}

/// The low two bits of the first number of a packed posting say whether the counts follow. Most terms occur once, in
/// the body.
const ONCE_IN_BODY: u64 = 0;
const ONLY_BODY_FOLLOWS: u64 = 1;
const BOTH_FOLLOW: u64 = 2;

impl PackedItem for Posting {
    fn pack(self, before: Posting, bytes: &mut Vec<u8>) {
        let counts = match self {
            Posting { title: 0, body: 1, .. } => ONCE_IN_BODY,
            Posting { title: 0, .. } => ONLY_BODY_FOLLOWS,
            _ => BOTH_FOLLOW,
        };
        push_number(bytes, u64::from(self.document.wrapping_sub(before.document)) << 2 | counts);
        if counts == BOTH_FOLLOW {
            push_number(bytes, self.title.into());
        }
        if counts != ONCE_IN_BODY {
            push_number(bytes, self.body.into());
        }
    }

    #[inline]
    fn unpack(before: Posting, bytes: &mut &[u8]) -> Option<Posting> {
        let first = read_number(bytes)?;
        let document = before.document.wrapping_add((first >> 2) as u32);
        let (title, body) = match first & 3 {
            ONCE_IN_BODY => (0, 1),
            ONLY_BODY_FOLLOWS => (0, read_number(bytes)? as u16),
            _ => (read_number(bytes)? as u16, read_number(bytes)? as u16),
        };
        Some(Posting { document, title, body })
    }
}

/// A term with its postings, ordered by document.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) name: Arc<str>,
    pub(super) postings: PackedList<Posting>,
    // The number of postings with the term in that field.
    pub(super) titles: usize,
    pub(super) bodies: usize,
}

/// The lengths of a node's fields in terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) title: u32,
    pub(super) body: u32,
}

#[derive(Clone, Debug)]
struct Document {
    id: NodeId,
    lengths: Lengths,
    sketch: WordSketch,
}

/// Sums over all documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    // The number of documents with a non-empty field, and the sum of its lengths.
    titles: usize,
    title_length: u64,
    bodies: usize,
    body_length: u64,
}

/// The inverted index. The slots of removed documents and terms are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Postings {
    // The slot of each term.
    by_name: FxHashMap<Arc<str>, u32>,
    terms: Vec<Option<Term>>,
    free_terms: Vec<u32>,
    documents: Vec<Option<Document>>,
    // The slots of the terms of each document. They are only collected when a document is removed for the first time,
    // because they take as much memory as the packed postings and many processes remove nothing.
    document_terms: Option<Vec<Vec<u32>>>,
    free_documents: Vec<u32>,
    // The slot of each node's document.
    by_id: FxHashMap<NodeId, u32>,
    totals: Totals,
}

impl Postings {
    /// Adds a node, or replaces its terms.
    pub(super) fn put(&mut self, id: NodeId, title: &[Arc<str>], body: &[Arc<str>], sketch: WordSketch) {
        let mut counts: FxHashMap<&str, (u16, u16)> = FxHashMap::default();
        for term in title {
            let count = counts.entry(term).or_default();
            count.0 = count.0.saturating_add(1);
        }
        for term in body {
            let count = counts.entry(term).or_default();
            count.1 = count.1.saturating_add(1);
        }
        self.remove(id);
        let lengths = Lengths { title: title.len() as u32, body: body.len() as u32 };
        let document = self.add_document(id, lengths, sketch);
        for (name, (title, body)) in counts {
            self.add_posting(name, Posting { document, title, body });
        }
    }

    /// Removes a node if it is in the index.
    pub(super) fn remove(&mut self, id: NodeId) {
        let Some(slot) = self.by_id.remove(&id) else { return };
        let Some(document) = self.documents.get_mut(slot as usize).and_then(Option::take) else { return };
        self.free_documents.push(slot);
        self.totals.subtract(document.lengths);
        for term_slot in self.take_document_terms(slot) {
            let Some(entry) = self.terms.get_mut(term_slot as usize) else { continue };
            let Some(term) = entry else { continue };
            let found = term.postings.items().binary_search_by_key(&slot, |posting| posting.document);
            if let Ok(at) = found {
                let posting = term.postings.change(|postings| postings.remove(at));
                term.titles = term.titles.saturating_sub(usize::from(posting.title > 0));
                term.bodies = term.bodies.saturating_sub(usize::from(posting.body > 0));
            }
            if term.postings.len() == 0 {
                self.by_name.remove(&term.name);
                *entry = None;
                self.free_terms.push(term_slot);
            }
        }
    }

    /// The best documents that contain any of the terms and that `keep` accepts, best first. Equal scores are ordered
    /// by id.
    pub(super) fn search(
        &self,
        terms: &[String],
        scope: TextScope,
        limit: usize,
        parameters: Parameters,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<Ranked<()>> {
        self.best(&self.scores(terms, scope, parameters), limit, keep)
    }

    /// The best of the scored documents that `keep` accepts, best first. Equal scores are ordered by id.
    pub(super) fn best(
        &self,
        scores: &Scores,
        limit: usize,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Vec<Ranked<()>> {
        let mut top: TopK<Ranked<()>> = TopK::new(limit);
        for (slot, score) in scores.each() {
            // This comparison rejects most documents cheaply.
            if top.floor().is_some_and(|floor| score < floor.score) {
                continue;
            }
            let Some(Document { id, .. }) = self.document(slot) else { continue };
            let found = Ranked { score, id: *id, payload: () };
            // The filter is called last because it may cost more than the comparison.
            if top.may_accept(&found) && keep(*id) {
                top.offer(found);
            }
        }
        top.into_sorted()
    }

    /// The BM25 scores of all documents.
    pub(super) fn scores(&self, terms: &[String], scope: TextScope, parameters: Parameters) -> Scores {
        let (documents, average) = self.size(scope, parameters.title);
        let mut by_document = vec![0.0f64; self.documents.len()];
        let mut touched = Vec::new();
        for term in terms.iter().filter_map(|name| self.term(name)) {
            if cancellation::is_requested() {
                break;
            }
            let containing = match scope {
                TextScope::Field(TextField::Title) => term.titles,
                TextScope::Field(TextField::Body) => term.bodies,
                TextScope::Both => term.postings.len(),
            };
            let idf = bm25::idf(documents, containing);
            for posting in term.postings.items() {
                let Some(document) = self.document(posting.document) else { continue };
                let (tf, length) = weighted(posting, document.lengths, scope, parameters.title);
                let Some(score) = by_document.get_mut(posting.document as usize) else { continue };
                if tf > 0.0 {
                    if *score == 0.0 {
                        touched.push(posting.document);
                    }
                    *score += idf * bm25::saturation(tf, length, average, parameters.k1, parameters.b);
                }
            }
        }
        Scores { by_document, touched }
    }

    /// The approximate size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        /// The size of a term with its name and its entries in the tables, in bytes.
        const TERM_BYTES: usize = 160;
        /// The size of a posting and of its entry in the document, in bytes.
        const OCCURRENCE_BYTES: usize = size_of::<Posting>() + 4;
        let Totals { title_length, body_length, .. } = self.totals;
        let document = size_of::<Option<Document>>() + size_of::<(NodeId, u32)>();
        self.terms.len() * TERM_BYTES
            + (title_length + body_length) as usize * OCCURRENCE_BYTES
            + self.documents.len() * document
    }

    /// The number of documents with a non-empty text in this scope, and the average length of these texts.
    pub(super) fn size(&self, scope: TextScope, title_weight: f64) -> (usize, f64) {
        self.totals.of(scope, self.by_id.len(), title_weight)
    }

    /// The slot of a node's document and the lengths of its fields.
    pub(super) fn slot_and_lengths(&self, id: NodeId) -> Option<(u32, Lengths)> {
        let slot = *self.by_id.get(&id)?;
        Some((slot, self.document(slot)?.lengths))
    }

    /// The nodes whose score `is_wanted` accepts, in no particular order.
    pub(super) fn scored(
        &self,
        scores: &Scores,
        is_wanted: impl Fn(f64) -> bool,
    ) -> impl Iterator<Item = (NodeId, f64)> {
        let wanted = scores.each().filter(move |(_, score)| is_wanted(*score));
        wanted.filter_map(|(slot, score)| Some((self.document(slot)?.id, score)))
    }

    /// The score of a node; 0 if the node contains none of the terms.
    pub(super) fn score(&self, scores: &Scores, id: NodeId) -> f64 {
        let slot = self.by_id.get(&id);
        slot.and_then(|&slot| scores.by_document.get(slot as usize)).copied().unwrap_or(0.0)
    }

    /// The nodes that contain a term.
    pub(super) fn nodes_with_term(&self, name: &str) -> impl Iterator<Item = NodeId> {
        let postings = self.term(name).map_or(&[][..], |term| term.postings.items());
        postings.iter().filter_map(|posting| Some(self.document(posting.document)?.id))
    }

    /// Whether a node contains a term.
    pub(super) fn contains(&self, id: NodeId, name: &str) -> bool {
        let found = self.by_id.get(&id).zip(self.term(name));
        found.is_some_and(|(&slot, term)| term.posting(slot).is_some())
    }

    /// The number of documents that contain a term.
    pub(super) fn frequency(&self, name: &str) -> usize {
        self.term(name).map_or(0, |term| term.postings.len())
    }

    /// The number of nodes in the index.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All nodes with their slots, lengths and sketches.
    pub(super) fn documents(&self) -> impl Iterator<Item = (u32, NodeId, Lengths, WordSketch)> {
        let entries = (0u32..).zip(&self.documents);
        entries.filter_map(|(slot, entry)| {
            entry.as_ref().map(|document| (slot, document.id, document.lengths, document.sketch))
        })
    }

    /// The word sketch of a node; `None` if the node is not in the index.
    pub(super) fn sketch(&self, id: NodeId) -> Option<WordSketch> {
        Some(self.document(*self.by_id.get(&id)?)?.sketch)
    }

    /// All terms with their postings.
    pub(super) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().flatten()
    }

    /// Adds a new node without any terms. Returns its slot.
    pub(super) fn add_document(&mut self, id: NodeId, lengths: Lengths, sketch: WordSketch) -> u32 {
        let document = Some(Document { id, lengths, sketch });
        let slot = self.free_documents.pop().unwrap_or(self.documents.len() as u32);
        match self.documents.get_mut(slot as usize) {
            Some(entry) => *entry = document,
            None => self.documents.push(document),
        }
        if let Some(terms) = &mut self.document_terms {
            terms.resize(self.documents.len(), Vec::new());
        }
        self.by_id.insert(id, slot);
        self.totals.add(lengths);
        slot
    }

    /// Adds a posting of an existing document that does not contain the term yet.
    fn add_posting(&mut self, name: &str, posting: Posting) {
        let slot = self.term_slot(name);
        let Some(Some(term)) = self.terms.get_mut(slot as usize) else { return };
        let postings = term.postings.items();
        // New documents usually have the highest slot.
        let at = match postings.last() {
            Some(last) if last.document >= posting.document => {
                match postings.binary_search_by_key(&posting.document, |other| other.document) {
                    Ok(_) => return,
                    Err(at) => at,
                }
            }
            _ => postings.len(),
        };
        term.postings.change(|postings| postings.insert(at, posting));
        term.titles += usize::from(posting.title > 0);
        term.bodies += usize::from(posting.body > 0);
        if let Some(terms) = &mut self.document_terms {
            add_term_to(terms, posting.document, slot);
        }
    }

    /// Adds a new term with its postings, which belong to existing documents and are in ascending order. `None` if the
    /// term exists or has no postings.
    pub(super) fn add_term(&mut self, term: Term) -> Option<()> {
        if term.postings.len() == 0 || self.by_name.contains_key(&term.name) {
            return None;
        }
        self.by_name.insert(term.name.clone(), self.terms.len() as u32);
        self.terms.push(Some(term));
        Some(())
    }

    /// Makes room for terms.
    pub(super) fn reserve(&mut self, documents: usize, terms: usize) {
        self.documents.reserve(documents);
        self.by_id.reserve(documents);
        self.terms.reserve(terms);
        self.by_name.reserve(terms);
    }

    /// The slots of the terms of a document that is being removed.
    fn take_document_terms(&mut self, document: u32) -> Vec<u32> {
        let terms = &self.terms;
        let documents = self.documents.len();
        let document_terms = self.document_terms.get_or_insert_with(|| {
            let mut all = vec![Vec::new(); documents];
            for (slot, term) in (0u32..).zip(terms) {
                let postings = term.iter().flat_map(|term| term.postings.each());
                postings.for_each(|posting| add_term_to(&mut all, posting.document, slot));
            }
            all
        });
        document_terms.get_mut(document as usize).map(std::mem::take).unwrap_or_default()
    }

    /// The slot of a term, which is added if it is new.
    fn term_slot(&mut self, name: &str) -> u32 {
        if let Some(&slot) = self.by_name.get(name) {
            return slot;
        }
        let name: Arc<str> = name.into();
        let term = Some(Term { name: name.clone(), postings: PackedList::default(), titles: 0, bodies: 0 });
        let slot = self.free_terms.pop().unwrap_or(self.terms.len() as u32);
        match self.terms.get_mut(slot as usize) {
            Some(entry) => *entry = term,
            None => self.terms.push(term),
        }
        self.by_name.insert(name, slot);
        slot
    }

    pub(super) fn term(&self, name: &str) -> Option<&Term> {
        self.terms.get(*self.by_name.get(name)? as usize)?.as_ref()
    }

    fn document(&self, slot: u32) -> Option<&Document> {
        self.documents.get(slot as usize)?.as_ref()
    }
}

/// Records that a document contains a term, both given by their slots.
fn add_term_to(document_terms: &mut [Vec<u32>], document: u32, term: u32) {
    if let Some(terms) = document_terms.get_mut(document as usize) {
        terms.push(term);
    }
}

/// The term frequency and the document length within a scope.
pub(super) fn weighted(
    posting: &Posting,
    lengths: Lengths,
    scope: TextScope,
    title_weight: f64,
) -> (f64, f64) {
    let (title, body) = (f64::from(posting.title), f64::from(posting.body));
    match scope {
        TextScope::Field(TextField::Title) => (title, f64::from(lengths.title)),
        TextScope::Field(TextField::Body) => (body, f64::from(lengths.body)),
        TextScope::Both => (title_weight * title + body, lengths.weighted(title_weight)),
    }
}

impl Lengths {
    /// The length of title and body as one document.
    pub(super) fn weighted(self, title_weight: f64) -> f64 {
        title_weight * f64::from(self.title) + f64::from(self.body)
    }
}

impl Term {
    /// The posting of a document, given by its slot.
    pub(super) fn posting(&self, document: u32) -> Option<&Posting> {
        let postings = self.postings.items();
        postings.get(postings.binary_search_by_key(&document, |posting| posting.document).ok()?)
    }
}

impl Totals {
    fn add(&mut self, lengths: Lengths) {
        self.titles += usize::from(lengths.title > 0);
        self.title_length += u64::from(lengths.title);
        self.bodies += usize::from(lengths.body > 0);
        self.body_length += u64::from(lengths.body);
    }

    fn subtract(&mut self, lengths: Lengths) {
        self.titles -= usize::from(lengths.title > 0);
        self.title_length -= u64::from(lengths.title);
        self.bodies -= usize::from(lengths.body > 0);
        self.body_length -= u64::from(lengths.body);
    }

    /// The number of documents in a scope and their average length.
    fn of(&self, scope: TextScope, documents: usize, title_weight: f64) -> (usize, f64) {
        let (count, length) = match scope {
            TextScope::Field(TextField::Title) => (self.titles, self.title_length as f64),
            TextScope::Field(TextField::Body) => (self.bodies, self.body_length as f64),
            TextScope::Both => (documents, title_weight * self.title_length as f64 + self.body_length as f64),
        };
        (count, length / count.max(1) as f64)
    }
}
