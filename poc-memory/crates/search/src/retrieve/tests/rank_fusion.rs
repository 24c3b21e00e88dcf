//! Fusion by ranks (RRF).

use super::*;

#[test]
fn rank_fusion_scores_hits_by_their_ranks() {
    let world = World::new(&[
        ("Journal", "Changes are appended before pages are touched"),
        ("Pages", "A journal records every change"),
        ("Soup", "Lentils and lemon"),
    ])
    .by_ranks();
    let found = world.find("journal", 10);
    assert_eq!(found.named, [("meaning", 3), ("title", 1), ("text", 1)]);
    let ranks: Vec<_> = found.hits.iter().map(|hit| (number(hit.id), hit.ranks.clone())).collect();
    assert_eq!(
        ranks,
        [
            (0, vec![("meaning", 1), ("title", 1)]),
            (1, vec![("meaning", 2), ("text", 1)]),
            (2, vec![("meaning", 3)])
        ]
    );
    for hit in &found.hits {
        let expected: f64 = hit.ranks.iter().map(|&(_, rank)| 1.0 / (60.0 + rank as f64)).sum();
        assert!((hit.score - expected).abs() < 1e-12 && hit.score <= 3.0 / 61.0);
        let shares: f64 = hit.shares.iter().map(|(_, share)| share).sum();
        assert!((hit.score - shares).abs() < 1e-12);
    }
    assert_eq!(world.find("journal", 1).hits, found.hits[..1]);
}

#[test]
fn weights_of_rank_fusion_are_settings() {
    let mut world = World::new(&[("Journal", "Lemon"), ("Lemon", "Journal")]).by_ranks();
    world.config.retrieve.rrf.vector_weight = 0.0;
    world.config.retrieve.rrf.body_weight = 2.0;
    let found = world.find("journal", 9);
    let scores: Vec<(u64, f64)> = found.hits.iter().map(|hit| (number(hit.id), hit.score)).collect();
    assert_eq!(scores, [(1, 2.0 / 61.0), (0, 1.0 / 61.0)]);
}
