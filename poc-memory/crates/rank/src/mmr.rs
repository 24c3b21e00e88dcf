//! Maximal marginal relevance (Carbonell and Goldstein 1998).

use poc_graph::cancellation;

/// Selects candidates one by one. The next is always the one with the highest value of
/// `λ · relevance − (1 − λ) · max similarity to those already selected`, where the similarity term is 0 for the first.
/// If several values are equal, the first one wins. `similarity` takes positions in `relevance`. It is called at most
/// once per pair, and only for as many candidates as are taken from the iterator.
pub fn mmr(
    relevance: &[f64],
    lambda: f64,
    similarity: impl Fn(usize, usize) -> f64,
) -> impl Iterator<Item = usize> {
    let mut open: Vec<Candidate> = relevance
        .iter()
        .enumerate()
        .map(|(at, &relevance)| Candidate { at, relevance, nearest: None })
        .collect();
    std::iter::from_fn(move || {
        if cancellation::is_requested() {
            return None;
        }
        let score = |candidate: &Candidate| {
            lambda * candidate.relevance - (1.0 - lambda) * candidate.nearest.unwrap_or(0.0)
        };
        let mut best: Option<(usize, f64)> = None;
        for (index, candidate) in open.iter().enumerate() {
            let score = score(candidate);
            if best.is_none_or(|(_, max)| score > max) {
                best = Some((index, score));
            }
        }
        let chosen = open.remove(best?.0).at;
        for candidate in &mut open {
            let near = similarity(candidate.at, chosen);
            candidate.nearest = Some(candidate.nearest.map_or(near, |nearest| nearest.max(near)));
        }
        Some(chosen)
    })
}

/// Scales scores linearly so that the minimum becomes 0 and the maximum 1. Equal scores all become 1.
pub fn relevance(scores: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let (min, max) = scores
        .clone()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), score| (min.min(score), max.max(score)));
    let range = max - min;
    scores.map(|score| if range > 0.0 { (score - min) / range } else { 1.0 }).collect()
}

struct Candidate {
    at: usize,
    relevance: f64,
    // The highest similarity to a candidate that was already selected.
    nearest: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn ranked(relevance: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..relevance.len()).collect();
        order.sort_by(|&a, &b| relevance[b].total_cmp(&relevance[a]));
        order
    }

    /// A direct implementation of the definition, which keeps no state between selections.
    fn naive(relevance: &[f64], lambda: f64, near: impl Fn(usize, usize) -> f64) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < relevance.len() {
            let score = |at: usize| {
                let nearest = chosen.iter().map(|&other| near(at, other)).fold(f64::NEG_INFINITY, f64::max);
                let nearest = if chosen.is_empty() { 0.0 } else { nearest };
                lambda * relevance[at] - (1.0 - lambda) * nearest
            };
            let open = (0..relevance.len()).filter(|at| !chosen.contains(at));
            let best = open.reduce(|best, at| if score(at) > score(best) { at } else { best });
            chosen.push(best.unwrap());
        }
        chosen
    }

    poc_laws::laws! {
        #[test]
        fn lambda_one_is_plain_ranking(relevance in vec(0.0f64..1.0, 0..30)) {
            let chosen: Vec<usize> = mmr(&relevance, 1.0, |a, b| (a * b) as f64).collect();
            prop_assert_eq!(chosen, ranked(&relevance));
        }

        #[test]
        fn the_order_follows_the_definition(
            relevance in vec(0.0f64..1.0, 0..12),
            near in vec(-1.0f64..1.0, 144),
            lambda in 0.0f64..=1.0,
        ) {
            let near = |a: usize, b: usize| near[a.min(b) * 12 + a.max(b)];
            let chosen: Vec<usize> = mmr(&relevance, lambda, near).collect();
            prop_assert_eq!(chosen, naive(&relevance, lambda, near));
        }
    }

    #[test]
    fn relevance_is_between_0_and_1() {
        assert_eq!(relevance([-1.0, 3.0, 1.0].into_iter()), [0.0, 1.0, 0.5]);
        assert_eq!(relevance([0.2, 0.2].into_iter()), [1.0, 1.0]);
        assert_eq!(relevance(std::iter::empty()), [0.0; 0]);
    }

    #[test]
    fn a_copy_of_the_best_comes_last() {
        let near = |a: usize, b: usize| if a + b == 1 { 1.0 } else { 0.1 };
        assert_eq!(mmr(&[0.9, 0.89, 0.6], 0.5, near).collect::<Vec<_>>(), [0, 2, 1]);
    }
}
