//! Sentence models and cross-encoders: download, lookup by name, use.

use crate::store_of_0_1;
use crate::support::{CommandResult, Deadline, WAIT_LIMIT, World, tiny_bert};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A local hub with one model, and a counter of its requests.
fn hub(model: &'static str) -> (String, Arc<AtomicUsize>) {
    let files: HashMap<&str, Vec<u8>> = tiny_bert::files(7, false).into_iter().collect();
    let names: Vec<_> = files.keys().map(|name| serde_json::json!({"rfilename": name})).collect();
    let model_info = serde_json::json!({"sha": "5ea", "siblings": names}).to_string().into_bytes();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap() > 2 {}
            let path = head.split(' ').nth(1).unwrap();
            let file = path.strip_prefix(&format!("/{model}/resolve/5ea/")).and_then(|name| files.get(name));
            let body = match path == format!("/api/models/{model}/revision/main") {
                true => Some(&model_info),
                false => file,
            };
            let status = if body.is_some() { 200 } else { 404 };
            let body = body.map(Vec::as_slice).unwrap_or_default();
            let head =
                format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        }
    });
    (address, asked)
}

/// Runs a command with environment variables.
fn run(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> CommandResult {
    let mut command = world.command("poc-memory");
    command.args(arguments).envs(variables.iter().copied());
    let output = command.output().unwrap();
    CommandResult {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

const NOTES: &str = r#"{"title": "Lighthouse", "body": "the keeper of the lighthouse moved"}
{"title": "Soup", "body": "a soup of lemon"}
{"title": "Harbour", "body": "the house of the keeper"}
"#;

#[test]
fn a_model_is_downloaded_on_request_and_found_by_name() {
    let (address, asked) = hub("tiny/bert");
    let world = World::with_configured_embedder();
    world.write("notes.jsonl", NOTES);
    world.write("config.toml", "[embedder]\nkind = \"candle\"\nmodel = \"tiny/bert\"\n");
    let cache = world.home().join("cache").display().to_string();
    let variables = [("HF_ENDPOINT", address.as_str()), ("HF_HOME", cache.as_str())];
    let missing = run(&world, &["import", "notes.jsonl"], &variables);
    assert_eq!(missing.status, 78, "{missing:?}");
    assert!(missing.stderr.contains("the model `tiny/bert` is not in `"), "{}", missing.stderr);
    assert!(
        missing.stderr.contains("hint: `poc-memory embed fetch tiny/bert` downloads it"),
        "{}",
        missing.stderr
    );
    assert_eq!(asked.load(Ordering::Relaxed), 0, "nobody had asked for a download");

    let fetched = run(&world, &["embed", "fetch", "tiny/bert"], &variables);
    assert_eq!((fetched.status, fetched.stderr.as_str()), (0, ""));
    assert!(fetched.stdout.starts_with("tiny/bert at 5ea: 3 files, "), "{}", fetched.stdout);
    let count = asked.load(Ordering::Relaxed);
    let imported = run(&world, &["import", "notes.jsonl"], &variables);
    assert_eq!((imported.status, imported.stderr.as_str()), (0, ""));
    let found = run(&world, &["--json", "retrieve", "the keeper of the lighthouse"], &variables);
    let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["results"].as_array().unwrap().len(), 3);
    assert_eq!(asked.load(Ordering::Relaxed), count, "only `embed fetch` asks the hub");
    let unknown = run(&world, &["embed", "fetch", "tiny/unknown"], &variables);
    assert!(unknown.status != 0 && unknown.stderr.contains("/tiny/unknown/"), "{unknown:?}");
    let wrong = run(&world, &["embed", "fetch", "tiny"], &variables);
    assert_eq!(wrong.status, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("`tiny` is not the name of a model"), "{}", wrong.stderr);
}

#[test]
fn a_cross_encoder_ranks_the_best_hits_and_decides_what_is_known() {
    let world = World::new();
    let model = world.home().join("judge");
    tiny_bert::save(&model, 11, true);
    let settings = |top: usize| {
        let model = model.display();
        let text =
            format!("[rerank]\nmodel = \"{model}\"\ntop = {top}\n[rerank.gate]\nstrong = 0.0\nweak = 0.0\n");
        world.write("config.toml", &text);
    };
    world.write("notes.jsonl", NOTES);
    assert_eq!(world.run(&["import", "notes.jsonl"]).status, 0);
    let asked = ["retrieve", "the keeper of the lighthouse", "--explain"];
    let keys = |answer: &serde_json::Value, field: &str| -> Vec<serde_json::Value> {
        answer["results"].as_array().unwrap().iter().map(|hit| hit[field].clone()).collect()
    };
    let plain = world.json(&asked);
    assert_eq!(keys(&plain, "likelihood"), vec![serde_json::Value::Null; 3]);

    settings(25);
    let judged = world.json(&asked);
    let likelihoods: Vec<f64> =
        keys(&judged, "likelihood").iter().map(|value| value.as_f64().unwrap()).collect();
    assert!(likelihoods.is_sorted_by(|a, b| a >= b) && likelihoods[0] > likelihoods[2], "{likelihoods:?}");
    assert!(likelihoods.iter().all(|value| (0.0..=1.0).contains(value)));
    let (mut before, mut after) = (keys(&plain, "key"), keys(&judged, "key"));
    before.sort_by_key(ToString::to_string);
    after.sort_by_key(ToString::to_string);
    assert_eq!(before, after);
    let result = world.run(&asked);
    assert!(result.stdout.contains(&format!("likelihood {:.3}", likelihoods[0])), "{}", result.stdout);
    let known = world.json(&["query", "the keeper of the lighthouse"]);
    assert_eq!(known["signals"]["certainty"].as_f64(), Some(likelihoods[0]));
    assert_eq!((known["hit"].as_str(), &known["key"]), (Some("STRONG"), &judged["results"][0]["key"]));

    // Hits after the best keep their order.
    settings(1);
    let first = world.json(&asked);
    assert_eq!(keys(&first, "key"), keys(&plain, "key"));
    assert_eq!(keys(&first, "likelihood")[1], serde_json::Value::Null);

    world.write("config.toml", "[rerank]\nmodel = \"/nonexistent/judge\"\n");
    let missing = world.run(&asked);
    assert_eq!(missing.status, 78, "{missing:?}");
    assert!(
        missing.stderr.starts_with("error: `rerank.model`: the model in `/nonexistent/judge` cannot"),
        "{}",
        missing.stderr
    );
    // Searches without cross-encoder still work.
    assert_eq!(world.run(&["search", "soup"]).status, 0);
}

/// Writes settings that name a table for the embedder `static`.
fn with_table(world: &World, table: &str) {
    let table = world.home().join(table);
    world.write("config.toml", &format!("[embedder]\nkind = \"static\"\nmodel = \"{}\"\n", table.display()));
}

#[test]
fn a_memory_can_switch_to_a_distilled_table() {
    let world = World::with_configured_embedder();
    let model = world.home().join("tiny");
    tiny_bert::save(&model, 7, false);
    let model = model.display().to_string();
    world.write("notes.jsonl", NOTES);
    let begun = world.run(&["import", "notes.jsonl"]);
    assert_eq!((begun.status, begun.stderr.as_str()), (0, ""));

    let table = world.home().join("own.table").display().to_string();
    let made = world.run(&["embed", "distill", "--from", &model, "--dims", "6", "--to", &table]);
    assert_eq!((made.status, made.stderr.as_str()), (0, ""));
    assert!(made.stdout.contains("own.table: 15 tokens, 6 dimensions each"), "{}", made.stdout);
    let first = std::fs::read(&table).unwrap();
    let again = world.run(&["embed", "distill", "--from", &model, "--dims", "6", "--to", &table]);
    assert_eq!(
        (again.status, std::fs::read(&table).unwrap()),
        (0, first),
        "the same command, the same table"
    );
    world.write(
        "corpus.jsonl",
        "{\"text\": \"the keeper of the lighthouse\"}\n{\"text\": \"a pot of soup\"}\n",
    );
    let corpus = world.home().join("corpus.jsonl").display().to_string();
    let fitted_table = world.home().join("fitted.table").display().to_string();
    let fit =
        ["embed", "distill", "--from", &model, "--dims", "6", "--corpus", &corpus, "--to", &fitted_table];
    let fitted = world.run(&fit);
    assert_eq!(fitted.status, 0, "{fitted:?}");
    assert!(fitted.stdout.contains("6 dimensions each, fitted to 2 texts, which keep"), "{}", fitted.stdout);
    assert_ne!(std::fs::read(&fitted_table).unwrap(), std::fs::read(&table).unwrap());
    world.write("corpus.jsonl", "\n");
    let empty = world.run(&fit);
    assert_eq!(empty.status, 2);
    assert!(empty.stderr.starts_with("error: `--corpus`: the corpus `"), "{}", empty.stderr);
    let many = world.run(&["embed", "distill", "--from", &model, "--dims", "9", "--to", &table]);
    assert_eq!(many.status, 2);
    assert!(many.stderr.starts_with("error: `--dims`: a table cannot have 9 dimensions"), "{}", many.stderr);

    // The old vectors are used until all new ones exist.
    with_table(&world, "own.table");
    let asked = ["retrieve", "the keeper of the lighthouse"];
    let meanwhile = world.run(&asked);
    assert_eq!(meanwhile.status, 0);
    assert!(
        meanwhile.stderr.contains("`poc-memory embed migrate` computes them again"),
        "{}",
        meanwhile.stderr
    );
    let over = world.json(&["embed", "migrate"]);
    assert!(over["from"].as_str().unwrap().starts_with("static-256-"), "{over}");
    assert!(over["to"].as_str().unwrap().starts_with("static-6-"), "{over}");
    assert_eq!((over["notes"].as_u64(), over["restart"].as_bool()), (Some(3), Some(false)));
    let after = world.run(&asked);
    assert_eq!((after.status, after.stderr.as_str()), (0, ""));
    let nothing = world.run(&["embed", "migrate"]);
    assert!(nothing.stdout.ends_with("the configured embedder: nothing to do\n"), "{nothing:?}");
}

#[test]
fn a_daemon_keeps_the_old_vectors_until_it_is_restarted() {
    let mut world = World::with_configured_embedder();
    tiny_bert::save(&world.home().join("tiny"), 7, false);
    let model = world.home().join("tiny").display().to_string();
    let table = world.home().join("own.table").display().to_string();
    let made = world.run(&["embed", "distill", "--from", &model, "--dims", "6", "--to", &table]);
    assert_eq!(made.status, 0, "{made:?}");
    world.write("notes.jsonl", NOTES);
    assert_eq!(world.run(&["import", "notes.jsonl"]).status, 0);
    with_table(&world, "own.table");
    world.start_daemon();
    let embedder = |world: &World| world.json(&["stats"])["cosines"]["embedder"].clone();
    let over = world.json(&["embed", "migrate"]);
    assert_eq!((over["notes"].as_u64(), over["restart"].as_bool()), (Some(3), Some(true)), "{over}");
    assert_eq!(embedder(&world), over["from"], "it uses the vectors in memory until it is restarted");
    assert_eq!(world.json(&["retrieve", "soup"])["results"].as_array().unwrap().len(), 3);
    world.stop_daemon();
    world.start_daemon();
    assert_eq!(embedder(&world), over["to"]);
    assert_eq!(world.json(&["retrieve", "soup"])["results"].as_array().unwrap().len(), 3);
}

#[test]
fn a_daemon_replaces_the_word_vectors_of_an_earlier_release() {
    let mut world = store_of_0_1::opened();
    world.write("config.toml", "[daemon]\nruns-agents = false\n");
    let former = "static-256-61762e12";
    let embedder = |world: &World| {
        let stats = world.run(&["--json", "stats"]);
        let stats = serde_json::from_str::<serde_json::Value>(&stats.stdout).ok();
        stats.map(|stats| stats["cosines"]["embedder"].clone())
    };
    // A command changes nothing, but says what to do. Words are found, and what needs vectors is refused.
    let found = world.json(&["search", "journal"]);
    assert!(!found["results"].as_array().unwrap().is_empty(), "{found}");
    let says_why = |reason: &serde_json::Value| reason.as_str().unwrap().ends_with("found by words only");
    assert!(found["degraded"].as_array().unwrap().iter().any(says_why), "{found}");
    let found = world.run(&["search", "journal"]);
    assert_eq!(found.status, 0, "{found:?}");
    assert!(found.stderr.contains("`poc-memory embed migrate` computes them again"), "{}", found.stderr);
    let insert = ["insert", "--title", "Soup", "--body", "Lentils again."];
    let refused = world.run(&insert);
    assert_eq!(refused.status, 78, "{refused:?}");
    assert!(
        refused.stderr.contains("`poc-memory embed migrate` computes them again with"),
        "{}",
        refused.stderr
    );
    assert_eq!(embedder(&world).unwrap(), former);

    world.start_daemon();
    // It starts again when it has computed the vectors. A command may fail in between.
    let deadline = Deadline::after(WAIT_LIMIT);
    while embedder(&world).is_none_or(|name| name == former) {
        deadline.wait(|| "the store has the former embedder".to_owned());
    }
    // No note has one of these words, so only vectors find any, for every tenant.
    for arguments in
        [&["retrieve", "salvaged archive"][..], &["--tenant", "team=blue", "retrieve", "navy squad"]]
    {
        world.until(WAIT_LIMIT, arguments, |near| !near["results"].as_array().unwrap().is_empty());
    }
    assert_eq!(world.json(&insert)["key"], "soup");
    let nothing = world.run(&["embed", "migrate"]);
    assert!(nothing.stdout.ends_with("the configured embedder: nothing to do\n"), "{nothing:?}");
}
