//! Token counts of responses, and their cost.

use super::conversation::{max_reply_tokens, prompt_bytes};
use poc_agent::model::{CallCost, CallFailure, Reply, Request};

/// The highest known price of writing to a prompt cache, as a factor of the input price, for models without a cache
/// price in the settings. It is Anthropic's
/// (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>); a server of another kind may forward to
/// Anthropic.
const MAX_CACHE_WRITE_FACTOR: f64 = 1.25;

/// Upper bound of the tokens that a provider adds to a prompt for roles and the description of the output
/// format.
const FRAMING_TOKENS: u64 = 1000;

/// The maximum cost of one response. Its counts are `None` when the model has no prices. The bound uses
/// bytes, because no tokenizer produces more tokens than the text has bytes.
pub(super) fn upper_bound(
    model: &poc_config::ModelConfig,
    calls: &poc_config::CallsConfig,
    request: &Request<'_>,
) -> CallCost {
    let input = (prompt_bytes(request) as u64).saturating_add(FRAMING_TOKENS);
    let output = max_reply_tokens(model, calls, request).map_or(0, |tokens| tokens as u64);
    let read = Usage { input, output, ..Usage::default() }.cost(model, 1.0, 1.0);
    let cached =
        Usage { cache_written: input, output, ..Usage::default() }.cost(model, MAX_CACHE_WRITE_FACTOR, 1.0);
    let cost = read.zip(cached).map(|(read, cached)| read.max(cached));
    let known = |count: u64| cost.is_some().then_some(count);
    CallCost { tokens_in: known(input), tokens_out: known(output), cost, estimated: true }
}

/// Number of bytes that an estimate counts as one token. English text has about four bytes per token, so the estimate is
/// about a third too high for it; text with many numbers or symbols has fewer bytes per token.
const ESTIMATE_BYTES: u64 = 3;

/// The estimated cost of a response that came without token counts, from the bytes of the texts that were sent and
/// received: never more than [`upper_bound`]. Tokens that are in neither text, such as hidden thoughts, are not counted.
/// The counts are `None` when the model has no prices.
pub(super) fn estimate(
    model: &poc_config::ModelConfig,
    calls: &poc_config::CallsConfig,
    request: &Request<'_>,
    sent: usize,
    received: usize,
) -> CallCost {
    let max = upper_bound(model, calls, request);
    let tokens = |bytes: usize| (bytes as u64).div_ceil(ESTIMATE_BYTES);
    let input = max.tokens_in.map_or(tokens(sent), |max| tokens(sent).min(max));
    let output = max.tokens_out.map_or(tokens(received), |max| tokens(received).min(max));
    let cost = Usage { input, output, ..Usage::default() }.cost(model, 1.0, 1.0);
    let known = |count: u64| cost.is_some().then_some(count);
    CallCost { tokens_in: known(input), tokens_out: known(output), cost, estimated: true }
}

/// The maximum cost of one response in US dollars at the prices of the settings; 0 when they name none.
pub(super) fn cost_bound(
    model: &poc_config::ModelConfig,
    calls: &poc_config::CallsConfig,
    request: &Request<'_>,
) -> Option<f64> {
    Some(upper_bound(model, calls, request).cost.unwrap_or(0.0))
}

/// Adds the cost of `lost` responses that did not arrive, each counted as `max_cost`.
pub(super) fn add_lost_attempts(
    outcome: Result<Reply, CallFailure>,
    lost: u32,
    max_cost: impl Fn() -> CallCost,
) -> Result<Reply, CallFailure> {
    let more = (0..lost).map(|_| max_cost());
    match outcome {
        Ok(mut reply) => {
            reply.spent.extend(more);
            Ok(reply)
        }
        Err(mut failed) => {
            failed.spent.extend(more);
            Err(failed)
        }
    }
}

/// Token counts of one response by price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// Input tokens at the full input price.
    pub(super) input: u64,
    /// Input tokens written to the provider's prompt cache.
    pub(super) cache_written: u64,
    /// Input tokens read from the provider's prompt cache.
    pub(super) cache_read: u64,
    /// Output tokens of the model.
    pub(super) output: u64,
}

impl Usage {
    /// The counts with their cost; `written` and `read` as in [`Usage::cost`].
    pub(super) fn spent(&self, model: &poc_config::ModelConfig, written: f64, read: f64) -> CallCost {
        CallCost {
            tokens_in: Some(self.input.saturating_add(self.cache_written).saturating_add(self.cache_read)),
            tokens_out: Some(self.output),
            cost: self.cost(model, written, read),
            estimated: false,
        }
    }

    /// Cost in US dollars; `None` when the model has no prices. When the settings name no prices of the
    /// prompt cache, `written` and `read` are factors on the input price.
    fn cost(&self, model: &poc_config::ModelConfig, written: f64, read: f64) -> Option<f64> {
        let (input, output) = (model.input_price?, model.output_price?);
        let written = model.cache_write_price.unwrap_or(input * written);
        let read = model.cache_read_price.unwrap_or(input * read);
        let dollars = self.input as f64 * input
            + self.cache_written as f64 * written
            + self.cache_read as f64 * read
            + self.output as f64 * output;
        Some(dollars / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_agent::model::RejectedReply;
    use poc_agent::testing::request::TestRequest;
    use poc_config::Config;

    fn model() -> poc_config::ModelConfig {
        poc_config::ModelConfig {
            provider: "p".into(),
            id: "m".into(),
            input_price: Some(3.0),
            output_price: Some(15.0),
            cache_write_price: None,
            cache_read_price: None,
            context: None,
        }
    }

    #[test]
    fn prices_are_per_million_tokens() {
        let mut model = model();
        let usage =
            Usage { input: 1_000_000, cache_written: 1_000_000, cache_read: 1_000_000, output: 100_000 };
        let spent = usage.spent(&model, 1.25, 0.1);
        assert!((spent.cost.unwrap() - (3.0 + 3.75 + 0.3 + 1.5)).abs() < 1e-9, "{spent:?}");
        assert_eq!((spent.tokens_in, spent.tokens_out), (Some(3_000_000), Some(100_000)));
        (model.cache_write_price, model.cache_read_price) = (Some(6.0), Some(1.0));
        let cost = usage.spent(&model, 1.25, 0.1).cost.unwrap();
        assert!((cost - (3.0 + 6.0 + 1.0 + 1.5)).abs() < 1e-9, "{cost}");
        model.output_price = None;
        assert_eq!(usage.spent(&model, 1.0, 1.0).cost, None);
    }

    #[test]
    fn the_upper_bound_counts_each_byte_as_a_token() {
        let calls = Config::defaults().unwrap().calls;
        let mut turn = TestRequest::new("linker");
        turn.corrections =
            vec![RejectedReply { reply: "\u{1D518}".repeat(10_000), correction: "\u{1F9E0}".repeat(5_000) }];
        let max_cost = upper_bound(&model(), &calls, &turn.request());
        // Every byte a token, and all of them written to the cache.
        assert!(
            max_cost.tokens_in.unwrap() >= 60_000 && max_cost.cost.unwrap() >= 60_000.0 * 3.75 / 1e6,
            "{max_cost:?}"
        );
    }

    #[test]
    fn an_estimate_counts_three_bytes_as_a_token_and_never_exceeds_the_upper_bound() {
        let (turn, calls) = (TestRequest::new("linker"), Config::defaults().unwrap().calls);
        let estimate = |sent, received| estimate(&model(), &calls, &turn.request(), sent, received);
        let max_cost = upper_bound(&model(), &calls, &turn.request());
        let small = estimate(100, 61);
        assert_eq!((small.tokens_in, small.tokens_out, small.estimated), (Some(34), Some(21), true));
        assert!((small.cost.unwrap() - (34.0 * 3.0 + 21.0 * 15.0) / 1e6).abs() < 1e-12, "{small:?}");
        let large = estimate(1 << 30, 1 << 30);
        assert_eq!((large.tokens_in, large.tokens_out), (max_cost.tokens_in, max_cost.tokens_out));
        assert!(large.cost <= max_cost.cost, "{large:?}");
    }

    #[test]
    fn lost_responses_are_counted_at_their_upper_bound() {
        let (turn, calls) = (TestRequest::new("linker"), Config::defaults().unwrap().calls);
        let max_cost = upper_bound(&model(), &calls, &turn.request());
        assert_eq!(max_cost.tokens_out, Some(calls.max_output_tokens as u64));
        let dollars =
            (max_cost.tokens_in.unwrap() as f64 * 3.75 + max_cost.tokens_out.unwrap() as f64 * 15.0) / 1e6;
        assert!((max_cost.cost.unwrap() - dollars).abs() < 1e-9 && max_cost.estimated, "{max_cost:?}");
        let dear = poc_config::ModelConfig { cache_write_price: Some(6.0), ..model() };
        assert!(upper_bound(&dear, &calls, &turn.request()).cost > max_cost.cost);
        let free = poc_config::ModelConfig { input_price: None, ..model() };
        assert_eq!(
            upper_bound(&free, &calls, &turn.request()),
            CallCost { estimated: true, ..CallCost::default() }
        );

        let reply =
            Reply { spent: vec![CallCost { cost: Some(1.0), ..CallCost::default() }], ..Reply::default() };
        assert_eq!(add_lost_attempts(Ok(reply.clone()), 2, || max_cost.clone()).unwrap().spent.len(), 3);
        assert_eq!(add_lost_attempts(Ok(reply.clone()), 0, || max_cost.clone()).unwrap(), reply);
    }
}
