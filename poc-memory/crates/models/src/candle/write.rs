//! Writing a reply, token by token, within a grammar and to an end.

use super::family::Network;
use super::pick::pick;
use super::vocabulary::Vocabulary;
use super::watch::Watch;
use crate::usage::Usage;
use candle_core::{Device, Tensor};
use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use poc_agent::model::CallError;
use poc_graph::chance::Chance;
use serde_json::Value;

/// Tokens of a prompt that are read at once. candle keeps a mask for every length it has seen, so only a few
/// are used; between them a call can end.
const AT_ONCE: [usize; 5] = [64, 32, 16, 8, 1];

/// One reply to write.
pub(super) struct Job<'a> {
    /// What the settings call the model.
    pub(super) name: &'a str,
    pub(super) prompt: &'a [u32],
    pub(super) schema: &'a Value,
    /// Tokens that are enough to end from anywhere.
    pub(super) closing: usize,
    /// Tokens the reply may have.
    pub(super) room: usize,
    pub(super) temperature: f64,
    pub(super) chance: &'a dyn Chance,
    pub(super) watch: &'a Watch<'a>,
}

/// Reads the prompt and writes the reply; tokens are counted as they go.
pub(super) fn write(
    network: &mut dyn Network,
    vocabulary: &Vocabulary,
    job: &Job<'_>,
    usage: &mut Usage,
) -> Result<String, CallError> {
    let name = job.name;
    let broken = |error: &dyn std::fmt::Display| {
        let error = error.to_string();
        CallError::Setup(format!("`{name}` cannot be run: {}", error.lines().next().unwrap_or_default()))
    };
    let grammar = TopLevelGrammar::from_json_schema(job.schema.clone());
    let mut matcher = Matcher::new(vocabulary.parsers.create_parser(grammar));
    if let Some(error) = matcher.get_error() {
        return Err(broken(&error));
    }
    let mut logits = Vec::new();
    let mut read = 0;
    while let Some(rest) = job.prompt.get(read..).filter(|rest| !rest.is_empty()) {
        job.watch.look()?;
        let count = AT_ONCE.into_iter().find(|&count| count <= rest.len()).unwrap_or(1);
        let piece = rest.get(..count).unwrap_or(rest);
        logits = forward(network, piece, read).map_err(|error| broken(&error))?;
        read += count;
        usage.input = read as u64;
    }
    let mut reply = Reply::default();
    for written in 0..job.room {
        job.watch.look()?;
        let mut allowed = matcher.compute_mask().map_err(|error| broken(&error))?;
        let end = reply.ends(job.room - written, job).iter().filter_map(|&byte| vocabulary.token(byte));
        if let Some(end) = end.into_iter().find(|&end| allowed.is_allowed(end)) {
            allowed.set_all(false);
            allowed.allow_token(end);
        }
        let token = pick(&logits, &allowed, job.temperature, job.chance)
            .ok_or_else(|| broken(&"its vocabulary lacks what JSON is written with"))?;
        matcher.consume_token(token).map_err(|error| broken(&error))?;
        reply.push(vocabulary.bytes(token));
        usage.output = written as u64 + 1;
        if matcher.is_stopped() {
            return String::from_utf8(reply.bytes).map_err(|error| broken(&error));
        }
        logits = forward(network, &[token], read).map_err(|error| broken(&error))?;
        read += 1;
    }
    Err(CallError::Cut)
}

/// The weights of what may follow `tokens`, which stand behind `at` others.
fn forward(network: &mut dyn Network, tokens: &[u32], at: usize) -> candle_core::Result<Vec<f32>> {
    let tokens = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
    network.forward(&tokens, at)?.flatten_all()?.to_dtype(candle_core::DType::F32)?.to_vec1()
}

/// What has been written, and whether it ends inside a text.
#[derive(Default)]
struct Reply {
    bytes: Vec<u8>,
    inside: bool,
    escaped: bool,
}

impl Reply {
    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.inside,
                b'"' => self.inside = !self.inside,
                _ => {}
            }
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What has to come next if it may, for the reply to be whole when `left` more tokens are written: from
    /// a quarter of the room on no action begins, and at the last texts and objects end.
    fn ends(&self, left: usize, job: &Job<'_>) -> &'static [u8] {
        let last = left <= job.closing;
        match (self.inside, last) {
            _ if self.escaped => b"",
            (true, false) => b"",
            (true, true) => b"\"",
            (false, false) if left > job.closing + job.room / 4 => b"",
            (false, false) => b"]",
            (false, true) => b"]}",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_knows_when_it_is_inside_a_text() {
        let mut reply = Reply::default();
        for (bytes, inside) in [
            (&b"{\"no"[..], true),
            (b"tes\":\"a\\", true),
            (b"\"b", true),
            (b"\\\\\"", false),
            (b",\"x\":[1,", false),
            (b"\"", true),
        ] {
            reply.push(bytes);
            assert_eq!(reply.inside, inside, "{}", String::from_utf8_lossy(&reply.bytes));
        }
    }
}
