//! A recall over random stores, compared with a computation over all paths.

use super::*;

/// A random store, as plain data.
#[derive(Clone, Debug)]
struct Plain {
    /// Parts of the vector, weight, days since it was touched, whether it is quarantined.
    nodes: Vec<(Vec<i8>, f64, i64, bool)>,
    /// From, to, kind, strength, days.
    edges: BTreeMap<(usize, usize, usize), (f64, i64)>,
    query: Vec<i8>,
    k: usize,
    hops: usize,
    oversample: usize,
}

const KINDS: [EdgeKind; 4] =
    [EdgeKind::Structural, EdgeKind::CoRetrieval, EdgeKind::CoTraversal, EdgeKind::Link];

fn plain() -> impl Strategy<Value = Plain> {
    let parts = || {
        proptest::collection::vec(-1i8..=1, 5)
            .prop_filter("a direction", |parts| parts.iter().any(|&part| part != 0))
    };
    let node = (parts(), 0.01f64..20.0, 0i64..2000, proptest::bool::weighted(0.1));
    let edge = ((0usize..9, 0usize..9, 0usize..4), (0.05f64..1.0, 0i64..400));
    (
        proptest::collection::vec(node, 2..10),
        proptest::collection::btree_map(edge.0, edge.1, 0..30),
        parts(),
        1usize..6,
        0usize..4,
        1usize..12,
    )
        .prop_map(|(nodes, edges, query, k, hops, oversample)| {
            let count = nodes.len();
            let edges =
                edges.into_iter().filter(|((a, b, _), _)| a != b && *a < count && *b < count).collect();
            Plain { nodes, edges, query, k, hops, oversample }
        })
}

impl Plain {
    fn build(&self) -> TestMemory {
        let memory = TestMemory::new();
        for (number, (parts, weight, days, quarantined)) in self.nodes.iter().enumerate() {
            let trust = if *quarantined { Trust::Quarantined } else { Trust::User };
            put_node(&memory, &Node { trust, ..testing::node(number as u64) }, parts, *weight, *days);
        }
        put(&memory, |tx| {
            for (&(from, to, kind), &(strength, days)) in &self.edges {
                tx.put_edge(&edge(&memory, from as u64, to as u64, KINDS[kind], strength, days))?;
            }
            Ok(())
        });
        memory
    }

    fn cosine(&self, number: usize) -> f64 {
        let of = |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let own = &self.nodes[number].0;
        of(own, &self.query) / (of(own, own) * of(&self.query, &self.query)).sqrt()
    }

    fn faded(&self, number: usize) -> f64 {
        let (_, weight, days, _) = self.nodes[number];
        weight * (-8.0e-8 * days as f64 * 86_400.0).exp()
    }

    /// Weight of the strongest edge that can be followed.
    fn walkable(&self, from: usize, to: usize) -> Option<f64> {
        let lambdas = [4.0e-8, 2.7e-7, 1.3e-7];
        (0..3)
            .filter_map(|kind| {
                let (strength, days) = self.edges.get(&(from, to, kind))?;
                Some(strength * (-lambdas[kind] * *days as f64 * 86_400.0).exp())
            })
            .filter(|strength| *strength >= 0.05)
            .max_by(f64::total_cmp)
    }

    /// Similarity and weight of the candidates; `None` if the choice depends on rounding.
    fn candidates(&self) -> Option<BTreeMap<usize, (f64, f64)>> {
        let mut near: Vec<usize> = (0..self.nodes.len()).filter(|&n| !self.nodes[n].3).collect();
        near.sort_by(|&a, &b| self.cosine(b).total_cmp(&self.cosine(a)));
        let count = self.oversample.max(self.k);
        cut(&mut near, count, |&n| self.cosine(n))?;
        // Every note has the word of the question once, so the first ones are the best by words.
        near.extend((0..self.nodes.len()).filter(|&n| !self.nodes[n].3).take(count));
        Some(
            near.into_iter()
                .map(|n| (n, ((self.cosine(n) + 1.0) / 2.0, self.faded(n).max(0.01) + 1.0)))
                .collect(),
        )
    }

    /// The best candidates, where walks start; `None` if the choice depends on rounding.
    fn starts(&self, candidates: &BTreeMap<usize, (f64, f64)>) -> Option<Vec<usize>> {
        let score = |n: &usize| relevance(candidates[n].0) * boost(candidates[n].1);
        let mut starts: Vec<usize> = candidates.keys().copied().collect();
        starts.sort_by(|a, b| score(b).total_cmp(&score(a)));
        cut(&mut starts, self.k, score)?;
        Some(starts)
    }

    /// The best remaining score at each node over all walks from a start, each with at most the given number of hops.
    fn walk(
        &self,
        at: usize,
        left: f64,
        hops: usize,
        candidates: &BTreeMap<usize, (f64, f64)>,
        best: &mut BTreeMap<usize, f64>,
    ) {
        let known = best.entry(at).or_insert(left);
        *known = known.max(left);
        if hops == 0 {
            return;
        }
        for to in 0..self.nodes.len() {
            let alive = candidates.contains_key(&to) || self.faded(to) >= 0.01;
            if !self.nodes[to].3 && alive && self.walkable(at, to).is_some() {
                self.walk(to, left / 2.0, hops - 1, candidates, best);
            }
        }
    }
}

/// The relevance of a note with all words of the question.
fn relevance(similarity: f64) -> f64 {
    (6.0 * similarity + 1.0) / 7.0
}

/// The factor for a weight.
fn boost(weight: f64) -> f64 {
    (1.0 + 0.2 * weight / (weight + 4.0)).sqrt()
}

/// Scores that differ by less are in an order that depends on rounding.
const ROUNDING: f64 = 1e-5;

/// Keeps the first of a sorted list; `None` if the next one has the same score as the last of them.
fn cut(sorted: &mut Vec<usize>, count: usize, score: impl Fn(&usize) -> f64) -> Option<()> {
    if let (Some(last), Some(next)) = (sorted.get(count - 1), sorted.get(count))
        && (score(last) - score(next)).abs() < ROUNDING
    {
        return None;
    }
    sorted.truncate(count);
    Some(())
}

fn number(id: NodeId) -> usize {
    usize::from(id.as_bytes()[15])
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn recall_equals_brute_force(plain in plain()) {
        let Some(candidates) = plain.candidates() else { return Ok(()) };
        let memory = plain.build();
        let recalled = ask(&memory, &plain.query, plain.k, plain.hops, plain.oversample);

        let Some(starts) = plain.starts(&candidates) else { return Ok(()) };
        let mut best = BTreeMap::new();
        for &start in &starts {
            plain.walk(start, relevance(candidates[&start].0), plain.hops, &candidates, &mut best);
        }
        let weight = |n: usize| candidates.get(&n).map_or(plain.faded(n).max(0.01), |of| of.1);
        let mut expected: Vec<(usize, f64)> = best.iter().map(|(&n, left)| (n, left * boost(weight(n)))).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        prop_assert_eq!(recalled.hits.len(), expected.len().min(plain.k));
        let found: BTreeSet<usize> = recalled.hits.iter().map(|hit| number(hit.id)).collect();
        prop_assert_eq!(found.len(), recalled.hits.len());
        for (hit, (_, score)) in recalled.hits.iter().zip(&expected) {
            prop_assert!((hit.score - score).abs() < ROUNDING, "{} {}", hit.score, score);
            // The expected node, or another one with the same score.
            let own = expected.iter().find(|(n, _)| *n == number(hit.id));
            prop_assert!(own.is_some_and(|(_, own)| (own - score).abs() < ROUNDING), "{own:?} {score}");
            // The path exists, and its length matches the score.
            let first = hit.path.first().map_or(hit.id, |step| step.from);
            prop_assert!(starts.contains(&number(first)));
            prop_assert!((hit.similarity - candidates[&number(first)].0).abs() < 1e-6);
            prop_assert_eq!(hit.path_factor, 0.5f64.powi(hit.path.len() as i32));
            prop_assert!(hit.path.len() <= plain.hops);
            for step in &hit.path {
                let strongest = plain.walkable(number(step.from), number(step.to)).unwrap();
                prop_assert!((step.strength - strongest).abs() < 1e-9);
            }
            prop_assert!(hit.path.windows(2).all(|pair| pair[0].to == pair[1].from));
            prop_assert!(hit.path.last().is_none_or(|step| step.to == hit.id));
        }

        // Learning makes the expected changes and no others.
        let mut used: Vec<usize> = recalled.update.used.iter().map(|&id| number(id)).collect();
        used.sort_unstable();
        let mut likely: Vec<usize> =
            recalled.hits.iter().filter(|hit| hit.path.is_empty()).map(|hit| number(hit.id)).collect();
        likely.sort_unstable();
        prop_assert!(used == likely && used.iter().all(|number| candidates.contains_key(number)));
        let before: BTreeMap<usize, f64> = (0..plain.nodes.len()).map(|n| (n, crate::recall::tests::weight(&memory, n as u64))).collect();
        write_down(&memory, &recalled);
        for n in 0..plain.nodes.len() {
            let after = crate::recall::tests::weight(&memory, n as u64);
            match candidates.get(&n).filter(|_| used.contains(&n)) {
                Some(of) => prop_assert!((after - of.1).abs() < 1e-9),
                None => prop_assert_eq!(after, before[&n]),
            }
        }
        // All pairs of starts are reported, and the strongest one is stored.
        let mut pairs = BTreeMap::new();
        for pair in &recalled.update.pairs {
            let (a, b, gain) = (number(pair.a), number(pair.b), pair.gain);
            prop_assert!((gain - 0.5 * candidates[&a].0.min(candidates[&b].0)).abs() < 1e-6);
            prop_assert!(pairs.insert((a.min(b), a.max(b)), gain).is_none());
        }
        prop_assert_eq!(pairs.len(), starts.len() * (starts.len() - 1) / 2);
        let strongest = pairs.values().copied().fold(0.0, f64::max);
        let stored = pairs.iter().find(|(_, gain)| **gain == strongest).map(|(pair, _)| *pair);
        for a in 0..plain.nodes.len() {
            for b in 0..plain.nodes.len() {
                let (from, to) = (id(a as u64), id(b as u64));
                let faded = |kind: usize, lambda: f64| plain.edges.get(&(a, b, kind))
                    .map(|(strength, days)| (*strength, strength * (-lambda * *days as f64 * 86_400.0).exp()));
                let together = (stored == Some((a.min(b), a.max(b)))).then_some(strongest);
                let led = recalled.hits.iter().any(|hit| hit.path.iter().any(|step| (step.from, step.to) == (from, to)));
                for (kind, lambda, gain) in [(1, 2.7e-7, together), (2, 1.3e-7, led.then_some(0.75)), (0, 4.0e-8, None)] {
                    let there = faded(kind, lambda);
                    let expected = match gain {
                        None => there.map(|(stored, _)| stored),
                        Some(gain) => {
                            let sum = there.map_or(0.0, |(_, faded)| faded) + gain;
                            if sum < 0.05 { there.map(|(stored, _)| stored) } else { Some(sum) }
                        }
                    };
                    let found = strength(&memory, a as u64, KINDS[kind], b as u64);
                    match (found, expected) {
                        (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-6, "{a} {b} {kind}"),
                        (found, expected) => prop_assert_eq!(found.is_some(), expected.is_some(), "{} {} {}", a, b, kind),
                    }
                }
            }
        }
    }
}
