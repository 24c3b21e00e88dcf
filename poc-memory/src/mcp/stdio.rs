//! MCP on standard input and output. Messages are lines, and every message is checked before the SDK decodes it.

use super::repeated_field;
use poc_graph::json::UniqueFields;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcError};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream, Stdin, Stdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Size in bytes of the buffer between the check and the SDK.
const BUFFER_BYTES: usize = 1 << 16;

/// The transport for a server of one client. It is created in the runtime that runs it.
pub struct StdioTransport {
    checked: AsyncRwTransport<RoleServer, DuplexStream, Stdout>,
    refused: mpsc::UnboundedReceiver<JsonRpcError>,
    /// Answers to refused messages that are being written.
    answers: Vec<JoinHandle<io::Result<()>>>,
}

impl StdioTransport {
    /// Reads standard input until it ends. It must be called in a Tokio runtime.
    pub fn new() -> StdioTransport {
        let (to, checked) = tokio::io::duplex(BUFFER_BYTES);
        let (refuse, refused) = mpsc::unbounded_channel();
        tokio::spawn(check::<Stdin>(tokio::io::stdin(), to, refuse));
        let checked = AsyncRwTransport::new_server(checked, tokio::io::stdout());
        StdioTransport { checked, refused, answers: Vec::new() }
    }
}

impl Default for StdioTransport {
    fn default() -> StdioTransport {
        StdioTransport::new()
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.checked.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            tokio::select! {
                biased;
                Some(refused) = self.refused.recv() => {
                    let answer = TxJsonRpcMessage::<RoleServer>::error(refused.error, refused.id);
                    self.answers.retain(|answer| !answer.is_finished());
                    self.answers.push(tokio::spawn(self.checked.send(answer)));
                }
                message = self.checked.receive() => {
                    if message.is_none() {
                        for answer in self.answers.drain(..) {
                            // The client may have closed its end.
                            let _ = answer.await;
                        }
                    }
                    return message;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.checked.close().await
    }
}

/// Passes on the lines of an input, except those that are refused. A line longer than the maximum length of a
/// message is passed on without a check, because the SDK drops it.
async fn check<R: AsyncRead + Unpin>(
    input: R,
    mut to: DuplexStream,
    refuse: mpsc::UnboundedSender<JsonRpcError>,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let (taken, is_complete) = match input.fill_buf().await {
            Ok([]) | Err(_) => return,
            Ok(available) => {
                let end = available.iter().position(|&byte| byte == b'\n');
                let taken = end.map_or(available.len(), |at| at + 1);
                line.extend(available.iter().take(taken));
                (taken, end.is_some())
            }
        };
        input.consume(taken);
        if !is_complete && !is_too_long && line.len() <= DEFAULT_MAX_LINE_LENGTH {
            continue;
        }
        let refusal = if is_complete && !is_too_long { refusal(&line) } else { None };
        is_too_long = !is_complete;
        if let Some(refusal) = refusal {
            // Sending fails only when the server has ended.
            let _ = refuse.send(refusal);
        } else if to.write_all(&line).await.is_err() {
            return;
        }
        line.clear();
    }
}

/// The answer to a line that is not JSON or gives a field twice; `None` for any other. The SDK would drop the first
/// kind without an answer. As over HTTP, the answer to a line whose id cannot be read has none.
fn refusal(line: &[u8]) -> Option<JsonRpcError> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let error = serde_json::from_slice::<UniqueFields>(line).err()?;
    let not_json = || {
        let error = ErrorData::parse_error(
            format!("the line is not JSON: {error}; each line must be one message"),
            None,
        );
        JsonRpcError::new(None, error)
    };
    Some(repeated_field::refusal(line).unwrap_or_else(not_json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn lines_that_are_not_json_or_give_a_field_twice_are_refused_and_others_are_passed_on() {
        let filler = "x".repeat(DEFAULT_MAX_LINE_LENGTH + BUFFER_BYTES);
        let too_long = format!("{filler}{{\"id\": 1, \"id\": 2}}\n");
        let passed = [
            "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\r\n",
            "\r\n",
            "\n",
            too_long.as_str(),
            "{\"a\": {\"id\": 1}, \"id\": 2}\n",
        ];
        let refused = [
            "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\", \"method\": \"ping\"}\n",
            "{\"id\": \"x\", \"params\": {\"arguments\": {\"node\": \"a\", \"node\": \"b\"}}}\n",
            "not JSON\n",
        ];
        let input: String = passed.iter().zip(refused.iter().cycle()).flat_map(|(a, b)| [*a, *b]).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (output, refusals) = runtime.block_on(async {
            let (to, mut from) = tokio::io::duplex(BUFFER_BYTES);
            let (refuse, mut refusals) = mpsc::unbounded_channel();
            let mut output = String::new();
            let (_, read) =
                tokio::join!(check(input.as_bytes(), to, refuse), from.read_to_string(&mut output));
            read.unwrap();
            let mut found = Vec::new();
            while let Some(refusal) = refusals.recv().await {
                found.push(serde_json::to_value(refusal).unwrap());
            }
            (output, found)
        });
        assert!(output == passed.concat(), "{} bytes", output.len());
        let ids: Vec<String> = refusals.iter().map(|refusal| refusal["id"].to_string()).collect();
        assert_eq!(ids, ["7", "\"x\"", "null", "7", "\"x\""]);
        assert_eq!(refusals[1]["error"]["message"], "the field `node` is given twice");
        assert_eq!(refusals[2]["error"]["code"], -32700);
        let message = refusals[2]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the line is not JSON: expected ident"), "{message}");
    }
}
