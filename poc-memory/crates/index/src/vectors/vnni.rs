//! Dot products with the instructions of AVX-512 for neural networks (VNNI). They multiply bytes and add up four
//! products in one step, so that no code is widened first.

use super::dot_product::dot;
use std::arch::x86_64::{
    __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_extract_epi32, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm512_castsi512_si256,
    _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_set_epi64, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_xor_si512,
};

/// The number of values that are multiplied at once.
const LANES: usize = 64;

/// The number of rows whose products are added up together.
const ROWS: usize = 4;

/// One side of a product is unsigned, so the codes of the rows are shifted by this much.
const SHIFT: i32 = 128;

/// Appends to `dots` the dot product of `query` with each of the `rows`, which are contiguous.
#[target_feature(enable = "avx512f,avx512vnni,avx2")]
pub(super) fn dots(query: &[i8], rows: &[i8], dots: &mut Vec<i32>) {
    let length = query.len().max(1);
    let (chunks, rest) = query.as_chunks::<LANES>();
    // Plain loops, because iterators with closures are not compiled for the features of this function.
    let mut shifted = 0;
    for chunk in chunks {
        for &value in chunk {
            shifted += SHIFT * i32::from(value);
        }
    }
    let mut groups = rows.chunks_exact(length * ROWS);
    for group in groups.by_ref() {
        let mut each = group.chunks_exact(length);
        let (Some(a), Some(b), Some(c), Some(d)) = (each.next(), each.next(), each.next(), each.next())
        else {
            break;
        };
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
        let ((c, c_rest), (d, d_rest)) = (c.as_chunks(), d.as_chunks());
        let sums = sums_of_products(chunks, [a, b, c, d]);
        let mut sums = [sums[0] - shifted, sums[1] - shifted, sums[2] - shifted, sums[3] - shifted];
        // Usually, the number of dimensions is a multiple of the lanes.
        if !rest.is_empty() {
            for (sum, row) in sums.iter_mut().zip([a_rest, b_rest, c_rest, d_rest]) {
                *sum += dot(rest, row);
            }
        }
        dots.extend_from_slice(&sums);
    }
    for row in groups.remainder().chunks_exact(length) {
        dots.push(dot(query, row));
    }
}

/// The dot product of the query with each row, whose values are shifted.
#[target_feature(enable = "avx512f,avx512vnni,avx2")]
#[inline]
fn sums_of_products(query: &[[i8; LANES]], rows: [&[[i8; LANES]]; ROWS]) -> [i32; ROWS] {
    let [a, b, c, d] = rows;
    let mut sums = [_mm512_setzero_si512(); ROWS];
    for ((((query, a), b), c), d) in query.iter().zip(a).zip(b).zip(c).zip(d) {
        let query = load(query);
        // A loop over the rows would keep the sums in memory instead of registers.
        sums[0] = _mm512_dpbusd_epi32(sums[0], load_shifted(a), query);
        sums[1] = _mm512_dpbusd_epi32(sums[1], load_shifted(b), query);
        sums[2] = _mm512_dpbusd_epi32(sums[2], load_shifted(c), query);
        sums[3] = _mm512_dpbusd_epi32(sums[3], load_shifted(d), query);
    }
    let [a, b, c, d] = sums;
    let (a, b, c, d) = (sum_of_halves(a), sum_of_halves(b), sum_of_halves(c), sum_of_halves(d));
    let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    let all = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
    [
        _mm_cvtsi128_si32(all),
        _mm_extract_epi32::<1>(all),
        _mm_extract_epi32::<2>(all),
        _mm_extract_epi32::<3>(all),
    ]
}

/// The lower and the upper half of a register, added.
#[target_feature(enable = "avx512f,avx2")]
#[inline]
fn sum_of_halves(sums: __m512i) -> __m256i {
    _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums))
}

/// The values in a register, each greater by 128.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_shifted(values: &[i8; LANES]) -> __m512i {
    // A signed byte with its highest bit inverted is the unsigned byte that is greater by 128.
    _mm512_xor_si512(load(values), _mm512_set1_epi8(i8::MIN))
}

/// The values in a register. This compiles to a single instruction, without a pointer.
#[target_feature(enable = "avx512f")]
#[inline]
fn load(values: &[i8; LANES]) -> __m512i {
    let (&[a, b, c, d, e, f, g, h], _) = values.as_chunks::<8>() else { return _mm512_setzero_si512() };
    let [a, b, c, d, e, f, g, h] =
        [a, b, c, d, e, f, g, h].map(|part| i64::from_le_bytes(part.map(i8::cast_unsigned)));
    _mm512_set_epi64(h, g, f, e, d, c, b, a)
}
