//! Tests against local servers that fail, hang or give invalid answers.

use super::*;
use parking_lot::Mutex;
use poc_config::Config;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Computes the response to a request: status and body.
type Responder = Box<dyn Fn(&Value) -> (u16, String) + Send>;

/// The received requests: head and body.
type ReceivedRequests = Arc<Mutex<Vec<(String, Value)>>>;

/// Starts a local server that gives these answers in order and records the requests.
fn serve(answers: Vec<Responder>) -> (String, ReceivedRequests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1/", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let recorded = requests.clone();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            recorded.lock().push(answer_request(&mut stream, &answer));
        }
    });
    (address, requests)
}

/// Reads a request and answers it; returns its head and body.
fn answer_request(stream: &mut TcpStream, answer: &dyn Fn(&Value) -> (u16, String)) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let (status, text) = answer(&body);
    let length = text.len();
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}")
        .unwrap();
    (head, body)
}

fn embedder(url: &str, dimensions: usize) -> Result<HttpEmbedder> {
    with_key(url, dimensions, "secret-7")
}

fn with_key(url: &str, dimensions: usize, key: &str) -> Result<HttpEmbedder> {
    let mut config = Config::defaults().unwrap().embedder;
    (config.kind, config.url, config.model, config.dimensions) =
        ("http".into(), url.into(), "m".into(), dimensions);
    config.key_env = "KEY".into();
    HttpEmbedder::new(&config, &|name| (name == "KEY").then(|| key.to_owned()))
}

/// Responds with the vector (length, 1) for each text, in reverse order.
fn respond_with_lengths(body: &Value) -> (u16, String) {
    let texts = body["input"].as_array().unwrap();
    let item =
        |(at, text): (usize, &Value)| json!({"index": at, "embedding": [text.as_str().unwrap().len(), 1]});
    let data: Vec<Value> = texts.iter().enumerate().map(item).rev().collect();
    (200, json!({"data": data}).to_string())
}

#[test]
fn texts_are_sent_in_batches_and_vectors_keep_their_order() {
    let (url, requests) = serve(vec![Box::new(respond_with_lengths), Box::new(respond_with_lengths)]);
    let embedder = embedder(&url, 2).unwrap();
    let mut texts: Vec<String> = (1..=80).map(|count| "x".repeat(count)).collect();
    texts.insert(3, " ".into());
    let vectors = embedder.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    assert_eq!(vectors[3], [0.0, 0.0]);
    for (text, vector) in texts.iter().zip(&vectors).filter(|(text, _)| !text.trim().is_empty()) {
        assert!((vector[0] / vector[1] - text.len() as f32).abs() < 1e-3, "{vector:?}");
    }
    let requests = requests.lock();
    assert_eq!(
        requests.iter().map(|(_, body)| body["input"].as_array().unwrap().len()).collect::<Vec<_>>(),
        [64, 16]
    );
    assert!(requests[0].0.starts_with("POST /v1/embeddings "), "{}", requests[0].0);
    assert!(requests[0].0.to_lowercase().contains("authorization: bearer secret-7"));
    assert_eq!(requests[0].1["model"], "m");
}

#[test]
fn transient_failures_are_retried_and_permanent_ones_reported() {
    let busy = |_: &Value| (503, "busy".to_owned());
    let (url, requests) = serve(vec![Box::new(busy), Box::new(respond_with_lengths)]);
    assert!(embedder(&url, 2).unwrap().embed_one("abc").is_ok());
    assert_eq!(requests.lock().len(), 2);
    let error_of = |answer: fn(&Value) -> (u16, String)| {
        let (url, _) = serve(vec![Box::new(answer)]);
        let error = embedder(&url, 2).unwrap().embed_one("abc").unwrap_err();
        error.to_string().replace(&url, "URL/")
    };
    let all = [
        error_of(|_| (401, "the key secret-7 is wrong".into())),
        error_of(|_| (200, "<html>".into())),
        error_of(|_| (200, r#"{"data": []}"#.into())),
        error_of(|_| (200, r#"{"data": [{"index": 0, "embedding": [1, 2, 3]}]}"#.into())),
        error_of(|_| (302, "elsewhere".into())),
    ];
    // The key is at the position where the text is truncated.
    let truncated = error_of(|_| (401, format!("{}secret-7", "x".repeat(MAX_EXCERPT - 3))));
    assert!(truncated.ends_with("xx…") && !truncated.contains("sec"), "{truncated}");
    insta::assert_snapshot!(all.join("\n"), @r"
    `URL/embeddings` returned no vectors: 401 Unauthorized: the key … is wrong
    `URL/embeddings` returned no vectors: its answer is not a list of embeddings: expected value at line 1 column 1
    `URL/embeddings` returned no vectors: it returned fewer than 1 vector
    `URL/embeddings` returned no vectors: its vectors have 3 numbers, but `embedder.dimensions` is 2
    `URL/embeddings` returned no vectors: 302 Found: elsewhere
    ");
}

#[test]
fn a_short_key_leaves_messages_as_they_are() {
    let (url, _) = serve(vec![Box::new(|_: &Value| (401, "the index is closed".to_owned()))]);
    let error = with_key(&url, 2, "x").unwrap().embed_one("abc").unwrap_err();
    assert!(error.message.ends_with(": the index is closed"), "{error}");
}

#[test]
fn invalid_settings_are_rejected() {
    for url in ["", "ftp://x/v1", "nonsense", "http://me:pass@host/v1"] {
        assert!(embedder(url, 2).is_err(), "{url}");
    }
    let mut config = Config::defaults().unwrap().embedder;
    (config.url, config.model, config.key_env) = ("http://127.0.0.1:1/v1".into(), "m".into(), "KEY".into());
    let error = HttpEmbedder::new(&config, &|_| None).err().unwrap();
    insta::assert_snapshot!(error, @"`embedder.key-env`: the variable `KEY` is not set");
}

/// A server that accepts connections, reports each, and never answers.
fn start_hanging_server() -> (String, std::sync::mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1/", listener.local_addr().unwrap());
    let (accepted, connections) = std::sync::mpsc::channel();
    std::thread::spawn(move || while accepted.send(listener.accept().unwrap().0).is_ok() {});
    (address, connections)
}

#[test]
fn calls_beyond_the_limit_are_refused_while_a_server_hangs() {
    let (url, connections) = start_hanging_server();
    let mut embedder = embedder(&url, 2).unwrap();
    embedder.limiter = CallLimiter::new(1, Duration::ZERO);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| embedder.embed_one("abc"));
        let mut connection = connections.recv().unwrap();
        let error = embedder.embed_one("abc").unwrap_err();
        assert_eq!(error.code, poc_graph::error::Code::Unavailable);
        insta::assert_snapshot!(error.line().replace(&url, "URL/"), @"`URL/embeddings` is busy: all of the 1 permitted requests are running, and none succeeded in time; try again later, or raise `embedder.concurrency`");
        answer_request(&mut connection, &respond_with_lengths);
        first.join().unwrap().unwrap();
        // The permit has been released.
        let second = scope.spawn(|| embedder.embed_one("abc"));
        answer_request(&mut connections.recv().unwrap(), &respond_with_lengths);
        second.join().unwrap().unwrap();
    });
}

#[test]
fn every_request_of_a_call_takes_a_permit_of_its_own() {
    let (url, connections) = start_hanging_server();
    let mut embedder = embedder(&url, 2).unwrap();
    embedder.limiter = CallLimiter::new(1, Duration::from_secs(60));
    let texts = vec!["abc"; BATCH + 1];
    std::thread::scope(|scope| {
        let call = scope.spawn(|| embedder.embed(&texts));
        let mut first = connections.recv().unwrap();
        answer_request(&mut first, &respond_with_lengths);
        let mut second = connections.recv().unwrap();
        assert_eq!(embedder.limiter.succeeded(), 1);
        answer_request(&mut second, &respond_with_lengths);
        assert_eq!(call.join().unwrap().unwrap().len(), texts.len());
        assert_eq!(embedder.limiter.succeeded(), 2);
    });
}

#[test]
fn a_server_that_never_answers_is_given_up_after_the_timeout() {
    let (url, _connections) = start_hanging_server();
    let mut embedder = embedder(&url, 2).unwrap();
    embedder.timeout = Duration::from_millis(20);
    let error = embedder.embed_one("abc").unwrap_err();
    assert_eq!(error.code, poc_graph::error::Code::Unavailable);
    assert!(error.message.contains("returned no vectors"), "{error}");
}

#[test]
fn a_retry_needs_a_transient_failure_an_attempt_and_time() {
    let failure = |is_transient| RequestFailure { problem: String::new(), is_transient };
    let delay = BACKOFF.delay(1).std();
    assert_eq!(failure(true).retry_delay(1, delay * 2), Some(delay));
    assert_eq!(failure(true).retry_delay(1, delay), None);
    assert_eq!(failure(true).retry_delay(ATTEMPTS, Duration::MAX), None);
    assert_eq!(failure(false).retry_delay(1, Duration::MAX), None);
}
