//! The page over HTTP: who gets in, and what a session allows. `tests/page/` drives it in a browser.

use crate::support::http::{Http, HttpResponse, ON};
use crate::support::{Deadline, WAIT_LIMIT, World};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

/// A browser: it keeps cookies and sends what browsers send.
struct Browser<'a> {
    http: &'a Http,
    host: String,
    cookie: String,
    csrf: String,
}

impl<'a> Browser<'a> {
    /// A browser that is not signed in.
    fn new(http: &'a Http) -> Browser<'a> {
        Browser { http, host: http.address.clone(), cookie: String::new(), csrf: String::new() }
    }

    /// A browser that opened the link of `poc-memory page`.
    fn signed_in(world: &World, http: &'a Http, arguments: &[&str]) -> Browser<'a> {
        let mut browser = Browser::new(http);
        let opened = browser.get(&link(world, arguments));
        assert_eq!(opened.status, 200, "{opened:?}");
        browser.keep(&opened);
        browser
    }

    /// Keeps the cookie of an answer, and the token that the first screen contains.
    fn keep(&mut self, answered: &HttpResponse) {
        let cookie = answered.header("set-cookie").unwrap();
        self.cookie = cookie.split(';').next().unwrap().to_owned();
        let first = self.get("/");
        assert_eq!(first.status, 200, "{first:?}");
        self.csrf = first.body.split("data-csrf=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    }

    fn send(&self, line: &str, more: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        let mut headers = vec![("Host", self.host.as_str())];
        if !self.cookie.is_empty() {
            headers.push(("Cookie", &self.cookie));
        }
        headers.extend(more);
        self.http.send(line, &headers, body)
    }

    /// Opens an address or a path as a person does.
    fn get(&self, address: &str) -> HttpResponse {
        let path = address.strip_prefix(&format!("http://{}", self.http.address)).unwrap_or(address);
        self.send(&format!("GET {path}"), &[("Sec-Fetch-Site", "none")], b"")
    }

    /// A read request as the script of the page sends it.
    fn read(&self, path: &str) -> HttpResponse {
        self.send(&format!("GET {path}"), &[("Sec-Fetch-Site", "same-origin")], b"")
    }

    /// A write request as the script of the page sends it.
    fn write(&self, path: &str, body: &Value) -> HttpResponse {
        let headers = [
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/json"),
            ("X-CSRF-Token", self.csrf.as_str()),
        ];
        self.send(&format!("POST {path}"), &headers, body.to_string().as_bytes())
    }
}

/// The link that `poc-memory page --print` prints.
fn link(world: &World, arguments: &[&str]) -> String {
    let printed = world.run(&[&["page", "--print"], arguments].concat());
    assert_eq!(printed.status, 0, "{printed:?}");
    printed.stdout.trim().to_owned()
}

fn world() -> (World, Http) {
    let mut world = World::new();
    world.write("config.toml", ON);
    world.start_daemon();
    let http = Http::of(&world);
    (world, http)
}

/// A world in which a run has proposed links.
fn world_with_proposals() -> (World, Http, String) {
    let (world, http) = world();
    for (key, body) in
        [("a", "Error BRK-4021 after the restart."), ("b", "BRK-4021 means too many connections.")]
    {
        world.json(&["insert", "--title", key, "--body", body, "--key", key, "--type", "episodic"]);
    }
    let run = world.json(&["agent", "run", "linker", "--propose"]);
    let id = run["run"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&["agent", "review"])["proposals"].as_array().unwrap().len(), 1, "{run}");
    (world, http, id)
}

#[test]
fn a_link_signs_in_one_browser_once() {
    let (world, http) = world();
    let address = link(&world, &[]);
    let stranger = Browser::new(&http);
    for path in ["/", "/search", "/review", "/notes/x"] {
        let refused = stranger.get(path);
        assert_eq!(refused.status, 401, "{path}: {refused:?}");
        assert!(refused.body.contains("poc-memory page") && !refused.body.contains("data-csrf"), "{path}");
    }
    // A program that previews links does not use up the code.
    let path = address.strip_prefix(&format!("http://{}", http.address)).unwrap();
    assert_eq!(stranger.send(&format!("HEAD {path}"), &[], b"").status, 204);
    let mut browser = Browser::new(&http);
    // A link may be opened from another program, such as a terminal in the browser.
    let opened = browser.send(&format!("GET {path}"), &[("Sec-Fetch-Site", "cross-site")], b"");
    assert_eq!(opened.status, 200, "{opened:?}");
    let cookie = opened.header("set-cookie").unwrap();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=604800"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    browser.keep(&opened);
    assert_eq!(browser.read("/v1/stats").status, 200);
    let again = stranger.get(&address);
    assert_eq!(again.status, 401, "{again:?}");
    assert!(again.body.contains("used already") && again.header("set-cookie").is_none(), "{again:?}");
    assert_eq!(stranger.get("/sign-in/0000").status, 401);
    // Neither the code nor the session is in the log.
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    let secrets = [path.rsplit('/').next().unwrap(), browser.cookie.split('=').nth(1).unwrap()];
    assert!(secrets.iter().all(|secret| secret.len() == 64 && !log.contains(secret)), "{log}");
}

/// Other users of the machine can read the arguments of its programs.
#[test]
fn the_browser_gets_the_link_in_a_private_file() {
    let mut world = World::new();
    world.write("config.toml", ON);
    let file = world.write("sign-in.html", "a daemon that was killed has left this");
    world.start_daemon();
    assert!(!file.exists());
    let http = Http::of(&world);
    let script = "#!/bin/sh\ncp -p \"$1\" \"$POC_MEMORY_HOME/copy\"\n\
                  printf '%s' \"$*\" > \"$POC_MEMORY_HOME/part\"\n\
                  mv \"$POC_MEMORY_HOME/part\" \"$POC_MEMORY_HOME/arguments\"\n";
    for name in ["xdg-open", "open"] {
        let program = world.write(&format!("bin/{name}"), script);
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", world.home().join("bin").display());
    let page = || {
        let ran = world.command("poc-memory").arg("page").env("PATH", &path).output().unwrap();
        let [stdout, stderr] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(ran.status.success(), "{stdout}{stderr}");
        (stdout.lines().last().unwrap().to_owned(), stderr)
    };
    let (address, _) = page();
    let (arguments, copy) = (world.home().join("arguments"), world.home().join("copy"));
    let deadline = Deadline::after(WAIT_LIMIT);
    while !arguments.exists() {
        deadline.wait(|| "the browser was not opened".into());
    }
    assert_eq!(std::fs::read_to_string(&arguments).unwrap(), file.display().to_string());
    assert!(std::fs::read_to_string(&copy).unwrap().contains(&address), "{address}");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Browser::new(&http).get(&address).status, 200);
    assert!(!file.exists(), "the link was used, and its file is still there");
    // Without the file, the link is only printed.
    std::fs::remove_file(&arguments).unwrap();
    std::fs::create_dir(&file).unwrap();
    let (address, warning) = page();
    assert!(warning.contains("the browser was not opened, open the link yourself: "), "{warning}");
    assert!(!arguments.exists());
    assert_eq!(Browser::new(&http).get(&address).status, 200);
    world.stop_daemon();
}

#[test]
fn a_session_is_bound_to_the_host_and_survives_a_restart() {
    let (mut world, http) = world();
    let browser = Browser::signed_in(&world, &http, &[]);
    let port = http.address.rsplit(':').next().unwrap();
    let elsewhere =
        Browser { host: format!("localhost:{port}"), cookie: browser.cookie.clone(), ..Browser::new(&http) };
    assert_eq!(elsewhere.get("/").status, 401);
    assert_eq!(elsewhere.read("/v1/stats").status, 401);
    let foreign =
        Browser { host: "evil.example".into(), cookie: browser.cookie.clone(), ..Browser::new(&http) };
    assert_eq!(foreign.get("/").status, 403);
    assert_eq!(foreign.get(&link(&world, &[])).status, 403);
    world.write("config.toml", &ON.replace(":0", &format!(":{port}")));
    world.kill_daemon();
    world.start_daemon();
    assert_eq!(browser.read("/v1/stats").status, 200);
    assert_eq!(browser.write("/v1/insert", &json!({"title": "x"})).status, 201);
    let form = format!("csrf={}", browser.csrf);
    assert_eq!(browser.send("POST /sign-out", &[], b"csrf=wrong").status, 403);
    assert_eq!(browser.send("POST /sign-out", &[], form.as_bytes()).status, 303);
    assert_eq!(browser.read("/v1/stats").status, 401);
}

#[test]
fn a_write_needs_the_token_of_its_page() {
    let (world, http) = world();
    let browser = Browser::signed_in(&world, &http, &[]);
    let other = Browser::signed_in(&world, &http, &[]);
    let body = b"{\"title\": \"x\"}";
    let json_type = ("Content-Type", "application/json");
    let refused = |headers: &[(&str, &str)]| {
        let answered = browser.send("POST /v1/insert", headers, body);
        assert_eq!(
            (answered.status, answered.json()["code"].as_str()),
            (403, Some("rejected")),
            "{headers:?}"
        );
    };
    refused(&[json_type]);
    refused(&[json_type, ("X-CSRF-Token", "")]);
    refused(&[json_type, ("X-CSRF-Token", &other.csrf)]);
    let own = ("X-CSRF-Token", browser.csrf.as_str());
    refused(&[json_type, own, ("Origin", "http://evil.example")]);
    refused(&[json_type, own, ("Sec-Fetch-Site", "cross-site")]);
    refused(&[json_type, own, ("Sec-Fetch-Site", "same-site")]);
    assert_eq!(browser.send("POST /v1/insert", &[own], body).status, 415);
    assert_eq!(world.json(&["stats"])["nodes"], 0);
    assert_eq!(browser.send("POST /v1/insert", &[json_type, own], body).status, 201);
    // If two cookies have the same name, neither counts, because their order is undefined.
    let twice = format!("{}; {}", browser.cookie, other.cookie);
    let doubled = Browser { cookie: twice, ..Browser::new(&http) };
    assert_eq!(doubled.read("/v1/stats").status, 401);
}

#[test]
fn only_a_person_decides() {
    let (world, http, run) = world_with_proposals();
    let person = Browser::signed_in(&world, &http, &[]);
    let reader = Browser::signed_in(&world, &http, &["--read-only"]);
    let with_token = |token: &str| {
        let mut browser = Browser::new(&http);
        let form = format!("token={token}");
        let started = browser.send("POST /sign-in", &[("Sec-Fetch-Site", "same-origin")], form.as_bytes());
        assert_eq!(started.status, 200, "{started:?}");
        browser.keep(&started);
        browser
    };
    let (program, token_reader) = (with_token(&http.full), with_token(&http.read));
    let wrong = Browser::new(&http).send("POST /sign-in", &[], b"token=wrong");
    assert!(wrong.status == 401 && wrong.header("set-cookie").is_none(), "{wrong:?}");

    let apply = format!("/v1/runs/{run}/apply");
    for (browser, writes) in [(&reader, false), (&token_reader, false), (&program, true)] {
        assert_eq!(browser.read("/v1/night").status, 200);
        assert_eq!(browser.read("/v1/agent/review").status, 403);
        let decisions =
            [apply.as_str(), &format!("/v1/runs/{run}/reject"), &format!("/v1/runs/{run}/undo"), "/v1/undo"];
        let agents =
            ["/v1/agents/linker/pause", "/v1/agents/linker/resume", "/v1/agents/linker/files", "/v1/agents"];
        for path in decisions.into_iter().chain(agents) {
            let refused = browser.write(path, &json!({}));
            assert_eq!(
                (refused.status, refused.json()["code"].as_str()),
                (403, Some("rejected")),
                "{path}: {refused:?}"
            );
        }
        let written = browser.write("/v1/weight", &json!({"node": "a", "value": "+0.1"}));
        assert_eq!(written.status == 200, writes, "{written:?}");
    }
    // No token, whatever its role, is sufficient for a decision.
    for line in [format!("POST {apply}"), "POST /v1/undo".into()] {
        let refused = http.call(&line, Some(&json!({})));
        assert_eq!((refused.status, refused.json()["code"].as_str()), (403, Some("rejected")), "{line}");
    }
    assert_eq!(http.call("GET /v1/changes", None).status, 403);
    assert_eq!(http.call("GET /v1/daemon/check", None).status, 403);
    for switch in ["recent", "erase"] {
        for value in [json!(true), json!("true"), json!(" true\n")] {
            let body = json!({"before": "0s", switch: value});
            assert_eq!(http.call("POST /v1/forget", Some(&body)).status, 403, "{body}");
        }
    }

    let waiting = person.read("/v1/agent/review").json();
    assert_eq!(waiting["proposals"][0]["run"], run.as_str(), "{waiting}");
    let applied = person.write(&apply, &json!({})).json();
    assert_eq!(applied["applied"].as_array().unwrap().len(), 1, "{applied}");
    assert_eq!(world.json(&["stats"])["by_edge_kind"]["link"], 1);
    let undone = person.write(&format!("/v1/runs/{run}/undo"), &json!({})).json();
    assert_eq!(undone["undone"].as_array().unwrap().len(), 1, "{undone}");
    assert!(world.json(&["stats"])["by_edge_kind"]["link"].is_null());
}

#[test]
fn a_person_saves_the_files_of_an_agent_that_nobody_else_has_changed() {
    let (world, http) = world();
    let person = Browser::signed_in(&world, &http, &[]);
    assert_eq!(person.write("/v1/agents", &json!({"agent": "mine"})).status, 201);
    assert_eq!(person.write("/v1/agents", &json!({"agent": "mine"})).status, 409);
    let read = person.read("/v1/agents/mine?files=true").json()["files"]["agent"].clone();
    let (text, version) = (read["text"].as_str().unwrap(), read["version"].as_str().unwrap());
    let file = world.home().join("agents/mine.toml");
    let save = |text: &str, version: &str| {
        person.write("/v1/agents/mine/files", &json!({"file": text, "version": version}))
    };
    let refused = save("[query]\npipelin = 1\n", version);
    assert_eq!(
        (refused.status, refused.json()["code"].as_str()),
        (400, Some("invalid_argument")),
        "{refused:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let saved = save(&format!("# mine\n{text}"), version);
    assert_eq!((saved.status, &saved.json()["changed"]), (200, &true.into()), "{saved:?}");
    assert_eq!(saved.json()["files"]["agent"]["previous"], text);
    // The version that was read is no longer the one on disk.
    let late = save(&format!("# late\n{text}"), version);
    assert_eq!((late.status, late.json()["code"].as_str()), (409, Some("conflict")), "{late:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("# mine\n{text}"));
    assert_eq!(world.json(&["agent", "check", "mine"])["agents"][0]["errors"], json!([]));
    let checked = person.read("/v1/daemon/check?lines=1").json();
    assert!(checked["findings"].to_string().contains("mine"), "{checked}");
    assert!(
        checked["max_usd_per_day"].is_number() && checked["log"].as_array().unwrap().len() <= 1,
        "{checked}"
    );
}

#[test]
fn documents_are_strict_and_files_are_revalidated() {
    let (world, http) = world();
    let note =
        json!({"title": "<script>alert(1)</script>", "key": "x/y z", "body": "<img src=x onerror=alert(1)>"});
    assert_eq!(http.call("POST /v1/insert", Some(&note)).status, 201);
    let browser = Browser::signed_in(&world, &http, &[]);
    for path in ["/", "/search", "/review", "/notes/x/y%20z", "/notes/nothing", "/sign-in"] {
        let document = browser.get(path);
        let policy = document.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(
            policy.contains("require-trusted-types-for 'script'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(document.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(document.header("referrer-policy"), Some("same-origin"), "{path}");
        // Nothing is inline, and nothing comes from elsewhere.
        for forbidden in [" style=", " onclick=", "<style", "<script>", "http://", "https://", "<img"] {
            assert!(!document.body.contains(forbidden), "{path}: {forbidden}: {}", document.body);
        }
        for script in document.body.split("<script").skip(1) {
            assert!(script.split('>').next().unwrap().contains("src=\"/page/"), "{script}");
        }
    }
    let shown = browser.get("/notes/x/y%20z");
    assert!(shown.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{}", shown.body);
    assert!(shown.body.contains("&lt;img src=x onerror=alert(1)&gt;"), "{}", shown.body);
    assert_eq!(browser.get("/notes/nothing").status, 404);
    // A past note is rendered as it was; a time that cannot be read is an error, as text.
    assert!(browser.get("/notes/x/y%20z?at=0s").body.contains("data-at=\"0s\""));
    assert_eq!(browser.get("/notes/x/y%20z?at=2001-01-01").status, 404);
    let wrong = browser.get("/notes/x/y%20z?at=%3Cscript%3E");
    assert!(wrong.status == 400 && !wrong.body.contains("<script>"), "{wrong:?}");
    let file = browser.get("/page/base.css");
    assert_eq!((file.status, file.header("cache-control")), (200, Some("no-cache")));
    let etag = file.header("etag").unwrap();
    assert_eq!(browser.send("GET /page/base.css", &[("If-None-Match", etag)], b"").status, 304);
    assert_eq!(browser.get("/page/../config.toml").status, 404);
}

#[test]
fn the_page_starts_the_daemon_and_needs_no_rest() {
    let mut world = World::new();
    world.json(&["insert", "--title", "x", "--key", "x"]);
    let address = link(&world, &[]);
    let host = address.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let http = Http { address: host, full: String::new(), model: String::new(), read: String::new() };
    let mut browser = Browser::new(&http);
    let opened = browser.get(&address);
    browser.keep(&opened);
    assert_eq!(browser.read("/v1/nodes/x").status, 200);
    // REST itself stays off: no token opens it, and its documents are not served.
    let token = std::fs::read_to_string(world.home().join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let program = Browser::new(&http);
    let refused = program.send("GET /v1/nodes/x", &[("Authorization", &bearer)], b"");
    assert_eq!(refused.status, 404);
    let hint = refused.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`enabled = true`"), "{hint}");
    assert_eq!(program.send("GET /openapi.json", &[], b"").status, 404);
    let status = world.json(&["daemon", "status"]);
    assert_eq!(
        (status["page"].as_str(), status["rest"].as_str()),
        (Some(format!("http://{}", http.address).as_str()), None)
    );
    // An open page finds the daemon again at the same address.
    world.json(&["daemon", "stop"]);
    world.start_daemon();
    assert_eq!(browser.read("/v1/nodes/x").status, 200);
    world.stop_daemon();
}

/// Each open screen keeps a connection for events.
#[test]
fn open_screens_neither_lock_anybody_out_nor_delay_a_stop() {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}max-connections = 2\n"));
    world.start_daemon();
    let http = Http::of(&world);
    let browser = Browser::signed_in(&world, &http, &[]);
    let open = || {
        let mut stream = http.connect();
        write!(
            stream,
            "GET /events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nSec-Fetch-Site: same-origin\r\n\r\n",
            http.address, browser.cookie
        )
        .unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
        stream
    };
    let [mut first, second, third] = [open(), open(), open()];
    // The stream that was opened first is closed.
    first.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(http.call("GET /v1/healthz", None).status, 200);
    world.stop_daemon();
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    assert!(log.contains("stopped") && !log.contains("is interrupted"), "{log}");
    drop((second, third));
}

#[test]
fn the_page_can_be_switched_off() {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}[page]\nenabled = false\n"));
    world.start_daemon();
    let http = Http::of(&world);
    let refused = world.run(&["page", "--print"]);
    assert_eq!(refused.status, 5, "{refused:?}");
    assert!(refused.stderr.contains("the page is switched off"), "{refused:?}");
    assert_eq!(Browser::new(&http).get("/").status, 404);
    assert_eq!(http.call("GET /v1/stats", None).status, 200);
}
