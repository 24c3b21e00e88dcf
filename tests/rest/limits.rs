//! Invalid input and limits of requests.

use super::world;
use crate::support::WAIT_LIMIT;
use crate::support::http::{Http, read_response};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn a_wrong_field_has_the_same_error_as_on_the_socket() {
    let (world, http) = world("");
    let check = |line: &str, body: Option<Value>, field: Option<&str>, message: &str| {
        let answered = http.call(line, body.as_ref());
        let error = answered.json();
        assert_eq!(answered.status, 400, "{line}: {answered:?}");
        assert_eq!(error["code"], "invalid_argument", "{line}: {error}");
        assert_eq!(error["at"]["field"].as_str(), field, "{line}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{line}: {error}");
    };
    check(
        "GET /v1/search?text=x&top_k=many",
        None,
        Some("top_k"),
        "invalid type: string \"many\", expected a whole number",
    );
    check("GET /v1/search?text=x&top_k=-1", None, Some("top_k"), "invalid value: integer `-1`");
    check("GET /v1/search?text=x&top_k=1.5", None, Some("top_k"), "invalid type: string \"1.5\"");
    check("GET /v1/search?text=x&topk=1", None, Some("topk"), "unknown field `topk`");
    check("GET /v1/search", None, Some("text"), "missing field `text`");
    check("GET /v1/search?text=a&text=b", None, Some("text"), "the field is given more than once");
    check("GET /v1/search?text=%ff", None, Some("text"), "the value is not UTF-8");
    check("GET /v1/nodes/%ff", None, None, "the path is not UTF-8");
    check("GET /v1/nodes/x?node=y", None, Some("node"), "the field is given more than once");
    check("GET /v1/pipeline?explain=yes&text=x", None, Some("explain"), "invalid type: string \"yes\"");
    check("POST /v1/insert", Some(json!({"title": 5})), Some("title"), "invalid type: integer `5`");
    check("POST /v1/insert", Some(json!({"titel": "x"})), Some("titel"), "unknown field `titel`");
    check("POST /v1/insert", Some(json!([])), None, "the body is not a JSON object");
    // The hint says what would be right.
    for (line, body, hint) in [
        ("GET /v1/search?text=x&top_k=many", None, "give a whole number from 0 up, such as `5`"),
        ("GET /v1/pipeline?explain=yes&text=x", None, "give `true` or `false`"),
        ("POST /v1/insert", Some(json!({"title": 5})), "give a string, such as `\"text\"`"),
    ] {
        assert_eq!(http.call(line, body.as_ref()).json()["hint"], hint, "{line}");
    }
    let twice = http.send(
        "POST /v1/insert",
        &[
            ("Host", &http.address),
            ("Authorization", &format!("Bearer {}", http.full)),
            ("Content-Type", "application/json"),
        ],
        br#"{"title": "one", "title": "two"}"#,
    );
    let error = twice.json();
    assert_eq!((twice.status, &error["at"]["field"]), (400, &json!("title")), "{error}");
    assert_eq!(error["code"], "invalid_argument", "{error}");
    check("POST /v1/insert?title=x", Some(json!({})), Some("title"), "the query string may contain");
    check("POST /v1/link", Some(json!({"from": "x"})), Some("to"), "missing field `to`");
    check(
        "POST /v1/agents/linker/run",
        Some(json!({"agent": "replay"})),
        Some("agent"),
        "the field is already given in the path",
    );
    assert_eq!(world.json(&["stats"])["nodes"], 0);
}

#[test]
fn a_json_syntax_error_is_reported_with_its_position() {
    let (_world, http) = world("");
    let bearer = format!("Bearer {}", http.full);
    let headers = [
        ("Host", http.address.as_str()),
        ("Authorization", &bearer),
        ("Content-Type", "application/json; charset=utf-8"),
    ];
    for body in
        [b"{\n\"title\": }".as_slice(), b"{\"title\": \"\xff\"}", b"nul", "[".repeat(100_000).as_bytes()]
    {
        let answered = http.send("POST /v1/insert", &headers, body);
        let error = answered.json();
        assert_eq!((answered.status, error["code"].as_str()), (400, Some("invalid_argument")), "{error}");
        assert!(error["at"]["line"].as_u64().is_some(), "{error}");
    }
}

#[test]
fn a_body_over_the_limit_is_rejected() {
    let (_world, http) = world("max-body-bytes = 1000\n");
    let body = json!({"title": "x", "body": "y".repeat(1000)});
    let answered = http.call("POST /v1/insert", Some(&body));
    assert_eq!(answered.status, 413);
    insta::assert_snapshot!(answered.body, @r#"{"code":"invalid_argument","message":"the body is longer than the 1000 bytes that are allowed","hint":"send less, or raise `max-body-bytes` under `[rest]` in config.toml"}"#);
    // A client that sends the whole body before reading gets the error, too.
    let body = json!({"title": "x", "body": "y".repeat(7000)});
    let mut stream = http.connect();
    let text = body.to_string();
    write!(
        stream,
        "POST /v1/insert HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        http.address,
        text.len()
    )
    .unwrap();
    stream.write_all(&text.as_bytes()[..2000]).unwrap();
    // There is no response before the end of the body, because the client would lose it.
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    stream.write_all(&text.as_bytes()[2000..]).unwrap();
    assert_eq!(read_response(stream).status, 401);
    // The same without a length.
    let chunked = format!(
        "POST /v1/insert HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n800\r\n{}\r\n0\r\n\r\n",
        http.address,
        http.full,
        " ".repeat(0x800)
    );
    assert_eq!(http.raw(chunked.as_bytes()).status, 413);
    assert_eq!(http.call("POST /v1/insert", Some(&json!({"title": "x"}))).status, 201);
}

#[test]
fn an_incomplete_request_times_out() {
    let (_world, http) = world("header-timeout = \"300ms\"\nrequest-timeout = \"300ms\"\n");
    // Headers without an end, and a connection without data.
    for half in [format!("GET /v1/healthz HTTP/1.1\r\nHost: {}\r\nX-Slow: ", http.address), String::new()] {
        let mut stream = http.connect();
        stream.write_all(half.as_bytes()).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{half:?}: {}", String::from_utf8_lossy(&rest));
    }
    // A body that never arrives.
    let answered = read_response(half_body(&http));
    assert_eq!((answered.status, answered.json()["code"].as_str()), (408, Some("unavailable")));
}

/// A request with the beginning of a body.
fn half_body(http: &Http) -> TcpStream {
    let mut stream = http.connect();
    let request = format!(
        "POST /v1/insert HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{{",
        http.address, http.full
    );
    // In one write, because a connection whose headers are incomplete may be closed for another.
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

#[test]
fn a_body_that_stops_arriving_keeps_no_place() {
    let (_world, http) = world("max-connections = 2\nheader-timeout = \"300ms\"\nrequest-timeout = \"1h\"\n");
    let stalled: Vec<TcpStream> = (0..4).map(|_| half_body(&http)).collect();
    assert_eq!(http.call("GET /v1/healthz", None).status, 200);
    for stream in stalled {
        assert_eq!(read_response(stream).status, 408);
    }
}

#[test]
fn requests_that_have_arrived_are_answered_when_all_connections_are_in_use() {
    let (_world, http) = world("max-connections = 2\n");
    let request = format!("GET /v1/healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", http.address);
    let connected = |_| {
        let mut stream = http.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let streams: Vec<TcpStream> = (0..50).map(connected).collect();
    for stream in streams {
        assert_eq!(read_response(stream).status, 200);
    }
}

#[test]
fn an_op_continues_after_its_request_times_out() {
    let home = poc_graph::testing::folder();
    let gate = home.path().join("gate");
    // A model that replies once the file `gate` exists.
    let wait = format!("until [ -e {} ]; do sleep 0.02; done; echo {{}}", gate.display());
    let model = format!(
        "[models.slow]\nprovider = \"slow\"\nid = \"slow\"\n[providers.slow]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"{wait}\"]\n"
    );
    let (world, http) = world(&format!("request-timeout = \"300ms\"\n{model}"));
    let linker = include_str!("../../agents/linker.toml");
    let patient = linker.replace("model = \"default\"", "model = \"slow\"");
    assert_ne!(linker, patient);
    world.write("agents/patient.toml", &patient);
    world.until(WAIT_LIMIT, &["agent", "list"], |answer| answer.to_string().contains("\"patient\""));
    world.json(&["insert", "--title", "x", "--type", "episodic"]);
    let answered = http.call("POST /v1/agents/patient/run", Some(&json!({})));
    assert_eq!(answered.status, 503, "{answered:?}");
    assert_eq!(answered.json()["message"], "`agent run` has not finished within 300ms; it continues");
    let runs = |answer: &Value| answer["runs"][0]["status"].clone();
    assert_eq!(runs(&world.json(&["agent", "history", "patient"])), "running");
    std::fs::write(gate, "").unwrap();
    world.until(WAIT_LIMIT, &["agent", "history", "patient"], |answer| runs(answer) != "running");
}

/// Opens a connection whose request is in progress until its body is sent.
fn busy_connection(http: &Http, body: &str) -> TcpStream {
    let mut busy = http.connect();
    write!(
        busy,
        "POST /v1/insert HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        http.address,
        http.full,
        body.len()
    )
    .unwrap();
    let mut go_on = [0; 25];
    busy.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&go_on));
    busy
}

#[test]
fn the_number_of_connections_is_limited() {
    let (_world, http) = world("max-connections = 2\nheader-timeout = \"1m\"\n");
    let body = json!({"title": "Slowly sent"}).to_string();
    let mut busy = busy_connection(&http, &body);
    let _other = busy_connection(&http, &body);
    let mut third = http.connect();
    write!(third, "GET /v1/healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", http.address).unwrap();
    third.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    let waiting = third.read(&mut [0]).unwrap_err().kind();
    assert!(matches!(waiting, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{waiting}");
    third.set_read_timeout(None).unwrap();
    busy.write_all(body.as_bytes()).unwrap();
    assert_eq!(read_response(busy).status, 201);
    assert_eq!(read_response(third).status, 200);
}

#[test]
fn bytes_that_are_not_http_end_only_their_connection() {
    let (mut world, http) = world("");
    let long =
        format!("GET /v1/healthz HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", http.address, "x".repeat(1 << 20));
    for bytes in
        [b"\x16\x03\x01\x02\x00".as_slice(), b"GET\r\n\r\n", b"\xff\xff\xff\xff\r\n\r\n", long.as_bytes()]
    {
        let mut stream = http.connect();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut response = Vec::new();
        // The server may close the connection without reading the rest.
        let _ = stream.read_to_end(&mut response);
        assert!(!response.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&response));
    }
    assert_eq!(http.call("GET /v1/healthz", None).status, 200);
    world.stop_daemon();
}

#[test]
fn idle_connections_do_not_lock_anybody_out() {
    let (mut world, http) = world("max-connections = 3\nheader-timeout = \"1m\"\n");
    // A request whose body has not arrived yet is in progress.
    let body = json!({"title": "Slowly sent"}).to_string();
    let mut busy = busy_connection(&http, &body);
    // Some have sent nothing, one has an answer.
    let mut idle: Vec<_> = (0..10).map(|_| http.connect()).collect();
    let mut used = http.connect();
    write!(used, "GET /v1/healthz HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).unwrap();
    assert!(used.read(&mut [0; 1000]).unwrap() > 0);
    for _ in 0..5 {
        assert_eq!(http.call("GET /v1/healthz", None).status, 200);
    }
    // The connection that was idle longest was closed.
    assert_eq!(idle.remove(0).read(&mut [0; 10]).unwrap_or(0), 0);
    busy.write_all(body.as_bytes()).unwrap();
    assert_eq!(read_response(busy).status, 201);
    world.stop_daemon();
}

#[test]
fn the_daemon_stops_with_connections_open() {
    let (mut world, http) = world("");
    let idle = http.connect();
    let mut used = http.connect();
    write!(used, "GET /v1/healthz HTTP/1.1\r\nHost: {}\r\n\r\n", http.address).unwrap();
    assert!(used.read(&mut [0; 1000]).unwrap() > 0);
    world.stop_daemon();
    drop(idle);
}

#[test]
fn an_incomplete_request_does_not_delay_a_stop() {
    let (mut world, http) = world("header-timeout = \"1h\"\nrequest-timeout = \"1h\"\n");
    let mut half_head = http.connect();
    half_head.write_all(b"GET /v1/healthz HTTP/1.1\r\nX-Slow: ").unwrap();
    let half_body = busy_connection(&http, "{}");
    // The body of a request without a token is discarded before the answer, and anybody may send a form.
    let half = |line: &str, media_type: &str| {
        let mut stream = http.connect();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {}\r\nContent-Type: {media_type}\r\nContent-Length: 50\r\n\r\n{{",
            http.address
        )
        .unwrap();
        stream
    };
    let refused = half("POST /v1/insert", "application/json");
    let form = half("POST /sign-in", "application/x-www-form-urlencoded");
    // Connections are served in the order in which they were made.
    assert_eq!(http.call("GET /v1/healthz", None).status, 200);
    world.stop_daemon();
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    assert!(log.contains("stopped") && !log.contains("is interrupted"), "{log}");
    let answered = read_response(half_body);
    assert_eq!((answered.status, answered.json()["message"].as_str()), (503, Some("the daemon is stopping")));
    drop((half_head, refused, form));
}

/// It asks for more than a connection takes.
#[test]
fn a_client_that_reads_nothing_does_not_delay_a_stop() {
    let (mut world, http) = world("");
    let body = "word ".repeat(200_000);
    let made = http.call("POST /v1/insert", Some(&json!({"key": "long", "title": "Long", "body": body})));
    assert_eq!(made.status, 201, "{made:?}");
    let mut stalled = http.connect();
    let line = format!(
        "GET /v1/nodes/long HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        http.address, http.full
    );
    stalled.write_all(line.repeat(20).as_bytes()).unwrap();
    // The first response begins.
    stalled.read_exact(&mut [0; 12]).unwrap();
    world.stop_daemon();
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    assert!(log.contains("stopped") && !log.contains("is interrupted"), "{log}");
}

#[test]
fn requests_are_counted() {
    let (world, http) = world("");
    http.call("POST /v1/insert", Some(&json!({"title": "x", "key": "x"})));
    http.call("POST /v1/agents/linker/run", Some(&json!({})));
    http.call("GET /v1/nodes/x", None);
    http.call("GET /v1/nodes/nothing", None);
    http.send("GET /v1/stats", &[("Host", "evil.example")], b"");
    world.json(&["get", "x"]);
    let answered = http.call("GET /metrics", None);
    assert_eq!((answered.status, answered.header("vary")), (200, Some("Accept")));
    assert_eq!(answered.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(answered.body.contains("# TYPE poc_memory_op_calls_total counter\n"), "{}", answered.body);
    for line in [
        "poc_memory_op_calls_total{op=\"get\",surface=\"rest\",outcome=\"ok\"} 1",
        "poc_memory_op_calls_total{op=\"get\",surface=\"rest\",outcome=\"not_found\"} 1",
        "poc_memory_op_calls_total{op=\"get\",surface=\"socket\",outcome=\"ok\"} 1",
        "poc_memory_op_seconds_count{op=\"get\",surface=\"rest\"} 2",
        "poc_memory_rest_answers_total{status=\"201\"} 1",
        "poc_memory_rest_answers_total{status=\"403\"} 1",
        "poc_memory_rest_answers_total{status=\"404\"} 1",
        "poc_memory_agent_runs_total{agent=\"linker\",status=\"noop\"} 1",
        "poc_memory_agent_tokens_total{agent=\"linker\",direction=\"read\"} 0",
        "poc_memory_agent_cost_dollars_total{agent=\"linker\"} 0.0",
        "poc_memory_agent_state{agent=\"linker\",state=\"ok\"} 1",
        "poc_memory_agent_failures_in_a_row{agent=\"linker\"} 0",
        "poc_memory_agent_backlog{agent=\"linker\"} 0",
        "poc_memory_proposals 0",
        "poc_memory_nodes 1",
        "poc_memory_edges 0",
        "poc_memory_index_lag 0",
    ] {
        assert!(answered.body.lines().any(|known| known == line), "{line}\n{}", answered.body);
    }
}
