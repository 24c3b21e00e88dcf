//! The orientation of a layout.
//!
//! The sign of an eigenvector is arbitrary, and eigenvectors of equal eigenvalues may be rotated freely.
//! A small change of the graph could therefore rotate the whole layout. To prevent this, each node has a
//! preferred direction derived from its id. The layout is rotated or mirrored to fit these directions
//! best (the orthogonal Procrustes problem, Schönemann 1966).

use crate::NodeId;
use crate::structure::id_hash::signed;
use faer::Mat;

/// Rotates or mirrors positions around 0 to fit the preferred directions best.
pub(super) fn orient<const D: usize>(positions: &mut [[f64; D]], ids: &[Option<NodeId>]) {
    let mut sums = [[0.0; D]; D];
    for (position, &id) in positions.iter().zip(ids) {
        let length = position.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            for (axis, row) in (0..).zip(&mut sums) {
                row.iter_mut().zip(position).for_each(|(sum, x)| *sum += signed(id, 32 + axis) * x / length);
            }
        }
    }
    let matrix = Mat::from_fn(D, D, |row, column| {
        sums.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0)
    });
    // Without a decomposition the positions stay unchanged.
    let Ok(decomposition) = matrix.svd() else { return };
    let rotation = decomposition.U() * decomposition.V().transpose();
    for position in positions {
        let rotated =
            |row: usize| (0..).zip(position.iter()).map(|(column, x)| rotation.get(row, column) * x).sum();
        *position = std::array::from_fn(rotated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// The result is the same for every initial rotation, and distances are preserved.
        #[test]
        fn the_result_does_not_depend_on_the_initial_rotation(
            positions in proptest::collection::vec((-9.0f64..9.0, -9.0f64..9.0), 5..20),
            angle in 0.0f64..6.2,
            mirrored in any::<bool>(),
        ) {
            let numbers = 0..positions.len() as u64;
            let ids: Vec<Option<NodeId>> = numbers.map(|number| Some(node(number).id)).collect();
            let mut one: Vec<[f64; 2]> = positions.iter().map(|&(x, y)| [x, y]).collect();
            let (sin, cos) = angle.sin_cos();
            let sign = if mirrored { -1.0 } else { 1.0 };
            let mut other: Vec<[f64; 2]> =
                positions.iter().map(|&(x, y)| [cos * x - sin * y, sign * (sin * x + cos * y)]).collect();
            orient(&mut one, &ids);
            orient(&mut other, &ids);
            for ((a, b), (x, y)) in one.iter().zip(&other).zip(&positions) {
                prop_assert!((a[0] - b[0]).hypot(a[1] - b[1]) < 1e-6);
                prop_assert!((a[0].hypot(a[1]) - x.hypot(*y)).abs() < 1e-9);
            }
        }
    }
}
