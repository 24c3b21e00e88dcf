//! Models of providers: fallback models, providers that are not called for a while, and keys, which are written
//! nowhere.

use crate::support::mock_model::{Answer, MockModel};
#[cfg(feature = "local-models")]
use crate::support::tiny_gguf::Tiny;
use crate::support::world::files_below;
use crate::support::{WAIT_LIMIT, World};
use serde_json::Value;
use std::path::{Path, PathBuf};

const KEY: &str = "sk-story-0123456789";

/// A world with a note and the models `first` and `second`, each with its own server and the same key.
fn world(first: &MockModel, second: &MockModel) -> World {
    let world = World::new();
    let key = world.write("key", KEY).display().to_string();
    let settings: String = [("first", first), ("second", second)]
        .map(|(name, server)| {
            format!(
                "[models.{name}]\nprovider = \"{name}\"\nid = \"x\"\ninput-price = 1.0\noutput-price = 2.0\n\
                 [providers.{name}]\nkind = \"openai\"\nbase-url = \"{}/v1\"\nkey-file = \"{key}\"\n",
                server.url()
            )
        })
        .concat();
    world.write("config.toml", &settings);
    world.json(&["insert", "--title", "A note", "--body", "about page splits", "--key", "note"]);
    world
}

fn agent(fallback: &str, schedule: &str) -> String {
    format!(
        "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"first\"\nfallback = [{fallback}]\nactions = [\"link-add\"]\nschedule = \"{schedule}\"\n"
    )
}

/// The files in a folder that contain the key, except the key file.
fn leaks(folder: &Path) -> Vec<String> {
    let holds_key = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
    };
    let others =
        files_below(folder).into_iter().filter(|path| path.file_name().is_some_and(|name| name != "key"));
    others.filter(holds_key).map(|path| path.display().to_string()).collect()
}

#[test]
fn the_fallback_model_answers_and_no_key_is_written_anywhere() {
    // The servers send back what they receive.
    let first = MockModel::serve(|_| Answer::error(403, "permission_error", &format!("no access for {KEY}")));
    let second =
        MockModel::serve(|_| Answer::chat(&format!("{{\"notes\": \"I saw {KEY}\", \"link-add\": []}}")));
    let world = world(&first, &second);
    world.write("agents/asker.toml", &agent("\"second\"", "on-demand"));
    let ran = world.run(&["agent", "run", "asker", "--json"]);
    let run: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((run["status"].as_str(), run["model"].as_str()), (Some("noop"), Some("second")), "{run:#}");
    assert_eq!(second.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let id = run["run"].as_str().unwrap();
    let inspected = world.json(&["agent", "inspect", id]);
    assert_eq!(inspected["calls"][0]["model"], "second", "{inspected:#}");
    assert_eq!(inspected["calls"][0]["estimated"], false, "{inspected:#}");
    assert!(inspected["replies"][0]["text"].as_str().unwrap().contains("I saw [key]"), "{inspected:#}");
    let listed = world.json(&["agent", "list"]);
    let asker = listed["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "asker").unwrap();
    let cost: f64 =
        inspected["calls"].as_array().unwrap().iter().filter_map(|call| call["cost"].as_f64()).sum();
    for field in ["usd_today", "usd_total"] {
        let spent = asker[field].as_f64().unwrap();
        assert!(cost > 0.0 && (spent - cost).abs() < 1e-9, "{field}: {spent}, not {cost}: {asker:#}");
    }
    for text in [ran.stdout, ran.stderr, world.run(&["agent", "inspect", id]).stdout] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert_eq!(leaks(world.home()), [""; 0]);
}

#[test]
fn the_estimated_cost_of_a_model_is_reported_and_uses_up_the_budget() {
    let mut world = World::new();
    // It reports no usage, so its cost is estimated from the length of prompt and reply: 16,384 tokens of three bytes,
    // for $0.082.
    let reply = format!("{{\"notes\": \"nothing to link\", \"link-add\": []}}{}", "\n".repeat(50_000));
    let reply = world.write("reply.json", &reply);
    let settings = format!(
        "[models.first]\nprovider = \"recorded\"\nid = \"x\"\ninput-price = 1.0\noutput-price = 5.0\n\
         [providers.recorded]\nkind = \"command\"\ncommand = [\"cat\", \"{}\"]\n\
         [budget]\nmax-usd-per-day = 0.086\n",
        reply.display()
    );
    world.write("config.toml", &settings);
    world.json(&["insert", "--title", "A note", "--body", "about page splits", "--key", "note"]);
    world.write("agents/asker.toml", &agent("", "on-demand"));
    let quiet = world.json(&["night"]);
    assert_eq!((&quiet["budget_warning"], &quiet["max_usd_per_day"]), (&Value::Null, &0.086.into()));
    let run = world.json(&["agent", "run", "asker"]);
    assert_eq!((&run["status"], &run["cost_at_most"]), (&"noop".into(), &true.into()), "{run:#}");
    world.start_daemon();
    let night = world.json(&["night"]);
    assert_eq!(
        (&night["cost_at_most"], &night["agents"]["asker"]["cost_at_most"], &night["cost"]),
        (&true.into(), &true.into(), &run["cost"]),
        "{night:#}"
    );
    assert!(world.run(&["night"]).stdout.contains("about $0.08"));
    for arguments in [&["night"][..], &["agent", "list"], &["daemon", "check"]] {
        let answer = world.json(arguments);
        let warning = answer["budget_warning"].as_str().unwrap_or_default();
        assert!(
            warning
                .starts_with("the daily budget of all agents is used up: $0.08 of $0.09 spent or reserved"),
            "{answer:#}"
        );
        assert!(world.run(arguments).stdout.contains(warning), "{arguments:?}");
    }
    let stopped = world.run(&["agent", "run", "asker", "--force", "--json"]);
    let stopped: Value = serde_json::from_str(&stopped.stdout).unwrap();
    assert_eq!(stopped["reason"], "over-budget", "{stopped:#}");
    // The budget is used up, and not less than a call.
    world.write("agents/asker.toml", &agent("", "daily"));
    world.json(&["agent", "reload"]);
    assert_eq!(too_small_budgets(&world), [""; 0]);
    // One that is less than a call is a problem also on a day on which something was spent.
    let budget = |dollars: &str| {
        let budget = format!("[budget]\nmax-usd-per-day = {dollars}\n");
        world.write("agents/asker.toml", &(agent("", "daily") + &budget));
        world.json(&["agent", "reload"]);
    };
    budget("0.05");
    world.run(&["agent", "run", "asker", "--force"]);
    let problems = too_small_budgets(&world);
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    let expected = "agent `asker` was skipped, because a budget is less than one call: the agent's \
                    `budget.max-usd-per-day` is $0.0500, of which $0.08";
    assert!(problem.starts_with(expected), "{problem}");
    budget("0.5");
    assert_eq!(too_small_budgets(&world), [""; 0]);
}

/// The problems of `daemon status` about budgets that are less than one call.
fn too_small_budgets(world: &World) -> Vec<String> {
    let status = world.json(&["daemon", "status"]);
    let problems = status["problems"].as_array().unwrap().iter().filter_map(Value::as_str);
    problems.filter(|line| line.contains("a budget is less than one call")).map(str::to_owned).collect()
}

#[test]
fn a_daily_budget_that_is_less_than_one_call_is_a_problem() {
    let server = MockModel::serve(|_| Answer::chat("{\"notes\": \"\", \"link-add\": []}"));
    let mut world = world(&server, &server);
    let settings = std::fs::read_to_string(world.home().join("config.toml")).unwrap();
    world.write("config.toml", &format!("{settings}[budget]\nmax-usd-per-day = 0.0001\n"));
    world.write("agents/asker.toml", &agent("", "daily"));
    let skipped = world.run(&["agent", "run", "asker", "--json"]);
    let skipped: Value = serde_json::from_str(&skipped.stdout).unwrap();
    assert_eq!(skipped["reason"], "over-budget", "{skipped:#}");
    world.start_daemon();
    let problems = too_small_budgets(&world);
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    let expected = "agent `asker` was skipped, because a budget is less than one call: `budget.max-usd-per-day` of \
                    config.toml is $0.0001, of which $0.0000 are spent, and the call may cost $";
    assert!(problem.starts_with(expected), "{problem}");
    assert_eq!(server.requests().len(), 0);
    world.stop_daemon();
}

#[test]
fn a_provider_without_credit_is_not_called_and_status_says_so() {
    let first = MockModel::serve(|_| Answer::error(402, "billing_error", "pay first"));
    let mut world = world(&first, &first);
    world.write("agents/often.toml", &agent("", "every 1s"));
    world.start_daemon();
    let count = |history: &Value, status: &str, reason: &str| {
        let runs = history["runs"].as_array().unwrap().iter();
        runs.filter(|run| run["status"] == status && run["reason"] == reason).count()
    };
    let history = world.until(WAIT_LIMIT, &["agent", "history", "often"], |history| {
        count(history, "skipped", "provider-down") >= 2
    });
    assert_eq!((count(&history, "failed", "provider-down"), first.requests().len()), (1, 1), "{history:#}");
    let status = world.json(&["daemon", "status"]);
    let problems: Vec<&str> =
        status["problems"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        problems
            .iter()
            .any(|line| line.starts_with("`first` is suspended until") && line.ends_with("pay first")),
        "{problems:?}"
    );
    assert_eq!(status["agents"]["blocked"], 1, "{status:#}");
    let often = listed(&world, "often");
    assert_eq!(often["state"], "blocked", "{often:#}");
    assert!(often["error"].as_str().unwrap().starts_with("`first` is suspended until"), "{often:#}");
    assert_eq!(leaks(world.home()), [""; 0]);
}

/// The row of an agent in `agent list`.
fn listed(world: &World, name: &str) -> Value {
    let listed = world.json(&["agent", "list"]);
    listed["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap().clone()
}

#[test]
fn an_agent_whose_key_is_missing_is_blocked_and_a_callable_fallback_unblocks_it() {
    let mut world = World::new();
    let settings = "[models.first]\nprovider = \"first\"\nid = \"x\"\n[providers.first]\nkind = \"openai\"\n\
                    base-url = \"http://127.0.0.1:1/v1\"\nkey-env = \"POC_STORY_NO_SUCH_KEY\"\n";
    world.write("config.toml", settings);
    world.write("agents/blocked.toml", &agent("", "on-demand"));
    world.write("agents/other.toml", &agent("\"default\"", "on-demand"));
    let check = |world: &World| {
        let blocked = listed(world, "blocked");
        assert_eq!(blocked["state"], "blocked", "{blocked:#}");
        assert!(blocked["error"].as_str().unwrap().starts_with("set `POC_STORY_NO_SUCH_KEY`"), "{blocked:#}");
        assert_eq!(listed(world, "other")["state"], "on-demand");
        let explained = world.run(&["agent", "explain", "blocked"]).stdout;
        assert!(explained.contains("cannot be called: set `POC_STORY_NO_SUCH_KEY`"), "{explained}");
        world.json(&["agent", "pause", "blocked"]);
        let resumed = world.run(&["agent", "resume", "blocked"]).stdout;
        assert!(resumed.starts_with("blocked: resumed, but it is blocked: set `POC_STORY"), "{resumed}");
    };
    check(&world);
    world.start_daemon();
    check(&world);
    let problems = world.json(&["daemon", "status"])["problems"].to_string();
    assert!(problems.contains("agent `blocked` is blocked: set `POC_STORY_NO_SUCH_KEY`"), "{problems}");
    assert!(!problems.contains("`other`"), "{problems}");
    // The key may be set in the shell and not where the daemon was started.
    assert!(problems.contains("the daemon reads its environment when it starts"), "{problems}");
    world.write("agents/second.toml", &agent("", "on-demand"));
    world.json(&["agent", "reload"]);
    let problems = world.json(&["daemon", "status"])["problems"].to_string();
    let expected = "agents `blocked`, `second` are blocked: set `POC_STORY_NO_SUCH_KEY`";
    assert_eq!(problems.matches("POC_STORY_NO_SUCH_KEY").count(), 1, "{problems}");
    assert!(problems.contains(expected), "{problems}");
    let listed = world.run(&["agent", "list"]).stdout;
    assert!(listed.contains("\nblocked, second: set `POC_STORY_NO_SUCH_KEY`"), "{listed}");
}

#[cfg(feature = "local-models")]
#[test]
fn a_local_model_replies_within_its_permit() {
    let mut world = World::new();
    let file = world.home().join("tiny.gguf");
    Tiny::new(4).save(&file);
    let settings = format!(
        "[models.local]\nprovider = \"candle\"\nid = \"{}\"\n[providers.candle]\nmax-tokens = 900\n",
        file.display()
    );
    world.write("config.toml", &settings);
    for key in ["journal", "split"] {
        world.json(&["insert", "--title", key, "--body", "what recovery does", "--key", key]);
    }
    world.write("agents/asker.toml", &agent("", "on-demand").replace("\"first\"", "\"local\""));
    let report = world.json(&["doctor"]);
    assert!(report.to_string().contains("`local` (provider `candle`) is ready"), "{report:#}");
    for daemon in [false, true] {
        if daemon {
            world.start_daemon();
        }
        let ran = world.run(&["agent", "run", "asker", "--force", "--json"]);
        let run: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        let status = run["status"].as_str().unwrap();
        assert!(["ok", "noop", "partial"].contains(&status), "{run:#}");
        assert_eq!(run["model"], "local", "{run:#}");
        let inspected = world.json(&["agent", "inspect", run["run"].as_str().unwrap()]);
        let call = &inspected["calls"][0];
        assert!(
            call["tokens_in"].as_u64() > Some(100) && call["tokens_out"].as_u64() > Some(10),
            "{inspected:#}"
        );
        assert_eq!((&call["cost"], &call["estimated"]), (&0.0.into(), &false.into()), "{inspected:#}");
        let reply: Value = serde_json::from_str(inspected["replies"][0]["text"].as_str().unwrap()).unwrap();
        assert!(reply["link-add"].is_array() && reply["notes"].is_string(), "{reply:#}");
    }
}

#[cfg(feature = "local-models")]
#[test]
fn a_local_model_that_cannot_be_run_is_reported_before_any_run() {
    let world = World::new();
    world.write("not.gguf", "GGUF but not for long");
    let settings = format!(
        "[models.local]\nprovider = \"candle\"\nid = \"{}\"\n",
        world.home().join("not.gguf").display()
    );
    world.write("config.toml", &settings);
    world.write("agents/asker.toml", &agent("", "on-demand").replace("\"first\"", "\"local\""));
    world.json(&["insert", "--title", "A note", "--body", "about page splits", "--key", "note"]);
    let report = world.json(&["doctor"]);
    assert!(report.to_string().contains("not.gguf` cannot be read"), "{report:#}");
    let ran = world.run(&["agent", "run", "asker"]);
    assert!(ran.stdout.contains("not.gguf` cannot be read"), "{}", ran.stdout);
}
