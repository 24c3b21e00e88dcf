//! A conversation of two people that `quotations` reads: what they say is found by what they were asked.

use super::world::{FnModel, World, draft, parse};
use crate::ledger::{Run, Status, StatusReason};
use crate::model::Request;
use crate::run::{RunOptions, Trigger, run};
use crate::selection::backlog;
use crate::undo::undo;
use crate::{Catalog, Definition};
use poc_graph::{NodeId, Visibility};
use poc_notes::Draft;
use poc_notes::import::{ImportOptions, ImportSource, import};
use poc_notes::recall::{RecallOptions, recall};
use poc_search::retrieve::explore::{Exploration, ExploreQuery, explore};
use serde_json::json;

/// Three sessions.
const MESSAGES: &str = include_str!("quoted_conversation/messages.jsonl");

/// The words of the question are those of the message before the answer, except the name, which is in no text.
const QUESTION: &str = "What did Ben do with the violin of his grandmother?";
const ANSWER: &str = "chat-2";

fn bundled(world: &World, agent: &str) -> Definition {
    (**Catalog::load(&world.memory).unwrap().get(agent).unwrap()).clone()
}

struct Conversation {
    world: World,
    definition: Definition,
}

impl Conversation {
    fn new() -> Conversation {
        let world = World::with_default_embedder();
        let source = ImportSource::Text(MESSAGES.into());
        let report = import(&world.memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
        assert_eq!((report.inserted, report.failed.len()), (9, 0), "{report:?}");
        let definition = bundled(&world, "quotations");
        Conversation { world, definition }
    }

    /// A run with the configured model, which is the heuristic one.
    fn read(&self) -> Run {
        let ran = run(&self.world.memory, &self.definition, Trigger::Manual, &RunOptions::default()).unwrap();
        self.world.memory.store.settle();
        ran
    }

    /// The notes that the agent wrote: title and body.
    fn quotations(&self) -> Vec<(String, String)> {
        let (store, view) = (&self.world.memory.store, self.world.memory.store.view());
        let is_own = |ix| view.is_live(ix) && view.provenance_name(ix) == "agent:quotations";
        let own = (0..view.slots()).filter(|&ix| is_own(ix));
        let notes = own.map(|ix| store.node(view.id(ix).unwrap()).unwrap().unwrap());
        let mut quotations: Vec<_> = notes.map(|note| (note.title, note.body)).collect();
        quotations.sort();
        quotations
    }

    /// The place of the answer among the hits of the question, from 1.
    fn place(&self) -> Option<usize> {
        let memory = &self.world.memory;
        let (view, answer) = (memory.store.view(), memory.find(ANSWER).unwrap().id);
        let visibility = Visibility::of_person(memory.now());
        let hits = memory.retriever(&view).find(QUESTION, 10, visibility).unwrap().hits;
        hits.iter().position(|hit| hit.id == answer).map(|at| at + 1)
    }

    fn explored(&self) -> Exploration {
        let memory = &self.world.memory;
        let (view, settings) = (memory.store.view(), &memory.config.explore);
        let query = ExploreQuery {
            vector: &memory.embedder.embed_one(QUESTION).unwrap(),
            keywords: &[],
            depth: settings.depth,
            beam: settings.beam,
            target_count: settings.target_count,
        };
        let keep = view.visible_filter(Visibility::of_person(memory.now()));
        explore(&query, &*memory.vectors, &view, settings, &keep).unwrap()
    }

    fn recalled(&self) -> Vec<NodeId> {
        let memory = &self.world.memory;
        let (view, settings) = (memory.store.view(), &memory.config.recall);
        let vector = memory.embedder.embed_one(QUESTION).unwrap();
        let (hops, oversample) = (settings.hops, settings.oversample);
        let options = RecallOptions { text: QUESTION, vector: &vector, k: 10, hops, oversample };
        recall(memory, &view, &options, memory.now()).unwrap().hits.into_iter().map(|hit| hit.id).collect()
    }
}

#[test]
fn a_question_finds_the_message_that_answered_the_same_question_until_the_run_is_undone() {
    let conversation = Conversation::new();
    let world = &conversation.world;
    world.memory.store.settle();
    let (before, recalled, explored) = (world.graph(), conversation.recalled(), conversation.explored());
    assert_ne!(conversation.place(), Some(1));

    let read = conversation.read();
    assert_eq!((read.status, read.visited.len()), (Status::Ok, 9), "{read:#?}");
    let quoted = [
        (
            "Ann, 10 April 2026, asked “Where are you going in the summer?”",
            "“We will walk along the coast of Istria for ten days.”",
        ),
        (
            "Ben, 2 March 2026, asked “What did you do with the old violin of your grandmother?”",
            "“I gave it to the school in Ostrava.”",
        ),
        (
            "Ben, 20 May 2026, asked “Did the office call you back about the night shifts?”",
            "“I start on the first of June, without night shifts.”",
        ),
    ];
    let quoted = quoted.map(|(title, body)| (title.to_owned(), body.to_owned()));
    assert_eq!(conversation.quotations(), quoted);
    assert_eq!(conversation.place(), Some(1));
    assert_eq!(conversation.recalled(), recalled);
    assert_eq!(conversation.explored(), explored);

    let again = conversation.read();
    assert_eq!((again.status, again.reason), (Status::Skipped, Some(StatusReason::NotStale)));
    assert_eq!(conversation.quotations(), quoted);

    let report = undo(&world.memory, &read, &[]).unwrap();
    assert!(report.items.iter().all(|item| item.refused.is_none()), "{report:#?}");
    world.memory.store.settle();
    assert_eq!(world.graph(), before);
    assert_ne!(conversation.place(), Some(1));
    // The messages were read, and a person did not want the quotations.
    assert_eq!(conversation.read().reason, Some(StatusReason::NotStale));
}

#[test]
fn a_memory_with_a_language_model_gets_both_facts_and_quotations() {
    let mut conversation = Conversation::new();
    let facts = bundled(&conversation.world, "facts");
    // Without a language model, there are only quotations.
    conversation.read();
    let quoted = conversation.quotations();
    let memory = &conversation.world.memory;
    let silent = run(memory, &facts, Trigger::Manual, &RunOptions::default()).unwrap();
    assert_eq!((silent.status, silent.visited.len()), (Status::Noop, 9), "{silent:#?}");
    assert!(silent.notes.contains("Only a language model"), "{}", silent.notes);
    assert_eq!(backlog(memory, &facts).unwrap(), 0);

    conversation.world.config().models.get_mut("default").unwrap().provider = "anthropic".into();
    let Conversation { world, definition } = &conversation;
    let count = |agent: &Definition| backlog(&world.memory, agent).unwrap();
    assert_eq!((count(&facts), count(definition)), (9, 0));
    let model = FnModel(|request: &Request<'_>| {
        assert!(request.selection.handles.iter().all(|handle| !handle.is_derived), "{}", request.prompt);
        json!({"notes": ""})
    });
    assert_eq!(world.run(&facts, &model).visited.len(), 9);
    assert_eq!(world.run(&facts, &model).reason, Some(StatusReason::NotStale));
    assert_eq!(conversation.quotations(), quoted);

    // A later message gets quotations as well.
    world.draft(Draft {
        node_type: Some("episodic".into()),
        title: None,
        author: Some("Ann".into()),
        ..draft(
            "later",
            "Hello again. In the autumn we are going to paint the whole kitchen in a dark green.",
        )
    });
    assert_eq!((count(&facts), count(definition)), (1, 1));
    let read = conversation.read();
    assert_eq!((read.status, read.applied_actions().count()), (Status::Ok, 1), "{read:#?}");
}

/// An agent never visits a quotation, so a limit that counted quotations would leave no notes.
#[test]
fn quotations_take_the_place_of_no_note() {
    let conversation = Conversation::new();
    conversation.read();
    let model = FnModel(|_: &Request<'_>| json!({"notes": "", "link-add": []}));
    // The quotations are newer than the messages.
    for sort in ["sort:created", "sort:created asc"] {
        let text = format!(
            "[query]\npipeline = 'all | not-visited:tester | {sort} | limit:3'\n\
             [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n"
        );
        assert_eq!(conversation.world.run(&parse(&text).unwrap(), &model).visited.len(), 3, "{sort}");
    }
}

#[test]
fn a_message_is_quoted_again_after_an_edit_of_one_word() {
    let conversation = Conversation::new();
    let world = &conversation.world;
    let statement = |days: &str| {
        format!(
            "In the spring I am going to walk along the coast for {days} days with my two sisters, their dogs, a tent \
             and an old map."
        )
    };
    let body = |days: &str| format!("Hello. {}", statement(days));
    world.draft(Draft {
        node_type: Some("episodic".into()),
        title: None,
        author: Some("Ann".into()),
        ..draft("trip", &body("ten"))
    });
    conversation.read();
    world.edit("trip", &body("nine"));
    let run = conversation.read();
    let quoted = conversation.quotations();
    for days in ["ten", "nine"] {
        let expected = format!("“{}”", statement(days));
        assert!(quoted.iter().any(|(_, body)| *body == expected), "{days}: {run:#?}");
    }
}
