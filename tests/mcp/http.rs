//! MCP over HTTP, with the real daemon.

use crate::support::http::{Http, HttpResponse};
use crate::support::{Deadline, WAIT_LIMIT, World};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::Instant;

const ON: &str = "[rest]\naddress = \"127.0.0.1:0\"\n";

/// A client with one of the two tokens and possibly a session.
pub(crate) struct Client<'a> {
    http: &'a Http,
    token: &'a str,
    session: Option<String>,
    /// The query string of its URL, with `?`; empty without one.
    query: &'a str,
}

fn served(settings: &str) -> (World, Http) {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}[mcp]\nhttp = true\n{settings}"));
    world.start_daemon();
    let http = Http::of(&world);
    (world, http)
}

fn message(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn hello() -> Value {
    let client = json!({"name": "story", "version": "1"});
    message(
        1,
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
    )
}

/// The message in a response, which is JSON or an event.
fn message_in(answered: &HttpResponse) -> Value {
    let event =
        answered.body.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.len() > 1);
    serde_json::from_str(event.unwrap_or(&answered.body))
        .unwrap_or_else(|error| panic!("{error}: {answered:?}"))
}

impl<'a> Client<'a> {
    fn new(http: &'a Http, token: &'a str) -> Client<'a> {
        Client { http, token, session: None, query: "" }
    }

    /// A client with a session.
    pub(crate) fn with_session(http: &'a Http, token: &'a str) -> Client<'a> {
        Client::new(http, token).started()
    }

    /// The client with a session.
    fn started(mut self) -> Client<'a> {
        let answered = self.send("POST", &[], hello().to_string().as_bytes());
        assert_eq!(message_in(&answered)["result"]["protocolVersion"], "2025-11-25", "{answered:?}");
        self.session = Some(answered.header("mcp-session-id").unwrap().to_owned());
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send("POST", &[], ready.to_string().as_bytes()).status, 202);
        self
    }

    fn send(&self, method: &str, more: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("Host", self.http.address.as_str()),
            ("Authorization", &bearer),
            ("Accept", "application/json, text/event-stream"),
        ];
        if method == "POST" && !more.iter().any(|(name, _)| *name == "Content-Type") {
            headers.push(("Content-Type", "application/json"));
        }
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        headers.extend(more);
        self.http.send(&format!("{method} /mcp{}", self.query), &headers, body)
    }

    /// Sends a request in the client's protocol version and returns the answer.
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        if self.session.is_some() {
            return self.ask_with(&[], method, params);
        }
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "story", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let mut headers = vec![("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        self.ask_with(&headers, method, params)
    }

    /// Sends a request with further headers and returns the answer.
    pub(crate) fn ask_with(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Value {
        message_in(&self.send("POST", headers, message(7, method, params).to_string().as_bytes()))
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Checks what clients of both protocol versions can do.
fn uses(client: &Client) {
    let tools = client.tools();
    assert!(
        tools.contains(&"memory_remember".into()) && !tools.contains(&"memory_delete".into()),
        "{tools:?}"
    );
    let title = format!("Written over HTTP, session {:?}", client.session);
    let stored = client.call("memory_remember", json!({"title": title, "body": "What it says."}));
    assert_eq!((&stored["schema_version"], &stored["duplicate"]), (&json!(1), &json!(false)));
    let note = client.call("memory_get", json!({"node": stored["key"]}));
    assert_eq!((&note["provenance"], &note["trust"]), (&json!("mcp"), &json!("agent")));
    let uri = format!("memory://nodes/{}", stored["key"].as_str().unwrap());
    let read = client.ask("resources/read", json!({"uri": uri}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("What it says."), "{read}");
    let listed = client.ask("resources/list", json!({}));
    let uris: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|note| note["uri"].as_str())
        .collect();
    assert!(uris.contains(&uri.as_str()), "{listed}");
    let wrong = client.ask("tools/call", json!({"name": "memory_search", "arguments": {"text": 5}}));
    let content: Value =
        serde_json::from_str(wrong["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&content["error"]["at"]["field"], &content["expected"]["type"]),
        (&json!("text"), &json!("string"))
    );
    if client.session.is_some() {
        let search = json!({"name": "memory_search", "arguments": {"text": "HTTP"}});
        let search =
            |seq: &str| client.ask_with(&[("POC-Memory-Min-Seq", seq)], "tools/call", search.clone());
        assert_eq!(search("1")["result"]["isError"], false);
        let refused = search("soon");
        assert_eq!(refused["error"]["data"]["at"]["field"], "poc-memory/seq", "{refused}");
    }
    let prompt = client.ask("prompts/get", json!({"name": "handover"}));
    assert_eq!(prompt["result"]["messages"][0]["role"], "user", "{prompt}");
    assert_eq!(client.ask("prompts/get", json!({"name": "forget"}))["error"]["code"], -32602);
}

#[test]
fn a_session_works_from_initialization_to_deletion() {
    let (_world, http) = served("");
    let client = Client::with_session(&http, &http.full);
    uses(&client);
    assert_eq!(client.send("DELETE", &[], b"").status, 204);
    assert_eq!(client.send("DELETE", &[], b"").status, 404);
    assert_eq!(
        client.send("POST", &[], message(9, "tools/list", json!({})).to_string().as_bytes()).status,
        404
    );
    let nobody = Client { session: Some("no-such-session".into()), ..Client::new(&http, &http.full) };
    assert_eq!(
        nobody.send("POST", &[], message(9, "tools/list", json!({})).to_string().as_bytes()).status,
        404
    );
}

#[test]
fn requests_without_a_session_work() {
    let (_world, http) = served("");
    let client = Client::new(&http, &http.full);
    let found = client.ask("server/discover", json!({}));
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    uses(&client);
    // Responses are private to their client.
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        assert_eq!(client.ask(list, json!({}))["result"]["cacheScope"], "private", "{list}");
    }
}

#[test]
fn the_url_binds_a_client_to_a_tenant() {
    let (world, http) = served("");
    world.json(&["--tenant", "user=ann", "insert", "--title", "Tea", "--key", "tea"]);
    world.json(&["insert", "--title", "Coffee", "--key", "coffee"]);
    let of = |query| Client { query, ..Client::new(&http, &http.model) };
    for client in [of("?tenant=user%3Dann"), of("?tenant[user]=ann").started()] {
        let listed = client.ask("tools/list", json!({}));
        for tool in listed["result"]["tools"].as_array().unwrap() {
            assert!(tool["inputSchema"]["properties"].get("tenant").is_none(), "{tool}");
        }
        assert_eq!(client.call("memory_get", json!({"node": "tea"}))["key"], "tea");
        let notes = client.ask("resources/list", json!({}));
        let uris = notes["result"]["resources"].as_array().unwrap().iter().map(|note| &note["uri"]);
        assert_eq!(uris.collect::<Vec<_>>(), ["memory://nodes/tea"]);
        // A model cannot leave the tenant.
        for arguments in [json!({"node": "coffee"}), json!({"node": "tea", "tenant": {"user": "ann"}})] {
            let answer = client.ask("tools/call", json!({"name": "memory_get", "arguments": arguments}));
            assert_eq!(answer["result"]["isError"], true, "{answer}");
        }
        let uri = json!({"uri": "memory://nodes/tea?user=ann"});
        assert!(client.ask("resources/read", uri)["error"].is_object());
        let templates = client.ask("resources/templates/list", json!({}));
        assert_eq!(
            templates["result"]["resourceTemplates"][0]["uriTemplate"], "memory://nodes/{node}",
            "{templates}"
        );
    }
    // Some clients write `null` for what they leave out.
    let client = of("?tenant=user=ann").started();
    let listed = client.ask_with(&[], "resources/list", Value::Null);
    assert_eq!(listed["result"]["resources"][0]["uri"], "memory://nodes/tea", "{listed}");
    let call = json!({"name": "memory_get", "arguments": {"node": "tea"}, "_meta": null});
    let answer = client.ask_with(&[], "tools/call", call);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    // A session belongs to the tenant for which it was started.
    let mut moved = of("?tenant=user=ann").started();
    for query in ["?tenant=user=bob", ""] {
        moved.query = query;
        assert_eq!(moved.ask("tools/list", json!({}))["error"]["code"], -32602, "{query}");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        for (method, body) in [("POST", ready.as_str()), ("GET", ""), ("DELETE", "")] {
            let refused = moved.send(method, &[], body.as_bytes());
            let problem = refused.json();
            assert_eq!(
                (refused.status, &problem["code"], &problem["at"]["field"]),
                (400, &json!("invalid_argument"), &json!("tenant")),
                "{method} {query}: {refused:?}"
            );
        }
    }
    moved.query = "?tenant[user]=ann";
    assert!(!moved.tools().is_empty(), "another tenant has ended the session");
    assert_eq!(moved.send("DELETE", &[], b"").status, 204);
    for query in ["?tenant=ann", "?tennant=user=ann"] {
        let answered = of(query).send("POST", &[], hello().to_string().as_bytes());
        assert_eq!((answered.status, &answered.json()["code"]), (400, &json!("invalid_argument")), "{query}");
    }
}

#[test]
fn unauthorized_requests_are_rejected() {
    let (mut world, http) = served("max-sessions = 1\n");
    let (bearer, body) = (format!("Bearer {}", http.full), hello().to_string());
    let good = [
        ("Host", http.address.as_str()),
        ("Authorization", bearer.as_str()),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let check = |name: &str, value: Option<&str>, status: u16| {
        let mut headers: Vec<_> = good.iter().copied().filter(|(known, _)| *known != name).collect();
        headers.extend(value.map(|value| (name, value)));
        let answered = http.send("POST /mcp", &headers, body.as_bytes());
        assert_eq!(answered.status, status, "{name}: {value:?}: {answered:?}");
        if ![406].contains(&status) {
            assert!(answered.json()["code"].is_string(), "{answered:?}");
        }
        assert_eq!(answered.header("mcp-session-id"), None);
        assert_eq!(answered.header("www-authenticate").is_some(), status == 401);
        assert!(!answered.head.to_lowercase().contains("access-control"), "{answered:?}");
    };
    let port = http.address.rsplit(':').next().unwrap();
    check("Host", Some("evil.example"), 403);
    check("Host", Some(&format!("evil.example:{port}")), 403);
    check("Host", None, 403);
    check("Origin", Some("http://evil.example"), 403);
    check("Origin", Some("null"), 403);
    check("Sec-Fetch-Site", Some("cross-site"), 403);
    check("Authorization", None, 401);
    check("Authorization", Some("Bearer wrong"), 401);
    check("Authorization", Some("Basic eDp5"), 401);
    check("Content-Type", None, 415);
    check("Content-Type", Some("text/plain"), 415);
    check("Content-Type", Some("application/x-www-form-urlencoded"), 415);
    check("Accept", Some("text/html"), 406);
    for method in ["PUT", "PATCH", "OPTIONS"] {
        let answered = http.send(&format!("{method} /mcp"), &good, b"");
        assert_eq!(
            (answered.status, answered.header("allow")),
            (405, Some("GET, POST, DELETE")),
            "{answered:?}"
        );
    }
    // None of them has opened a session, so one more fits, and then no other.
    let client = Client::with_session(&http, &http.full);
    let full = client.send("POST", &[], body.as_bytes());
    let another = Client::new(&http, &http.full).send("POST", &[], body.as_bytes());
    assert_eq!((another.status, &another.json()["code"]), (503, &json!("unavailable")), "{full:?}");
    assert_eq!(client.send("DELETE", &[], b"").status / 100, 2);
    Client::with_session(&http, &http.full);
    assert_eq!(world.json(&["stats"])["nodes"], 0);
    world.stop_daemon();
}

#[test]
fn an_invalid_message_is_a_protocol_error() {
    let (_world, http) = served("");
    let client = Client::new(&http, &http.full);
    let check = |body: &[u8], code: i64, id: Value| {
        let answered = client.send("POST", &[], body);
        let answer_body = answered.json();
        assert_eq!(
            (answered.status, &answer_body["error"]["code"], &answer_body["id"]),
            (400, &json!(code), &id),
            "{answered:?}"
        );
    };
    check(b"", -32700, Value::Null);
    check(b"{\"jsonrpc\": ", -32700, Value::Null);
    check(b"\xff\xfe", -32700, Value::Null);
    check("[".repeat(100_000).as_bytes(), -32700, Value::Null);
    check(b"[]", -32600, Value::Null);
    check(b"5", -32600, Value::Null);
    check(b"{\"id\": 3}", -32600, json!(3));
}

#[test]
fn a_body_over_the_limit_is_rejected_and_the_daemon_keeps_running() {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}max-body-bytes = 2000\n[mcp]\nhttp = true\ntools = \"all\"\n"));
    world.start_daemon();
    let http = Http::of(&world);
    let client = Client::new(&http, &http.full);
    let body = message(
        1,
        "tools/call",
        json!({"name": "memory_remember", "arguments": {"title": "x".repeat(3000)}}),
    );
    let answered = client.send("POST", &[], body.to_string().as_bytes());
    assert_eq!((answered.status, &answered.json()["code"]), (413, &json!("invalid_argument")));
    assert_eq!(client.call("memory_stats", json!({}))["nodes"], 0);
}

#[test]
fn the_read_only_token_sees_no_writing_tool_and_leaves_no_trace() {
    let (world, http) = served("delete = true\ntools = \"all\"\n");
    let note = world.json(&["insert", "-t", "The journal is written first", "--key", "journal"]);
    assert_eq!(note["key"], "journal");
    let changes = || world.json(&["get", "journal"])["accesses"].clone();
    let full = Client::with_session(&http, &http.full);
    for reader in [Client::with_session(&http, &http.read), Client::new(&http, &http.read)] {
        let tools = reader.tools();
        assert!(tools.contains(&"memory_query".into()), "{tools:?}");
        for tool in ["memory_remember", "memory_link", "memory_delete"] {
            assert!(!tools.contains(&tool.into()), "{tools:?}");
            let refused = reader.ask("tools/call", json!({"name": tool, "arguments": {"title": "x"}}));
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        let known = reader.call("memory_query", json!({"text": "The journal is written first"}));
        assert_eq!((&known["hit"], changes()), (&json!("STRONG"), json!(0)));
    }
    // The read-only token cannot use the session of the full token.
    let thief = Client { session: full.session.clone(), ..Client::new(&http, &http.read) };
    assert_eq!(
        thief.send("POST", &[], message(9, "tools/list", json!({})).to_string().as_bytes()).status,
        404
    );
    assert_eq!(thief.send("DELETE", &[], b"").status, 404);
    assert!(!full.tools().is_empty());
    full.call("memory_query", json!({"text": "The journal is written first"}));
    assert_eq!(changes(), 1);
    full.call("memory_delete", json!({"node": "journal"}));
    assert_eq!(world.json(&["stats"])["nodes"], 0);
}

#[test]
fn concurrent_calls_lose_nothing() {
    let (world, http) = served("");
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let http = &http;
            scope.spawn(move || {
                let client = if caller % 2 == 0 {
                    Client::new(http, &http.full)
                } else {
                    Client::with_session(http, &http.full)
                };
                for round in 0..5 {
                    let title = format!("Note {round} of caller {caller}");
                    assert_eq!(client.call("memory_remember", json!({"title": title}))["duplicate"], false);
                }
            });
        }
    });
    assert_eq!(world.json(&["stats"])["nodes"], 40);
}

#[test]
fn an_idle_session_ends() {
    let (_world, http) = served("session-timeout = \"1s\"\n");
    let client = Client::with_session(&http, &http.full);
    let deadline = Deadline::after(WAIT_LIMIT);
    // A listening event stream is idle too and ends with its session.
    let bearer = format!("Bearer {}", http.full);
    let session = client.session.clone().unwrap();
    let headers = [
        ("Host", http.address.as_str()),
        ("Authorization", bearer.as_str()),
        ("Accept", "text/event-stream"),
        ("Mcp-Session-Id", session.as_str()),
    ];
    assert_eq!(http.send("GET /mcp", &headers, b"").status, 200);
    let asked = message(9, "tools/list", json!({})).to_string();
    while client.send("POST", &[], asked.as_bytes()).status != 404 {
        deadline.wait(|| "the session does not end".into());
    }
}

#[test]
fn mcp_and_rest_can_be_enabled_separately() {
    let (mut world, http) = served("");
    let status = world.json(&["daemon", "status"]);
    assert_eq!(status["mcp"], format!("http://{}/mcp", http.address));
    assert!(status.get("rest").is_none(), "{status}");
    for path in ["/v1/stats", "/v1/healthz", "/openapi.json", "/docs", "/metrics"] {
        assert_eq!(http.call(&format!("GET {path}"), None).status, 404, "{path}");
    }
    world.stop_daemon();
    world.write("config.toml", crate::support::http::ON);
    world.start_daemon();
    let http = Http::of(&world);
    assert_eq!(Client::new(&http, &http.full).send("POST", &[], hello().to_string().as_bytes()).status, 404);
    assert_eq!(http.call("GET /v1/stats", None).status, 200);
    world.stop_daemon();
}

#[test]
fn stopping_the_daemon_ends_open_event_streams() {
    let (mut world, http) = served("");
    let client = Client::with_session(&http, &http.full);
    let mut stream = http.connect();
    let session = client.session.as_deref().unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        http.address, http.full
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let asked = Instant::now();
    world.stop_daemon();
    assert!(asked.elapsed() < WAIT_LIMIT, "the daemon waited for a client that only listens");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
}
