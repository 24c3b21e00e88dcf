//! A selection of notes for the heuristic model.

use crate::definition::{ActionKind, Targets};
use crate::model::heuristic::Heuristic;
use crate::model::{Model, Request};
use crate::selection::{Handle, HandlePair, LinkCandidate, PromptExtent, Selection};
use crate::testing::request::TestRequest;
use poc_config::Config;
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Delta, EdgeKind, Node, View, testing};
use poc_index::Index;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) const ALL: [ActionKind; 4] =
    [ActionKind::LinkAdd, ActionKind::Weight, ActionKind::Insert, ActionKind::Supersede];

/// Nodes `N1`, `N2`, … with these texts, all selected and whole.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<(usize, usize)>,
    /// Notes that are not selected, because they were derived from selected ones, each with its source.
    pub(super) derived: Vec<(usize, usize)>,
    /// The nodes of each session, in their order.
    pub(super) sessions: Vec<Vec<usize>>,
    /// From, to, cosine, shared names; `to` may be an unknown handle.
    pub(super) candidates: Vec<(usize, String, f64, Vec<String>)>,
    pub(super) pairs: Vec<(usize, usize, f64)>,
    pub(super) now: Timestamp,
}

impl Scene {
    pub(super) fn like(mut self, a: usize, b: usize, cosine: f64) -> Scene {
        self.candidates.push((a, format!("N{b}"), cosine, Vec::new()));
        self
    }

    pub(super) fn sharing(mut self, a: usize, b: usize, names: &[&str]) -> Scene {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.candidates.push((a, format!("N{b}"), 0.1, names));
        self
    }

    pub(super) fn pair(mut self, a: usize, b: usize, similarity: f64) -> Scene {
        self.pairs.push((a, b, similarity));
        self
    }

    pub(super) fn edge(mut self, a: usize, b: usize) -> Scene {
        self.edges.push((a, b));
        self
    }

    pub(super) fn selection(&self) -> Selection {
        let mut view = View::new();
        let nodes = self.nodes.iter().cloned().map(|node| Delta::Node(Arc::new(node)));
        let activity =
            self.nodes.iter().map(|node| Delta::Activity(node.id, Activity::new(node.created, 1.0)));
        let edges = self
            .edges
            .iter()
            .map(|(a, b)| Delta::from(testing::edge(*a as u64, *b as u64, EdgeKind::Link, 0.5)));
        let derived = self.derived.iter().map(|(note, source)| {
            Delta::from(testing::edge(*note as u64, *source as u64, EdgeKind::DerivedFrom, 1.0))
        });
        let pairs = self.sessions.iter().flat_map(|session| session.windows(2));
        let order = pairs
            .flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])])
            .map(|(from, to)| Delta::from(testing::edge(from as u64, to as u64, EdgeKind::Structural, 0.5)));
        view.apply(1, &nodes.chain(activity).chain(edges).chain(derived).chain(order).collect::<Vec<_>>());
        let is_derived = |at: usize| self.derived.iter().any(|(note, _)| *note == at + 1);
        let handles = self.nodes.iter().enumerate().map(|(at, node)| Handle {
            name: format!("N{}", at + 1),
            node: Arc::new(node.clone()),
            ix: view.find(node.id).unwrap(),
            reach: if is_derived(at) { Targets::Neighborhood } else { Targets::Results },
            shown: PromptExtent::Whole,
            is_derived: is_derived(at),
            protected: false,
            weight: 1.0,
            candidates: self
                .candidates
                .iter()
                .filter(|(from, ..)| *from == at + 1)
                .map(|(_, to, cosine, names)| LinkCandidate {
                    handle: to.clone(),
                    cosine: *cosine,
                    shared_names: names.clone(),
                })
                .collect(),
        });
        let handles = handles.collect();
        let pairs = self.pairs.iter().map(|(a, b, similarity)| HandlePair {
            a: format!("N{a}"),
            b: format!("N{b}"),
            similarity: *similarity,
        });
        let (partners, shown_beside_partners) = (HashMap::new(), HashSet::new());
        let in_session = |(session, numbers): (usize, &Vec<usize>)| {
            let ix = |number: &usize| view.find(self.nodes[number - 1].id).unwrap();
            numbers.iter().map(|number| (ix(number), session + 1)).collect::<Vec<_>>()
        };
        let sessions = self.sessions.iter().enumerate().flat_map(in_session).collect();
        let (view, pairs, read) = (Arc::new(view), pairs.collect(), Vec::new());
        Selection { view, handles, pairs, partners, shown_beside_partners, sessions, read }
    }

    pub(super) fn answer(&self, actions: &[ActionKind]) -> Value {
        self.reply(actions, |request| request)
    }

    /// The reply to an agent that inserts quotations of at most `max_chars` characters.
    pub(super) fn quotations(&self, max_chars: usize) -> Value {
        let may = [ActionKind::Insert, ActionKind::Supersede];
        self.reply(&may, |request| Request {
            shows_derived: true,
            only_quotations: true,
            max_chars,
            ..request
        })
    }

    /// The reply to an agent that extracts facts.
    pub(super) fn facts(&self) -> Value {
        let may = [ActionKind::Insert, ActionKind::Supersede];
        self.reply(&may, |request| Request { shows_derived: true, ..request })
    }

    fn reply(&self, actions: &[ActionKind], adapt: impl for<'a> Fn(Request<'a>) -> Request<'a>) -> Value {
        let config = Config::defaults().unwrap();
        let scores = config.retrieve.scores.clone();
        let (settings, cosines) = (config.heuristic, config.cosines["hash"].clone());
        let mut turn = TestRequest::new("linker");
        (turn.selection, turn.actions, turn.now) = (self.selection(), actions.to_vec(), self.now);
        let nodes = self.nodes.iter().cloned().map(|node| Delta::Node(Arc::new(node)));
        turn.text.apply(1, &nodes.collect::<Vec<_>>()).unwrap();
        let model = Heuristic { settings, cosines, scores };
        model.call(&adapt(turn.request())).unwrap().structured.unwrap()
    }

    pub(super) fn links(&self) -> Vec<String> {
        rows(&self.answer(&[ActionKind::LinkAdd]), "link-add")
    }

    pub(super) fn supersedes(&self) -> Vec<String> {
        rows(&self.answer(&[ActionKind::Supersede]), "supersede")
    }
}

pub(super) fn scene(texts: &[(&str, &str)]) -> Scene {
    let nodes = texts.iter().zip(1..).map(|((title, body), number)| Node {
        title: (*title).into(),
        body: (*body).into(),
        ..testing::node(number)
    });
    Scene {
        nodes: nodes.collect(),
        edges: Vec::new(),
        derived: Vec::new(),
        sessions: Vec::new(),
        candidates: Vec::new(),
        pairs: Vec::new(),
        now: Timestamp(0),
    }
}

/// The values of each row of an action, in order.
pub(super) fn rows(answer: &Value, action: &str) -> Vec<String> {
    let words = |row: &Value| {
        let values = row.as_object().unwrap().values();
        values
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect::<Vec<_>>()
    };
    answer[action]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| words(row).join(" | ").trim_end_matches([' ', '|']).to_owned())
        .collect()
}
