//! Text that compression shortens only by two fifths, because its letters are random.

/// Text of `length` letters. Its words are long, so that indexing it takes little time.
pub(crate) fn text(seed: u64, length: usize) -> String {
    const WORD: usize = 1000;
    let mut text = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut text);
    for letter in &mut text {
        *letter = b'a' + *letter % 26;
    }
    for space in text.iter_mut().step_by(WORD) {
        *space = b' ';
    }
    String::from_utf8(text).unwrap()
}
