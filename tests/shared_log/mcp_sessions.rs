//! MCP sessions that continue on another daemon of the same log.

use super::{settings, world};
use crate::mcp::Assistant;
use crate::mcp::http::Client;
use crate::support::World;
use crate::support::http::Http;
use crate::support::world::WAIT_LIMIT;
use poc_postgres::testing::{Proxy, TestServer};
use serde_json::{Value, json};

/// The code of the error that a tool has returned.
#[track_caller]
fn code(answer: &Value) -> String {
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let body: Value = serde_json::from_str(text).unwrap();
    body["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_that_continues_on_another_daemon_reads_its_own_writes() {
    let Some(server) = TestServer::start() else { return };
    let proxy = Proxy::start(&server);
    let (mut first, mut second) = (world(&server), World::new());
    let over_proxy = settings(&server).replace(&server.address(), &proxy.address());
    second.write(
        "config.toml",
        &format!(
            "{over_proxy}timeout = \"2s\"\n[daemon]\nruns-agents = false\n[rest]\naddress = \"127.0.0.1:0\"\n\
             [mcp]\nhttp = true\n"
        ),
    );
    first.json(&["store", "init"]);
    first.start_daemon();
    second.start_daemon();
    let http = Http::of(&second);
    let over_http = Client::with_session(&http, &http.model);
    let mut moved = Assistant::start(&first);
    let mut new = Assistant::start(&second);

    // The second daemon misses the change.
    proxy.silence(true);
    let note = json!({"title": "The pier is closed"});
    let stored = moved.ask("tools/call", json!({"name": "memory_remember", "arguments": note}));
    let key = stored["result"]["structuredContent"]["key"].as_str().unwrap().to_owned();
    let seq = stored["result"]["_meta"]["poc-memory/seq"].as_u64().unwrap();
    assert_eq!(json!(seq), stored["result"]["structuredContent"]["seq"], "{stored}");
    first.stop_daemon();
    let socket = |world: &World| world.home().join("daemon.sock");
    let _ = std::fs::remove_file(socket(&first));
    std::os::unix::fs::symlink(socket(&second), socket(&first)).unwrap();

    let get = json!({"name": "memory_get", "arguments": {"node": key}});
    let mut named = get.clone();
    named["_meta"] = json!({"poc-memory/seq": seq});
    let number = seq.to_string();
    let header = [("POC-Memory-Min-Seq", number.as_str())];
    assert_eq!(code(&new.ask("tools/call", get.clone())), "not_found");
    assert_eq!(code(&over_http.ask("tools/call", get.clone())), "not_found");
    assert_eq!(code(&moved.ask("tools/call", get.clone())), "unavailable");
    assert_eq!(code(&new.ask("tools/call", named.clone())), "unavailable");
    assert_eq!(code(&over_http.ask_with(&header, "tools/call", get.clone())), "unavailable");

    proxy.silence(false);
    second.until(WAIT_LIMIT, &["stats"], |stats| stats["as_of"]["seq"].as_u64() >= Some(seq));
    let found = |answer: Value| {
        let result = &answer["result"];
        assert_eq!(result["structuredContent"]["key"], key.as_str(), "{answer}");
        assert!(result["_meta"]["poc-memory/seq"].as_u64() >= Some(seq), "{answer}");
    };
    found(moved.ask("tools/call", get.clone()));
    found(new.ask("tools/call", named));
    found(over_http.ask_with(&header, "tools/call", get));
    let uri = json!({"uri": format!("memory://nodes/{key}"), "_meta": {"poc-memory/seq": seq}});
    let read = new.ask("resources/read", uri);
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("The pier is closed"), "{read}");
    moved.end();
    new.end();
}
