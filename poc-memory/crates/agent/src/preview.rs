//! Previews the changes of a permitted action before it is applied.

use super::permit::{PermittedAction, rounded_strength};
use poc_graph::error::Result;
use poc_graph::{EdgeKind, Node, NodeId, State};
use poc_notes::diff::{self, FieldChange};
use poc_notes::{Draft, Memory, weight};
use poc_rank::decay::lambda;

/// The fields, weights and links that the action would change, with whole texts.
///
/// # Errors
/// Those of the store.
pub fn changes(memory: &Memory, action: &PermittedAction) -> Result<Vec<FieldChange>> {
    let node = |id: &NodeId| memory.store.node(*id);
    let key = |id: &NodeId| Ok(node(id)?.map_or_else(|| "a deleted note".to_owned(), |node| node.key));
    let keys = |ids: &[NodeId]| -> Result<String> {
        Ok(ids.iter().map(key).collect::<Result<Vec<String>>>()?.join(", "))
    };
    Ok(match action {
        PermittedAction::Link { from, to, strength, .. } => {
            let strength = rounded_strength(*strength);
            vec![change("link", "", &format!("{} → {}, strength {strength}", key(from)?, key(to)?))]
        }
        PermittedAction::Weigh { node: id, delta } => {
            let Some((node, activity)) = node(id)?.zip(memory.store.activity(*id)?) else {
                return Ok(Vec::new());
            };
            let config = &memory.config.weight;
            let now = weight::current(&activity, lambda(config, node.category), config, memory.now());
            let after = (now + delta).clamp(config.floor, config.cap);
            vec![change("weight", &format!("{now:.3}"), &format!("{after:.3}"))]
        }
        PermittedAction::Insert { draft, sources, .. } => {
            let mut changes = created(draft);
            let sources = keys(sources)?;
            changes.extend((!sources.is_empty()).then(|| change("derived from", "", &sources)));
            changes
        }
        PermittedAction::Replace { new, .. } => vec![
            change("state", State::Active.name(), State::Superseded.name()),
            change("superseded by", "", &key(new)?),
        ],
        PermittedAction::Rewrite { old, draft } => {
            node(old)?.map_or_else(Vec::new, |old| rewritten(&old, draft))
        }
        PermittedAction::Rename { from, to, .. } => vec![change("key", from, to)],
        PermittedAction::Revise { old, draft, sources, .. } => {
            let mut changes = node(old)?.map_or_else(Vec::new, |old| rewritten(&old, draft));
            let edges = memory.store.edges(*old)?;
            let former = edges.iter().filter(|edge| edge.kind == EdgeKind::DerivedFrom && edge.src == *old);
            let former: Vec<NodeId> = former.map(|edge| edge.dst).collect();
            changes.push(change("derived from", &keys(&former)?, &keys(sources)?));
            changes
        }
    })
}

fn change(field: &str, before: &str, after: &str) -> FieldChange {
    FieldChange { field: field.to_owned(), before: before.to_owned(), after: after.to_owned() }
}

fn created(draft: &Draft) -> Vec<FieldChange> {
    let fields = [("key", &draft.key), ("title", &draft.title), ("body", &draft.body)];
    fields
        .into_iter()
        .filter_map(|(field, value)| Some((field, value.as_deref().filter(|value| !value.is_empty())?)))
        .map(|(field, value)| change(field, "", value))
        .collect()
}

fn rewritten(old: &Node, draft: &Draft) -> Vec<FieldChange> {
    let mut new = old.clone();
    new.key = draft.key.clone().unwrap_or(new.key);
    new.title = draft.title.clone().unwrap_or(new.title);
    new.body = draft.body.clone().unwrap_or(new.body);
    diff::fields_in_full(old, &new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world::{World, draft};
    use poc_notes::derivation;
    use poc_store::Transaction;

    fn shown(world: &World, action: &PermittedAction) -> Vec<String> {
        let changes = changes(&world.memory, action).unwrap();
        changes
            .iter()
            .map(|change| format!("{}: {} -> {}", change.field, change.before, change.after))
            .collect()
    }

    #[test]
    fn texts_are_shown_before_and_after() {
        let world = World::new();
        let (old, new) = (world.note("old", "An old text."), world.note("new", "A new text."));
        let rewrite = PermittedAction::Rewrite { old, draft: Box::new(draft("old", "Another text.")) };
        assert_eq!(shown(&world, &rewrite), ["body: An old text. -> Another text."]);
        let insert = PermittedAction::Insert {
            draft: Box::new(draft("fact", "A fact.")),
            sources: vec![old, new],
            reason: String::new(),
        };
        assert_eq!(
            shown(&world, &insert),
            ["key:  -> fact", "title:  -> fact", "body:  -> A fact.", "derived from:  -> old, new"]
        );
        let replace = PermittedAction::Replace { old, new, reason: String::new() };
        assert_eq!(shown(&world, &replace), ["state: active -> superseded", "superseded by:  -> new"]);
        let fact = world.note("fact", "A fact.");
        let (cause, now) = (world.memory.cause("manual", "test"), world.memory.now());
        let derive = |tx: &mut Transaction<'_>| derivation::add_sources(tx, fact, &[old], "manual", "", now);
        world.memory.store.transact(cause, derive).unwrap();
        let revise = PermittedAction::Revise {
            old: fact,
            draft: Box::new(draft("fact", "Another fact.")),
            sources: vec![new],
            reason: String::new(),
        };
        assert_eq!(shown(&world, &revise), ["body: A fact. -> Another fact.", "derived from: old -> new"]);
        let rename = PermittedAction::Rename { node: old, from: "old".into(), to: "older".into() };
        assert_eq!(shown(&world, &rename), ["key: old -> older"]);
    }

    #[test]
    fn a_weight_stays_within_its_bounds() {
        let world = World::new();
        let node = world.note("one", "A text.");
        assert_eq!(shown(&world, &PermittedAction::Weigh { node, delta: -5.0 }), ["weight: 1.000 -> 0.010"]);
    }
}
