//! Bounds for the numbers and durations in the settings.

use super::defaults::default_table;
use super::retrieval::{FusedConfig, GateConfig};
use super::sections::Config;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use toml::Value;

/// A key with its minimum and maximum: a number, or seconds if the setting is a duration.
type Bound = (&'static str, f64, f64);

/// All bounds. `*` matches any single name. A request that overrides a setting has the same bounds; see [`of`].
const BOUNDS: &[Bound] = &[
    // The products of longer vectors would not fit into the 32 bits in which the vector index adds them up.
    ("embedder.dimensions", 1.0, 65_536.0),
    ("embedder.timeout", 1.0, UNBOUNDED),
    ("embedder.concurrency", 1.0, UNBOUNDED),
    ("text.k1", 0.0, UNBOUNDED),
    ("text.b", 0.0, 1.0),
    ("text.title-weight", 0.0, UNBOUNDED),
    ("vectors.exact-below", 0.0, UNBOUNDED),
    ("vectors.connectivity", 2.0, 512.0),
    ("vectors.expansion-add", 1.0, 65_536.0),
    ("vectors.expansion-search", 1.0, 65_536.0),
    ("vectors.passage-words", 1.0, UNBOUNDED),
    ("vectors.passage-stride", 1.0, UNBOUNDED),
    // More dimensions cost time and do not improve results.
    ("structure.dimensions", 1.0, 64.0),
    ("structure.exact-below", 0.0, UNBOUNDED),
    ("structure.max-drift", 0.0, 1.0),
    ("structure.refresh-quiet", 0.0, UNBOUNDED),
    ("insert.keyword-edges", 0.0, UNBOUNDED),
    ("cosines.*.*", -1.0, 1.0),
    ("insert.semantic-pool", 0.0, 1000.0),
    ("insert.semantic-lambda", 0.0, 1.0),
    ("insert.max-node-bytes", 1.0, UNBOUNDED),
    ("insert.max-keywords", 0.0, 100_000.0),
    ("insert.max-notes", 1.0, UNBOUNDED),
    ("import.chunk", 1.0, UNBOUNDED),
    ("weight.floor", 0.0, UNBOUNDED),
    ("weight.cap", 0.0, UNBOUNDED),
    ("weight.decay", 0.0, UNBOUNDED),
    ("weight.category.*", 0.0, UNBOUNDED),
    ("edges.floor", 0.0, UNBOUNDED),
    ("edges.cap", 0.0, UNBOUNDED),
    ("edges.decay.*", 0.0, UNBOUNDED),
    ("write.chunk-window", 1.0, UNBOUNDED),
    ("write.chunk-stride", 1.0, UNBOUNDED),
    ("write.structural-weight", 0.0, UNBOUNDED),
    ("write.temporal-weight", 0.0, UNBOUNDED),
    ("write.temporal-nodes", 0.0, UNBOUNDED),
    ("write.temporal-within", 0.0, UNBOUNDED),
    ("write.max-message-bytes", 1.0, UNBOUNDED),
    ("write.max-chunks", 1.0, UNBOUNDED),
    ("write.max-metadata-bytes", 0.0, UNBOUNDED),
    ("forget.min-age", 0.0, UNBOUNDED),
    ("recall.k", 1.0, 256.0),
    ("recall.hops", 0.0, 8.0),
    ("recall.oversample", 1.0, 1000.0),
    ("recall.likeness-exponent", 0.0, 64.0),
    ("recall.weight-exponent", 0.0, 64.0),
    // A smaller factor would give a longer path a higher score.
    ("recall.depth-factor", 1.0, UNBOUNDED),
    ("recall.co-retrieval-base", 0.0, UNBOUNDED),
    ("recall.co-retrieval-notes", 0.0, 256.0),
    ("recall.co-traversal-multiplier", 0.0, UNBOUNDED),
    ("reinforce.delta", 0.0, UNBOUNDED),
    ("reinforce.refractory", 0.0, UNBOUNDED),
    ("reinforce.mark-nodes", 1.0, UNBOUNDED),
    ("reinforce.questions", 0.0, 1024.0),
    ("retrieve.top-k", 1.0, 256.0),
    ("retrieve.*.*-weight", 0.0, UNBOUNDED),
    ("retrieve.scores.clear-words", 0.0, UNBOUNDED),
    ("retrieve.scores.meaning-factor", 1.0, 64.0),
    ("retrieve.scores.mention-from", 0.0, 256.0),
    ("retrieve.scores.shared-from", 0.0, 256.0),
    ("retrieve.scores.shared-by", 2.0, 256.0),
    ("retrieve.scores.window-notes", 2.0, 16.0),
    ("retrieve.scores.window-from", 0.0, 256.0),
    ("retrieve.scores.link-degree", 1.0, 1000.0),
    ("retrieve.scores.question-from", 0.0, 256.0),
    ("retrieve.scores.link-from", 0.0, 256.0),
    ("retrieve.scores.alike-notes", 1.0, 256.0),
    ("retrieve.scores.alike-cosine", -1.0, 1.0),
    ("rerank.top", 1.0, 256.0),
    ("rerank.gate.*", 0.0, 1.0),
    ("query.pool", 1.0, 1000.0),
    ("query.fallback", 0.0, 256.0),
    ("query.cosine-weight", 0.0, 16.0),
    ("query.gates.*.*", -16.0, 17.0),
    ("query.title-min-vec", 0.0, 1.0),
    ("query.two-path.*", 0.0, 1.0),
    ("query.fused.*-weight", 0.0, UNBOUNDED),
    ("query.fused.*-fused", 0.0, 1.0),
    ("explore.depth", 1.0, 8.0),
    ("explore.beam", 1.0, 32.0),
    ("explore.target-count", 1.0, 256.0),
    ("explore.alpha", 0.0, 1.0),
    ("explore.gamma", 0.0, 1.0),
    ("explore.mmr-lambda", 0.0, 1.0),
    ("consolidate.keep-expired", 0.0, UNBOUNDED),
    ("store.connect-timeout", MIN_TIME, UNBOUNDED),
    ("store.timeout", MIN_TIME, UNBOUNDED),
    ("store.poll", MIN_TIME, UNBOUNDED),
    ("store.snapshot-every", 0.0, UNBOUNDED),
    ("store.tenant-memory", 1_048_576.0, UNBOUNDED),
    ("backup.keep", 1.0, 10_000.0),
    ("search.limit", 1.0, 1000.0),
    ("search.min-score", -UNBOUNDED, UNBOUNDED),
    ("search.max-question-chars", 100.0, 1_000_000.0),
    ("list.limit", 1.0, 1000.0),
    ("tags.limit", 1.0, 10_000.0),
    ("backlinks.limit", 1.0, 1000.0),
    ("stats.limit", 1.0, UNBOUNDED),
    ("duplicates.limit", 1.0, 1000.0),
    ("duplicates.min-words", 0.0, 1.0),
    ("changes.limit", 1.0, 1000.0),
    ("view.limit", 1.0, 100_000.0),
    ("view.max-edges", 0.0, 100_000.0),
    ("mcp.max-sessions", 1.0, UNBOUNDED),
    ("mcp.session-timeout", 1.0, UNBOUNDED),
    ("page.session-lifetime", 60.0, UNBOUNDED),
    ("hooks.notes", 0.0, 64.0),
    ("hooks.note-chars", 100.0, 9000.0),
    // Claude Code and Codex truncate longer texts.
    ("hooks.prompt-chars", 500.0, 9500.0),
    ("hooks.start-chars", 0.0, 9500.0),
    ("transcripts.max-age", 0.0, UNBOUNDED),
    ("transcripts.quiet", MIN_TIME, UNBOUNDED),
    ("agents.max-concurrent-runs", 1.0, 1024.0),
    ("agents.catch-up-spread", 0.0, 7.0 * 86_400.0),
    ("agents.change-quiet", MIN_TIME, UNBOUNDED),
    ("agents.change-latest", MIN_TIME, UNBOUNDED),
    ("agents.keep-bodies", 0.0, UNBOUNDED),
    ("agents.keep-rows", 1.0, UNBOUNDED),
    ("agents.candidates", 0.0, 1000.0),
    ("agents.candidate-chars", 0.0, UNBOUNDED),
    ("agents.small-context", 0.0, UNBOUNDED),
    ("agents.small-nodes", 1.0, UNBOUNDED),
    ("agents.small-candidates", 0.0, 1000.0),
    ("agents.render-timeout", 1.0, UNBOUNDED),
    ("agents.render-max-bytes", 1.0, UNBOUNDED),
    ("budget.max-usd-per-day", 0.0, UNBOUNDED),
    // The length of a frame is a 32-bit number.
    ("daemon.max-frame-bytes", 1024.0, 4_294_967_295.0),
    ("daemon.max-connections", 1.0, UNBOUNDED),
    ("daemon.max-in-flight", 1.0, UNBOUNDED),
    ("daemon.handshake-timeout", MIN_TIME, UNBOUNDED),
    ("daemon.idle-timeout", MIN_TIME, UNBOUNDED),
    ("daemon.lock-timeout", 0.0, UNBOUNDED),
    ("daemon.shutdown-grace", 0.0, UNBOUNDED),
    ("daemon.checkpoint-quiet", MIN_TIME, UNBOUNDED),
    ("daemon.reload-quiet", MIN_TIME, UNBOUNDED),
    ("daemon.reload-latest", MIN_TIME, UNBOUNDED),
    ("daemon.reload-poll", MIN_TIME, UNBOUNDED),
    ("daemon.heartbeat", MIN_TIME, UNBOUNDED),
    ("daemon.log-max-bytes", 65_536.0, UNBOUNDED),
    ("daemon.log-files", 1.0, 1000.0),
    ("notify.timeout", MIN_TIME, 600.0),
    ("notify.every", 1.0, UNBOUNDED),
    ("notify.backlog", 0.0, UNBOUNDED),
    ("rest.max-body-bytes", 1.0, UNBOUNDED),
    ("rest.max-connections", 1.0, UNBOUNDED),
    ("rest.header-timeout", MIN_TIME, UNBOUNDED),
    ("rest.request-timeout", MIN_TIME, UNBOUNDED),
    ("calls.connect-timeout", MIN_TIME, UNBOUNDED),
    ("calls.read-timeout", MIN_TIME, UNBOUNDED),
    ("calls.max-answer-bytes", 1.0, UNBOUNDED),
    ("calls.max-output-tokens", 1.0, UNBOUNDED),
    ("calls.backoff", 0.0, UNBOUNDED),
    ("calls.backoff-max", 0.0, UNBOUNDED),
    ("calls.leave-alone", 0.0, UNBOUNDED),
    ("heuristic.link-names", 1.0, 3.0),
    ("heuristic.link-strength", 0.01, 1.0),
    ("heuristic.links-per-node", 0.0, UNBOUNDED),
    ("heuristic.max-links", 0.0, UNBOUNDED),
    ("heuristic.hub-degree", 0.0, UNBOUNDED),
    ("heuristic.twin-min-similarity", 0.0, 1.0),
    ("heuristic.transfer-episodes", 2.0, UNBOUNDED),
    ("heuristic.transfer-max", 0.0, UNBOUNDED),
    ("heuristic.transfer-share", 0.0, 1.0),
    ("heuristic.split-min-chars", 1.0, UNBOUNDED),
    ("heuristic.split-max-parts", 0.0, UNBOUNDED),
    ("models.*.input-price", 0.0, UNBOUNDED),
    ("models.*.output-price", 0.0, UNBOUNDED),
    ("models.*.cache-write-price", 0.0, UNBOUNDED),
    ("models.*.cache-read-price", 0.0, UNBOUNDED),
    ("models.*.context", 1.0, UNBOUNDED),
    ("providers.*.concurrency", 1.0, 1024.0),
    ("providers.*.temperature", 0.0, 10.0),
    ("providers.*.max-tokens", 1.0, UNBOUNDED),
    ("providers.*.threads", 0.0, 1024.0),
];

/// The bounds of keys without `*`, by key: every setting is looked up when settings are loaded.
static EXACT: LazyLock<HashMap<&str, &Bound>> = LazyLock::new(|| {
    BOUNDS.iter().filter(|(key, ..)| !key.contains('*')).map(|bound| (bound.0, bound)).collect()
});

/// The bounds of keys with `*`, each with the text before its first `*`.
static PATTERNS: LazyLock<Vec<(&str, &Bound)>> =
    LazyLock::new(|| BOUNDS.iter().filter_map(|bound| Some((bound.0.split_once('*')?.0, bound))).collect());

/// The maximum of settings without an upper bound.
const UNBOUNDED: f64 = f64::MAX;
/// The minimum of a timeout, in seconds.
const MIN_TIME: f64 = 0.001;

/// The bounds of an integer, for settings and requests. A key without bounds has the full range.
pub fn of(key: &str) -> RangeInclusive<usize> {
    find(key).map_or(0..=usize::MAX, |&(_, min, max)| min as usize..=max as usize)
}

/// The bounds of a number or duration, if it has any. `*` in the table matches any single name.
pub(super) fn find_bounds(key: &str) -> Option<(f64, f64)> {
    find(key).map(|&(_, min, max)| (min, max))
}

/// Describes the whole numbers that a key may have.
pub(super) fn whole_numbers(key: &str) -> String {
    let (min, max) = find_bounds(key).unwrap_or((0.0, UNBOUNDED));
    match max < UNBOUNDED {
        true => format!("a whole number from {min} to {max}"),
        false => format!("a whole number from {min} up"),
    }
}

/// An error for each number and duration that is out of bounds.
pub(super) fn out_of_bounds(config: &Config) -> Vec<Error> {
    let all = match Value::try_from(config) {
        Ok(all) => all,
        Err(error) => return vec![Error::internal(format!("the settings cannot be read: {error}"))],
    };
    let mut errors = Vec::new();
    each(&all, "", &mut |key, value| {
        let Some(&(_, min, max)) = find(key) else { return };
        if amount(value).is_none_or(|amount| (min..=max).contains(&amount)) {
            return;
        }
        let bound = |bound: f64| match value {
            Value::String(_) => Span((bound * 1000.0) as i64).to_string(),
            _ => bound.to_string(),
        };
        let mut hint = format!("give {} or more", bound(min));
        if max < UNBOUNDED {
            hint = format!("give {} to {}", bound(min), bound(max));
        }
        if let Some(usual) = usual(key) {
            hint += &format!("; {} is usual", plain(usual));
        }
        errors.push(Error::config(format!("cannot be {}", plain(value))).hint(hint).field(key));
    });
    errors
}

/// An error for each gate whose lower threshold is above the upper one.
pub(super) fn wrong_gates(config: &Config) -> Vec<Error> {
    let gates = config.query.gates.iter().map(|(kind, gate)| (format!("query.gates.{kind}"), gate));
    let gates = gates.chain([("rerank.gate".to_owned(), &config.rerank.gate)]);
    let wrong = gates.filter(|(_, gate)| gate.weak > gate.strong);
    let error = |(section, gate): (String, &GateConfig)| {
        Error::config(format!("cannot be {}, above `strong`, {}", gate.weak, gate.strong))
            .hint("`weak` is the lower threshold")
            .field(format!("{section}.weak"))
    };
    wrong.map(error).collect()
}

/// Like [`wrong_gates`], for the gate `fused`, which also needs a weight above 0.
pub(super) fn check_fused_gate(fused: &FusedConfig) -> Result<()> {
    if fused.weak_min_fused > fused.strong_min_fused {
        let above = format!("`strong-min-fused`, {}", fused.strong_min_fused);
        return Err(Error::config(format!("cannot be {}, above {above}", fused.weak_min_fused))
            .hint("`weak-min-fused` is the lower threshold")
            .field("query.fused.weak-min-fused"));
    }
    if fused.vec_weight + fused.lex_weight <= 0.0 {
        return Err(Error::config("`vec-weight` and `lex-weight` cannot both be 0")
            .hint("without a cross-encoder, the gate `fused` has no other signal")
            .field("query.fused.vec-weight"));
    }
    Ok(())
}

/// The value of a number, or of a duration in seconds.
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => Some(Span::parse(text).ok()?.seconds()),
        _ => None,
    }
}

/// A value as text, without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The default value of a key.
fn usual(key: &str) -> Option<&'static Value> {
    let mut names = key.split('.');
    let section = default_table().ok()?.get(names.next()?)?;
    names.try_fold(section, |value, name| value.get(name))
}

fn each(value: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    let Value::Table(table) = value else { return visit(path, value) };
    for (name, value) in table {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        each(value, &path, visit);
    }
}

fn find(key: &str) -> Option<&'static Bound> {
    EXACT.get(key).copied().or_else(|| {
        let pattern = PATTERNS.iter().find(|(start, (pattern, ..))| {
            let (names, patterns) = (key.split('.'), pattern.split('.'));
            key.starts_with(start)
                && names.clone().count() == patterns.clone().count()
                && names.zip(patterns).all(|(name, pattern)| match pattern.strip_prefix('*') {
                    Some(end) => name.ends_with(end),
                    None => name == pattern,
                })
        });
        pattern.map(|(_, bound)| *bound)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_and_duration_has_bounds_and_every_bound_is_used() {
        let defaults = toml::from_str::<Value>(crate::DEFAULTS).unwrap();
        let mut bounded = std::collections::BTreeSet::new();
        each(&defaults, "", &mut |key, value| {
            let found = find(key);
            assert_eq!(found.is_some(), amount(value).is_some(), "{key} = {value}");
            bounded.extend(found.map(|(pattern, ..)| *pattern));
        });
        let unused: Vec<&str> = BOUNDS
            .iter()
            .map(|(pattern, ..)| *pattern)
            .filter(|pattern| !bounded.contains(pattern))
            .collect();
        assert_eq!(unused, [""; 0]);
    }

    #[test]
    fn a_value_out_of_bounds_is_refused_with_the_bounds() {
        let report = |text: &str| match Config::layered(Some(("config.toml", text)), std::iter::empty()) {
            Ok(_) => "taken".to_owned(),
            Err(error) => error.line(),
        };
        let files = [
            "recall.k = 1000",
            "recall.k = 0",
            "recall.hops = 0",
            "recall.depth-factor = 0.5",
            "text.b = 1.5",
            "text.k1 = nan",
            "edges.decay.structural = -1.0",
            "daemon.heartbeat = \"0s\"",
            "retrieve.rrf.body-weight = -1",
            "query.gates.hash = { strong = 20, weak = 0 }",
            "query.gates.hash = { strong = 1, weak = 2.5 }",
            "query.two-path.sem-margin = 1.5",
            "query.fused.weak-min-fused = 0.9",
            "query.fused = { vec-weight = 0, lex-weight = 0 }",
        ];
        let all: Vec<String> = files.iter().map(|file| report(file)).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        config.toml:1:8: `recall.k`: cannot be 1000; give 1 to 256; 8 is usual
        config.toml:1:8: `recall.k`: cannot be 0; give 1 to 256; 8 is usual
        taken
        config.toml:1:8: `recall.depth-factor`: cannot be 0.5; give 1 or more; 2.0 is usual
        config.toml:1:6: `text.b`: cannot be 1.5; give 0 to 1; 0.4 is usual
        config.toml:1:6: `text.k1`: cannot be nan; give 0 or more; 0.9 is usual
        config.toml:1:13: `edges.decay.structural`: cannot be -1.0; give 0 or more; 0.00000004 is usual
        config.toml:1:8: `daemon.heartbeat`: cannot be 0s; give 1ms or more; 1s is usual
        config.toml:1:14: `retrieve.rrf.body-weight`: cannot be -1.0; give 0 or more; 1.0 is usual
        config.toml:1:22: `query.gates.hash.strong`: cannot be 20.0; give -16 to 17; 1.5 is usual
        config.toml:1:34: `query.gates.hash.weak`: cannot be 2.5, above `strong`, 1; `weak` is the lower threshold
        config.toml:1:16: `query.two-path.sem-margin`: cannot be 1.5; give 0 to 1; 0.015 is usual
        config.toml:1:13: `query.fused.weak-min-fused`: cannot be 0.9, above `strong-min-fused`, 0.7; `weak-min-fused` is the lower threshold
        config.toml:1:17: `query.fused.vec-weight`: `vec-weight` and `lex-weight` cannot both be 0; without a cross-encoder, the gate `fused` has no other signal
        ");
    }
}
