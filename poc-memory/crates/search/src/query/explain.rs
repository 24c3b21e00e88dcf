//! The report of a run, stage by stage, as data and as a table.

use poc_graph::{Ix, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use unicode_width::UnicodeWidthStr as _;

/// The report of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageReport {
    /// The stage as written.
    pub stage: String,
    /// The kind of stage: `generator`, `filter`, `transform` or `algorithm`.
    pub kind: String,
    /// What the stage does.
    pub does: String,
    /// The number of nodes that entered the stage.
    #[serde(rename = "in")]
    pub input: usize,
    /// The number of nodes that left the stage.
    #[serde(rename = "out")]
    pub output: usize,
    /// The time that the stage took, in microseconds.
    pub micros: f64,
    /// A remark, such as the origin of derived data or which nodes were omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The name of the saved pipeline that the stage comes from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// The report of a run. `Display` writes a table for the terminal, with a line for the total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The reports of the stages, in order.
    pub stages: Vec<StageReport>,
    /// The total time, in microseconds.
    pub total_micros: f64,
    /// Descriptions of derived data in use that is older than the latest changes of the graph.
    #[serde(skip)]
    pub reused: Vec<String>,
    /// For the nodes that a text search found through a derived note or a confirmed question: that note.
    #[serde(skip)]
    pub found_through: BTreeMap<Ix, NodeId>,
}

impl Explanation {
    /// The rows of its table: the head, the stages and the total. The cells are the stage, its kind, the numbers of nodes
    /// that entered and left it, its time, and what it does.
    pub fn rows(&self) -> Vec<[String; 6]> {
        let row = |stage: &str, kind: &str, input: &str, output: &str, time: &str, does: &str| {
            [stage, kind, input, output, time, does].map(str::to_owned)
        };
        let mut rows = vec![row("stage", "kind", "in", "out", "time", "what it does")];
        for stage in &self.stages {
            let saved = stage.saved.as_ref().map(|name| format!("from `@{name}`"));
            let remarks: Vec<String> = saved.into_iter().chain(stage.note.clone()).collect();
            let does = match remarks.is_empty() {
                true => stage.does.clone(),
                false => format!("{} ({})", stage.does, remarks.join("; ")),
            };
            let input = if stage.kind == "generator" { "–".to_owned() } else { stage.input.to_string() };
            let (output, time) = (stage.output.to_string(), time(stage.micros));
            rows.push(row(&stage.stage, &stage.kind, &input, &output, &time, &does));
        }
        rows.push(row("total", "", "", "", &time(self.total_micros), ""));
        rows
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let mut widths = [0; 6];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let [stage_width, kind, input, output, micros, _] = widths;
        for [stage, b, c, d, e, does] in rows {
            // `format` counts characters, some of which take two columns.
            let padding = " ".repeat(stage_width.saturating_sub(stage.width()));
            let line =
                format!("{stage}{padding}  {b:kind$}  {c:>input$}  {d:>output$}  {e:>micros$}  {does}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Formats microseconds with a suitable unit.
fn time(micros: f64) -> String {
    match micros {
        micros if micros < 10.0 => format!("{micros:.1} µs"),
        micros if micros < 1e4 => format!("{micros:.0} µs"),
        micros if micros < 1e7 => format!("{:.1} ms", micros / 1e3),
        micros => format!("{:.1} s", micros / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_aligns_columns_and_shows_remarks() {
        let report =
            |stage: &str, kind: &str, does: &str, input, output, micros, note: Option<&str>| StageReport {
                stage: stage.into(),
                kind: kind.into(),
                does: does.into(),
                input,
                output,
                micros,
                note: note.map(str::to_owned),
                saved: None,
            };
        let explanation = Explanation {
            stages: vec![
                report("all", "generator", "every live note, by id", 0, 13000, 41.26, None),
                report(
                    "community:3",
                    "filter",
                    "keeps notes of community 3",
                    13000,
                    6,
                    2.0,
                    Some("communities computed now"),
                ),
            ],
            total_micros: 12345.0,
            reused: Vec::new(),
            found_through: BTreeMap::new(),
        };
        insta::assert_snapshot!(explanation, @r"
        stage        kind          in    out     time  what it does
        all          generator      –  13000    41 µs  every live note, by id
        community:3  filter     13000      6   2.0 µs  keeps notes of community 3 (communities computed now)
        total                                 12.3 ms
        ");
        let wide = report("match:日本", "generator", "notes", 0, 1, 1.0, None);
        let table = Explanation { stages: vec![wide], ..Explanation::default() }.to_string();
        assert!(table.starts_with("stage       kind       in "), "{table}");
        assert!(table.contains("\nmatch:日本  generator   –"), "{table}");
        let json = serde_json::to_value(&explanation).unwrap();
        assert_eq!((&json["stages"][1]["in"], &json["stages"][1]["out"]), (&13000.into(), &6.into()));
    }
}
