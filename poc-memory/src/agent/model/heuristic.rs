//! No language model: proposals from the similarity of texts and the structure of the graph alone.
//!
//! Links: a chosen node and its best candidates, when they are alike and share a keyword or words
//! that are rare in the memory. Weights: busy nodes gain, trivial ones lose. Supersessions: one note of
//! a pair whose every sentence the other repeats. Inserts: none. The same selection always gives
//! the same answer.

mod link;
mod twin;
mod weight;
mod words;

use super::{Failed, Model, Reply, Request};
use crate::agent::definition::ActionKind;
use crate::agent::selection::{Handle, Selection};
use crate::config;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The provider `heuristic`.
pub(super) struct Heuristic {
    pub(super) settings: config::Heuristic,
}

impl Model for Heuristic {
    fn call(&self, request: &Request<'_>) -> Result<Reply, Failed> {
        let may = |kind| request.actions.contains(&kind);
        let nodes = Nodes::new(request.selection);
        let mut reply = Map::new();
        let mut gone = BTreeSet::new();
        let mut linked = BTreeSet::new();
        let mut counts = Vec::new();
        if may(ActionKind::Supersede) {
            let found = twin::find(&self.settings, &nodes);
            gone = found.iter().map(|twin| twin.repeated.name.as_str()).collect();
            counts.push((found.len(), "supersession"));
            let rows = found.iter().map(|twin| {
                json!({"reason": twin.reason(), "node": twin.repeated.name, "by": twin.kept.name,
                       "key": "", "title": "", "body": ""})
            });
            reply.insert("supersede".into(), rows.collect());
        }
        if may(ActionKind::LinkAdd) {
            let found = link::find(&self.settings, &nodes, request.text, &gone);
            linked = found.iter().flat_map(|link| [link.from.name.as_str(), link.to.name.as_str()]).collect();
            counts.push((found.len(), "link"));
            let rows = found.iter().map(|link| {
                json!({"reason": link.reason(), "from": link.from.name, "to": link.to.name,
                       "strength": link.strength()})
            });
            reply.insert("link-add".into(), rows.collect());
        }
        if may(ActionKind::Weight) {
            let found = weight::find(&self.settings, &nodes, &linked, &gone, request.now);
            counts.push((found.len(), "weight"));
            let rows = found.iter().map(
                |change| json!({"reason": change.reason, "node": change.node.name, "delta": change.delta}),
            );
            reply.insert("weight".into(), rows.collect());
        }
        if may(ActionKind::Insert) {
            reply.insert("insert".into(), json!([]));
        }
        reply.insert("notes".into(), Value::String(notes(&counts)));
        let reply = Value::Object(reply);
        Ok(Reply { text: reply.to_string(), structured: Some(reply), ..Reply::default() })
    }
}

fn notes(counts: &[(usize, &str)]) -> String {
    let found: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    match found.as_slice() {
        [] => "Nothing stands out by similarity and structure.".into(),
        found => format!("Proposed from similarity and structure alone: {}.", found.join(", ")),
    }
}

/// The selection by handle.
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

    /// Where a handle stands in the prompt.
    fn position(&self, handle: &Handle) -> usize {
        self.by_name.get(handle.name.as_str()).map_or(usize::MAX, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests;
