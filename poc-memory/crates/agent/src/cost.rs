//! Cost of a model call.

/// Tokens and cost of one reply of a provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallCost {
    /// Input tokens, if reported.
    pub tokens_in: Option<u64>,
    /// Output tokens, if reported.
    pub tokens_out: Option<u64>,
    /// US dollars, if known.
    pub cost: Option<f64>,
    /// Whether the provider reported nothing, so that the values are estimates. For a response that did not arrive, they
    /// are upper bounds.
    pub estimated: bool,
}

/// Upper limit of a plausible cost in US dollars; a provider that reports more has reported an invalid
/// number.
const BEYOND: f64 = 100_000.0;

impl CallCost {
    /// The amount in US dollars; `None` when it is negative, not a number, or 100,000 or more.
    pub fn dollars(amount: f64) -> Option<f64> {
        (0.0..BEYOND).contains(&amount).then_some(amount)
    }
}
