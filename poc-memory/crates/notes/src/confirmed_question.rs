//! Questions that a note was confirmed to answer.
//!
//! A confirmed question is a note of the type [`NodeType::QUESTION`] that is derived from the notes that
//! answered it. Search compares later questions with it and passes a share of its score to these notes, but
//! never returns it as a hit. It is deleted or expires together with its last note, like a note that an agent
//! derived.

#[cfg(test)]
mod tests;

use super::draft::Draft;
use super::insert_plan::{self, PlannedNote};
use super::secrets::{self, SecretCounts};
use super::{Memory, derivation, key};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Edge, EdgeKind, Ix, Node, NodeId, NodeType, View, Visibility, one_line};
use poc_rank::reciprocal_rank::reciprocal_rank;
use poc_store::Transaction;

/// Number of hits of a question that are considered.
const DEPTH: usize = 10;

/// Maximum length of a question in bytes.
pub const MAX_BYTES: usize = 2_000;

/// A question that is checked and embedded, but not stored yet.
#[derive(Clone, Debug)]
pub struct PreparedQuestion {
    planned: PlannedNote,
    vectors: Vec<Vec<f32>>,
    embedder: String,
    max: usize,
}

/// Checks and embeds a question. Call it outside of any transaction. `draft` says who asks; its title is the
/// question.
///
/// # Errors
/// `invalid_argument` if the question is empty or longer than [`MAX_BYTES`], and the errors of the embedder.
pub fn prepare(memory: &Memory, draft: Draft) -> Result<PreparedQuestion> {
    let now = memory.now();
    let mut draft = draft.checked(&memory.config, now)?;
    let length = draft.title.as_deref().map_or(0, str::len);
    if length == 0 {
        return Err(Error::invalid("the question is empty").hint("give the question that the note answered"));
    }
    if length > MAX_BYTES {
        return Err(Error::invalid(format!("a question of {length} bytes is too long"))
            .hint(format!("at most {MAX_BYTES} bytes are allowed")));
    }
    draft.node_type = Some(NodeType::QUESTION.into());
    let mut planned = insert_plan::plan(memory, &draft, now)?;
    planned.node.key = planned.node.question_key();
    let vectors = insert_plan::embed(memory, &[&planned.node])?.pop().unwrap_or_default();
    let embedder = memory.embedder.name().to_owned();
    Ok(PreparedQuestion { planned, vectors, embedder, max: memory.config.reinforce.questions })
}

/// Stores a question as one that a note answered. A question that is stored already leads to this note as well.
/// If the note has more questions than `reinforce.questions` allows, the one confirmed longest ago is removed.
/// Returns the question, or `None` if nothing was stored, because none is allowed or another note is the text of
/// the question.
///
/// # Errors
/// Those of the store.
pub fn apply(
    tx: &mut Transaction<'_>,
    prepared: &PreparedQuestion,
    answer: NodeId,
    now: Timestamp,
) -> Result<Option<NodeId>> {
    if prepared.max == 0 {
        return Ok(None);
    }
    let new = &prepared.planned.node;
    let id = match tx.find_hash(&new.content_hash)? {
        Some(id) if is_confirmed(tx, id)? => id,
        Some(_) => return Ok(None),
        None => {
            let key = key::unique(&new.key, |key| Ok(tx.find_key(key)?.is_some()))?;
            tx.put_node(&Node { key, ..new.clone() })?;
            tx.put_activity(new.id, &Activity::initial(now))?;
            tx.put_vectors(new.id, &prepared.embedder, &prepared.vectors)?;
            new.id
        }
    };
    match tx.edge(id, EdgeKind::DerivedFrom, answer)? {
        Some(edge) => tx.put_edge(&Edge { touched: now, ..edge })?,
        None => derivation::add_sources(tx, id, &[answer], &new.provenance, "", now)?,
    }
    remove_oldest(tx, answer, prepared.max)?;
    Ok(Some(id))
}

/// Withdraws a question, given by its text, key or id, from a note that answered it. The question is deleted
/// when it has no note left.
///
/// # Errors
/// `not_found` if the note answered no such question, and those of the store.
pub fn withdraw(tx: &mut Transaction<'_>, question: &str, answer: NodeId) -> Result<()> {
    // A question that a model gave was stored with placeholders in place of secrets.
    let scrubbed = secrets::scrub(question, &mut SecretCounts::default());
    let titles = [one_line(question), one_line(&scrubbed)];
    let is_relevant =
        |node: &Node| titles.contains(&node.title) || node.key == question || node.id.to_string() == question;
    for edge in tx.edges(answer)? {
        let leads_here = edge.kind == EdgeKind::DerivedFrom && edge.dst == answer;
        if leads_here && is_confirmed(tx, edge.src)? && tx.node(edge.src)?.as_ref().is_some_and(is_relevant) {
            return remove(tx, edge.src, answer);
        }
    }
    Err(Error::not_found("the note is not known to answer this question")
        .hint("`poc-memory get NOTE` lists the questions that it answered as `derived-from`"))
}

/// A question with the notes that answered it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmedQuestion {
    /// The note of the question. A search for the same question must leave it out, because it would lead to
    /// the answers.
    pub id: NodeId,
    /// The question.
    pub text: String,
    /// The notes that answered it, as far as a search can find them: the sources of a derived note in its place.
    pub answers: Vec<NodeId>,
}

/// The confirmed questions that still have a note, the newest first, at most `max`.
///
/// # Errors
/// Those of the store.
pub fn all(memory: &Memory, max: usize) -> Result<Vec<ConfirmedQuestion>> {
    let view = memory.store.view();
    let mut questions: Vec<(Timestamp, NodeId, Ix)> = (0..view.slots())
        .filter(|&ix| view.is_live(ix) && view.is_confirmed_question(ix))
        .filter(|&ix| view.sources(ix).next().is_some())
        .filter_map(|ix| Some((view.created(ix), view.id(ix)?, ix)))
        .collect();
    questions.sort_unstable_by(|a, b| b.cmp(a));
    questions.truncate(max);
    let mut all = Vec::with_capacity(questions.len());
    for (_, id, ix) in questions {
        // Deleted since the view was taken.
        let Some(node) = memory.store.node(id)? else { continue };
        let answers = view.sources(ix).filter_map(|answer| view.id(answer));
        let answers = answers.flat_map(|answer| representatives(&view, answer)).collect();
        all.push(ConfirmedQuestion { id, text: node.title, answers });
    }
    Ok(all)
}

/// The notes that represent a note among the hits of a search: the live notes that a derived note goes back to,
/// otherwise the note itself.
pub(crate) fn representatives(view: &View, id: NodeId) -> Vec<NodeId> {
    let sources: Vec<NodeId> = view
        .find(id)
        .into_iter()
        .flat_map(|ix| view.representatives(ix, &|source| view.is_live(source)))
        .filter_map(|source| view.id(source))
        .collect();
    if sources.is_empty() { vec![id] } else { sources }
}

/// For each confirmed question, the reciprocal rank of the first of the ten best hits that answered it; 0 if there is
/// none. The question itself is left out of its search. At most `max` questions, the newest first.
///
/// # Errors
/// Those of the indexes and the store.
pub fn reciprocal_ranks(memory: &Memory, max: usize) -> Result<Vec<(NodeId, f64)>> {
    let view = memory.store.view();
    let visibility = Visibility::of_person(memory.now());
    let mut ranks = Vec::new();
    for ConfirmedQuestion { id, text, answers } in all(memory, max)? {
        let Some((_, vector)) = memory.vectors.of(id).into_iter().next() else { continue };
        let except = [id];
        let retriever = memory.retriever(&view).without(&except);
        let found = retriever.find_near(&text, &vector, DEPTH, visibility)?;
        let gains: Vec<f64> =
            found.hits.iter().map(|hit| f64::from(u8::from(answers.contains(&hit.id)))).collect();
        ranks.push((id, reciprocal_rank(&gains, DEPTH)));
    }
    Ok(ranks)
}

/// Removes the questions of a note that were confirmed longest ago until it has `max`.
pub(super) fn remove_oldest(tx: &mut Transaction<'_>, answer: NodeId, max: usize) -> Result<()> {
    let mut confirmed = Vec::new();
    for edge in tx.edges(answer)? {
        let leads_here = edge.kind == EdgeKind::DerivedFrom && edge.dst == answer;
        if leads_here && is_confirmed(tx, edge.src)? {
            confirmed.push((edge.touched, edge.src));
        }
    }
    confirmed.sort_unstable();
    for &(_, question) in confirmed.iter().take(confirmed.len().saturating_sub(max)) {
        remove(tx, question, answer)?;
    }
    Ok(())
}

/// Removes a question from a note that answered it, and deletes it if that was the last one.
fn remove(tx: &mut Transaction<'_>, question: NodeId, answer: NodeId) -> Result<()> {
    if derivation::has_other_source(tx, question, answer)? {
        tx.delete_edge(question, EdgeKind::DerivedFrom, answer).map(drop)
    } else {
        tx.delete_node(question).map(drop)
    }
}

/// Whether a node is a question that was confirmed for another note, which damage may have lost.
fn is_confirmed(tx: &Transaction<'_>, id: NodeId) -> Result<bool> {
    let Some(node) = tx.node(id)?.filter(|node| node.node_type.0 == NodeType::QUESTION) else {
        return Ok(false);
    };
    let is_derived = |edge: &Edge| edge.kind == EdgeKind::DerivedFrom && edge.src == id;
    Ok(Node::is_question_key(&node.key) || tx.edges(node.id)?.iter().any(is_derived))
}
