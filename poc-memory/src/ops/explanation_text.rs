//! The report of a pipeline as a text that fits the terminal.

use super::terminal::{Terminal, wrapped_lines};
use super::text::COLUMN_GAP;
use poc_search::query::Explanation;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// The minimum width of the column of stages.
const MIN_STAGE_WIDTH: usize = 12;

/// The minimum width of the last column (what a stage does). Long stages are cut to leave it this much.
const MIN_DOES_WIDTH: usize = 24;

/// The table of a report. If it is wider than the terminal, long stages are cut, and what a stage does is wrapped within
/// its column.
pub(super) fn explanation_text(terminal: &Terminal, explanation: &Explanation) -> String {
    let table = explanation.to_string();
    let is_wider = |columns: &usize| table.lines().any(|line| line.width() > *columns);
    let Some(columns) = terminal.columns.filter(is_wider) else { return table };
    let rows = explanation.rows();
    let mut widths = [0; 5];
    for [stage, kind, input, output, time, _] in &rows {
        for (width, cell) in widths.iter_mut().zip([stage, kind, input, output, time]) {
            *width = cell.width().max(*width);
        }
    }
    let [stage_width, kind_width, input_width, output_width, time_width] = widths;
    let numbers = kind_width + input_width + output_width + time_width + 5 * COLUMN_GAP;
    let room = columns.saturating_sub(numbers);
    let stage_width = stage_width.min(room.saturating_sub(MIN_DOES_WIDTH).max(MIN_STAGE_WIDTH));
    let mut text = String::new();
    for [stage, kind, input, output, time, does] in &rows {
        let stage = terminal.cut(stage, columns.saturating_sub(stage_width));
        // `format` counts characters, some of which take two columns.
        let padding = " ".repeat(stage_width.saturating_sub(stage.width()));
        let mut before = format!(
            "{stage}{padding}  {kind:kind_width$}  {input:>input_width$}  {output:>output_width$}  \
             {time:>time_width$}  "
        );
        for does in wrapped_lines(does, room.saturating_sub(stage_width)) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", format!("{before}{does}").trim_end());
            before = " ".repeat(stage_width + numbers);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_that_is_wider_than_the_terminal_is_wrapped_in_its_last_column() {
        let report: Explanation = serde_json::from_value(json!({"total_micros": 41.2, "stages": [
            {"stage": "all", "kind": "generator", "does": "every live note, by id", "in": 0, "out": 13, "micros": 41.2},
            {"stage": "match:\"what was said about the harbour\"", "kind": "filter", "in": 13, "out": 6, "micros": 2.0,
                "does": "keeps notes that contain the words"},
            {"stage": "match:港口", "kind": "filter", "in": 6, "out": 1, "micros": 2.0, "does": "the same"},
        ]}))
        .unwrap();
        let shown =
            |columns| explanation_text(&Terminal { columns: Some(columns), ..Terminal::default() }, &report);
        insta::assert_snapshot!(shown(60), @r#"
        stage         kind       in  out    time  what it does
        all           generator   –   13   41 µs  every live note,
                                                  by id
        match:"what…  filter     13    6  2.0 µs  keeps notes that
                                                  contain the words
        match:港口    filter      6    1  2.0 µs  the same
        total                              41 µs
        "#);
        for columns in [50, 60, 80, 100] {
            assert!(shown(columns).lines().all(|line| line.width() <= columns), "{}", shown(columns));
        }
        assert_eq!(shown(200), report.to_string());
        assert_eq!(explanation_text(&Terminal::default(), &report), report.to_string());
    }
}
