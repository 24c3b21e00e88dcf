//! Confirmed questions lead search to the notes that answered them.

use super::*;
use crate::testing::TestMemory;
use crate::{consolidate, delete, rerank, undo};
use poc_config::Config;
use poc_graph::time::Span;
use poc_graph::{Trust, Visibility};

const QUESTION: &str = "Why does the parrot refuse breakfast on Mondays?";

fn with_notes() -> TestMemory {
    let memory = TestMemory::new();
    memory.note("seeds", "Old sunflower kernels upset its stomach, says the vet.");
    memory.note("cage", "The cage was moved beside the window in spring.");
    for number in 0..20 {
        memory.note(&format!("other-{number}"), &format!("Remark {number} about gardening and weather."));
    }
    memory
}

fn id(memory: &Memory, key: &str) -> NodeId {
    memory.store.find_key(key).unwrap().unwrap()
}

/// Confirms that a note answered a question, and returns the number of the change.
fn confirm(memory: &TestMemory, question: &str, key: &str) -> (Option<NodeId>, u64) {
    let draft = Draft { title: Some(question.into()), ..Draft::new("manual", Trust::User) };
    let prepared = prepare(memory, draft).unwrap();
    let (answer, now) = (id(memory, key), memory.now());
    let cause = memory.cause("manual", "reinforce");
    let done = memory.store.transact(cause, |tx| apply(tx, &prepared, answer, now)).unwrap();
    memory.clock.advance(Span::parse("1h").unwrap());
    (done.value, done.seq)
}

/// The keys of the hits for a text, best first, and the notes that led to them.
fn found(memory: &Memory, text: &str, list_derived: bool) -> Vec<(String, Option<NodeId>)> {
    let view = memory.store.view();
    let retriever = memory.retriever(&view).listing_derived(list_derived);
    let visibility = Visibility { now: memory.now(), quarantined: false };
    let found = rerank::find(memory, retriever, text, 30, visibility).unwrap();
    found.hits.iter().map(|hit| (view.key(view.find(hit.id).unwrap()).to_owned(), hit.derived)).collect()
}

fn questions(memory: &Memory) -> Vec<String> {
    let view = memory.store.view();
    let mut titles: Vec<String> = (0..view.slots())
        .filter(|&ix| view.is_live(ix) && view.is_confirmed_question(ix))
        .map(|ix| memory.store.node(view.id(ix).unwrap()).unwrap().unwrap().title)
        .collect();
    titles.sort();
    titles
}

#[test]
fn a_confirmed_question_leads_similar_questions_to_its_note() {
    let memory = with_notes();
    let place = |text| found(&memory, text, false).iter().position(|(key, _)| key == "seeds");
    let similar = "the parrot refuses its breakfast, why?";
    assert_ne!(place(similar), Some(0));
    let (question, _) = confirm(&memory, QUESTION, "seeds");
    assert_eq!(found(&memory, similar, false)[0], ("seeds".to_owned(), question));
    for text in [QUESTION, similar, "parrot"] {
        let keys: Vec<String> = found(&memory, text, false).into_iter().map(|(key, _)| key).collect();
        assert!(keys.iter().all(|key| !key.starts_with("question-")), "{text}: {keys:?}");
    }
    assert!(found(&memory, QUESTION, true)[0].0.starts_with("question-"));
}

#[test]
fn a_withdrawn_question_leads_nowhere_and_ends_with_its_last_note() {
    let memory = with_notes();
    confirm(&memory, QUESTION, "seeds");
    confirm(&memory, QUESTION, "cage");
    let withdraw = |key| {
        let answer = id(&memory, key);
        memory.store.transact(memory.cause("manual", "reinforce"), |tx| {
            withdraw(tx, &QUESTION.replace(' ', "  "), answer)
        })
    };
    withdraw("seeds").unwrap();
    assert_eq!(withdraw("seeds").unwrap_err().code, poc_graph::error::Code::NotFound);
    assert_eq!(questions(&memory), [QUESTION]);
    assert_eq!(found(&memory, QUESTION, false)[0].0, "cage");
    withdraw("cage").unwrap();
    assert!(questions(&memory).is_empty());
}

#[test]
fn a_repeated_question_is_stored_once_and_may_lead_to_several_notes() {
    let memory = with_notes();
    let (first, _) = confirm(&memory, QUESTION, "seeds");
    assert_eq!(confirm(&memory, QUESTION, "seeds").0, first);
    assert_eq!(confirm(&memory, QUESTION, "cage").0, first);
    let view = memory.store.view();
    assert_eq!(view.sources(view.find(first.unwrap()).unwrap()).count(), 2);
    assert_eq!(questions(&memory), [QUESTION]);
}

#[test]
fn a_question_that_a_derived_note_answered_leads_to_its_sources() {
    let memory = with_notes();
    let fact = Draft {
        key: Some("fact".into()),
        body: Some("The vet advises against stale seed.".into()),
        ..Draft::new("agent:facts", Trust::Agent)
    };
    let fact = memory.insert(fact).unwrap().id;
    let (seeds, now) = (id(&memory, "seeds"), memory.now());
    let derive =
        |tx: &mut Transaction<'_>| derivation::add_sources(tx, fact, &[seeds], "agent:facts", "", now);
    memory.store.transact(memory.cause("manual", "test"), derive).unwrap();
    let place = |text| found(&memory, text, false).iter().position(|(key, _)| key == "seeds");
    let similar = "the parrot refuses its breakfast, why?";
    assert_ne!(place(similar), Some(0));
    let (question, _) = confirm(&memory, QUESTION, "fact");
    assert_eq!(place(similar), Some(0));
    assert_eq!(found(&memory, similar, false)[0].1, question);
    // The source counts as the answer, because the fact is no hit.
    assert_eq!(all(&memory, 10).unwrap()[0].answers, [seeds]);
}

#[test]
fn a_note_keeps_the_latest_questions() {
    let mut config = Config::defaults().unwrap();
    config.reinforce.questions = 2;
    let memory = TestMemory::with(config);
    memory.note("seeds", "Old kernels upset its stomach.");
    memory.note("cage", "The cage was moved.");
    for question in ["first", "second", "first", "third"] {
        confirm(&memory, question, "seeds");
    }
    assert_eq!(questions(&memory), ["first", "third"]);
    // A question of another note loses only this note.
    confirm(&memory, "first", "cage");
    confirm(&memory, "fourth", "seeds");
    confirm(&memory, "fifth", "seeds");
    assert_eq!(questions(&memory), ["fifth", "first", "fourth"]);
}

#[test]
fn no_question_is_kept_if_none_is_allowed_or_a_note_has_the_same_text() {
    let mut config = Config::defaults().unwrap();
    config.reinforce.questions = 0;
    let memory = TestMemory::with(config);
    memory.note("seeds", "Old kernels.");
    assert_eq!(confirm(&memory, QUESTION, "seeds").0, None);
    let memory = with_notes();
    memory.insert(Draft { title: Some(QUESTION.into()), ..Draft::new("manual", Trust::User) }).unwrap();
    assert_eq!(confirm(&memory, QUESTION, "seeds").0, None);
    assert!(questions(&memory).is_empty());
}

#[test]
fn a_question_ends_with_its_last_note_and_does_not_become_stale() {
    let memory = with_notes();
    let (question, _) = confirm(&memory, QUESTION, "seeds");
    confirm(&memory, QUESTION, "cage");
    let edit = Draft {
        key: Some("cage".into()),
        update: true,
        body: Some("The cage is back.".into()),
        ..Draft::new("manual", Trust::User)
    };
    memory.insert(edit).unwrap();
    let state = |memory: &Memory| memory.store.node(question.unwrap()).unwrap().map(|node| node.state);
    assert_eq!(state(&memory), Some(poc_graph::State::Active));
    for (key, rest) in [("seeds", 1), ("cage", 0)] {
        let (note, now) = (id(&memory, key), memory.now());
        memory.store.transact(memory.cause("manual", "delete"), |tx| delete::apply(tx, note, now)).unwrap();
        assert_eq!(questions(&memory).len(), rest);
    }
    assert_eq!(state(&memory), None);
}

/// Damage can lose a note and keep the question that it answered.
#[test]
fn a_question_whose_note_is_lost_is_no_hit_and_ends_unless_another_note_answers_it() {
    let memory = with_notes();
    let question = confirm(&memory, QUESTION, "seeds").0.unwrap();
    let lose = |key: &str| {
        let note = id(&memory, key);
        let act = |tx: &mut Transaction<'_>| {
            tx.delete_edge(question, EdgeKind::DerivedFrom, note)?;
            tx.delete_node(note).map(drop)
        };
        memory.store.transact(memory.cause("manual", "test"), act).unwrap();
    };
    let expired = || {
        let cause = memory.cause("manual", "consolidate");
        consolidate::consolidate(&memory, &cause, false, &|_, _, _| {}).unwrap().report.pruned_nodes
    };
    lose("seeds");
    assert!(found(&memory, QUESTION, false).iter().all(|(key, _)| !key.starts_with("question-")));
    assert!(all(&memory, 10).unwrap().is_empty());
    assert_eq!(confirm(&memory, QUESTION, "cage").0, Some(question));
    assert_eq!(expired(), 0);
    lose("cage");
    assert_eq!(expired(), 1);
    let left = memory.store.node(question).unwrap().unwrap();
    assert_eq!((left.state, expired()), (poc_graph::State::Expired, 0));
}

#[test]
fn a_confirmation_can_be_undone() {
    let memory = with_notes();
    let before = found(&memory, QUESTION, true);
    let (_, change) = confirm(&memory, QUESTION, "seeds");
    assert_eq!(undo::undo_single(&memory, change).unwrap().refused, None);
    assert!(questions(&memory).is_empty());
    assert_eq!(found(&memory, QUESTION, true), before);
}

#[test]
fn recall_and_new_notes_ignore_questions() {
    let memory = with_notes();
    confirm(&memory, QUESTION, "seeds");
    let note = memory.note("copy", QUESTION.trim_end_matches('?'));
    let view = memory.store.view();
    let copy = view.find(note).unwrap();
    assert!(view.merged_edges(copy).all(|edge| !view.is_confirmed_question(edge.ix)));
}

#[test]
fn a_question_must_be_short_and_not_empty() {
    let memory = with_notes();
    let error = |text: &str| {
        let draft = Draft { title: Some(text.into()), ..Draft::new("manual", Trust::User) };
        prepare(&memory, draft).unwrap_err().line()
    };
    insta::assert_snapshot!(error(" \n"), @"the question is empty; give the question that the note answered");
    insta::assert_snapshot!(error(&"why ".repeat(600)), @"a question of 2399 bytes is too long; at most 2000 bytes are allowed");
}
