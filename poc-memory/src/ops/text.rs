//! Text output of common parts of answers.

use poc_agent::schedule::{local_minute, local_second, local_zone};
use poc_config::bounds;
use poc_graph::diagnostic::FileDiagnostic;
pub(crate) use poc_graph::plural;
use poc_graph::time::Timestamp;
use unicode_width::UnicodeWidthStr as _;

/// `FILE:LINE:COLUMN: MESSAGE`, then the hint on a line of its own.
pub(in crate::ops) fn diagnostic_text(diagnostic: &FileDiagnostic) -> String {
    let place: Vec<String> = [
        diagnostic.file.clone(),
        diagnostic.line.map(|line| line.to_string()),
        diagnostic.column.map(|column| column.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(":")) };
    let hint = diagnostic.hint.as_ref().map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
    format!("{place}{}{hint}\n", diagnostic.message)
}

/// A time to the minute in the time zone of this machine, with its offset from UTC; `-` for none.
pub(in crate::ops) fn minute(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), local_minute)
}

/// A time to the second in the time zone of this machine, with its offset from UTC.
pub(crate) fn second(at: Timestamp) -> String {
    local_second(at)
}

/// The day of a time in the time zone of this machine.
pub(in crate::ops) fn day(at: Timestamp) -> String {
    let day = at.utc().map(|at| at.with_timezone(&local_zone()).format("%Y-%m-%d").to_string());
    day.unwrap_or_default()
}

/// Text of a model or a note on one line, so that it cannot imitate lines of the output.
pub(in crate::ops) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Maximum number of characters of a reason in a list. Models are asked for a sentence, but may write more.
const REASON_CHARS: usize = 300;

/// The reason of an action or an edge on one line, with at most [`REASON_CHARS`] characters of it.
pub(in crate::ops) fn reason_line(reason: &str) -> String {
    let line = one_line(reason);
    match line.char_indices().nth(REASON_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(&line)),
        None => line,
    }
}

/// The line about entries of a list that are not shown, with the option that shows them all, or more of them; empty if
/// there are none. `noun` names one of them, as for [`plural`], and `setting` is the key of the default of `-n`, whose
/// bounds apply to the option.
pub(in crate::ops) fn left_out(shown: usize, left_out: usize, noun: &str, setting: &str) -> String {
    if left_out == 0 {
        return String::new();
    }
    let (all, max) = (shown + left_out, *bounds::of(setting).end());
    let option = if all <= max {
        format!(": `-n {all}` shows all")
    } else if shown < max {
        format!(": `-n {max}` shows more")
    } else {
        String::new()
    };
    format!("{} left out{option}\n", plural(left_out as u64, noun))
}

/// Number of spaces between two columns of a table.
pub(in crate::ops) const COLUMN_GAP: usize = 2;

/// The widths of the columns of a table, in columns of the terminal.
pub(in crate::ops) fn column_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    (0..count).map(width).collect()
}

/// The name of a kind of edges in texts, spelled as in the settings: `co-retrieval`. In JSON, it is `co_retrieval`.
pub(crate) fn edge_kind(name: &str) -> String {
    name.replace('_', "-")
}

/// Rows with aligned columns.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let widths = column_widths(rows);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', (width + COLUMN_GAP).saturating_sub(cell.width())));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A cost in US dollars, marked if it is an estimate.
pub(in crate::ops) fn dollars(amount: f64, is_estimated: bool) -> String {
    format!("{}${amount:.4}", if is_estimated { "about " } else { "" })
}

/// A size with its unit, with one decimal from 1 KiB on.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => plural(bytes, "byte"),
        1024..0x10_0000 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64),
        _ => format!("{:.1} GiB", bytes as f64 / (1 << 30) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::{REASON_CHARS, left_out, reason_line, size};

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(reason_line(" the same\n  9. week "), "the same 9. week");
        let long = "é".repeat(REASON_CHARS);
        assert_eq!(reason_line(&long), long);
        assert_eq!(reason_line(&format!("{long}é")), format!("{long}…"));
    }

    #[test]
    fn the_option_that_shows_more_is_one_that_the_command_takes() {
        let line = |shown, more| left_out(shown, more, "more note", "list.limit");
        assert_eq!(line(20, 0), "");
        assert_eq!(line(20, 1), "1 more note left out: `-n 21` shows all\n");
        assert_eq!(line(20, 980), "980 more notes left out: `-n 1000` shows all\n");
        assert_eq!(line(20, 981), "981 more notes left out: `-n 1000` shows more\n");
        assert_eq!(line(1000, 1), "1 more note left out\n");
    }

    #[test]
    fn small_sizes_are_not_zero() {
        let sizes = [0, 1, 1023, 1024, 17_408, (1 << 20) - 1, 1 << 20, 67_738_010, 1 << 30].map(size);
        let expected = [
            "0 bytes",
            "1 byte",
            "1023 bytes",
            "1.0 KiB",
            "17.0 KiB",
            "1024.0 KiB",
            "1.0 MiB",
            "64.6 MiB",
            "1.0 GiB",
        ];
        assert_eq!(sizes, expected);
    }
}
