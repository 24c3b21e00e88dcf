//! Selects the notes for the start of a session.

use super::scope::{Membership, ProjectNotes};
use super::turn_text::{self, Statement};
use super::{ContextNote, SessionFilter};
use crate::Memory;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Category, Ix, Node, NodeType, Trust, View, Visibility, one_line, provenance};

/// Keywords of notes on unfinished work.
const OPEN: [&str; 5] = ["open", "question", "task", "todo", "thread"];

/// Keywords of notes on a decision.
const DECISIONS: [&str; 3] = ["adr", "decision", "decisions"];

/// Maximum number of notes in each part.
const MAX_NOTES: usize = 6;

/// Maximum number of sessions, the latest ones, whose turns are searched for decisions and open work.
const MAX_SESSIONS: usize = 5;

/// Maximum number of turns of these sessions.
const MAX_TURNS: usize = 200;

/// Maximum number of characters of a note's text.
const MAX_CHARS: usize = 240;

/// Maximum number of characters from the end of the last session.
const MAX_LAST_CHARS: usize = 600;

/// The parts of a briefing, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BriefingPart {
    /// The last turn of the project's sessions that is not only routine or thanks.
    LastSession,
    /// Open work: tasks, notes with a keyword such as `open` or `todo`, and what turns of the last five sessions say is
    /// open.
    Open,
    /// Decisions: notes with the keyword `decision`, and decisions in turns of the last five sessions.
    Decisions,
    /// Notes that apply to all projects: pinned, or of the category `core`.
    Standing,
    /// Notes that agents have written since the last session.
    Found,
    /// Other notes of the project, the last changed ones.
    Recent,
}

/// The notes for the start of a session, in the order of [`BriefingPart`]. Parts without notes are left out.
#[derive(Clone, Debug, Default)]
pub struct Briefing {
    /// The notes of each part, the latest first.
    pub parts: Vec<(BriefingPart, Vec<ContextNote>)>,
}

/// Selects the notes for the start of a session with the settings `[hooks]`: those of its project, or of no project
/// if its folder belongs to none.
///
/// # Errors
/// When the store cannot be read.
pub fn briefing(memory: &Memory, session: SessionFilter<'_>) -> Result<Briefing> {
    let view = memory.store.view();
    let projects = ProjectNotes::of(&view, session, memory.config.hooks.scope);
    let visibility = Visibility::of_model(memory.now());
    let wanted = match session.project {
        Some(_) => Membership::Own,
        None => Membership::Unlabelled,
    };
    let mut candidates = Candidates::of(&view, &projects, wanted, visibility);
    let latest = candidates.latest_turns();
    let since = latest.first().map_or(Timestamp(0), |&ix| view.modified(ix));
    let mut turns = Vec::new();
    for ix in latest {
        turns.extend(node_at(memory, &view, ix)?.map(|node| (ix, node)));
    }
    let last = turns.iter().find(|(_, turn)| turn_text::has_content(turn)).map(|(ix, _)| *ix);
    let language = &memory.config.write.language;
    let stated: Vec<_> =
        turns.iter().map(|(_, turn)| (turn, turn_text::statements(turn, language))).collect();
    let mut briefing = Briefing::default();
    for part in [
        BriefingPart::LastSession,
        BriefingPart::Open,
        BriefingPart::Decisions,
        BriefingPart::Standing,
        BriefingPart::Found,
        BriefingPart::Recent,
    ] {
        let mut notes = Vec::new();
        for ix in candidates.take(part, last, since) {
            let Some(node) = node_at(memory, &view, ix)? else { continue };
            let (text, is_whole) = match part {
                BriefingPart::LastSession => end_of(&node),
                _ => start_of(&node),
            };
            notes.push(ContextNote { node, text, is_whole });
        }
        let kind = match part {
            BriefingPart::Open => Some(Statement::Open),
            BriefingPart::Decisions => Some(Statement::Decision),
            _ => None,
        };
        if let Some(kind) = kind {
            let shown = briefing.last_session_text();
            for (turn, statements) in &stated {
                let texts = statements.iter().filter(|(stated, _)| *stated == kind);
                let texts = texts.map(|(_, text)| text.as_str()).filter(|text| !shown.contains(*text));
                let texts: Vec<&str> = texts.collect();
                add_statement(&mut notes, turn, &texts.join(" "));
            }
        }
        if !notes.is_empty() {
            briefing.parts.push((part, notes));
        }
    }
    Ok(briefing)
}

impl Briefing {
    /// The text of the last turn of the last session; empty if there is none.
    fn last_session_text(&self) -> &str {
        let last = self.parts.first().filter(|(part, _)| *part == BriefingPart::LastSession);
        last.and_then(|(_, notes)| notes.first()).map_or("", |note| note.text.as_str())
    }
}

/// The note at a slot of the view; `None` if it was deleted since the view was taken.
fn node_at(memory: &Memory, view: &View, ix: Ix) -> Result<Option<Node>> {
    Ok(view.id(ix).map(|id| memory.store.node(id)).transpose()?.flatten())
}

/// Whether a note is pinned or of the category `core`.
fn is_standing(view: &View, ix: Ix) -> bool {
    view.trust(ix) == Trust::Pinned || view.category(ix) == Category::Core
}

/// Adds what a turn states to the notes of a part, if there is room and the turn is not among them.
fn add_statement(notes: &mut Vec<ContextNote>, turn: &Node, text: &str) {
    if text.is_empty() || notes.len() >= MAX_NOTES || notes.iter().any(|note| note.node.id == turn.id) {
        return;
    }
    let text = super::prompt_context::cut(text, MAX_CHARS);
    // A statement that is repeated is shown with its latest date.
    if notes.iter().all(|note| note.text != text) {
        notes.push(ContextNote { node: turn.clone(), text, is_whole: false });
    }
}

/// Notes that are not in a part yet.
struct Candidates<'a> {
    view: &'a View,
    own: Vec<Ix>,
    standing: Vec<Ix>,
}

impl<'a> Candidates<'a> {
    /// The visible notes with the membership `wanted`, and those that apply to all projects.
    fn of(
        view: &'a View,
        projects: &ProjectNotes<'_>,
        wanted: Membership,
        visibility: Visibility,
    ) -> Candidates<'a> {
        let mut candidates = Candidates { view, own: Vec::new(), standing: Vec::new() };
        for ix in 0..view.slots() {
            if !view.is_visible(ix, visibility) {
                continue;
            }
            // This is checked first: it is fast, and most notes may belong to other projects.
            let list = match projects.membership(ix) {
                membership if membership == wanted => &mut candidates.own,
                Membership::Unlabelled if is_standing(view, ix) => &mut candidates.standing,
                _ => continue,
            };
            if projects.admits(ix) && !view.is_pointer(ix) {
                list.push(ix);
            }
        }
        candidates
    }

    /// The turns of the last sessions, the latest first.
    fn latest_turns(&self) -> Vec<Ix> {
        let view = self.view;
        let Some(episodic) = view.type_number(NodeType::EPISODIC) else { return Vec::new() };
        // Chunks of messages are episodic, too, but belong to no session.
        let is_turn = |ix: &Ix| view.node_type(*ix) == episodic && !session_of(view.key(*ix)).is_empty();
        let mut turns: Vec<Ix> = self.own.iter().copied().filter(is_turn).collect();
        turns.sort_unstable_by_key(|&ix| std::cmp::Reverse((view.created(ix), view.id(ix))));
        let mut sessions: Vec<&str> = Vec::new();
        let is_recent = |ix: &&Ix| {
            let session = session_of(view.key(**ix));
            if !sessions.contains(&session) {
                sessions.push(session);
            }
            sessions.len() <= MAX_SESSIONS
        };
        let count = turns.iter().take(MAX_TURNS).take_while(is_recent).count();
        turns.truncate(count);
        turns
    }

    /// Removes the notes of a part and returns the latest ones.
    fn take(&mut self, part: BriefingPart, last: Option<Ix>, since: Timestamp) -> Vec<Ix> {
        let view = self.view;
        if part == BriefingPart::Standing {
            let mut standing = std::mem::take(&mut self.standing);
            standing.extend(self.own.extract_if(.., |ix| is_standing(view, *ix)));
            return latest(view, standing);
        }
        let has = |ix: Ix, words: &[&str]| {
            view.keywords(ix).iter().any(|number| words.contains(&view.keyword_name(*number)))
        };
        let is_in = |ix: Ix| match part {
            BriefingPart::LastSession => Some(ix) == last,
            BriefingPart::Open => view.category(ix) == Category::Task || has(ix, &OPEN),
            BriefingPart::Decisions => has(ix, &DECISIONS),
            BriefingPart::Found => provenance::is_agent(view.provenance_name(ix)) && view.created(ix) > since,
            BriefingPart::Recent => !NodeType::is_episodic_kind(view.type_name(ix)),
            BriefingPart::Standing => false,
        };
        latest(view, self.own.extract_if(.., |ix| is_in(*ix)).collect())
    }
}

/// The notes that changed last, the latest first.
fn latest(view: &View, mut notes: Vec<Ix>) -> Vec<Ix> {
    notes.sort_by_key(|&ix| std::cmp::Reverse((view.modified(ix), view.id(ix))));
    notes.truncate(MAX_NOTES);
    notes
}

/// The beginning of a note on one line, without its title, and whether that is all of it.
fn start_of(node: &Node) -> (String, bool) {
    let line = one_line(&node.body);
    let rest = line.trim_start_matches(['#', ' ']);
    let rest = rest.strip_prefix(node.title.trim_end_matches('…')).unwrap_or(rest).trim();
    (super::prompt_context::cut(rest, MAX_CHARS), rest.chars().count() <= MAX_CHARS)
}

/// The beginning of the key of a turn that all turns of its session and of its subagents share; empty for notes that
/// are no turns of a captured session.
fn session_of(key: &str) -> &str {
    key.match_indices('/').nth(1).and_then(|(end, _)| key.get(..end)).unwrap_or_default()
}

/// The end of a note on one line, and whether that is all of it.
fn end_of(node: &Node) -> (String, bool) {
    let line = one_line(&node.body);
    let left_out = line.chars().count().saturating_sub(MAX_LAST_CHARS);
    match left_out {
        0 => (line, true),
        _ => (format!("… {}", line.chars().skip(left_out).collect::<String>()), false),
    }
}
