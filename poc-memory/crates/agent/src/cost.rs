//! What an answer of a model cost.

/// What one answer of a provider took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallCost {
    /// Tokens read, when the provider tells.
    pub tokens_in: Option<u64>,
    /// Tokens written, when the provider tells.
    pub tokens_out: Option<u64>,
    /// US dollars, when they are known.
    pub cost: Option<f64>,
    /// Whether the provider told nothing and these are what it may have been at most.
    pub estimated: bool,
}

/// US dollars no call comes near to: a number above is none.
const BEYOND: f64 = 100_000.0;

impl CallCost {
    /// The given number of US dollars, or `None` when it cannot be an amount that was paid.
    pub fn dollars(amount: f64) -> Option<f64> {
        (0.0..BEYOND).contains(&amount).then_some(amount)
    }
}
