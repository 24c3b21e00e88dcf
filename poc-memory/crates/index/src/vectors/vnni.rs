//! Dot products with the instructions of AVX-512 for neural networks (VNNI). They multiply bytes and add up four
//! products in one step, so that no code is widened first.
//!
//! One side of these products is unsigned. The codes of the rows are therefore shifted by 128, and the products of the
//! query with a row of that number are subtracted again.

use super::dot_product::dot;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_extract_epi32, _mm_set1_epi32,
    _mm_sub_epi32, _mm256_add_epi32, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_hadd_epi32,
    _mm512_add_epi32, _mm512_castsi512_si256, _mm512_dpbusd_epi32, _mm512_extracti32x4_epi32,
    _mm512_extracti64x4_epi64, _mm512_set_epi64, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_shuffle_i32x4, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64, _mm512_xor_si512,
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
/// queries have the same length. Four rows are multiplied with four queries at a time, so that each row is shifted once
/// and sixteen sums are added up together.
#[target_feature(enable = "avx512f,avx512vnni,avx2")]
pub(super) fn dots_of_queries(queries: &[&[i8]], rows: &[i8], dots: &mut Vec<i32>) {
    let (groups, others) = queries.as_chunks::<TOGETHER>();
    for group in groups {
        let [a, b, c, d] = *group;
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
        let [a_shift, b_shift, c_shift, d_shift] = shifts_of([a, b, c, d]);
        let ((of_a, of_a_last), (of_b, of_b_last)) = (of_a.as_chunks_mut(), of_b.as_chunks_mut());
        let ((of_c, of_c_last), (of_d, of_d_last)) = (of_c.as_chunks_mut(), of_d.as_chunks_mut());
        let (row_groups, last_rows) = rows.split_at(of_a.len() * TOGETHER * length);
        let row_groups = row_groups.chunks_exact(TOGETHER * length);
        for ((((group, of_a), of_b), of_c), of_d) in row_groups.zip(of_a).zip(of_b).zip(of_c).zip(of_d) {
            let mut each = group.chunks_exact(length);
            let (Some(p), Some(q), Some(r), Some(s)) = (each.next(), each.next(), each.next(), each.next())
            else {
                return;
            };
            let ((p, p_rest), (q, q_rest)) = (p.as_chunks(), q.as_chunks());
            let ((r, r_rest), (s, s_rest)) = (r.as_chunks(), s.as_chunks());
            let mut sums = [[_mm512_setzero_si512(); TOGETHER]; TOGETHER];
            for (((((((p, q), r), s), a), b), c), d) in
                p.iter().zip(q).zip(r).zip(s).zip(a).zip(b).zip(c).zip(d)
            {
                let rows = [load_shifted(p), load_shifted(q), load_shifted(r), load_shifted(s)];
                sums[0] = add_products(sums[0], rows, load(a));
                sums[1] = add_products(sums[1], rows, load(b));
                sums[2] = add_products(sums[2], rows, load(c));
                sums[3] = add_products(sums[3], rows, load(d));
            }
            let sums = totals_of_all(sums);
            *of_a = values(_mm512_extracti32x4_epi32::<0>(sums), a_shift);
            *of_b = values(_mm512_extracti32x4_epi32::<1>(sums), b_shift);
            *of_c = values(_mm512_extracti32x4_epi32::<2>(sums), c_shift);
            *of_d = values(_mm512_extracti32x4_epi32::<3>(sums), d_shift);
            if !a_rest.is_empty() {
                let rests = [p_rest, q_rest, r_rest, s_rest];
                for (of, query) in [of_a, of_b, of_c, of_d].into_iter().zip([a_rest, b_rest, c_rest, d_rest])
                {
                    of.iter_mut().zip(rests).for_each(|(sum, row)| *sum += dot(query, row));
                }
            }
        }
        for (of, query) in [of_a_last, of_b_last, of_c_last, of_d_last].into_iter().zip(*group) {
            of.iter_mut().zip(last_rows.chunks_exact(length)).for_each(|(sum, row)| *sum = dot(query, row));
        }
    }
    for query in others {
        self::dots(query, rows, dots);
    }
}

/// The sums of each row plus its products with the query.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn add_products(sums: [__m512i; TOGETHER], rows: [__m512i; TOGETHER], query: __m512i) -> [__m512i; TOGETHER] {
    [
        _mm512_dpbusd_epi32(sums[0], rows[0], query),
        _mm512_dpbusd_epi32(sums[1], rows[1], query),
        _mm512_dpbusd_epi32(sums[2], rows[2], query),
        _mm512_dpbusd_epi32(sums[3], rows[3], query),
    ]
}

/// The sums of the lanes of each register: first those of the first four, then those of the next four.
#[target_feature(enable = "avx512f")]
#[inline]
fn totals_of_all(sums: [[__m512i; TOGETHER]; TOGETHER]) -> __m512i {
    let [a, b, c, d] = sums;
    let (a, b, c, d) = (sums_of_parts(a), sums_of_parts(b), sums_of_parts(c), sums_of_parts(d));
    // Parts 0 and 1 of each are added to parts 2 and 3.
    let ab = _mm512_add_epi32(
        _mm512_shuffle_i32x4::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i32x4::<0b11_10_11_10>(a, b),
    );
    let cd = _mm512_add_epi32(
        _mm512_shuffle_i32x4::<0b01_00_01_00>(c, d),
        _mm512_shuffle_i32x4::<0b11_10_11_10>(c, d),
    );
    _mm512_add_epi32(
        _mm512_shuffle_i32x4::<0b10_00_10_00>(ab, cd),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(ab, cd),
    )
}

/// For each part of four lanes, the sums of the four lanes of each register.
#[target_feature(enable = "avx512f")]
#[inline]
fn sums_of_parts(sums: [__m512i; TOGETHER]) -> __m512i {
    let [a, b, c, d] = sums;
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
}

/// The values of a register, each less `shift`.
#[target_feature(enable = "avx512f,avx2")]
#[inline]
fn values(sums: __m128i, shift: i32) -> [i32; TOGETHER] {
    let sums = _mm_sub_epi32(sums, _mm_set1_epi32(shift));
    [
        _mm_cvtsi128_si32(sums),
        _mm_extract_epi32::<1>(sums),
        _mm_extract_epi32::<2>(sums),
        _mm_extract_epi32::<3>(sums),
    ]
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
