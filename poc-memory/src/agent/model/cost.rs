//! What a call cost.

use crate::config;

/// Tokens of one call, by what they are charged at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// Read at the full price.
    pub(super) input: u64,
    /// Written to the provider's prompt cache.
    pub(super) cache_written: u64,
    /// Read from the provider's prompt cache.
    pub(super) cache_read: u64,
    /// Written by the model.
    pub(super) output: u64,
}

impl Usage {
    /// Tokens read, at whatever price.
    pub(super) fn tokens_in(&self) -> u64 {
        self.input + self.cache_written + self.cache_read
    }

    /// US dollars; `None` when the model has no prices. `written` and `read` are the provider's
    /// factors on the input price for its cache.
    pub(super) fn cost(&self, model: &config::Model, written: f64, read: f64) -> Option<f64> {
        let (input, output) = (model.input_price?, model.output_price?);
        let tokens_in =
            self.input as f64 + self.cache_written as f64 * written + self.cache_read as f64 * read;
        Some((tokens_in * input + self.output as f64 * output) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_tokens_cost_the_price() {
        let mut model = config::Model {
            provider: "p".into(),
            id: "m".into(),
            input_price: Some(3.0),
            output_price: Some(15.0),
            context: None,
        };
        let usage =
            Usage { input: 1_000_000, cache_written: 1_000_000, cache_read: 1_000_000, output: 100_000 };
        let cost = usage.cost(&model, 1.25, 0.1).unwrap();
        assert!((cost - (3.0 + 3.75 + 0.3 + 1.5)).abs() < 1e-9, "{cost}");
        assert_eq!(usage.tokens_in(), 3_000_000);
        model.output_price = None;
        assert_eq!(usage.cost(&model, 1.0, 1.0), None);
    }
}
