//! Mistakes in the schedules, pipelines and templates of a file.

use super::table;

#[test]
fn a_broken_schedule_has_a_hint() {
    let schedules = [
        "dayly",
        "",
        "daily at 3",
        "daily at 25:00",
        "daily between 01:00 and 01:00",
        "weekly on tuseday",
        "monthly on 31",
        "every",
        "every 0s",
        "every day",
        "cron 0 3 * *",
        "cron 0 3 31 2 *",
        "cron 61 3 * * *",
        "cron 0 3 * * 8",
        "at 03:30",
        "Daily",
    ];
    let rows: Vec<(&str, String)> =
        schedules.iter().map(|text| ("\"daily\"", format!("\"{text}\""))).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(from, to)| (*from, to.as_str())).collect();
    insta::assert_snapshot!(table(&rows), @r#"
    "dayly"
      13:12: `dayly` is not a schedule
         → write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
    ""
      13:12: `` is not a schedule
         → write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
    "daily at 3"
      13:12: `3` is not a time of day
         → write hours and minutes from `00:00` to `23:59`
    "daily at 25:00"
      13:12: `25:00` is not a time of day
         → write hours and minutes from `00:00` to `23:59`
    "daily between 01:00 and 01:00"
      13:12: the window of `daily between 01:00 and 01:00` is empty
         → write two different times: `daily between 01:00 and 05:00`
    "weekly on tuseday"
      13:12: `tuseday` in `weekly on tuseday` is not a day of the week
         → write one of `sunday`, `monday`, `tuesday`, `wednesday`, `thursday`, `friday`, `saturday`
    "monthly on 31"
      13:12: `31` in `monthly on 31` is not a day that every month has
         → write a day from `1` to `28`, or `last`
    "every"
      13:12: `every` is not a schedule
         → write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
    "every 0s"
      13:12: the period of `every 0s` is too short
         → the shortest is `every 1s`
    "every day"
      13:12: `every day` is not a schedule
         → write `daily`
    "cron 0 3 * *"
      13:12: `cron 0 3 * *` has 4 cron fields, not five
         → the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`
    "cron 0 3 31 2 *"
      13:12: `cron 0 3 31 2 *` never fires
         → no year has such a day; check the day of the month and the month
    "cron 61 3 * * *"
      13:12: `cron 61 3 * * *` is not a cron rule: Component error: Number out of bounds
         → the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`
    "cron 0 3 * * 8"
      13:12: `cron 0 3 * * 8` is not a cron rule: Component error: Number out of bounds
         → the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`
    "at 03:30"
      13:12: `at 03:30` is not a schedule
         → write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
    "Daily"
      13:12: `Daily` is not a schedule
         → write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`
    "#);
}

#[test]
fn errors_in_pipelines_and_templates_have_their_position_in_the_file() {
    let pipeline = "\"all | type:episodic | limit:20\"";
    let inline = "\"{{ NODES }}\"";
    insta::assert_snapshot!(table(&[
        (pipeline, "\"\""),
        (pipeline, "\"all | tpye:episodic\""),
        (pipeline, "\"all | type:episodc\""),
        (pipeline, "\"all | limit:0 | sort:size\""),
        (pipeline, "\"all || limit:3\""),
        (pipeline, "'''\nall\n| tpye:episodic'''"),
        (pipeline, "\"\"\"\nall \\\n  | tpye:episodic\"\"\""),
        (pipeline, "\"match:\\\"a\\u00e9\\\" | tpye:x\""),
        (pipeline, "\"type:episodic | all\""),
        (pipeline, "\"@unknown\""),
        (inline, "\"{{ NODES\""),
        (inline, "\"no nodes\""),
        (inline, "\"{{ NODES }} {{ TOPOLOGY }}\""),
        (inline, "\"{{ NODES }} {{ nods }}\""),
        (inline, "'''\n{{ NODES }}\n{{ NODES | shout }}\n'''"),
        (inline, "'''\n{{ NODES }}\n{% if %}\n'''"),
        (inline, "\"{{ NODES }}\\n{% include '../x.md' %}\""),
        ("inline = \"{{ NODES }}\"", "template = \"../config.toml\""),
        ("inline = \"{{ NODES }}\"", "template = \"/etc/passwd\""),
        ("inline = \"{{ NODES }}\"", "template = \"\""),
        ("inline = \"{{ NODES }}\"", "template = \"x.md\"\ninline = \"{{ NODES }}\""),
        ("inline = \"{{ NODES }}\"", ""),
        ("[\"NODES\"]", "[]"),
        ("[\"NODES\"]", "[\"NODES\", \"PAIRS\"]"),
        ("[\"NODES\"]", "[\"Nodes\"]"),
        ("[\"NODES\"]", "[\"NODE\"]"),
    ]), @r#"
    ""
      4:13: the pipeline is empty
         → `all | limit:20` is a short one
    "all | tpye:episodic"
      4:19: unknown stage `tpye`
           all | tpye:episodic
                 ^^^^
         → did you mean `type`?
    "all | type:episodc"
      4:24: unknown note type `episodc`
           all | type:episodc
                      ^^^^^^^
         → did you mean `episodic`?
    "all | limit:0 | sort:size"
      4:25: 2 problems in this pipeline
           all | limit:0 | sort:size
                       ^ `limit` takes a whole number from 1, not `0`; write `limit:1`
                                ^^^^ `sort` has no field `size`; fields are `priority`, `weight`, `timestamp`, `created`, `degree`, `content-len`, `key-len`, `score`, `visited:AGENT`
    "all || limit:3"
      4:18: a stage is missing here
           all || limit:3
                ^
         → write stages between single `|`
    | tpye:episodic'''
      6:3: unknown stage `tpye`
           | tpye:episodic
             ^^^^
         → did you mean `type`?
      | tpye:episodic"""
      6:5: unknown stage `tpye`
           all | tpye:episodic
                 ^^^^
         → did you mean `type`?
    "match:\"a\u00e9\" | tpye:x"
      4:33: unknown stage `tpye`
           match:"aé" | tpye:x
                        ^^^^
         → did you mean `type`?
    "type:episodic | all"
      4:29: `all` produces a set and can only be the first stage
           type:episodic | all
                           ^^^
         → put it first, or leave it out
    "@unknown"
      4:13: there is no saved pipeline `@unknown`
           @unknown
           ^^^^^^^^
         → save one in config.toml under `[pipelines]`: `recent = "age:<7d | limit:20"`
    "{{ NODES"
      7:11: `{{` is never closed
         → write `}}` where the tag ends
    "no nodes"
      8:17: the template does not use the placeholder `NODES`
         → write `{{ NODES }}` in the template or remove it here
    "{{ NODES }} {{ TOPOLOGY }}"
      7:26: the template uses `TOPOLOGY`, which `prompt.placeholders` does not list
         → add "TOPOLOGY" to `prompt.placeholders`
    "{{ NODES }} {{ nods }}"
      7:26: unknown variable `nods`
         → did you mean `NODES`?
    '''
      9:12: unknown filter `shout`
    '''
      9:7: found `%}` where a value is expected
    "{{ NODES }}\n{% include '../x.md' %}"
      7:24: the template `../x.md` is outside the `prompts` folder
         → name a file in that folder, such as `linker.md`
    template = "../config.toml"
      7:12: the template `../config.toml` is outside the `prompts` folder
         → name a file in that folder, such as `linker.md`
    template = "/etc/passwd"
      7:12: the template `/etc/passwd` is outside the `prompts` folder
         → name a file in that folder, such as `linker.md`
    template = ""
      7:12: the name of the template is empty
         → name a file in the `prompts` folder, such as `linker.md`
    inline = "{{ NODES }}"
      8:1: `prompt.template` and `prompt.inline` exclude each other
         → leave one of them out

      6:2: `prompt.template` is missing
         → add `template = "linker.md"` under `[prompt]`
    []
      7:14: the template uses `NODES`, which `prompt.placeholders` does not list
         → add "NODES" to `prompt.placeholders`
    ["NODES", "PAIRS"]
      8:26: the template does not use the placeholder `PAIRS`
         → write `{{ PAIRS }}` in the template or remove it here
    ["Nodes"]
      8:17: unknown placeholder `Nodes`
         → did you mean `NODES`?
    ["NODE"]
      7:14: the template uses `NODES`, which `prompt.placeholders` does not list
         → add "NODES" to `prompt.placeholders`
      8:17: unknown placeholder `NODE`
         → did you mean `NODES`?
    "#);
}
