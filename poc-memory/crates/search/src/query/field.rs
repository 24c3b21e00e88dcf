//! The numbers a node has: each row gives a filter (`weight:>0.5`) and a sort (`sort:weight`).

use super::context::QueryContext;
use super::example::Example;
use super::scan::FieldReader;
use super::set::ScoredNode;
use poc_graph::similar;
use poc_graph::time::Timestamp;
use poc_graph::{Category, clustering};
use poc_rank::decay;
use poc_rank::priority::{displacement, priority};

/// A number every node has.
pub struct Field {
    /// Its name.
    pub word: &'static str,
    /// What it is measured in.
    pub unit: Unit,
    /// What it is.
    pub doc: &'static str,
    /// Formula, ranges and sources, as paragraphs; may be empty.
    pub more: &'static str,
    /// For a field that filters: a pipeline that does.
    pub filter: Option<Example>,
    /// For a field that sorts: how it is written.
    pub sort: Option<&'static str>,
    /// Whether it is the length of a node's text: of a new node this is known before it is written.
    pub(super) is_text_len: bool,
    /// Finds the columns; the text is what follows `:` in the sort's name.
    pub(super) read: for<'a> fn(&'a QueryContext<'a>, &str) -> Box<dyn FieldReader + 'a>,
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Field").field("word", &self.word).field("unit", &self.unit).finish()
    }
}

/// What a field is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Characters.
    Characters,
    /// Distinct live neighbours.
    Neighbors,
    /// A number without a unit.
    Number,
    /// An instant. A filter compares the time passed since, in seconds; a sort the instant itself.
    Instant,
}

impl Unit {
    /// Whether a filter compares durations.
    pub fn is_time(self) -> bool {
        self == Unit::Instant
    }
}

/// Every field, in the order help lists them.
pub const FIELDS: &[Field] = &[
    Field {
        word: "priority",
        unit: Unit::Number,
        doc: "How much a node would gain from being replayed now, 0 to 30",
        more: "Displacement × overdue × emotion, each with its bounds:\n\n\
               - displacement, 0–3: `min(outlier / 3, 3)` where the node has an outlier score (in communities of three and more: its distance \
               to the centre of its community in the spectral embedding, divided by the community's median \
               distance), else `1 − clustering coefficient`;\n\
               - overdue, 0–5: `min(days since the last replay / interval, 5)`, the interval being the \
               node's place on the ladder 1, 3, 7, 14, 30 days (none yet counts as 1); a node that was \
               never replayed counts as 3;\n\
               - emotion, 1–2: `1 + emotion / 10`.\n\n\
               By hand: a note with clustering 0.25, an emotion of 5 and an interval of 3 days, last \
               replayed 6 days ago, has a priority of 0.75 · 2 · 1.5 = 2.25.",
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
        unit: Unit::Number,
        doc: "The weight as decayed to now",
        more: "`max(floor, w · exp(−λ · seconds since it was written))`, 0.01 to 100; `[weight]` in the settings \
               has λ, floor and cap. Nothing is written.",
        filter: Some(Example { pipeline: "weight:>1", output: &["b-tree", "wal"] }),
        sort: Some("weight"),
        is_text_len: false,
        read: |ctx, _| Box::new(weights(ctx)),
    },
    Field {
        word: "age",
        unit: Unit::Instant,
        doc: "The time since the last change",
        more: "Exact to the millisecond, so `age:7d` finds next to nothing; write `age:>=7d`.",
        filter: Some(Example { pipeline: "age:<2d", output: &["lsm-tree", "day#2026-11-21"] }),
        sort: None,
        is_text_len: false,
        read: |ctx, _| {
            let mut instants = ctx.sources.view.modifications();
            Box::new(move |item: ScoredNode| millis(instants.of(item.ix, Timestamp(0))))
        },
    },
    Field {
        word: "timestamp",
        unit: Unit::Instant,
        doc: "The last change",
        more: "",
        filter: None,
        sort: Some("timestamp"),
        is_text_len: false,
        read: |ctx, _| {
            let mut instants = ctx.sources.view.modifications();
            Box::new(move |item: ScoredNode| millis(instants.of(item.ix, Timestamp(0))))
        },
    },
    Field {
        word: "created",
        unit: Unit::Instant,
        doc: "The time since the node was first stored; a sort takes the instant itself",
        more: "",
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
        doc: "How many live nodes the node is tied to",
        more: "All edges between two nodes count as one tie. A node past its date counts until housekeeping has \
               written down that it has expired.",
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
        more: "Of the body alone; the title does not count.",
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
        doc: "The score in the set",
        more: "",
        filter: None,
        sort: Some("score"),
        is_text_len: false,
        read: |_, _| Box::new(|item: ScoredNode| item.score),
    },
    Field {
        word: "visited",
        unit: Unit::Instant,
        doc: "The last visit by the agent; never comes before any other",
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

/// Milliseconds since the epoch; exact for 285,000 years either way.
fn millis(at: Timestamp) -> f64 {
    at.0 as f64
}

/// Reads weights as decayed to now.
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

/// The field a sort names, and what follows the `:` in the name. An error is a hint.
pub(super) fn sorted_by(text: &str) -> Result<(&'static Field, &str), String> {
    let (word, argument) = match text.split_once(':') {
        Some((word, argument)) => (word, Some(argument)),
        None => (text, None),
    };
    let field = FIELDS.iter().find(|field| field.sort.is_some() && field.word == word).ok_or_else(|| {
        let near = similar::to(word, sortable().map(|field| field.word));
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
