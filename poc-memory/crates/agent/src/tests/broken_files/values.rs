//! Unknown keys, and values of the wrong type or out of range.

use super::table;

#[test]
fn a_value_of_the_wrong_type_names_the_right_one() {
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
        ("[execution]", "[execution]\ntimeout = 1.5"),
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
         → give a list of `NODES`, `TOPOLOGY`, `PAIRS`, `HUBS`, `SIBLINGS`, `DERIVED`, `HEALTH`, `AGENT`, `DATE` and `ACTIONS`
    [5]
      8:17: `prompt.placeholders` holds an integer
         → give a list of `NODES`, `TOPOLOGY`, `PAIRS`, `HUBS`, `SIBLINGS`, `DERIVED`, `HEALTH`, `AGENT`, `DATE` and `ACTIONS`
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
    timeout = 1.5
      11:11: `execution.timeout` is a float
         → give a duration above zero, such as "7d", "24h", "30m" or "45s"; a bare number is seconds
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
      4:2: `query` is defined twice
         → keep one of the two; write all keys of a table under one `[…]` line
    "#);
}

#[test]
fn an_unknown_key_has_a_suggestion() {
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
         → `model` belongs under `[execution]`
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
         → `enabled` belongs at the top of the file, before the first `[…]`
    provider = "x"
      11:1: unknown key `execution.provider`
         → known here: `model`, `actions`, `schedule`, `fallback`, `timeout`, `max-minutes`, `replay`
    url = "http://x"
      11:1: unknown key `execution.url`
         → known here: `model`, `actions`, `schedule`, `fallback`, `timeout`, `max-minutes`, `replay`
    [execution]
      10:9: unknown key `prompt.var`
         → did you mean `vars`?
    [execution]
      11:1: unknown key `limits.max`
         → `max` belongs under `[limits.link-add]`
    [execution]
      10:9: unknown key `limits.links`
         → known here: `max-actions`, `targets`, `protect`, `link-add`, `weight`, `insert`, `supersede`
    [execution]
      11:1: unknown key `limits.link-add.max-delta`
         → `max-delta` belongs under `[limits.weight]`
    [execution]
      11:1: unknown key `limits.weight.maxdelta`
         → did you mean `max-delta`?
    [execution]
      11:1: unknown key `budget.max-usd`
         → known here: `max-usd-per-run`, `max-usd-per-day`, `max-runs-per-day`, `per-tenant`
    [execution]
      10:2: unknown key `retries`
         → known here: `description`, `enabled`, `mode`, `query`, `freshness`, `prompt`, `execution`, `schedule`, `limits`, `budget`, `retry`, `failure`, `tests`
    "pipe line" = 5
      4:1: unknown key `query.pipe line`
         → did you mean `pipeline`?
    [query]
      4:1: `freshness.window` is a table
         → give "auto" or a duration such as "7d", "24h", "30m" or "45s"; a bare number is seconds
    "#);
}

#[test]
fn a_value_out_of_range_names_the_range() {
    insta::assert_snapshot!(table(&[
        ("\"x\"", "\"x\"\nmode = \"aply\""),
        ("\"x\"", "\"x\"\nmode = \"review\""),
        ("[query]", "[query]\nmax-results = 0"),
        ("[query]", "[query]\nmin-results = -1"),
        ("[query]", "[query]\nmax-results = 99999999999999999999"),
        ("[query]", "[freshness]\nwindow = \"soon\"\n[query]"),
        ("[query]", "[freshness]\nwindow = \"7 days\"\n[query]"),
        ("[execution]", "[execution]\ntimeout = \"0s\""),
        ("[execution]", "[execution]\ntimeout = 0"),
        ("[execution]", "[execution]\ntimeout = -5"),
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
        ("[execution]", "[retry]\nrerun = [0, -1, \"soon\"]\n[execution]"),
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
         → give a duration above zero, such as "7d", "24h", "30m" or "45s"; a bare number is seconds
    timeout = 0
      11:11: `execution.timeout` cannot be `0`
         → give a duration above zero, such as "7d", "24h", "30m" or "45s"; a bare number is seconds
    timeout = -5
      11:11: `-5` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
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
      11:12: `limit:3` contains a stage that is not a filter
         → use only filters, such as `provenance:manual`
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
      11:10: `0` is out of range
         → give a duration from `1s` to `30d`
      11:13: `-1` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
      11:17: `soon` is not a duration
         → write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
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
         → the models are `default`, `haiku`, `heuristic`, `opus`, `sonnet`; to add one, write a section `[models.gpt-9]` in config.toml and restart the daemon
    ""
      11:9: the name of the model is empty
         → name a model, such as `default`
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
