//! The table of retrieval measures.

use super::text::table;
use poc_notes::eval::report::{MEASURES, TypeMeasures};
use poc_rank::bootstrap::ConfidenceInterval;
use std::collections::BTreeMap;

/// Column titles of [`MEASURES`].
const HEADS: [&str; 4] = ["Recall@5", "Recall@10", "nDCG@10", "MRR@10"];

/// A row of a table of measures.
pub(crate) struct MeasureRow<'a> {
    /// The type of the questions.
    pub(crate) kind: String,
    /// The number of questions.
    pub(crate) questions: String,
    /// The measures by name.
    pub(crate) measures: &'a BTreeMap<String, ConfidenceInterval>,
}

impl<'a> From<&'a TypeMeasures> for MeasureRow<'a> {
    fn from(row: &'a TypeMeasures) -> Self {
        MeasureRow { kind: row.kind.clone(), questions: row.questions.to_string(), measures: &row.measures }
    }
}

/// A mean with the bounds of its confidence interval.
pub(crate) fn with_bounds(interval: &ConfidenceInterval) -> String {
    format!("{:.3} [{:.3} {:.3}]", interval.mean, interval.low, interval.high)
}

/// A table of measures with column titles.
pub(crate) fn measures_table<'a>(
    rows: impl Iterator<Item = MeasureRow<'a>>,
    cell: impl Fn(&ConfidenceInterval) -> String,
) -> String {
    let head = ["type", "n"].into_iter().chain(HEADS).map(str::to_owned).collect();
    let rows = rows.map(|MeasureRow { kind, questions, measures }| {
        let cells = MEASURES.iter().map(|name| measures.get(*name).map(&cell).unwrap_or_default());
        [kind, questions].into_iter().chain(cells).collect::<Vec<String>>()
    });
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}
