//! Changes of a node's weight.

use super::resolve;
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Activity, Node, NodeId};
use poc_rank::dampening::dampened;
use poc_rank::decay::{decayed, lambda};
use poc_store::Transaction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a weight changes: `2.5` sets it, `+0.3` and `-0.3` move it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightChange {
    /// Sets the weight to this value.
    To(f64),
    /// Adds this amount, which may be negative.
    By(f64),
}

/// A weight before and after a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightOutcome {
    /// The weight before the change, decayed to now.
    pub before: f64,
    /// The weight after the change, within floor and cap.
    pub after: f64,
    /// Whether the floor or the cap limited the weight.
    pub is_limited: bool,
}

/// The weight of a node decayed to `now`, at least the floor.
pub fn current(activity: &Activity, lambda: f64, config: &poc_config::WeightConfig, now: Timestamp) -> f64 {
    decayed(activity.weight, lambda, now.seconds_since(activity.touched)).max(config.floor)
}

/// Decays the weight of a node to `now`, changes it and clamps it to floor and cap. Does not change the node's
/// version.
pub fn change(
    tx: &mut Transaction<'_>,
    id: NodeId,
    change: WeightChange,
    config: &poc_config::WeightConfig,
    now: Timestamp,
) -> Result<WeightOutcome> {
    let activity = decayed_activity(tx, id, config, now)?;
    let before = activity.weight;
    let wanted = match change {
        WeightChange::To(weight) => weight,
        WeightChange::By(delta) => before + delta,
    };
    if !wanted.is_finite() {
        return Err(Error::invalid(format!("a weight cannot become {wanted}")).field("value"));
    }
    let after = wanted.clamp(config.floor, config.cap);
    tx.put_activity(id, &Activity { weight: after, ..activity })?;
    let is_limited = !(config.floor..=config.cap).contains(&wanted);
    Ok(WeightOutcome { before, after, is_limited })
}

/// Counts a use of a node and decays its weight to `now`, without a gain.
pub fn touch(
    tx: &mut Transaction<'_>,
    id: NodeId,
    config: &poc_config::WeightConfig,
    now: Timestamp,
) -> Result<()> {
    let activity = decayed_activity(tx, id, config, now)?;
    tx.put_activity(id, &Activity { accesses: activity.accesses.saturating_add(1), ..activity })
}

/// The effect of a judged use on a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightBump {
    /// The weight before the judgement, decayed to now.
    pub before: f64,
    /// The weight after the judgement, within floor and cap.
    pub after: f64,
    /// Number of uses, including this one.
    pub accesses: u64,
    /// Whether the weight only decayed because the node is within the refractory period of an earlier
    /// judgement.
    pub skipped_refractory: bool,
}

/// Counts a use that was judged helpful (`delta` above 0) or not, and moves the weight, decayed to `now`, by
/// `delta`. A gain is dampened near the cap if `[reinforce] log_dampening` is set. Within the refractory period
/// of the last judgement the weight only decays. Recalls and queries are not judgements, so a note can be
/// judged right after it was recalled.
pub fn bump(
    tx: &mut Transaction<'_>,
    id: NodeId,
    delta: f64,
    config: &Config,
    now: Timestamp,
) -> Result<WeightBump> {
    let rules = &config.reinforce;
    let activity = decayed_activity(tx, id, &config.weight, now)?;
    let refractory = activity.judged.is_some_and(|last| now < last.plus(rules.refractory));
    let before = activity.weight;
    let moved = match refractory {
        true => 0.0,
        false if rules.log_dampening => dampened(delta, before, config.weight.cap),
        false => delta,
    };
    let after = (before + moved).clamp(config.weight.floor, config.weight.cap);
    let accesses = activity.accesses.saturating_add(1);
    tx.put_activity(id, &Activity { weight: after, accesses, judged: Some(now), ..activity })?;
    Ok(WeightBump { before, after, accesses, skipped_refractory: refractory })
}

/// A weight after a recall has used its node: raised by `[reinforce] delta`, up to the cap.
pub fn after_use(weight: f64, config: &Config) -> f64 {
    after_uses(weight, 1, config)
}

fn after_uses(weight: f64, uses: u64, config: &Config) -> f64 {
    (weight + config.reinforce.delta * uses as f64).min(config.weight.cap)
}

/// Counts uses by recalls and raises the weight for each as [`after_use`] does.
pub fn add_uses(
    tx: &mut Transaction<'_>,
    id: NodeId,
    uses: u64,
    config: &Config,
    now: Timestamp,
) -> Result<()> {
    let activity = decayed_activity(tx, id, &config.weight, now)?;
    let accesses = activity.accesses.saturating_add(uses);
    tx.put_activity(id, &Activity { weight: after_uses(activity.weight, uses, config), accesses, ..activity })
}

/// The activity of a node with its weight decayed to `now`.
pub fn decayed_activity(
    tx: &Transaction<'_>,
    id: NodeId,
    config: &poc_config::WeightConfig,
    now: Timestamp,
) -> Result<Activity> {
    decayed_activity_of(tx, &resolve::expect(tx, id)?, config, now)
}

/// Like [`decayed_activity`], for a node that is known.
pub(crate) fn decayed_activity_of(
    tx: &Transaction<'_>,
    node: &Node,
    config: &poc_config::WeightConfig,
    now: Timestamp,
) -> Result<Activity> {
    let activity = tx.activity(node.id)?.unwrap_or_else(|| Activity::initial(node.created));
    let weight = current(&activity, lambda(config, node.category), config, now);
    Ok(Activity { weight, touched: now, ..activity })
}

impl FromStr for WeightChange {
    type Err = Error;
    fn from_str(text: &str) -> Result<WeightChange> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && text.starts_with(['+', '-']) => Ok(WeightChange::By(number)),
            Ok(number) if number.is_finite() => Ok(WeightChange::To(number)),
            _ => Err(Error::invalid(format!("`{text}` is not a weight"))
                .hint("write `2.5` to set it, `+0.3` or `-0.3` to change it by that amount")
                .field("value")),
        }
    }
}

impl fmt::Display for WeightChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightChange::To(weight) => write!(f, "{weight}"),
            WeightChange::By(delta) => write!(f, "{delta:+}"),
        }
    }
}

impl Serialize for WeightChange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The forms of a change in JSON. A number has no sign that tells a new weight from an amount, so it sets the weight.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "the value is not a weight; write `2.5` to set it, `\"+0.3\"` or `\"-0.3\"` to change it by that amount"
)]
enum Form {
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for WeightChange {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let change = match Form::deserialize(deserializer)? {
            Form::Number(number) if number < 0.0 => Err(Error::invalid(format!("{number} is below 0"))
                .hint(format!("write `\"{number}\"` as text to lower the weight by that amount"))),
            Form::Number(number) => Ok(WeightChange::To(number)),
            Form::Text(text) => text.parse(),
        };
        change.map_err(|error: Error| {
            serde::de::Error::custom(format!("{}; {}", error.message, error.hint.unwrap_or_default()))
        })
    }
}

impl JsonSchema for WeightChange {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WeightChange".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "number"],
            "minimum": 0,
            "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$",
            "description": "`2.5` sets the weight; `+0.3` or `-0.3`, as text, moves it"
        })
    }
}
