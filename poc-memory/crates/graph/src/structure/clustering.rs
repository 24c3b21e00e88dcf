//! The local clustering coefficient.

/// Local clustering coefficient (Watts and Strogatz 1998), 0–1: the fraction of pairs of a node's
/// neighbours that are adjacent. It is 0 for nodes with fewer than two neighbours.
#[inline]
pub fn clustering(degree: u32, triangles: u32) -> f64 {
    let degree = f64::from(degree);
    if degree < 2.0 { 0.0 } else { 2.0 * f64::from(triangles) / (degree * (degree - 1.0)) }
}
