//! Finds notes on a typed prompt.

use super::scope::{Membership, ProjectNotes};
use super::{ContextNote, SessionFilter};
use crate::query_gate::{self, Exclusions, GateQuery, GateResult};
use crate::{Memory, passages};
use poc_config::HookGate;
use poc_graph::error::Result;
use poc_graph::{Node, NodeId, NodeType, Visibility};
use poc_index::{MentionIndex, VectorHit};
use poc_rank::gate::Verdict;
use poc_search::retrieve::RetrievalHit;

/// Minimum score of a further hit, as a share of the score of the first hit.
const MIN_SCORE_SHARE: f64 = 0.5;

/// Maximum number of characters of a prompt that are searched for. Longer prompts contain pasted text; their
/// beginning and end state the request.
const MAX_PROMPT_CHARS: usize = 2000;

/// The notes on a prompt.
#[derive(Clone, Debug)]
pub struct PromptContext {
    /// The verdict of the gate of `query`.
    pub verdict: Verdict,
    /// The notes, those of the project first; empty if the verdict is below the gate of the settings.
    pub notes: Vec<ContextNote>,
    /// Whether notes passed the gate, but `is_known` is true for what would be shown of each.
    pub all_known: bool,
    /// Whether the prompt repeats an earlier instruction whose turn passed the gate.
    pub is_repeated: bool,
}

/// Finds notes on a prompt with the gate of `query` and the settings `[hooks]`. Leaves out notes for which
/// `is_known` returns true: the session already has what would be shown of them.
///
/// # Errors
/// As for [`query_gate::find`].
pub fn prompt_context(
    memory: &Memory,
    session: SessionFilter<'_>,
    prompt: &str,
    is_known: &dyn Fn(&ContextNote) -> bool,
) -> Result<PromptContext> {
    let config = &memory.config.hooks;
    let view = memory.store.view();
    let projects = ProjectNotes::of(&view, session, config.scope);
    let admitted = projects.admitted();
    let (text, gate) = (searched_part(prompt), memory.config.query.gate);
    let vector = memory.embedder.embed_question(&text)?;
    let query = GateQuery {
        view: &view,
        text: &text,
        vector: &vector,
        visibility: Visibility::of_model(memory.now()),
        exclusions: Exclusions::outside(&admitted),
    };
    let GateResult { verdict, best, found, .. } = query_gate::judge(memory, &query, gate)?;
    let min = match config.gate {
        HookGate::Strong => Verdict::Strong,
        HookGate::Weak => Verdict::Weak,
    };
    let mut context = PromptContext { verdict, notes: Vec::new(), all_known: false, is_repeated: false };
    let passes = |best: &Node| verdict >= min || is_named(memory, &text, best);
    let Some(best) = best.filter(passes) else { return Ok(context) };
    let is_own = |id: NodeId| view.find(id).is_some_and(|ix| projects.membership(ix) == Membership::Own);
    let own = if is_own(best.id) { None } else { best_of_project(memory, &projects, &query)? };
    if own.iter().map(|(note, _)| note).chain([&best]).any(|note| repeats_instruction(note, prompt)) {
        context.is_repeated = true;
        return Ok(context);
    }
    let first = found.first().map_or(0.0, |hit| hit.score);
    let mut chosen: Vec<(NodeId, Option<VectorHit>)> =
        own.into_iter().map(|(note, near)| (note.id, near)).collect();
    chosen.push((best.id, nearest_passage(&found, best.id)));
    for hit in &found {
        if hit.score >= MIN_SCORE_SHARE * first && chosen.iter().all(|(id, _)| *id != hit.id) {
            chosen.push((hit.id, hit.near));
        }
    }
    chosen.sort_by_key(|(id, _)| !is_own(*id));
    for (id, near) in chosen {
        if context.notes.len() >= config.notes {
            break;
        }
        // The note may have been deleted after the view was taken.
        let Some(node) = memory.store.node(id)? else { continue };
        let note = text_or_passage(memory, node, near.map(|near| near.passage), config.note_chars);
        if is_known(&note) {
            context.all_known = true;
        } else {
            context.notes.push(note);
        }
    }
    context.all_known &= context.notes.is_empty();
    Ok(context)
}

/// The best note of the project of the session, and its passage that is nearest to the prompt, unless the gate calls it
/// a miss. Long notes of no project often contain more words of a prompt than the note of the project that it means, so
/// that one need not be among the best hits of all notes. No cross-encoder is asked: it takes most of the time of a gate,
/// and a hook has two seconds.
fn best_of_project(
    memory: &Memory,
    projects: &ProjectNotes<'_>,
    query: &GateQuery<'_>,
) -> Result<Option<(Node, Option<VectorHit>)>> {
    let Some(own) = projects.own_admitted() else { return Ok(None) };
    let query = GateQuery { exclusions: Exclusions::outside(&own), ..*query };
    let memory = Memory { reranker: None, ..memory.clone() };
    let GateResult { verdict, best, found, .. } =
        query_gate::judge(&memory, &query, memory.config.query.gate)?;
    let best = best.filter(|_| verdict > Verdict::Miss);
    Ok(best.map(|best| {
        let near = nearest_passage(&found, best.id);
        (best, near)
    }))
}

/// The passage of a hit that is nearest to the prompt.
fn nearest_passage(found: &[RetrievalHit], id: NodeId) -> Option<VectorHit> {
    found.iter().find(|hit| hit.id == id).and_then(|hit| hit.near)
}

/// Whether a prompt names an identifier with a number, such as `INC-4021`, and a note has it and all other
/// numbers of the prompt. Other words of the prompt lower the certainty of the gate, so such a note is
/// accepted anyway.
fn is_named(memory: &Memory, prompt: &str, note: &Node) -> bool {
    let known = MentionIndex::folded_words(&note.text());
    let mut numbers = MentionIndex::names_and_numbers(prompt)
        .into_iter()
        .filter(|word| word.chars().any(|c| c.is_ascii_digit()))
        .peekable();
    numbers.peek().is_some()
        && numbers.all(|number| known.contains(&number))
        && memory.text.query_terms(prompt).nodes_with_names().any(|id| id == note.id)
}

/// Whether a note is an earlier turn with the same prompt, and the prompt is not a question. A person who
/// repeats an instruction wants it carried out again and does not need the earlier result.
fn repeats_instruction(note: &Node, prompt: &str) -> bool {
    const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];
    note.node_type.0 == NodeType::EPISODIC
        && !prompt.contains(QUESTION_MARKS)
        && note.title.trim().to_lowercase() == prompt.trim().to_lowercase()
}

/// The part of a prompt that is searched for: all of it, or the beginning and the end of a long prompt.
fn searched_part(prompt: &str) -> String {
    let count = prompt.chars().count();
    if count <= MAX_PROMPT_CHARS {
        return prompt.to_owned();
    }
    let half = MAX_PROMPT_CHARS / 2;
    let start: String = prompt.chars().take(half).collect();
    let end: String = prompt.chars().skip(count - half).collect();
    format!("{start}\n{end}")
}

/// A note with its text. If the text is longer than `max` characters, at most `max` characters of the passage with this
/// number, or of the beginning if no passage was found.
fn text_or_passage(memory: &Memory, node: Node, number: Option<u16>, max: usize) -> ContextNote {
    if node.body.chars().count() <= max {
        return ContextNote { text: node.body.clone(), node, is_whole: true };
    }
    // Passage 0 is the title.
    let passage = number
        .filter(|number| *number > 0)
        .and_then(|number| passages::text(&node, number, &memory.config.vectors));
    let text = match passage {
        Some(passage) if !node.body.starts_with(passage) => format!("… {}", cut(passage, max)),
        _ => cut(&node.body, max),
    };
    ContextNote { node, text, is_whole: false }
}

/// The beginning of a text, at most `max` characters and an ellipsis.
pub(super) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
