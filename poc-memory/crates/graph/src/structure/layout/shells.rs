//! Arranges components: the largest in the centre, the others on rings (2D) or spheres (3D) around it.

/// The gap between two components.
const GAP: f64 = 1.0;

/// The packing constant of a sphere. The n points of a Fibonacci lattice are at least 3.09/√n radii apart (Hardin,
/// Michaels and Saff 2016), so (3.09 / 2)² ≈ 2.39 is its upper bound.
const LATTICE: f64 = 2.0;

/// The centres of components with these radii, which must be in descending order. No two components overlap.
pub(super) fn centers<const D: usize>(radii: &[f64]) -> Vec<[f64; D]> {
    let Some((first, mut rest)) = radii.split_first() else { return Vec::new() };
    let mut centers = vec![[0.0; D]];
    let mut outside = *first;
    while let Some(widest) = rest.first() {
        let radius = outside + GAP + widest;
        let count = capacity::<D>(radius, widest + GAP / 2.0);
        let (here, outer) = rest.split_at(count.min(rest.len()));
        centers.extend((0..here.len()).map(|number| on_shell::<D>(number, count).map(|x| x * radius)));
        rest = outer;
        outside = radius + widest;
    }
    centers
}

/// How many balls of radius `own` fit side by side on a ring or sphere of radius `shell`.
fn capacity<const D: usize>(shell: f64, own: f64) -> usize {
    let fit = match D {
        2 => std::f64::consts::PI / (own / shell).asin(),
        _ => LATTICE * (shell / own).powi(2),
    };
    (fit as usize).max(1)
}

/// Position `number`, counted from 0, of `count` on the unit ring or sphere.
fn on_shell<const D: usize>(number: usize, count: usize) -> [f64; D] {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let (angle, height) = match D {
        2 => (std::f64::consts::TAU * number as f64 / count as f64, 0.0),
        _ => (golden * number as f64, 1.0 - (2.0 * number as f64 + 1.0) / count as f64),
    };
    let across = (1.0 - height * height).max(0.0).sqrt();
    let point = [across * angle.cos(), across * angle.sin(), height];
    std::array::from_fn(|axis| point.get(axis).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overlap<const D: usize>(radii: &[f64]) -> Option<(usize, usize)> {
        let centers = centers::<D>(radii);
        let far = |a: usize, b: usize| {
            centers[a].iter().zip(&centers[b]).map(|(a, b): (&f64, &f64)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        (0..radii.len())
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .find(|&(a, b)| far(a, b) < radii[a] + radii[b])
    }

    poc_laws::laws! {
        #[test]
        fn components_do_not_overlap(mut radii in proptest::collection::vec(0.5f64..20.0, 0..60)) {
            radii.sort_by(|a, b| b.total_cmp(a));
            prop_assert_eq!(centers::<2>(&radii).len(), radii.len());
            prop_assert_eq!(overlap::<2>(&radii), None);
            prop_assert_eq!(overlap::<3>(&radii), None);
        }
    }

    #[test]
    fn thousands_of_isolated_nodes_fit() {
        let radii = vec![0.5; 2000];
        assert_eq!((overlap::<2>(&radii), overlap::<3>(&radii)), (None, None));
    }
}
