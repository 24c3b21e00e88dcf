//! Proposes overviews: notes that quote the common content of several episodes.

use super::Nodes;
use super::own_text::{Segment, distinct, segments};
use super::words::RareTerms;
use crate::selection::{Handle, LinkCandidate};
use poc_graph::{Ix, NodeType, View, provenance};
use poc_index::{MentionIndex, TextIndex};
use poc_rank::lookalike::identifiers;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of words in a title.
const WORDS_NAMED: usize = 3;
/// The line in place of the sentences that do not fit.
const REST: &str = "\n- …";
/// Maximum characters of a quoted sentence.
const MAX_SENTENCE_CHARS: usize = 300;

/// Episodes that share rare words.
pub(super) struct EpisodeGroup<'a> {
    pub(super) episodes: Vec<&'a Handle>,
    /// Number of sessions they belong to. A message and its answer belong to one session.
    sessions: usize,
    /// Words that all of them contain, the rarest first.
    pub(super) words: Vec<String>,
    /// The index terms of the words.
    terms: BTreeSet<String>,
    weight: f64,
}

/// The groups that get an overview, those with most in common first. Groups do not overlap. Groups that already
/// have an overview are left out, and the agent's own notes stay a small share of the memory.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    agent: &str,
) -> Vec<EpisodeGroup<'a>> {
    let view = &nodes.selection.view;
    let remaining = remaining_notes(settings, view, agent).min(settings.transfer_max);
    let rare = RareTerms::new(text, view.live_count(), &nodes.selection.handles);
    let mut groups = candidates(settings, cosines, nodes, text, &rare);
    groups.retain(|group| !has_overview(settings, view, group));
    groups.sort_by(|a, b| {
        let first = |group: &EpisodeGroup<'_>| group.episodes.first().map(|handle| nodes.position(handle));
        b.weight.total_cmp(&a.weight).then_with(|| first(a).cmp(&first(b)))
    });
    let mut used = BTreeSet::new();
    groups.retain(|group| {
        let names: Vec<&str> = group.episodes.iter().map(|handle| handle.name.as_str()).collect();
        let is_new = names.iter().all(|name| !used.contains(name));
        if is_new {
            used.extend(names);
        }
        is_new
    });
    groups.truncate(remaining);
    groups
}

/// How many more notes the agent may add within its share of the memory.
fn remaining_notes(settings: &poc_config::HeuristicConfig, view: &View, agent: &str) -> usize {
    let own = provenance::of_agent(agent);
    let made = (0..view.slots()).filter(|&ix| view.is_live(ix) && view.provenance_name(ix) == own).count();
    let allowed = (view.live_count() as f64 * settings.transfer_share) as usize;
    allowed.saturating_sub(made)
}

/// The rare terms of a sentence, and which of them are names.
struct SentenceTerms<'a> {
    terms: BTreeSet<&'a str>,
    names: BTreeSet<&'a str>,
}

/// For each sentence of an episode that no other episode of the selection repeats: its rare terms.
fn sentence_terms<'r>(
    text: &TextIndex,
    rare: &'r RareTerms<'_>,
    handle: &Handle,
    own: Vec<Segment<'_>>,
    others: &[&[Segment<'_>]],
) -> Vec<SentenceTerms<'r>> {
    let body = &handle.node.body;
    let capitalized = MentionIndex::capitalized_names(body);
    let names = capitalized.iter().map(String::as_str).chain(identifiers(body));
    let names: BTreeSet<String> = names.filter_map(|name| text.tokens(name).into_iter().next()).collect();
    let of = |segment: Segment<'_>| {
        let words: BTreeSet<String> = text.query_tokens(segment.text).into_iter().collect();
        let terms: BTreeSet<&str> =
            rare.of(handle).map(|(term, _)| term).filter(|term| words.contains(*term)).collect();
        let names = terms.iter().copied().filter(|term| names.contains(*term)).collect();
        SentenceTerms { terms, names }
    };
    distinct(own, others).into_iter().map(of).collect()
}

/// Sets of episodes that share two rare words, each with all the words its episodes share. In each episode
/// both words must be in one sentence, and one of them must be a name, because sessions about different
/// subjects may share two words by chance.
fn candidates<'a>(
    settings: &poc_config::HeuristicConfig,
    cosines: &poc_config::CosinesConfig,
    nodes: &Nodes<'a>,
    text: &TextIndex,
    rare: &RareTerms<'_>,
) -> Vec<EpisodeGroup<'a>> {
    let is_episode =
        |handle: &&Handle| handle.is_selected() && NodeType::is_episodic_kind(&handle.node.node_type.0);
    let episodes: Vec<&Handle> = nodes.selection.handles.iter().filter(is_episode).collect();
    let all: Vec<Vec<Segment<'_>>> = episodes.iter().map(|handle| segments(&handle.node.body)).collect();
    let mut having: BTreeMap<&str, (BTreeSet<usize>, f64)> = BTreeMap::new();
    let mut together: BTreeMap<(&str, &str), BTreeSet<usize>> = BTreeMap::new();
    for (at, handle) in episodes.iter().enumerate() {
        let (before, after) = (all.iter().take(at), all.iter().skip(at + 1));
        let others: Vec<&[Segment<'_>]> = before.chain(after).map(Vec::as_slice).collect();
        for sentence in sentence_terms(text, rare, handle, segments(&handle.node.body), &others) {
            for term in &sentence.terms {
                for name in sentence.names.iter().filter(|name| *name != term) {
                    let pair = ((*name).min(*term), (*name).max(*term));
                    together.entry(pair).or_default().insert(at);
                }
                let idf = rare.of(handle).find(|(other, _)| other == term).map_or(0.0, |(_, idf)| idf);
                having.entry(*term).or_insert_with(|| (BTreeSet::new(), idf)).0.insert(at);
            }
        }
    }
    having.retain(|_, (places, _)| places.len() >= settings.transfer_episodes);
    let sets: BTreeSet<Vec<usize>> = together
        .into_values()
        .filter(|places| places.len() >= settings.transfer_episodes)
        .map(|places| places.into_iter().collect())
        .collect();
    let group = |set: Vec<usize>| {
        let members: Vec<&Handle> = set.iter().filter_map(|&at| episodes.get(at).copied()).collect();
        let is_related = |one: &&&Handle| members.iter().any(|other| are_related(cosines, nodes, one, other));
        let members: Vec<&Handle> = members.iter().filter(is_related).copied().collect();
        let first = members.first()?;
        let view = &nodes.selection.view;
        let sessions = members.iter().map(|handle| view.session(handle.ix)).collect::<BTreeSet<_>>().len();
        if sessions < settings.transfer_episodes {
            return None;
        }
        let mut shared: Vec<(&str, f64)> = having
            .iter()
            .filter(|(_, (places, _))| set.iter().all(|at| places.contains(at)))
            .map(|(term, (_, idf))| (*term, *idf))
            .collect();
        shared.sort_by(|(a, one), (b, other)| {
            other.total_cmp(one).then_with(|| b.len().cmp(&a.len())).then_with(|| a.cmp(b))
        });
        let mut words: Vec<String> = Vec::new();
        for (term, _) in &shared {
            let word = rare.spelled(term, &first.node);
            if !words.iter().any(|named| named.contains(&word) || word.contains(named)) {
                words.push(word);
            }
        }
        let weight = shared.iter().map(|(_, idf)| idf).sum::<f64>();
        let terms = shared.iter().map(|(term, _)| (*term).to_owned()).collect();
        // A name and its parts count as one word.
        (words.len() >= 2).then_some(EpisodeGroup { episodes: members, sessions, words, terms, weight })
    };
    sets.into_iter().filter_map(group).collect()
}

/// Whether two notes are linked, or candidates for a link in this selection.
fn are_related(cosines: &poc_config::CosinesConfig, nodes: &Nodes<'_>, a: &Handle, b: &Handle) -> bool {
    let near = |from: &Handle, to: &Handle| {
        let is_near = |near: &LinkCandidate| near.cosine >= cosines.link || !near.shared_names.is_empty();
        from.candidates.iter().any(|near| near.handle == to.name && is_near(near))
    };
    a.node.id != b.node.id && (nodes.selection.view.are_adjacent(a.ix, b.ix) || near(a, b) || near(b, a))
}

/// Whether some note that is not an episode was derived from, or is linked to, enough episodes of the group to
/// be its overview.
fn has_overview(settings: &poc_config::HeuristicConfig, view: &View, group: &EpisodeGroup<'_>) -> bool {
    let mut related: BTreeMap<Ix, usize> = BTreeMap::new();
    for handle in &group.episodes {
        let linked = view.merged_edges(handle.ix).map(|edge| edge.ix);
        let notes: BTreeSet<Ix> = linked.chain(view.derived_notes(handle.ix)).collect();
        for ix in notes {
            if view.is_live(ix) && !NodeType::is_episodic_kind(view.type_name(ix)) {
                *related.entry(ix).or_default() += 1;
            }
        }
    }
    related.values().any(|&count| count >= settings.transfer_episodes)
}

impl EpisodeGroup<'_> {
    /// The action of a reply that inserts the overview. Its text has at most `max` characters.
    pub(super) fn insertion(&self, text: &TextIndex, max: usize) -> Value {
        let names: Vec<&str> = self.episodes.iter().map(|handle| handle.name.as_str()).collect();
        json!({"reason": self.reason(), "key": "", "title": self.title(), "body": self.body(text, max),
               "keywords": [], "sources": names})
    }

    fn title(&self) -> String {
        let words: Vec<&str> = self.words.iter().take(WORDS_NAMED).map(String::as_str).collect();
        format!("{}: what {} sessions say", words.join(", "), self.sessions)
    }

    fn reason(&self) -> String {
        let words: Vec<String> =
            self.words.iter().take(WORDS_NAMED).map(|word| format!("`{word}`")).collect();
        format!("{} similar sessions mention {}", self.sessions, words.join(", "))
    }

    /// A quoted sentence of each episode that contains the words; at most `max` characters.
    fn body(&self, text: &TextIndex, max: usize) -> String {
        let mut body = String::from("Quoted from sessions that have these words in common:\n");
        for handle in &self.episodes {
            let node = &handle.node;
            let day = node.created.utc().map_or_else(String::new, |at| at.format("%Y-%m-%d").to_string());
            let line = format!("\n- {day}, `{}`: “{}”", node.key, self.sentence(handle, text));
            if body.chars().count() + line.chars().count() + REST.chars().count() > max {
                body.push_str(REST);
                break;
            }
            body.push_str(&line);
        }
        body
    }

    /// The sentence of an episode with most of the words, or its title.
    fn sentence(&self, handle: &Handle, text: &TextIndex) -> String {
        let node = &handle.node;
        let matches = |sentence: &str| {
            let terms: BTreeSet<String> = text.query_tokens(sentence).into_iter().collect();
            terms.intersection(&self.terms).count()
        };
        let sentences = node.body.lines().flat_map(|line| line.unicode_sentences());
        let mut best = (0, node.title.as_str());
        for sentence in sentences {
            let count = matches(sentence);
            if count > best.0 {
                best = (count, sentence);
            }
        }
        let plain = best.1.split_whitespace().collect::<Vec<_>>().join(" ");
        match plain.char_indices().nth(MAX_SENTENCE_CHARS) {
            Some((end, _)) => format!("{}…", plain.get(..end).unwrap_or(&plain)),
            None => plain,
        }
    }
}
