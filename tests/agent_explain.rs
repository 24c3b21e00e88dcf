//! `agent explain` predicts what the scheduler does: each agent is explained, then the daemon decides on its first
//! slot.

use crate::support::slow_agent::runs;
use crate::support::{WAIT_LIMIT, World};
use serde_json::Value;

/// An agent, what is done before it is explained, and whether it runs then.
struct Case {
    name: &'static str,
    /// Lines that replace or extend those of the usual agent: the table, and its lines, separated by `; `.
    file: &'static [(&'static str, &'static str)],
    /// Commands that are run before it is explained.
    before: &'static [&'static [&'static str]],
    /// The reason that keeps it from running; `""` if nothing does.
    obstacle: &'static str,
}

const fn case(
    name: &'static str,
    file: &'static [(&'static str, &'static str)],
    before: &'static [&'static [&'static str]],
    obstacle: &'static str,
) -> Case {
    Case { name, file, before, obstacle }
}

const CASES: &[Case] = &[
    case("plain", &[], &[], ""),
    case("proposes", &[("", "mode = \"propose\"")], &[], ""),
    case("searches", &[("query", "pipeline = \"match:journal | limit:3\"")], &[], ""),
    case("walks", &[("query", "pipeline = \"key:monday | spread\"")], &[], ""),
    case("takes-one", &[("query", "pipeline = \"all | limit:1\"")], &[], ""),
    case("other-visits", &[("query", "pipeline = \"all | not-visited:off,7d\"")], &[], ""),
    case("falls-back", &[("execution", "model = \"no-key\"; fallback = [\"quiet\"]")], &[], ""),
    case("cheap", &[("execution", "model = \"priced\""), ("budget", "max-usd-per-run = 1000.0")], &[], ""),
    case("long-notes", &[("prompt", "max-node-chars = 40")], &[], ""),
    case(
        "edited",
        &[],
        &[
            &["agent", "run", "edited"],
            &["insert", "--update", "--key", "monday", "--body", "Ships leave the harbour."],
        ],
        "",
    ),
    case("resumed", &[], &[&["agent", "pause", "resumed"], &["agent", "resume", "resumed"]], ""),
    case(
        "runs-left",
        &[("budget", "max-runs-per-day = 2"), ("query", "max-results = 1")],
        &[&["agent", "run", "runs-left"]],
        "",
    ),
    case("off", &[("", "enabled = false")], &[], "disabled"),
    case("paused", &[], &[&["agent", "pause", "paused"]], "paused"),
    case("cooling", &[("schedule", "cooldown = \"1h\"")], &[&["agent", "run", "cooling"]], "cooldown"),
    case("done", &[], &[&["agent", "run", "done"]], "not-stale"),
    case("patient", &[("freshness", "min-stale = 40")], &[], "not-stale"),
    case(
        "own-visits",
        &[("query", "pipeline = \"all | not-visited:own-visits,7d\"")],
        &[&["agent", "run", "own-visits"]],
        "not-stale",
    ),
    case("finds-nothing", &[("query", "pipeline = \"all | type:daily\"")], &[], "too-few-results"),
    case("wants-many", &[("query", "min-results = 40")], &[], "too-few-results"),
    case("no-key", &[("execution", "model = \"no-key\"")], &[], "invalid-config"),
    case(
        "two-without-key",
        &[("execution", "model = \"no-key\"; fallback = [\"no-key-either\"]")],
        &[],
        "invalid-config",
    ),
    case("no-such-model", &[("execution", "model = \"nobody\"")], &[], "invalid-config"),
    case("no-such-stage", &[("query", "pipeline = \"all | nonsense:3\"")], &[], "invalid-config"),
    case("no-such-template", &[("prompt", "template = \"absent\"")], &[], "invalid-config"),
    case("no-such-action", &[("execution", "actions = [\"explode\"]")], &[], "invalid-config"),
    case("used-up", &[("budget", "max-runs-per-day = 1")], &[&["agent", "run", "used-up"]], "over-budget"),
    case(
        "used-up-by-tenant",
        &[("budget", "per-tenant = { max-runs-per-day = 1 }")],
        &[&["agent", "run", "used-up-by-tenant"]],
        "over-budget",
    ),
    case(
        "dear-run",
        &[("execution", "model = \"priced\""), ("budget", "max-usd-per-run = 0.000001")],
        &[],
        "over-budget",
    ),
    case(
        "dear-day",
        &[("execution", "model = \"priced\""), ("budget", "max-usd-per-day = 0.000001")],
        &[],
        "over-budget",
    ),
    case("elsewhere", &[], &[], "elsewhere"),
];

/// The file of a case: all tables of the usual agent, in which lines of the case take the place of usual ones.
fn file(case: &Case, schedule: &str) -> String {
    let schedule = format!("schedule = \"{schedule}\"");
    let usual: [(&str, &[&str]); 7] = [
        ("", &[]),
        ("query", &["pipeline = \"all\""]),
        ("prompt", &["inline = \"{{ NODES }}\"", "placeholders = [\"NODES\"]"]),
        ("execution", &["model = \"quiet\"", "actions = [\"link-add\"]", &schedule]),
        ("freshness", &["window = \"1d\""]),
        ("schedule", &["timezone = \"UTC\""]),
        ("budget", &[]),
    ];
    let key = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
    let mut text = String::new();
    for (table, lines) in usual {
        let own: Vec<&str> = case
            .file
            .iter()
            .filter(|(own, _)| *own == table)
            .flat_map(|(_, lines)| lines.split("; "))
            .collect();
        if !table.is_empty() {
            text.push_str(&format!("[{table}]\n"));
        }
        let replaced = |line: &&&str| own.iter().any(|own| key(own) == key(line));
        // A prompt has a template or is inline.
        let is_template =
            |line: &&&str| own.iter().any(|own| key(own) == "template") && key(line) == "inline";
        for line in lines.iter().filter(|line| !replaced(line) && !is_template(line)).chain(&own) {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

const SETTINGS: &str = r#"
[daemon]
heartbeat = "1s"
[agents]
catch-up-spread = "0s"
max-concurrent-runs = 4
[models.quiet]
provider = "quiet"
id = "quiet"
[models.priced]
provider = "quiet"
id = "priced"
input-price = 3.0
output-price = 15.0
[models.no-key]
provider = "remote"
id = "x"
[models.no-key-either]
provider = "remote"
id = "y"
[providers.quiet]
kind = "command"
command = ["printf", "{\"notes\":\"\",\"link-add\":[]}"]
[providers.remote]
kind = "openai"
base-url = "http://127.0.0.1:1/v1"
key-env = "POC_STORY_NO_SUCH_KEY"
"#;

/// The first obstacle, `""` if the agent would run.
fn predicted(world: &World, name: &str) -> String {
    let explained = world.json(&["agent", "explain", name]);
    let first = explained["obstacles"][0]["reason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(explained["would_run"], first.is_empty(), "{explained:#}");
    first
}

#[test]
fn every_run_happens_as_it_was_predicted() {
    let mut world = World::new();
    let names: Vec<&str> = CASES.iter().map(|case| case.name).filter(|name| *name != "elsewhere").collect();
    world.write("config.toml", &SETTINGS.replace("[agents]", &format!("runs-agents = {names:?}\n[agents]")));
    for (key, text) in [
        ("monday", "The storage engine lost a key in the journal."),
        ("tuesday", "The journal records a page split as one entry."),
        ("lunch", "Lentil soup with lemon."),
    ] {
        world.json(&["insert", "--key", key, "--title", key, "--body", text, "--type", "episodic"]);
    }
    world.json(&["init"]);
    for case in CASES {
        world.write(&format!("agents/{}.toml", case.name), &file(case, "on-demand"));
    }
    for words in CASES.iter().flat_map(|case| case.before) {
        let ran = world.run(words);
        assert!(ran.status < 2, "{words:?}: {}{}", ran.stdout, ran.stderr);
    }
    let runs_before: Vec<usize> = CASES.iter().map(|case| rows(&world, case.name).len()).collect();
    // Due from now on, but nobody runs them yet.
    for case in CASES {
        world.write(&format!("agents/{}.toml", case.name), &file(case, "every 2s"));
    }
    let predictions: Vec<String> = CASES.iter().map(|case| predicted(&world, case.name)).collect();
    let expected: Vec<&str> = CASES.iter().map(|case| case.obstacle).collect();
    let named = |reasons: Vec<&str>| -> Vec<String> {
        CASES.iter().zip(reasons).map(|(case, reason)| format!("{}: {reason}", case.name)).collect()
    };
    assert_eq!(named(predictions.iter().map(String::as_str).collect()), named(expected.clone()));
    world.start_daemon();
    for (case, before) in CASES.iter().zip(&runs_before) {
        if !matches!(case.obstacle, "invalid-config" | "elsewhere") {
            let words = ["agent", "history", case.name, "--limit", "100"];
            world.until(WAIT_LIMIT, &words, |history| ended(history) > *before);
        }
    }
    let observed: Vec<String> = CASES
        .iter()
        .zip(runs_before)
        .map(|(case, before)| {
            let rows = rows(&world, case.name);
            match rows.len().checked_sub(before + 1).and_then(|first| rows.get(first)) {
                Some((_, status, reason)) if status == "skipped" || reason == "invalid-config" => {
                    reason.clone()
                }
                Some(_) => String::new(),
                // Files that are invalid have no slots, and slots of agents that run elsewhere have no rows here.
                None if matches!(case.obstacle, "invalid-config" | "elsewhere") => case.obstacle.to_owned(),
                None => "no row".to_owned(),
            }
        })
        .collect();
    world.stop_daemon();
    assert_eq!(named(observed.iter().map(String::as_str).collect()), named(expected));
}

#[test]
fn no_agent_runs_in_a_store_that_accepts_no_writes() {
    let mut world = World::new();
    world.write("config.toml", SETTINGS);
    for key in ["monday", "tuesday", "lunch"] {
        world.json(&["insert", "--key", key, "--title", key, "--body", "Ships at anchor"]);
    }
    world.write("agents/plain.toml", &file(&CASES[0], "on-demand"));
    assert_eq!(predicted(&world, "plain"), "");
    let segment = world.home().join("store/log/00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[60] ^= 0x10;
    std::fs::write(segment, bytes).unwrap();
    for is_served in [false, true] {
        if is_served {
            world.start_daemon();
        }
        assert_eq!(predicted(&world, "plain"), "read-only");
        let refused = world.run(&["agent", "run", "plain"]);
        assert!(refused.status != 0 && refused.stderr.contains("accepts no writes"), "{refused:?}");
    }
    world.stop_daemon();
}

/// The number of runs that have ended.
fn ended(history: &Value) -> usize {
    runs(history).iter().filter(|run| run.1 != "running").count()
}

/// The runs of an agent, newest first.
fn rows(world: &World, name: &str) -> Vec<(String, String, String)> {
    runs(&world.json(&["agent", "history", name, "--limit", "100"]))
}
