//! The table of retrieval measures.

use super::text::table;
use poc_notes::eval::report::{ALL_10, MEASURES, TypeMeasures};
use poc_rank::bootstrap::ConfidenceInterval;
use std::collections::BTreeMap;

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

/// A table of measures with column titles, without [`ALL_10`], because the cells are wide.
pub(crate) fn measures_table<'a>(
    rows: impl Iterator<Item = MeasureRow<'a>>,
    cell: impl Fn(&ConfidenceInterval) -> String,
) -> String {
    let columns: Vec<_> = MEASURES.into_iter().filter(|(name, _)| *name != ALL_10).collect();
    table_of(&columns, rows, cell)
}

/// A table of the differences between measures.
pub(crate) fn differences_table<'a>(
    rows: impl Iterator<Item = MeasureRow<'a>>,
    cell: impl Fn(&ConfidenceInterval) -> String,
) -> String {
    table_of(&MEASURES, rows, cell)
}

fn table_of<'a>(
    columns: &[(&str, &str)],
    rows: impl Iterator<Item = MeasureRow<'a>>,
    cell: impl Fn(&ConfidenceInterval) -> String,
) -> String {
    let titles = columns.iter().map(|(_, title)| *title);
    let head = ["type", "n"].into_iter().chain(titles).map(str::to_owned).collect();
    let rows = rows.map(|MeasureRow { kind, questions, measures }| {
        let cells = columns.iter().map(|(name, _)| measures.get(*name).map(&cell).unwrap_or_default());
        [kind, questions].into_iter().chain(cells).collect::<Vec<String>>()
    });
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}
