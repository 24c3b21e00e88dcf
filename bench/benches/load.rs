//! A hundred concurrent clients call a daemon for a minute while it imports. Half of them use the socket and half REST.
//! No call may fail, and all acknowledged notes must exist at the end.
//!
//! `cargo build --release && cargo bench -p poc-bench --bench load [-- --clients=N --seconds=N]`

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench"
)]

use poc_bench::measure::{Measurement, Report, folder, median, percentile, timed};
use poc_bench::processes::{DaemonProcess, command, connect};
use poc_memory::client::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The numbers of notes before the start, and of notes that are imported meanwhile.
const NOTES: usize = 5_000;
const IMPORTED: usize = 20_000;
/// The numbers of requests, out of ten, that store a note and that read one. The others search.
const INSERTS: u64 = 3;
const GETS: u64 = 2;

/// A client's connection.
enum Connection {
    Socket(Client),
    Rest { stream: BufReader<TcpStream>, token: String },
}

impl Connection {
    fn call(&mut self, op: &str, args: Value) -> Result<Value, String> {
        match self {
            Connection::Socket(client) => client.call(op, args, &|_| {}).map_err(|error| error.to_string()),
            Connection::Rest { stream, token } => {
                rest(stream, token, op, &args).map_err(|error| error.to_string())
            }
        }
    }
}

fn rest(stream: &mut BufReader<TcpStream>, token: &str, op: &str, args: &Value) -> std::io::Result<Value> {
    let text = |name: &str| args[name].as_str().unwrap_or_default().replace(' ', "+");
    let (line, body) = match op {
        "insert" => ("POST /v1/insert".to_owned(), args.to_string()),
        "get" => (format!("GET /v1/nodes/{}", text("node")), String::new()),
        _ => (format!("GET /v1/search?text={}&top_k=5", text("text")), String::new()),
    };
    let host = stream.get_ref().peer_addr()?;
    write!(
        stream.get_mut(),
        "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut status = String::new();
    stream.read_line(&mut status)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        stream.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    if status.contains(" 200 ") || status.contains(" 201 ") {
        Ok(serde_json::from_slice(&body)?)
    } else {
        Err(std::io::Error::other(format!("{status}{}", String::from_utf8_lossy(&body))))
    }
}

/// The calls of one client.
#[derive(Default)]
struct ClientLog {
    times: BTreeMap<&'static str, Vec<f64>>,
    stored: Vec<String>,
    errors: Vec<String>,
}

fn client(number: usize, mut connection: Connection, until: Instant) -> ClientLog {
    let mut log = ClientLog::default();
    let words = ["journal", "split", "recovery", "lentil soup", "page write", "crash", "weather", "garden"];
    for round in 0.. {
        if Instant::now() >= until {
            break;
        }
        let word = words[(number + round) % words.len()];
        let (op, args) = match (number + round) as u64 % 10 {
            n if n < INSERTS => (
                "insert",
                json!({"title": format!("Client {number} says {round} of {word}"),
                       "body": format!("What client {number} knows of {word}, number {round}."),
                       "keywords": [word]}),
            ),
            n if n < INSERTS + GETS && !log.stored.is_empty() => {
                ("get", json!({"node": log.stored[round % log.stored.len()]}))
            }
            _ => ("retrieve", json!({"text": format!("{word} of client {number}"), "top_k": 5})),
        };
        let (seconds, answer) = timed(|| connection.call(op, args));
        match answer {
            Ok(answer) => {
                log.times.entry(op).or_default().push(seconds);
                if op == "insert" {
                    log.stored.push(answer["id"].as_str().unwrap().to_owned());
                }
            }
            Err(error) => log.errors.push(format!("{op}: {error}")),
        }
    }
    log
}

/// Writes a file of distinct notes.
fn notes(path: &Path, of: &str, count: usize) {
    let mut text = String::new();
    for n in 0..count {
        let note = json!({"title": format!("{of} {n}"), "body": format!("Note {n} of {of}: a crash, a page, a split, number {n}."), "keywords": [format!("k{}", n % 50)]});
        writeln!(text, "{note}").unwrap();
    }
    std::fs::write(path, text).unwrap();
}

/// The value of an option on the command line.
fn option(name: &str) -> Option<usize> {
    std::env::args().find_map(|word| word.strip_prefix(name)?.parse().ok())
}

fn main() {
    let (clients, seconds) = (option("--clients=").unwrap_or(100), option("--seconds=").unwrap_or(60));
    let home = tempfile::tempdir_in(folder()).unwrap();
    let home = home.path();
    std::fs::write(home.join("config.toml"), "[rest]\nenabled = true\naddress = \"127.0.0.1:0\"\n").unwrap();
    notes(&home.join("before.jsonl"), "before", NOTES);
    notes(&home.join("meanwhile.jsonl"), "meanwhile", IMPORTED);
    assert!(
        command("poc-memory", home)
            .args(["import", "before.jsonl"])
            .current_dir(home)
            .status()
            .unwrap()
            .success()
    );
    let _daemon = DaemonProcess::start(home);
    let mut ask = connect(home).unwrap();
    let status = ask.call("daemon status", json!({}), &|_| {}).unwrap();
    let address = status["rest"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let token = std::fs::read_to_string(home.join("token")).unwrap().trim().to_owned();
    let mut import =
        command("poc-memory", home).args(["import", "meanwhile.jsonl"]).current_dir(home).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(seconds as u64);
    let all: Vec<ClientLog> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..clients)
            .map(|number| {
                let connection = if number % 2 == 0 {
                    Connection::Socket(connect(home).unwrap())
                } else {
                    let stream = BufReader::new(TcpStream::connect(&address).unwrap());
                    Connection::Rest { stream, token: token.clone() }
                };
                scope.spawn(move || client(number, connection, until))
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let imported = import.wait().unwrap().success();
    let mut report = Report::new("load");
    for op in ["insert", "get", "retrieve"] {
        let times: Vec<f64> = all.iter().filter_map(|log| log.times.get(op)).flatten().copied().collect();
        let count = times.len();
        for (share, value) in [
            ("p50", median(times.clone())),
            ("p99", percentile(times.clone(), 0.99)),
            ("worst", percentile(times, 1.0)),
        ] {
            report.add(
                Measurement::time(format!("{op}, {share} of {clients} clients"), NOTES, value)
                    .note(format!("{count} calls")),
            );
        }
    }
    let errors: Vec<&String> = all.iter().flat_map(|log| &log.errors).collect();
    for error in errors.iter().take(5) {
        println!("{error}");
    }
    let stored: Vec<&String> = all.iter().flat_map(|log| &log.stored).collect();
    let lost = stored.iter().filter(|id| ask.call("get", json!({"node": id}), &|_| {}).is_err()).count();
    let nodes = ask.call("stats", json!({}), &|_| {}).unwrap()["nodes"].as_u64().unwrap() as usize;
    report.add(Measurement::amount("errors", NOTES, errors.len() as f64, "").within(0.0));
    report.add(
        Measurement::amount("acknowledged notes that are lost", NOTES, lost as f64, "")
            .within(0.0)
            .note(format!("of {}", stored.len())),
    );
    let expected = NOTES + stored.len() + if imported { IMPORTED } else { 0 };
    report.add(
        Measurement::amount("notes too many or too few", NOTES, nodes.abs_diff(expected) as f64, "")
            .within(0.0)
            .note(if imported { "the import ended well" } else { "the import failed" }),
    );
    report.save();
    assert!(imported && errors.is_empty() && lost == 0 && nodes == expected);
}
