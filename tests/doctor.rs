//! `doctor`, including settings that a running daemon has not read yet.

use crate::support::mock_model::{Answer, MockModel};
use crate::support::world::files_below;
use crate::support::{Deadline, WAIT_LIMIT, World, incompressible};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The results of a check, as `state: message`.
fn found(report: &Value, check: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    let of = findings.iter().filter(|finding| finding["check"] == check);
    of.map(|finding| {
        format!("{}: {}", finding["state"].as_str().unwrap(), finding["message"].as_str().unwrap())
    })
    .collect()
}

#[test]
fn doctor_finds_no_problem_on_a_fresh_machine_and_creates_nothing() {
    let world = World::new();
    let report = world.json(&["doctor"]);
    assert_eq!(report["healthy"], true);
    assert_eq!(found(&report, "store"), ["note: it is created with the first note"]);
    assert_eq!(found(&report, "daemon"), ["note: not running: agents run only on demand"]);
    assert!(found(&report, "models").iter().any(|line| line.starts_with("ok: `default`")), "{report}");
    assert!(!world.home().join("store").exists());
}

#[test]
fn problems_are_reported_with_a_remedy() {
    let world = World::new();
    world.run(&["insert", "--title", "a", "--body", "b"]);
    world.write("config.toml", "[text]\nk2 = 1\n");
    let report = world.json_with_status(&["doctor"], 1);
    assert_eq!(report["healthy"], false);
    let [line] = &found(&report, "settings")[..] else { panic!("{report}") };
    assert!(line.starts_with("failed: ") && line.contains("unknown key `k2`"), "{line}");
    // All mistakes are reported at once.
    world.write("config.toml", "[text]\nk2 = 1\nb = 2\n");
    let report = world.json_with_status(&["doctor"], 1);
    let [first, second] = &found(&report, "settings")[..] else { panic!("{report}") };
    assert!(first.contains("unknown key `k2`") && second.contains("`text.b`: cannot be 2"), "{report}");
    world.write("config.toml", "[text]\nk2 = 1\n[pipelines]\nbroken = \"tpye:a\"\n");
    let report = world.json_with_status(&["doctor"], 1);
    let [first, second] = &found(&report, "settings")[..] else { panic!("{report}") };
    assert!(first.contains("unknown key `k2`") && second.contains("tpye"), "{report}");
    let refused = world.json_with_status(&["stats"], 78)["error"].clone();
    assert!(refused["others"][0]["message"].as_str().unwrap().contains("tpye"), "{refused}");
    world.write("config.toml", "[text]\nlanguage = \"klingon\"\nb = 2\n");
    for command in [&["stats"][..], &["config", "show"][..], &["config", "get", "text.b"][..]] {
        let refused = world.json_with_status(command, 78)["error"].clone();
        assert_eq!((&refused["at"]["line"], &refused["others"][0]["at"]["line"]), (&2.into(), &3.into()));
    }
    world.write("config.toml", "[rerank]\nmodel = \"/nowhere/model\"\n");
    let report = world.json_with_status(&["doctor"], 1);
    let [line] = &found(&report, "reranker")[..] else { panic!("{report}") };
    assert!(line.starts_with("failed: ") && line.contains("/nowhere/model"), "{line}");
    world.write("config.toml", "");
    world.write("agents/broken.toml", "[query]\npipelin = \"all\"\n");
    let report = world.json_with_status(&["doctor"], 1);
    assert!(found(&report, "agents").iter().any(|line| line.starts_with("failed: `broken`")), "{report}");
}

#[test]
fn an_agent_that_is_paused_after_failures_is_reported_with_and_without_a_daemon() {
    let mut world = World::new();
    world.run(&["insert", "--title", "a", "--body", "b"]);
    world.write(
        "agents/keeper.toml",
        "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"sonnet\"\nactions = [\"link-add\"]\n[failure]\npause-after = 2\n",
    );
    let line =
        "warning: `keeper`: paused after 2 failures in a row; `poc-memory agent resume keeper` resumes it";
    for _ in 0..2 {
        assert!(!found(&world.json(&["doctor"]), "agents").iter().any(|found| found == line));
        assert_eq!(world.run(&["agent", "run", "keeper"]).status, 1);
    }
    let report = world.json(&["doctor"]);
    assert!(found(&report, "agents").iter().any(|found| found == line), "{report:#}");
    world.start_daemon();
    let report = world.json(&["doctor"]);
    assert!(!found(&report, "agents").iter().any(|found| found == line), "{report:#}");
    assert!(
        found(&report, "daemon").iter().any(|found| found.contains("paused after 2 failures")),
        "{report:#}"
    );
}

#[test]
fn a_daemon_with_outdated_settings_is_reported() {
    let mut world = World::new();
    world.start_daemon();
    let report = world.json(&["doctor"]);
    assert!(
        matches!(&found(&report, "daemon")[..], [line] if line.starts_with("ok: runs since")),
        "{report}"
    );
    assert_eq!(world.json(&["config", "show"])["daemon_differs"], false);
    world.write("config.toml", "[text]\nk1 = 1.2\n");
    let report = world.json(&["doctor"]);
    assert_eq!(found(&report, "daemon")[1..], ["warning: the settings have changed since it started"]);
    assert_eq!(world.json(&["config", "show"])["daemon_differs"], true);
    let shown = world.run(&["config", "show", "--changed"]).stdout;
    assert!(shown.contains("poc-memory daemon restart"), "{shown}");
}

#[test]
fn a_provider_is_contacted_only_on_request_and_free_of_charge() {
    let world = World::new();
    let server = MockModel::serve(|asked| match asked.header("authorization") {
        Some("Bearer good") => Answer::ok(json!({"data": []})),
        _ => Answer::error(401, "invalid_request_error", "wrong key"),
    });
    let settings = |key: &str| {
        let url = server.url();
        let key = world.write("key", key).display().to_string();
        world.write(
            "config.toml",
            &format!(
                "[models.near]\nprovider = \"near\"\nid = \"x\"\ninput-price = 1.0\noutput-price = 2.0\n\
                 [providers.near]\nkind = \"openai\"\nbase-url = \"{url}\"\nkey-file = \"{key}\"\n"
            ),
        );
    };
    let near =
        |report: &Value| found(report, "models").into_iter().find(|line| line.contains("`near`")).unwrap();
    settings("good");
    assert_eq!(near(&world.json(&["doctor"])), "ok: `near` (provider `near`) is ready");
    assert!(server.requests().is_empty());
    assert_eq!(near(&world.json(&["doctor", "--online"])), "ok: `near` (provider `near`) answers");
    assert!(
        server
            .requests()
            .iter()
            .all(|asked| asked.line.starts_with("GET ") && asked.line.ends_with("/models"))
    );
    settings("bad");
    let line = near(&world.json_with_status(&["doctor", "--online"], 1));
    assert!(line.starts_with("failed: ") && line.contains("401") && !line.contains("bad"), "{line}");
}

#[test]
fn a_model_with_a_key_and_without_prices_is_named_because_no_budget_in_dollars_limits_it() {
    let world = World::new();
    let key = world.write("key", "secret").display().to_string();
    let notes = |prices: &str| {
        world.write(
            "config.toml",
            &format!(
                "[models.far]\nprovider = \"far\"\nid = \"x\"\n{prices}\
                 [models.near]\nprovider = \"near\"\nid = \"x\"\n\
                 [providers.far]\nkind = \"openai\"\nbase-url = \"http://127.0.0.1:9\"\n\
                 key-file = \"{key}\"\n\
                 [providers.near]\nkind = \"openai\"\nbase-url = \"http://127.0.0.1:9\"\n"
            ),
        );
        let lines = found(&world.json(&["doctor"]), "models");
        lines.into_iter().filter(|line| line.contains("prices")).collect::<Vec<_>>()
    };
    assert_eq!(notes(""), ["note: budgets in US dollars do not count calls of `far`: no prices"]);
    assert_eq!(notes("input-price = 1.0\n").len(), 1);
    assert!(notes("input-price = 1.0\noutput-price = 2.0\n").is_empty());
}

#[test]
fn a_restart_that_would_fail_because_of_a_token_leaves_the_daemon_running() {
    let mut world = World::new();
    world.write("config.toml", "[rest]\nenabled = true\naddress = \"127.0.0.1:0\"\n");
    world.start_daemon();
    let pid = world.json(&["daemon", "status"])["pid"].clone();
    world.write("token-model", "short\n");
    let refused = world.json_with_status(&["daemon", "restart"], 78);
    assert!(refused["error"]["message"].as_str().unwrap().contains("does not start"), "{refused}");
    let status = world.json(&["daemon", "status"]);
    assert_eq!(status["pid"], pid);
    assert!(status["problems"].to_string().contains("does not start"), "{status}");
    let report = world.json_with_status(&["doctor"], 1);
    let failed = |check| found(&report, check).iter().filter(|line| line.contains("does not start")).count();
    assert_eq!((failed("folders"), failed("daemon")), (1, 0), "{report}");
}

#[test]
fn a_broken_pipeline_in_the_settings_is_reported_once_with_its_location() {
    let world = World::new();
    world.run(&["insert", "--title", "a", "--body", "b"]);
    world.write(
        "config.toml",
        "[search]\npipeline = \"tpye\"\n[pipelines]\nepisodes = \"tpye:episodic\"\ngood = \"age:<7d\"\n",
    );
    let report = world.json_with_status(&["doctor"], 1);
    let findings = found(&report, "settings");
    assert_eq!(findings.len(), 2, "{report}");
    assert!(findings.iter().all(|line| line.starts_with("failed: ")), "{report}");
    assert!(
        findings.iter().any(|line| line.contains("config.toml:2:") && line.contains("`search.pipeline`"))
    );
    assert!(found(&report, "agents").iter().all(|line| !line.contains("tpye")), "{report}");
    let plain = world.json_with_status(&["search", "a"], 78);
    assert!(plain["error"]["at"]["file"].as_str().unwrap().ends_with("config.toml"), "{plain}");
    // A search that names its pipeline is not affected.
    assert_eq!(world.run(&["search", "a", "-p", "hybrid"]).status, 0);
}

#[test]
fn only_writing_creates_a_missing_profile() {
    let world = World::new();
    world.run(&["profile", "create", "work"]);
    for reads in [
        &["search", "-p", "all"][..],
        &["stats"],
        &["export"],
        &["recall", "a"],
        &["doctor"],
        &["config", "show"],
    ] {
        let refused = world.json_with_status(&[&["--profile", "wrok"], reads].concat(), 1);
        assert_eq!(refused["error"]["code"], "not_found", "{reads:?}: {refused}");
        let hint = refused["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("`work`") && hint.contains("`poc-memory profile create wrok`"), "{hint}");
    }
    assert!(!world.home().join("profiles/wrok").exists());
    // Nor does a command that fails before it writes anything.
    for fails in [&["import", "/nowhere"][..], &["insert", "--body", "b", "--supersedes", "nothing"]] {
        assert_ne!(world.run(&[&["--profile", "wrok"], fails].concat()).status, 0);
        assert!(!world.home().join("profiles/wrok").exists(), "{fails:?}");
    }
    let made = world.run(&["--profile", "wrok", "insert", "--title", "a", "--body", "b"]);
    let warning = "the profile `wrok` is new and empty (did you mean `work`?)";
    assert!(made.status == 0 && made.stderr.contains(warning), "{}", made.stderr);
    assert_eq!(world.run(&["--profile", "wrok", "get", "a"]).status, 0);
}

/// With a daemon, which has the files open, and without one.
#[test]
fn a_deep_check_finds_damage_of_every_kind_of_file() {
    let mut world = World::new();
    for number in 0..30 {
        world.json(&[
            "insert",
            "--title",
            &format!("Harbour {number}"),
            "--body",
            "Ships at anchor in the bay",
        ]);
    }
    world.json(&["--tenant", "user=ann", "insert", "--title", "Quay", "--body", "Boats on land"]);
    // A daemon saves the view and the indexes when it stops.
    world.start_daemon();
    world.stop_daemon();
    assert_eq!(
        found(&world.json(&["doctor", "--deep"]), "files"),
        ["ok: log, records, views and indexes agree"]
    );
    let damaged = |world: &World, file: &str| {
        let path = world.home().join("store").join(file);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let at = bytes.len() / 2;
        bytes[at] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        let report = world.json_with_status(&["doctor", "--deep"], 1);
        let files = found(&report, "files");
        assert!(
            matches!(&files[..], [line] if line.starts_with("failed: ") && line.contains(file)),
            "{file}: {report}"
        );
        let hint =
            report["findings"].as_array().unwrap().iter().find(|line| line["check"] == "files").unwrap();
        assert!(hint["hint"].as_str().unwrap().len() > 20, "{report}");
        std::fs::write(&path, whole).unwrap();
    };
    for file in
        ["view", "text/snapshot", "mentions/snapshot", "vectors/manifest", "log/00000000000000000001.log"]
    {
        world.start_daemon();
        damaged(&world, file);
        // The daemon continues to report the problem until a verification finds nothing.
        let status = world.json(&["daemon", "status"]);
        assert!(status["problems"].to_string().contains(file), "{status}");
        assert_eq!(
            found(&world.json(&["doctor", "--deep"]), "files"),
            ["ok: log, records, views and indexes agree"]
        );
        assert_eq!(world.json(&["daemon", "status"])["problems"], json!([]));
        world.stop_daemon();
    }
    // Without a daemon, the view is built again when the memory is opened, so nothing has to be done.
    let path = world.home().join("store/view");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let report = world.json(&["doctor", "--deep"]);
    let files = found(&report, "files");
    assert!(
        matches!(&files[..], [warning, ok] if warning.starts_with("warning: ")
            && warning.contains("view")
            && ok.starts_with("ok: ")),
        "{report:#}"
    );
    let report = world.json(&["doctor"]);
    assert!(
        found(&report, "store").iter().any(|line| line.starts_with("warning: ") && line.contains("view"))
    );
    let verified = world.run(&["verify"]);
    assert!(verified.status == 0 && verified.stdout.starts_with("log, records, views and indexes agree"));
}

/// Such files are rebuilt from the log, but their damage may be the first sign of a failing disk.
#[test]
fn files_that_were_damaged_while_the_memory_was_closed_are_reported_once() {
    let mut world = World::new();
    for number in 0..30 {
        world.json(&["insert", "--title", &format!("Harbour {number}"), "--body", "Ships at anchor"]);
    }
    // A daemon saves the view and the indexes when it stops.
    world.start_daemon();
    world.stop_daemon();
    let damage = |world: &World, file: &str| {
        let path = world.home().join("store").join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
    };
    let intact = "log, records, views and indexes agree";
    for file in ["view", "text/snapshot", "mentions/snapshot", "vectors/manifest", "records/last", "head"] {
        damage(&world, file);
        let verified = world.run(&["verify"]);
        assert_eq!(verified.status, 1, "{file}: {}", verified.stdout);
        assert!(verified.stdout.contains(&format!("{file}`: it was damaged")), "{}", verified.stdout);
        assert!(verified.stderr.contains(&format!("{file}` was damaged")), "{file}: {}", verified.stderr);
        let again = world.run(&["verify"]);
        assert!(again.status == 0 && again.stdout.starts_with(intact), "{file}: {}", again.stdout);
        assert_eq!(again.stderr, "", "{file}");
        damage(&world, file);
        let report = world.json(&["doctor", "--deep"]);
        let files = found(&report, "files");
        assert!(
            matches!(&files[..], [warning, ok] if warning.starts_with("warning: ")
                && warning.contains(file)
                && *ok == format!("ok: {intact}")),
            "{file}: {report:#}"
        );
        assert!(!found(&report, "store").iter().any(|line| line.contains("was damaged")), "{report:#}");
    }
    damage(&world, "text/snapshot");
    world.start_daemon();
    let verified = world.json_with_status(&["verify"], 1);
    assert_eq!(verified["findings"][0]["rebuilt"], true, "{verified:#}");
    assert_eq!(world.json(&["verify"])["findings"], json!([]));
    let status = world.json(&["daemon", "status"]);
    assert!(status["recovered"].to_string().contains("text/snapshot` was damaged"), "{status:#}");
    let log = world.run(&["daemon", "log"]).stdout;
    assert!(log.contains("WARN") && log.contains("text/snapshot` was damaged"), "{log}");
    world.stop_daemon();
    damage(&world, "text/snapshot");
    world.start_daemon();
    let report = world.json(&["doctor", "--deep"]);
    let lines = report["findings"].as_array().unwrap().iter();
    let named: Vec<&Value> = lines.filter(|line| line.to_string().contains("text/snapshot`")).collect();
    assert!(matches!(&named[..], [line] if line["check"] == "files"), "{report:#}");
    world.stop_daemon();
}

#[test]
fn a_daemon_says_that_the_last_one_was_killed() {
    let mut world = World::new();
    world.start_daemon();
    world.kill_daemon();
    world.start_daemon();
    let log = world.run(&["daemon", "log"]).stdout;
    assert_eq!(log.matches("the last daemon was killed").count(), 1, "{log}");
    let report = world.json(&["doctor"]);
    let warning = "warning: found when it started: the last daemon was killed";
    assert!(found(&report, "daemon").iter().any(|line| line.starts_with(warning)), "{report:#}");
    world.stop_daemon();
    world.start_daemon();
    assert_eq!(world.json(&["daemon", "status"])["recovered"], json!([]));
    world.stop_daemon();
}

/// Records are rebuilt as soon as damage of them is found, so there is nothing that a person has to do.
#[test]
fn a_deep_check_reports_damaged_records_as_rebuilt() {
    let mut world = World::new();
    // Enough data that the records are written to a table.
    for number in 1..=6 {
        let body = format!("Ships at anchor {}", incompressible::text(number, 400 << 10));
        let note = json!({ "key": format!("note-{number}"), "title": "Harbour", "body": body });
        let file = world.write("note.jsonl", &note.to_string());
        world.json(&["import", file.to_str().unwrap()]);
    }
    // A daemon writes the records when it stops.
    world.start_daemon();
    world.stop_daemon();
    let records = world.home().join("store/records");
    let is_table = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "table");
    let table = files_below(&records).into_iter().find(is_table).unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&table, bytes).unwrap();
    let report = world.json(&["doctor", "--deep"]);
    let files = found(&report, "files");
    assert_eq!(files.last().unwrap(), "ok: log, records, views and indexes agree", "{report}");
    assert!(!report.to_string().contains("delete `"), "{report}");
    assert!(world.home().join("store/quarantine/records").exists());
    let report = world.json(&["doctor", "--deep"]);
    assert_eq!(found(&report, "files"), ["ok: log, records, views and indexes agree"]);
    assert_eq!(world.json(&["stats"])["nodes"], 6);
}

#[test]
fn a_daemon_verifies_every_week() {
    let Some(mut world) = World::with_clock() else { return };
    world.write("config.toml", "[daemon]\nheartbeat = \"1s\"\n");
    for number in 0..20 {
        world.json(&["insert", "--title", &format!("Harbour {number}"), "--body", "Ships at anchor"]);
    }
    // A daemon saves the view when it stops.
    world.start_daemon();
    world.stop_daemon();
    world.start_daemon();
    let saved = world.home().join("store/verification.json");
    let verified = |world: &World| {
        let text = std::fs::read_to_string(&saved).unwrap_or_default();
        assert_eq!(world.run(&["daemon", "status"]).status, 0);
        serde_json::from_str::<Value>(&text).map_or_else(|_| String::new(), |last| last["at"].to_string())
    };
    let wait = |world: &World, earlier: &str| {
        let deadline = Deadline::after(WAIT_LIMIT);
        loop {
            let last = verified(world);
            if last.as_str() > earlier {
                return last;
            }
            deadline.wait(|| format!("not verified after {earlier:?}"));
        }
    };
    // The first one comes soon after a start, the next one a week later.
    assert_eq!(verified(&world), "");
    world.write("clock", "+1h");
    let first = wait(&world, "");
    let path = world.home().join("store/view");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(world.json(&["daemon", "status"])["problems"], json!([]));
    world.write("clock", "+170h");
    wait(&world, &first);
    let status = world.json(&["daemon", "status"]);
    assert!(status["problems"].to_string().contains("store/view"), "{status}");
    world.stop_daemon();
}
