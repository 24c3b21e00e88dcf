//! The HNSW graph (Malkov and Yashunin 2018): approximate nearest neighbours among rows.
//!
//! The graph has links only; the codes are those of the rows, so a row that is in it must keep its code. Rows are
//! only added. Why not a library: usearch keeps a second copy of the vectors, compares them by a scalar cosine
//! unless its kernels are compiled, which takes minutes, and trusts its files; and hnsw_rs keeps each vector and
//! each list of links in an allocation of its own.

use super::code::{self, Code};
use super::rows::{NONE, Rows};
use multiversion::multiversion;
use rustc_hash::FxHashMap;

/// The greatest number of levels. A graph of `M`⁸ rows has eight.
const LEVELS: usize = 16;

/// A list that is full is cut down to its most diverse links, with this share of its slots left free. Otherwise
/// every later link would have to be weighed against all others again.
const FREE_SHARE: usize = 4;

/// Links between rows, on several levels.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Links of a row on the levels above 0 (`M`); twice as many on level 0.
    connectivity: usize,
    /// Slots for the links of every row on level 0, [`NONE`] where unused.
    base: Vec<u32>,
    /// The number of levels of every row; 0 if it is not in the graph.
    heights: Vec<u8>,
    /// The links on the levels from 1 on of the rows that have such levels.
    upper: FxHashMap<u32, Vec<Vec<u32>>>,
    /// A row with the greatest height.
    entry: Option<u32>,
    len: usize,
}

/// A row and its cosine with the query.
#[derive(Clone, Copy, Debug)]
struct Near {
    cosine: f32,
    row: u32,
}

/// A candidate of a search.
#[derive(Clone, Copy)]
struct Candidate {
    near: Near,
    expanded: bool,
}

/// Rows that a search has seen.
struct Seen(Vec<u64>);

impl Seen {
    /// Marks a row. Returns whether it was new.
    fn insert(&mut self, row: u32) -> bool {
        let Some(word) = self.0.get_mut(row as usize / 64) else { return false };
        let bit = 1 << (row % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Buffers of a search.
#[derive(Default)]
struct Buffers {
    rows: Vec<u32>,
    cosines: Vec<f32>,
}

impl Graph {
    /// An empty graph.
    pub(super) fn new(connectivity: usize) -> Graph {
        Graph { connectivity, ..Graph::default() }
    }

    /// The number of rows in it.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether a row is in it.
    pub(super) fn contains(&self, row: u32) -> bool {
        self.height(row) > 0
    }

    /// The rows nearest to a query, nearest first. The search keeps `expansion` candidates; more find better ones.
    pub(super) fn search(&self, rows: &Rows, query: &Code, expansion: usize) -> Vec<u32> {
        let Some(entry) = self.entry else { return Vec::new() };
        let query = Query { values: &query.values, inverse: query.inverse };
        let near = self.descend(rows, query, entry, 0);
        let found = self.explore(rows, query, near, 0, expansion);
        found.into_iter().map(|near| near.row).collect()
    }

    /// Adds a row, which must not be in the graph.
    pub(super) fn add(&mut self, rows: &Rows, row: u32, expansion: usize) {
        let level = level(row, self.connectivity);
        self.make_room(row, level + 1);
        let Some(entry) = self.entry else {
            self.entry = Some(row);
            return;
        };
        let query = Query { values: rows.code(row), inverse: rows.inverse(row) };
        let top = self.height(entry).saturating_sub(1);
        let mut near = self.descend(rows, query, entry, level);
        for level in (0..=level.min(top)).rev() {
            let found = self.explore(rows, query, near, level, expansion);
            near = found.first().copied().unwrap_or(near);
            let links = diverse(rows, &found, self.connectivity);
            self.set_links(row, level, &links);
            links.iter().for_each(|&other| self.add_link(rows, other, row, level));
        }
        if level > top {
            self.entry = Some(row);
        }
    }

    fn height(&self, row: u32) -> usize {
        self.heights.get(row as usize).map_or(0, |&height| usize::from(height))
    }

    fn slots(&self) -> usize {
        self.connectivity * 2
    }

    fn make_room(&mut self, row: u32, height: usize) {
        let rows = self.heights.len().max(row as usize + 1);
        self.heights.resize(rows, 0);
        self.base.resize(rows * self.slots(), NONE);
        if let Some(known) = self.heights.get_mut(row as usize) {
            *known = height as u8;
        }
        if height > 1 {
            self.upper.insert(row, vec![Vec::new(); height - 1]);
        }
        self.len += 1;
    }

    fn links(&self, row: u32, level: usize) -> impl Iterator<Item = u32> {
        let links = match level.checked_sub(1) {
            None => {
                let start = row as usize * self.slots();
                self.base.get(start..start + self.slots())
            }
            Some(level) => self.upper.get(&row).and_then(|levels| levels.get(level)).map(Vec::as_slice),
        };
        links.unwrap_or_default().iter().copied().take_while(|&link| link != NONE)
    }

    fn set_links(&mut self, row: u32, level: usize, links: &[u32]) {
        match level.checked_sub(1) {
            None => {
                let (start, slots) = (row as usize * self.slots(), self.slots());
                let links = links.iter().copied().chain(std::iter::repeat(NONE));
                let base = self.base.get_mut(start..start + slots).unwrap_or_default();
                base.iter_mut().zip(links).for_each(|(slot, link)| *slot = link);
            }
            Some(level) => {
                if let Some(own) = self.upper.get_mut(&row).and_then(|levels| levels.get_mut(level)) {
                    own.clear();
                    own.extend_from_slice(links);
                }
            }
        }
    }

    /// Adds a link to a row, and cuts its list down if it is full.
    fn add_link(&mut self, rows: &Rows, from: u32, to: u32, level: usize) {
        let most = if level == 0 { self.slots() } else { self.connectivity };
        let links: Vec<u32> = self.links(from, level).chain([to]).collect();
        if links.len() <= most {
            return self.set_links(from, level, &links);
        }
        let mut cosines = Vec::with_capacity(links.len());
        let query = Query { values: rows.code(from), inverse: rows.inverse(from) };
        compare(query, rows, &links, &mut cosines);
        let mut near: Vec<Near> =
            links.iter().zip(cosines).map(|(&row, cosine)| Near { cosine, row }).collect();
        near.sort_unstable_by(|a, b| b.cosine.total_cmp(&a.cosine));
        let links = diverse(rows, &near, (most - most / FREE_SHARE).max(1));
        self.set_links(from, level, &links);
    }

    /// Follows the levels above `level` from a row to the one nearest to the query.
    fn descend(&self, rows: &Rows, query: Query<'_>, entry: u32, level: usize) -> Near {
        let mut buffers = Buffers::default();
        compare(query, rows, &[entry], &mut buffers.cosines);
        let mut near = Near { cosine: buffers.cosines.first().copied().unwrap_or(-1.0), row: entry };
        for level in (level + 1..self.height(entry)).rev() {
            loop {
                buffers.rows.clear();
                buffers.rows.extend(self.links(near.row, level));
                compare(query, rows, &buffers.rows, &mut buffers.cosines);
                let links = buffers.rows.iter().zip(&buffers.cosines);
                match links.max_by(|a, b| a.1.total_cmp(b.1)) {
                    Some((&row, &cosine)) if cosine > near.cosine => near = Near { cosine, row },
                    _ => break,
                }
            }
        }
        near
    }

    /// The nearest rows that a search from `start` finds on a level while it keeps `expansion` candidates, nearest
    /// first.
    fn explore(
        &self,
        rows: &Rows,
        query: Query<'_>,
        start: Near,
        level: usize,
        expansion: usize,
    ) -> Vec<Near> {
        let mut seen = Seen(vec![0; self.heights.len() / 64 + 1]);
        let mut buffers = Buffers::default();
        seen.insert(start.row);
        let mut kept: Vec<Candidate> = Vec::with_capacity(expansion + 1);
        kept.push(Candidate { near: start, expanded: false });
        // All candidates before it are expanded.
        let mut next = 0;
        while let Some(candidate) = kept.get_mut(next) {
            if std::mem::replace(&mut candidate.expanded, true) {
                next += 1;
                continue;
            }
            let row = candidate.near.row;
            buffers.rows.clear();
            buffers.rows.extend(self.links(row, level).filter(|&link| seen.insert(link)));
            compare(query, rows, &buffers.rows, &mut buffers.cosines);
            for (&row, &cosine) in buffers.rows.iter().zip(&buffers.cosines) {
                if kept.len() >= expansion && kept.last().is_some_and(|last| last.near.cosine >= cosine) {
                    continue;
                }
                let place = kept.partition_point(|other| other.near.cosine >= cosine);
                kept.truncate(expansion.max(1) - 1);
                kept.insert(place, Candidate { near: Near { cosine, row }, expanded: false });
                next = next.min(place);
            }
        }
        kept.into_iter().map(|candidate| candidate.near).collect()
    }

    /// The graph as numbers: for each row its height, and for each of its levels the number of links and the links.
    pub(super) fn encode(&self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.heights.len() * (self.slots() + 2));
        for (row, &height) in (0..).zip(&self.heights) {
            numbers.push(u32::from(height));
            for level in 0..usize::from(height) {
                let count = numbers.len();
                numbers.push(0);
                numbers.extend(self.links(row, level));
                let links = (numbers.len() - count - 1) as u32;
                numbers.get_mut(count).into_iter().for_each(|count| *count = links);
            }
        }
        numbers
    }

    /// Restores a graph over `rows` rows from [`Graph::encode`]; `None` if the numbers are inconsistent.
    pub(super) fn decode(connectivity: usize, numbers: &[u32], rows: u32) -> Option<Graph> {
        let mut graph = Graph::new(connectivity);
        let mut numbers = numbers.iter().copied();
        let mut row = 0;
        while let Some(height) = numbers.next() {
            if row >= rows || height as usize > LEVELS {
                return None;
            }
            let height = height as usize;
            if height > 0 {
                graph.make_room(row, height);
                if graph.entry.is_none_or(|entry| graph.height(entry) < height) {
                    graph.entry = Some(row);
                }
            }
            for level in 0..height {
                let count = numbers.next()? as usize;
                let links: Vec<u32> = numbers.by_ref().take(count).collect();
                let most = if level == 0 { graph.slots() } else { connectivity };
                if links.len() != count || count > most {
                    return None;
                }
                graph.set_links(row, level, &links);
            }
            row += 1;
        }
        let fits = |row| {
            (0..graph.height(row)).all(|level| graph.links(row, level).all(|link| graph.height(link) > level))
        };
        (0..row).all(fits).then_some(graph)
    }
}

/// The highest level of a row, drawn from its number: a share of 1/M of the rows of a level is on the next one too.
fn level(row: u32, connectivity: usize) -> usize {
    // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
    let mut bits = (u64::from(row) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let level = -uniform.ln() / (connectivity.max(2) as f64).ln();
    (level as usize).min(LEVELS - 1)
}

/// A vector that rows are compared with.
#[derive(Clone, Copy)]
struct Query<'a> {
    values: &'a [i8],
    inverse: f32,
}

/// Replaces `cosines` by those of some rows with the query.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn compare(query: Query<'_>, rows: &Rows, some: &[u32], cosines: &mut Vec<f32>) {
    cosines.clear();
    for &row in some {
        cosines.push(code::dot(query.values, rows.code(row)) as f32 * query.inverse * rows.inverse(row));
    }
}

/// The nearest rows that are nearer to the query than to each other, at most `most`. `near` is sorted, nearest
/// first.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn diverse(rows: &Rows, near: &[Near], most: usize) -> Vec<u32> {
    let mut chosen: Vec<u32> = Vec::with_capacity(most);
    for candidate in near {
        if chosen.len() >= most {
            break;
        }
        let (code, inverse) = (rows.code(candidate.row), rows.inverse(candidate.row));
        // Rows with equal vectors count as diverse, so that they are linked with each other.
        let is_nearer = |other: &u32| {
            code::dot(code, rows.code(*other)) as f32 * inverse * rows.inverse(*other) <= candidate.cosine
        };
        if chosen.iter().all(is_nearer) {
            chosen.push(candidate.row);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::rng::{Rng, SeededRng};
    use poc_graph::testing;
    use std::collections::BTreeSet;

    const DIMENSIONS: usize = 32;

    fn filled(count: u64, rng: &SeededRng) -> (Rows, Graph) {
        let mut rows = Rows::new(DIMENSIONS);
        let mut graph = Graph::new(8);
        for number in 0..count {
            let row = rows.put(testing::node(number).id, 0, &random(rng)).unwrap();
            graph.add(&rows, row, 64);
        }
        (rows, graph)
    }

    fn random(rng: &SeededRng) -> Code {
        let values: Vec<f32> = (0..DIMENSIONS).map(|_| (rng.next_u64() % 2001) as f32 - 1000.0).collect();
        Code::of(&values).unwrap()
    }

    #[test]
    fn rows_on_a_level_are_a_fraction_of_those_below() {
        let levels: Vec<usize> = (0..100_000).map(|row| level(row, 16)).collect();
        let above = |least| levels.iter().filter(|level| **level >= least).count();
        assert!(
            (5800..6700).contains(&above(1)) && (300..480).contains(&above(2)),
            "{} {}",
            above(1),
            above(2)
        );
    }

    #[test]
    fn every_row_is_its_own_nearest_and_links_are_few_and_distinct() {
        let (rows, graph) = filled(2000, &SeededRng::new(3));
        let own = |&row: &u32| {
            let code = Code { values: rows.code(row).to_vec(), inverse: rows.inverse(row) };
            graph.search(&rows, &code, 64).first() == Some(&row)
        };
        let found = (0..2000).filter(own).count();
        assert!(found >= 1990, "{found}");
        for row in 0..2000 {
            for level in 0..graph.height(row) {
                let links: Vec<u32> = graph.links(row, level).collect();
                assert!(links.len() <= if level == 0 { 16 } else { 8 } && !links.contains(&row));
                assert_eq!(links.iter().collect::<BTreeSet<_>>().len(), links.len());
            }
        }
    }

    #[test]
    fn equal_vectors_are_all_found() {
        let mut rows = Rows::new(DIMENSIONS);
        let mut graph = Graph::new(8);
        let code = random(&SeededRng::new(4));
        for number in 0..9 {
            let row = rows.put(testing::node(number).id, 0, &code).unwrap();
            graph.add(&rows, row, 64);
        }
        let found: BTreeSet<u32> = graph.search(&rows, &code, 64).into_iter().collect();
        assert_eq!(found, (0..9).collect());
    }

    #[test]
    fn what_is_encoded_is_read_back_and_damage_is_noticed() {
        let rng = SeededRng::new(5);
        let (rows, graph) = filled(300, &rng);
        let numbers = graph.encode();
        let again = Graph::decode(8, &numbers, rows.end()).unwrap();
        assert_eq!((again.encode(), again.len(), again.entry), (numbers.clone(), 300, graph.entry));
        let code = random(&rng);
        assert_eq!(again.search(&rows, &code, 20), graph.search(&rows, &code, 20));
        assert!(Graph::decode(8, &numbers, 299).is_none() && Graph::decode(4, &numbers, 300).is_none());
        assert!(Graph::decode(8, &numbers[..numbers.len() - 1], 300).is_none());
        for at in 0..numbers.len() {
            let mut damaged = numbers.clone();
            damaged[at] = damaged[at].wrapping_add(1 << (at % 32));
            if let Some(graph) = Graph::decode(8, &damaged, rows.end()) {
                assert!(graph.search(&rows, &code, 20).iter().all(|&row| row < rows.end()));
            }
        }
    }
}
