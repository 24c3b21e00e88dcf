//! Broken files and what is said about them.

use super::world::{World, parse};
use crate::Catalog;
use crate::CatalogEntry;
use crate::CatalogScan;
use crate::EntryState;
use crate::GRACE;
use crate::embedded;
use poc_config::SavedPipeline;
use poc_graph::error::Error;
use poc_graph::time::Span;
use poc_search::query::Names;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The seed's file, as it was written before there was any code.
const SEED: &str = r#"# agents/linker.toml            (this file, unchanged, must work: it is the seed's)
[query]
pipeline = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20"

[prompt]
template = "linker.md"
placeholders = ["TOPOLOGY", "NODES"]

[execution]
model = "sonnet"
actions = ["link-add", "weight"]
schedule = "daily"
"#;

fn report(errors: &[Error]) -> String {
    let hint = |error: &Error| error.hint.as_ref().map_or_else(String::new, |hint| format!("\n  {hint}"));
    errors.iter().map(|error| format!("{error}{}\n", hint(error))).collect()
}

/// What is said about an agent file.
fn problems_of(text: &str) -> String {
    match parse(text) {
        Ok(_) => "nothing".into(),
        Err(errors) => report(&errors),
    }
}

#[test]
fn every_problem_is_reported_with_its_position() {
    insta::assert_snapshot!(problems_of(
        r#"descripton = "x"
enabled = "yes"

[query]
pipeline = "all | tpye:episodic"
max-results = -1

[prompt]
inline = "{{ NODES }} {{ TOPOLOGY }} {{ nods }}"
placeholders = ["NODES", "PAIRS", "HUBBS"]

[execution]
model = "sonett"
actions = ["link-ad", "weight", "weight"]
schedule = "dayly"
timeout = "soon"
fallback = ["haiku", "sonett", "opuss"]

[limits.insert]
max = 2

[schedule]
timezone = "Europe/Viena"
overlap = "queue"

[budgett]
max-usd-per-day = 1
"#
    ), @r#"
    agents/tester.toml:1:1: unknown key `descripton`
      did you mean `description`?
    agents/tester.toml:2:11: `enabled` is a string
      give `true` or `false`
    agents/tester.toml:5:19: unknown stage `tpye`
      all | tpye:episodic
            ^^^^
      did you mean `type`?
    agents/tester.toml:6:15: `query.max-results` cannot be `-1`
      give a whole number from 1 up
    agents/tester.toml:9:26: the template uses `TOPOLOGY`, which `prompt.placeholders` does not list
      add "TOPOLOGY" to `prompt.placeholders`
    agents/tester.toml:9:41: unknown variable `nods`
      did you mean `NODES`?
    agents/tester.toml:10:26: the template does not use the placeholder `PAIRS`
      write `{{ PAIRS }}` in the template or remove it here
    agents/tester.toml:10:35: unknown placeholder `HUBBS`
      did you mean `HUBS`?
    agents/tester.toml:13:9: unknown model `sonett`
      did you mean `sonnet`?
    agents/tester.toml:14:12: unknown action `link-ad`
      did you mean `link-add`?
    agents/tester.toml:14:33: the action `weight` is named twice
      name it once
    agents/tester.toml:15:12: `dayly` is not a schedule
      write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
    agents/tester.toml:16:11: `soon` is not a duration
      write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
    agents/tester.toml:17:22: the model `sonett` is named twice
      name it once
    agents/tester.toml:17:32: unknown model `opuss`
      did you mean `opus`?
    agents/tester.toml:23:12: unknown time zone `Europe/Viena`
      did you mean `Europe/Vienna`?
    agents/tester.toml:24:11: `schedule.overlap` cannot be `queue`
      write `skip`
    agents/tester.toml:26:2: unknown key `budgett`
      did you mean `budget`?
    "#);
}

#[test]
fn a_missing_key_is_reported_with_an_example() {
    insta::assert_snapshot!(problems_of("[query]\n"), @r#"
    agents/tester.toml:1:1: `execution.model` is missing
      add `model = "default"` under `[execution]`
    agents/tester.toml:1:1: `execution.actions` is missing
      add `actions = ["link-add"]` under `[execution]`
    agents/tester.toml:1:1: `prompt.placeholders` is missing
      add `placeholders = ["NODES"]` under `[prompt]`
    agents/tester.toml:1:1: `prompt.template` is missing
      add `template = "linker.md"` under `[prompt]`
    agents/tester.toml:1:2: `query.pipeline` is missing
      add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    "#);
}

#[test]
fn syntax_errors_are_reported_alone() {
    insta::assert_snapshot!(problems_of("[query]\npipeline = \"all\nmin-results = 1\n[prompt\n"), @r#"
    agents/tester.toml:2:16: invalid basic string, expected `"`
      close the text with `"`; one over several lines stands in `"""`
    agents/tester.toml:4:8: unclosed table, expected `]`
      close the name with `]`
    "#);
}

#[test]
fn template_problems_are_reported_in_the_file_that_holds_it() {
    let world = World::new();
    world.file(
        "prompts/bad.md",
        "Use `supersede`.\n\n{{ NODES }}\n{{ NODES | shout }}\n{{ frobnicate(x=1) }}\n",
    );
    world.file("prompts/names.md", "Use `supersede`.\n\n{{ NODES }} {{ Topology }}\n{% for a in NODES %}{{ a }}{% endfor %}{% set b = 1 %}{{ b }} {{ vars.tone }}\n");
    world.file("prompts/draws.md", "{{ NODES }}\n{% include \"nowhere.md\" %}\n");
    world.file("prompts/syntax.md", "line\n  {{ NODES \n");
    for (name, template) in [
        ("a", "bad.md"),
        ("b", "names.md"),
        ("c", "draws.md"),
        ("d", "syntax.md"),
        ("e", "../config.toml"),
        ("f", "none.md"),
    ] {
        world.file(
            &format!("agents/{name}.toml"),
            &format!(
                "[query]\npipeline = \"all\"\n[prompt]\ntemplate = \"{template}\"\nplaceholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n"
            ),
        );
    }
    let catalog = Catalog::load(&world.memory).unwrap();
    let all: String =
        ["a", "b", "c", "d", "e", "f"].iter().map(|name| report(&catalog.agents[*name].errors)).collect();
    insta::assert_snapshot!(all.replace(&world.home.path().display().to_string(), "HOME"), @r#"
    prompts/bad.md:4:12: unknown filter `shout`
    prompts/bad.md:5:4: unknown function `frobnicate`
    prompts/names.md:3:16: unknown variable `Topology`
      did you mean `TOPOLOGY`?
    prompts/names.md:4:66: the template uses `vars.tone`, which `[prompt.vars]` does not have
      put `tone = "…"` under `[prompt.vars]`, or write `vars.tone | default(value="…")`
    prompts/draws.md:2:1: the template `nowhere.md` is missing
      put a file `nowhere.md` into `HOME/prompts`
    prompts/syntax.md:2:11: unexpected end of input
    agents/e.toml:4:12: the template `../config.toml` lies outside the folder of prompts
      name a file of that folder, such as `linker.md`
    agents/f.toml:4:12: the template `none.md` is missing
      put a file `none.md` into `HOME/prompts`
    "#);
}

#[test]
fn custom_variables_need_a_value_or_a_default() {
    let check = |inline: &str| {
        let text = format!(
            "[query]\npipeline = \"all\"\n[prompt]\ninline = '''{inline}{{{{ NODES }}}}'''\nplaceholders = [\"NODES\"]\n\
             vars = {{ tone = \"calm\" }}\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n"
        );
        parse(&text).map_or_else(|errors| report(&errors), |_| String::new())
    };
    for good in [
        "{{ vars.tone }}",
        "{{ vars.other | default(value=\"x\") }}",
        "{% if vars.other is defined %}{{ vars.other }}{% endif %}",
        "{{ \"vars.other\" }} vars.other {# {{ vars.other }} #}",
    ] {
        assert_eq!(check(good), "", "{good}");
    }
    insta::assert_snapshot!(check("{{ vars.tune }}{% if vars.colour %}a{% endif %}{{ vars.tune }}"), @r#"
    agents/tester.toml:4:16: the template uses `vars.tune`, which `[prompt.vars]` does not have
      did you mean `vars.tone`?
    agents/tester.toml:4:34: the template uses `vars.colour`, which `[prompt.vars]` does not have
      put `colour = "…"` under `[prompt.vars]`, or write `vars.colour | default(value="…")`
    "#);
}

#[test]
fn an_unknown_placeholder_is_reported_even_without_the_template() {
    let text = "[query]\npipeline = \"all\"\n[prompt]\ntemplate = \"none.md\"\nplaceholders = [\"NODES\", \"NODE\"]\n\
        [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n";
    insta::assert_snapshot!(report(&parse(text).unwrap_err()), @r#"
    agents/tester.toml:4:12: the template `none.md` is missing
    agents/tester.toml:5:26: unknown placeholder `NODE`
      did you mean `NODES`?
    "#);
}

#[test]
fn a_prompt_naming_an_unpermitted_action_is_a_warning() {
    let world = World::new();
    world.file("prompts/more.md", "{{ NODES }}\nUse `supersede` or `link-add`.\n");
    world.file(
        "agents/more.toml",
        "[query]\npipeline = \"all\"\n[prompt]\ntemplate = \"more.md\"\nplaceholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\nschedule = \"cron 0 3 1 * 1\"\n",
    );
    let catalog = Catalog::load(&world.memory).unwrap();
    let entry = &catalog.agents["more"];
    assert_eq!(report(&entry.errors), "");
    let warnings = entry.definition.as_ref().unwrap().warnings();
    insta::assert_snapshot!(report(&warnings), @r#"
    prompts/more.md:2:5: the template names the action `supersede`, which is not permitted
      add "supersede" to `execution.actions` or leave it out of the prompt
    agents/more.toml:9:13: `cron 0 3 1 * 1` names a day of the month and a day of the week: it fires on every day that is one or the other
    "#);
}

#[test]
fn bundled_agents_and_the_seed_file_are_valid() {
    let world = World::new();
    let catalog = Catalog::load(&world.memory).unwrap();
    let names: Vec<&str> = catalog.agents.keys().map(String::as_str).collect();
    assert_eq!(names, ["linker", "rename", "replay", "separator", "split", "transfer"]);
    for (name, entry) in &catalog.agents {
        assert_eq!(entry.state, EntryState::Ok, "{name}: {}", report(&entry.errors));
    }
    world.file("agents/linker.toml", SEED);
    let catalog = Catalog::load(&world.memory).unwrap();
    let linker = &catalog.agents["linker"];
    assert_eq!(linker.state, EntryState::Ok, "{}", report(&linker.errors));
    assert_eq!(linker.definition.as_ref().unwrap().execution.model, "sonnet");
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

    // Loading what has not changed writes nothing.
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

    // Another text makes another agent of it.
    save("type:daily");
    let second = load();
    assert_eq!(
        (second.state, pipeline(&second)),
        (EntryState::Ok, "all | type:daily | sort:priority | limit:20".into())
    );
    assert_ne!(fingerprint(&first), fingerprint(&second));

    // A broken one keeps its last good version, text included.
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
    for (file, text) in embedded::agents() {
        world.file(&format!("agents/{file}"), text);
    }
    world.file("agents/mine.toml", SEED);
    Catalog::load(&world.memory).unwrap();
    std::fs::remove_file(world.home.path().join("agents/replay.toml")).unwrap();
    let names = |catalog: &Catalog| catalog.agents.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&Catalog::load(&world.memory).unwrap()),
        ["linker", "mine", "rename", "separator", "split", "transfer"]
    );

    std::fs::remove_dir_all(world.home.path().join("agents")).unwrap();
    let world = world.reopen();
    let catalog = Catalog::load(&world.memory).unwrap();
    assert_eq!(names(&catalog), ["linker", "mine", "rename", "separator", "split", "transfer"]);
    assert_eq!(catalog.problems.len(), 1);
    assert!(catalog.problems[0].contains("is gone"), "{}", catalog.problems[0]);
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

    // One look may have come in the middle of a save.
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

    // Whoever is sure does not wait.
    remove();
    let look = CatalogScan::new(&world.memory, true).unwrap();
    look.remember(&world.memory, &look.catalog).unwrap();
    world.clock.advance(Span::WEEK);
    world.file("agents/mine.toml", SEED);
    assert_eq!(since(), world.memory.now());
}

#[test]
fn a_scan_that_differs_from_the_published_catalog_is_not_stored() {
    let world = World::new();
    world.file("agents/mine.toml", "[query]\npipel");
    let look = CatalogScan::new(&world.memory, false).unwrap();
    assert_eq!(look.catalog.agents["mine"].state, EntryState::Invalid);
    look.remember(&world.memory, &Catalog::default()).unwrap();
    world.clock.advance(Span::HOUR);
    world.file("agents/mine.toml", SEED);
    let catalog = Catalog::load(&world.memory).unwrap();
    assert_eq!(catalog.agents["mine"].since, world.memory.now());
}

/// What an editor and whoever looks do, one after the other.
#[derive(Clone, Debug)]
enum Step {
    /// The file goes away, looks come at some of the milliseconds until it is back.
    Save { looks: Vec<i64>, edit: usize },
    /// Time passes, then somebody looks.
    CatalogScan { minutes: i64 },
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whenever anybody looks: an agent whose file is only ever gone for the length of a save is there
    /// since it was first seen.
    #[test]
    fn scanning_does_not_change_when_an_agent_was_first_seen(
        steps in proptest::collection::vec(
            prop_oneof![
                (proptest::collection::vec(0..GRACE.0 / 4, 0..4), 1..50usize)
                    .prop_map(|(looks, edit)| Step::Save { looks, edit }),
                (0..5_000i64).prop_map(|minutes| Step::CatalogScan { minutes }),
            ],
            1..12,
        ),
    ) {
        let world = World::new();
        world.file("agents/mine.toml", SEED);
        let first = Catalog::load(&world.memory).unwrap().agents["mine"].since;
        for step in steps {
            match step {
                Step::Save { looks, edit } => {
                    std::fs::remove_file(world.home.path().join("agents/mine.toml")).unwrap();
                    for after in looks {
                        world.clock.advance(Span(after));
                        prop_assert!(!Catalog::load(&world.memory).unwrap().agents.contains_key("mine"));
                    }
                    world.file("agents/mine.toml", &SEED.replace("limit:20", &format!("limit:{edit}")));
                    // A file that no look ever finds is gone.
                    prop_assert_eq!(Catalog::load(&world.memory).unwrap().agents["mine"].since, first);
                }
                Step::CatalogScan { minutes } => {
                    world.clock.advance(Span(minutes * Span::MINUTE.0));
                    prop_assert_eq!(Catalog::load(&world.memory).unwrap().agents["mine"].since, first);
                }
            }
        }
        prop_assert_eq!(Catalog::load(&world.memory).unwrap().agents["mine"].since, first);
    }
}

/// A thousand files: a look at what has not changed reads no agent anew and writes nothing, and an edit of one
/// file or of one template costs what uses it.
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
    let look = |shown: &Catalog| {
        let look = CatalogScan::rescan(&world.memory, false, shown).unwrap();
        look.remember(&world.memory, &look.catalog).unwrap();
        look.catalog
    };
    let anew = |before: &Catalog, after: &Catalog| {
        let same = |name: &String, entry: &CatalogEntry| {
            let before = before.agents[name].definition.as_ref().unwrap();
            Arc::ptr_eq(before, entry.definition.as_ref().unwrap())
        };
        after.agents.iter().filter(|(name, entry)| !same(name, entry)).count()
    };
    let second = look(&first);
    assert_eq!((anew(&first, &second), world.memory.store.view().seq), (0, seq));

    world.file("agents/a7.toml", &SEED.replace("linker,7d", "a7,8d"));
    let third = look(&second);
    assert_eq!(anew(&second, &third), 1);
    world.file("prompts/part.md", "All: {{ NODES }}");
    let fourth = look(&third);
    assert_eq!(anew(&third, &fourth), 10);
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
