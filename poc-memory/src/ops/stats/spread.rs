//! Distributions of cosines.

use poc_rank::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cosines observed so far, from which the thresholds of insert and query are chosen. They depend on the
/// embedder.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Cosines {
    /// The embedder in use.
    pub(super) embedder: String,
    /// Between each new note and its nearest note.
    pub(super) insert: Spread,
    /// Between each question and its nearest title.
    pub(super) query: Spread,
}

/// Quantiles of cosines, −1 to 1, each accurate to 0.005; null without observations.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Spread {
    /// Number of observed cosines.
    pub(super) count: u64,
    /// 25 % of the observed cosines are at most this.
    p25: Option<f64>,
    /// The median cosine, −1 to 1.
    p50: Option<f64>,
    /// 75 % of the observed cosines are at most this.
    p75: Option<f64>,
    /// 90 % of the observed cosines are at most this.
    p90: Option<f64>,
    /// 95 % of the observed cosines are at most this.
    p95: Option<f64>,
    /// 99 % of the observed cosines are at most this.
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
