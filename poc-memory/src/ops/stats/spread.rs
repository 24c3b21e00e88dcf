//! How cosines are spread.

use poc_rank::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cosines that have met so far: what the thresholds of insert and query are set by. They belong to
/// an embedder.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Cosines {
    /// The embedder in use.
    pub(super) embedder: String,
    /// Of new notes and the notes nearest to each.
    pub(super) insert: Spread,
    /// Of questions and the titles nearest to each.
    pub(super) query: Spread,
}

/// Quantiles, each to within 0.005; null when there is nothing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Spread {
    /// How many there were.
    pub(super) count: u64,
    p25: Option<f64>,
    p50: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

impl From<&Histogram> for Spread {
    fn from(seen: &Histogram) -> Spread {
        let quantile = |share| seen.quantile(share).map(|cosine| (cosine * 1e3).round() / 1e3);
        Spread {
            count: seen.count(),
            p25: quantile(0.25),
            p50: quantile(0.5),
            p75: quantile(0.75),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} seen", self.count)?;
        for (name, quantile) in [
            ("p25", self.p25),
            ("p50", self.p50),
            ("p75", self.p75),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
        ] {
            if let Some(quantile) = quantile {
                write!(f, ", {name} {quantile:.3}")?;
            }
        }
        Ok(())
    }
}
