//! What a pipeline did, stage by stage: as data and as a table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What one stage did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageReport {
    /// The stage as written.
    pub stage: String,
    /// `generator`, `filter`, `transform` or `algorithm`.
    pub kind: String,
    /// What it does, in words.
    pub does: String,
    /// Nodes that went in.
    #[serde(rename = "in")]
    pub taken: usize,
    /// Nodes that came out.
    #[serde(rename = "out")]
    pub given: usize,
    /// Time in microseconds.
    pub micros: f64,
    /// A remark: where derived structure came from, what was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The saved pipeline it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// What a whole pipeline did. `Display` is a table for the terminal, with a line for the total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Stage by stage.
    pub stages: Vec<StageReport>,
    /// Time in microseconds.
    pub total_micros: f64,
    /// What was derived from the whole graph before its latest changes.
    #[serde(skip)]
    pub reused: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |stage: &str, kind: &str, taken: &str, given: &str, time: &str, does: &str| {
            [stage, kind, taken, given, time, does].map(str::to_owned)
        };
        let mut rows = vec![row("stage", "kind", "in", "out", "time", "what it does")];
        for stage in &self.stages {
            let saved = stage.saved.as_ref().map(|name| format!("from `@{name}`"));
            let remarks: Vec<String> = saved.into_iter().chain(stage.note.clone()).collect();
            let does = match remarks.is_empty() {
                true => stage.does.clone(),
                false => format!("{} ({})", stage.does, remarks.join("; ")),
            };
            let taken = if stage.kind == "generator" { "–".to_owned() } else { stage.taken.to_string() };
            let (given, time) = (stage.given.to_string(), time(stage.micros));
            rows.push(row(&stage.stage, &stage.kind, &taken, &given, &time, &does));
        }
        rows.push(row("total", "", "", "", &time(self.total_micros), ""));
        let mut widths = [0; 6];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let [stage, kind, taken, given, micros, _] = widths;
        for [a, b, c, d, e, does] in rows {
            let line = format!("{a:stage$}  {b:kind$}  {c:>taken$}  {d:>given$}  {e:>micros$}  {does}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Microseconds as a person reads them.
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
    fn a_table_for_people() {
        let report =
            |stage: &str, kind: &str, does: &str, taken, given, micros, note: Option<&str>| StageReport {
                stage: stage.into(),
                kind: kind.into(),
                does: does.into(),
                taken,
                given,
                micros,
                note: note.map(str::to_owned),
                saved: None,
            };
        let explanation = Explanation {
            stages: vec![
                report("all", "generator", "every live node, by id", 0, 13000, 41.26, None),
                report(
                    "community:3",
                    "filter",
                    "keeps nodes of community 3",
                    13000,
                    6,
                    2.0,
                    Some("communities computed now"),
                ),
            ],
            total_micros: 12345.0,
            reused: Vec::new(),
        };
        insta::assert_snapshot!(explanation, @r"
        stage        kind          in    out     time  what it does
        all          generator      –  13000    41 µs  every live node, by id
        community:3  filter     13000      6   2.0 µs  keeps nodes of community 3 (communities computed now)
        total                                 12.3 ms
        ");
        let json = serde_json::to_value(&explanation).unwrap();
        assert_eq!((&json["stages"][1]["in"], &json["stages"][1]["out"]), (&13000.into(), &6.into()));
    }
}
