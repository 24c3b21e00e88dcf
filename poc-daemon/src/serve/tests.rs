//! Tests of the socket, frame by frame.

use super::{rest, socket};
use crate::pools;
use crate::sessions::{SessionAccess, SessionGrant};
use crate::state::DaemonState;
use poc_agent::Catalog;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::Tuple;
use poc_graph::error::Code;
use poc_graph::rng::SeededRng;
use poc_graph::time::{Span, SystemClock};
use poc_memory::client::Client;
use poc_memory::ops::Principal;
use poc_memory::wire::{self, CONNECTION, Frame, Hello, PROTOCOL};
use poc_notes::Memory;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use tokio::runtime::Runtime;

const LIMIT: usize = 4096;

/// The socket of a daemon without its other tasks.
struct TestServer {
    _home: tempfile::TempDir,
    paths: Paths,
    state: Arc<DaemonState>,
    runtime: Runtime,
    serving: Option<tokio::task::JoinHandle<Vec<tokio::net::UnixStream>>>,
}

impl TestServer {
    fn new() -> TestServer {
        TestServer::with_handshake_timeout(Span::MINUTE)
    }

    /// A socket that waits this long for the hello of a client.
    fn with_handshake_timeout(timeout: Span) -> TestServer {
        let mut config = Config::defaults().unwrap();
        config.daemon.handshake_timeout = timeout;
        TestServer::with_settings(config, &[])
    }

    /// A socket with these settings and agents, which are pairs of a name and the text of a file.
    fn with_settings(mut config: Config, agents: &[(&str, &str)]) -> TestServer {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        config.embedder.kind = "hash".into();
        config.daemon.max_frame_bytes = LIMIT;
        let runtime = pools::runtime(&config).unwrap();
        let (clock, rng) = (Arc::new(SystemClock), Arc::new(SeededRng::new(1)));
        let memory = Memory::open_temporary(paths.clone(), config, clock, rng).unwrap();
        let mut catalog = Catalog::default();
        if !agents.is_empty() {
            std::fs::create_dir_all(paths.agents()).unwrap();
            for (name, text) in agents {
                std::fs::write(paths.agents().join(format!("{name}.toml")), text).unwrap();
            }
            catalog = Catalog::load(&memory).unwrap();
        }
        let state = Arc::new(DaemonState::new(memory, catalog));
        let listener = runtime.block_on(async { socket::bind(&paths) }).unwrap();
        let serving = runtime.spawn(socket::run(state.clone(), listener));
        TestServer { _home: home, paths, state, runtime, serving: Some(serving) }
    }

    /// A connection on which nothing was sent yet.
    fn raw(&self) -> UnixStream {
        UnixStream::connect(self.paths.socket()).unwrap()
    }

    fn greeted(&self) -> UnixStream {
        let mut stream = self.raw();
        send(&mut stream, &Frame::Hello { hello: Hello::current() });
        assert_eq!(receive(&mut stream), Some(Frame::Hello { hello: Hello::current() }));
        stream
    }

    fn client(&self) -> Client {
        Client::connect(&self.paths.socket(), LIMIT, Span::MINUTE).unwrap().unwrap()
    }

    /// Stops the server and returns the connections that are still open. Fails if it does not stop.
    #[track_caller]
    fn end(&mut self) -> Vec<tokio::net::UnixStream> {
        self.state.stop();
        let serving = self.serving.take().unwrap();
        let limit = Span::MINUTE.std();
        let ended = self.runtime.block_on(async { tokio::time::timeout(limit, serving).await });
        let Ok(ended) = ended else { panic!("the server does not stop") };
        ended.unwrap()
    }
}

fn send(stream: &mut UnixStream, frame: &Frame) {
    wire::write(stream, frame, 1 << 20).unwrap();
}

fn receive(stream: &mut UnixStream) -> Option<Frame> {
    wire::read(stream, LIMIT).unwrap()
}

/// The error with which the server closes the connection.
fn closing_error(stream: &mut UnixStream) -> (Code, String) {
    let Some(Frame::Err { id: CONNECTION, err }) = receive(stream) else { panic!("no error before the end") };
    assert_eq!(receive(stream), None);
    (err.code, err.message)
}

fn request(id: u64, op: &str, args: Value) -> Frame {
    Frame::Request { id, op: op.into(), args, actor: Principal::Person }
}

#[test]
fn a_request_is_answered() {
    let server = TestServer::new();
    let status = server.client().call("daemon status", json!({}), &|_| {}).unwrap();
    assert_eq!(status["pid"], std::process::id());
}

#[test]
fn work_that_outlives_its_caller_stops_with_the_daemon() {
    let server = TestServer::new();
    let file = json!({"from": {"text": "# A file\n\nIts text.\n"}});
    let import = |server: &TestServer| server.client().call("import", file.clone(), &|_| {});
    assert_eq!(import(&server).unwrap()["inserted"], 1);
    let before = server.state.memory.store.published_seq();
    server.state.cancellation.cancel();
    let error = import(&server).unwrap_err();
    assert!(error.message.starts_with("the request was cancelled"), "{error}");
    assert_eq!(server.state.memory.store.published_seq(), before);
    // An op that watches the shutdown grace continues.
    let folder = server.paths.store().with_file_name("backups");
    server.client().call("backup", json!({"path": folder}), &|_| {}).unwrap();
}

#[test]
fn only_its_owner_may_use_the_socket() {
    let server = TestServer::new();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(server.paths.socket()), 0o600);
}

/// The socket and its folder let everybody in, so that only the check of the user is left.
#[cfg(target_os = "linux")]
#[test]
fn another_user_is_refused_at_the_socket() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: only root can connect as another user");
        return;
    }
    let server = TestServer::new();
    let socket = server.paths.socket();
    let folder = socket.parent().unwrap();
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // It shows that the other user could connect, since it checks nobody.
    let control = folder.join("control.sock");
    let _unchecked = std::os::unix::net::UnixListener::bind(&control).unwrap();
    open(folder, 0o755);
    open(&control, 0o666);
    open(&socket, 0o666);
    // Linux has the user of each thread. The thread ends with this scope.
    let (reachable, answer) = std::thread::scope(|scope| {
        let other_user = scope.spawn(|| {
            let nobody = rustix::process::Uid::from_raw(NOBODY);
            // In a container, root may not be allowed to become another user.
            let changed = rustix::thread::set_thread_res_uid(nobody, nobody, nobody);
            if changed.is_err() || UnixStream::connect(&control).is_err() {
                return (false, None);
            }
            let mut stream = UnixStream::connect(&socket).unwrap();
            // The server may have closed the connection already.
            let _ = wire::write(&mut stream, &Frame::Hello { hello: Hello::current() }, LIMIT);
            (true, receive(&mut stream))
        });
        other_user.join().unwrap()
    });
    if !reachable {
        eprintln!("not run: another user cannot reach `{}`", folder.display());
        return;
    }
    let Some(Frame::Err { id: CONNECTION, err }) = answer else { panic!("{answer:?}") };
    insta::assert_snapshot!(err.line(), @"the daemon runs as the user 0, and accepts no commands of the user 65534; run the command as the user of the daemon");
    // Its owner is still served.
    server.greeted();
}

#[test]
fn answers_carry_the_id_of_their_request() {
    let server = TestServer::new();
    let mut stream = server.greeted();
    for id in 1..=20 {
        send(&mut stream, &request(id, if id % 2 == 0 { "daemon status" } else { "dance" }, json!({})));
    }
    let mut answered: Vec<u64> = (0..20)
        .map(|_| match receive(&mut stream).unwrap() {
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
fn an_invalid_argument_fails_the_request_and_not_the_connection() {
    let server = TestServer::new();
    let mut client = server.client();
    let error = client.call("daemon status", json!({"colour": "blue"}), &|_| {}).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    client.call("daemon status", json!({}), &|_| {}).unwrap();
}

#[test]
fn another_protocol_version_is_refused_after_our_hello() {
    let server = TestServer::new();
    let mut stream = server.raw();
    send(&mut stream, &Frame::Hello { hello: Hello { protocol: PROTOCOL + 1, version: "9".into() } });
    assert_eq!(receive(&mut stream), Some(Frame::Hello { hello: Hello::current() }));
    let (code, message) = closing_error(&mut stream);
    assert_eq!(code, Code::Unavailable);
    let expected = format!("the client is version 9 and speaks protocol {}", PROTOCOL + 1);
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn a_first_frame_other_than_hello_is_refused() {
    let server = TestServer::new();
    let mut stream = server.raw();
    send(&mut stream, &request(1, "daemon status", json!({})));
    receive(&mut stream);
    assert_eq!(closing_error(&mut stream), (Code::InvalidArgument, "the first frame is not `hello`".into()));
}

#[test]
fn a_client_without_hello_is_disconnected() {
    let server = TestServer::with_handshake_timeout(Span(50));
    let mut stream = server.raw();
    let expected = "the client sent no `hello` within 50ms";
    assert_eq!(closing_error(&mut stream), (Code::Unavailable, expected.into()));
}

#[test]
fn a_malformed_frame_closes_the_connection_with_an_error() {
    let server = TestServer::new();
    let mut stream = server.greeted();
    stream.write_all(&[0, 0, 0, 2, 0xc1, 0xc1]).unwrap();
    let (code, message) = closing_error(&mut stream);
    assert_eq!(code, Code::InvalidArgument);
    assert!(message.starts_with("the frame cannot be read"), "{message}");

    let mut stream = server.greeted();
    send(&mut stream, &request(1, "daemon status", json!("x".repeat(LIMIT))));
    let (_, message) = closing_error(&mut stream);
    assert!(message.ends_with("is longer than the 4096 that are allowed"), "{message}");
}

#[test]
fn a_stop_refuses_new_clients_and_keeps_open_connections() {
    let mut server = TestServer::new();
    let mut stream = server.greeted();
    send(&mut stream, &request(7, "daemon stop", json!({})));
    assert!(matches!(receive(&mut stream), Some(Frame::Ok { id: 7, .. })));
    let open = server.end();
    assert_eq!(open.len(), 1);
    // A new client finds no daemon.
    assert!(Client::connect(&server.paths.socket(), LIMIT, Span::MINUTE).unwrap().is_none());
    // The open connection ends only when the daemon drops it.
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let _context = server.runtime.enter();
    drop(open);
    stream.set_nonblocking(false).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

/// More requests wait for a model than there are blocking threads, and none of them gets an answer.
#[test]
fn slow_models_never_delay_other_requests() {
    // It accepts calls and answers none.
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = format!(
        "daemon.max-connections = 4\nrest.max-connections = 4\n\
         [models.slow]\nprovider = \"slow\"\nid = \"slow\"\n\
         [providers.slow]\nkind = \"openai\"\nbase-url = \"http://{}/v1\"\nconcurrency = 1024\n",
        model.local_addr().unwrap()
    );
    let config = Config::layered(Some(("config.toml", &settings)), std::iter::empty()).unwrap();
    let agent = "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"slow\"\nactions = [\"link-add\"]\n";
    let threads = pools::threads(&config);
    let places = pools::Pools::new(&config).long_running.size();
    let runs = config.daemon.max_in_flight;
    assert!(places < threads && threads < runs, "{places} places, {threads} threads, {runs} runs");

    let server = TestServer::with_settings(config, &[("slow", agent)]);
    let note = json!({"title": "A note", "body": "about page splits"});
    server.client().call("insert", note, &|_| {}).unwrap();
    let mut stream = server.greeted();
    for id in 1..=runs as u64 {
        // A dry run claims nothing, so every one of them may call the model at the same time.
        send(&mut stream, &request(id, "agent run", json!({"agent": "slow", "dry_run": true})));
    }
    let calls: Vec<TcpStream> = model.incoming().take(places).map(Result::unwrap).collect();
    let status = server.client().call("daemon status", json!({}), &|_| {}).unwrap();
    assert_eq!(status["pid"], std::process::id());
    server.client().call("insert", json!({"title": "Another note", "body": "x"}), &|_| {}).unwrap();

    // Every run ends once its call is cancelled.
    server.state.calls.cancel();
    drop(model);
    for _ in 0..runs {
        assert!(matches!(receive(&mut stream), Some(Frame::Ok { .. } | Frame::Err { .. })));
    }
    drop(calls);
}

/// The clients send requests and read no answers.
#[test]
fn a_client_that_reads_nothing_keeps_neither_its_place_nor_the_daemon_from_stopping() {
    let mut config = Config::defaults().unwrap();
    config.daemon.max_connections = 1;
    let mut server = TestServer::with_settings(config, &[]);
    let note = json!({"key": "note", "title": "A note", "body": "x".repeat(2500)});
    server.client().call("insert", note, &|_| {}).unwrap();
    let requests = |count: u64| -> Vec<u8> {
        let get = |id| wire::encode(&request(id, "get", json!({"node": "note"})), LIMIT).unwrap();
        (1..=count).flat_map(get).collect()
    };
    // The socket does not take all of these answers, but all of them are ready: the connection is idle.
    let mut idle = server.greeted();
    idle.write_all(&requests(70)).unwrap();
    assert_eq!(server.client().call("daemon status", json!({}), &|_| {}).unwrap()["pid"], std::process::id());
    drop(idle);
    // The server does not read more requests before it can send its answers.
    let mut busy = server.greeted();
    busy.set_write_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    while busy.write_all(&requests(1000)).is_ok() {}
    server.end();
}

#[test]
fn an_incomplete_frame_does_not_keep_the_server_from_stopping() {
    let mut server = TestServer::with_handshake_timeout(Span::HOUR);
    let hello = wire::encode(&Frame::Hello { hello: Hello::current() }, LIMIT).unwrap();
    let (nothing, mut half_hello, mut half_request) = (server.raw(), server.raw(), server.greeted());
    half_hello.write_all(&hello[..hello.len() / 2]).unwrap();
    let whole = wire::encode(&request(1, "daemon status", json!({})), LIMIT).unwrap();
    half_request.write_all(&whole[..whole.len() / 2]).unwrap();
    assert_eq!(server.end().len(), 1);
    for mut stream in [nothing, half_hello] {
        assert_eq!(closing_error(&mut stream), (Code::Unavailable, "the daemon is stopping".into()));
    }
    drop(half_request);
}

/// The request waits for a transaction that does not end.
#[test]
fn a_request_that_cannot_be_interrupted_does_not_keep_the_server_from_stopping() {
    let mut server = TestServer::new();
    let memory = Memory::clone(&server.state.memory);
    let ((started, starts), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    let holder = std::thread::spawn(move || {
        let held = memory.store.transact(memory.cause("manual", "test"), |_| {
            started.send(()).unwrap();
            // The end of the test.
            let _ = released.recv();
            Ok(())
        });
        held.map(drop)
    });
    starts.recv().unwrap();
    let mut stream = server.greeted();
    send(&mut stream, &request(1, "insert", json!({"title": "A note"})));
    // Requests are read in order.
    send(&mut stream, &request(2, "dance", json!({})));
    assert!(matches!(receive(&mut stream), Some(Frame::Err { id: 2, .. })));
    let state = server.state.clone();
    server.runtime.spawn(async move { state.end_requests().await });
    let _open = server.end();
    let Some(Frame::Err { id: 1, err }) = receive(&mut stream) else { panic!("no answer") };
    assert_eq!(err.message, "the daemon stopped before `insert` was done");
    drop(release);
    holder.join().unwrap().unwrap();
}

#[test]
fn the_socket_of_a_crashed_daemon_is_replaced() {
    let home = poc_graph::testing::folder();
    let paths = Paths::in_folder(home.path());
    drop(std::os::unix::net::UnixListener::bind(paths.socket()).unwrap());
    assert!(paths.socket().exists());
    assert!(Client::connect(&paths.socket(), LIMIT, Span::MINUTE).unwrap().is_none());
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async { socket::bind(&paths) }).unwrap();
}

#[test]
fn an_open_page_is_served_again_only_at_an_address_that_the_settings_allow() {
    let server = TestServer::new();
    let state = &server.state;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    state.sessions.set_address(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
    let grant = SessionGrant { scope: SessionAccess::ReadOnly, tenant: Tuple::default() };
    state.sessions.open(grant, "localhost", state.memory.now(), Span::HOUR).unwrap();
    let _context = server.runtime.enter();
    assert!(rest::bind(state).unwrap().is_some());
    assert_eq!(state.http.get(), Some(&SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
}

#[test]
fn a_deleted_socket_is_created_again_unless_the_memory_was_moved() {
    let home = poc_graph::testing::folder();
    let paths = Paths::in_folder(&home.path().join("memory"));
    paths.create().unwrap();
    let (clock, rng) = (Arc::new(SystemClock), Arc::new(SeededRng::new(1)));
    let mut config = Config::defaults().unwrap();
    config.embedder.kind = "hash".into();
    let memory = Memory::open_temporary(paths.clone(), config, clock, rng).unwrap();
    let runtime = Runtime::new().unwrap();
    let is_bound_again = || runtime.block_on(async { socket::bind_again(&memory) }).is_some();
    assert!(is_bound_again());
    assert_eq!(std::fs::metadata(paths.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!is_bound_again(), "the file exists");
    std::fs::rename(home.path().join("memory"), home.path().join("away")).unwrap();
    assert!(!is_bound_again());
    paths.create().unwrap();
    assert!(!is_bound_again(), "another memory is there");
    std::fs::write(paths.store().join("lock"), "").unwrap();
    assert!(!is_bound_again() && !paths.socket().exists());
}

#[test]
fn a_daemon_that_is_asked_to_stop_does_not_start_again() {
    for stops_first in [true, false] {
        let mut server = TestServer::new();
        let state = server.state.clone();
        if stops_first {
            state.stop();
            state.restart();
        } else {
            state.restart();
            assert!(state.is_restarting() && state.is_stopping());
            state.stop();
        }
        assert!(!state.is_restarting() && state.is_stopping(), "{stops_first}");
        server.end();
    }
}
