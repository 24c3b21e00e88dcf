//! The maximum strength of a link by the trust of its writer. Search passes score along a link in proportion to its
//! strength, so the trust of the writer also limits how much score the link passes on.

use poc_graph::Trust;

/// The maximum strength, 0 to 1, of a link whose writer has this trust: 1 for people, 0.6 for agents and other models,
/// and 0.4 for writers outside of this memory. Links of quarantined notes pass no score at all; if a person trusts the
/// notes later, their links count like those of other outside writers.
pub fn max_link_strength(trust: Trust) -> f64 {
    match trust {
        Trust::Quarantined | Trust::External => 0.4,
        Trust::Agent => 0.6,
        Trust::User | Trust::Pinned => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_trust_allows_stronger_links() {
        let limits: Vec<f64> = Trust::ALL.iter().map(|trust| max_link_strength(*trust)).collect();
        assert_eq!(limits, [0.4, 0.4, 0.6, 1.0, 1.0]);
        assert!(limits.is_sorted());
    }
}
