//! A model that needs no language model: it derives its replies from text similarity and the structure of the
//! graph.
//!
//! - Links: a selected node is linked to candidates that share an identifier or rare names with it.
//! - Supersessions: a note is superseded by another one that contains all its sentences.
//!
//! The permitted actions determine the task. With only `supersede`, it renames notes after the words of their
//! titles. With `supersede` and `insert`, it splits long notes at their headings, without losing a line. With
//! `insert` but not `supersede`, it collects sentences that several episodes share. For an agent whose new notes are
//! quotations, it quotes what speakers say in the first person, with the question that they answer. It changes no
//! weights, because only use shows what is important, and it writes no text of its own. So it does nothing for an agent
//! with both actions whose prompt lists derived notes: such an agent states facts in sentences of its own. The same
//! selection always gives the same reply.

mod filler_words;
mod generic_term;
mod honorifics;
mod link;
mod near_duplicate;
mod own_text;
mod part_key;
mod quote;
mod rename;
mod shared_names;
mod split;
mod transfer;
mod words;

use super::{CallFailure, Model, Reply, Request};
use crate::definition::ActionKind;
use crate::selection::{Handle, Selection};
use poc_config::Config;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The notes of a reply to an agent that extracts facts.
const NO_FACTS: &str = "Only a language model can state facts; `poc-memory setup model` finds one.";

/// The model of the provider `heuristic`.
pub struct Heuristic {
    settings: poc_config::HeuristicConfig,
    cosines: poc_config::CosinesConfig,
    /// They limit how many notes may have a name that relates two of them.
    scores: poc_config::ScoreFusionConfig,
}

impl Heuristic {
    /// A model with the configured thresholds.
    ///
    /// # Errors
    /// A message of one line when the embedder has no thresholds.
    pub fn new(config: &Config) -> Result<Heuristic, String> {
        let cosines = config.cosines().map_err(|error| error.line())?.clone();
        let scores = config.retrieve.scores.clone();
        Ok(Heuristic { settings: config.heuristic.clone(), cosines, scores })
    }
}

impl Model for Heuristic {
    fn is_language_model(&self) -> bool {
        false
    }

    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let may = |kind| request.actions.contains(&kind);
        let nodes = Nodes::new(request.selection);
        let mut reply = Map::new();
        let mut excluded = BTreeSet::new();
        let mut counts = Vec::new();
        let (inserts, supersedes) = (may(ActionKind::Insert), may(ActionKind::Supersede));
        let quotes = request.only_quotations;
        let states_facts = inserts && supersedes && request.shows_derived && !quotes;
        let (mut inserted, mut superseded) = (Vec::new(), Vec::new());
        if supersedes && !states_facts && !quotes {
            let near_duplicates = near_duplicate::find(&self.settings, &nodes);
            excluded = near_duplicates.iter().map(|pair| pair.duplicate.name.as_str()).collect();
            counts.push((near_duplicates.len(), "supersession"));
            superseded.extend(near_duplicates.iter().map(|pair| pair.supersession()));
            if inserts {
                let is_in_pair = |name: &str| {
                    near_duplicates
                        .iter()
                        .any(|pair| pair.original.name == name || pair.duplicate.name == name)
                };
                let mut splits = split::find(&self.settings, &nodes, request.max_chars);
                splits.retain(|split| !is_in_pair(&split.whole.name));
                counts.push((splits.len(), "note to split"));
                inserted.extend(splits.iter().flat_map(|split| split.insertions()));
                superseded.extend(splits.iter().map(|split| split.supersession()));
                excluded.extend(splits.iter().map(|split| split.whole.name.as_str()));
            }
        }
        if quotes {
            let (found, outdated) = quote::find(&nodes, request.max_chars);
            counts.push((found.len(), "quotation"));
            inserted.extend(found.iter().map(quote::Quote::insertion));
            superseded.extend(outdated.iter().map(quote::OutdatedQuote::supersession));
        }
        if inserts && !supersedes && !quotes {
            let found = transfer::find(&self.settings, &self.cosines, &nodes, request.text, request.agent);
            counts.push((found.len(), "overview"));
            inserted.extend(found.iter().map(|group| group.insertion(request.text, request.max_chars)));
        }
        if request.actions == [ActionKind::Supersede] && request.selection.pairs.is_empty() {
            let found = rename::find(&nodes, request.text);
            counts.push((found.len(), "new key"));
            superseded.extend(found.iter().map(|rename| rename.supersession()));
        }
        if supersedes {
            reply.insert("supersede".into(), superseded.into());
        }
        if inserts {
            reply.insert("insert".into(), inserted.into());
        }
        if may(ActionKind::LinkAdd) {
            // Agents that write notes link them to their sources; other links are the linker's task.
            let rare = shared_names::rare(nodes.selection.view.live_count(), &self.scores);
            let found = match inserts {
                true => Vec::new(),
                false => link::find(&self.settings, &nodes, request.text, rare, &excluded),
            };
            counts.push((found.len(), "link"));
            let links = found.iter().map(|link| link.addition(self.settings.link_strength));
            reply.insert("link-add".into(), links.collect());
        }
        if may(ActionKind::Weight) {
            reply.insert("weight".into(), json!([]));
        }
        let summary = if states_facts { NO_FACTS.to_owned() } else { notes(&counts) };
        reply.insert("notes".into(), Value::String(summary));
        let reply = Value::Object(reply);
        Ok(Reply { text: reply.to_string(), structured: Some(reply), ..Reply::default() })
    }
}

fn notes(counts: &[(usize, &str)]) -> String {
    let found: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| match (*count, what.split_once(' ')) {
            (1, _) => format!("1 {what}"),
            // The plural of "note to split" is "notes to split", and that of "new key" is "new keys".
            (count, Some((noun, rest))) if noun == "note" => format!("{count} {noun}s {rest}"),
            (count, _) => format!("{count} {what}s"),
        })
        .collect();
    match found.as_slice() {
        [] => "Similarity and structure suggest no action.".into(),
        found => format!("Proposed from similarity and structure alone: {}.", found.join(", ")),
    }
}

/// The selection, indexed by handle.
struct Nodes<'a> {
    selection: &'a Selection,
    by_name: BTreeMap<&'a str, (usize, &'a Handle)>,
}

impl<'a> Nodes<'a> {
    fn new(selection: &'a Selection) -> Self {
        let handles = selection.handles.iter().enumerate();
        Nodes {
            selection,
            by_name: handles.map(|(at, handle)| (handle.name.as_str(), (at, handle))).collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Handle> {
        self.by_name.get(name).map(|(_, handle)| *handle)
    }

    /// Position of a handle in the prompt.
    fn position(&self, handle: &Handle) -> usize {
        self.by_name.get(handle.name.as_str()).map_or(usize::MAX, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests;
