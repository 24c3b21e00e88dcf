//! Which requests are accepted: hosts, origins, methods and tokens.

use super::world;
use serde_json::json;

/// The routes, whether each needs a token, and whether the read-only token is enough.
const ROUTES: &[(&str, bool, bool)] = &[
    ("GET /v1/healthz", false, true),
    ("GET /openapi.json", false, true),
    ("GET /docs", false, true),
    ("GET /metrics", true, true),
    ("GET /v1/stats", true, true),
    ("GET /v1/nodes/nothing", true, true),
    ("POST /v1/insert", true, false),
    ("POST /v1/history", true, true),
    ("POST /v1/agents/linker/run", true, false),
    ("DELETE /v1/nodes/nothing", true, false),
    ("GET /page/base.css", false, true),
];

#[test]
fn the_matrix_of_hosts_origins_tokens_and_routes() {
    let (mut world, http) = world("delete = true\nallowed-origins = [\"https://page.example.org\"]\n");
    let port = http.address.rsplit(':').next().unwrap();
    let own = format!("http://{}", http.address);
    let hosts = [
        (http.address.clone(), true),
        (format!("localhost:{port}"), false),
        ("evil.example".to_owned(), false),
        (format!("evil.example:{port}"), false),
    ];
    let origins = [(None, true), (Some(own.as_str()), true), (Some("https://page.example.org"), true)]
        .into_iter()
        .chain([(Some("http://evil.example"), false), (Some("null"), false)]);
    let origins: Vec<_> = origins.collect();
    let tokens =
        [(None, 0), (Some("wrong"), 0), (Some(http.read.as_str()), 1), (Some(http.full.as_str()), 2)];
    for (line, needs_token, reads) in ROUTES {
        for (host, is_literal) in &hosts {
            for (origin, origin_ok) in &origins {
                for (token, power) in tokens {
                    let bearer = token.map(|token| format!("Bearer {token}"));
                    let mut headers = vec![("Host", host.as_str()), ("Content-Type", "application/json")];
                    headers.extend(origin.map(|origin| ("Origin", origin)));
                    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
                    // The body lacks all fields, so no request changes anything.
                    let answered = http.send(line, &headers, b"{}");
                    let host_ok = *is_literal || host.starts_with("localhost:");
                    // The server's own origin is the one with the requested host name.
                    let origin_ok = *origin_ok && (*is_literal || *origin != Some(own.as_str()));
                    let expected = match (host_ok && origin_ok, needs_token, power) {
                        (false, _, _) => 403,
                        (true, true, 0) => 401,
                        (true, true, 1) if !reads => 403,
                        _ => 0,
                    };
                    let context = format!("{line} {headers:?}: {answered:?}");
                    match expected {
                        0 => assert!(![401, 403].contains(&answered.status), "{context}"),
                        status => {
                            assert_eq!(answered.status, status, "{context}");
                            assert_eq!(answered.json()["code"], "rejected", "{context}");
                            assert_eq!(answered.header("www-authenticate").is_some(), status == 401);
                        }
                    }
                    assert_eq!(answered.header("x-content-type-options"), Some("nosniff"), "{context}");
                    // Scripts of a page read an answer only if its origin is allowed by name.
                    let allowed = origin.filter(|origin| *origin == "https://page.example.org");
                    assert_eq!(
                        answered.header("access-control-allow-origin"),
                        allowed.filter(|_| host_ok),
                        "{context}"
                    );
                    assert_eq!(answered.header("access-control-allow-credentials"), None, "{context}");
                    assert!(!answered.body.contains(&http.full) && !answered.body.contains(&http.read));
                }
            }
        }
    }
    assert_eq!(world.json(&["stats"])["nodes"], 0);
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    assert!(!log.contains(&http.full) && !log.contains(&http.read), "a token is in the log");
    world.stop_daemon();
}

#[test]
fn requests_from_foreign_pages_are_rejected() {
    let (_world, http) = world("");
    let bearer = format!("Bearer {}", http.full);
    let check = |line: &str, more: &[(&str, &str)], expected: u16| {
        let own = [("Host", http.address.as_str()), ("Authorization", bearer.as_str())];
        let answered = http.send(line, &[own.as_slice(), more].concat(), b"");
        assert_eq!(answered.status, expected, "{line} {more:?}: {answered:?}");
    };
    for line in ["GET /v1/stats", "GET /v1/healthz", "GET /metrics", "GET /nowhere"] {
        check(line, &[("Sec-Fetch-Site", "cross-site")], 403);
        check(line, &[("Sec-Fetch-Site", "same-site")], 403);
        check(line, &[("Origin", "http://evil.example")], 403);
    }
    check("GET /v1/stats", &[("Sec-Fetch-Site", "same-origin")], 200);
    // Preflight requests are rejected.
    let preflight = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")];
    check("OPTIONS /v1/insert", &preflight, 403);
    check("GET http://evil.example/v1/stats", &[], 403);
    assert_eq!(http.send("GET /v1/stats", &[("Authorization", &bearer)], b"").status, 403);
    // Browsers send forms across sites without a preflight request, but not JSON.
    for media in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
    {
        let headers = [("Host", http.address.as_str()), ("Authorization", &bearer), ("Content-Type", media)];
        let answered = http.send("POST /v1/insert", &headers, b"{\"title\": \"x\"}");
        assert_eq!((answered.status, answered.json()["code"].as_str()), (415, Some("invalid_argument")));
    }
    let bare = [("Host", http.address.as_str()), ("Authorization", &bearer)];
    assert_eq!(http.send("POST /v1/insert", &bare, b"{}").status, 415);
    // No body is an empty object, which needs no declaration.
    assert_eq!(http.send("POST /v1/insert", &bare, b"").status, 400);
    assert_eq!(http.send("POST /v1/agents/nothing/run", &bare, b"").status, 404);
}

#[test]
fn preflight_requests_of_allowed_origins_are_answered() {
    let (_world, http) = world("allowed-origins = [\"https://Page.example.org\"]\n");
    let preflight = |origin: &str| {
        let headers = [
            ("Host", http.address.as_str()),
            ("Origin", origin),
            ("Sec-Fetch-Site", "cross-site"),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization,content-type"),
        ];
        http.send("OPTIONS /v1/insert", &headers, b"")
    };
    let answered = preflight("https://page.example.org");
    assert_eq!(answered.status, 200, "{answered:?}");
    assert_eq!(answered.header("access-control-allow-origin"), Some("https://page.example.org"));
    assert!(answered.header("access-control-allow-methods").unwrap().contains("POST"), "{answered:?}");
    let headers = answered.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization") && headers.contains("content-type"), "{answered:?}");
    assert_eq!(preflight("https://other.example.org").status, 403);
    let (_world, http) = world("");
    assert!(!http.call("GET /v1/stats", None).head.to_lowercase().contains("access-control"));
}

#[test]
fn disabled_routes_do_not_exist() {
    let (_world, http) = world("disabled = [\"stats\", \"agent run\"]\n");
    let check = |line: &str, body: Option<&serde_json::Value>, status: u16, code: &str| {
        let answered = http.call(line, body);
        let context = format!("{line}: {answered:?}");
        assert_eq!((answered.status, answered.json()["code"].as_str()), (status, Some(code)), "{context}");
        answered
    };
    check("GET /v1/stats", None, 404, "not_found");
    check("POST /v1/agents/linker/run", Some(&json!({})), 404, "not_found");
    check("DELETE /v1/nodes/x", None, 404, "not_found");
    check("GET /v1/nothing", None, 404, "not_found");
    let mcp = check("POST /mcp", Some(&json!({})), 404, "not_found").json();
    assert!(mcp["hint"].as_str().unwrap().contains("`http = true`"), "{mcp}");
    let document = http.call("GET /openapi.json", None).json();
    assert!(document["paths"]["/v1/insert"].is_object(), "{document}");
    assert!(document["paths"]["/v1/stats"].is_null(), "{document}");
    // No token is sufficient for decisions that only a person may make.
    check("POST /v1/runs/x/undo", Some(&json!({})), 403, "rejected");
    let refused = http.call("GET /v1/changes", None).json();
    assert_eq!(refused["message"], "only a person may do this, not a program with a token", "{refused}");
    // A person may delete on the page.
    let wrong = check("PUT /v1/nodes/x", None, 405, "invalid_argument");
    assert_eq!(wrong.header("allow"), Some("GET, DELETE"));
    let wrong = check("POST /v1/healthz", Some(&json!({})), 405, "invalid_argument");
    assert_eq!(wrong.header("allow"), Some("GET"));
}

#[test]
fn delete_exists_when_it_is_enabled() {
    let (world, http) = world("delete = true\n");
    world.json(&["insert", "--title", "x", "--key", "x"]);
    let answered = http.call("DELETE /v1/nodes/x", None);
    assert_eq!((answered.status, &answered.json()["key"]), (200, &json!("x")));
    assert_eq!(http.call("DELETE /v1/nodes/x", None).status, 404);
    assert_eq!(http.call("PUT /v1/nodes/x", None).header("allow"), Some("GET, DELETE"));
}

#[test]
fn invalid_settings_keep_the_daemon_from_starting() {
    let check = |settings: &str, status: i32, expected: &str| {
        let world = crate::support::World::new();
        world.write("config.toml", &format!("[rest]\nenabled = true\n{settings}"));
        let output = world.command("poc-daemon").output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{settings}: {message}");
        assert!(message.contains(expected), "{settings}: {message}");
        assert!(!world.home().join("daemon.sock").exists(), "{settings}");
    };
    check("address = \"0.0.0.0:0\"\n", 78, "`rest.address`: `0.0.0.0:0` can be reached from other machines");
    check("address = \"127.0.0.1:0\"\ndisabled = [\"stat\"]\n", 78, "hint: did you mean `stats`?");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    check(&format!("address = \"{address}\"\n"), 5, "the daemon cannot listen at");
}
