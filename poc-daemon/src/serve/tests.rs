//! Stories of the socket, told frame by frame.

use super::socket;
use crate::shared::Shared;
use poc_agent::Catalog;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::chance::SeededChance;
use poc_graph::error::Code;
use poc_graph::time::{Span, SystemClock};
use poc_memory::client::Client;
use poc_memory::ops::Actor;
use poc_memory::wire::{self, CONNECTION, Frame, Hello, PROTOCOL};
use poc_notes::Memory;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use tokio::runtime::Runtime;

const LIMIT: usize = 4096;

/// A daemon's socket with nothing else around it.
struct Served {
    _home: tempfile::TempDir,
    paths: Paths,
    shared: Arc<Shared>,
    runtime: Runtime,
    serving: Option<tokio::task::JoinHandle<Vec<tokio::net::UnixStream>>>,
}

impl Served {
    fn new() -> Served {
        Served::with_patience(Span::MINUTE)
    }

    /// One that waits so long for a hello.
    fn with_patience(patience: Span) -> Served {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        let mut config = Config::defaults().unwrap();
        config.embedder.kind = "hash".into();
        config.daemon.max_frame_bytes = LIMIT;
        config.daemon.handshake_timeout = patience;
        let memory =
            Memory::open(paths.clone(), config, Arc::new(SystemClock), Arc::new(SeededChance::new(1)))
                .unwrap();
        let shared = Arc::new(Shared::new(memory, Catalog::default()));
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(async { socket::bind(&paths) }).unwrap();
        let serving = runtime.spawn(socket::run(shared.clone(), listener));
        Served { _home: home, paths, shared, runtime, serving: Some(serving) }
    }

    /// A connection that has not said anything yet.
    fn raw(&self) -> UnixStream {
        UnixStream::connect(self.paths.socket()).unwrap()
    }

    fn greeted(&self) -> UnixStream {
        let mut stream = self.raw();
        say(&mut stream, &Frame::Hello { hello: Hello::own() });
        assert_eq!(hear(&mut stream), Some(Frame::Hello { hello: Hello::own() }));
        stream
    }

    fn client(&self) -> Client {
        Client::connect(&self.paths.socket(), LIMIT, Span::MINUTE).unwrap().unwrap()
    }

    /// Stops serving and returns the connections that were left open.
    fn end(&mut self) -> Vec<tokio::net::UnixStream> {
        self.shared.stop();
        self.runtime.block_on(self.serving.take().unwrap()).unwrap()
    }
}

fn say(stream: &mut UnixStream, frame: &Frame) {
    wire::write(stream, frame, 1 << 20).unwrap();
}

fn hear(stream: &mut UnixStream) -> Option<Frame> {
    wire::read(stream, LIMIT).unwrap()
}

/// The code and message the connection is closed with.
fn last_word(stream: &mut UnixStream) -> (Code, String) {
    let Some(Frame::Err { id: CONNECTION, err }) = hear(stream) else { panic!("no last word") };
    assert_eq!(hear(stream), None);
    (err.code, err.message)
}

fn request(id: u64, op: &str, args: Value) -> Frame {
    Frame::Request { id, op: op.into(), args, actor: Actor::Person }
}

#[test]
fn a_request_is_answered() {
    let served = Served::new();
    let status = served.client().call("daemon status", json!({}), &|_| {}).unwrap();
    assert_eq!(status["pid"], std::process::id());
}

#[test]
fn the_socket_is_its_owners_alone() {
    let served = Served::new();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(served.paths.socket()), 0o600);
}

#[test]
fn requests_on_one_connection_are_paired_by_their_id() {
    let served = Served::new();
    let mut stream = served.greeted();
    for id in 1..=20 {
        say(&mut stream, &request(id, if id % 2 == 0 { "daemon status" } else { "dance" }, json!({})));
    }
    let mut answered: Vec<u64> = (0..20)
        .map(|_| match hear(&mut stream).unwrap() {
            Frame::Ok { id, .. } if id % 2 == 0 => id,
            Frame::Err { id, err } if id % 2 == 1 => {
                assert_eq!(err.message, "there is no op `dance`");
                id
            }
            other => panic!("{other:?}"),
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_wrong_argument_is_the_requests_error_and_the_connection_goes_on() {
    let served = Served::new();
    let mut client = served.client();
    let error = client.call("daemon status", json!({"colour": "blue"}), &|_| {}).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    client.call("daemon status", json!({}), &|_| {}).unwrap();
}

#[test]
fn another_protocol_is_told_ours_and_refused() {
    let served = Served::new();
    let mut stream = served.raw();
    say(&mut stream, &Frame::Hello { hello: Hello { protocol: PROTOCOL + 1, version: "9".into() } });
    assert_eq!(hear(&mut stream), Some(Frame::Hello { hello: Hello::own() }));
    let (code, message) = last_word(&mut stream);
    assert_eq!(code, Code::Unavailable);
    assert!(message.starts_with("the client is version 9 and speaks protocol 2"), "{message}");
}

#[test]
fn what_is_no_hello_is_refused() {
    let served = Served::new();
    let mut stream = served.raw();
    say(&mut stream, &request(1, "daemon status", json!({})));
    hear(&mut stream);
    assert_eq!(last_word(&mut stream), (Code::InvalidArgument, "the first frame is not `hello`".into()));
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for() {
    let served = Served::with_patience(Span(50));
    let mut stream = served.raw();
    assert_eq!(last_word(&mut stream), (Code::Unavailable, "no hello came in time".into()));
}

#[test]
fn a_malformed_frame_ends_the_connection_with_a_reason() {
    let served = Served::new();
    let mut stream = served.greeted();
    stream.write_all(&[0, 0, 0, 2, 0xc1, 0xc1]).unwrap();
    let (code, message) = last_word(&mut stream);
    assert_eq!(code, Code::InvalidArgument);
    assert!(message.starts_with("the frame cannot be read"), "{message}");

    let mut stream = served.greeted();
    say(&mut stream, &request(1, "daemon status", json!("x".repeat(LIMIT))));
    let (_, message) = last_word(&mut stream);
    assert!(message.ends_with("is longer than the 4096 that are allowed"), "{message}");
}

#[test]
fn the_end_closes_the_door_and_keeps_who_is_inside() {
    let mut served = Served::new();
    let mut stream = served.greeted();
    say(&mut stream, &request(7, "daemon stop", json!({})));
    assert!(matches!(hear(&mut stream), Some(Frame::Ok { id: 7, .. })));
    let inside = served.end();
    assert_eq!(inside.len(), 1);
    // Nobody else comes in, and for a client there is no daemon.
    assert!(Client::connect(&served.paths.socket(), LIMIT, Span::MINUTE).unwrap().is_none());
    // The one inside sees the end only when the daemon lets go.
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let _context = served.runtime.enter();
    drop(inside);
    stream.set_nonblocking(false).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_socket_left_by_a_dead_daemon_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::in_folder(home.path());
    drop(std::os::unix::net::UnixListener::bind(paths.socket()).unwrap());
    assert!(paths.socket().exists());
    assert!(Client::connect(&paths.socket(), LIMIT, Span::MINUTE).unwrap().is_none());
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async { socket::bind(&paths) }).unwrap();
}
