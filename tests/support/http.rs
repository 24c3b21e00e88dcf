//! An HTTP client that sends exactly the given bytes, also those that no library would send.

use super::World;
use super::world::WAIT_LIMIT;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The address of a daemon's HTTP server, and its tokens.
pub(crate) struct Http {
    pub(crate) address: String,
    pub(crate) full: String,
    pub(crate) model: String,
    pub(crate) read: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpResponse {
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

/// The settings that enable REST at a free port.
pub(crate) const ON: &str = "[rest]\nenabled = true\naddress = \"127.0.0.1:0\"\n";

impl Http {
    /// The HTTP server of a world whose daemon runs.
    pub(crate) fn of(world: &World) -> Http {
        let status = world.json(&["daemon", "status"]);
        let url = status["rest"].as_str().or(status["mcp"].as_str()).expect("HTTP is off");
        let address = url.strip_prefix("http://").unwrap().trim_end_matches("/mcp").to_owned();
        let token = |name| std::fs::read_to_string(world.home().join(name)).unwrap().trim().to_owned();
        Http { address, full: token("token"), model: token("token-model"), read: token("token-read") }
    }

    /// Sends bytes and reads until the server closes.
    pub(crate) fn raw(&self, request: &[u8]) -> HttpResponse {
        let mut stream = self.connect();
        // A server that has rejected the request already may not read the rest.
        let _ = stream.write_all(request);
        read_response(stream)
    }

    /// A connection with the read timeout [`WAIT_LIMIT`].
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(WAIT_LIMIT)).unwrap();
        stream
    }

    /// Sends a request with exactly these headers, `Connection` and the body's length.
    pub(crate) fn send(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
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

    /// Sends a well-formed request with the token of a person's programs.
    pub(crate) fn call(&self, line: &str, body: Option<&Value>) -> HttpResponse {
        self.call_with(&self.full, &[], line, body)
    }

    /// Sends a well-formed request with a token and further headers.
    pub(crate) fn call_with(
        &self,
        token: &str,
        more: &[(&str, &str)],
        line: &str,
        body: Option<&Value>,
    ) -> HttpResponse {
        let authorization = format!("Bearer {token}");
        let mut headers = vec![("Host", self.address.as_str()), ("Authorization", &authorization)];
        headers.extend(more);
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.send(line, &headers, &body)
    }
}

/// Reads a response until the server closes the connection.
pub(crate) fn read_response(mut stream: TcpStream) -> HttpResponse {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap_or_else(|error| panic!("no end of the answer: {error}"));
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let lower = head.to_lowercase();
    let body = match lower.contains("transfer-encoding: chunked") {
        true if lower.contains("text/event-stream") => decode_chunks(body),
        true => panic!("answers are sent whole: {head}"),
        false => body.to_owned(),
    };
    HttpResponse { status: status.unwrap_or_else(|| panic!("{head}")), head: head.to_owned(), body }
}

/// Decodes a chunked body.
fn decode_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, behind)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body.push_str(&behind[..length]);
        rest = behind[length..].strip_prefix("\r\n").unwrap();
    }
    body
}
