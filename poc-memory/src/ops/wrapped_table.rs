//! A table that fits the terminal.

use super::terminal::{Terminal, wrapped_lines};
use super::text::{COLUMN_GAP, table};
use unicode_width::UnicodeWidthStr as _;

/// Maximum number of lines of a row whose cells are wrapped.
const MAX_ROW_LINES: usize = 2;

/// The indent of the names of columns in a stacked table.
const NAME_INDENT: usize = 2;

/// A table whose first row has the names of the columns. If it is wider than the terminal, the text of the widest columns
/// is wrapped between words to a second line. If that is not enough, all rows are stacked.
pub(super) fn wrapped_table(terminal: &Terminal, rows: &[Vec<String>]) -> String {
    let Some(columns) = terminal.columns else { return table(rows) };
    let widths = fitted_widths(rows, columns);
    let gaps = COLUMN_GAP * widths.len().saturating_sub(1);
    if widths.iter().sum::<usize>() + gaps > columns {
        return stacked(terminal, rows);
    }
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, width)| wrapped_lines(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        if height > MAX_ROW_LINES {
            return stacked(terminal, rows);
        }
        for line in 0..height {
            lines.push(cells.iter().map(|cell| cell.get(line).cloned().unwrap_or_default()).collect());
        }
    }
    table(&lines)
}

/// Rows one below the other: the first cell of a row, then a line for each other cell with the name of its column. Cells
/// without a value (`-`) are left out.
fn stacked(terminal: &Terminal, rows: &[Vec<String>]) -> String {
    let Some((names, rows)) = rows.split_first() else { return String::new() };
    let width = names.iter().skip(1).map(|name| name.width()).max().unwrap_or(0);
    let indent = NAME_INDENT + width + COLUMN_GAP;
    let mut text = String::new();
    for row in rows {
        text.extend(row.first().map(|first| format!("{first}\n")));
        let cells = names.iter().zip(row).skip(1).filter(|(_, cell)| !matches!(cell.trim(), "" | "-"));
        for (name, cell) in cells {
            let gap = " ".repeat(indent.saturating_sub(NAME_INDENT + name.width()));
            let lines = terminal.wrapped(cell, indent);
            text.push_str(&format!("{}{name}{gap}{}", " ".repeat(NAME_INDENT), lines.trim_start()));
        }
    }
    text
}

/// The widths of the columns with which a table fits into a number of columns of the terminal. The widest column is
/// narrowed first, and none is narrower than its longest word.
fn fitted_widths(rows: &[Vec<String>], columns: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..count).map(|column| wrapped_width(rows, column, usize::MAX)).collect();
    let room = columns.saturating_sub(COLUMN_GAP * count.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let narrower = widths.iter().enumerate().filter_map(|(column, &width)| {
            let narrower = wrapped_width(rows, column, width.saturating_sub(1));
            (narrower < width).then_some((width, column, narrower))
        });
        let Some((_, column, narrower)) = narrower.max_by_key(|(width, ..)| *width) else { break };
        if let Some(width) = widths.get_mut(column) {
            *width = narrower;
        }
    }
    widths
}

/// The width of a column whose cells are wrapped to lines of at most `width` columns of the terminal.
fn wrapped_width(rows: &[Vec<String>], column: usize, width: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column));
    cells.flat_map(|cell| wrapped_lines(cell, width)).map(|line| line.width()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(columns: usize, rows: &[Vec<String>]) -> String {
        wrapped_table(&Terminal { columns: Some(columns), ..Terminal::default() }, rows)
    }

    #[test]
    fn wide_cells_continue_on_the_next_line() {
        let rows = [
            ["AGENT", "STATE", "LAST"],
            ["linker", "enabled", "2026-11-21 08:00Z completed"],
            ["split", "enabled, running", "-"],
        ];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        insta::assert_snapshot!(shown(44, &rows), @r"
        AGENT   STATE             LAST
        linker  enabled           2026-11-21 08:00Z
                                  completed
        split   enabled, running  -
        ");
        insta::assert_snapshot!(shown(30, &rows), @r"
        linker
          STATE  enabled
          LAST   2026-11-21 08:00Z
                 completed
        split
          STATE  enabled, running
        ");
        assert_eq!(shown(80, &rows), table(&rows));
        assert_eq!(wrapped_table(&Terminal::default(), &rows), table(&rows));
    }

    poc_laws::laws! {
        #[test]
        fn a_table_fits_and_has_all_words(
            rows in proptest::collection::vec(proptest::collection::vec("[a-z 語]{0,30}", 3), 1..6),
            columns in 40usize..100,
        ) {
            let names = ["NAME", "STATE", "LAST"].map(String::from).to_vec();
            let rows: Vec<Vec<String>> = std::iter::once(names).chain(rows).collect();
            let text = shown(columns, &rows);
            // The names of the columns are narrow, and no word has more than 60 columns.
            for line in text.lines() {
                prop_assert!(line.width() <= columns.max(70), "{line}");
            }
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().filter(|c| c.is_lowercase() || *c == '語').collect();
                letters.sort_unstable();
                letters
            };
            prop_assert_eq!(letters(&text), letters(&rows.concat().concat()));
            // Either every row is on one or two lines below the names, or all rows are stacked.
            let is_stacked = !text.starts_with("NAME");
            prop_assert!(is_stacked || text.lines().count() <= MAX_ROW_LINES * rows.len(), "{text}");
            prop_assert!(is_stacked || text.lines().all(|line| line.width() <= columns), "{text}");
        }
    }
}
