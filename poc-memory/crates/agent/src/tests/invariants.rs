//! Checks what a run may change, independently of the permit layer: from the agent file, the prompt, and the
//! store before and after the reply was applied.

use super::world::World;
use crate::definition::{ActionKind, Definition, Mode, Targets};
use crate::ledger::{ActionState, Run, Status};
use crate::proposal::proposals;
use poc_graph::{Activity, Edge, EdgeKind, Node, NodeId, State, Trust, Visit};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// The reasons that a reply can lead to. They are stored in rows.
pub(super) const REASONS: [&str; 12] = [
    "not-permitted",
    "unknown-handle",
    "out-of-scope",
    "protected",
    "over-limit",
    "unsupported",
    "self-link",
    "changed-since-read",
    "invalid-value",
    "already-present",
    "rejected-before",
    "observed",
];

/// Maximum difference of a weight that is explained by decay and does not count as a change.
const DECAYED: f64 = 1e-3;

/// The store at an instant.
#[derive(Clone)]
pub(super) struct Image {
    pub(super) nodes: BTreeMap<NodeId, Node>,
    activity: BTreeMap<NodeId, Activity>,
    edges: BTreeMap<(NodeId, EdgeKind, NodeId), Edge>,
    visits: BTreeMap<NodeId, Vec<(String, Visit)>>,
    proposals: Vec<(poc_graph::RunId, u16)>,
}

impl Image {
    pub(super) fn of(world: &World) -> Image {
        let store = &world.memory.store;
        let nodes: BTreeMap<NodeId, Node> =
            store.scan::<Node>(&[]).unwrap().into_iter().map(|(_, node)| (node.id, node)).collect();
        let mut edges = BTreeMap::new();
        for &id in nodes.keys() {
            edges.extend(
                store.edges(id).unwrap().into_iter().map(|edge| ((edge.src, edge.kind, edge.dst), edge)),
            );
        }
        let each = nodes.keys().copied();
        let proposals = proposals(&world.memory, None).unwrap();
        Image {
            activity: each.clone().filter_map(|id| Some((id, store.activity(id).unwrap()?))).collect(),
            visits: each.map(|id| (id, store.visits(id).unwrap())).collect(),
            proposals: proposals.iter().map(|one| (one.run, one.index)).collect(),
            nodes,
            edges,
        }
    }

    fn linked(&self, a: NodeId, b: NodeId) -> bool {
        self.edges.keys().any(|&(src, _, dst)| (src, dst) == (a, b) || (src, dst) == (b, a))
    }

    /// Whether an edge could have been moved from a superseded note to its replacement.
    fn carried(&self, kind: EdgeKind, (src, dst): (NodeId, NodeId)) -> bool {
        let olds = |new: NodeId| {
            let replaced = move |&&(by, kind, _): &&(NodeId, EdgeKind, NodeId)| {
                by == new && kind == EdgeKind::Supersedes
            };
            self.edges.keys().filter(replaced).map(|(_, _, old)| *old).collect::<Vec<_>>()
        };
        let link = |a, b| self.edges.contains_key(&(a, kind, b)) || self.carried_once(kind, (a, b), &olds);
        olds(src).into_iter().any(|old| link(old, dst)) || olds(dst).into_iter().any(|old| link(src, old))
    }

    fn carried_once(
        &self,
        kind: EdgeKind,
        (a, b): (NodeId, NodeId),
        olds: &dyn Fn(NodeId) -> Vec<NodeId>,
    ) -> bool {
        let link = |a, b| self.edges.contains_key(&(a, kind, b));
        olds(a).into_iter().any(|old| link(old, b)) || olds(b).into_iter().any(|old| link(a, old))
    }
}

/// Whether lists hide a note of an agent with this key: `quote-` with twelve hexadecimal digits, and perhaps an ending.
fn looks_like_quotation_key(key: &str) -> bool {
    Regex::new("^quote-[0-9a-fA-F]{12}(-|$)").unwrap().is_match(key)
}

/// Whether a body is nothing but text of another one, with marks around it and where text is left out.
fn is_quoted(body: &str, of: &str) -> bool {
    let chars: Vec<char> = body.chars().collect();
    let [first, text @ .., last] = chars.as_slice() else { return false };
    let parts: Vec<String> =
        text.split(|c| *c == '…').map(|part| part.iter().collect::<String>().trim().to_owned()).collect();
    let is_empty = parts.iter().all(String::is_empty);
    (*first, *last) == ('“', '”') && !is_empty && parts.iter().all(|part| of.contains(part.as_str()))
}

/// The prompt, the store that was read for it, and the store when the reply came.
pub(super) struct PromptSnapshot {
    pub(super) prompt: String,
    pub(super) read: Image,
    pub(super) then: Image,
}

/// The rules of the agent file as predicates.
pub(super) struct Rules<'a> {
    pub(super) definition: &'a Definition,
    /// The pipeline as a predicate.
    pub(super) results: &'a dyn Fn(&Node) -> bool,
    /// `limits.protect` as a predicate.
    pub(super) protected: &'a dyn Fn(&Node) -> bool,
}

impl Rules<'_> {
    fn may(&self, kind: ActionKind) -> bool {
        let Definition { mode, execution, limits, .. } = self.definition;
        let applies = kind != ActionKind::Supersede || limits.supersede_apply;
        *mode == Mode::Apply && execution.actions.contains(&kind) && applies
    }

    /// Whether two notes had the same superseded note between them in a session.
    fn closes_gap(&self, then: &Image, retired: &[NodeId], (src, dst): (NodeId, NodeId)) -> bool {
        let beside = |a, b| then.edges.contains_key(&(a, EdgeKind::Structural, b));
        retired.iter().any(|&old| beside(src, old) && beside(old, dst))
    }

    /// Describes the first forbidden change of a run.
    pub(super) fn judge(&self, asked: &PromptSnapshot, after: &Image, run: &Run) -> Result<(), String> {
        let PromptSnapshot { prompt, read, then } = asked;
        let limits = &self.definition.limits;
        let readable = |node: &Node| node.state.is_live() && node.trust > Trust::Quarantined;
        let results: BTreeSet<NodeId> = read
            .nodes
            .values()
            .filter(|node| readable(node) && (self.results)(node))
            .map(|node| node.id)
            .collect();
        let shown = |id: &NodeId| {
            read.nodes
                .get(id)
                .is_some_and(|node| readable(node) && prompt.contains(&format!("key: {}\n", node.key)))
                || read
                    .nodes
                    .get(id)
                    .is_some_and(|node| readable(node) && prompt.contains(&format!("{} (", node.key)))
        };
        let in_text = |node: &Node| prompt.contains(&format!("key: {}\n", node.key));
        let within = |id: NodeId| match limits.targets {
            Targets::Results => results.contains(&id),
            Targets::Neighborhood => {
                results.contains(&id)
                    || results.iter().any(|&one| read.linked(one, id))
                    || read.nodes.get(&id).is_some_and(in_text)
            }
            Targets::Any => shown(&id),
        };
        let word = prompt.lines().find_map(|line| line.strip_prefix("<<<data ")).unwrap_or_default();
        let close = format!("\n>>>data {word}");
        let whole = |node: &Node| {
            let key = format!("key: {}\n", node.key);
            let line = |text: &str| text.replace(char::is_control, " ");
            // A title that the text begins with is not repeated.
            let start = node.body.trim_start().trim_start_matches('#').trim_start();
            let title = match start.starts_with(node.title.trim_end_matches('…')) {
                true => String::new(),
                false => format!("title: {}\n", line(&node.title)),
            };
            let keywords = match node.keywords.as_slice() {
                [] => String::new(),
                words => format!("keywords: {}\n", line(&words.join(", "))),
            };
            let about = title + &keywords;
            let begins_with_node = |block: &str| {
                let text = block.split(&close).next().unwrap_or_default();
                text.starts_with(&about) && text.ends_with(node.body.trim_end())
            };
            prompt.split(&key).skip(1).any(begins_with_node)
        };
        // Unchanged since it was read.
        let unchanged =
            |id: NodeId| read.nodes.get(&id).is_some_and(|node| then.nodes.get(&id) == Some(node));
        let reached = |id: NodeId| shown(&id) && within(id) && unchanged(id);
        // The weight of a protected node may change.
        let free =
            |id: NodeId| reached(id) && read.nodes.get(&id).is_some_and(|node| !(self.protected)(node));
        let name = |id: &NodeId| after.nodes.get(id).map_or_else(|| id.to_string(), |node| node.key.clone());
        let applied = |kind| {
            run.actions
                .iter()
                .filter(|row| row.state == ActionState::Applied && row.kind == Some(kind))
                .count()
        };
        let refuse = |holds: bool, what: String| if holds { Ok(()) } else { Err(what) };

        // Existing nodes are unchanged, superseded or renamed, or were derived from a superseded one.
        let (mut retired, mut stale, mut renamed) = (Vec::new(), Vec::new(), 0);
        for (id, was) in &then.nodes {
            let Some(now) = after.nodes.get(id) else { return Err(format!("`{}` was deleted", was.key)) };
            if now == was {
                continue;
            }
            let (key, modified) = (now.key.clone(), now.modified);
            let in_state =
                |state| Node { state, version: was.version + 1, key: key.clone(), modified, ..was.clone() };
            if *now == in_state(State::Stale) {
                stale.push(*id);
                continue;
            }
            let other_key = Node { key: was.key.clone(), aliases: was.aliases.clone(), ..now.clone() };
            if other_key == *was && now.key != was.key {
                let is_kept =
                    now.aliases == [was.aliases.as_slice(), std::slice::from_ref(&was.key)].concat();
                refuse(is_kept, format!("`{}` lost a name", was.key))?;
                refuse(
                    self.may(ActionKind::Supersede) && free(*id) && whole(was),
                    format!("`{}` was renamed", was.key),
                )?;
                let is_name = now.key.len() <= 512
                    && !now.key.contains(char::is_whitespace)
                    && !looks_like_quotation_key(&now.key);
                refuse(is_name, format!("`{}` is not a valid key", now.key))?;
                renamed += 1;
                continue;
            }
            let retired_node = in_state(State::Superseded);
            // It became stale with its source before it was superseded itself.
            let is_derived =
                then.edges.keys().any(|(src, kind, _)| (*src, *kind) == (*id, EdgeKind::DerivedFrom));
            let retired_stale_node = Node { version: was.version + 2, ..retired_node.clone() };
            let is_retired = *now == retired_node || is_derived && *now == retired_stale_node;
            refuse(is_retired && was.state.is_live(), format!("`{}` was overwritten", was.key))?;
            refuse(now.key.starts_with(&was.key), format!("`{}` was called `{}`", was.key, now.key))?;
            refuse(self.may(ActionKind::Supersede), format!("`{}` was superseded", was.key))?;
            refuse(free(*id) && whole(was), format!("`{}` was superseded, which was not allowed", was.key))?;
            retired.push(*id);
        }
        for id in stale {
            // It may have inherited a source in this run from a note that it replaced.
            let mut derived =
                after.edges.keys().filter(|(src, kind, _)| (*src, *kind) == (id, EdgeKind::DerivedFrom));
            let is_source_retired = derived.any(|(.., source)| retired.contains(source));
            refuse(is_source_retired, format!("`{}` was made stale", name(&id)))?;
        }
        let replaced = retired.len() + renamed;
        refuse(replaced <= limits.supersede_max, format!("{replaced} were superseded"))?;
        refuse(replaced == applied(ActionKind::Supersede), "supersessions and rows differ".into())?;

        // Successors, which inherit the edges and visits of the notes that they replaced.
        let successors: BTreeMap<NodeId, Vec<NodeId>> = after
            .edges
            .keys()
            .filter(|(_, kind, old)| *kind == EdgeKind::Supersedes && retired.contains(old))
            .fold(BTreeMap::new(), |mut successors, (new, _, old)| {
                successors.entry(*new).or_insert_with(Vec::new).push(*old);
                successors
            });

        // The notes that a note replaced, and those that they had replaced in the same run.
        let replaced_by = |id: &NodeId| {
            let mut found = BTreeSet::from([*id]);
            let mut next = vec![*id];
            while let Some(one) = next.pop() {
                next.extend(successors.get(&one).into_iter().flatten().filter(|&&old| found.insert(old)));
            }
            found
        };

        // Weights.
        let mut weighed = 0;
        for (id, was) in
            then.activity.iter().filter(|(id, _)| after.activity.get(id) != then.activity.get(id))
        {
            let now =
                after.activity.get(id).ok_or_else(|| format!("the weight of `{}` is missing", name(id)))?;
            let replayed = |now: Activity| match self.definition.execution.replay {
                true => Activity { replay_interval: was.replay_interval, replayed: was.replayed, ..now },
                false => now,
            };
            let now = replayed(*now);
            if now == *was {
                continue;
            }
            if successors.contains_key(id) {
                let known = replaced_by(id).into_iter().filter_map(|old| then.activity.get(&old));
                let max = known.map(|activity| activity.weight).fold(was.weight, f64::max);
                let moved = limits.weight_max_delta;
                refuse(now.weight <= max + moved + DECAYED, format!("`{}` weighs {}", name(id), now.weight))?;
                continue;
            }
            let only = Activity { weight: was.weight, touched: was.touched, ..now } == *was;
            refuse(only, format!("more than the weight of `{}` was changed", name(id)))?;
            refuse(self.may(ActionKind::Weight) && reached(*id), format!("`{}` was weighed", name(id)))?;
            let delta = (now.weight - was.weight).abs();
            refuse(delta <= limits.weight_max_delta + DECAYED, format!("`{}` changed by {delta}", name(id)))?;
            weighed += 1;
        }
        refuse(weighed <= limits.weight_max, format!("{weighed} were weighed"))?;
        refuse(weighed <= applied(ActionKind::Weight), "a weight changed, but no row records it".into())?;

        // New nodes.
        let min = read.nodes.values().filter(|node| shown(&node.id)).map(|node| node.trust).min();
        let made: Vec<&Node> =
            after.nodes.values().filter(|node| !then.nodes.contains_key(&node.id)).collect();
        for node in &made {
            let is_quotation = looks_like_quotation_key(&node.key);
            match limits.insert_only_quotations {
                false => refuse(!is_quotation, format!("`{}` has the key of a quotation", node.key))?,
                true => {
                    let sources: Vec<&Node> = after
                        .edges
                        .keys()
                        .filter(|(src, kind, _)| (*src, *kind) == (node.id, EdgeKind::DerivedFrom))
                        // A source may have been replaced in the same run.
                        .flat_map(|(.., source)| replaced_by(source))
                        .filter_map(|source| then.nodes.get(&source))
                        .collect();
                    let quotes = sources.iter().any(|source| is_quoted(&node.body, &source.body));
                    let bodies: Vec<&str> = sources.iter().map(|source| source.body.as_str()).collect();
                    refuse(
                        is_quotation && quotes,
                        format!("`{}` is no quotation of {bodies:?}: {}", node.key, node.body),
                    )?;
                }
            }
        }
        let inserted = if self.may(ActionKind::Insert) { limits.insert_max } else { 0 };
        let made_by = applied(ActionKind::Insert) + retired.len();
        refuse(
            made.len() <= inserted + retired.len() && made.len() <= made_by,
            format!("{} notes were created", made.len()),
        )?;
        for node in &made {
            refuse(node.provenance == "agent:tester", format!("`{}` is of `{}`", node.key, node.provenance))?;
            let trusted = node.trust <= Trust::Agent.min(min.unwrap_or(Trust::Agent));
            refuse(
                trusted,
                format!("`{}` has the trust {}, the notes that were read {min:?}", node.key, node.trust),
            )?;
            let kept = retired.iter().any(|id| then.nodes[id].body == node.body);
            let fits = kept || node.body.chars().count() <= limits.insert_max_chars;
            refuse(fits, format!("`{}` is too long", node.key))?;
        }

        // Existing edges are unchanged; a new one is a link, belongs to a new node, or was moved.
        let mut links = 0;
        for (edge, was) in &then.edges {
            refuse(after.edges.get(edge) == Some(was), format!("an edge of `{}` changed", name(&edge.0)))?;
        }
        let is_new = |id: &NodeId| made.iter().any(|node| node.id == *id);
        // A part of a split note has the sources of that note, and the notes derived from that note have the part as a
        // source.
        let of_part = |(src, dst): (NodeId, NodeId), provenance: &str| {
            let had = |src, dst| {
                then.edges
                    .get(&(src, EdgeKind::DerivedFrom, dst))
                    .is_some_and(|edge| edge.provenance == provenance)
            };
            retired.iter().any(|&old| (is_new(&src) && had(old, dst)) || (is_new(&dst) && had(src, old)))
        };
        for (&(src, kind, dst), edge) in after.edges.iter().filter(|(edge, _)| !then.edges.contains_key(edge))
        {
            let edge_name = format!("{kind:?} of `{}` to `{}`", name(&src), name(&dst));
            match kind {
                EdgeKind::Supersedes => {
                    refuse(retired.contains(&dst), format!("{edge_name}: nothing was superseded"))?;
                    refuse(
                        is_new(&src) || (shown(&src) && unchanged(src)),
                        format!("{edge_name}: not shown"),
                    )?;
                }
                EdgeKind::Link | EdgeKind::DerivedFrom if after.carried(kind, (src, dst)) => {}
                EdgeKind::DerivedFrom if of_part((src, dst), &edge.provenance) => {}
                EdgeKind::DerivedFrom => {
                    let known = is_new(&src) && !is_new(&dst) && shown(&dst) && unchanged(dst);
                    refuse(known && within(dst), format!("{edge_name}: its source was not shown"))?;
                    refuse(
                        edge.provenance == "agent:tester",
                        format!("{edge_name}: of `{}`", edge.provenance),
                    )?;
                }
                EdgeKind::Link => {
                    let known = |id: &NodeId| is_new(id) || (shown(id) && unchanged(*id));
                    refuse(
                        known(&src) && known(&dst) && src != dst,
                        format!("{edge_name}: one end was not shown"),
                    )?;
                    refuse(
                        edge.strength > 0.0 && edge.strength <= 1.0,
                        format!("{edge_name}: {}", edge.strength),
                    )?;
                    refuse(
                        edge.provenance == "agent:tester",
                        format!("{edge_name}: of `{}`", edge.provenance),
                    )?;
                    if is_new(&src) || is_new(&dst) {
                        continue;
                    }
                    links += 1;
                    refuse(self.may(ActionKind::LinkAdd), edge_name.clone())?;
                    refuse(within(src) || within(dst), format!("{edge_name}: no end is a target"))?;
                }
                EdgeKind::Structural if self.closes_gap(then, &retired, (src, dst)) => {}
                _ if successors.contains_key(&src) || successors.contains_key(&dst) => {
                    let is_due = is_new(&src) || is_new(&dst) || after.carried(kind, (src, dst));
                    refuse(is_due, format!("{edge_name}: no replaced note had it"))?;
                }
                _ => refuse(is_new(&src) || is_new(&dst), format!("{edge_name}: no agent may make it"))?,
            }
        }
        refuse(links <= limits.link_add_max, format!("{links} links"))?;
        refuse(links <= applied(ActionKind::LinkAdd), "a link was made, but no row records it".into())?;
        let all = run
            .actions
            .iter()
            .filter(|row| matches!(row.state, ActionState::Applied | ActionState::Proposed));
        refuse(all.count() <= limits.max_actions, "more actions than allowed".into())?;

        // Only this run adds proposals, and none is removed.
        let kept = then.proposals.iter().all(|one| after.proposals.contains(one));
        refuse(kept, "a proposal was decided".into())?;
        let waiting = run.actions.iter().filter(|row| row.state == ActionState::Proposed).count();
        let came = after.proposals.iter().filter(|one| one.0 == run.id).count();
        refuse(waiting == came, format!("{waiting} actions wait, {came} proposals"))?;

        // Every refusal has a known reason.
        for row in &run.actions {
            let reason = row.refusal_code.as_deref();
            let is_explained = reason.is_some_and(|reason| REASONS.contains(&reason)) && row.detail.is_some();
            let refused = row.state == ActionState::Refused;
            refuse(
                refused == reason.is_some() && (!refused || is_explained),
                format!("`{}`: {reason:?}", row.summary),
            )?;
        }

        // Actions and visits are written together or not at all.
        let seen = |image: &Image, id: &NodeId| {
            image
                .visits
                .get(id)
                .into_iter()
                .flatten()
                .find(|(agent, _)| agent == "tester")
                .map(|(_, visit)| *visit)
        };
        let selected: BTreeSet<NodeId> = run.selected.iter().map(|read| read.id).collect();
        refuse(selected.is_subset(&results), "a note that the pipeline does not return was selected".into())?;
        let answered = matches!(run.status, Status::Ok | Status::Noop | Status::Partial | Status::Proposed);
        // A node whose actions were cut off by a limit may stay stale.
        let is_cut =
            |action: &crate::ledger::ActionRecord| action.refusal_code.as_deref() == Some("over-limit");
        let cut_off = run.left_out > 0 || run.actions.iter().any(is_cut);
        for (id, node) in &then.nodes {
            let visited = seen(after, id) != seen(then, id);
            let due = answered && selected.contains(id) && read.nodes.get(id).is_some_and(in_text);
            refuse(
                visited == due || (!visited && cut_off),
                format!("`{}`: visited {visited}, due {due}, {:?}", node.key, run.status),
            )?;
            let others = |image: &Image| {
                let mut visits = image.visits.get(id).cloned().unwrap_or_default();
                visits.retain(|(agent, _)| agent != "tester");
                visits
            };
            let is_successor = successors.contains_key(id);
            refuse(
                is_successor || others(after) == others(then),
                format!("`{}`: a visit of another agent changed", node.key),
            )?;
        }
        let nothing = retired.is_empty() && weighed == 0 && made.is_empty() && links == 0;
        refuse(answered || nothing, format!("the status is {:?}, but something was done", run.status))
    }
}
