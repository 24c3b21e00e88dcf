//! Random number generators, passed as an argument so that tests are reproducible.

use parking_lot::Mutex;

/// A source of random bits.
pub trait Rng: Send + Sync {
    /// Returns 64 new random bits.
    fn next_u64(&self) -> u64;
}

/// The random number generator of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRng;

impl Rng for SystemRng {
    fn next_u64(&self) -> u64 {
        getrandom::u64().unwrap_or_else(|_| {
            // Without a random source, ids are still unique because of their time and counter.
            u64::from(std::process::id())
        })
    }
}

/// A reproducible sequence: SplitMix64 (Steele, Lea and Flood 2014) from a seed.
#[derive(Debug)]
pub struct SeededRng(Mutex<u64>);

impl SeededRng {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        SeededRng(Mutex::new(seed))
    }
}

impl Rng for SeededRng {
    fn next_u64(&self) -> u64 {
        let mut state = self.0.lock();
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
