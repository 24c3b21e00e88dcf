//! A table that fits the terminal.

use super::terminal::{Terminal, wrapped_lines};
use super::text::{COLUMN_GAP, table};
use unicode_width::UnicodeWidthStr as _;

/// Rows with aligned columns. If they are wider than the terminal, the text of the widest columns is wrapped between
/// words to further lines. A table whose longest words do not fit is wider than the terminal.
pub(super) fn wrapped_table(terminal: &Terminal, rows: &[Vec<String>]) -> String {
    let Some(columns) = terminal.columns else { return table(rows) };
    let widths = fitted_widths(rows, columns);
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, width)| wrapped_lines(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            lines.push(cells.iter().map(|cell| cell.get(line).cloned().unwrap_or_default()).collect());
        }
    }
    table(&lines)
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
        assert_eq!(shown(80, &rows), table(&rows));
        assert_eq!(wrapped_table(&Terminal::default(), &rows), table(&rows));
    }

    poc_laws::laws! {
        #[test]
        fn a_table_fits_and_has_all_words(
            rows in proptest::collection::vec(proptest::collection::vec("[a-z 語]{0,30}", 3), 1..6),
            columns in 40usize..100,
        ) {
            let text = shown(columns, &rows);
            let longest = |column: usize| {
                rows.iter().flat_map(|row| row[column].split(' ')).map(|word| word.width()).max().unwrap_or(0)
            };
            let least = (0..3).map(longest).sum::<usize>() + 2 * COLUMN_GAP;
            for line in text.lines() {
                prop_assert!(line.width() <= columns.max(least), "{line}");
            }
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
                letters.sort_unstable();
                letters
            };
            prop_assert_eq!(letters(&text), letters(&rows.concat().concat()));
        }
    }
}
