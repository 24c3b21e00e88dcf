//! The values of a template's variables, as text.

use super::fence::Fence;
use crate::Definition;
use crate::action;
use crate::definition::ActionKind;
use crate::selection::{Excerpt, Handle, LinkCandidate, MAX_LISTED, PromptExtent, Selection, hubs, siblings};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Ix, NodeId, NodeType, State, Trust, View};
use poc_notes::Memory;
use std::fmt::Write;

/// Maximum number of existing links that a prompt shows with a node.
const LINKS_SHOWN: usize = 5;

/// Maximum number of characters of the title of a note at the other end of a link.
const TITLE_CHARS: usize = 80;
/// Maximum shared names that a prompt shows for a candidate.
const NAMES_SHOWN: usize = 3;

/// Notes shown without a handle, with their trust.
pub(super) type NotesShown = Vec<(NodeId, Trust)>;

/// The value of a variable by its upper-case name; `None` for unknown variables. Notes shown without a handle
/// are added to `read`.
pub(super) fn value(
    name: &str,
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    fence: &Fence,
    read: &mut NotesShown,
) -> Option<String> {
    let view = &selection.view;
    Some(match name {
        "NODES" => nodes(memory, definition, selection, fence, read),
        "TOPOLOGY" => topology(selection, memory, fence, read),
        "PAIRS" => pairs(selection),
        "HUBS" => most_linked(selection, fence, read),
        "SIBLINGS" => linked(selection, fence, read),
        "DERIVED" => derived(definition, selection, fence),
        "HEALTH" => health(view, memory),
        "AGENT" => match definition.description.as_str() {
            "" => definition.name.clone(),
            description => format!("{}: {description}", definition.name),
        },
        "DATE" => date(memory.now()),
        "ACTIONS" => action::describe(&definition.execution.actions, &definition.limits),
        _ => return None,
    })
}

/// The selected nodes in full, then the candidates in short.
fn nodes(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    fence: &Fence,
    read: &mut NotesShown,
) -> String {
    let mut text = String::new();
    for handle in selection.handles.iter().filter(|handle| handle.in_text()) {
        if handle.is_selected() {
            text.push_str(&node(memory, definition, selection, handle, fence, read));
            if handle.shown == PromptExtent::Cut {
                let max = definition.prompt.max_node_chars;
                let _ = writeln!(text, "{} is cut: these are its first {max} characters", handle.name);
            }
        } else {
            text.push_str(&candidate(memory, definition, selection, handle, fence));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// One selected node.
pub(super) fn node(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    handle: &Handle,
    fence: &Fence,
    read: &mut NotesShown,
) -> String {
    let mut text = head(memory, definition, selection, handle, "");
    let _ = writeln!(text, "chosen because {}", why_chosen(definition, selection, handle));
    if !handle.candidates.is_empty() {
        let near: Vec<String> = handle.candidates.iter().map(describe_candidate).collect();
        let _ = writeln!(text, "candidates: {}", near.join(", "));
    }
    let links = match definition.execution.actions.contains(&ActionKind::LinkAdd) {
        true => existing_links(memory, selection, handle, read),
        false => String::new(),
    };
    text + &fence.enclose(&content(handle, definition.prompt.max_node_chars, &links))
}

/// Why the pipeline selected a node.
fn why_chosen(definition: &Definition, selection: &Selection, handle: &Handle) -> String {
    match selection.view.visit(&definition.name, handle.ix).filter(|visit| visit.is_read()) {
        None => "you have not read it yet".to_owned(),
        Some(visit) if visit.version < handle.node.version => {
            format!("it was edited after you read it on {}", date(visit.at))
        }
        Some(visit) => format!("you read it last on {}", date(visit.at)),
    }
}

/// The strongest links of a node with the titles of the notes at the other end, as a line of its content.
fn existing_links(memory: &Memory, selection: &Selection, handle: &Handle, read: &mut NotesShown) -> String {
    let view = &selection.view;
    let is_linked = |ix: Ix| {
        view.edges(handle.ix).iter().any(|edge| edge.target() == ix && edge.kind() == EdgeKind::Link)
    };
    let linked = siblings(view, handle.ix).into_iter().filter(|edge| is_linked(edge.ix)).take(LINKS_SHOWN);
    let named: Vec<String> = linked
        .filter_map(|edge| {
            if let Some(known) = selection.by_index(edge.ix) {
                return Some(format!("{} ({:.2})", known.name, edge.strength));
            }
            let node = memory.store.node(view.id(edge.ix)?).ok()??;
            read.push((node.id, node.trust));
            let title: String = line(&node.title).chars().take(TITLE_CHARS).collect();
            Some(format!("\"{title}\" ({:.2})", edge.strength))
        })
        .collect();
    if named.is_empty() { String::new() } else { format!("linked with: {}\n", named.join(", ")) }
}

/// Why a node is a candidate. The names come from notes, but need no fence, because they consist of letters
/// and digits of single words.
fn describe_candidate(LinkCandidate { handle, cosine, shared_names }: &LinkCandidate) -> String {
    match shared_names.as_slice() {
        [] => format!("{handle} (similarity {cosine:.2})"),
        names => {
            let names: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
            format!("{handle} (shares {}; similarity {cosine:.2})", names.join(", "))
        }
    }
}

/// One candidate.
fn candidate(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    handle: &Handle,
    fence: &Fence,
) -> String {
    let head = head(memory, definition, selection, handle, " (to link to)");
    head + &fence.enclose(&content(handle, memory.config.agents.candidate_chars, ""))
}

/// The first lines of a node: its handle and its fields. They have no fence, so they contain no text of the node.
fn head(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    handle: &Handle,
    role: &str,
) -> String {
    // Protection is relevant only for agents that may supersede notes.
    let is_relevant = handle.protected && definition.execution.actions.contains(&ActionKind::Supersede);
    let protected = if is_relevant { ", protected: it may not be superseded" } else { "" };
    let session = match selection.sessions.get(&handle.ix) {
        Some(number) => format!("session: {number}, "),
        None => String::new(),
    };
    let node = &handle.node;
    format!(
        "{}{role}\ntype: {}, {session}created: {}, weight: {:.2}, links: {}{protected}\n",
        handle.name,
        known_type(memory, &node.node_type),
        date(node.created),
        handle.weight,
        selection.view.degree(handle.ix),
    )
}

/// The name of a type. A type that the settings do not list comes from another memory, by a sync, and may be any text.
fn known_type<'a>(memory: &Memory, node_type: &'a NodeType) -> &'a str {
    let is_known = memory.config.node_types().any(|known| known == node_type.0);
    if is_known { &node_type.0 } else { "unknown" }
}

/// The text of a node, cut to a number of characters, with a line about its links.
fn content(handle: &Handle, max: usize, links: &str) -> String {
    let node = &handle.node;
    let Excerpt { title, keywords, body, .. } = Excerpt::of(node, max);
    let more = |shown: &str, all: &str| if shown.len() < all.len() { "…" } else { "" };
    let keywords = match keywords.as_str() {
        "" => String::new(),
        words => format!("keywords: {}\n", line(words)),
    };
    let (title, body) = (title.clone() + more(&title, &node.title), body.clone() + more(&body, &node.body));
    // A title that was derived from the text is omitted, because it would repeat the text.
    let start = body.trim_start().trim_start_matches('#').trim_start();
    let title = match start.starts_with(title.trim_end_matches('…')) {
        true => String::new(),
        false => format!("title: {}\n", line(&title)),
    };
    let about = |label: &str, value: &Option<String>| match value {
        Some(value) => format!("{label}: {}\n", line(value)),
        None => String::new(),
    };
    let (author, source) = (about("author", &node.author), about("source", &node.source));
    format!("key: {}\n{title}{author}{source}{keywords}{links}\n{body}", line(&node.key))
}

/// A text without line breaks and control characters.
fn line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// The size of the graph, its communities and its most linked nodes.
fn topology(selection: &Selection, memory: &Memory, fence: &Fence, read: &mut NotesShown) -> String {
    let view = &selection.view;
    let (communities, _) = view.communities(&memory.config.structure.options());
    let largest: Vec<String> = communities.sizes().take(MAX_LISTED).map(|size| size.to_string()).collect();
    let alone = (0..view.slots()).filter(|&ix| view.is_live(ix) && view.degree(ix) == 0).count();
    format!(
        "notes in use: {}; edges: {}; notes without edges: {alone}\ncommunities: {}; notes in the largest: {}\n\
         most linked:\n{}",
        view.live_count(),
        view.edge_count(),
        communities.count(),
        if largest.is_empty() { "none".to_owned() } else { largest.join(", ") },
        most_linked(selection, fence, read),
    )
}

/// The metrics of the graph.
fn health(view: &View, memory: &Memory) -> String {
    let Some((health, _)) = view.graph_metrics(&memory.config.structure.options()) else {
        return "the shape of the graph: not computed yet".to_owned();
    };
    let mut text = format!(
        "components: {}; notes in the largest: {}; notes without edges: {}",
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

/// The key of a node, after its handle if it has one.
fn name_of(selection: &Selection, ix: Ix, read: &mut NotesShown) -> String {
    let view = &selection.view;
    let key = line(view.key(ix));
    match selection.by_index(ix) {
        Some(handle) => format!("{} {key}", handle.name),
        None => {
            read.extend(view.id(ix).map(|id| (id, view.trust(ix))));
            key
        }
    }
}

/// The most linked nodes, in a fence because keys are text of notes.
fn most_linked(selection: &Selection, fence: &Fence, read: &mut NotesShown) -> String {
    let view = &selection.view;
    let hubs = hubs(view).into_iter();
    let lines: Vec<String> =
        hubs.map(|ix| format!("{} ({} links)", name_of(selection, ix, read), view.degree(ix))).collect();
    if lines.is_empty() { "none\n".to_owned() } else { fence.enclose(&lines.join("\n")) }
}

/// The nodes derived from the selected ones, each with the handles of its sources, and those derived from other nodes,
/// each with the date of its latest source.
fn derived(definition: &Definition, selection: &Selection, fence: &Fence) -> String {
    let mut text = String::new();
    for handle in selection.handles.iter().filter(|handle| handle.is_derived) {
        let sources = selection.view.sources(handle.ix).filter_map(|ix| selection.by_index(ix));
        let sources: Vec<&str> = sources.map(|source| source.name.as_str()).collect();
        let latest = selection.view.sources(handle.ix).map(|source| selection.view.created(source)).max();
        let changed = if handle.node.state == State::Stale { ", changed since" } else { "" };
        let origin = match (sources.as_slice(), latest) {
            ([], Some(latest)) => format!("other notes, the latest of {}", date(latest)),
            ([], None) => "other notes".to_owned(),
            (sources, _) => sources.join(", "),
        };
        let Excerpt { title, body, .. } = Excerpt::of(&handle.node, definition.prompt.max_node_chars);
        let _ = writeln!(text, "{} (from {origin}{changed}): {}", handle.name, line(&title));
        if !body.trim().is_empty() && body.trim() != title.trim() {
            let _ = writeln!(text, "{}", body.trim());
        }
    }
    if text.is_empty() { "none\n".to_owned() } else { fence.enclose(&text) }
}

/// The neighbours of each selected node, strongest first.
fn linked(selection: &Selection, fence: &Fence, read: &mut NotesShown) -> String {
    let mut text = String::new();
    for handle in selection.selected() {
        let edges = siblings(&selection.view, handle.ix).into_iter();
        let names: Vec<String> = edges
            .map(|edge| format!("{} ({:.2})", name_of(selection, edge.ix, read), edge.strength))
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "{}: {}", handle.name, names.join(", "));
        }
    }
    if text.is_empty() { "none\n".to_owned() } else { fence.enclose(&text) }
}

/// The pairs of similar nodes.
fn pairs(selection: &Selection) -> String {
    let lines: Vec<String> = selection
        .pairs
        .iter()
        .map(|pair| format!("{} and {}: similarity {:.2}", pair.a, pair.b, pair.similarity))
        .collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join("\n") }
}

fn date(at: Timestamp) -> String {
    at.utc().map_or_else(String::new, |at| at.format("%Y-%m-%d").to_string())
}
