//! The values of a template's variables, as text.

use super::fence::Fence;
use crate::agent::Definition;
use crate::agent::action;
use crate::agent::selection::{Handle, Selection, may_be_read};
use crate::graph::{Ix, View};
use crate::memory::Memory;
use crate::time::Timestamp;
use std::fmt::Write;

/// Hubs, communities and siblings listed.
const LISTED: usize = 10;

/// The value of a variable by its upper-case name; `None` when there is no such variable.
pub(super) fn value(
    name: &str,
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    fence: &Fence,
) -> Option<String> {
    let view = &selection.view;
    Some(match name {
        "NODES" => nodes(memory, definition, selection, fence),
        "TOPOLOGY" => topology(view, memory, fence),
        "PAIRS" => pairs(selection),
        "HUBS" => hubs(view, fence),
        "SIBLINGS" => siblings(selection, fence),
        "HEALTH" => health(view, memory),
        "AGENT" => match definition.description.as_str() {
            "" => definition.name.clone(),
            says => format!("{}: {says}", definition.name),
        },
        "DATE" => date(memory.now()),
        "ACTIONS" => action::describe(&definition.execution.actions, &definition.limits),
        _ => return None,
    })
}

/// The chosen nodes in full, then the candidates in short.
fn nodes(memory: &Memory, definition: &Definition, selection: &Selection, fence: &Fence) -> String {
    let mut text = String::new();
    for handle in &selection.handles {
        if handle.chosen {
            text.push_str(&node(memory, definition, selection, handle, fence));
            if !handle.whole {
                let most = definition.prompt.max_node_chars;
                let _ = writeln!(text, "{} is cut: these are its first {most} characters", handle.name);
            }
        } else {
            text.push_str(&candidate(memory, selection, handle, fence));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// One chosen node.
pub(super) fn node(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    handle: &Handle,
    fence: &Fence,
) -> String {
    let mut text = head(memory, selection, handle, "");
    if !handle.candidates.is_empty() {
        let near: Vec<String> =
            handle.candidates.iter().map(|(name, cosine)| format!("{name} ({cosine:.2})")).collect();
        let _ = writeln!(text, "alike and not linked yet: {}", near.join(", "));
    }
    text + &fence.around(&content(handle, definition.prompt.max_node_chars))
}

/// One candidate.
fn candidate(memory: &Memory, selection: &Selection, handle: &Handle, fence: &Fence) -> String {
    let head = head(memory, selection, handle, " (to link to)");
    head + &fence.around(&content(handle, memory.config.agents.candidate_chars))
}

fn head(memory: &Memory, selection: &Selection, handle: &Handle, role: &str) -> String {
    format!(
        "{}{role}\ntype: {}, age: {}, weight: {:.2}, links: {}\n",
        handle.name,
        handle.node.node_type,
        age(handle.node.created, memory.now()),
        handle.weight,
        selection.view.degree(handle.ix),
    )
}

/// What a node says, cut to a number of characters of its body.
fn content(handle: &Handle, most: usize) -> String {
    let node = &handle.node;
    let keywords = if node.keywords.is_empty() {
        String::new()
    } else {
        format!("keywords: {}\n", line(&node.keywords.join(", ")))
    };
    let body: String = node.body.chars().take(most).collect();
    let more = if body.len() < node.body.len() { "…" } else { "" };
    format!("key: {}\ntitle: {}\n{keywords}\n{body}{more}", line(&node.key), line(&node.title))
}

/// A text that must not break out of its line.
fn line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

fn topology(view: &View, memory: &Memory, fence: &Fence) -> String {
    let (communities, _) = view.communities(&memory.config.structure.rules());
    let largest: Vec<String> = communities.sizes().take(LISTED).map(|size| size.to_string()).collect();
    format!(
        "notes in use: {}; edges: {}\ncommunities: {}; notes in the largest: {}\n{}\nmost linked:\n{}",
        view.live_count(),
        view.edge_count(),
        communities.count(),
        if largest.is_empty() { "none".to_owned() } else { largest.join(", ") },
        health(view, memory),
        hubs(view, fence),
    )
}

fn health(view: &View, memory: &Memory) -> String {
    let Some((health, _)) = view.health(&memory.config.structure.rules()) else {
        return "the shape of the graph: not computed yet".to_owned();
    };
    let mut text = format!(
        "components: {}; notes in the largest: {}; notes that stand alone: {}",
        health.components, health.largest, health.isolated
    );
    for (name, figure) in [
        ("mean clustering", health.clustering),
        ("mean path length", health.path_length),
        ("small-world sigma", health.small_world),
        ("Gini of the degrees", health.gini),
        ("power-law alpha of the degrees", health.power_law.map(|law| law.alpha)),
    ] {
        if let Some(figure) = figure {
            let _ = write!(text, "; {name}: {figure:.2}");
        }
    }
    text
}

/// The most linked nodes. Their keys are text of notes, so they stand in a fence.
fn hubs(view: &View, fence: &Fence) -> String {
    let mut hubs: Vec<Ix> = live(view).filter(|&ix| view.degree(ix) > 0).collect();
    hubs.sort_by_key(|&ix| (std::cmp::Reverse(view.degree(ix)), view.id(ix)));
    let lines: Vec<String> = hubs
        .iter()
        .take(LISTED)
        .map(|&ix| format!("{} ({} links)", line(view.key(ix)), view.degree(ix)))
        .collect();
    if lines.is_empty() { "none\n".to_owned() } else { fence.around(&lines.join("\n")) }
}

/// What each chosen node is tied to, strongest first.
fn siblings(selection: &Selection, fence: &Fence) -> String {
    let view = &selection.view;
    let mut text = String::new();
    for handle in selection.chosen() {
        let mut ties: Vec<_> = view.ties(handle.ix).filter(|tie| may_be_read(view, tie.ix)).collect();
        ties.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.ix.cmp(&b.ix)));
        let names: Vec<String> = ties
            .iter()
            .take(LISTED)
            .map(|tie| format!("{} ({:.2})", line(view.key(tie.ix)), tie.strength))
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "{}: {}", handle.name, names.join(", "));
        }
    }
    if text.is_empty() { "none\n".to_owned() } else { fence.around(&text) }
}

fn pairs(selection: &Selection) -> String {
    let lines: Vec<String> = selection
        .pairs
        .iter()
        .map(|pair| format!("{} and {}: {:.2} alike", pair.a, pair.b, pair.similarity))
        .collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join("\n") }
}

fn live(view: &View) -> impl Iterator<Item = Ix> {
    (0..view.slots()).filter(|&ix| may_be_read(view, ix))
}

fn date(now: Timestamp) -> String {
    now.utc().map_or_else(String::new, |now| now.format("%Y-%m-%d").to_string())
}

fn age(created: Timestamp, now: Timestamp) -> String {
    let hours = (now.seconds_since(created).max(0.0) / 3600.0) as u64;
    if hours < 48 { format!("{hours} hours") } else { format!("{} days", hours / 24) }
}
