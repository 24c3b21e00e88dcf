//! Text for a person: what is emphasised, and how it fits a terminal.

use super::text::COLUMN_GAP;
use poc_notes::resolve::quoted;
use std::fmt;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The minimum width of a terminal that lines are fitted to.
const MIN_COLUMNS: usize = 40;

/// Where text for a person is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns of the terminal; `None` if lines may have any length, as in a pipe or a file.
    pub columns: Option<usize>,
    /// The words that call this program with the profile and tenant in use, as one would type them.
    pub program: String,
    /// The same without the tenant, for commands that concern all tenants.
    pub program_of_all_tenants: String,
}

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal::new(None, &[], &[])
    }
}

impl Terminal {
    /// A terminal with this many columns, and the words of the global options in use that choose a profile and a
    /// tenant.
    pub fn new(columns: Option<usize>, profile: &[String], tenant: &[String]) -> Terminal {
        let with = |program: &str, options: &[String]| {
            let words = options.iter().map(|option| format!(" {}", quoted(option)));
            words.fold(program.to_owned(), |program, word| program + &word)
        };
        let of_all_tenants = with("poc-memory", profile);
        Terminal {
            columns: columns.map(|columns| columns.max(MIN_COLUMNS)),
            program: with(&of_all_tenants, tenant),
            program_of_all_tenants: of_all_tenants,
        }
    }

    /// A text with commands in backticks as one can type them: with the options of this call. Commands that name or
    /// manage profiles themselves stay as they are. `takes_tenant` tells from the words after the program whether a
    /// command takes the option `--tenant`.
    pub fn with_options(&self, text: &str, takes_tenant: impl Fn(&str) -> bool) -> String {
        let of_profiles = ["profile ", "--profile "];
        let mut parts = text.split("`poc-memory ");
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let names_profile = of_profiles.iter().any(|start| part.starts_with(start));
            let program = match (names_profile, takes_tenant(part)) {
                (true, _) => "poc-memory",
                (false, true) => &self.program,
                (false, false) => &self.program_of_all_tenants,
            };
            whole.push_str(&format!("`{program} {part}"));
        }
        whole
    }

    /// A text of one line, cut with `…` if it does not fit beside `used` columns.
    pub(in crate::ops) fn cut(&self, text: &str, used: usize) -> String {
        let Some(left) = self.columns.map(|columns| columns.saturating_sub(used).max(1)) else {
            return text.to_owned();
        };
        if text.width() <= left {
            return text.to_owned();
        }
        let (mut cut, mut width) = (String::new(), 0);
        for c in text.chars() {
            width += c.width().unwrap_or(0);
            if width >= left {
                break;
            }
            cut.push(c);
        }
        cut.truncate(cut.trim_end().len());
        cut + "…"
    }

    /// A text of one line, wrapped between words to lines that are indented by `indent` columns.
    pub(crate) fn wrapped(&self, text: &str, indent: usize) -> String {
        let margin = " ".repeat(indent);
        let Some(left) = self.columns.map(|columns| columns.saturating_sub(indent).max(1)) else {
            return format!("{margin}{text}\n");
        };
        let mut lines = String::new();
        lines.extend(wrapped_lines(text, left).iter().map(|line| format!("{margin}{line}\n")));
        lines
    }
}

/// A text of one line, wrapped between words to lines of at most `width` columns. A longer word has its own line.
pub(in crate::ops) fn wrapped_lines(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// How a part of a text is emphasised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// Not at all.
    None,
    /// A name that can be typed, such as a key.
    Name,
    /// Less important, such as a date or a score.
    Faint,
}

/// A text with emphasised parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledText {
    parts: Vec<(Emphasis, String)>,
}

impl StyledText {
    /// Its parts in order.
    pub fn parts(&self) -> impl Iterator<Item = (Emphasis, &str)> {
        self.parts.iter().map(|(emphasis, text)| (*emphasis, text.as_str()))
    }

    /// Adds a text without emphasis.
    pub(in crate::ops) fn push(&mut self, text: impl Into<String>) {
        self.push_as(Emphasis::None, text);
    }

    /// Adds an emphasised text.
    pub(in crate::ops) fn push_as(&mut self, emphasis: Emphasis, text: impl Into<String>) {
        self.parts.push((emphasis, text.into()));
    }

    /// Adds rows with aligned columns. Each column has its emphasis; the last one is cut to the width of the terminal.
    pub(in crate::ops) fn push_table(
        &mut self,
        terminal: &Terminal,
        columns: &[Emphasis],
        rows: &[Vec<String>],
        after: impl Fn(usize) -> Option<String>,
    ) {
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        for (number, row) in rows.iter().enumerate() {
            let mut used = 0;
            for (place, cell) in row.iter().enumerate() {
                let emphasis = columns.get(place).copied().unwrap_or(Emphasis::None);
                let is_last = row.iter().skip(place + 1).all(String::is_empty);
                if is_last {
                    self.push_as(emphasis, terminal.cut(cell, used));
                    break;
                }
                let width = widths.get(place).copied().unwrap_or(0);
                self.push_as(emphasis, cell.as_str());
                self.push(" ".repeat(width - cell.width() + COLUMN_GAP));
                used += width + COLUMN_GAP;
            }
            self.push("\n");
            if let Some(lines) = after(number) {
                self.push_as(Emphasis::Faint, lines);
            }
        }
    }
}

impl From<String> for StyledText {
    fn from(text: String) -> StyledText {
        StyledText { parts: vec![(Emphasis::None, text)] }
    }
}

impl fmt::Display for StyledText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn narrow(columns: usize) -> Terminal {
        Terminal { columns: Some(columns), ..Terminal::default() }
    }

    #[test]
    fn a_text_is_cut_only_where_it_does_not_fit() {
        assert_eq!(narrow(40).cut("A split writes two pages", 20), "A split writes two…");
        assert_eq!(narrow(40).cut("A split writes two", 20), "A split writes two");
        assert_eq!(narrow(40).cut("語語語語語語語語語語語語", 20), "語語語語語語語語語…");
        assert_eq!(Terminal::default().cut(&"x".repeat(500), 400).len(), 500);
    }

    #[test]
    fn commands_have_the_options_of_the_call() {
        let tenant = ["--tenant".to_owned(), "user=ann".to_owned()];
        let terminal = Terminal::new(None, &["--profile".into(), "my work".into()], &tenant);
        let takes_tenant = |command: &str| !command.starts_with("doctor");
        let with_options = |text| terminal.with_options(text, takes_tenant);
        assert_eq!(
            with_options("`poc-memory get x` shows it; see `poc-memory doctor`"),
            "`poc-memory --profile 'my work' --tenant user=ann get x` shows it; see \
             `poc-memory --profile 'my work' doctor`"
        );
        let text = "`poc-memory get x`";
        assert_eq!(Terminal::default().with_options(text, takes_tenant), text);
        let profile = "`poc-memory profile create x`, then `poc-memory --profile x add y`";
        assert_eq!(with_options(profile), profile);
    }

    poc_laws::laws! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            rows in proptest::collection::vec(("[a-z]{0,8}", "[a-z 語]{0,120}", "[a-z 語]{0,300}"), 0..6),
            columns in 60usize..100,
        ) {
            let terminal = narrow(columns);
            let cells: Vec<Vec<String>> = rows.iter().map(|(key, title, _)| vec![key.clone(), title.clone()]).collect();
            let mut text = StyledText::default();
            text.push_table(&terminal, &[Emphasis::Name, Emphasis::None], &cells, |row| Some(terminal.wrapped(&rows[row].2, 4)));
            for line in text.to_string().lines() {
                // A word without spaces may be wider than the terminal.
                let widest = line.split(' ').map(|word| word.width()).max().unwrap_or(0);
                prop_assert!(line.width() <= columns.max(widest + 4), "{line}");
            }
        }
    }
}
