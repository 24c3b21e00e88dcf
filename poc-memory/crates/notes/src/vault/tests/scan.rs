//! Files that a scan leaves out, and files that it cannot read.

use super::*;
use crate::import::{ImportOptions, ImportSource, import};
use crate::testing::{make_pipe, set_modified};
use poc_graph::error::Code;

#[test]
fn ignored_files_and_links_out_of_the_folder_are_left_out() {
    let world = World::new(&[
        ("a.md", "The first.\n"),
        (".obsidian/templates.json", "{\"folder\": \"Forms\"}"),
        (".obsidian/x.md", "hidden"),
        ("Forms/day.md", "a template"),
        ("templates/week.md", "another"),
        (".gitignore", "drafts/\n"),
        ("drafts/d.md", "a draft"),
        (".poc-memory-ignore", "private-*.md\n"),
        ("private-1.md", "secret"),
        ("notes/templates/kept.md", "A note about templates.\n"),
    ]);
    let outside = world.memory.folder().join("outside");
    put(&outside, "o.md", "outside");
    std::os::unix::fs::symlink(outside.join("o.md"), world.folder.join("o.md")).unwrap();
    std::os::unix::fs::symlink(&outside, world.folder.join("linked")).unwrap();
    let report = world.sync();
    assert_eq!((report.files, report.outside), (2, 1), "{report:#?}");
    assert!(world.note("notes/templates/kept").state.is_live());
}

#[test]
fn backups_of_memories_in_the_folder_are_left_out() {
    let world = World::new(&[("a.md", "The first.\n"), ("partial-2026/b.md", "The second.\n")]);
    let name = "00000000000000000002-20261130T150107.275Z";
    world.put(&format!("backups/{name}/manifest.json"), "{}");
    for folder in [name.to_owned(), format!("partial-{name}")] {
        world.put(&format!("backups/{folder}/prompts/linker.md"), "Which notes belong together?\n");
    }
    let report = world.sync();
    assert_eq!((report.files, problems(&report)), (2, String::new()));
    let source = ImportSource::Path(world.folder.clone());
    let report = import(&TestMemory::new(), &source, &ImportOptions::default(), &|_, _| {}).unwrap();
    assert_eq!(report.inserted, 2);
    assert_eq!(report.skipped.iter().map(|(kind, _)| kind).collect::<Vec<_>>(), ["backups of memories"]);
}

/// Nobody writes to these pipes, so whoever opens one waits forever.
#[test]
fn a_pipe_in_place_of_an_ignore_file_or_of_settings_is_not_opened() {
    let world = World::new(&[("a.md", "The first text.\n"), ("sub/b.md", "The second text.\n")]);
    world.sync();
    let pipe = |path: &str| {
        let path = world.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make_pipe(&path);
    };
    pipe(".obsidian/templates.json");
    pipe("sub/.gitignore");
    world.put("a.md", "The first text, edited.\n");
    let report = world.sync();
    // What is in the folder with the pipe is unknown, so its notes stay.
    assert_eq!(counts(&report), [0, 1, 0, 0, 0, 0]);
    assert!(problems(&report).contains("sub/.gitignore` is not a regular file"), "{}", problems(&report));
    assert!(world.note("sub/b").state.is_live());
    pipe(".poc-memory-ignore");
    let vault = named(&world.memory, "vault").unwrap();
    let error = sync(&world.memory, &vault, &SyncOptions::default(), &|_, _| {}).unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert!(error.message.contains(".poc-memory-ignore` is not a regular file"), "{error}");
}

#[test]
fn a_bad_file_is_named_and_keeps_its_note() {
    let world = World::new(&[("a.md", "The first text.\n"), ("b.md", "The second text.\n"), ("e.md", "")]);
    fs::write(world.folder.join("binary.md"), b"a\0b").unwrap();
    fs::write(world.folder.join("latin.md"), b"caf\xe9 au lait").unwrap();
    world.put("huge.md", &"long ".repeat(world.memory.config.insert.max_node_bytes));
    world.put("exported.md", "---\nschema_version: 1\nid: 0\n---\nx\n");
    let report = world.sync();
    assert_eq!((report.files, report.empty), (2, 1));
    let mut named: Vec<&str> = report.refused.iter().map(|problem| problem.file.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["binary.md", "exported.md", "huge.md", "latin.md"], "{}", problems(&report));
    assert_eq!(status(&world.memory).unwrap()[0].behind, 0);

    world.put("a.md", "---\ntitle: [x\n---\nThe first text.\n");
    let report = world.sync();
    assert!(
        problems(&report).contains("a.md: 3:1: `title`: the front matter is not valid"),
        "{}",
        problems(&report)
    );
    assert_eq!((counts(&report), world.note("a").body.as_str()), ([0; 6], "The first text."));
    world.put("a.md", "---\ntitle: x\n---\nThe first text.\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    assert_eq!(world.note("a").title, "x");

    // An empty file may be a temporary state of an editor or a deletion.
    world.put("b.md", "");
    assert_eq!(counts(&world.sync()), [0; 6]);
    set_modified(&world.folder.join("b.md"), 1_000_000_000);
    assert_eq!(counts(&world.sync()), [0, 0, 0, 1, 0, 0]);
}

#[test]
fn a_bad_file_that_is_moved_keeps_its_note() {
    let world = World::new(&[
        ("a.md", "The first text.\n"),
        ("b.md", "The second text.\n"),
        ("c.md", "The third, see [[a]].\n"),
    ]);
    world.sync();
    let id = world.note("a").id;
    world.put("a.md", "---\ntitle: [x\n---\nThe first text.\n");
    world.sync();
    world.mv("a.md", "sub/d.md");
    for renamed in [1, 0] {
        let report = world.sync();
        assert_eq!((counts(&report), report.busy), ([0, 0, renamed, 0, 0, 0], 0), "{report:#?}");
        assert!(problems(&report).starts_with("sub/d.md: 3:1: `title`"), "{}", problems(&report));
        assert_eq!((world.note("sub/d").id, world.note("sub/d").body.as_str()), (id, "The first text."));
        assert_eq!(world.links("c"), ["sub/d"]);
    }
    world.put("sub/d.md", "The first text, repaired.\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    assert_eq!(world.note("sub/d").id, id);

    // A file that becomes bad and is moved at once is not recognised.
    world.put("b.md", "---\ntitle: [x\n---\nThe second text.\n");
    world.mv("b.md", "e.md");
    let report = world.sync();
    assert_eq!((report.retired, report.retired_files), (1, vec!["b.md".to_owned()]));
}

#[test]
fn a_file_that_changes_during_a_sync_is_listed_as_changed() {
    let world = World::new(&[("a.md", "The first.\n"), ("b.md", "The second.\n")]);
    let behind = || status(&world.memory).unwrap()[0].behind;
    assert_eq!(behind(), 2);
    let save = |_, _| world.put("a.md", "The first, edited.\n");
    let vault = named(&world.memory, "vault").unwrap();
    sync(&world.memory, &vault, &SyncOptions::default(), &save).unwrap();
    assert_eq!(behind(), 1);
    world.sync();
    assert_eq!((behind(), world.note("a").body.as_str()), (0, "The first, edited."));
}

#[test]
fn the_status_says_what_happened_to_the_files_since_the_last_sync() {
    let world = World::new(&[("a.md", "The first.\n"), ("b.md", "The second.\n"), ("c.md", "The third.\n")]);
    world.sync();
    let counts = || {
        let VaultStatus { behind, changes, .. } = status(&world.memory).unwrap().remove(0);
        let FileChanges { new, changed, moved, deleted } = changes;
        (behind, [new, changed, moved, deleted])
    };
    assert_eq!(counts(), (0, [0; 4]));
    world.mv("a.md", "sub/a.md");
    assert_eq!(counts(), (1, [0, 0, 1, 0]));
    world.put("b.md", "The second, edited.\n");
    world.delete("c.md");
    world.put("d.md", "The fourth.\n");
    assert_eq!(counts(), (4, [1, 1, 1, 1]));
    world.sync();
    // Size and time of the files are not known in a memory that was restored.
    crate::vault::scan_record::remove(&world.memory, &named(&world.memory, "vault").unwrap());
    assert_eq!(counts(), (0, [0; 4]));
    world.put("d.md", "The fourth, edited.\n");
    assert_eq!(counts(), (1, [0, 1, 0, 0]));
}

#[test]
fn the_status_lists_warnings_until_their_files_change() {
    let world = World::new(&[("a.md", "---\ntype: meeting\n---\nThe first.\n"), ("b.md", "The second.\n")]);
    let listed = || {
        let line = |warning: &FileError| format!("{}: {}", warning.file, warning.error.line());
        status(&world.memory).unwrap().remove(0).warnings.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(world.sync().warnings.len(), 1);
    let first = listed();
    assert!(first.len() == 1 && first[0].starts_with("a.md: "), "{first:?}");
    // Later syncs do not read the file again.
    assert_eq!(world.sync().warnings, []);
    world.put("b.md", "The second, edited.\n");
    assert_eq!(world.sync().warnings, []);
    assert_eq!(listed(), first);
    world.mv("a.md", "c.md");
    world.sync();
    assert_eq!(listed(), [first[0].replace("a.md", "c.md")]);
    world.put("c.md", "---\ntype: daily\n---\nThe first.\n");
    world.sync();
    assert_eq!(listed(), [] as [String; 0]);
}

#[test]
fn the_status_lists_a_key_that_two_files_have_until_one_of_them_gives_it_up() {
    let world = World::new(&[("a.md", "---\nkey: one\n---\nThe first.\n"), ("b.md", "The second.\n")]);
    world.put("c.md", "---\nkey: one\n---\nThe third.\n");
    let listed = || status(&world.memory).unwrap().remove(0).warnings.len();
    world.sync();
    world.put("b.md", "The second, edited.\n");
    world.sync();
    world.sync();
    assert_eq!(listed(), 1);
    world.put("a.md", "---\nkey: two\n---\nThe first.\n");
    world.sync();
    assert_eq!(listed(), 0);
}
