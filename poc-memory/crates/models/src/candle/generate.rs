//! Generates a reply token by token, limited by a grammar and completed before the tokens run out.

use super::deadline::Deadline;
use super::family::Network;
use super::sample::sample;
use super::vocabulary::TokenVocabulary;
use crate::usage::Usage;
use candle_core::{Device, Tensor};
use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use poc_agent::model::CallError;
use poc_graph::rng::Rng;
use serde_json::Value;

/// Lengths, in tokens, of the chunks in which a prompt is read. There are only a few because candle keeps an
/// attention mask for every length. A call can be cancelled between chunks.
const PREFILL_CHUNKS: [usize; 5] = [64, 32, 16, 8, 1];

/// The inputs of a generation.
pub(super) struct GenerationJob<'a> {
    /// The model's `id` in the settings.
    pub(super) name: &'a str,
    pub(super) prompt: &'a [u32],
    pub(super) schema: &'a Value,
    /// Number of tokens that always suffice to complete the reply.
    pub(super) closing_tokens: usize,
    /// Maximum number of tokens that the reply may have.
    pub(super) max_tokens: usize,
    pub(super) temperature: f64,
    pub(super) rng: &'a dyn Rng,
    pub(super) deadline: &'a Deadline<'a>,
}

/// Reads the prompt and generates the reply. `usage` is updated with every token, so it is also correct after an
/// error.
pub(super) fn generate(
    network: &mut dyn Network,
    vocabulary: &TokenVocabulary,
    job: &GenerationJob<'_>,
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
    let mut position = 0;
    while let Some(rest) = job.prompt.get(position..).filter(|rest| !rest.is_empty()) {
        job.deadline.check()?;
        let count = PREFILL_CHUNKS.into_iter().find(|&count| count <= rest.len()).unwrap_or(1);
        let chunk = rest.get(..count).unwrap_or(rest);
        logits = forward(network, chunk, position).map_err(|error| broken(&error))?;
        position += count;
        usage.input = position as u64;
    }
    let mut reply = PartialReply::default();
    for written in 0..job.max_tokens {
        job.deadline.check()?;
        let mut allowed = matcher.compute_mask().map_err(|error| broken(&error))?;
        let closing = reply
            .closing_bytes(job.max_tokens - written, job)
            .iter()
            .filter_map(|&byte| vocabulary.token(byte));
        if let Some(token) = closing.into_iter().find(|&token| allowed.is_allowed(token)) {
            allowed.set_all(false);
            allowed.allow_token(token);
        }
        let token = sample(&logits, &allowed, job.temperature, job.rng)
            .ok_or_else(|| broken(&"its vocabulary lacks the characters of JSON"))?;
        matcher.consume_token(token).map_err(|error| broken(&error))?;
        reply.push(vocabulary.bytes(token));
        usage.output = written as u64 + 1;
        if matcher.is_stopped() {
            return String::from_utf8(reply.bytes).map_err(|error| broken(&error));
        }
        logits = forward(network, &[token], position).map_err(|error| broken(&error))?;
        position += 1;
    }
    Err(CallError::Cut)
}

/// The logits after `tokens`, the first of which is at `position`.
fn forward(network: &mut dyn Network, tokens: &[u32], position: usize) -> candle_core::Result<Vec<f32>> {
    let tokens = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
    network.forward(&tokens, position)?.flatten_all()?.to_dtype(candle_core::DType::F32)?.to_vec1()
}

/// The reply so far, and whether its end is inside a JSON string.
#[derive(Default)]
struct PartialReply {
    bytes: Vec<u8>,
    in_string: bool,
    escaped: bool,
}

impl PartialReply {
    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                _ => {}
            }
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes to prefer as the next token, if the grammar allows them, so that the reply is complete
    /// within `left` more tokens. Lists are closed when a quarter of the tokens is left, strings and objects
    /// when only `closing_tokens` are left.
    fn closing_bytes(&self, left: usize, job: &GenerationJob<'_>) -> &'static [u8] {
        let last = left <= job.closing_tokens;
        match (self.in_string, last) {
            _ if self.escaped => b"",
            (true, false) => b"",
            (true, true) => b"\"",
            (false, false) if left > job.closing_tokens + job.max_tokens / 4 => b"",
            (false, false) => b"]",
            (false, true) => b"]}",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_reply_tracks_whether_it_ends_in_a_string() {
        let mut reply = PartialReply::default();
        for (bytes, in_string) in [
            (&b"{\"no"[..], true),
            (b"tes\":\"a\\", true),
            (b"\"b", true),
            (b"\\\\\"", false),
            (b",\"x\":[1,", false),
            (b"\"", true),
        ] {
            reply.push(bytes);
            assert_eq!(reply.in_string, in_string, "{}", String::from_utf8_lossy(&reply.bytes));
        }
    }
}
