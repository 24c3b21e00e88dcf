//! All vectors in memory: one contiguous array of codes, and the node and passage of each row.

use super::quantized::{self, QuantizedVector};
use poc_graph::NodeId;
use poc_store::NoteDigests;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Marks the end of a chain of rows, and an empty row.
pub(super) const NONE: u32 = u32::MAX;

/// The metadata of one vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorRow {
    /// The slot of the node; [`NONE`] if the row is empty.
    pub(super) slot: u32,
    /// The next row of the same node.
    next: u32,
    pub(super) passage: u16,
    /// The reciprocal of the Euclidean length of the code.
    pub(super) inverse: f32,
}

/// A node that has vectors or is live.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeEntry {
    pub(super) id: NodeId,
    /// Whether searches can find it.
    pub(super) live: bool,
    /// The first row of the node; [`NONE`] if it has none.
    first: u32,
}

/// The vectors of all nodes. Vectors of nodes that are not live or not known yet cannot be searched. They are kept
/// because a node may become live again, and because a vector may arrive before its node.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    dimensions: usize,
    // The quantised vectors of all rows, one after another.
    codes: Vec<i8>,
    rows: Vec<VectorRow>,
    // The numbers of empty rows.
    free: Vec<u32>,
    // The nodes by slot.
    entries: Vec<Option<NodeEntry>>,
    free_entries: Vec<u32>,
    // The slot of each node.
    by_id: FxHashMap<NodeId, u32>,
    searchable: usize,
}

impl Rows {
    pub(super) fn new(dimensions: usize) -> Self {
        Rows { dimensions, ..Rows::default() }
    }

    /// The number of vectors of live nodes.
    pub(super) fn searchable(&self) -> usize {
        self.searchable
    }

    /// The approximate size in memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let row = size_of::<VectorRow>() + self.dimensions;
        let node = size_of::<Option<NodeEntry>>() + size_of::<(NodeId, u32)>();
        self.rows.len() * row + self.entries.len() * node
    }

    /// The number of rows, including empty ones.
    pub(super) fn end(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The codes of all rows in order, including empty ones.
    pub(super) fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// A row and its node; `None` for an empty row.
    pub(super) fn row(&self, row: u32) -> Option<(VectorRow, NodeEntry)> {
        let found = *self.rows.get(row as usize)?;
        Some((found, (*self.entries.get(found.slot as usize)?)?))
    }

    /// The quantised vector of a row; empty for a row past the end.
    pub(super) fn code(&self, row: u32) -> &[i8] {
        let start = row as usize * self.dimensions;
        self.codes.get(start..start + self.dimensions).unwrap_or(&[])
    }

    /// The nodes.
    pub(super) fn entries(&self) -> impl Iterator<Item = &NodeEntry> {
        self.entries.iter().flatten()
    }

    /// The slots of nodes, including empty ones.
    pub(super) fn slots(&self) -> &[Option<NodeEntry>] {
        &self.entries
    }

    /// The rows of a node.
    pub(super) fn of(&self, entry: &NodeEntry) -> impl Iterator<Item = (u32, VectorRow)> {
        let mut next = entry.first;
        std::iter::from_fn(move || {
            let number = next;
            let row = *self.rows.get(number as usize)?;
            next = row.next;
            Some((number, row))
        })
    }

    /// The cosine of a vector with that of a row.
    pub(super) fn cosine(&self, number: u32, row: &VectorRow, query: &QuantizedVector) -> f64 {
        quantized::cosine(quantized::product(&query.values, self.code(number)), query.inverse, row.inverse)
    }

    /// The rows of a node's text, or of its title if it has no text.
    pub(super) fn texts_of(&self, entry: &NodeEntry) -> impl Iterator<Item = (u32, VectorRow)> {
        let has_text = self.of(entry).any(|(_, row)| row.passage > 0);
        self.of(entry).filter(move |(_, row)| !has_text || row.passage > 0)
    }

    /// A hash of the vectors of each live note.
    pub(super) fn digests(&self) -> NoteDigests {
        let digest = |entry: &NodeEntry| {
            let row = |(number, row): (u32, VectorRow)| {
                let mut hasher = FxHasher::default();
                (row.passage, self.code(number)).hash(&mut hasher);
                hasher.finish()
            };
            self.of(entry).map(row).fold(0, u64::wrapping_add)
        };
        let with_vectors = self.entries().filter(|entry| entry.live && self.of(entry).next().is_some());
        with_vectors.map(|entry| (entry.id, digest(entry))).collect()
    }

    /// All rows, including empty ones.
    pub(super) fn all(&self) -> &[VectorRow] {
        &self.rows
    }

    /// The slot of a node.
    pub(super) fn slot_of(&self, id: NodeId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The entry of a node; `None` if the node has no vector and is not live.
    pub(super) fn entry(&self, id: NodeId) -> Option<&NodeEntry> {
        self.entries.get(self.slot_of(id)? as usize)?.as_ref()
    }

    /// Sets the vector of a passage. Returns its row if anything changed.
    pub(super) fn put(&mut self, id: NodeId, passage: u16, code: &QuantizedVector) -> Option<u32> {
        let slot = self.get_or_insert_slot(id);
        let entry = (*self.entries.get(slot as usize)?)?;
        let present = self.of(&entry).find(|(_, row)| row.passage == passage).map(|(number, _)| number);
        let number = match present {
            Some(number) if self.code(number) == code.values => return None,
            Some(number) => number,
            None => self.add(slot, entry, passage),
        };
        self.rows.get_mut(number as usize)?.inverse = code.inverse;
        let start = number as usize * self.dimensions;
        self.codes.get_mut(start..start + self.dimensions)?.copy_from_slice(&code.values);
        Some(number)
    }

    /// Removes the vector of a passage. Returns its former row.
    pub(super) fn remove(&mut self, id: NodeId, passage: u16) -> Option<u32> {
        let slot = *self.by_id.get(&id)?;
        let entry = self.entry(id)?;
        let live = entry.live;
        let mut previous = None;
        let (number, row) = self.of(entry).find(|&(number, row)| {
            let found = row.passage == passage;
            if !found {
                previous = Some(number);
            }
            found
        })?;
        match previous {
            Some(previous) => self.rows.get_mut(previous as usize)?.next = row.next,
            None => self.entries.get_mut(slot as usize)?.as_mut()?.first = row.next,
        }
        self.release(number, live);
        Some(number)
    }

    /// Removes a node. Returns its former rows.
    pub(super) fn remove_node(&mut self, id: NodeId) -> Vec<u32> {
        let Some(slot) = self.by_id.remove(&id) else { return Vec::new() };
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::take) else {
            return Vec::new();
        };
        self.free_entries.push(slot);
        let rows: Vec<u32> = self.of(&entry).map(|(number, _)| number).collect();
        rows.iter().for_each(|&number| self.release(number, entry.live));
        rows
    }

    /// Sets whether searches can find a node. Returns the node's rows if anything changed.
    pub(super) fn set_live(&mut self, id: NodeId, live: bool) -> Vec<u32> {
        if !live && !self.by_id.contains_key(&id) {
            return Vec::new();
        }
        let slot = self.get_or_insert_slot(id);
        let Some(Some(entry)) = self.entries.get_mut(slot as usize) else { return Vec::new() };
        if entry.live == live {
            return Vec::new();
        }
        entry.live = live;
        let entry = *entry;
        let rows: Vec<u32> = self.of(&entry).map(|(number, _)| number).collect();
        if live {
            self.searchable += rows.len()
        } else {
            self.searchable -= rows.len()
        }
        rows
    }

    /// The slot of a node. A node without a slot gets a new one and is not live.
    fn get_or_insert_slot(&mut self, id: NodeId) -> u32 {
        if let Some(&slot) = self.by_id.get(&id) {
            return slot;
        }
        let entry = Some(NodeEntry { id, live: false, first: NONE });
        let slot = self.free_entries.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(slot as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        self.by_id.insert(id, slot);
        slot
    }

    /// Adds a row for a new passage, before the other rows of the node.
    fn add(&mut self, slot: u32, entry: NodeEntry, passage: u16) -> u32 {
        let row = VectorRow { slot, next: entry.first, passage, inverse: 0.0 };
        let number = self.free.pop().unwrap_or(self.rows.len() as u32);
        match self.rows.get_mut(number as usize) {
            Some(free) => *free = row,
            None => {
                self.rows.push(row);
                self.codes.resize(self.codes.len() + self.dimensions, 0);
            }
        }
        if let Some(Some(entry)) = self.entries.get_mut(slot as usize) {
            entry.first = number;
        }
        self.searchable += usize::from(entry.live);
        number
    }

    /// Empties a row. `live` says whether its node is live.
    fn release(&mut self, number: u32, live: bool) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            *row = VectorRow { slot: NONE, next: NONE, passage: 0, inverse: 0.0 };
            self.free.push(number);
            self.searchable -= usize::from(live);
            self.clear_code(number);
        }
    }

    /// Overwrites the vector of an empty row with zeros. Otherwise that of an erased note would stay in saved files.
    fn clear_code(&mut self, number: u32) {
        let start = number as usize * self.dimensions;
        if let Some(code) = self.codes.get_mut(start..start + self.dimensions) {
            code.fill(0);
        }
    }

    /// The saved form of the rows: the slot of the node, or [`NONE`] for an empty row, and the passage.
    pub(super) fn passages(&self) -> Vec<(u32, u16)> {
        self.rows.iter().map(|row| (row.slot, row.passage)).collect()
    }

    /// Restores rows from [`Rows::slots`], [`Rows::passages`] and [`Rows::codes`]; `None` if they are inconsistent.
    pub(super) fn restore(
        dimensions: usize,
        slots: Vec<Option<(NodeId, bool)>>,
        passages: Vec<(u32, u16)>,
        codes: Vec<i8>,
    ) -> Option<Rows> {
        if codes.len() != passages.len().checked_mul(dimensions)? {
            return None;
        }
        let mut rows = Rows { codes, ..Rows::new(dimensions) };
        for (slot, found) in (0u32..).zip(slots) {
            match found {
                Some((id, live)) => {
                    if rows.by_id.insert(id, slot).is_some() {
                        return None;
                    }
                    rows.entries.push(Some(NodeEntry { id, live, first: NONE }));
                }
                None => {
                    rows.entries.push(None);
                    rows.free_entries.push(slot);
                }
            }
        }
        for (number, (slot, passage)) in (0u32..).zip(passages) {
            if slot == NONE {
                rows.free.push(number);
                rows.rows.push(VectorRow { slot, next: NONE, passage: 0, inverse: 0.0 });
                // Earlier versions have saved what it had.
                rows.clear_code(number);
                continue;
            }
            let inverse = quantized::inverse_length(rows.code(number));
            let entry = rows.entries.get_mut(slot as usize)?.as_mut()?;
            rows.rows.push(VectorRow { slot, next: entry.first, passage, inverse });
            entry.first = number;
            rows.searchable += usize::from(entry.live);
        }
        Some(rows)
    }
}
