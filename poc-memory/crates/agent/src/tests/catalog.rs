//! The catalog follows the files: edits, broken versions, deletions.

use super::files::SEED;
use super::world::{World, report};
use crate::model::ModelRegistry;
use crate::{AgentStatus, Catalog, CatalogEntry, CatalogScan, EntryState, GRACE, embedded};
use poc_config::SavedPipeline;
use poc_graph::time::Span;
use poc_search::query::Names;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn bundled_agents_run_without_a_language_model() {
    let world = World::new();
    let (catalog, models) = (Catalog::load(&world.memory).unwrap(), ModelRegistry::default());
    for (name, entry) in &catalog.agents {
        let obstacle = entry.obstacle(&world.memory.config, &models, world.memory.now());
        assert_eq!(obstacle, None, "{name}");
        assert_eq!(entry.status(None, obstacle.as_deref()), AgentStatus::Ok, "{name}");
    }
}

#[test]
fn a_broken_file_runs_as_its_last_good_version_even_after_a_restart() {
    let world = World::new();
    world.file("agents/mine.toml", SEED);
    let catalog = Catalog::load(&world.memory).unwrap();
    let since = catalog.agents["mine"].since;
    world.clock.advance(Span::HOUR);
    world.file("agents/mine.toml", &SEED.replace("weight", "wait"));
    let world = world.reopen();
    let catalog = Catalog::load(&world.memory).unwrap();
    let mine = &catalog.agents["mine"];
    assert_eq!((mine.state, mine.since), (EntryState::LastGood, since));
    assert_eq!(mine.definition.as_ref().unwrap().source, SEED);
    insta::assert_snapshot!(report(&mine.errors), @r"
    agents/mine.toml:11:24: unknown action `wait`
      the actions are `link-add`, `weight`, `insert` and `supersede`
    ");

    // Loading unchanged files writes nothing.
    let seq = world.memory.store.view().seq;
    Catalog::load(&world.memory).unwrap();
    assert_eq!(world.memory.store.view().seq, seq);
}

#[test]
fn changing_a_saved_pipeline_changes_the_agents_that_use_it() {
    let world = World::new();
    let save = |due: &str| {
        let saved = BTreeMap::from([("due".to_owned(), SavedPipeline::from(due.to_owned()))]);
        let names = Names::clone(&world.memory.names.load()).with_saved(saved);
        world.memory.names.store(Arc::new(names));
    };
    let load = || Catalog::load(&world.memory).unwrap().agents.remove("mine").unwrap();
    let pipeline = |entry: &CatalogEntry| entry.definition.as_ref().unwrap().query.pipeline.to_string();
    let fingerprint = |entry: &CatalogEntry| entry.definition.as_ref().unwrap().fingerprint.clone();
    world.file("agents/mine.toml", &SEED.replace("all | type:episodic | not-visited:linker,7d", "@due"));
    save("type:episodic | not-visited:mine,3d");
    let first = load();
    assert_eq!(pipeline(&first), "all | type:episodic | not-visited:mine,3d | sort:priority | limit:20");
    let window = first.definition.as_ref().unwrap().window();
    assert_eq!(window.map(|window| window.to_string()), Some("3d".into()));

    // Another text changes the agent.
    save("type:daily");
    let second = load();
    assert_eq!(
        (second.state, pipeline(&second)),
        (EntryState::Ok, "all | type:daily | sort:priority | limit:20".into())
    );
    assert_ne!(fingerprint(&first), fingerprint(&second));

    // With a broken pipeline, the agent keeps its last valid version and the old text.
    save("tpye:daily");
    let broken = load();
    assert_eq!((broken.state, pipeline(&broken)), (EntryState::LastGood, pipeline(&second)));
    insta::assert_snapshot!(report(&broken.errors), @r#"
    agents/mine.toml:3:13: in the saved pipeline `@due`: unknown stage `tpye`
      tpye:daily
      ^^^^
      did you mean `type`?
    "#);
    world.memory.names.store(Arc::new(Names::of(&world.memory.config)));
    let gone = load();
    assert_eq!((gone.state, fingerprint(&gone)), (EntryState::LastGood, fingerprint(&second)));
}

#[test]
fn a_deleted_file_retires_its_agent_but_a_deleted_folder_does_not() {
    let world = World::new();
    for file in embedded::agents() {
        world.file(&format!("agents/{}", file.name), file.text);
    }
    world.file("agents/mine.toml", SEED);
    Catalog::load(&world.memory).unwrap();
    std::fs::remove_file(world.home.path().join("agents/replay.toml")).unwrap();
    let names = |catalog: &Catalog| catalog.agents.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&Catalog::load(&world.memory).unwrap()),
        ["facts", "linker", "mine", "quotations", "rename", "separator", "split", "transfer"]
    );

    std::fs::remove_dir_all(world.home.path().join("agents")).unwrap();
    let world = world.reopen();
    let catalog = Catalog::load(&world.memory).unwrap();
    assert_eq!(
        names(&catalog),
        ["facts", "linker", "mine", "quotations", "rename", "separator", "split", "transfer"]
    );
    assert_eq!(catalog.problems.len(), 1);
    assert!(catalog.problems[0].contains("is missing"), "{}", catalog.problems[0]);
}

#[test]
fn a_restored_agent_counts_as_new() {
    let world = World::new();
    world.file("agents/mine.toml", SEED);
    Catalog::load(&world.memory).unwrap();
    let first = world.memory.now();
    let remove = || std::fs::remove_file(world.home.path().join("agents/mine.toml")).unwrap();
    let is_there = || Catalog::load(&world.memory).unwrap().agents.contains_key("mine");
    let since = || Catalog::load(&world.memory).unwrap().agents["mine"].since;

    // A scan may come in the middle of a save.
    remove();
    assert!(!is_there());
    world.clock.advance(Span::WEEK);
    world.file("agents/mine.toml", SEED);
    assert_eq!(since(), first);

    remove();
    assert!(!is_there());
    world.clock.advance(GRACE);
    assert!(!is_there());
    world.clock.advance(Span::WEEK);
    world.file("agents/mine.toml", SEED);
    assert_eq!(since(), world.memory.now());

    // With `sure`, there is no grace period.
    remove();
    let scan = CatalogScan::new(&world.memory, true).unwrap();
    scan.save(&world.memory, &scan.catalog).unwrap();
    world.clock.advance(Span::WEEK);
    world.file("agents/mine.toml", SEED);
    assert_eq!(since(), world.memory.now());
}

#[test]
fn a_scan_that_differs_from_the_published_catalog_is_not_stored() {
    let world = World::new();
    world.file("agents/mine.toml", "[query]\npipel");
    let scan = CatalogScan::new(&world.memory, false).unwrap();
    assert_eq!(scan.catalog.agents["mine"].state, EntryState::Invalid);
    scan.save(&world.memory, &Catalog::default()).unwrap();
    world.clock.advance(Span::HOUR);
    world.file("agents/mine.toml", SEED);
    let catalog = Catalog::load(&world.memory).unwrap();
    assert_eq!(catalog.agents["mine"].since, world.memory.now());
}

/// What an editor and a scan of the folder do, one after the other.
#[derive(Clone, Debug)]
enum Step {
    /// The file is missing for a while, with scans at these milliseconds, and comes back edited.
    Save { scans: Vec<i64>, edit: usize },
    /// Time passes, then the folder is scanned.
    Scan { minutes: i64 },
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// As long as the file is missing only while an editor saves it, the agent keeps its `since`.
    #[test]
    fn scanning_does_not_change_when_an_agent_was_first_seen(
        steps in proptest::collection::vec(
            prop_oneof![
                (proptest::collection::vec(0..GRACE.0 / 4, 0..4), 1..50usize)
                    .prop_map(|(scans, edit)| Step::Save { scans, edit }),
                (0..5_000i64).prop_map(|minutes| Step::Scan { minutes }),
            ],
            1..12,
        ),
    ) {
        let world = World::new();
        world.file("agents/mine.toml", SEED);
        let first = Catalog::load(&world.memory).unwrap().agents["mine"].since;
        for step in steps {
            match step {
                Step::Save { scans, edit } => {
                    std::fs::remove_file(world.home.path().join("agents/mine.toml")).unwrap();
                    for after in scans {
                        world.clock.advance(Span(after));
                        prop_assert!(!Catalog::load(&world.memory).unwrap().agents.contains_key("mine"));
                    }
                    world.file("agents/mine.toml", &SEED.replace("limit:20", &format!("limit:{edit}")));
                    // A deletion that no scan sees does not count.
                    prop_assert_eq!(Catalog::load(&world.memory).unwrap().agents["mine"].since, first);
                }
                Step::Scan { minutes } => {
                    world.clock.advance(Span(minutes * Span::MINUTE.0));
                    prop_assert_eq!(Catalog::load(&world.memory).unwrap().agents["mine"].since, first);
                }
            }
        }
        prop_assert_eq!(Catalog::load(&world.memory).unwrap().agents["mine"].since, first);
    }
}

/// With a thousand files, a scan without changes parses no agent and writes nothing. An edit of a file or a
/// template parses only the agents that use it.
#[test]
fn unchanged_files_are_not_parsed_again() {
    let world = World::new();
    world.file("prompts/part.md", "{{ NODES }}");
    world.file("prompts/shared.md", "{% include \"part.md\" %}");
    for number in 0..1000 {
        let own = SEED
            .replace("[\"TOPOLOGY\", \"NODES\"]", "[\"NODES\"]")
            .replace("linker,7d", &format!("a{number},7d"));
        let prompt = match number % 100 {
            0 => "template = \"shared.md\"",
            _ => "inline = \"{{ NODES }}\"",
        };
        world.file(&format!("agents/a{number}.toml"), &own.replace("template = \"linker.md\"", prompt));
    }
    let first = Catalog::load(&world.memory).unwrap();
    assert_eq!(
        first.agents.values().filter(|entry| entry.state == EntryState::Ok).count(),
        1000 + embedded::agents().len()
    );
    let seq = world.memory.store.view().seq;
    let scan = |shown: &Catalog| {
        let scan = CatalogScan::rescan(&world.memory, false, shown).unwrap();
        scan.save(&world.memory, &scan.catalog).unwrap();
        scan.catalog
    };
    let parsed = |before: &Catalog, after: &Catalog| {
        let same = |name: &String, entry: &CatalogEntry| {
            let before = before.agents[name].definition.as_ref().unwrap();
            Arc::ptr_eq(before, entry.definition.as_ref().unwrap())
        };
        after.agents.iter().filter(|(name, entry)| !same(name, entry)).count()
    };
    let second = scan(&first);
    assert_eq!((parsed(&first, &second), world.memory.store.view().seq), (0, seq));

    world.file("agents/a7.toml", &SEED.replace("linker,7d", "a7,8d"));
    let third = scan(&second);
    assert_eq!(parsed(&second, &third), 1);
    world.file("prompts/part.md", "All: {{ NODES }}");
    let fourth = scan(&third);
    assert_eq!(parsed(&third, &fourth), 10);
    assert!(fourth.agents["a100"].definition.as_ref().unwrap().prompt.includes["part.md"].starts_with("All"));
}

#[test]
fn an_edited_schedule_takes_effect_from_the_edit() {
    let world = World::new();
    world.file("agents/mine.toml", SEED);
    let since = |world: &World| Catalog::load(&world.memory).unwrap().agents["mine"].since;
    let first = since(&world);
    world.clock.advance(Span::DAY);
    world.file("agents/mine.toml", &SEED.replace("limit:20", "limit:5"));
    assert_eq!(since(&world), first, "another pipeline, the same slots");
    world.file("agents/mine.toml", &SEED.replace("daily", "hourly"));
    assert_eq!(since(&world), world.memory.now());
}
