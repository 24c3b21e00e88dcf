//! `mark`: strengthens the notes written shortly before a moment worth remembering.

use super::weight::{self, WeightBump};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Ix, NodeId, View, Visibility};
use poc_rank::fade::fade;
use poc_store::Transaction;

/// How many nodes a mark changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkReport {
    /// Nodes whose weight was raised.
    pub affected: usize,
    /// Nodes within the refractory period of an earlier judgement.
    pub skipped: usize,
}

/// Raises the weight of the visible nodes created between `since` and now by `strength · delta · (1 − age /
/// (now − since))`, as [`weight::bump`] does. Takes the newest first, at most `[reinforce] mark_nodes`.
pub fn mark(
    tx: &mut Transaction<'_>,
    since: Timestamp,
    strength: f64,
    config: &Config,
    visibility: Visibility,
) -> Result<MarkReport> {
    let now = visibility.now;
    check(since, strength, config, now)?;
    let reach = now.seconds_since(since);
    let mut marked = MarkReport::default();
    for (created, id) in newest(tx.view(), since, visibility, config.reinforce.mark_nodes) {
        let delta = strength * config.reinforce.delta * fade(now.seconds_since(created), reach);
        match weight::bump(tx, id, delta, config, now)? {
            WeightBump { skipped_refractory: true, .. } => marked.skipped += 1,
            _ => marked.affected += 1,
        }
    }
    Ok(marked)
}

fn check(since: Timestamp, strength: f64, config: &Config, now: Timestamp) -> Result<()> {
    // An infinite gain times a fade of 0 would be NaN.
    let gain = strength * config.reinforce.delta;
    if !(strength.is_finite() && strength > 0.0 && gain.is_finite()) {
        return Err(Error::invalid(format!("a strength of {strength} is out of range"))
            .hint("give a number above 0; 1 counts as one use")
            .field("strength"));
    }
    if since >= now {
        return Err(Error::invalid(format!("{since} is not in the past"))
            .hint("give an earlier time, or how long ago: `30m`")
            .field("since"));
    }
    Ok(())
}

/// The visible nodes created since then, newest first; equal times are ordered by id.
fn newest(view: &View, since: Timestamp, visibility: Visibility, max: usize) -> Vec<(Timestamp, NodeId)> {
    let within = |ix: &Ix| {
        view.is_visible(*ix, visibility)
            && !view.is_pointer(*ix)
            && (since..=visibility.now).contains(&view.created(*ix))
    };
    let mut found: Vec<(Timestamp, NodeId)> =
        (0..view.slots()).filter(within).filter_map(|ix| Some((view.created(ix), view.id(ix)?))).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(max);
    found
}
