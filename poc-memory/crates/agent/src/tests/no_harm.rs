//! Checks that agents do not make search worse. Models that try to do harm run on three kinds of generated
//! notes.
//!
//! The measures are computed here from the planted answers, independently of the evaluation code of the
//! product.

mod data_sets;
mod shapes;

use super::world::{FnModel, World, draft};
use crate::model::{Heuristic, Model, Request};
use crate::run::{RunOptions, Trigger, run_with};
use crate::selection::Handle;
use crate::undo::undo_since;
use crate::{Catalog, Definition};
use poc_graph::time::Span;
use poc_graph::{NodeId, Visibility};
use poc_notes::Draft;
use poc_notes::recall::{RecallOptions, recall};
use serde_json::{Value, json};
use shapes::{NotesAndQuestions, SHAPES, Shape};
use std::collections::BTreeSet;

const TOP: usize = 10;

/// Maximum allowed decrease of a measure: half a percentage point.
const HARM: f64 = 0.005;

/// Maximum expected increase of a measure. A set has few questions, and notes of a hostile model are
/// sometimes correct by chance.
const LUCK: f64 = 0.01;

/// All bundled agents.
const AGENTS: [&str; 8] =
    ["facts", "linker", "quotations", "rename", "replay", "separator", "split", "transfer"];

/// Nights in which the heuristic model runs.
const NIGHTS: i64 = 4;

/// A memory with the notes of a shape and questions about them.
struct QuestionedMemory {
    world: World,
    notes: Vec<NodeId>,
    questions: Vec<(String, BTreeSet<NodeId>)>,
}

/// For each question the hits with their scores, best first.
type Answers = Vec<Vec<(NodeId, f64)>>;

impl QuestionedMemory {
    fn new(shape: &Shape) -> QuestionedMemory {
        QuestionedMemory::of((shape.generate)())
    }

    fn of((notes, questions): NotesAndQuestions) -> QuestionedMemory {
        let world = World::with_default_embedder();
        let store = |(number, body): (usize, &String)| {
            let created = world.memory.now().minus(Span(Span::HOUR.0 * (notes.len() - number) as i64));
            world.draft(Draft {
                title: None,
                node_type: Some("episodic".into()),
                created: Some(created),
                ..draft(&format!("note-{number}"), body)
            })
        };
        let notes: Vec<NodeId> = notes.iter().enumerate().map(store).collect();
        let relevant = |answers: Vec<usize>| answers.into_iter().map(|number| notes[number]).collect();
        let questions = questions.into_iter().map(|(text, answers)| (text, relevant(answers))).collect();
        QuestionedMemory { world, notes, questions }
    }

    fn retrieved(&self) -> Answers {
        let memory = &self.world.memory;
        memory.store.settle();
        let view = memory.store.view();
        let visibility = Visibility::of_person(memory.now());
        let hits = |text: &str| memory.retriever(&view).find(text, TOP, visibility).unwrap().hits;
        let answer = |text: &str| hits(text).into_iter().map(|hit| (hit.id, hit.score)).collect();
        self.questions.iter().map(|(text, _)| answer(text)).collect()
    }

    fn recalled(&self) -> Answers {
        let memory = &self.world.memory;
        memory.store.settle();
        let (view, settings) = (memory.store.view(), &memory.config.recall);
        let answer = |text: &str| {
            let vector = memory.embedder.embed_one(text).unwrap();
            let (hops, oversample) = (settings.hops, settings.oversample);
            let options = RecallOptions { text, vector: &vector, k: TOP, hops, oversample };
            let found = recall(memory, &view, &options, memory.now()).unwrap();
            found.hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
        };
        self.questions.iter().map(|(text, _)| answer(text)).collect()
    }

    /// A memory after some nights in which no agent runs: weights decay.
    fn untouched(notes_and_questions: NotesAndQuestions, nights: i64) -> QuestionedMemory {
        let untouched = QuestionedMemory::of(notes_and_questions);
        untouched.world.clock.advance(Span(Span::DAY.0 * nights));
        untouched
    }

    /// The answers of `recall`, with the numbers of the notes; `None` is a note of an agent.
    fn recalled_numbers(&self) -> Vec<(Option<usize>, f64)> {
        let number = |id: NodeId| self.notes.iter().position(|note| *note == id);
        self.recalled().into_iter().flatten().map(|(id, score)| (number(id), score)).collect()
    }

    /// Recall@5, Recall@10, nDCG@10 and MRR@10.
    fn measures(&self, answers: &Answers) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for ((_, relevant), hits) in self.questions.iter().zip(answers) {
            let found: Vec<bool> = hits.iter().map(|(id, _)| relevant.contains(id)).collect();
            let among = |top: usize| {
                let count = found.iter().take(top).filter(|found| **found).count();
                count as f64 / relevant.len().min(top) as f64
            };
            let gain = |place: usize| 1.0 / ((place + 2) as f64).log2();
            let gained: f64 = (0..found.len()).filter(|&place| found[place]).map(gain).sum();
            let ideal: f64 = (0..relevant.len().min(TOP)).map(gain).sum();
            let first = found.iter().position(|found| *found);
            let of = [among(5), among(TOP), gained / ideal, first.map_or(0.0, |at| 1.0 / (at + 1) as f64)];
            sums.iter_mut().zip(of).for_each(|(sum, value)| *sum += value);
        }
        sums.map(|sum| sum / self.questions.len() as f64)
    }

    /// Runs an agent until it finds nothing to do.
    fn run(&self, definition: &Definition, model: &dyn Model) -> usize {
        let mut applied = 0;
        loop {
            let options = RunOptions::default();
            let row = run_with(&self.world.memory, definition, model, Trigger::Manual, &options).unwrap();
            applied += row.applied_actions().count();
            if row.visited.is_empty() {
                return applied;
            }
        }
    }

    fn definitions(&self, names: &[&str]) -> Vec<Definition> {
        let catalog = Catalog::load(&self.world.memory).unwrap();
        let of = |name: &&str| {
            let mut definition = (**catalog.get(name).unwrap()).clone();
            definition.budget.runs_per_day = 0;
            definition
        };
        names.iter().map(of).collect()
    }

    /// A night in which these agents run with a model.
    fn night(&self, agents: &[&str], model: &dyn Model) -> usize {
        self.world.clock.advance(Span::DAY);
        self.definitions(agents).iter().map(|definition| self.run(definition, model)).sum()
    }
}

/// The hits in their order. The scores of `recall` fall from day to day, as all weights decay.
fn ids(answers: &Answers) -> Vec<Vec<NodeId>> {
    answers.iter().map(|hits| hits.iter().map(|(id, _)| *id).collect()).collect()
}

/// Asserts that `recall` finds the same notes as without agents, and that no score is lower.
fn assert_no_score_falls(now: &QuestionedMemory, untouched: &QuestionedMemory, what: &str) {
    let (now, then) = (now.recalled_numbers(), untouched.recalled_numbers());
    assert_eq!(now.len(), then.len(), "{what}");
    for (now, then) in now.into_iter().zip(then) {
        assert!(now.0 == then.0 && now.1 >= then.1 * (1.0 - 1e-9), "{what}: {then:?} became {now:?}");
    }
}

fn link(from: &str, to: &str) -> Value {
    json!({"reason": "everything belongs together", "from": from, "to": to, "strength": 1.0})
}

fn fact(title: &str, sources: &[&str]) -> Value {
    json!({"reason": "", "key": "", "title": title, "body": "", "keywords": [], "sources": sources})
}

fn everything_to_everything(request: &Request<'_>) -> Value {
    let names: Vec<&str> = request.selection.handles.iter().map(|handle| handle.name.as_str()).collect();
    let pairs =
        names.iter().enumerate().flat_map(|(at, from)| names[at + 1..].iter().map(|to| link(from, to)));
    json!({"notes": "", "link-add": pairs.take(1000).collect::<Vec<_>>()})
}

fn a_hundred_times(request: &Request<'_>) -> Value {
    let mut facts = Vec::new();
    for handle in request.selection.selected() {
        let text = handle.node.body.trim();
        for number in 0..100 {
            let title = match number % 3 {
                0 => text.to_owned(),
                1 => format!("{text} ({number})"),
                _ => format!("{text} Indeed, really, once more {number}."),
            };
            facts.push(fact(&title, &[&handle.name]));
        }
    }
    json!({"notes": "", "insert": facts})
}

fn unseen(request: &Request<'_>) -> Value {
    let (mut facts, mut links) = (Vec::new(), Vec::new());
    let chosen: Vec<_> = request.selection.selected().collect();
    for (at, handle) in chosen.iter().enumerate() {
        let other = &chosen[(at + chosen.len() / 2) % chosen.len()];
        let beyond = format!("N{}", 500 + at);
        facts.push(fact(&other.node.body, &[&beyond]));
        facts.push(fact(&other.node.body, &[&handle.node.key]));
        facts.push(fact(&format!("{} So it is.", other.node.body), &[&handle.name]));
        facts.push(fact(&format!("{} Nobody said it.", other.node.body), &[]));
        links.push(link(&handle.name, &beyond));
        links.push(link(&beyond, &handle.node.key));
    }
    json!({"notes": "", "insert": facts, "link-add": links})
}

fn unsourced(request: &Request<'_>) -> Value {
    let of = |body: &str| [fact(body, &[]), fact(&format!("{body} So it was said."), &[])];
    let facts: Vec<Value> =
        request.selection.selected().flat_map(|handle| of(handle.node.body.trim())).collect();
    json!({"notes": "", "insert": facts})
}

fn every_weight_lower(request: &Request<'_>) -> Value {
    let lower = |handle: &Handle| json!({"reason": "it does not matter", "node": handle.name, "delta": -0.2});
    json!({"notes": "", "weight": request.selection.selected().map(lower).collect::<Vec<_>>()})
}

type HostileReply = fn(&Request<'_>) -> Value;

const HOSTILE: [(&str, HostileReply); 4] = [
    ("links everything to everything", everything_to_everything),
    ("states each fact a hundred times", a_hundred_times),
    ("cites what it has not seen", unseen),
    ("repeats every note without a source", unsourced),
];

#[test]
fn hostile_models_change_no_measure_by_half_a_point_and_a_night_can_be_undone() {
    for shape in &SHAPES {
        let untouched = QuestionedMemory::untouched((shape.generate)(), 1);
        for (name, reply) in HOSTILE {
            let probed = QuestionedMemory::new(shape);
            let (before, recalled) = (probed.retrieved(), probed.recalled());
            let good = probed.measures(&before);
            // The questions are neither hopeless nor trivial.
            assert!((0.3..0.999).contains(&good[2]), "{}: {good:?}", shape.name);
            let evening = probed.world.memory.now();
            let written = probed.night(&["linker", "facts"], &FnModel(reply));
            let after = probed.measures(&probed.retrieved());
            for (then, now) in good.iter().zip(after) {
                let what = format!("a model that {name}, {}", shape.name);
                assert!(
                    (-HARM..=LUCK).contains(&(now - then)),
                    "{what}: {good:?} became {after:?} ({written} writes)"
                );
            }
            assert_no_score_falls(&probed, &untouched, &format!("{name}, {}", shape.name));

            undo_since(&probed.world.memory, evening, None).unwrap();
            assert!(probed.retrieved() == before, "{name}, {}", shape.name);
            assert!(ids(&probed.recalled()) == ids(&recalled), "{name}, {}", shape.name);
        }
    }
}

/// `replay` reads each note every night.
#[test]
fn a_model_that_lowers_every_weight_changes_no_measure_of_recall() {
    for shape in &SHAPES {
        let probed = QuestionedMemory::new(shape);
        let retrieved = probed.retrieved();
        let mut lowered = 0;
        for _ in 0..NIGHTS {
            lowered += probed.night(&["linker", "replay"], &FnModel(every_weight_lower));
        }
        // Each note once, and no note again and again.
        let notes: BTreeSet<NodeId> = probed.notes.iter().copied().collect();
        assert_eq!(lowered, notes.len(), "{}", shape.name);
        for note in notes {
            let weight = probed.world.weight(note);
            assert!((0.799..=1.0).contains(&weight), "{}: {weight}", shape.name);
        }
        let untouched = QuestionedMemory::untouched((shape.generate)(), NIGHTS);
        let good = untouched.measures(&untouched.recalled());
        let after = probed.measures(&probed.recalled());
        for (then, now) in good.iter().zip(after) {
            assert!((now - then).abs() <= HARM, "{}: {good:?} became {after:?}", shape.name);
        }
        assert!(ids(&probed.retrieved()) == ids(&retrieved), "{}", shape.name);
    }
}

#[test]
fn the_heuristic_model_lowers_no_measure_and_no_score_of_recall() {
    for shape in &SHAPES {
        let probed = QuestionedMemory::new(shape);
        let before = probed.retrieved();
        let good = probed.measures(&before);
        let evening = probed.world.memory.now();
        let model = Heuristic::new(&probed.world.memory.config).unwrap();
        for _ in 0..NIGHTS {
            probed.night(&AGENTS, &model);
        }
        let after = probed.measures(&probed.retrieved());
        for (then, now) in good.iter().zip(after) {
            assert!(now >= then - HARM, "{}: {good:?} became {after:?}", shape.name);
        }
        let untouched = QuestionedMemory::untouched((shape.generate)(), NIGHTS);
        assert_no_score_falls(&probed, &untouched, shape.name);

        undo_since(&probed.world.memory, evening, None).unwrap();
        assert!(probed.retrieved() == before, "{}", shape.name);
    }
}

#[test]
#[ignore = "needs banking77, locomo and musique in the folder POC_MEMORY_SETS, each with docs.jsonl, queries.jsonl and qrels.tsv"]
fn the_heuristic_model_lowers_no_measure_of_recall_over_data_sets() {
    let folder = std::env::var_os("POC_MEMORY_SETS").expect("set POC_MEMORY_SETS to the folder of the sets");
    for name in ["banking77", "locomo", "musique"] {
        let set = data_sets::read(&std::path::Path::new(&folder).join(name));
        let probed = QuestionedMemory::of(set.clone());
        let model = Heuristic::new(&probed.world.memory.config).unwrap();
        for _ in 0..NIGHTS {
            probed.night(&AGENTS, &model);
        }
        let untouched = QuestionedMemory::untouched(set, NIGHTS);
        let untouched = untouched.measures(&untouched.recalled());
        let after = probed.measures(&probed.recalled());
        println!("{name}: {untouched:?} became {after:?}");
        for (then, now) in untouched.iter().zip(after) {
            assert!(now >= then - HARM, "{name}: {untouched:?} became {after:?}");
        }
    }
}
