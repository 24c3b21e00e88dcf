//! Bloom filters of keys (Bloom 1970), with the double hashing of Kirsch and Mitzenmacher (2006).

use siphasher::sip128::{Hash128, Hasher128, SipHasher13};
use std::hash::Hasher;

/// The number of bits per key. With 10 bits, a filter passes about 1 % of the keys that are not in
/// it.
const BITS_PER_KEY: u64 = 10;
/// The number of bits that a key sets. Seven, 10 · ln 2, gives the fewest false positives for 10
/// bits per key.
const PROBES: u64 = 7;

/// A filter that passes all keys of a set and few others.
pub(super) struct BloomFilter(Vec<u64>);

impl BloomFilter {
    /// Creates an empty filter for a number of keys.
    pub(super) fn new(keys: u64) -> BloomFilter {
        let words = (keys * BITS_PER_KEY).div_ceil(64).max(1);
        BloomFilter(vec![0; words as usize])
    }

    /// Decodes the bytes of [`BloomFilter::encode`]; `None` if their length is invalid.
    pub(super) fn decode(bytes: &[u8]) -> Option<BloomFilter> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        (!words.is_empty()).then(|| BloomFilter(words.iter().map(|word| u64::from_le_bytes(*word)).collect()))
    }

    /// The words of the filter in little endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Adds a key.
    pub(super) fn insert(&mut self, key: &[u8]) {
        for (word, bit) in probes(key, self.0.len()) {
            if let Some(word) = self.0.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Whether a key may have been added. It is `true` for every key that was added.
    pub(super) fn may_contain(&self, key: &[u8]) -> bool {
        probes(key, self.0.len()).all(|(word, bit)| self.0.get(word).is_some_and(|word| word & bit != 0))
    }
}

/// The word index and bit of each probe for a key, in a filter of `words` words.
fn probes(key: &[u8], words: usize) -> impl Iterator<Item = (usize, u64)> {
    let mut hasher = SipHasher13::new();
    hasher.write(key);
    let Hash128 { h1, h2 } = hasher.finish128();
    let bits = words as u64 * 64;
    let inverse = u64::MAX / bits;
    (0..PROBES).map(move |probe| {
        let at = remainder(h1.wrapping_add(probe.wrapping_mul(h2 | 1)), bits, inverse);
        ((at / 64) as usize, 1 << (at % 64))
    })
}

/// The remainder of a division by `bits`, given `inverse`, which is `u64::MAX / bits`. A multiplication is faster than
/// a division for each probe. The quotient that it gives may be too small by up to two.
fn remainder(value: u64, bits: u64, inverse: u64) -> u64 {
    let quotient = (u128::from(value) * u128::from(inverse)) >> 64;
    let mut rest = value - quotient as u64 * bits;
    while rest >= bits {
        rest -= bits;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn a_remainder_is_that_of_a_division(value in any::<u64>(), words in 1u64..1 << 40) {
            let bits = words * 64;
            for value in [value, value / bits * bits, u64::MAX - value % bits] {
                prop_assert_eq!(remainder(value, bits, u64::MAX / bits), value % bits);
            }
        }

        #[test]
        fn every_key_that_was_added_passes(keys in any::<Vec<Vec<u8>>>()) {
            let mut filter = BloomFilter::new(keys.len() as u64);
            keys.iter().for_each(|key| filter.insert(key));
            let filter = BloomFilter::decode(&filter.encode()).unwrap();
            prop_assert!(keys.iter().all(|key| filter.may_contain(key)));
        }
    }

    #[test]
    fn about_one_in_a_hundred_other_keys_passes() {
        let mut filter = BloomFilter::new(10_000);
        (0..10_000u32).for_each(|key| filter.insert(&key.to_le_bytes()));
        let passed = (10_000..110_000u32).filter(|key| filter.may_contain(&key.to_le_bytes())).count();
        assert!((500..1_500).contains(&passed), "{passed} of 100,000");
    }
}
