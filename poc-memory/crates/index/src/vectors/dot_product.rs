//! The dot product of two codes in plain Rust, which the compiler turns into SIMD instructions.

/// The number of products that are summed at once.
const CHUNK: usize = 128;

/// The dot product of two codes. It is always inlined, so that it is compiled for the same processor features as its
/// caller.
#[inline(always)]
pub(super) fn dot<T: Copy + Into<i32>>(a: &[T], b: &[i8]) -> i32 {
    // Sums of a fixed number of products compile to instructions that multiply and add pairs of values.
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<CHUNK>(), b.as_chunks::<CHUNK>());
    dot_of_chunks(a, b) + sum_of_products(a_rest, b_rest)
}

/// The dot product of codes in chunks, always inlined as well.
#[inline(always)]
pub(super) fn dot_of_chunks<T: Copy + Into<i32>>(a: &[[T; CHUNK]], b: &[[i8; CHUNK]]) -> i32 {
    a.iter().zip(b).map(|(a, b)| sum_of_products(a, b)).sum()
}

#[inline(always)]
fn sum_of_products<T: Copy + Into<i32>>(a: &[T], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| a.into() * i32::from(b)).sum()
}
