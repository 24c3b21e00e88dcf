//! `[notify]`: what the daemon posts to a server, and what it does with one that fails.

use crate::support::mock_model::{Answer, MockModel, RecordedRequest};
use crate::support::{WAIT_LIMIT, World};

/// Waits until the server got a request that satisfies a condition.
#[track_caller]
fn until(server: &MockModel, satisfied: impl Fn(&RecordedRequest) -> bool) -> RecordedRequest {
    server.wait_for(WAIT_LIMIT, satisfied).unwrap_or_else(|| panic!("{:#?}", server.requests()))
}

/// The first answer is an error, which must not end the notifications.
#[test]
fn a_webhook_receives_a_problem_and_its_end() {
    let mut world = World::new();
    let mut answers = 0;
    let server = MockModel::serve(move |_| {
        answers += 1;
        if answers == 1 { Answer::error(500, "down", "not now") } else { Answer::ok(serde_json::json!({})) }
    });
    let url = format!("{}/hooks/hidden-token", server.url());
    let command = "command = [\"sh\", \"-c\", \"cat >> $0; echo >> $0\"";
    let received = world.home().join("received");
    let settings =
        format!("[notify]\n{command}, \"{}\"]\nwebhook = \"{url}\"\nevery = \"1s\"\n", received.display());
    world.write("config.toml", &settings);
    world.write("agents/broken.toml", "[query]\npipelin = \"all\"\n");
    world.start_daemon();
    let notification = until(&server, |request| request.body["problems"].to_string().contains("`broken`"));
    assert_eq!(notification.line, "POST /hooks/hidden-token");
    assert_eq!(notification.header("content-type"), Some("application/json"));
    assert_eq!(notification.body["store"].as_str(), world.home().join("store").to_str());
    assert!(notification.body["at"].is_string());
    std::fs::remove_file(world.home().join("agents/broken.toml")).unwrap();
    until(&server, |request| request.body["problems"] == serde_json::json!([]));
    // The command got each message once, although the server refused the first.
    let received = std::fs::read_to_string(received).unwrap();
    let messages: Vec<serde_json::Value> =
        received.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(messages.len(), 2, "{received}");
    assert!(messages[0]["problems"].to_string().contains("`broken`"), "{received}");
    assert_eq!(messages[1]["problems"], serde_json::json!([]));
    // The log names the host of a server that fails, and not the path, which may contain a secret.
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    let expected = "a notification was not delivered: the webhook at `127.0.0.1` answered 500";
    assert!(log.contains(expected), "{log}");
    assert!(!log.contains("hidden-token"), "{log}");
    world.stop_daemon();
}

#[test]
fn the_backlog_of_an_agent_that_runs_only_when_asked_is_not_reported() {
    let mut world = World::new();
    let server = MockModel::serve(|_| Answer::ok(serde_json::json!({})));
    world.write("config.toml", &format!("[notify]\nwebhook = \"{}\"\nbacklog = 1\n", server.url()));
    for (name, schedule) in [("nightly", "daily"), ("asked", "on-demand")] {
        let agent = format!(
            "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\nschedule = \"{schedule}\"\n"
        );
        world.write(&format!("agents/{name}.toml"), &agent);
    }
    world.json(&["insert", "--title", "A note"]);
    world.start_daemon();
    let reported = "agent `nightly`: notes to be read: 1";
    let message = until(&server, |request| request.body["problems"].to_string().contains(reported));
    assert!(!message.body["problems"].to_string().contains("`asked`"), "{}", message.body);
    world.stop_daemon();
}

/// A problem is often solved with a restart: its end is reported by another daemon than the problem.
#[test]
fn the_next_daemon_reports_that_a_problem_is_solved() {
    let mut world = World::new();
    let server = MockModel::serve(|_| Answer::ok(serde_json::json!({})));
    world.write("config.toml", &format!("[notify]\nwebhook = \"{}\"\n", server.url()));
    world.json(&["insert", "--title", "Journal", "--body", "Every write is in the journal first."]);
    world.write("agents/broken.toml", "[query]\npipelin = \"all\"\n");
    world.start_daemon();
    until(&server, |request| request.body["problems"].to_string().contains("`broken`"));
    let saved = world.home().join("store/derived/reported-problems");
    world.until(WAIT_LIMIT, &["daemon", "status"], |_| saved.exists());
    world.stop_daemon();
    std::fs::remove_file(world.home().join("agents/broken.toml")).unwrap();
    world.start_daemon();
    until(&server, |request| request.body["problems"] == serde_json::json!([]));
    world.stop_daemon();
}
