//! Text that compression shortens only by two fifths, because its letters are random.

/// Text of `length` letters. Its words are long, so that indexing it takes little time.
pub(crate) fn text(seed: u64, length: usize) -> String {
    const WORD: usize = 1000;
    const MULTIPLIER: u64 = 6364136223846793005;
    const INCREMENT: u64 = 1442695040888963407;
    let letters: Vec<char> = ('a'..='z').collect();
    let next = |state: u64| state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
    let mut state = next(seed);
    let letter = |place: usize| {
        state = next(state);
        if place.is_multiple_of(WORD) { ' ' } else { letters[(state >> 33) as usize % letters.len()] }
    };
    (0..length).map(letter).collect()
}
