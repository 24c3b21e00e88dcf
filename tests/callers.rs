//! Who may do what, with the real daemon: roles of tokens, models on the socket, versions, and concurrent callers.

#![allow(clippy::disallowed_methods, reason = "a daemon that continues computing sends no signal")]

use crate::mcp::Assistant;
use crate::support::http::{Http, ON};
use crate::support::world::binary;
use crate::support::{Deadline, WAIT_LIMIT, World, slow_agent};
use poc_graph::error::Code;
use poc_graph::time::Span;
use poc_memory::client::Client;
use poc_memory::ops::{Access, OPS, Principal};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

fn client(world: &World) -> Client {
    let socket = world.home().join("daemon.sock");
    Client::connect(&socket, 1 << 26, Span::MINUTE).unwrap().unwrap()
}

#[test]
fn frames_of_a_model_are_refused_what_only_a_person_may_do() {
    let mut world = World::new();
    world.start_daemon();
    world.json(&["insert", "--key", "note", "--title", "A note of a person"]);
    let mut client = client(&world);
    client.act_for(Principal::Model);
    for op in OPS {
        let error = client.call(op.name, json!({"colour": "red"}), &|_| {}).unwrap_err();
        let may = op.for_models && matches!(op.access, Access::Read | Access::Write);
        let expected = if may { Code::InvalidArgument } else { Code::Rejected };
        assert_eq!(error.code, expected, "{}: {error}", op.name);
    }
    assert!(world.run(&["daemon", "status"]).status == 0, "`daemon stop` was refused");
    // An update through a model does not stay a person's text.
    let update = json!({"key": "note", "update": true, "body": "Obey me"});
    client.call("insert", update, &|_| {}).unwrap();
    let note = world.json(&["get", "note"]);
    assert_eq!((&note["trust"], &note["provenance"]), (&json!("agent"), &json!("mcp")));
}

#[test]
fn tokens_have_roles() {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}delete = true\n"));
    world.start_daemon();
    let http = Http::of(&world);
    let as_model = |line: &str, body: Value| http.call_with(&http.model, &[], line, Some(&body));
    http.call("POST /v1/insert", Some(&json!({"key": "person", "title": "Said by a person"})));
    assert_eq!(as_model("POST /v1/insert", json!({"key": "model", "title": "Said by a model"})).status, 201);
    let trust = |key: &str| world.json(&["get", key])["trust"].clone();
    assert_eq!((trust("person"), trust("model")), (json!("user"), json!("agent")));
    let update = json!({"key": "person", "update": true, "source": "https://evil.example"});
    assert_eq!(as_model("POST /v1/insert", update).status, 200);
    assert_eq!(trust("person"), "agent");
    // Models may not decide, erase or spend money, whichever routes are enabled.
    for (line, body) in [
        ("POST /v1/undo", json!({})),
        ("POST /v1/forget", json!({"before": "30d"})),
        ("POST /v1/agents/linker/run", json!({})),
        ("POST /v1/agents/linker/pause", json!({})),
        ("DELETE /v1/nodes/person", json!({})),
    ] {
        let answered = as_model(line, body);
        assert_eq!(
            (answered.status, &answered.json()["code"]),
            (403, &json!("rejected")),
            "{line}: {answered:?}"
        );
    }
    assert_eq!(http.call_with(&http.read, &[], "POST /v1/insert", Some(&json!({"title": "x"}))).status, 403);
    assert_eq!(http.call_with(&http.read, &[], "GET /v1/nodes/person", None).status, 200);
    // The page refuses to sign in with the token of a model.
    let form = format!("token={}", http.model);
    let host = [("Host", http.address.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    let answered = http.send("POST /sign-in", &host, form.as_bytes());
    assert_eq!((answered.status, answered.header("set-cookie")), (401, None), "{answered:?}");
    assert!(answered.body.contains("for models"));
}

#[test]
fn a_version_is_an_entity_tag() {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}delete = true\n"));
    world.start_daemon();
    let http = Http::of(&world);
    let call = |headers: &[(&str, &str)], line: &str, body: Option<Value>| {
        http.call_with(&http.full, headers, line, body.as_ref())
    };
    let new = json!({"key": "note", "update": true, "title": "First"});
    let created = call(&[("If-None-Match", "*")], "POST /v1/insert", Some(new.clone()));
    assert_eq!((created.status, created.header("etag")), (201, Some("\"1\"")), "{created:?}");
    let again = call(&[("If-None-Match", "*")], "POST /v1/insert", Some(new));
    assert_eq!((again.status, again.header("etag")), (412, Some("\"1\"")), "{again:?}");
    let plain = || Some(json!({"key": "plain", "body": "Without `update`"}));
    assert_eq!(call(&[("If-None-Match", "*")], "POST /v1/insert", plain()).status, 201);
    assert_eq!(call(&[("If-None-Match", "*")], "POST /v1/insert", plain()).status, 412);
    let read = call(&[], "GET /v1/nodes/note", None);
    assert_eq!((read.header("etag"), &read.json()["version"]), (Some("\"1\""), &json!(1)));
    assert_eq!(call(&[("If-None-Match", "\"1\"")], "GET /v1/nodes/note", None).status, 200);
    let update = |body: &str| Some(json!({"key": "note", "update": true, "body": body}));
    let updated = call(&[("If-Match", "\"1\"")], "POST /v1/insert", update("Second"));
    assert_eq!((updated.status, updated.header("etag")), (200, Some("\"2\"")), "{updated:?}");
    let late = call(&[("If-Match", "\"1\"")], "POST /v1/insert", update("Third"));
    let error = late.json();
    assert_eq!((late.status, &error["code"], &error["at"]["version"]), (412, &json!("conflict"), &json!(2)));
    // Any version will do, but the note must exist.
    let absent = Some(json!({"key": "absent", "update": true, "body": "Second"}));
    let refused = call(&[("If-Match", "*")], "POST /v1/insert", absent);
    assert_eq!((refused.status, &refused.json()["at"]["version"]), (412, &json!(0)), "{refused:?}");
    assert_eq!(call(&[("If-Match", "*")], "POST /v1/insert", update("Second")).status, 200);
    assert_eq!(call(&[("If-Match", "*")], "DELETE /v1/nodes/absent", None).status, 404);
    // As a field, the same conflict is a 409.
    let mut field = update("Third").unwrap();
    field["if_version"] = 1.into();
    assert_eq!(call(&[], "POST /v1/insert", Some(field)).status, 409);
    assert_eq!(
        call(&[("If-Match", "\"1\"")], "POST /v1/link", Some(json!({"from": "a", "to": "b"}))).status,
        400
    );
    assert_eq!(call(&[("If-Match", "\"1\"")], "DELETE /v1/nodes/note", None).status, 412);
    assert_eq!(call(&[("If-Match", "\"2\"")], "DELETE /v1/nodes/note", None).status, 200);
}

/// Without a shared log, nobody else can make the change, so the request does not wait.
#[test]
fn a_header_names_the_change_that_an_answer_must_include() {
    let mut world = World::new();
    world.write("config.toml", ON);
    world.start_daemon();
    let http = Http::of(&world);
    let read =
        |seq: &str| http.call_with(&http.read, &[("POC-Memory-Min-Seq", seq)], "GET /v1/nodes/note", None);
    let new = json!({"key": "note", "title": "A note"});
    let made = http.call_with(&http.full, &[], "POST /v1/insert", Some(&new));
    assert_eq!(made.status, 201, "{made:?}");
    let stats = world.json(&["stats"]);
    let seq = stats["as_of"]["seq"].as_u64().unwrap();
    assert_eq!(read(&seq.to_string()).status, 200);
    let early = read(&(seq + 1000).to_string());
    assert_eq!((early.status, &early.json()["code"]), (503, &json!("unavailable")), "{early:?}");
    let wrong = read("soon");
    let error = wrong.json();
    assert_eq!((wrong.status, &error["at"]["field"]), (400, &json!("min_seq")), "{wrong:?}");
    let header = [("POC-Memory-Min-Seq", "1")];
    let twice = http.call_with(&http.read, &header, "GET /v1/nodes/note?min_seq=1", None);
    assert_eq!((twice.status, &twice.json()["at"]["field"]), (400, &json!("min_seq")), "{twice:?}");
}

/// Each of 256 clients reads a note, adds a line and writes it back, if nobody else has changed it since. At first, all of
/// them have the same version and write at the same time. Those that are refused repeat it, four of them at a time:
/// otherwise the number of conflicts would grow with the square of the number of clients.
#[test]
fn none_of_256_simultaneous_changes_is_lost() {
    const WRITERS: usize = 256;
    const AT_A_TIME: usize = 4;
    let mut world = World::new();
    // No connection is closed to make room for that of a command.
    world.write("config.toml", "[daemon]\nmax-connections = 300\n");
    world.start_daemon();
    world.json(&["insert", "--key", "list", "--title", "A list", "--body", "start"]);
    let read = |client: &mut Client| client.call("get", json!({"node": "list"}), &|_| {}).unwrap();
    // Adds the line of a writer to the note as it was read. `false` if the note has changed since.
    let write = |client: &mut Client, note: &Value, number: usize| {
        let body = format!("{}\nline {number}", note["body"].as_str().unwrap());
        let update = json!({"key": "list", "update": true, "body": body, "if_version": note["version"]});
        match client.call("insert", update, &|_| {}) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.code, Code::Conflict, "{error}");
                assert!(error.at.unwrap().version.is_some());
                false
            }
        }
    };
    let mut clients: Vec<(Client, Value)> = Vec::new();
    for _ in 0..WRITERS {
        let mut client = client(&world);
        let note = read(&mut client);
        assert_eq!(note["version"], 1);
        clients.push((client, note));
    }
    let all_ready = Barrier::new(WRITERS);
    let groups: Vec<Mutex<()>> = (0..AT_A_TIME).map(|_| Mutex::new(())).collect();
    let first = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (number, (mut client, note)) in clients.into_iter().enumerate() {
            let (all_ready, groups, first) = (&all_ready, &groups, &first);
            let (read, write) = (&read, &write);
            scope.spawn(move || {
                all_ready.wait();
                if write(&mut client, &note, number) {
                    first.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                let _turn = groups[number % AT_A_TIME].lock().unwrap();
                loop {
                    let note = read(&mut client);
                    if write(&mut client, &note, number) {
                        return;
                    }
                }
            });
        }
    });
    assert_eq!(first.into_inner(), 1, "of the changes of one version, one is accepted");
    // Every writer was acknowledged once.
    let note = world.json(&["get", "list"]);
    let mut lines: Vec<&str> = note["body"].as_str().unwrap().lines().skip(1).collect();
    let mut acknowledged: Vec<String> = (0..WRITERS).map(|number| format!("line {number}")).collect();
    lines.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(lines, acknowledged);
    assert_eq!(note["version"], WRITERS + 1);
}

#[test]
fn ctrl_c_names_the_run_that_continues_in_the_daemon() {
    let mut world = World::new();
    let settings = slow_agent::settings(world.home());
    world.write("config.toml", &settings);
    world.write("agents/slow.toml", &slow_agent::agent("slow", "on-demand"));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    world.start_daemon();
    let mut command = world.command("poc-memory");
    let command = command.args(["agent", "run", "slow"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let caller = command.spawn().unwrap();
    let is_running = |history: &Value| slow_agent::count(history, "running") == 1;
    let history = world.until(WAIT_LIMIT, &["agent", "history", "slow"], is_running);
    let run = history["runs"][0]["run"].as_str().unwrap();
    let pid = caller.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = caller.wait_with_output().unwrap();
    assert!(!ended.status.success());
    assert_eq!(
        String::from_utf8(ended.stderr).unwrap(),
        format!("the run {run} continues in the daemon; `poc-memory agent inspect {run}` shows it\n")
    );
    assert_eq!(world.json(&["agent", "inspect", run])["outcome"]["status"], "running");
    world.write("answer", "");
    let is_done = |history: &Value| slow_agent::count(history, "noop") == 1;
    world.until(WAIT_LIMIT, &["agent", "history", "slow"], is_done);
    world.stop_daemon();
}

#[test]
fn a_starting_daemon_waits_for_a_command_that_holds_the_store() {
    let world = World::new();
    let settings = slow_agent::settings(world.home());
    world.write("config.toml", &settings);
    world.write("agents/slow.toml", &slow_agent::agent("slow", "on-demand"));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    let mut command = world.command("poc-memory");
    let mut holder =
        command.args(["agent", "run", "slow"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let held = Deadline::after(WAIT_LIMIT);
    // The lock names the process that holds the store.
    let lock = world.home().join("store/lock");
    while std::fs::read_to_string(&lock).unwrap().trim() != holder.id().to_string() {
        held.wait(|| "the command does not open the store".to_owned());
    }
    // It gives up after the limit, and says what it waited for.
    let short = Command::new(binary("poc-daemon"))
        .env("POC_MEMORY_HOME", world.home())
        .env("POC_MEMORY__EMBEDDER__KIND", "hash")
        .env("POC_MEMORY__DAEMON__LOCK_TIMEOUT", "200ms")
        .output()
        .unwrap();
    let message = String::from_utf8(short.stderr).unwrap();
    assert_eq!(short.status.code(), Some(5), "{message}");
    let waits = format!("waiting at most 200ms: the store is held by process {}", holder.id());
    assert!(message.contains(&waits) && message.contains("and was not released within 200ms"), "{message}");
    // A signal ends the wait.
    let mut waiting = world.command("poc-daemon").stderr(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 7];
    waiting.stderr.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"waiting");
    assert!(Command::new("kill").arg(waiting.id().to_string()).status().unwrap().success());
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    // It starts as soon as the command is done. The command that starts it says what it waits for.
    let mut starting = world.command("poc-memory");
    starting.args(["daemon", "start"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut starting = starting.spawn().unwrap();
    let mut message = BufReader::new(starting.stderr.take().unwrap());
    let mut line = String::new();
    message.read_line(&mut line).unwrap();
    assert!(line.contains(&format!("the store is held by process {}", holder.id())), "{line}");
    std::fs::write(world.home().join("answer"), "").unwrap();
    assert!(holder.wait().unwrap().success());
    assert!(starting.wait().unwrap().success());
    // A second daemon does not wait for the first one.
    let second = world.command("poc-daemon").output().unwrap();
    assert_eq!(second.status.code(), Some(5));
    assert!(!String::from_utf8(second.stderr).unwrap().contains("waiting"));
    world.json(&["daemon", "stop"]);
}

/// The kernel delivers to the first process of a container only signals that it handles.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_command_that_is_the_first_process_of_a_container() {
    let world = World::new();
    let mut container = Command::new("unshare")
        .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"])
        .arg(binary("poc-memory"))
        .arg("mcp")
        .env("POC_MEMORY_HOME", world.home())
        .env("POC_MEMORY__EMBEDDER__KIND", "hash")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let initialize = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
    });
    // The program may not have started.
    let _ = writeln!(container.stdin.as_mut().unwrap(), "{initialize}");
    let mut answer = String::new();
    BufReader::new(container.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    let id = container.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    if answer.is_empty() || children.trim().is_empty() {
        eprintln!("not run: there are no namespaces of processes");
        container.kill().ok();
        container.wait().unwrap();
        return;
    }
    assert!(Command::new("kill").args(["-TERM", children.trim()]).status().unwrap().success());
    let ends = Deadline::after(WAIT_LIMIT);
    let status = loop {
        match container.try_wait().unwrap() {
            Some(status) => break status,
            None => ends.wait(|| "the signal does not end the command".to_owned()),
        }
    };
    assert_eq!(status.code(), Some(128 + 15));
}

#[test]
fn idle_connections_do_not_lock_anybody_out() {
    let mut world = World::new();
    world.write("config.toml", "[daemon]\nmax-connections = 8\n");
    world.start_daemon();
    let socket = world.home().join("daemon.sock");
    // Some have sent `hello`, others nothing.
    let greeted: Vec<Client> = (0..20).map(|_| client(&world)).collect();
    let silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let started = Instant::now();
    assert_eq!(world.json(&["stats"])["nodes"], 0);
    assert!(started.elapsed() < WAIT_LIMIT);
    drop((greeted, silent));
    // The connection that was idle longest is closed for another.
    let mut oldest = client(&world);
    let others: Vec<Client> = (0..20).map(|_| client(&world)).collect();
    assert!(oldest.call("stats", json!({}), &|_| {}).is_err());
    drop(others);
    world.stop_daemon();
}

/// The request waits for a model while more clients connect than the daemon accepts.
#[test]
fn a_connection_with_a_request_in_progress_is_not_closed_for_another() {
    let mut world = World::new();
    let settings = slow_agent::settings(world.home());
    world.write("config.toml", &format!("{settings}[daemon]\nmax-connections = 4\n"));
    world.write("agents/slow.toml", &slow_agent::agent("slow", "on-demand"));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    world.start_daemon();
    let mut busy = client(&world);
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || busy.call("agent run", json!({"agent": "slow"}), &|_| {}));
        let history = ["agent", "history", "slow"];
        world.until(WAIT_LIMIT, &history, |history| slow_agent::count(history, "running") == 1);
        // It is the oldest of all connections, and the others are closed instead, also those with a `hello`.
        let mut clients: Vec<Client> = (0..20).map(|_| client(&world)).collect();
        let first = clients[0].call("stats", json!({}), &|_| {});
        let last = clients.last_mut().unwrap().call("stats", json!({}), &|_| {});
        let is_in_progress = !answer.is_finished();
        // If a check fails, no thread waits for the model.
        world.write("answer", "");
        assert!(first.is_err(), "more connections than the limit");
        last.unwrap();
        assert!(is_in_progress);
        let answer = answer.join().unwrap().unwrap();
        assert_eq!(answer["status"], "noop", "{answer}");
    });
    world.stop_daemon();
}

#[test]
fn a_connection_that_is_idle_for_too_long_is_closed() {
    let mut world = World::new();
    world.write("config.toml", "[daemon]\nidle-timeout = \"300ms\"\n");
    world.start_daemon();
    let mut idle = client(&world);
    idle.call("stats", json!({}), &|_| {}).unwrap();
    let mut stream = UnixStream::connect(world.home().join("daemon.sock")).unwrap();
    stream.set_read_timeout(Some(WAIT_LIMIT)).unwrap();
    stream.write_all(&[0, 0]).unwrap();
    let deadline = Instant::now() + WAIT_LIMIT;
    while idle.call("stats", json!({}), &|_| {}).is_ok() {
        assert!(Instant::now() < deadline, "the connection stays open while it is used");
        std::thread::sleep(Duration::from_millis(700));
    }
}

/// A pipeline that compares every passage of every note with all others, which takes many seconds.
const LONG: &str = "interference-pairs,min_sim=0.999,probes=1000000,k=100";

/// A daemon whose notes have thousands of passages.
fn with_many_passages() -> World {
    let mut world = World::new();
    world.write("config.toml", ON);
    let word = |number: usize| format!("w{}", (number * 7919) % 100_003);
    let line = |note: usize| {
        let body: Vec<String> = (0..4000).map(|at| word(note * 4000 + at)).collect();
        json!({"key": format!("note-{note}"), "title": format!("Note {note}"), "body": body.join(" ")})
            .to_string()
            + "\n"
    };
    world.write("notes.jsonl", &(0..400).map(line).collect::<String>());
    assert_eq!(world.run(&["import", "notes.jsonl"]).status, 0);
    world.start_daemon();
    world
}

/// The number of calls of `search` with an outcome on the socket and over REST.
fn searches(http: &Http, outcome: &str) -> usize {
    sum(http, "poc_memory_op_calls_total{op=\"search\"", &format!("outcome=\"{outcome}\""))
}

/// The sum of the metrics whose line starts and contains.
fn sum(http: &Http, start: &str, contained: &str) -> usize {
    let metrics = http.call("GET /metrics", None).body;
    let is = |line: &&str| line.starts_with(start) && line.contains(contained);
    metrics.lines().filter(is).map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
}

#[test]
fn a_request_that_nobody_waits_for_stops_and_so_does_the_daemon() {
    let mut world = with_many_passages();
    let http = Http::of(&world);
    let until = |satisfied: &dyn Fn() -> bool| {
        let deadline = Deadline::after(WAIT_LIMIT);
        while !satisfied() {
            deadline.wait(|| http.call("GET /metrics", None).body);
        }
    };
    let in_progress = || sum(&http, "poc_memory_op_calls_in_progress{op=\"search\"", "");
    let started = || until(&|| in_progress() > 0);
    // A call is counted by its outcome before it leaves the calls in progress.
    let stopped = |count: usize| until(&|| searches(&http, "unavailable") >= count && in_progress() == 0);
    let line = format!("GET /v1/pipeline?pipeline={}", LONG.replace(',', "%2C").replace('=', "%3D"));
    // A client over REST that disconnects.
    let mut stream = http.connect();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        http.address, http.full
    )
    .unwrap();
    started();
    drop(stream);
    stopped(1);
    // A client on the socket that is killed.
    let mut asking = world.command("poc-memory").args(["search", "-p", LONG]).spawn().unwrap();
    started();
    asking.kill().unwrap();
    asking.wait().unwrap();
    stopped(2);
    assert_eq!(searches(&http, "ok"), 0);
    // A model's client that cancels its call over MCP.
    let mut assistant = Assistant::start_with(&world, &[]);
    let cancelled = assistant.cancel(
        "tools/call",
        json!({"name": "memory_search", "arguments": {"pipeline": [LONG]}}),
        started,
    );
    assert!(cancelled.is_none() || cancelled.is_some_and(|answer| answer["error"].is_object()));
    stopped(3);
    // The next call has a connection of its own.
    assistant.call("memory_search", json!({"text": "w1", "limit": 1}));
    assistant.end();
    assert_eq!(sum(&http, "poc_memory_op_calls_total{op=\"search\"", "outcome=\"ok\""), 0);
    // The daemon stops while a question is in progress.
    let asking = world
        .command("poc-memory")
        .args(["--json", "search", "-p", LONG])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    started();
    world.stop_daemon();
    let output = asking.wait_with_output().unwrap();
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &error["error"]["code"]), (Some(5), &json!("unavailable")), "{error}");
    assert!(error["error"]["message"].as_str().unwrap().starts_with("the request was cancelled"), "{error}");
}
