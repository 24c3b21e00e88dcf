//! Dot products with the instructions of AVX-512 for neural networks (VNNI). They multiply bytes and add up four
//! products in one step, so that no code is widened first.
//!
//! One side of these products is unsigned. The codes of the rows are therefore shifted by 128, and the products of the
//! query with a row of that number are subtracted again.

use super::dot_product::dot;
use std::arch::x86_64::{
    __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_extract_epi32, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm512_castsi512_si256,
    _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_set_epi64, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_xor_si512,
};

/// The number of values that are multiplied at once.
const LANES: usize = 64;

/// The number of codes whose products with another one are added up together.
const TOGETHER: usize = 4;

/// Appends to `dots` the dot product of `query` with each of the `rows`, which are contiguous.
#[target_feature(enable = "avx512f,avx512vnni,avx2")]
pub(super) fn dots(query: &[i8], rows: &[i8], dots: &mut Vec<i32>) {
    let length = query.len().max(1);
    let (chunks, rest) = query.as_chunks::<LANES>();
    let [shift, ..] = shifts_of([chunks; TOGETHER]);
    let mut groups = rows.chunks_exact(length * TOGETHER);
    for group in groups.by_ref() {
        let mut each = group.chunks_exact(length);
        let (Some(a), Some(b), Some(c), Some(d)) = (each.next(), each.next(), each.next(), each.next())
        else {
            break;
        };
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
        let ((c, c_rest), (d, d_rest)) = (c.as_chunks(), d.as_chunks());
        let mut sums = [_mm512_setzero_si512(); TOGETHER];
        for ((((query, a), b), c), d) in chunks.iter().zip(a).zip(b).zip(c).zip(d) {
            let query = load(query);
            // A loop over the rows would keep the sums in memory instead of registers.
            sums[0] = _mm512_dpbusd_epi32(sums[0], load_shifted(a), query);
            sums[1] = _mm512_dpbusd_epi32(sums[1], load_shifted(b), query);
            sums[2] = _mm512_dpbusd_epi32(sums[2], load_shifted(c), query);
            sums[3] = _mm512_dpbusd_epi32(sums[3], load_shifted(d), query);
        }
        let sums = totals(sums);
        let mut sums = [sums[0] - shift, sums[1] - shift, sums[2] - shift, sums[3] - shift];
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

/// Appends to `dots` the dot products of the first query with each of the `rows`, then those of the next query. All
/// queries have the same length. Each row is shifted once for four queries.
#[target_feature(enable = "avx512f,avx512vnni,avx2")]
pub(super) fn dots_of_queries(queries: &[&[i8]], rows: &[i8], dots: &mut Vec<i32>) {
    let (groups, others) = queries.as_chunks::<TOGETHER>();
    for &[a, b, c, d] in groups {
        let length = a.len().max(1);
        let count = rows.len() / length;
        let start = dots.len();
        dots.resize(start + TOGETHER * count, 0);
        let mut each = dots.get_mut(start..).unwrap_or_default().chunks_exact_mut(count.max(1));
        let (Some(of_a), Some(of_b), Some(of_c), Some(of_d)) =
            (each.next(), each.next(), each.next(), each.next())
        else {
            return;
        };
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
        let ((c, c_rest), (d, d_rest)) = (c.as_chunks(), d.as_chunks());
        let shifts = shifts_of([a, b, c, d]);
        for ((((row, of_a), of_b), of_c), of_d) in
            rows.chunks_exact(length).zip(of_a).zip(of_b).zip(of_c).zip(of_d)
        {
            let (chunks, rest) = row.as_chunks();
            let mut sums = [_mm512_setzero_si512(); TOGETHER];
            for ((((row, a), b), c), d) in chunks.iter().zip(a).zip(b).zip(c).zip(d) {
                let row = load_shifted(row);
                sums[0] = _mm512_dpbusd_epi32(sums[0], row, load(a));
                sums[1] = _mm512_dpbusd_epi32(sums[1], row, load(b));
                sums[2] = _mm512_dpbusd_epi32(sums[2], row, load(c));
                sums[3] = _mm512_dpbusd_epi32(sums[3], row, load(d));
            }
            let sums = totals(sums);
            *of_a = sums[0] - shifts[0];
            *of_b = sums[1] - shifts[1];
            *of_c = sums[2] - shifts[2];
            *of_d = sums[3] - shifts[3];
            if !rest.is_empty() {
                *of_a += dot(a_rest, rest);
                *of_b += dot(b_rest, rest);
                *of_c += dot(c_rest, rest);
                *of_d += dot(d_rest, rest);
            }
        }
    }
    for query in others {
        self::dots(query, rows, dots);
    }
}

/// How much greater the products of each query with shifted rows are: its products with a row of the shift.
#[target_feature(enable = "avx512f,avx512vnni,avx2")]
#[inline]
fn shifts_of(queries: [&[[i8; LANES]]; TOGETHER]) -> [i32; TOGETHER] {
    let shift = load_shifted(&[0; LANES]);
    let mut sums = [_mm512_setzero_si512(); TOGETHER];
    let [a, b, c, d] = queries;
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        sums[0] = _mm512_dpbusd_epi32(sums[0], shift, load(a));
        sums[1] = _mm512_dpbusd_epi32(sums[1], shift, load(b));
        sums[2] = _mm512_dpbusd_epi32(sums[2], shift, load(c));
        sums[3] = _mm512_dpbusd_epi32(sums[3], shift, load(d));
    }
    totals(sums)
}

/// The sums of the lanes of each register.
#[target_feature(enable = "avx512f,avx2")]
#[inline]
fn totals(sums: [__m512i; TOGETHER]) -> [i32; TOGETHER] {
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

/// The values in a register, each greater by 128 and unsigned.
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
