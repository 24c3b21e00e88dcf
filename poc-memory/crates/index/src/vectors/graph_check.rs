//! Checks a saved HNSW graph before usearch reads it. usearch trusts the numbers in it, so that wrong ones would make it
//! read and write outside of its memory. A graph may come from another machine, with a snapshot of a shared log.
//!
//! The layout of usearch 2, in the byte order of the machine: the number of vectors and the bytes of each (u32 each), the
//! vectors, a head of 64 bytes, the number of nodes, their connectivity above and in the base layer, the highest level
//! and the node where searches begin (u64 each), the level of every node (i16), and the nodes. A node has its key (u64),
//! its level (i16), and for every layer up to this level, beginning with the base layer, the number of its neighbours
//! and space for as many as its connectivity (u32 each). usearch itself checks the highest level and the first node.

use std::ops::Range;

/// The length of the head in bytes.
const HEAD: usize = 64;
/// The bytes of the head that depend only on usearch and on the settings: magic and version; the types of values, keys
/// and neighbours; dimensions, and whether a key may have several vectors.
const SETTINGS: [Range<usize>; 3] = [0..13, 14..17, 33..42];
/// The length of the number of a neighbour in bytes.
const NEIGHBOUR: usize = size_of::<u32>();

/// Whether usearch can read a saved graph safely. `empty` is a saved graph without nodes that has the same settings.
pub(super) fn is_valid(graph: &[u8], empty: &[u8]) -> bool {
    check(graph, empty).is_some()
}

/// What precedes the levels and the nodes.
struct Description<'a> {
    vectors: u32,
    vector_bytes: u32,
    head: &'a [u8],
    nodes: u64,
    connectivity: u64,
    base_connectivity: u64,
}

impl<'a> Description<'a> {
    fn read(bytes: &mut Reader<'a>) -> Option<Description<'a>> {
        let (vectors, vector_bytes) = (bytes.u32()?, bytes.u32()?);
        bytes.take((vectors as usize).checked_mul(vector_bytes as usize)?)?;
        let head = bytes.take(HEAD)?;
        let (nodes, connectivity, base_connectivity) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        // The highest level and the first node.
        bytes.take(2 * size_of::<u64>())?;
        Some(Description { vectors, vector_bytes, head, nodes, connectivity, base_connectivity })
    }

    fn has_settings_of(&self, other: &Description<'_>) -> bool {
        let same_bytes = |range: Range<usize>| self.head.get(range.clone()) == other.head.get(range);
        self.vector_bytes == other.vector_bytes
            && self.connectivity == other.connectivity
            && self.base_connectivity == other.base_connectivity
            && SETTINGS.into_iter().all(same_bytes)
    }
}

/// `None` if the graph is not valid.
fn check(graph: &[u8], empty: &[u8]) -> Option<()> {
    let mut bytes = Reader(graph);
    let found = Description::read(&mut bytes)?;
    if found.nodes != u64::from(found.vectors)
        || !found.has_settings_of(&Description::read(&mut Reader(empty))?)
    {
        return None;
    }
    let levels: Vec<i16> = (0..found.vectors).map(|_| bytes.i16()).collect::<Option<_>>()?;
    for level in &levels {
        let (key, own_level) = (bytes.u64()?, bytes.i16()?);
        if key >= found.nodes || own_level != *level || own_level < 0 {
            return None;
        }
        for layer in 0..=own_level {
            let space = if layer == 0 { found.base_connectivity } else { found.connectivity };
            let count = bytes.u32()? as usize;
            let neighbours = bytes.take(usize::try_from(space).ok()?.checked_mul(NEIGHBOUR)?)?;
            for number in neighbours.get(..count.checked_mul(NEIGHBOUR)?)?.chunks_exact(NEIGHBOUR) {
                let number = u32::from_ne_bytes(number.try_into().ok()?) as usize;
                // A node has no neighbours in the layers above its level.
                if *levels.get(number)? < layer {
                    return None;
                }
            }
        }
    }
    bytes.0.is_empty().then_some(())
}

/// The bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}
