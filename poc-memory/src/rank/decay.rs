//! Exponential forgetting, applied when a weight is read.

use crate::config;
use crate::graph::{Category, Ix, View};
use crate::time::Timestamp;

/// `w · exp(−λ · dt)` with dt in seconds; time that has not passed leaves `w` as it is.
pub fn decayed(weight: f64, lambda: f64, seconds: f64) -> f64 {
    if seconds <= 0.0 { weight } else { weight * (-lambda * seconds).exp() }
}

/// λ per second of a category.
pub fn lambda(config: &config::Weight, category: Category) -> f64 {
    let scale = &config.category;
    config.decay
        * match category {
            Category::Core => scale.core,
            Category::General => scale.general,
            Category::Technical => scale.technical,
            Category::Observation => scale.observation,
            Category::Task => scale.task,
        }
}

/// The weight of a node as it is at `now`, not below the floor. Nothing is written.
pub fn weight_at(view: &View, ix: Ix, config: &config::Weight, now: Timestamp) -> f64 {
    let seconds = now.seconds_since(view.touched(ix));
    decayed(view.stored_weight(ix), lambda(config, view.category(ix)), seconds).max(config.floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decay_is_monotone_and_composes(w in 0.01f64..100.0, a in 0.0f64..1e8, b in 0.0f64..1e8) {
            let lambda = 8.0e-8;
            prop_assert!(decayed(w, lambda, a + b) <= decayed(w, lambda, a));
            let twice = decayed(decayed(w, lambda, a), lambda, b);
            prop_assert!((twice - decayed(w, lambda, a + b)).abs() <= 1e-9 * w);
        }
    }
}
