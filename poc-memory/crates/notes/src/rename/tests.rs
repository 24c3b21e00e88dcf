//! A renamed note stays the same note.

use super::*;
use crate::export;
use crate::import::{self, ImportOptions, ImportSource};
use crate::link::{self, Link};
use crate::testing::{TestMemory, draft};
use crate::{Draft, delete, history, insert, undo, visit};
use poc_graph::error::Code;
use poc_graph::{EdgeKind, Tuple, Visibility, VisitOutcome};
use poc_search::query::Pipeline;
use proptest::prelude::*;

fn rename_to(memory: &TestMemory, node: &str, key: &str) -> Result<RenameReport> {
    let id = memory.find(node)?.id;
    let cause = memory.cause("manual", "rename");
    memory.store.transact(cause, |tx| apply(tx, id, Some(key), &[])).map(|done| done.value)
}

fn forget_key(memory: &TestMemory, node: &str, former: &str) -> Result<RenameReport> {
    let id = memory.find(node)?.id;
    let cause = memory.cause("manual", "rename");
    memory.store.transact(cause, |tx| apply(tx, id, None, &[former.to_owned()])).map(|done| done.value)
}

fn describe(error: &Error) -> String {
    format!("{}: {error}\n{}", error.code.name(), error.hint.as_deref().unwrap_or_default())
}

#[test]
fn every_former_key_finds_the_note_and_nothing_else_changes() {
    let memory = TestMemory::new();
    let id = memory.note("soup", "Lentils with lemon.");
    memory.note("bread", "Rye.");
    let record =
        |tx: &mut Transaction<'_>| visit::record(tx, "linker", id, VisitOutcome::Processed, memory.now());
    memory.store.transact(memory.cause("manual", "visit"), record).unwrap();
    let before = memory.store.node(id).unwrap().unwrap();
    let report = rename_to(&memory, "soup", " lentil-soup ").unwrap();
    assert_eq!((report.former.as_deref(), report.node.key.as_str()), (Some("soup"), "lentil-soup"));
    rename_to(&memory, "soup", "recipes/lentils").unwrap();
    let node = memory.store.node(id).unwrap().unwrap();
    assert_eq!(node.aliases, ["soup", "lentil-soup"]);
    let same = Node { key: before.key.clone(), aliases: Vec::new(), ..node.clone() };
    assert_eq!(same, before);
    for name in node.names() {
        assert_eq!(memory.find(name).unwrap().id, id, "{name}");
    }
    // The visit still counts, and the history shows the keys.
    assert_eq!(memory.store.visits(id).unwrap()[0].1.version, node.version);
    let entries = history::entries(&memory, id, None).unwrap();
    let keys: Vec<String> = entries
        .iter()
        .flat_map(|entry| &entry.fields)
        .filter(|field| field.field == "key")
        .map(|field| format!("{} -> {}", field.before, field.after))
        .collect();
    assert_eq!(keys, ["soup -> lentil-soup", "lentil-soup -> recipes/lentils"]);
    // Setting the current key writes nothing; a former key can be restored.
    let seq = memory.store.last_seq();
    assert_eq!(rename_to(&memory, "soup", "recipes/lentils").unwrap().former, None);
    assert_eq!(memory.store.last_seq(), seq);
    assert_eq!(rename_to(&memory, "soup", "soup").unwrap().node.aliases, ["lentil-soup", "recipes/lentils"]);
    let reopened = memory.reopened();
    assert_eq!(reopened.find("recipes/lentils").unwrap().id, id);
}

#[test]
fn a_name_belongs_to_one_note() {
    let memory = TestMemory::new();
    let soup = memory.note("soup", "Lentils with lemon.");
    memory.note("bread", "Rye.");
    insta::assert_snapshot!(describe(&rename_to(&memory, "bread", "soup").unwrap_err()), @"
    conflict: `key`: the key `soup` is taken
    choose another key
    ");
    rename_to(&memory, "soup", "lentil soup").unwrap();
    insta::assert_snapshot!(describe(&rename_to(&memory, "bread", "soup").unwrap_err()), @"
    conflict: `key`: `soup` is a former key of `lentil soup`
    choose another key, or release this one: `poc-memory rename 'lentil soup' --forget soup`
    ");
    let fresh = Draft { key: Some("soup".into()), ..draft("Another soup.") };
    insta::assert_snapshot!(describe(&memory.insert(fresh.clone()).unwrap_err()), @"
    conflict: `key`: `soup` is a former key of `lentil soup`
    give `update` to store it as a new version, `supersedes` with `soup` to retire the old note, or another key to keep both; `poc-memory rename 'lentil soup' --forget soup` frees the key
    ");
    // A derived key gets a number, as if the name were a key in use.
    let derived = memory.insert(Draft { title: Some("Soup".into()), ..draft("A third soup.") }).unwrap();
    assert_eq!(derived.key, "soup-2");
    insta::assert_snapshot!(describe(&forget_key(&memory, "soup", "bread").unwrap_err()), @"
    not_found: `forget`: `bread` is not a former key of `lentil soup`
    its former keys: soup
    ");
    assert_eq!(forget_key(&memory, "lentil soup", "soup").unwrap().node.aliases, Vec::<String>::new());
    assert_eq!(memory.find("soup").unwrap_err().code, Code::NotFound);
    assert_ne!(memory.insert(fresh).unwrap().id, soup);
    assert_eq!(rename_to(&memory, "bread", "").unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn a_note_has_a_bounded_number_of_former_keys() {
    let memory = TestMemory::new();
    memory.note("n-0", "Lentils.");
    for number in 1..=MAX_ALIASES {
        rename_to(&memory, "n-0", &format!("n-{number}")).unwrap();
    }
    insta::assert_snapshot!(describe(&rename_to(&memory, "n-0", "one-more").unwrap_err()), @"
    conflict: `forget`: `n-64` has 64 former keys already
    `forget` one of them
    ");
    let id = memory.find("n-0").unwrap().id;
    let both = |tx: &mut Transaction<'_>| apply(tx, id, Some("one-more"), &["n-0".into()]);
    memory.store.transact(memory.cause("manual", "rename"), both).unwrap();
    assert_eq!(memory.find("n-0").unwrap_err().code, Code::NotFound);
}

#[test]
fn deleting_a_note_frees_its_names_and_undo_restores_them() {
    let memory = TestMemory::new();
    let id = memory.note("soup", "Lentils with lemon.");
    let before = memory.store.node(id).unwrap();
    rename_to(&memory, "soup", "lentils").unwrap();
    let renamed = memory.store.last_seq();
    let cause = memory.cause("manual", "delete");
    memory.store.transact(cause, |tx| delete::apply(tx, id, memory.now()).map(|_| ())).unwrap();
    let deleted = memory.store.last_seq();
    assert!(memory.find("soup").is_err() && memory.find("lentils").is_err());
    assert_eq!(undo::undo_single(&memory, deleted).unwrap().refused, None);
    assert_eq!(memory.find("soup").unwrap().key, "lentils");
    // Undoing the renaming restores the key, and the new one is free.
    assert_eq!(undo::undo_single(&memory, renamed).unwrap().refused, None);
    assert_eq!(memory.store.node(id).unwrap(), before);
    assert!(memory.find("lentils").is_err());
    // Undoing the undo renames again.
    let undone = memory.store.last_seq();
    assert_eq!(undo::undo_single(&memory, undone).unwrap().refused, None);
    assert_eq!(memory.find("soup").unwrap().key, "lentils");
    // An undo does not take a name away from a note that has it now.
    forget_key(&memory, "lentils", "soup").unwrap();
    let forgotten = memory.store.last_seq();
    memory.note("soup", "Tomatoes.");
    let refused = undo::undo_single(&memory, forgotten).unwrap().refused;
    assert_eq!(refused.as_deref(), Some("the name `soup` now belongs to the note `soup`"));
}

#[test]
fn a_note_of_another_tenant_may_have_the_same_names() {
    let memory = TestMemory::new();
    memory.note("soup", "Lentils.");
    rename_to(&memory, "soup", "lentils").unwrap();
    let other = memory.of(&Tuple::new([("team", "blue")]).unwrap());
    assert!(other.find("soup").is_err() && other.find("lentils").is_err());
    let cause = other.cause("manual", "insert");
    let theirs = insert::insert(&other, Draft { key: Some("soup".into()), ..draft("Peas.") }, cause).unwrap();
    assert_eq!(
        (other.find("soup").unwrap().id, memory.find("soup").unwrap().key.as_str()),
        (theirs.id, "lentils")
    );
}

fn import(memory: &TestMemory, text: &str) -> import::ImportReport {
    let source = ImportSource::Text(text.into());
    import::import(memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap()
}

#[test]
fn imports_under_a_former_key_update_the_note() {
    let memory = TestMemory::new();
    import(&memory, "{\"key\": \"kitchen/soup\", \"body\": \"Lentils.\"}\n");
    let id = memory.find("kitchen/soup").unwrap().id;
    rename_to(&memory, "kitchen/soup", "kitchen/lentils").unwrap();
    let again = import(&memory, "{\"key\": \"kitchen/soup\", \"body\": \"Lentils and lemon.\"}\n");
    assert_eq!((again.updated, again.inserted, again.failed.len()), (1, 0, 0));
    let node = memory.store.node(id).unwrap().unwrap();
    assert_eq!((node.key.as_str(), node.body.as_str()), ("kitchen/lentils", "Lentils and lemon."));
    // Links by a former key, and by its last part.
    let text =
        "{\"key\": \"menu\", \"body\": \"[[kitchen/soup]]\"}\n{\"key\": \"plan\", \"body\": \"[[soup]]\"}\n";
    let linked = import(&memory, text);
    assert_eq!((linked.edges, linked.unresolved.len()), (2, 0));
    // Two names of one note in one import are one note twice.
    let text =
        "{\"key\": \"kitchen/soup\", \"body\": \"A.\"}\n{\"key\": \"kitchen/lentils\", \"body\": \"B.\"}\n";
    let twice = import(&memory, text);
    assert_eq!((twice.updated, twice.failed.len()), (1, 1));
    assert!(twice.failed[0].1.message.contains("already used at"), "{}", twice.failed[0].1);
}

#[test]
fn exports_keep_former_keys_and_older_exports_do_not_bring_them_back() {
    let memory = TestMemory::new();
    let id = memory.note("soup", "Lentils with lemon.");
    let export = |memory: &TestMemory| {
        let mut lines = Vec::new();
        export::json_lines(memory, &mut lines, &|_, _| {}).unwrap();
        String::from_utf8(lines).unwrap()
    };
    let before = export(&memory);
    assert!(!before.contains("aliases"));
    rename_to(&memory, "soup", "lentils").unwrap();
    let after = export(&memory);
    assert!(after.contains("\"aliases\":[\"soup\"]"), "{after}");

    // The older export is the same note; edited, it is a new version under the present key.
    let old = import(&memory, &before);
    assert_eq!((old.duplicates, old.updated), (1, 0));
    let edited = import(&memory, &before.replace("with lemon", "with mint"));
    assert_eq!((edited.updated, edited.failed.len()), (1, 0), "{:?}", edited.failed);
    let node = memory.store.node(id).unwrap().unwrap();
    assert_eq!((node.key.as_str(), node.aliases.as_slice()), ("lentils", ["soup".to_owned()].as_slice()));
    assert!(node.body.contains("mint"));

    // In another memory the note has all its names, except those that other notes there have.
    let other = TestMemory::apart(9, poc_config::Config::defaults().unwrap());
    import(&other, &after);
    assert_eq!(other.find("soup").unwrap().id, id);
    let third = TestMemory::apart(11, poc_config::Config::defaults().unwrap());
    let own = third.note("soup", "Tomatoes.");
    import(&third, &after);
    assert_eq!((third.find("soup").unwrap().id, third.find("lentils").unwrap().id), (own, id));
    assert!(third.find("lentils").unwrap().aliases.is_empty());
}

const WORDS: [&str; 12] = [
    "journal",
    "split",
    "page",
    "crash",
    "Lin",
    "broker",
    "certificate",
    "retry-policy",
    "INC-90037",
    "soup",
    "Lemon",
    "b-tree",
];

/// Notes with mentions of each other's keys, links, a session, and some with former keys.
fn filled(bodies: &[Vec<usize>], links: &[(usize, usize)]) -> (TestMemory, Vec<NodeId>) {
    let memory = TestMemory::new();
    let keys = ["people/lin", "retry-policy", "INC-90037", "journal/split-7", "soup", "b-tree"];
    let mut ids = Vec::new();
    for (number, words) in bodies.iter().enumerate() {
        let words: Vec<&str> = words.iter().map(|&word| WORDS.get(word).copied().unwrap_or("x")).collect();
        let key = keys.get(number).map_or_else(|| format!("note-{number}"), |key| (*key).to_owned());
        let named = keys.get((number * 5 + 1) % 7).copied().unwrap_or("nothing");
        ids.push(memory.note(&key, &format!("Number {number}: {} and {named}.", words.join(" "))));
    }
    let strength = memory.config.write.structural_weight;
    let order = crate::sequence::edges(&ids[..3], strength, memory.now(), "manual");
    let write = |tx: &mut Transaction<'_>| -> Result<()> {
        order.iter().try_for_each(|edge| tx.put_edge(edge))?;
        for &(from, to) in links.iter().filter(|(from, to)| from != to) {
            let reason = String::new();
            let (src, dst, provenance) = (ids[from], ids[to], "manual".to_owned());
            link::add(
                tx,
                &Link { src, dst, kind: EdgeKind::Link, strength: 0.7, reason, provenance },
                memory.now(),
            )?;
        }
        Ok(())
    };
    memory.store.transact(memory.cause("manual", "link"), write).unwrap();
    (memory, ids)
}

/// Everything that searches find, with scores and shares, by id.
fn found(memory: &TestMemory, queries: &[String]) -> Vec<String> {
    let view = memory.store.view();
    let visibility = Visibility::of_person(memory.now());
    let mut all = Vec::new();
    for query in queries {
        let found = memory.retriever(&view).find(query, 10, visibility).unwrap();
        all.push(format!("{query}: {found:?}"));
        for text in [format!("match:\"{query}\""), "neighbors:retry-policy".into(), "key:soup".into()] {
            let pipeline = Pipeline::parse(&text, &memory.names.load()).unwrap();
            let (set, _) = pipeline.run(&memory.sources(&view)).unwrap();
            let items: Vec<_> =
                set.items.iter().map(|item| (view.id(item.ix), item.score.to_bits())).collect();
            all.push(format!("{text}: {items:?}"));
        }
    }
    all
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// After any renaming, every search returns the same hits with the same scores.
    #[test]
    fn a_renaming_changes_no_search(
        bodies in prop::collection::vec(prop::collection::vec(0usize..12, 1..6), 6..12),
        links in prop::collection::vec((0usize..6, 0usize..6), 0..6),
        renamed in prop::collection::vec(0usize..6, 1..5),
        asked in prop::collection::vec(prop::collection::vec(0usize..12, 1..4), 1..4),
    ) {
        let (memory, ids) = filled(&bodies, &links);
        let mut queries: Vec<String> = asked
            .iter()
            .map(|words| words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" "))
            .collect();
        queries.extend(["what did people/lin say".into(), "Soup".into(), "inc-90037".into()]);
        let before = found(&memory, &queries);
        for (at, &number) in renamed.iter().enumerate() {
            let cause = memory.cause("manual", "rename");
            let key = format!("Zq{at}-{number}");
            memory.store.transact(cause, |tx| apply(tx, ids[number], Some(&key), &[])).unwrap();
        }
        prop_assert_eq!(found(&memory, &queries), before.clone());
        // The same after all derived data was rebuilt.
        let memory = memory.reopened();
        prop_assert_eq!(found(&memory, &queries), before);
    }
}
