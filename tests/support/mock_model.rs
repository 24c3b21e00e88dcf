//! A mock of a language model's server with scripted responses, over real sockets on loopback.
#![allow(dead_code, unreachable_pub, reason = "every test that includes this file uses a part of it")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Method and path, such as `POST /v1/messages`.
    pub line: String,
    /// Names and values; the names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The JSON body, or null when it is not JSON.
    pub body: Value,
}

impl RecordedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The text of the last message.
    pub fn last_message(&self) -> &str {
        let messages = self.body.get("messages").and_then(Value::as_array);
        let last = messages.and_then(|messages| messages.last()?.get("content")?.as_str());
        last.unwrap_or_default()
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Answers with this status, these headers and this body.
    Full(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// As `Full`, but only the first half of the body before it closes the connection.
    Half(u16, Vec<u8>),
    /// As `Half`, but the connection stays open until the server is dropped.
    Stall(Vec<u8>),
    /// Sends nothing until the server is dropped.
    Hang,
    /// Answers with this body, status 200, once [`MockModel::release`] is called.
    Late(Vec<u8>),
    /// Sends an endless body.
    Endless,
}

impl Answer {
    /// Status 200 with a JSON body.
    pub fn ok(body: Value) -> Answer {
        Answer::status(200, body)
    }

    /// A status with a JSON body.
    pub fn status(status: u16, body: Value) -> Answer {
        Answer::Full(status, Vec::new(), body.to_string().into_bytes())
    }

    /// A status with an error in the form OpenAI and Anthropic use.
    pub fn error(status: u16, kind: &str, message: &str) -> Answer {
        Answer::status(status, json!({"error": {"type": kind, "code": kind, "message": message}}))
    }

    /// The same answer with a header.
    pub fn with(self, name: &'static str, value: &str) -> Answer {
        match self {
            Answer::Full(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Answer::Full(status, headers, body)
            }
            other => other,
        }
    }

    /// A chat completion with this text.
    pub fn chat(text: &str) -> Answer {
        Answer::ok(completion(json!({"role": "assistant", "content": text}), "stop"))
    }

    /// A message of Anthropic's that uses the tool `reply`.
    pub fn tool(input: Value) -> Answer {
        Answer::ok(message(
            json!([{"type": "tool_use", "id": "t1", "name": "reply", "input": input}]),
            "tool_use",
        ))
    }
}

/// A chat completion around a message: 10 tokens in, 5 out.
pub fn completion(message: Value, finish_reason: &str) -> Value {
    json!({
        "id": "c1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}

/// A message of Anthropic's around its content: 10 tokens in, of which 4 from the cache, 5 out.
pub fn message(content: Value, stop_reason: &str) -> Value {
    json!({
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5},
    })
}

/// The server. It stops when it is dropped.
pub struct MockModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    asked: Mutex<Vec<RecordedRequest>>,
    /// Signalled for each request.
    arrived: Condvar,
    /// One sender for each answer that is held back. Dropping them ends the hanging connections.
    held: Mutex<Vec<Sender<()>>>,
    stopped: AtomicBool,
}

impl MockModel {
    /// Gives the answers in turn; further requests get status 418.
    pub fn script(answers: Vec<Answer>) -> MockModel {
        let mut answers = answers.into_iter();
        MockModel::serve(move |_| {
            answers.next().unwrap_or_else(|| Answer::error(418, "script", "the script is over"))
        })
    }

    /// Answers each request with the result of `answer`.
    pub fn serve(answer: impl FnMut(&RecordedRequest) -> Answer + Send + 'static) -> MockModel {
        let listener =
            TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port on loopback: {error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("no address: {error}"));
        let shared = Arc::new(Shared {
            asked: Mutex::default(),
            arrived: Condvar::new(),
            held: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let (theirs, answer) = (shared.clone(), Arc::new(Mutex::new(answer)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if theirs.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, answer) = (theirs.clone(), answer.clone());
                std::thread::spawn(move || shared.handle(stream, &answer));
            }
        });
        MockModel { address, shared }
    }

    /// Its root address, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.asked).clone()
    }

    /// Waits until a request satisfies a condition, at most `limit`.
    pub fn wait_for(
        &self,
        limit: Duration,
        satisfied: impl Fn(&RecordedRequest) -> bool,
    ) -> Option<RecordedRequest> {
        let asked = lock(&self.shared.asked);
        let missing = |asked: &mut Vec<RecordedRequest>| !asked.iter().any(&satisfied);
        let (asked, _) = self
            .shared
            .arrived
            .wait_timeout_while(asked, limit, missing)
            .unwrap_or_else(PoisonError::into_inner);
        asked.iter().find(|request| satisfied(request)).cloned()
    }

    /// Sends all answers that are held back.
    pub fn release(&self) {
        for held in lock(&self.shared.held).drain(..) {
            let _ = held.send(());
        }
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        lock(&self.shared.held).clear();
        // Wakes the listener so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn handle<F: FnMut(&RecordedRequest) -> Answer>(&self, stream: TcpStream, answer: &Mutex<F>) {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        let Some(asked) = read(&stream) else { return };
        lock(&self.asked).push(asked.clone());
        self.arrived.notify_all();
        let answer = lock(answer)(&asked);
        let _ = self.answer(stream, answer);
    }

    fn answer(&self, mut stream: TcpStream, answer: Answer) -> std::io::Result<()> {
        match answer {
            Answer::Full(status, headers, body) => {
                write_head(&mut stream, status, &headers, body.len())?;
                stream.write_all(&body)
            }
            Answer::Half(status, body) => {
                write_head(&mut stream, status, &[], body.len())?;
                stream.write_all(body.get(..body.len() / 2).unwrap_or_default())
            }
            Answer::Stall(body) => {
                write_head(&mut stream, 200, &[], body.len())?;
                stream.write_all(body.get(..body.len() / 2).unwrap_or_default())?;
                let _ = self.hold().recv();
                Ok(())
            }
            Answer::Hang => {
                let _ = self.hold().recv();
                Ok(())
            }
            Answer::Late(body) => {
                if self.hold().recv().is_ok() {
                    write_head(&mut stream, 200, &[], body.len())?;
                    stream.write_all(&body)?;
                }
                Ok(())
            }
            Answer::Endless => {
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
                )?;
                while !self.stopped.load(Ordering::SeqCst) {
                    stream.write_all(&[b' '; 65536])?;
                }
                Ok(())
            }
        }
    }

    fn hold(&self) -> Receiver<()> {
        let (sender, receiver) = channel();
        lock(&self.held).push(sender);
        receiver
    }
}

fn read(stream: &TcpStream) -> Option<RecordedRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    (!line.is_empty()).then_some(RecordedRequest { line, headers, body })
}

fn write_head(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(&'static str, String)],
    length: usize,
) -> std::io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} Mock\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n"
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())
}

/// Ignores poisoning: a panic of a test must not stop the server.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
