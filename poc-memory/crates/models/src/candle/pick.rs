//! Which token comes next, among those that may.

use llguidance::toktrie::SimpleVob;
use poc_graph::chance::Chance;

/// The heaviest of the allowed tokens, or one by chance, the heavier the likelier: at temperature 1 as
/// likely as the model says, below it closer to the heaviest. A weight that is no number counts as none.
pub(super) fn pick(
    logits: &[f32],
    allowed: &SimpleVob,
    temperature: f64,
    chance: &dyn Chance,
) -> Option<u32> {
    let mut tokens: Vec<(u32, f64)> = Vec::new();
    for (token, &logit) in (0..).zip(logits.iter().take(allowed.len())) {
        if allowed.is_allowed(token) {
            let logit = if logit.is_nan() { f64::NEG_INFINITY } else { f64::from(logit) };
            tokens.push((token, logit.clamp(f64::from(f32::MIN), f64::from(f32::MAX))));
        }
    }
    // Of equals the first.
    let (best, most) = tokens.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    if temperature <= 0.0 {
        return Some(best);
    }
    for token in &mut tokens {
        token.1 = ((token.1 - most) / temperature).exp();
    }
    let all: f64 = tokens.iter().map(|(_, weight)| weight).sum();
    let mut left = (chance.bits() >> 11) as f64 / (1_u64 << 53) as f64 * all;
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
    use poc_graph::chance::SeededChance;

    fn vob(bits: &[bool]) -> SimpleVob {
        SimpleVob::from_slice(bits)
    }

    #[test]
    fn only_what_is_allowed_is_picked() {
        let chance = SeededChance::new(7);
        let logits = [9.0, 1.0, f32::NAN, 3.0, f32::INFINITY];
        let some = vob(&[false, true, true, true, false]);
        assert_eq!(pick(&logits, &some, 0.0, &chance), Some(3));
        assert_eq!(pick(&logits, &vob(&[false; 5]), 0.0, &chance), None);
        assert_eq!(pick(&[f32::NAN; 5], &some, 0.0, &chance), Some(1));
        for temperature in [0.01, 1.0, 100.0] {
            let mut counts = [0; 5];
            for _ in 0..1000 {
                counts[pick(&logits, &some, temperature, &chance).unwrap() as usize] += 1;
            }
            assert!(counts[0] + counts[2] + counts[4] == 0 && counts[3] >= counts[1].min(400), "{counts:?}");
            assert_eq!(counts[1] > 0, temperature >= 1.0, "{counts:?}");
        }
        // As likely as the model says: e² to 1.
        let mut ones = 0;
        for _ in 0..10_000 {
            ones += u32::from(pick(&logits, &some, 1.0, &chance) == Some(1));
        }
        assert!((1000..1400).contains(&ones), "{ones}");
        assert!(
            pick(&[f32::NEG_INFINITY; 5], &some, 1.0, &chance).is_some_and(|token| (1..4).contains(&token))
        );
    }
}
