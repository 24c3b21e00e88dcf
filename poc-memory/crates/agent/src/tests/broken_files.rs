//! Broken agent files and what is said about each: the message, its place, and what would be right.

use super::world::{World, parse};
use crate::Catalog;
use poc_graph::error::Error;
use proptest::prelude::*;
use std::fmt::Write;

/// A good file, of which the broken ones are made.
const GOOD: &str = "\
description = \"x\"

[query]
pipeline = \"all | type:episodic | limit:20\"

[prompt]
inline = \"{{ NODES }}\"
placeholders = [\"NODES\"]

[execution]
model = \"default\"
actions = [\"link-add\", \"weight\"]
schedule = \"daily\"
";

fn report(errors: &[Error]) -> String {
    let place = |error: &Error| {
        let at = error.at.clone().unwrap_or_default();
        let line = |at: Option<u32>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        format!("{}:{}", line(at.line), line(at.column))
    };
    errors.iter().fold(String::new(), |mut text, error| {
        let message = error.message.replace('\n', "\n     ");
        writeln!(text, "  {}: {message}", place(error)).unwrap();
        if let Some(hint) = &error.hint {
            writeln!(text, "     → {hint}").unwrap();
        }
        text
    })
}

/// What is said about good files with one text in place of another.
fn table(rows: &[(&str, &str)]) -> String {
    rows.iter().fold(String::new(), |mut text, (from, to)| {
        assert!(GOOD.contains(from), "{from}");
        let broken = GOOD.replacen(from, to, 1);
        let said = match parse(&broken) {
            Ok(_) => "  nothing\n".to_owned(),
            Err(errors) => report(&errors),
        };
        write!(text, "{}\n{said}", to.lines().last().unwrap_or_default()).unwrap();
        text
    })
}

#[test]
fn syntax() {
    insta::assert_snapshot!(table(&[
        ("\"x\"", "\"x"),
        ("\"x\"", "x"),
        ("\"x\"", ""),
        ("description = \"x\"", "description \"x\""),
        ("description = \"x\"", "= \"x\""),
        ("description = \"x\"", "description = \"x\" \"y\""),
        ("[query]", "[query"),
        ("[query]", "[]"),
        ("[query]", "[[query]]"),
        ("[query]", "[query]\n[query]"),
        ("[\"NODES\"]", "[\"NODES\""),
        ("[\"NODES\"]", "[\"NODES\" \"DATE\"]"),
        ("\"daily\"", "\"daily\"\nschedule = \"hourly\""),
        ("\"daily\"", "'daily"),
        ("\"daily\"", "\"\"\"daily"),
        ("\"x\"", "\"\\q\""),
        ("\"x\"", "\"\\u12\""),
        ("\"x\"", "{ a = 1"),
        ("description = \"x\"", "description = \"x\"\nquery.pipeline = \"all\""),
        ("description = \"x\"", "description: \"x\""),
        ("schedule = \"daily\"", "schedule = \"daily\";"),
        ("\"x\"", "01"),
        ("\"x\"", "True"),
    ]), @r#"
    "x
      1:17: invalid basic string, expected `"`
         → close the text with `"`; one over several lines stands in `"""`
    x
      1:15: string values must be quoted, expected literal string
         → write a text in quotes: `"…"`

      1:15: string values must be quoted, expected literal string
         → write a text in quotes: `"…"`
    description "x"
      1:13: key with no value, expected `=`
         → write `key = value`
    = "x"
      1:1: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
         → write a name: `key = value` or `[table]`
    description = "x" "y"
      1:19: unexpected key or value, expected newline, `#`
         → one `key = value` stands in a line; behind it only a comment, with `#`
    [query
      3:7: unclosed table, expected `]`
         → close the name with `]`
    []
      3:2: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
         → write a name: `key = value` or `[table]`
    [[query]]
      3:1: `query` is an array
         → give a table: a line `[…]` with keys below it
      3:3: `query.pipeline` is missing
         → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    [query]
      4:2: `query` is there twice
         → keep one of the two; a table has one `[…]` line for all of its keys
    ["NODES"
      10:1: missing comma between array elements, expected `,`
         → separate the items by `,` and close the list with `]`
    ["NODES" "DATE"]
      8:25: missing comma between array elements, expected `,`
         → separate the items by `,` and close the list with `]`
    schedule = "hourly"
      14:1: `schedule` is there twice
         → keep one of the two; a table has one `[…]` line for all of its keys
    'daily
      13:18: invalid literal string, expected `'`
         → close the text with `'`; one over several lines stands in `'''`
    """daily
      14:1: invalid multi-line basic string, expected `"`
         → close the text with `"""`
    "\q"
      1:17: missing escaped value, expected `b`, `e`, `f`, `n`, `r`, `\`, `"`, `x`, `u`, `U`
         → write a backslash as `\\`, or the text in single quotes, where it is none
    "\u12"
      1:20: too few unicode value digits, expected unicode hexadecimal value
         → four digits stand behind `\u`, eight behind `\U`
    { a = 1
      3:1: missing key for inline table element, expected `,`
         → separate the pairs by `,` and close the table with `}`
    query.pipeline = "all"
      4:2: `query` is there twice
         → keep one of the two; a table has one `[…]` line for all of its keys
      5:1: `pipeline` is there twice
         → keep one of the two; a table has one `[…]` line for all of its keys
    description: "x"
      1:12: invalid unquoted key, expected letters, numbers, `-`, `_`
         → a key has letters, digits, `-` and `_`, and `=` behind it
    schedule = "daily";
      13:19: unexpected key or value, expected newline, `#`
         → one `key = value` stands in a line; behind it only a comment, with `#`
    01
      1:15: unexpected leading zero, expected nothing
         → write the number without zeros in front, or a text in quotes
    True
      1:15: invalid boolean, expected `true`
         → write `true` or `false`, in lower case
    "#);
}

#[test]
fn types() {
    insta::assert_snapshot!(table(&[
        ("\"x\"", "5"),
        ("\"x\"", "1979-05-27"),
        ("\"x\"", "07:32:00"),
        ("\"x\"", "[\"x\"]"),
        ("\"x\"", "\"x\"\nenabled = \"true\""),
        ("\"x\"", "\"x\"\nenabled = 1"),
        ("\"x\"", "\"x\"\nmode = true"),
        ("\"all | type:episodic | limit:20\"", "[\"all\", \"limit:20\"]"),
        ("[\"NODES\"]", "\"NODES\""),
        ("[\"NODES\"]", "[5]"),
        ("[\"link-add\", \"weight\"]", "\"link-add\""),
        ("[\"link-add\", \"weight\"]", "[\"link-add\", true]"),
        ("\"daily\"", "86400"),
        ("\"daily\"", "{ every = \"6h\" }"),
        ("[query]", "[query]\nmin-results = \"1\""),
        ("[query]", "[query]\nmax-results = 1.5"),
        ("[execution]", "[execution]\ntimeout = 300"),
        ("[execution]", "[limits]\nprotect = \"provenance:manual\"\n[execution]"),
        ("[execution]", "[limits]\nweight = 5\n[execution]"),
        ("[execution]", "[limits.weight]\nmax-delta = \"0.2\"\n[execution]"),
        ("[execution]", "[prompt.vars]\ntone = [1]\n[execution]"),
        ("description = \"x\"", "query = \"all\"\n[other]"),
    ]), @r#"
    5
      1:15: `description` is an integer
         → give text in quotes
    1979-05-27
      1:15: `description` is a datetime
         → give text in quotes
    07:32:00
      1:15: `description` is a datetime
         → give text in quotes
    ["x"]
      1:15: `description` is an array
         → give text in quotes
    enabled = "true"
      2:11: `enabled` is a string
         → give `true` or `false`
    enabled = 1
      2:11: `enabled` is an integer
         → give `true` or `false`
    mode = true
      2:8: `mode` is a boolean
         → give `apply`, `propose` or `observe`
    ["all", "limit:20"]
      4:12: `query.pipeline` is an array
         → give a pipeline in quotes, such as "all | limit:20"
    "NODES"
      8:16: `prompt.placeholders` is a string
         → give a list of `NODES`, `TOPOLOGY`, `PAIRS`, `HUBS`, `SIBLINGS`, `HEALTH`, `AGENT`, `DATE` and `ACTIONS`
    [5]
      8:17: `prompt.placeholders` holds an integer
         → give a list of `NODES`, `TOPOLOGY`, `PAIRS`, `HUBS`, `SIBLINGS`, `HEALTH`, `AGENT`, `DATE` and `ACTIONS`
    "link-add"
      12:11: `execution.actions` is a string
         → give a list of `link-add`, `weight`, `insert` and `supersede`
    ["link-add", true]
      12:24: `execution.actions` holds a boolean
         → give a list of `link-add`, `weight`, `insert` and `supersede`
    86400
      13:12: `execution.schedule` is an integer
         → give a schedule in quotes, such as "daily" or "every 6h"
    { every = "6h" }
      13:12: `execution.schedule` is a table
         → give a schedule in quotes, such as "daily" or "every 6h"
    min-results = "1"
      4:15: `query.min-results` is a string
         → give a whole number from 0 up
    max-results = 1.5
      4:15: `query.max-results` is a float
         → give a whole number from 1 up
    timeout = 300
      11:11: `execution.timeout` is an integer
         → give a duration above zero in quotes, such as "7d", "24h", "30m" or "45s"
    [execution]
      11:11: `limits.protect` is a string
         → give a list of filters, such as ["provenance:manual"]
    [execution]
      11:10: `limits.weight` is an integer
         → give a table: a line `[…]` with keys below it
    [execution]
      11:13: `limits.weight.max-delta` is a string
         → give a number above 0
    [execution]
      11:8: `prompt.vars.tone` is an array
         → give text in quotes
    [other]
      4:2: `query` is there twice
         → keep one of the two; a table has one `[…]` line for all of its keys
    "#);
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(table(&[
        ("description", "descripton"),
        ("description = \"x\"", "description = \"x\"\nshedule = \"daily\""),
        ("description = \"x\"", "model = \"default\""),
        ("description = \"x\"", "zzz = 1"),
        ("[query]", "[querry]"),
        ("[query]", "[query]\nmax_results = 5"),
        ("[query]", "[query]\nlimit = 5"),
        ("[query]", "[query]\nenabled = true"),
        ("[execution]", "[execution]\nprovider = \"x\""),
        ("[execution]", "[execution]\nurl = \"http://x\""),
        ("[execution]", "[prompt.var]\n[execution]"),
        ("[execution]", "[limits]\nmax = 5\n[execution]"),
        ("[execution]", "[limits.links]\nmax = 5\n[execution]"),
        ("[execution]", "[limits.link-add]\nmax-delta = 5\n[execution]"),
        ("[execution]", "[limits.weight]\nmaxdelta = 0.1\n[execution]"),
        ("[execution]", "[budget]\nmax-usd = 1\n[execution]"),
        ("[execution]", "[retries]\nattempts = 3\n[execution]"),
        ("[query]", "[query]\n\"pipe line\" = 5"),
        ("[query]", "[freshness]\nwindow.days = 3\n[query]"),
    ]), @r#"
    descripton
      1:1: unknown key `descripton`
         → did you mean `description`?
    shedule = "daily"
      2:1: unknown key `shedule`
         → did you mean `schedule`?
    model = "default"
      1:1: unknown key `model`
         → `model` stands under `[execution]`
    zzz = 1
      1:1: unknown key `zzz`
         → known here: `description`, `enabled`, `mode`, `query`, `freshness`, `prompt`, `execution`, `schedule`, `limits`, `budget`, `retry`, `failure`, `tests`
    [querry]
      1:1: `query.pipeline` is missing
         → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
      3:2: unknown key `querry`
         → did you mean `query`?
    max_results = 5
      4:1: unknown key `query.max_results`
         → did you mean `max-results`?
    limit = 5
      4:1: unknown key `query.limit`
         → known here: `pipeline`, `params`, `min-results`, `max-results`
    enabled = true
      4:1: unknown key `query.enabled`
         → `enabled` stands at the top of the file, before the first `[…]`
    provider = "x"
      11:1: unknown key `execution.provider`
         → known here: `model`, `actions`, `schedule`, `fallback`, `timeout`, `replay`
    url = "http://x"
      11:1: unknown key `execution.url`
         → known here: `model`, `actions`, `schedule`, `fallback`, `timeout`, `replay`
    [execution]
      10:9: unknown key `prompt.var`
         → did you mean `vars`?
    [execution]
      11:1: unknown key `limits.max`
         → `max` stands under `[limits.link-add]`
    [execution]
      10:9: unknown key `limits.links`
         → known here: `max-actions`, `targets`, `protect`, `link-add`, `weight`, `insert`, `supersede`
    [execution]
      11:1: unknown key `limits.link-add.max-delta`
         → `max-delta` stands under `[limits.weight]`
    [execution]
      11:1: unknown key `limits.weight.maxdelta`
         → did you mean `max-delta`?
    [execution]
      11:1: unknown key `budget.max-usd`
         → known here: `max-usd-per-run`, `max-usd-per-day`, `max-runs-per-day`
    [execution]
      10:2: unknown key `retries`
         → known here: `description`, `enabled`, `mode`, `query`, `freshness`, `prompt`, `execution`, `schedule`, `limits`, `budget`, `retry`, `failure`, `tests`
    "pipe line" = 5
      4:1: unknown key `query.pipe line`
         → did you mean `pipeline`?
    [query]
      4:1: `freshness.window` is a table
         → give "auto" or a duration in quotes, such as "7d", "24h", "30m" or "45s"
    "#);
}

#[test]
fn ranges_and_words() {
    insta::assert_snapshot!(table(&[
        ("\"x\"", "\"x\"\nmode = \"aply\""),
        ("\"x\"", "\"x\"\nmode = \"review\""),
        ("[query]", "[query]\nmax-results = 0"),
        ("[query]", "[query]\nmin-results = -1"),
        ("[query]", "[query]\nmax-results = 99999999999999999999"),
        ("[query]", "[freshness]\nwindow = \"soon\"\n[query]"),
        ("[query]", "[freshness]\nwindow = \"7 days\"\n[query]"),
        ("[execution]", "[execution]\ntimeout = \"0s\""),
        ("[execution]", "[execution]\ntimeout = \"5 min\""),
        ("[execution]", "[limits.weight]\nmax-delta = 0\n[execution]"),
        ("[execution]", "[limits.weight]\nmax-delta = inf\n[execution]"),
        ("[execution]", "[limits.weight]\nmax-delta = nan\n[execution]"),
        ("[execution]", "[limits.insert]\nmax = 3\n[execution]"),
        ("[execution]", "[limits]\ntargets = \"all\"\n[execution]"),
        ("[execution]", "[limits]\nprotect = [\"limit:3\"]\n[execution]"),
        ("[execution]", "[limits]\nprotect = [\"provenance:manual\", \"tpye:x\"]\n[execution]"),
        ("[execution]", "[budget]\nmax-usd-per-day = -1\n[execution]"),
        ("[execution]", "[retry]\nattempts = 0\n[execution]"),
        ("[execution]", "[retry]\nrepair = 11\n[execution]"),
        ("[execution]", "[retry]\nrerun = \"1h\"\n[execution]"),
        ("[execution]", "[retry]\nrerun = [\"1h\", \"60d\"]\n[execution]"),
        ("[execution]", "[failure]\npause-after = 1001\n[execution]"),
        ("[execution]", "[schedule]\ntimezone = \"Vienna\"\n[execution]"),
        ("[execution]", "[schedule]\ntimezone = \"CEST\"\n[execution]"),
        ("[execution]", "[schedule]\ncatch-up = \"yes\"\n[execution]"),
        ("[execution]", "[schedule]\njitter = \"-5m\"\n[execution]"),
        ("\"default\"", "\"sonnett\""),
        ("\"default\"", "\"gpt-9\""),
        ("\"default\"", "\"\""),
        ("[\"link-add\", \"weight\"]", "[\"link_add\"]"),
        ("[\"link-add\", \"weight\"]", "[\"delete\"]"),
        ("[\"link-add\", \"weight\"]", "[]"),
        ("[\"link-add\", \"weight\"]", "[\"weight\", \"weight\"]"),
    ]), @r#"
    mode = "aply"
      2:8: `mode` cannot be `aply`
         → did you mean `apply`?
    mode = "review"
      2:8: `mode` cannot be `review`
         → write `apply` or `propose` or `observe`
    max-results = 0
      4:15: `query.max-results` cannot be `0`
         → give a whole number from 1 up
    min-results = -1
      4:15: `query.min-results` cannot be `-1`
         → give a whole number from 0 up
    max-results = 99999999999999999999
      4:15: `query.max-results` cannot be `99999999999999999999`
         → give a whole number from 1 up
    [query]
      4:10: `soon` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
    [query]
      4:10: `7 days` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
    timeout = "0s"
      11:11: `execution.timeout` cannot be `0s`
         → give a duration above zero in quotes, such as "7d", "24h", "30m" or "45s"
    timeout = "5 min"
      11:11: `5 min` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
    [execution]
      11:13: `limits.weight.max-delta` cannot be `0`
         → give a number above 0
    [execution]
      11:13: `limits.weight.max-delta` cannot be `inf`
         → give a number above 0
    [execution]
      11:13: `limits.weight.max-delta` cannot be `nan`
         → give a number above 0
    [execution]
      10:9: `limits.insert` limits an action that is not permitted
         → add "insert" to `execution.actions`
    [execution]
      11:11: `limits.targets` cannot be `all`
         → write `results` or `neighborhood` or `any`
    [execution]
      11:12: `limit:3` does more than filter
         → give filters alone, such as `provenance:manual`
    [execution]
      11:34: unknown stage `tpye`
           tpye:x
           ^^^^
         → did you mean `type`?
    [execution]
      11:19: `budget.max-usd-per-day` cannot be `-1`
         → give a number from 0 up
    [execution]
      11:12: `retry.attempts` cannot be `0`
         → give a whole number from 1 to 10
    [execution]
      11:10: `retry.repair` cannot be `11`
         → give a whole number from 0 to 10
    [execution]
      11:9: `retry.rerun` is a string
         → give a list of at most 10 durations, such as ["15m", "1h"]
    [execution]
      11:16: `60d` is out of range
         → give a duration from `1s` to `30d`
    [execution]
      11:15: `failure.pause-after` cannot be `1001`
         → give a whole number from 0 to 1000
    [execution]
      11:12: unknown time zone `Vienna`
         → write `local` or a name such as `Europe/Vienna`
    [execution]
      11:12: unknown time zone `CEST`
         → did you mean `CET`?
    [execution]
      11:12: `schedule.catch-up` cannot be `yes`
         → write `once` or `skip`
    [execution]
      11:10: `-5m` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
    "sonnett"
      11:9: unknown model `sonnett`
         → did you mean `sonnet`?
    "gpt-9"
      11:9: unknown model `gpt-9`
         → add a section `[models.gpt-9]` to config.toml; a daemon reads it when it starts
    ""
      11:9: the name of the model is empty
         → name one, such as `default`
    ["link_add"]
      12:12: unknown action `link_add`
         → did you mean `link-add`?
    ["delete"]
      12:12: unknown action `delete`
         → the actions are `link-add`, `weight`, `insert` and `supersede`
    []
      nothing
    ["weight", "weight"]
      12:22: the action `weight` is named twice
         → name it once
    "#);
}

#[test]
fn schedules() {
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
      13:12: `day` is not a duration
         → write a period such as `every 6h`
    "cron 0 3 * *"
      13:12: `cron 0 3 * *` has 4 cron fields, not five
         → the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`
    "cron 0 3 31 2 *"
      13:12: `cron 0 3 31 2 *` never fires
         → no year has such a day: look at the day of the month and the month
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
fn pipelines_and_templates() {
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
      4:24: unknown node type `episodc`
           all | type:episodc
                      ^^^^^^^
         → did you mean `episodic`?
    "all | limit:0 | sort:size"
      4:25: 2 problems in this pipeline
           all | limit:0 | sort:size
                       ^ `limit` takes a whole number from 1, not `0`
                                ^^^^ `sort` knows no field `size`; fields are `priority`, `weight`, `timestamp`, `created`, `degree`, `content-len`, `key-len`, `score`, `visited:AGENT`
    "all || limit:3"
      4:18: a stage is missing here
           all || limit:3
                ^
         → stages stand between single `|`
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
      7:19: unexpected end of input
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
      9:7: found `%}` but expected one of: integer, float, string, bool, ident, `-`, `not`, `<`, `{`, `[` or `(`
    "{{ NODES }}\n{% include '../x.md' %}"
      7:24: the template `../x.md` lies outside the folder of prompts
         → name a file of that folder, such as `linker.md`
    template = "../config.toml"
      7:12: the template `../config.toml` lies outside the folder of prompts
         → name a file of that folder, such as `linker.md`
    template = "/etc/passwd"
      7:12: the template `/etc/passwd` lies outside the folder of prompts
         → name a file of that folder, such as `linker.md`
    template = ""
      7:12: the name of the template is empty
         → name a file of the folder of prompts, such as `linker.md`
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

#[test]
fn whole_files() {
    let deep = format!("x = {}{}", "[".repeat(5000), "]".repeat(5000));
    let tables = format!("[{}]\n", vec!["a"; 3000].join("."));
    for (name, text, expected) in [
        ("a BOM", format!("\u{feff}{GOOD}"), true),
        ("CRLF", GOOD.replace('\n', "\r\n"), true),
        ("dotted keys", "query.pipeline = \"all\"\nprompt = { inline = \"{{ NODES }}\", placeholders = [\"NODES\"] }\nexecution.model = \"default\"\nexecution.actions = [\"weight\"]\n".to_owned(), true),
        ("deep lists", deep, false),
        ("deep tables", tables, false),
        ("a NUL", format!("{GOOD}\0"), false),
    ] {
        let read = parse(&text);
        assert_eq!(read.is_ok(), expected, "{name}: {:?}", read.map(|_| ()));
        for error in read.err().into_iter().flatten() {
            assert!(error.at.is_some_and(|at| at.line.is_some()), "{name}");
        }
    }
    insta::assert_snapshot!([("", "a"), ("# nothing\n", "b"), ("\r\n\r\n", "c")].map(|(text, _)| report(&parse(text).unwrap_err())).concat(), @r#"
    1:1: `query.pipeline` is missing
       → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    1:1: `execution.model` is missing
       → add `model = "default"` under `[execution]`
    1:1: `execution.actions` is missing
       → add `actions = ["link-add"]` under `[execution]`
    1:1: `prompt.placeholders` is missing
       → add `placeholders = ["NODES"]` under `[prompt]`
    1:1: `prompt.template` is missing
       → add `template = "linker.md"` under `[prompt]`
    1:1: `query.pipeline` is missing
       → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    1:1: `execution.model` is missing
       → add `model = "default"` under `[execution]`
    1:1: `execution.actions` is missing
       → add `actions = ["link-add"]` under `[execution]`
    1:1: `prompt.placeholders` is missing
       → add `placeholders = ["NODES"]` under `[prompt]`
    1:1: `prompt.template` is missing
       → add `template = "linker.md"` under `[prompt]`
    1:1: `query.pipeline` is missing
       → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    1:1: `execution.model` is missing
       → add `model = "default"` under `[execution]`
    1:1: `execution.actions` is missing
       → add `actions = ["link-add"]` under `[execution]`
    1:1: `prompt.placeholders` is missing
       → add `placeholders = ["NODES"]` under `[prompt]`
    1:1: `prompt.template` is missing
       → add `template = "linker.md"` under `[prompt]`
    "#);
    let crlf = GOOD.replace("daily", "dayly").replace('\n', "\r\n");
    assert!(report(&parse(&crlf).unwrap_err()).starts_with("  13:12:"), "lines are counted over CRLF");
    let bom = format!("\u{feff}{}", GOOD.replace("description", "descripton"));
    insta::assert_snapshot!(report(&parse(&bom).unwrap_err()), @r#"
    1:2: unknown key `descripton`
       → did you mean `description`?
    "#);
}

/// What is missing hides nothing of what is wrong elsewhere.
#[test]
fn all_problems_are_reported_together() {
    let text = "mode = \"aply\"\n[query]\npipeline = \"all | tpye:x\"\nmin-results = -1\n[promt]\n";
    let lines: Vec<Option<u32>> =
        parse(text).unwrap_err().iter().map(|error| error.at.as_ref()?.line).collect();
    for line in [1, 3, 4, 5] {
        assert!(lines.contains(&Some(line)), "nothing of line {line}: {lines:?}");
    }
    assert!(report(&parse(text).unwrap_err()).contains("did you mean `apply`?"));
}

#[test]
fn files_that_are_not_text() {
    let world = World::new();
    let write = |path: &str, bytes: &[u8]| {
        let path = world.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    write("agents/latin.toml", b"# ok\ndescription = \"gr\xfc\xdfe\"\n");
    write("agents/wide.toml", b"\xff\xfed\0e\0");
    write("agents/huge.toml", &vec![b'#'; (1 << 20) + 1]);
    write(
        "agents/latin-prompt.toml",
        GOOD.replace("inline = \"{{ NODES }}\"", "template = \"latin.md\"").as_bytes(),
    );
    write("prompts/latin.md", b"{{ NODES }}\n\xe4\n");
    std::fs::create_dir_all(world.home.path().join("outside")).unwrap();
    write("outside/x.md", b"{{ NODES }}");
    std::os::unix::fs::symlink(
        world.home.path().join("outside/x.md"),
        world.home.path().join("prompts/out.md"),
    )
    .unwrap();
    write("agents/out.toml", GOOD.replace("inline = \"{{ NODES }}\"", "template = \"out.md\"").as_bytes());
    let catalog = Catalog::load(&world.memory).unwrap();
    let said = catalog.agents.iter().filter(|(_, entry)| !entry.errors.is_empty());
    let said = said.map(|(_, entry)| {
        entry
            .errors
            .iter()
            .map(|error| {
                let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("\n  {hint}"));
                format!("{error}{hint}\n")
            })
            .collect::<String>()
    });
    insta::assert_snapshot!(said.collect::<String>(), @r#"
    agents/huge.toml: cannot be read: it has 1048577 bytes, more than 1048576
    agents/latin.toml:2:18: the byte 0xFC is no part of UTF-8 text
      save the file as UTF-8
    prompts/latin.md:2:1: the byte 0xE4 is no part of UTF-8 text
      save the file as UTF-8
    agents/out.toml:7:12: the template `out.md` lies outside the folder of prompts
      copy it into the folder
    agents/wide.toml:1:1: the byte 0xFF is no part of UTF-8 text
      save the file as UTF-8
    "#);
}

proptest! {
    /// Whatever stands in a file: it is read or told with a line, and nothing panics.
    #[test]
    fn any_text_is_parsed_or_reported_with_a_position(
        at in 0..GOOD.len(),
        cut in 0..40usize,
        put in prop_oneof![
            any::<String>(),
            "[\\[\\]{}=\"',.#\\\\\n a-z0-9|:$%-]{0,24}",
            Just("[limits.insert]\nmax = 1\n".to_owned()),
            Just("\"\"\"".to_owned()),
        ],
    ) {
        let text = format!("{}{put}{}", &GOOD[..at], &GOOD[(at + cut).min(GOOD.len())..]);
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                let at = error.at.unwrap();
                prop_assert!(at.line.unwrap() as usize <= text.matches('\n').count() + 1);
                prop_assert!(at.column.is_some() && at.file.is_some() && !error.message.is_empty());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_reported(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(errors) = parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(errors.iter().all(|error| error.at.as_ref().unwrap().line.is_some()));
        }
    }
}
