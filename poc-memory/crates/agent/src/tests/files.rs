//! Whole agent files and their diagnostics.

use super::world::{World, parse, report};
use crate::{Catalog, EntryState};

/// An agent file of the first release; it must stay valid.
pub(super) const SEED: &str = r#"# agents/linker.toml            (this file, unchanged, must work: it is the seed's)
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

/// The diagnostics of an agent file.
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
      close the text with `"`; use `"""` for several lines
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
    world.file("prompts/syntax.md", "line {{ nods }}\n  {{ NODES \n");
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
    prompts/syntax.md:1:9: unknown variable `nods`
      did you mean `NODES`?
    prompts/syntax.md:2:3: `{{` is never closed
      write `}}` where the tag ends
    agents/e.toml:4:12: the template `../config.toml` is outside the `prompts` folder
      name a file in that folder, such as `linker.md`
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
    agents/more.toml:9:13: `cron 0 3 1 * 1` has a day of the month and a day of the week: it fires on every day that matches one of them
    "#);
}

#[test]
fn bundled_agents_and_the_seed_file_are_valid() {
    let world = World::new();
    let catalog = Catalog::load(&world.memory).unwrap();
    let names: Vec<&str> = catalog.agents.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["facts", "linker", "quotations", "rename", "replay", "separator", "split", "transfer"]
    );
    for (name, entry) in &catalog.agents {
        assert_eq!(entry.state, EntryState::Ok, "{name}: {}", report(&entry.errors));
    }
    world.file("agents/linker.toml", SEED);
    let catalog = Catalog::load(&world.memory).unwrap();
    let linker = &catalog.agents["linker"];
    assert_eq!(linker.state, EntryState::Ok, "{}", report(&linker.errors));
    assert_eq!(linker.definition.as_ref().unwrap().execution.model, "sonnet");
}
