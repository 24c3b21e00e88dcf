//! One pass over the columns: a scan, the filters directly after it, and a sort after these.
//!
//! Each block goes through all of them while it is in the processor cache. If the sort keeps only the first few nodes,
//! the others are never collected.

use super::scan::{FieldReader, Filter, Order, Scan};
use super::set::ScoredNode;
use super::top::{FirstN, by_id};
use poc_graph::{View, cancellation};
use std::time::{Duration, Instant};

/// The counts and the time of one stage.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) elapsed: Duration,
    pub(super) note: Option<String>,
}

/// The stages that run in one pass.
pub(super) struct Pass<'a> {
    scan: Box<dyn Scan + 'a>,
    filters: Vec<(Box<dyn Filter + 'a>, bool)>,
    sort: Option<(Box<dyn FieldReader + 'a>, FirstN<'a>)>,
    view: &'a View,
}

impl<'a> Pass<'a> {
    /// Creates a pass that consists of a scan.
    pub(super) fn new(scan: Box<dyn Scan + 'a>, view: &'a View) -> Self {
        Pass { scan, filters: Vec::new(), sort: None, view }
    }

    /// Adds a filter that keeps the items whose test returns `wanted`. It must come before the sort.
    pub(super) fn filter(&mut self, filter: Box<dyn Filter + 'a>, wanted: bool) {
        self.filters.push((filter, wanted));
    }

    /// Ends the pass with a sort that keeps the first `wanted` items.
    pub(super) fn sort(&mut self, (field, direction): Order<'a>, wanted: usize) {
        self.sort = Some((field, FirstN::new(self.view, direction, wanted)));
    }

    /// The number of stages in the pass, excluding the scan.
    pub(super) fn joined(&self) -> usize {
        self.filters.len() + usize::from(self.sort.is_some())
    }

    /// Processes all blocks. `scanned` is the meter of the scan, and `joined` are the meters of the other stages, in
    /// order.
    pub(super) fn run(mut self, scanned: &mut Meter, joined: &mut [Meter]) -> Vec<ScoredNode> {
        let mut items = Vec::new();
        let (mut block, mut values) = (Vec::new(), Vec::new());
        let mut last = Instant::now();
        let mut lap = || {
            let now = Instant::now();
            now.duration_since(std::mem::replace(&mut last, now))
        };
        while !cancellation::is_requested() && self.scan.next(&mut block) {
            scanned.output += block.len();
            scanned.elapsed += lap();
            let mut meters = joined.iter_mut();
            for ((filter, wanted), meter) in self.filters.iter_mut().zip(&mut meters) {
                meter.input += block.len();
                filter.retain(&mut block, *wanted);
                meter.output += block.len();
                meter.elapsed += lap();
            }
            match (&mut self.sort, meters.next()) {
                (Some((field, first)), Some(meter)) => {
                    values.clear();
                    field.read(&block, &mut values);
                    first.offer(&block, &values);
                    meter.input += block.len();
                    meter.output += block.len();
                    meter.elapsed += lap();
                }
                _ => items.extend_from_slice(&block),
            }
        }
        if let Some((_, first)) = self.sort {
            return first.finish();
        }
        if !self.view.ids_ascend() {
            items.sort_unstable_by(|a, b| by_id(self.view, *a, *b));
            scanned.elapsed += lap();
        }
        items
    }
}
