//! Exponential decay of weights, computed when a weight is read.
use poc_graph::time::Timestamp;
use poc_graph::{Category, Edge, EdgeKind, Ix, View};

/// The decayed weight `w · exp(−λ · dt)`, with dt in seconds; `w` itself if dt is 0 or negative.
pub fn decayed(weight: f64, lambda: f64, seconds: f64) -> f64 {
    if seconds <= 0.0 { weight } else { weight * (-lambda * seconds).exp() }
}

/// The decay rate λ of a category, per second.
pub fn lambda(config: &poc_config::WeightConfig, category: Category) -> f64 {
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

/// The decay rate λ of a kind of edge, per second; 0 for kinds that are not associative.
pub fn edge_lambda(config: &poc_config::EdgesConfig, kind: EdgeKind) -> f64 {
    match kind {
        EdgeKind::Structural => config.decay.structural,
        EdgeKind::CoRetrieval => config.decay.co_retrieval,
        EdgeKind::CoTraversal => config.decay.co_traversal,
        EdgeKind::Link
        | EdgeKind::Keyword
        | EdgeKind::Semantic
        | EdgeKind::Supersedes
        | EdgeKind::Contradicts
        | EdgeKind::DerivedFrom => 0.0,
    }
}

/// The decayed weight of an edge at `now`. The stored weight does not change.
pub fn edge_at(edge: &Edge, config: &poc_config::EdgesConfig, now: Timestamp) -> f64 {
    decayed(edge.strength, edge_lambda(config, edge.kind), now.seconds_since(edge.touched))
}

/// The decayed weight of a node at `now`, but not below the floor. The stored weight does not
/// change.
pub fn weight_at(view: &View, ix: Ix, config: &poc_config::WeightConfig, now: Timestamp) -> f64 {
    let seconds = now.seconds_since(view.touched(ix));
    decayed(view.stored_weight(ix), lambda(config, view.category(ix)), seconds).max(config.floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_match_values_computed_by_hand() {
        let config = poc_config::Config::defaults().unwrap();
        let halves = |lambda: f64| decayed(3.0, lambda, std::f64::consts::LN_2 / lambda);
        let kinds = [EdgeKind::Structural, EdgeKind::CoRetrieval, EdgeKind::CoTraversal];
        let lambdas = kinds.map(|kind| edge_lambda(&config.edges, kind));
        assert_eq!(lambdas, [4.0e-8, 2.7e-7, 1.3e-7]);
        assert_eq!(lambda(&config.weight, Category::General), 8.0e-8);
        for lambda in lambdas.into_iter().chain([8.0e-8]) {
            assert!((halves(lambda) - 1.5).abs() < 1e-12);
            assert_eq!((decayed(3.0, lambda, 0.0), decayed(3.0, lambda, -1e9)), (3.0, 3.0));
        }
        assert_eq!(decayed(3.0, lambda(&config.weight, Category::Core), 1e12), 3.0);
        assert_eq!(edge_lambda(&config.edges, EdgeKind::Link), 0.0);
    }

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
