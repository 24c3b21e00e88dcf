//! The score of one step of a beam search through the graph.

/// The score of a path after one more step: `before + ln(edge) + α·ln((cos + 1)/2) − hop·(−ln γ) −
/// λ·nearest`.
///
/// `before` is the score of the path so far, `edge` the strength of the edge (0–1), `cosine` the
/// similarity of the new node to the query (−1 to 1), `hop` the number of the step from 1, and
/// `nearest` the highest cosine of the new node with any node on the path. `None` if the score is
/// not finite: for an edge of strength 0 or a cosine of −1.
pub fn step(
    before: f64,
    edge: f64,
    cosine: f64,
    hop: usize,
    nearest: f64,
    config: &poc_config::ExploreConfig,
) -> Option<f64> {
    let meaning = (cosine + 1.0) / 2.0;
    let score = before + edge.ln() + config.alpha * meaning.ln() + hop as f64 * config.gamma.ln()
        - config.mmr_lambda * nearest;
    score.is_finite().then_some(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use proptest::prelude::*;

    fn shipped() -> poc_config::ExploreConfig {
        Config::defaults().unwrap().explore
    }

    #[test]
    fn results_match_values_computed_by_hand() {
        // 0.8 + ln 0.5 + 0.5 · ln 0.8 − 2 · 0.1625 − 0.7 · 0.3
        let score = step(0.8, 0.5, 0.6, 2, 0.3, &shipped()).unwrap();
        assert!(
            (score - (0.8 - std::f64::consts::LN_2 - 0.111_572 - 0.325_038 - 0.21)).abs() < 1e-5,
            "{score}"
        );
        assert_eq!(step(0.8, 0.0, 0.6, 1, 0.0, &shipped()), None);
        assert_eq!(step(0.8, 0.5, -1.0, 1, 0.0, &shipped()), None);
    }

    poc_laws::laws! {
        #[test]
        fn stronger_nearer_sooner_and_less_alike_are_worth_more(
            edge in 0.01f64..1.0, cosine in -0.99f64..1.0, hop in 1usize..8, nearest in -1.0f64..1.0,
        ) {
            let config = shipped();
            let score = |edge, cosine, hop, nearest| step(0.0, edge, cosine, hop, nearest, &config).unwrap();
            let here = score(edge, cosine, hop, nearest);
            prop_assert!(score(edge * 0.9, cosine, hop, nearest) < here);
            prop_assert!(score(edge, cosine - 0.005, hop, nearest) < here);
            prop_assert!(score(edge, cosine, hop + 1, nearest) < here);
            prop_assert!(score(edge, cosine, hop, nearest + 0.1) < here);
        }
    }
}
