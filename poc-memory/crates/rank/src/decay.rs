//! Exponential decay of weights, computed when a weight is read.
use poc_graph::time::{Span, Timestamp};
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

/// An instant until which the decayed weight of an edge is at least `floor`: at most a second before the first instant
/// at which it is lower. `None` if it never is lower. An edge that always was lower gives the time from which it
/// decays.
pub fn edge_stays_until(edge: &Edge, config: &poc_config::EdgesConfig, floor: f64) -> Option<Timestamp> {
    if edge.strength < floor {
        return Some(edge.touched);
    }
    let lambda = edge_lambda(config, edge.kind);
    if lambda <= 0.0 || floor <= 0.0 {
        return None;
    }
    // Half a second is more than the rounding of the logarithm.
    let seconds = (edge.strength / floor).ln() / lambda - 0.5;
    Some(edge.touched.plus(Span((seconds.max(0.0) * 1000.0) as i64)))
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
    use poc_graph::NodeId;
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

    fn edge(kind: EdgeKind, strength: f64) -> Edge {
        let (src, dst) = (NodeId::from_bytes([1; 16]), NodeId::from_bytes([2; 16]));
        let (created, touched) = (Timestamp(1_000_000), Timestamp(2_000_000));
        let (provenance, reason) = (String::new(), String::new());
        Edge { src, dst, kind, strength, created, touched, provenance, reason }
    }

    #[test]
    fn an_edge_that_does_not_decay_stays() {
        let config = poc_config::Config::defaults().unwrap().edges;
        assert_eq!(edge_stays_until(&edge(EdgeKind::Link, 0.5), &config, 0.1), None);
        assert_eq!(edge_stays_until(&edge(EdgeKind::Structural, 0.5), &config, 0.0), None);
        let weak = edge(EdgeKind::Structural, 0.05);
        assert_eq!(edge_stays_until(&weak, &config, 0.1), Some(weak.touched));
    }

    poc_laws::laws! {
        #[test]
        fn an_edge_is_below_the_floor_a_second_after_it_stayed(strength in 0.001f64..10.0, floor in 0.001f64..1.0) {
            let config = poc_config::Config::defaults().unwrap().edges;
            for kind in [EdgeKind::Structural, EdgeKind::CoRetrieval, EdgeKind::CoTraversal] {
                let edge = edge(kind, strength);
                let until = edge_stays_until(&edge, &config, floor).unwrap();
                if strength >= floor {
                    prop_assert!(edge_at(&edge, &config, until) >= floor);
                }
                prop_assert!(edge_at(&edge, &config, until.plus(Span::SECOND)) < floor);
            }
        }

        #[test]
        fn decay_is_monotone_and_composes(w in 0.01f64..100.0, a in 0.0f64..1e8, b in 0.0f64..1e8) {
            let lambda = 8.0e-8;
            prop_assert!(decayed(w, lambda, a + b) <= decayed(w, lambda, a));
            let twice = decayed(decayed(w, lambda, a), lambda, b);
            prop_assert!((twice - decayed(w, lambda, a + b)).abs() <= 1e-9 * w);
        }
    }
}
