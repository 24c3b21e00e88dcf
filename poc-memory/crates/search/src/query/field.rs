//! The numeric fields of nodes. Each row of the table may define a filter (`weight:>0.5`) and a sort
//! (`sort:weight`).

use super::context::QueryContext;
use super::example::Example;
use super::scan::FieldReader;
use super::set::ScoredNode;
use poc_graph::similar;
use poc_graph::time::Timestamp;
use poc_graph::{Category, clustering};
use poc_rank::decay;
use poc_rank::priority::{displacement, priority};

/// A numeric field of nodes.
pub struct Field {
    /// The name of the field.
    pub word: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// A description of the field in one sentence.
    pub doc: &'static str,
    /// Details for the manual: formula, ranges and sources. May be empty.
    pub more: &'static str,
    /// An example of the filter; `None` if the field has no filter.
    pub filter: Option<Example>,
    /// The syntax of the name for sorting; `None` if the field cannot be used for sorting.
    pub sort: Option<&'static str>,
    /// Whether the field is the length of the text, which is also known for a node that is not stored yet.
    pub(super) is_text_len: bool,
    /// Opens the columns of the field. The text is the part of the sort name after its `:`.
    pub(super) read: for<'a> fn(&'a QueryContext<'a>, &str) -> Box<dyn FieldReader + 'a>,
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Field").field("word", &self.word).field("unit", &self.unit).finish()
    }
}

/// The unit of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Characters.
    Characters,
    /// The number of distinct live neighbours.
    Neighbors,
    /// A number without a unit.
    Number,
    /// A number that filters compare in hundredths.
    Hundredths,
    /// The time elapsed since an instant.
    Age,
    /// An instant. A filter compares the time elapsed since then with a duration, or its day with a day; a sort compares
    /// the instant itself.
    Instant,
}

impl Unit {
    /// Whether filters on this unit take a duration.
    pub fn is_time(self) -> bool {
        matches!(self, Unit::Age | Unit::Instant)
    }

    /// The step to which filters round values before they compare; `None` for exact comparison.
    pub(super) fn step(self) -> Option<f64> {
        (self == Unit::Hundredths).then_some(0.01)
    }
}

/// How filters by an instant compare.
const DAYS: &str = "A duration is compared with the time since then, and a day, in UTC, with the day of the \
                    instant: `created:<7d` is less than 7 days ago, `created:2026-11-21` is on that day, and \
                    `created:<2026-11-21` is before it.";

/// All fields, in the order of the help.
pub const FIELDS: &[Field] = &[
    Field {
        word: "priority",
        unit: Unit::Number,
        doc: "How much a note would gain from a replay now, 0 to 30",
        more: "The product of three factors:\n\n\
               - displacement, 0–3: `min(outlier / 3, 3)` if the note has an outlier score, else `1 − clustering \
               coefficient`. In communities of three or more notes, the outlier score is the distance to the \
               centre of the community in the spectral embedding, divided by the median distance in the \
               community;\n\
               - overdue, 0–5: `min(days since the last replay / interval, 5)`. The interval is the current step \
               of the schedule 1, 3, 7, 14, 30 days, and 1 day if the note has none yet. The factor is 3 for a \
               note that was never replayed;\n\
               - emotion, 1–2: `1 + emotion / 10`.\n\n\
               Worked example: a note with a clustering coefficient of 0.25, an emotion of 5 and an interval of \
               3 days, last replayed 6 days ago, has a priority of 0.75 · 2 · 1.5 = 2.25.",
        filter: None,
        sort: Some("priority"),
        is_text_len: false,
        read: |ctx, _| {
            let view = ctx.sources.view;
            let (mut degrees, mut triangles) = (view.degrees(), view.triangle_counts());
            let (mut intervals, mut replays) = (view.replay_intervals(), view.replays());
            let mut emotions = view.emotions();
            let (outliers, now) = (ctx.outliers(), ctx.sources.now);
            Box::new(move |item: ScoredNode| {
                let ix = item.ix;
                let outlier = outliers.as_ref().and_then(|outliers| outliers.of(ix));
                let displacement =
                    displacement(outlier, || clustering(degrees.of(ix, 0), triangles.of(ix, 0)));
                let (interval, replayed) = (intervals.of(ix, 0), replays.of(ix, None));
                priority(displacement, interval, replayed, emotions.of(ix, 0.0), now)
            })
        },
    },
    Field {
        word: "weight",
        unit: Unit::Hundredths,
        doc: "The weight, decayed to the current time",
        more: "`max(floor, w · exp(−λ · seconds since the weight was last written))`, 0.01 to 100. The \
               section `[weight]` of the settings defines λ, the floor and the cap. Reading a weight does \
               not change it. Filters compare in hundredths, so that a fresh note with the weight 1 passes \
               `weight:>=1`.",
        filter: Some(Example { pipeline: "weight:>1", output: &["b-tree", "wal"] }),
        sort: Some("weight"),
        is_text_len: false,
        read: |ctx, _| Box::new(weights(ctx)),
    },
    Field {
        word: "age",
        unit: Unit::Age,
        doc: "The time since the last change",
        more: "Ages are exact to the millisecond, so `age:7d` matches almost nothing; write `age:<7d` or `age:>=7d`.",
        filter: Some(Example { pipeline: "age:<2d", output: &["lsm-tree", "day#2026-11-21"] }),
        sort: None,
        is_text_len: false,
        read: last_changes,
    },
    Field {
        word: "timestamp",
        unit: Unit::Instant,
        doc: "The time of the last change",
        more: "",
        filter: None,
        sort: Some("timestamp"),
        is_text_len: false,
        read: last_changes,
    },
    Field {
        word: "modified",
        unit: Unit::Instant,
        doc: "When the note was last changed",
        more: DAYS,
        filter: Some(Example { pipeline: "modified:2026-11-21", output: &["day#2026-11-21"] }),
        sort: None,
        is_text_len: false,
        read: last_changes,
    },
    Field {
        word: "created",
        unit: Unit::Instant,
        doc: "The time since the note was first stored; a sort uses the instant itself",
        more: DAYS,
        filter: Some(Example { pipeline: "created:<=1d", output: &["day#2026-11-21"] }),
        sort: Some("created"),
        is_text_len: false,
        read: |ctx, _| {
            let mut instants = ctx.sources.view.creations();
            Box::new(move |item: ScoredNode| millis(instants.of(item.ix, Timestamp(0))))
        },
    },
    Field {
        word: "degree",
        unit: Unit::Neighbors,
        doc: "The number of live notes that the note has edges to",
        more: "Several edges between the same two notes count as one. Inactive notes have a degree, too. A note past its `expires` counts until consolidation has \
               recorded that it has expired.",
        filter: Some(Example { pipeline: "degree:>=2", output: &["b-tree", "wal", "crash-notes"] }),
        sort: Some("degree"),
        is_text_len: false,
        read: |ctx, _| {
            let mut degrees = ctx.sources.view.degrees();
            Box::new(move |item: ScoredNode| f64::from(degrees.of(item.ix, 0)))
        },
    },
    Field {
        word: "content-len",
        unit: Unit::Characters,
        doc: "The length of the text in characters",
        more: "Only the body counts, not the title.",
        filter: Some(Example { pipeline: "content-len:<30", output: &["todo/benchmarks"] }),
        sort: Some("content-len"),
        is_text_len: true,
        read: |ctx, _| {
            let mut lengths = ctx.sources.view.body_lens();
            Box::new(move |item: ScoredNode| f64::from(lengths.of(item.ix, 0)))
        },
    },
    Field {
        word: "key-len",
        unit: Unit::Characters,
        doc: "The length of the key in characters",
        more: "",
        filter: Some(Example { pipeline: "key-len:<5", output: &["wal"] }),
        sort: Some("key-len"),
        is_text_len: false,
        read: |ctx, _| {
            let mut lengths = ctx.sources.view.key_lens();
            Box::new(move |item: ScoredNode| f64::from(lengths.of(item.ix, 0)))
        },
    },
    Field {
        word: "score",
        unit: Unit::Number,
        doc: "The score of the note in the current set",
        more: "",
        filter: None,
        sort: Some("score"),
        is_text_len: false,
        read: |_, _| Box::new(|item: ScoredNode| item.score),
    },
    Field {
        word: "visited",
        unit: Unit::Instant,
        doc: "The time of the agent's last visit; a note without a visit counts as visited before all others",
        more: "",
        filter: None,
        sort: Some("visited:AGENT"),
        is_text_len: false,
        read: |ctx, agent| {
            let mut visits = ctx.sources.view.visits_of(agent).map(|column| column.cursor());
            Box::new(move |item: ScoredNode| {
                let visit = visits.as_mut().and_then(|visits| visits.of(item.ix, None));
                visit.map_or(f64::NEG_INFINITY, |visit| millis(visit.at))
            })
        },
    },
];

/// Reads the times of the last changes.
fn last_changes<'a>(ctx: &'a QueryContext<'a>, _: &str) -> Box<dyn FieldReader + 'a> {
    let mut instants = ctx.sources.view.modifications();
    Box::new(move |item: ScoredNode| millis(instants.of(item.ix, Timestamp(0))))
}

/// Milliseconds since the epoch. An `f64` represents them exactly for 285,000 years in both directions.
fn millis(at: Timestamp) -> f64 {
    at.0 as f64
}

/// Reads weights decayed to the current time.
pub(super) fn weights<'a>(ctx: &QueryContext<'a>) -> impl FnMut(ScoredNode) -> f64 + 'a {
    let view = ctx.sources.view;
    let (mut stored, mut touches) = (view.stored_weights(), view.touches());
    let mut categories = view.categories();
    let now = ctx.sources.now;
    let config = &ctx.sources.config.weight;
    let lambdas: Vec<f64> = Category::ALL.iter().map(|&category| decay::lambda(config, category)).collect();
    move |item| {
        let category = categories.of(item.ix, Category::General);
        let lambda = lambdas.get(category as usize).copied().unwrap_or(0.0);
        let seconds = now.seconds_since(touches.of(item.ix, now));
        decay::decayed(stored.of(item.ix, 0.0), lambda, seconds).max(config.floor)
    }
}

/// The field that a sort refers to, and the part of the name after its `:`. The error is a hint.
pub(super) fn sorted_by(text: &str) -> Result<(&'static Field, &str), String> {
    let (word, argument) = match text.split_once(':') {
        Some((word, argument)) => (word, Some(argument)),
        None => (text, None),
    };
    let field = FIELDS.iter().find(|field| field.sort.is_some() && field.word == word).ok_or_else(|| {
        let near = similar::closest(word, sortable().map(|field| field.word));
        near.map_or_else(
            || {
                format!(
                    "fields are {}",
                    sortable()
                        .filter_map(|field| field.sort)
                        .map(|name| format!("`{name}`"))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            },
            |near| format!("did you mean `{near}`?"),
        )
    })?;
    let written = field.sort.unwrap_or(word);
    match (written.contains(':'), argument) {
        (true, Some(argument)) if !argument.is_empty() => Ok((field, argument)),
        (false, None) => Ok((field, "")),
        _ => Err(format!("write `sort:{written}`")),
    }
}

fn sortable() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|field| field.sort.is_some())
}
