//! A client of REST that says exactly what it is told to, also what no library would.

use super::World;
use super::world::PATIENCE;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// A daemon's REST with its tokens.
pub(crate) struct Http {
    pub(crate) address: String,
    pub(crate) full: String,
    pub(crate) read: String,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answered {
    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The settings that switch REST on at a free port.
pub(crate) const ON: &str = "[rest]\nenabled = true\naddress = \"127.0.0.1:0\"\n";

impl Http {
    /// The REST of a world whose daemon runs.
    pub(crate) fn of(world: &World) -> Http {
        let status = world.json(&["daemon", "status"]);
        let url = status["rest"].as_str().or(status["mcp"].as_str()).expect("HTTP is off");
        let address = url.strip_prefix("http://").unwrap().trim_end_matches("/mcp").to_owned();
        let token = |name| std::fs::read_to_string(world.home().join(name)).unwrap().trim().to_owned();
        Http { address, full: token("token"), read: token("token-read") }
    }

    /// Sends bytes and reads until the server closes.
    pub(crate) fn raw(&self, request: &[u8]) -> Answered {
        let mut stream = self.connect();
        // A server that has refused already may not read the rest.
        let _ = stream.write_all(request);
        heard(stream)
    }

    /// A connection that waits as long as a story does.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A request with exactly these headers beside `Connection` and the body's length.
    pub(crate) fn send(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answered {
        let mut request = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        self.raw(&[request.as_bytes(), body].concat())
    }

    /// A request as a well-behaved client with the full token sends it.
    pub(crate) fn call(&self, line: &str, body: Option<&Value>) -> Answered {
        let authorization = format!("Bearer {}", self.full);
        let mut headers = vec![("Host", self.address.as_str()), ("Authorization", &authorization)];
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.send(line, &headers, &body)
    }
}

/// What a server says until it closes.
pub(crate) fn heard(mut stream: TcpStream) -> Answered {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap_or_else(|error| panic!("no end of the answer: {error}"));
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let lower = head.to_lowercase();
    let body = match lower.contains("transfer-encoding: chunked") {
        true if lower.contains("text/event-stream") => dechunked(body),
        true => panic!("answers are sent whole: {head}"),
        false => body.to_owned(),
    };
    Answered { status: status.unwrap_or_else(|| panic!("{head}")), head: head.to_owned(), body }
}

/// A body that was sent in chunks.
fn dechunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, behind)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body.push_str(&behind[..length]);
        rest = behind[length..].strip_prefix("\r\n").unwrap();
    }
    body
}
