//! Derived notes follow their sources.

use super::*;
use crate::consolidate::consolidate;
use crate::testing::TestMemory;
use crate::{Draft, delete, link, sequence, supersede};
use poc_graph::error::Code;
use poc_graph::{Trust, testing};
use poc_search::query::Pipeline;

/// Notes 1 and 2, and note 3, which `provenance` derived from them.
fn with_fact(provenance: &str) -> TestMemory {
    let memory = TestMemory::new();
    let put = |tx: &mut Transaction<'_>| {
        tx.put_node(&Node { key: "one".into(), ..testing::node(1) })?;
        tx.put_node(&Node { key: "two".into(), ..testing::node(2) })?;
        let fact = Node { key: "fact".into(), provenance: provenance.into(), ..testing::node(3) };
        tx.put_node(&Node { trust: Trust::Agent, ..fact })?;
        add_sources(tx, id(3), &[id(1), id(2), id(3)], provenance, "both say so", memory.now())
    };
    memory.store.transact(memory.cause(provenance, "test"), put).unwrap();
    memory
}

fn id(number: u64) -> NodeId {
    testing::node(number).id
}

fn change<T>(memory: &TestMemory, act: impl Fn(&mut Transaction<'_>) -> Result<T>) -> T {
    memory.store.transact(memory.cause("manual", "test"), act).unwrap().value
}

fn state(memory: &TestMemory, number: u64) -> Option<State> {
    memory.store.node(id(number)).unwrap().map(|node| node.state)
}

fn sources(memory: &TestMemory, number: u64) -> Vec<NodeId> {
    let view = memory.store.view();
    let mut sources: Vec<NodeId> =
        view.sources(view.find(id(number)).unwrap()).filter_map(|ix| view.id(ix)).collect();
    sources.sort();
    sources
}

#[test]
fn a_note_has_an_edge_to_each_other_source() {
    let memory = with_fact("agent:facts");
    assert_eq!(sources(&memory, 3), [id(1), id(2)]);
    let view = memory.store.view();
    let derived: Vec<_> =
        view.derived_notes(view.find(id(1)).unwrap()).filter_map(|ix| view.id(ix)).collect();
    assert_eq!(derived, [id(3)]);
}

#[test]
fn a_search_that_filters_may_list_derived_notes() {
    let memory = with_fact("agent:facts");
    let view = memory.store.view();
    let found = |pipeline: &str| {
        let pipeline = Pipeline::parse(pipeline, &memory.names.load()).unwrap();
        let (set, _) = pipeline.run(&memory.sources(&view)).unwrap();
        set.items.iter().filter_map(|item| view.id(item.ix)).collect::<Vec<_>>()
    };
    let title = memory.store.node(id(3)).unwrap().unwrap().title;
    let of_facts = |search: &str| {
        let mut ids = found(&format!("hybrid:\"{title}\"{search}"));
        ids.retain(|found| *found == id(3));
        ids
    };
    // Unless a pipeline asks for derived notes, their sources represent them.
    assert_eq!(of_facts(" | !provenance:manual"), []);
    assert_eq!(of_facts(" | limit:10"), []);
    for asked in [",derived=1", " | provenance:agent:facts", " | provenance:facts", " | type:semantic"] {
        assert_eq!(of_facts(asked), [id(3)], "{asked}");
    }
    assert_eq!(of_facts(" | provenance:manual"), []);
}

#[test]
fn an_edited_source_makes_its_derived_notes_stale_until_their_agent_confirms_them() {
    let memory = with_fact("agent:facts");
    let edit = |body: Option<&str>, weight| Draft {
        key: Some("one".into()),
        update: true,
        body: body.map(str::to_owned),
        weight,
        ..Draft::new("manual", Trust::User)
    };
    memory.insert(edit(None, Some(2.0))).unwrap();
    assert_eq!(state(&memory, 3), Some(State::Active));
    memory.insert(edit(Some("Something else"), None)).unwrap();
    assert_eq!(state(&memory, 3), Some(State::Stale));
    let read = memory.store.node(id(3)).unwrap().unwrap();
    let earlier = Node { version: read.version - 1, ..read.clone() };
    change(&memory, |tx| confirm(tx, &earlier, memory.now()));
    assert_eq!(state(&memory, 3), Some(State::Stale));
    change(&memory, |tx| confirm(tx, &read, memory.now()));
    assert_eq!(state(&memory, 3), Some(State::Active));
}

#[test]
fn the_successor_of_a_source_becomes_a_source() {
    let memory = with_fact("agent:facts");
    change(&memory, |tx| {
        tx.put_node(&Node { key: "new".into(), ..testing::node(4) })?;
        supersede::apply(tx, id(1), id(4), "manual", "", &memory.config, memory.now())
    });
    assert_eq!(state(&memory, 3), Some(State::Stale));
    assert_eq!(sources(&memory, 3), [id(1), id(2), id(4)]);
}

#[test]
fn a_successor_inherits_the_sources_unless_a_person_or_a_message_replaces_a_note_of_an_agent() {
    let inherited = |by: &str, successor: &str| {
        let memory = with_fact(by);
        change(&memory, |tx| {
            tx.put_node(&Node { key: "new".into(), provenance: successor.into(), ..testing::node(4) })?;
            supersede::apply(tx, id(3), id(4), successor, "", &memory.config, memory.now())
        });
        sources(&memory, 4)
    };
    assert_eq!(inherited("agent:facts", "agent:facts"), [id(1), id(2)]);
    assert_eq!(inherited("manual", "manual"), [id(1), id(2)]);
    // Search would show the sources in place of the note of a person, and of a message.
    assert_eq!(inherited("agent:facts", "manual"), []);
    assert_eq!(inherited("agent:facts", "import:chat.jsonl"), []);
}

#[test]
fn a_note_of_an_agent_is_deleted_with_its_last_source() {
    let memory = with_fact("agent:facts");
    let first = change(&memory, |tx| delete::apply(tx, id(1), memory.now()));
    assert_eq!((first.derived.len(), state(&memory, 3)), (0, Some(State::Stale)));
    let last = change(&memory, |tx| delete::apply(tx, id(2), memory.now()));
    assert_eq!(last.derived.iter().map(|note| note.id).collect::<Vec<_>>(), [id(3)]);
    assert_eq!(state(&memory, 3), None);
}

/// Notes 1 to `count`, each with the sources that `sources` returns for its number. The first is of a person, and the
/// others are of an agent.
fn derived_from(sources: impl Fn(u64) -> Vec<u64>, count: u64) -> TestMemory {
    let memory = TestMemory::new();
    change(&memory, |tx| {
        for number in 1..=count {
            let provenance = if number == 1 { "manual" } else { "agent:facts" };
            let (key, node) = (format!("note-{number}"), testing::node(number));
            tx.put_node(&Node { key, provenance: provenance.into(), ..node })?;
        }
        for number in 1..=count {
            let sources: Vec<NodeId> = sources(number).into_iter().map(id).collect();
            add_sources(tx, id(number), &sources, "agent:facts", "it says so", memory.now())?;
        }
        Ok(())
    });
    memory
}

#[test]
fn a_long_chain_of_derived_notes_is_deleted_with_its_first_source() {
    let memory = derived_from(|number| if number == 1 { vec![] } else { vec![number - 1] }, 5_000);
    let deleted = change(&memory, |tx| delete::apply(tx, id(1), memory.now()));
    assert_eq!((deleted.derived.len(), memory.store.view().live_count()), (4_999, 0));
}

#[test]
fn a_link_to_a_source_that_was_derived_from_the_note_is_refused() {
    let memory = derived_from(|number| if number == 1 { vec![] } else { vec![number - 1] }, 3);
    let derive = |note: u64, source: u64| {
        let link = link::Link {
            src: id(note),
            dst: id(source),
            kind: EdgeKind::DerivedFrom,
            strength: 0.8,
            reason: String::new(),
            provenance: "manual".into(),
        };
        memory.store.transact(memory.cause("manual", "link"), |tx| link::add(tx, &link, memory.now()))
    };
    for (note, source) in [(1, 3), (1, 2), (2, 3)] {
        assert_eq!(derive(note, source).unwrap_err().code, Code::Conflict, "{note} from {source}");
    }
    assert_eq!(derive(3, 1).unwrap().value, link::LinkOutcome::Added);
}

#[test]
fn notes_that_were_derived_from_each_other_are_deleted_with_their_last_other_source() {
    // The second is also derived from the third, which comes later.
    let memory = derived_from(|number| if number == 2 { vec![1, 3] } else { vec![1] }, 3);
    change(&memory, |tx| delete::apply(tx, id(1), memory.now()));
    assert_eq!(memory.store.view().live_count(), 0);
    // The deleted note is derived from the other one, too.
    let memory = derived_from(|number| vec![3 - number], 2);
    change(&memory, |tx| delete::apply(tx, id(1), memory.now()));
    assert_eq!(memory.store.view().live_count(), 0);
}

#[test]
fn a_note_of_a_person_outlives_its_sources() {
    let memory = with_fact("manual");
    for source in [1, 2] {
        change(&memory, |tx| delete::apply(tx, id(source), memory.now()));
    }
    assert_eq!(state(&memory, 3), Some(State::Stale));
}

#[test]
fn a_note_of_an_agent_expires_with_its_last_source() {
    let memory = with_fact("agent:facts");
    let expire = |number: u64| {
        change(&memory, |tx| {
            let node = tx.node(id(number))?.unwrap();
            tx.put_node(&Node { expires: Some(memory.now()), ..node })
        });
        let cause = memory.cause("manual", "consolidate");
        let dry_run = consolidate(&memory, &cause, true, &|_, _, _| {}).unwrap().report;
        let report = consolidate(&memory, &cause, false, &|_, _, _| {}).unwrap().report;
        assert_eq!(report, dry_run);
        report.pruned_nodes
    };
    assert_eq!((expire(1), state(&memory, 3)), (1, Some(State::Stale)));
    assert_eq!((expire(2), state(&memory, 3)), (2, Some(State::Expired)));
}

/// A session of notes 1 to 3, and note 4, a quotation of note 2 that repeats the question of note 1.
fn with_quotation() -> TestMemory {
    let memory = TestMemory::new();
    let message = |number: u64, key: &str, body: &str| {
        let node_type = NodeType(NodeType::EPISODIC.into());
        let node = Node { key: key.into(), body: body.into(), node_type, ..testing::node(number) };
        Node { content_hash: node.hash(), ..node }
    };
    let (title, body) = (
        poc_graph::quotation_title("Ben", Some("1 May 2026"), Some("How are you? Where did you move to?")),
        "“We moved to Lisbon in April.”",
    );
    let key = poc_graph::quotation_key(&title, body);
    let put = |tx: &mut Transaction<'_>| {
        tx.put_node(&message(1, "question", "Hi! How are you? I am fine. Where did you move to?"))?;
        tx.put_node(&message(2, "answer", "We moved to Lisbon in April."))?;
        tx.put_node(&message(3, "thanks", "Thanks for the news."))?;
        for edge in sequence::edges(&[id(1), id(2), id(3)], 0.5, memory.now(), "manual") {
            tx.put_edge(&edge)?;
        }
        let (title, body, provenance) = (title.clone(), body.to_owned(), "agent:facts".to_owned());
        tx.put_node(&Node { key: key.clone(), title, body, provenance, ..testing::node(4) })?;
        add_sources(tx, id(4), &[id(2)], "agent:facts", "", memory.now())
    };
    memory.store.transact(memory.cause("agent:facts", "test"), put).unwrap();
    memory
}

/// Otherwise the text of a deleted message would stay in the title of another note.
#[test]
fn a_quotation_that_repeats_a_question_is_deleted_with_the_question() {
    let memory = with_quotation();
    let deleted = |number: u64| change(&memory, |tx| delete::apply(tx, id(number), memory.now())).derived;
    assert!(deleted(3).is_empty());
    assert_eq!(state(&memory, 4), Some(State::Active));
    assert_eq!(deleted(1).into_iter().map(|note| note.id).collect::<Vec<_>>(), [id(4)]);
    assert_eq!([2, 4].map(|number| state(&memory, number)), [Some(State::Active), None]);
}

#[test]
fn a_quotation_that_repeats_a_question_is_deleted_when_the_expired_question_is() {
    let memory = with_quotation();
    let expire = |number: u64| {
        let kept = memory.config.consolidate.keep_expired;
        change(&memory, |tx| {
            let node = tx.node(id(number))?.unwrap();
            tx.put_node(&Node { expires: Some(memory.now().minus(kept)), ..node })
        });
        let cause = memory.cause("manual", "consolidate");
        let dry_run = consolidate(&memory, &cause, true, &|_, _, _| {}).unwrap().report;
        let report = consolidate(&memory, &cause, false, &|_, _, _| {}).unwrap().report;
        assert_eq!(report, dry_run);
        [2, 4].map(|other| state(&memory, other))
    };
    assert_eq!(expire(3), [Some(State::Active); 2]);
    assert_eq!(expire(1), [Some(State::Active), None]);
}
