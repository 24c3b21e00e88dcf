//! Imports of a folder of Markdown files, and their repetition after changes.

use super::*;
use crate::history;
use crate::insert;
use crate::markdown_frame::MarkdownFrame;
use crate::testing::{draft, set_modified};
use crate::undo::{self, UndoItem};
use poc_graph::time::{Span, Timestamp};
use poc_graph::{NodeId, State, Trust};
use poc_store::Transaction;

#[test]
fn a_folder_of_markdown_becomes_linked_notes() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(
        &vault,
        "journal.md",
        "---\ntype: episodic\ntags: [Storage, '#tree']\ncreated: 2026-10-05\nauthor: Ann\nweight: 2\nmood: calm\n---\n# The journal\n\nSee [[pages|its pages]], [[notes/soup]] and [[Pages#Splits]]; [[nowhere]]. [[#Goals]]\n",
    );
    put(&vault, "db/pages.md", "Pages are split. `[[journal]]` is code, [[The book]] is not.\n");
    put(&vault, "notes/soup.md", "---\naliases: [The book]\nlinks: [journal]\n---\nLentils\n");
    put(&vault, ".obsidian/hidden.md", "hidden");
    put(&vault, "picture.png", "no note");
    let report = take(&memory, ImportSource::Path(vault.clone()));
    assert_eq!(failures(&report), "");
    assert_eq!(counts(&report), [3, 0, 0, 4]);
    assert_eq!(
        report.unresolved,
        [UnresolvedImportLink {
            place: SourceLocation::File("journal.md".into()),
            link: "nowhere".into(),
            candidates: Vec::new()
        }]
    );
    assert_eq!(report.ignored, BTreeMap::from([("mood".to_owned(), 1)]));

    let journal = find(&memory, "journal");
    assert_eq!((journal.title.as_str(), journal.node_type.0.as_str()), ("The journal", "episodic"));
    assert_eq!((journal.keywords.join(" "), journal.author.as_deref()), ("storage tree".into(), Some("Ann")));
    assert_eq!((journal.provenance.as_str(), journal.trust), ("import:vault", Trust::External));
    assert_eq!(journal.created.to_string(), "2026-10-05T00:00:00.000Z");
    assert!(journal.body.starts_with("# The journal\n\nSee"));
    assert_eq!(memory.store.activity(journal.id).unwrap().unwrap().weight, 2.0);
    assert_eq!(links(&memory, "journal"), ["db/pages", "notes/soup"]);
    assert_eq!(links(&memory, "db/pages"), ["notes/soup"]);
    assert_eq!(links(&memory, "notes/soup"), ["journal"]);

    let before = exported(&memory);
    memory.clock.advance(Span::DAY);
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone()))), [0, 0, 3, 0]);
    assert_eq!(exported(&memory), before, "nothing has changed");

    put(&vault, "db/pages.md", "Pages are merged, see [[journal]].\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault))), [0, 1, 2, 1]);
    assert_eq!(find(&memory, "db/pages").version, 2);
    assert_eq!(links(&memory, "db/pages"), ["journal"], "a link that is no longer named is removed");
}

#[test]
fn an_import_of_a_vault_leaves_out_what_a_bound_vault_does() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "a.md", "The first text.\n");
    put(&vault, "Forms/day.md", "a template\n");
    put(&vault, "templates/week.md", "another template\n");
    put(&vault, "notes/templates/kept.md", "A note about templates.\n");
    put(&vault, ".gitignore", "drafts/\n");
    put(&vault, "drafts/d.md", "a draft\n");
    put(&vault, ".poc-memory-ignore", "private-*.md\n");
    put(&vault, "private-1.md", "a secret\n");
    put(&memory.folder().join("outside"), "o.md", "outside\n");
    std::os::unix::fs::symlink(memory.folder().join("outside/o.md"), vault.join("o.md")).unwrap();
    std::os::unix::fs::symlink(vault.join("a.md"), vault.join("same.md")).unwrap();
    let files = |memory: &TestMemory| {
        let report = take(memory, ImportSource::Path(vault.clone()));
        assert_eq!(failures(&report), "");
        let outside = report.skipped.iter().find(|(kind, _)| *kind == "symbolic links out of the folder");
        (report.formats["markdown"], outside.map(|(_, skipped)| skipped.count))
    };
    // Without the settings of Obsidian it is a folder like any other, and may be a repository.
    assert_eq!(files(&TestMemory::new()), (7, Some(1)));
    put(&vault, ".obsidian/templates.json", "{\"folder\": \"Forms\"}");
    assert_eq!(files(&memory), (3, Some(1)));
    assert!(memory.find("notes/templates/kept").is_ok());
}

#[test]
fn an_unresolved_link_lists_the_notes_that_it_may_mean() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "a/plan.md", "The first plan.\n");
    put(&vault, "b/Plan.md", "Another plan.\n");
    put(&vault, "notes/r1.md", "# The Roadmap\n\nFrom spring on.\n");
    let text = "See [[plan]], [[r1]], [[the roadmap#Spring]], [[deep/plan]] and [[nowhere]].\n";
    put(&vault, "home.md", text);
    let report = take(&memory, ImportSource::Path(vault));
    // The name of a note in any folder is enough if no other note has it.
    assert_eq!(links(&memory, "home"), ["notes/r1"]);
    let found: Vec<String> = report
        .unresolved
        .iter()
        .map(|link| format!("{} {}: {:?}", link.place, link.link, link.candidates))
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    `home.md` plan: ["a/plan", "b/Plan"]
    `home.md` the roadmap#Spring: ["notes/r1"]
    `home.md` deep/plan: ["a/plan", "b/Plan"]
    `home.md` nowhere: []
    "#);
}

#[test]
fn a_link_may_have_decomposed_letters_and_an_extension_before_its_heading() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "food/caf\u{e9}.md", "Coffee.\n");
    put(&vault, "plan.md", "What comes first.\n");
    put(&vault, "home.md", "See [[Cafe\u{301}]] and [[plan.md#First|the plan]].\n");
    let report = take(&memory, ImportSource::Path(vault));
    assert!(report.unresolved.is_empty(), "{:?}", report.unresolved);
    assert_eq!(links(&memory, "home"), ["food/caf\u{e9}", "plan"]);
}

#[test]
fn aliases_are_names_for_later_imports_until_they_are_removed() {
    let memory = TestMemory::new();
    let (plans, diary) = (memory.folder().join("plans"), memory.folder().join("diary"));
    put(&plans, "r.md", "---\naliases: [Zebra Plan, r]\n---\nWhat comes first.\n");
    put(&diary, "monday.md", "We follow the [[Zebra Plan]].\n");
    take(&memory, ImportSource::Path(plans.clone()));
    assert_eq!(find(&memory, "r").other_names, ["Zebra Plan"], "a key is no other name");
    let report = take(&memory, ImportSource::Path(diary.clone()));
    assert!(report.unresolved.is_empty(), "{:?}", report.unresolved);
    assert_eq!(links(&memory, "monday"), ["r"]);
    // A link to a name of two notes is not resolved.
    put(&plans, "s.md", "---\naliases: [zebra plan]\n---\nWhat comes second.\n");
    take(&memory, ImportSource::Path(plans.clone()));
    put(&diary, "tuesday.md", "No [[Zebra Plan]] today.\n");
    let report = take(&memory, ImportSource::Path(diary));
    assert_eq!(report.unresolved.len(), 2, "{:?}", report.unresolved);
    let error = memory.find("zebra plan").unwrap_err();
    assert!(error.message.contains("is ambiguous"), "{error}");
    // The text of a note is not touched by a change of its names, which makes no version.
    put(&plans, "s.md", "What comes second.\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(plans)))[..3], [0, 1, 1]);
    assert_eq!(find(&memory, "s").version, 1);
    assert_eq!(memory.find("ZEBRA PLAN").unwrap().key, "r");
    assert!(find(&memory, "s").other_names.is_empty());
}

#[test]
fn a_file_with_the_content_of_another_one_is_named() {
    let (memory, folder) = (TestMemory::new(), poc_graph::testing::folder());
    put(folder.path(), "a.md", "# Journal\n\nEvery change is written first.\n");
    put(folder.path(), "b.md", "# Journal\n\nEvery change is written first.\n");
    put(folder.path(), "c.md", "# Recovery\n\nReads the journal.\n");
    let same = |report: &ImportReport| {
        let line = |(place, key): &(SourceLocation, String)| format!("{place} = {key}");
        report.same_content.iter().map(line).collect::<Vec<_>>()
    };
    let first = take(&memory, ImportSource::Path(folder.path().into()));
    assert_eq!((counts(&first), same(&first)), ([2, 0, 1, 0], vec!["`b.md` = a".to_owned()]));
    // A note that is stored under its own key is not listed, nor is one that was renamed.
    let id = find(&memory, "c").id;
    let cause = memory.cause("manual", "rename");
    memory.store.transact(cause, |tx| crate::rename::apply(tx, id, Some("restart"), &[])).unwrap();
    let second = take(&memory, ImportSource::Path(folder.path().into()));
    assert_eq!((counts(&second), same(&second)), ([0, 0, 3, 0], vec!["`b.md` = a".to_owned()]));
}

#[test]
fn a_note_has_the_names_of_all_files_with_its_text() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let import = || counts(&take(&memory, ImportSource::Path(vault.clone())));
    let other_names = || find(&memory, "one").other_names;
    put(&vault, "one.md", "---\naliases: [First]\n---\nWhat is to be done.\n");
    put(&vault, "two.md", "What is to be done.\n");
    assert_eq!(import(), [1, 0, 1, 0]);
    assert_eq!(
        (find(&memory, "two").key.as_str(), other_names()),
        ("one", vec!["First".to_owned(), "two".to_owned()])
    );
    let before = exported(&memory);
    assert_eq!(import(), [0, 0, 2, 0]);
    assert_eq!(exported(&memory), before, "nothing has changed");
    // A copy that is edited becomes a note of its own, which gets the name.
    put(&vault, "two.md", "What somebody else is to do.\n");
    assert_eq!(import(), [1, 0, 1, 0]);
    assert_eq!((find(&memory, "two").key.as_str(), other_names()), ("two", vec!["First".to_owned()]));
    assert_eq!(import(), [0, 0, 2, 0]);
    // The name of a copy ends with the copy.
    put(&vault, "copy.md", "What is to be done.\n");
    for _ in 0..2 {
        assert_eq!(import(), [0, 0, 3, 0]);
        assert_eq!(find(&memory, "copy").key, "one");
    }
    fs::remove_file(vault.join("copy.md")).unwrap();
    assert_eq!(import(), [0, 1, 1, 0]);
    assert!(memory.find("copy").is_err());
    assert_eq!(import(), [0, 0, 2, 0]);
}

#[test]
fn a_note_that_was_changed_stays_until_its_file_changes() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "soup.md", "---\ntags: [food]\n---\nLentils\n");
    put(&vault, "bread.md", "Rye\n");
    take(&memory, ImportSource::Path(vault.clone()));
    let own = |body: &str| {
        let draft = Draft {
            key: Some("soup".into()),
            body: Some(body.into()),
            update: true,
            ..Draft::new("manual", Trust::User)
        };
        insert::insert(&memory, draft, memory.cause("manual", "insert")).unwrap();
    };
    own("Lentils with lemon");
    let before = exported(&memory);
    let again = take(&memory, ImportSource::Path(vault.clone()));
    assert_eq!(counts(&again), [0, 0, 2, 0]);
    assert_eq!(again.warnings.len(), 1);
    assert_eq!(again.warnings[0].0, SourceLocation::File("soup.md".into()));
    assert_eq!(exported(&memory), before, "nothing has changed");

    put(&vault, "soup.md", "---\ntags: [food]\n---\nBeans\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone()))), [0, 1, 1, 0]);
    assert_eq!(find(&memory, "soup").body, "Beans");
    // The text of the second import is now the imported one, not that of the first.
    own("Beans with mint");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone()))), [0, 0, 2, 0]);
    assert_eq!(find(&memory, "soup").body, "Beans with mint");
    // A change of only the other names does not make the text one of the import.
    put(&vault, "soup.md", "---\ntags: [food]\naliases: [Stew]\n---\nBeans\n");
    for updated in [1, 0] {
        let again = take(&memory, ImportSource::Path(vault.clone()));
        assert_eq!((again.updated, again.warnings.len()), (updated, 1));
        let soup = find(&memory, "soup");
        assert_eq!((soup.body.as_str(), soup.other_names), ("Beans with mint", vec!["Stew".to_owned()]));
    }
}

#[test]
fn the_time_of_a_file_is_the_date_of_a_new_note_without_another_date() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "old.md", "An old text.\n");
    put(&vault, "2026-10-05.md", "A day.\n");
    put(&vault, "dated.md", "---\ncreated: 2026-10-06\n---\nA dated text.\n");
    put(&vault, "ahead.md", "The clock was wrong.\n");
    put(&vault, "archived.md", "Unpacked from an archive.\n");
    put(&vault, "updated.md", "---\nupdated: 2000-10-07\n---\nA copied text.\n");
    let modified = [
        ("old", 1_000_000_000),
        ("2026-10-05", 1_000_000_000),
        ("dated", 1_000_000_000),
        ("ahead", 4_000_000_000),
        ("archived", 0),
        ("updated", 1_000_000_000),
    ];
    for (name, seconds) in modified {
        set_modified(&vault.join(name).with_extension("md"), seconds);
    }
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone())))[0], 6);
    let created = |name: &str| find(&memory, name).created.to_string();
    assert_eq!(created("old"), "2001-09-09T01:46:40.000Z");
    assert_eq!(find(&memory, "old").modified, find(&memory, "old").created);
    assert_eq!(created("2026-10-05"), "2026-10-05T00:00:00.000Z");
    assert_eq!(created("dated"), "2026-10-06T00:00:00.000Z");
    assert_eq!(created("updated"), "2000-10-07T00:00:00.000Z", "not after its last change");
    let now = memory.now().to_string();
    assert_eq!([created("ahead"), created("archived")], [now.clone(), now]);

    // Git gives all files the time of the clone.
    let before = exported(&memory);
    memory.clock.advance(Span::DAY);
    for (name, _) in modified {
        set_modified(&vault.join(name).with_extension("md"), 1_200_000_000);
    }
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault.clone()))), [0, 0, 6, 0]);
    assert_eq!(exported(&memory), before, "nothing has changed");
    put(&vault, "old.md", "An edited text.\n");
    let edited = take(&memory, ImportSource::Path(vault));
    assert_eq!((edited.inserted, edited.updated), (0, 1));
    assert_eq!(created("old"), "2001-09-09T01:46:40.000Z");
}

/// Gives all notes the titles that an earlier release would have made, with some of the markup.
fn give_former_titles(memory: &TestMemory, former: impl Fn(&Node) -> String) {
    let notes = memory.store.range::<Node>(&[]).unwrap();
    let notes = notes.into_iter().map(|(_, node)| Node { title: former(&node), ..node });
    let notes: Vec<Node> = notes.map(|node| Node { content_hash: node.hash(), ..node }).collect();
    let cause = memory.cause("import:docs", "import");
    let put = |tx: &mut Transaction<'_>, node: &Node| {
        tx.put_node(node)?;
        for mut frame in MarkdownFrame::all(tx, node.id)? {
            frame.imported.title.clone_from(&node.title);
            frame.put(tx, node.id)?;
        }
        Ok(())
    };
    memory.store.transact(cause, |tx| notes.iter().try_for_each(|node| put(tx, node))).unwrap();
}

#[test]
fn an_import_leaves_the_titles_of_earlier_releases_until_the_text_changes() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("docs");
    let take = || take(&memory, ImportSource::Path(folder.clone()));
    put(&folder, "heck.md", "# **heck** converts cases\n\nIt knows eight of them.\n");
    take();
    assert_eq!(find(&memory, "heck").title, "heck converts cases");
    give_former_titles(&memory, |node| poc_graph::former_title_of(&node.body).unwrap());
    assert_eq!(find(&memory, "heck").title, "heck** converts cases");
    let before = exported(&memory);
    let again = take();
    assert_eq!((counts(&again), again.warnings.len()), ([0, 0, 1, 0], 0));
    assert_eq!(exported(&memory), before, "nothing has changed");
    put(&folder, "heck.md", "# **heck** converts cases\n\nIt knows nine of them.\n");
    assert_eq!(counts(&take()), [0, 1, 0, 0]);
    assert_eq!(find(&memory, "heck").title, "heck converts cases");
}

#[test]
fn an_import_leaves_the_titles_of_parts_of_documents() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("docs");
    let text: String = (0..900).map(|number| format!("## *Part* {number}\n\nIt is short.\n\n")).collect();
    put(&folder, "parts.txt", &text);
    let first = take(&memory, ImportSource::Path(folder.clone()));
    assert!(first.inserted > 1, "{}", first.inserted);
    let titles = exported(&memory);
    assert!(titles.contains("\"Part 0 (1)\"") && titles.contains("\"Part 0: Part "), "{titles}");
    give_former_titles(&memory, |node| node.title.replace("Part ", "Part* "));
    let again = take(&memory, ImportSource::Path(folder));
    assert_eq!((again.updated, again.duplicates), (0, first.inserted));
}

#[test]
fn invalid_files_are_reported_and_the_others_are_imported() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "good.md", "A good note\n");
    put(&vault, "empty.md", "\n");
    put(&vault, "front.md", "---\ntags: [a]\nbody: ''\n---\n");
    put(&vault, "yaml.md", "---\ntitle: [a\n---\nBody\n");
    put(&vault, "list.md", "---\n- a\n---\nBody\n");
    put(&vault, "type.md", "---\ntype: epsodic\n---\nBody of it\n");
    put(&vault, "title.md", "---\ntitle: {a: b}\n---\nBody of that\n");
    put(&vault, "when.md", "---\ncreated: yesterday\n---\nBody of then\n");
    fs::write(vault.join("latin1.md"), b"caf\xe9").unwrap();
    let report = take(&memory, ImportSource::Path(vault));
    // An invalid property does not prevent the import of a note.
    assert_eq!(counts(&report), [4, 0, 0, 0]);
    // An empty file of a folder is not a failure.
    let skipped: Vec<_> = report.skipped.iter().map(|(kind, skipped)| (kind, skipped.count)).collect();
    assert_eq!(skipped, [("empty files", 1)]);
    insta::assert_snapshot!(failures(&report), @r"
    `front.md`: the note has no text (give it a title, a body or both)
    `latin1.md`: it is not UTF-8: byte 4 is invalid (save it as UTF-8)
    `list.md`: the front matter is not a list of `name: value` (write one property per line, for example `title: Journal`)
    `yaml.md`: 3:1: `title`: the front matter is not valid: did not find expected ',' or ']'
    ");
    let warnings = ImportReport { failed: report.warnings, ..ImportReport::default() };
    insta::assert_snapshot!(failures(&warnings), @r"
    `title.md`: `title`: it is an object (give a text)
    `type.md`: `type`: unknown type `epsodic` (did you mean `episodic`?)
    `when.md`: `created`: `yesterday` is not a time (write `2026-11-21` or `2026-11-21T08:00:00Z`)
    ");
}

#[test]
fn a_file_with_only_properties_is_a_note_with_its_name_as_the_title() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    put(&vault, "people/Freya Lund.md", "---\ntags: [agent]\nphone: 217\n---\n\n");
    put(&vault, "people/Ann.md", "---\ntags: [client]\ntitle: Ann Berg\n---\n");
    put(&vault, "empty.md", "---\n---\n");
    let report = take(&memory, ImportSource::Path(vault.clone()));
    assert_eq!(counts(&report), [2, 0, 0, 0]);
    insta::assert_snapshot!(
        failures(&report),
        @"`empty.md`: the note has no text (give it a title, a body or both)"
    );
    let title = |key: &str| find(&memory, key).title;
    assert_eq!([title("people/Freya Lund"), title("people/Ann")], ["Freya Lund", "Ann Berg"]);
    put(&vault, "people/Freya Lund.md", "---\ntags: [agent]\n---\nShe lives in Copenhagen.\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(vault))), [0, 1, 1, 0]);
    assert_eq!(title("people/Freya Lund"), "She lives in Copenhagen.");
}

#[test]
fn expired_notes_are_skipped_and_earlier_imports_stay() {
    let memory = TestMemory::new();
    put(memory.folder(), "in/old.md", "---\nexpires: 2026-11-20\n---\nThe tram is late.");
    put(memory.folder(), "in/sale.md", "---\nexpires: 2026-11-30\n---\nTea is cheap.");
    let source = || ImportSource::Path(memory.folder().join("in"));
    let report = take(&memory, source());
    assert_eq!((counts(&report), failures(&report)), ([1, 0, 0, 0], String::new()));
    assert_eq!(report.expired, [SourceLocation::File("old.md".into())]);
    memory.clock.advance(Span::WEEK);
    memory.clock.advance(Span::WEEK);
    let report = take(&memory, source());
    assert_eq!((counts(&report), report.expired.len(), failures(&report)), ([0; 4], 2, String::new()));
    assert_eq!(find(&memory, "sale").body, "Tea is cheap.");
    assert!(memory.store.view().find_key("old").is_none());
    // A date that differs from the stored one is adopted.
    put(memory.folder(), "in/sale.md", "---\nexpires: 2026-11-29\n---\nTea was cheap.");
    let report = take(&memory, source());
    assert_eq!((counts(&report), report.expired.len(), failures(&report)), ([0, 1, 0, 0], 1, String::new()));
    let sale = find(&memory, "sale");
    assert_eq!((sale.expires, sale.version), (Some(Timestamp::parse("2026-11-29").unwrap()), 2));
    assert_eq!((counts(&take(&memory, source())), sale.body.as_str()), ([0; 4], "Tea is cheap."));
    memory.note("tea", "Tea is here for good.");
    put(memory.folder(), "in/tea.md", "---\nkey: tea\nexpires: 2026-11-29\n---\nTea is here for good.");
    assert_eq!(counts(&take(&memory, source())), [0, 1, 0, 0]);
    let view = memory.store.view();
    let now = poc_graph::Visibility::of_model(memory.now());
    assert!(!view.is_visible(view.find_key("tea").unwrap(), now), "no search finds it any more");
}

#[test]
fn a_folder_below_an_imported_one_is_a_part_of_it() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let import = |path: &str| {
        let report = take(&memory, ImportSource::Path(vault.join(path)));
        assert_eq!(failures(&report), "", "{path}");
        counts(&report)
    };
    put(&vault, "two.md", "The second.\n");
    put(&vault, "d/one.md", "The first, see [[two]] and [[three]].\n");
    put(&vault, "d/e/three.md", "The third.\n");
    assert_eq!(import(""), [3, 0, 0, 2]);
    let first = find(&memory, "d/one").id;

    put(&vault, "d/one.md", "The first, see [[two]].\n");
    assert_eq!(import("d"), [0, 1, 1, 0]);
    let one = find(&memory, "d/one");
    assert_eq!((one.id, one.version, one.provenance.as_str()), (first, 2, "import:vault"));
    assert_eq!(links(&memory, "d/one"), ["two"]);
    put(&vault, "d/new.md", "The fourth.\n");
    assert_eq!(import("d"), [1, 0, 2, 0]);
    assert_eq!(find(&memory, "d/new").body, "The fourth.");
    put(&vault, "d/e/three.md", "The third, edited.\n");
    assert_eq!(import("d/e/three.md"), [0, 1, 0, 0]);
    assert_eq!(import("d/e"), [0, 0, 1, 0]);
    assert_eq!(find(&memory, "d/e/three").body, "The third, edited.");
    // So is a single file of the folder itself.
    put(&vault, "two.md", "The second, edited.\n");
    assert_eq!(import("two.md"), [0, 1, 0, 0]);
    assert_eq!(find(&memory, "two").provenance, "import:vault");
    assert_eq!(import(""), [0, 0, 4, 0]);
}

#[test]
fn a_folder_with_a_few_files_like_those_of_an_imported_one_is_another_folder() {
    let (memory, elsewhere) = (TestMemory::new(), poc_graph::testing::folder());
    let docs = memory.folder().join("docs");
    put(&docs, "adr/README.md", "The decisions of this project.\n");
    put(&docs, "adr/one.md", "The first decision.\n");
    assert_eq!(counts(&take(&memory, ImportSource::Path(docs))), [2, 0, 0, 0]);
    let others = elsewhere.path().join("docs/adr");
    put(&others, "README.md", "The decisions of another project.\n");
    put(&others, "two.md", "Another decision.\n");
    put(&others, "three.md", "One more decision.\n");
    put(&others, "plan.png", "no note");
    assert_eq!(counts(&take(&memory, ImportSource::Path(others))), [3, 0, 0, 0]);
    assert_eq!(find(&memory, "adr/README").body, "The decisions of this project.");
    assert_eq!(find(&memory, "two").provenance, "import:adr");
}

#[test]
fn a_copy_that_an_import_of_a_folder_below_has_made_is_replaced() {
    let (memory, elsewhere) = (TestMemory::new(), poc_graph::testing::folder());
    let vault = memory.folder().join("vault");
    put(&vault, "d/one.md", "The first.\n");
    take(&memory, ImportSource::Path(vault.clone()));
    put(elsewhere.path(), "d/one.md", "The first, edited.\n");
    take(&memory, ImportSource::Path(elsewhere.path().join("d")));
    let (first, copy) = (find(&memory, "d/one").id, find(&memory, "one").id);
    assert_ne!(first, copy);
    put(&vault, "d/one.md", "The first, edited.\n");
    // The notes of a bound vault stay.
    let bound = ImportOptions { vaults: vec!["import:d".into()], ..ImportOptions::default() };
    let report = import(&memory, &ImportSource::Path(vault.clone()), &bound, &|_, _| {}).unwrap();
    assert!(failures(&report).contains("`one` already has this text"), "{}", failures(&report));
    assert_eq!(memory.store.node(copy).unwrap().unwrap().state, State::Active);
    let report = take(&memory, ImportSource::Path(vault));
    assert_eq!((counts(&report), failures(&report)), ([0, 1, 0, 0], String::new()));
    let (first, copy) =
        (memory.store.node(first).unwrap().unwrap(), memory.store.node(copy).unwrap().unwrap());
    assert_eq!((first.body.as_str(), first.state), ("The first, edited.", State::Active));
    assert_eq!(copy.state, State::Superseded);
}

/// An import that changes the notes of three files and replaces a copy of one of them by its note. Returns its number
/// and the id of the copy.
fn import_with_a_replacement(memory: &TestMemory) -> (u64, NodeId) {
    let elsewhere = poc_graph::testing::folder();
    let vault = memory.folder().join("vault");
    let write = |edited: &str| {
        for file in ["one", "two", "three"] {
            put(&vault, &format!("d/{file}.md"), &format!("The text of {file}{edited}.\n"));
        }
    };
    // At another time, an import of the same folder is another call.
    let take_later = |folder: &Path| {
        memory.clock.advance(Span::MINUTE);
        take(memory, ImportSource::Path(folder.to_owned()))
    };
    write("");
    take_later(&vault);
    put(elsewhere.path(), "d/one.md", "The text of one, edited.\n");
    take_later(&elsewhere.path().join("d"));
    let copy = find(memory, "one").id;
    write(", edited");
    let report = take_later(&vault);
    assert_eq!((counts(&report), failures(&report)), ([0, 3, 0, 0], String::new()));
    assert_eq!(memory.store.node(copy).unwrap().unwrap().state, State::Superseded);
    (history::latest(memory, 1, None, &|_| true).unwrap()[0].seq, copy)
}

/// The bodies of the three notes, without their ends, and the state of the copy.
fn bodies_and_state(memory: &TestMemory, copy: NodeId) -> ([String; 3], State) {
    let body = |file: &str| find(memory, &format!("d/{file}")).body.trim_end().to_owned();
    (["one", "two", "three"].map(body), memory.store.node(copy).unwrap().unwrap().state)
}

#[test]
fn an_undo_of_an_import_with_a_replacement_leaves_a_note_that_changed_since() {
    let memory = TestMemory::new();
    let (import, copy) = import_with_a_replacement(&memory);
    edit(&memory, "d/three", "The text of three, said anew.");
    let undone = undo::undo(&memory, import).unwrap();
    let left: Vec<&UndoItem> = undone.items.iter().filter(|item| item.refused.is_some()).collect();
    assert_eq!((undone.items.len(), left.len()), (2, 1), "{undone:#?}");
    assert!(left[0].summary.contains("`d/three`"), "{undone:#?}");
    let expected = ["The text of one.", "The text of two.", "The text of three, said anew."];
    assert_eq!(bodies_and_state(&memory, copy), (expected.map(String::from), State::Active));
}

#[test]
fn an_undo_of_an_import_leaves_a_changed_note_with_the_one_that_it_replaced() {
    let memory = TestMemory::new();
    let (import, copy) = import_with_a_replacement(&memory);
    edit(&memory, "d/one", "The text of one, said anew.");
    let undone = undo::undo(&memory, import).unwrap();
    let left: Vec<&UndoItem> = undone.items.iter().filter(|item| item.refused.is_some()).collect();
    assert_eq!((undone.items.len(), left.len()), (2, 1), "{undone:#?}");
    let expected = ["The text of one, said anew.", "The text of two.", "The text of three."];
    assert_eq!(bodies_and_state(&memory, copy), (expected.map(String::from), State::Superseded));
    let successor = find(&memory, "d/one").id;
    assert!(memory.store.edge(successor, EdgeKind::Supersedes, copy).unwrap().is_some());
}

/// Gives a note another text by hand.
fn edit(memory: &TestMemory, key: &str, body: &str) {
    memory.insert(Draft { key: Some(key.into()), update: true, ..draft(body) }).unwrap();
}

#[test]
fn equal_files_whose_keys_are_those_of_one_note_are_duplicates() {
    let memory = TestMemory::new();
    let vault = memory.folder().join("vault");
    let write = |file: &str, text: &str| put(&vault, file, text);
    let import = || take(&memory, ImportSource::Path(vault.clone()));
    write("copy.md", "What is to be done.\n");
    write("todo.md", "What is to be done.\n");
    assert_eq!(counts(&import()), [1, 0, 1, 0]);
    let stored = find(&memory, "copy");
    let names = vec!["todo".into()];
    let node = Node { aliases: names, other_names: Vec::new(), version: stored.version + 1, ..stored };
    memory.store.transact(memory.cause("manual", "rename"), |tx| tx.put_node(&node)).unwrap();
    let report = import();
    assert_eq!((counts(&report), failures(&report)), ([0, 0, 2, 0], String::new()));
    write("copy.md", "What is left to be done.\n");
    write("todo.md", "What is left to be done.\n");
    let report = import();
    assert_eq!((counts(&report), failures(&report)), ([0, 1, 1, 0], String::new()));
    assert_eq!(find(&memory, "todo").body, "What is left to be done.");
    // A file with another text would silently replace the first.
    write("todo.md", "What somebody else is to do.\n");
    let report = import();
    assert_eq!(counts(&report), [0, 0, 1, 0]);
    assert!(
        failures(&report).contains("the key `copy` was already used at `copy.md`"),
        "{}",
        failures(&report)
    );
}

#[test]
fn a_file_with_the_key_of_the_note_of_another_file_is_refused() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("kitchen");
    let import = || take(&memory, ImportSource::Path(folder.clone()));
    put(&folder, "soup.md", "Lentils with carrots.\n");
    import();
    put(&folder, "keyclash.md", "---\nkey: soup\n---\nA soup from a tin.\n");
    put(&folder, "z-copy.md", "Lentils with carrots.\n");
    for _ in 0..2 {
        let report = import();
        assert_eq!(counts(&report), [0, 0, 2, 0], "{}", failures(&report));
        let failed = failures(&report);
        let expected = "`keyclash.md`: the key `soup` was already used at `soup.md`";
        assert!(failed.starts_with(expected), "{failed}");
        assert_eq!(find(&memory, "soup").body, "Lentils with carrots.");
        assert_eq!(find(&memory, "z-copy").key, "soup", "the text of a duplicate is that of the named note");
    }
    // Once no other file has the note, the key is free, as after a move.
    fs::remove_file(folder.join("soup.md")).unwrap();
    fs::remove_file(folder.join("z-copy.md")).unwrap();
    let report = import();
    assert_eq!((counts(&report), failures(&report)), ([0, 1, 0, 0], String::new()));
    assert_eq!(find(&memory, "soup").body, "A soup from a tin.");
}

#[test]
fn a_file_that_changes_the_note_of_a_file_of_another_folder_is_named() {
    let memory = TestMemory::new();
    put(memory.folder(), "kitchen/soup.md", "Lentils with carrots.\n");
    let import = |path: &str| take(&memory, ImportSource::Path(memory.folder().join(path)));
    import("kitchen");
    put(memory.folder(), "elsewhere/tin.md", "---\nkey: soup\n---\nA soup from a tin.\n");
    let report = import("elsewhere/tin.md");
    let warnings: Vec<String> =
        report.warnings.iter().map(|(place, error)| format!("{place}: {error}")).collect();
    assert_eq!(counts(&report), [0, 1, 0, 0], "{}", failures(&report));
    assert_eq!(warnings, ["`tin.md`: it changed the note of `soup.md`, which has the same key"]);
    put(memory.folder(), "elsewhere/tin.md", "---\nkey: soup\n---\nA soup from a can.\n");
    let report = import("elsewhere/tin.md");
    assert_eq!((counts(&report), report.warnings.len()), ([0, 1, 0, 0], 0), "{}", failures(&report));
}

#[test]
fn a_file_that_cannot_be_read_keeps_its_note() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("kitchen");
    let import = || take(&memory, ImportSource::Path(folder.clone()));
    put(&folder, "soup.md", "Lentils with carrots.\n");
    import();
    put(&folder, "soup.md", "---\n- a list\n---\nLentils with carrots.\n");
    put(&folder, "keyclash.md", "---\nkey: soup\n---\nA soup from a tin.\n");
    let report = import();
    assert_eq!((counts(&report), report.failed.len()), ([0, 0, 0, 0], 2), "{}", failures(&report));
    let expected =
        "`keyclash.md`: its key belongs to the note of `soup.md` (give each note a key of its own)";
    assert!(failures(&report).starts_with(expected), "{}", failures(&report));
    assert_eq!(find(&memory, "soup").body, "Lentils with carrots.");
}

#[test]
fn a_new_file_whose_name_is_the_key_of_another_file_is_refused() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("kitchen");
    let import = || take(&memory, ImportSource::Path(folder.clone()));
    put(&folder, "z.md", "---\nkey: a\n---\nLentils with carrots.\n");
    import();
    put(&folder, "a.md", "A soup from a tin.\n");
    let report = import();
    assert_eq!(counts(&report), [0, 0, 1, 0]);
    assert!(failures(&report).starts_with("`a.md`: the key `a` was already used at `z.md`"));
    assert_eq!(find(&memory, "a").body, "Lentils with carrots.");
    // If the other file gives up the key at the same time, the file gets the note.
    put(&folder, "z.md", "---\nkey: b\n---\nLentils with leeks.\n");
    let report = import();
    assert_eq!((counts(&report), failures(&report)), ([1, 1, 0, 0], String::new()));
    assert_eq!(
        (find(&memory, "a").body, find(&memory, "b").body),
        ("A soup from a tin.".to_owned(), "Lentils with leeks.".to_owned())
    );
}

#[test]
fn a_copy_of_the_former_text_of_an_edited_file_is_a_note_of_its_own() {
    // With a chunk of one note, the copy and the edited file are stored in different transactions.
    for (copy, chunk) in [("a-copy", 500), ("z-copy", 500), ("a-copy", 1), ("z-copy", 1)] {
        let mut config = poc_config::Config::defaults().unwrap();
        config.import.chunk = chunk;
        let memory = TestMemory::with(config);
        let folder = memory.folder().join("kitchen");
        put(&folder, "soup.md", "Lentils with carrots.\n");
        take(&memory, ImportSource::Path(folder.clone()));
        put(&folder, "soup.md", "A soup from a tin.\n");
        put(&folder, &format!("{copy}.md"), "Lentils with carrots.\n");
        let report = take(&memory, ImportSource::Path(folder));
        assert_eq!((counts(&report), failures(&report)), ([1, 1, 0, 0], String::new()));
        assert_eq!(
            (find(&memory, "soup").body, find(&memory, copy).body),
            ("A soup from a tin.".to_owned(), "Lentils with carrots.".to_owned())
        );
    }
}
