//! Samples the next token from the allowed ones.

use llguidance::toktrie::SimpleVob;
use poc_graph::rng::Rng;

/// The allowed token with the highest logit at temperature 0, else a random one with the softmax probabilities of the
/// logits divided by `temperature`. A NaN counts as negative infinity. `None` when no token is allowed.
pub(super) fn sample(logits: &[f32], allowed: &SimpleVob, temperature: f64, rng: &dyn Rng) -> Option<u32> {
    let mut tokens: Vec<(u32, f64)> = Vec::new();
    for (token, &logit) in (0..).zip(logits.iter().take(allowed.len())) {
        if allowed.is_allowed(token) {
            let logit = if logit.is_nan() { f64::NEG_INFINITY } else { f64::from(logit) };
            tokens.push((token, logit.clamp(f64::from(f32::MIN), f64::from(f32::MAX))));
        }
    }
    // The first of equal tokens wins.
    let (best, max) = tokens.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    if temperature <= 0.0 {
        return Some(best);
    }
    for token in &mut tokens {
        token.1 = ((token.1 - max) / temperature).exp();
    }
    let all: f64 = tokens.iter().map(|(_, weight)| weight).sum();
    let mut left = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * all;
    for (token, weight) in tokens {
        left -= weight;
        if left < 0.0 {
            return Some(token);
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::rng::SeededRng;

    fn vob(bits: &[bool]) -> SimpleVob {
        SimpleVob::from_slice(bits)
    }

    #[test]
    fn only_allowed_tokens_are_sampled() {
        let rng = SeededRng::new(7);
        let logits = [9.0, 1.0, f32::NAN, 3.0, f32::INFINITY];
        let some = vob(&[false, true, true, true, false]);
        assert_eq!(sample(&logits, &some, 0.0, &rng), Some(3));
        assert_eq!(sample(&logits, &vob(&[false; 5]), 0.0, &rng), None);
        assert_eq!(sample(&[f32::NAN; 5], &some, 0.0, &rng), Some(1));
        for temperature in [0.01, 1.0, 100.0] {
            let mut counts = [0; 5];
            for _ in 0..1000 {
                counts[sample(&logits, &some, temperature, &rng).unwrap() as usize] += 1;
            }
            assert!(counts[0] + counts[2] + counts[4] == 0 && counts[3] >= counts[1].min(400), "{counts:?}");
            assert_eq!(counts[1] > 0, temperature >= 1.0, "{counts:?}");
        }
        // At temperature 1 the odds are e² to 1.
        let mut ones = 0;
        for _ in 0..10_000 {
            ones += u32::from(sample(&logits, &some, 1.0, &rng) == Some(1));
        }
        assert!((1000..1400).contains(&ones), "{ones}");
        assert!(
            sample(&[f32::NEG_INFINITY; 5], &some, 1.0, &rng).is_some_and(|token| (1..4).contains(&token))
        );
    }
}
