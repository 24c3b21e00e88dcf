//! Text for a person: what is emphasised, and how it fits a terminal.

use super::text::{COLUMN_GAP, column_widths};
use poc_notes::resolve::quoted;
use std::fmt;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The minimum width of a terminal that lines are fitted to.
const MIN_COLUMNS: usize = 24;

/// Maximum number of columns that a title leaves to the other cells of its row. A longer row is cut at its end instead.
const MAX_BESIDE_TITLE: usize = 56;

/// The minimum width of a title or of the last column of a table of notes. If the other columns leave less, the last
/// column is on lines of its own.
const MIN_TEXT_WIDTH: usize = 16;

/// The indent of these lines, in columns.
const TEXT_INDENT: usize = 2;

/// A wider cell does not widen its column: otherwise, one long key would make all rows long. Generated keys are shorter.
const MAX_ALIGNED: usize = 80;

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

    /// Cuts the titles in a column of rows so that the rows fit.
    pub(in crate::ops) fn cut_titles(&self, rows: &mut [Vec<String>], column: usize) {
        let mut others = column_widths(rows);
        if column < others.len() {
            others.remove(column);
        }
        let beside = others.iter().map(|width| width + COLUMN_GAP).sum::<usize>().min(MAX_BESIDE_TITLE);
        let beside =
            self.columns.map_or(beside, |columns| beside.min(columns.saturating_sub(MIN_TEXT_WIDTH)));
        for title in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            *title = self.cut(title, beside);
        }
    }

    /// A text of one line, wrapped between words to lines that are indented by `indent` columns.
    pub(crate) fn wrapped(&self, text: &str, indent: usize) -> String {
        let margin = " ".repeat(indent);
        let Some(left) = self.columns.map(|columns| columns.saturating_sub(indent).max(1)) else {
            return format!("{margin}{text}\n");
        };
        wrapped_lines(text, left).iter().map(|line| format!("{margin}{line}\n")).collect()
    }

    /// The text of a note, whose paragraphs and list items are wrapped between words, each at its own indent.
    pub(in crate::ops) fn wrapped_note(&self, text: &str) -> String {
        let own_indent = |line: &str| {
            let text = line.trim_start_matches(' ');
            line.len() - text.len() + list_marker(text)
        };
        StyledText::from(text.to_owned()).wrapped(self, own_indent).to_string()
    }
}

/// A text of one line, wrapped between words to lines of at most `width` columns. A longer word has its own line.
pub(in crate::ops) fn wrapped_lines(text: &str, width: usize) -> Vec<String> {
    let lines = line_ranges(text, width, width).into_iter();
    lines.map(|line| text.get(line).unwrap_or_default().to_owned()).collect()
}

/// The lines of a text that is wrapped between words, as ranges of its bytes: the first one of at most `first` columns,
/// the others of at most `rest`. A longer word has its own line.
fn line_ranges(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let (mut lines, mut line) = (Vec::new(), Range::default());
    for word in words(text, rest) {
        let width = if lines.is_empty() { first } else { rest };
        if line.is_empty() {
            line = word;
        } else if text.get(line.start..word.end).is_some_and(|longer| longer.width() > width) {
            lines.push(std::mem::replace(&mut line, word));
        } else {
            line.end = word.end;
        }
    }
    lines.push(line);
    lines
}

/// The words of a text, as ranges of its bytes. A command or a name in backticks is one word if it fits into a line.
fn words(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    // The place and the start of the word with a backtick that is not closed yet.
    let mut open: Option<(usize, usize)> = None;
    let mut start = 0;
    for word in text.split(' ') {
        let range = start..start + word.len();
        start = range.end + 1;
        if word.is_empty() {
            continue;
        }
        let is_quote = word.matches('`').count() % 2 == 1;
        match open {
            Some((place, from)) if is_quote => {
                open = None;
                let quoted = from..range.end;
                if text.get(quoted.clone()).is_some_and(|quoted| quoted.width() <= width) {
                    words.truncate(place);
                    words.push(quoted);
                    continue;
                }
            }
            None if is_quote => open = Some((words.len(), range.start)),
            _ => {}
        }
        words.push(range);
    }
    words
}

/// The indent of the lines that continue a line of output. For a row of a table, it is that of the last column that
/// begins in the left half of the terminal; for a list item, that of its text; otherwise two more than that of the
/// line.
fn hanging_indent(line: &str, columns: usize) -> usize {
    let text = line.trim_start_matches(' ');
    let own = line.len() - text.len();
    let starts = line.rmatch_indices("  ").map(|(at, gap)| at + gap.len());
    // A match may also end within a wider gap.
    let starts = starts.filter(|&at| at > own).filter_map(|at| line.split_at_checked(at));
    let starts = starts.filter(|(_, rest)| !rest.is_empty() && !rest.starts_with(' '));
    let column = starts.map(|(before, _)| before.width()).find(|&column| column <= columns / 2);
    column.unwrap_or_else(|| match list_marker(text) {
        0 => own + 2,
        marker => own + marker,
    })
}

/// The width of the marker with which an item of a list or a quotation begins, such as `- `, `12. ` or `> `; 0 if there
/// is none.
fn list_marker(text: &str) -> usize {
    let marker = text.split_inclusive(' ').next().unwrap_or_default();
    let number = marker.strip_suffix(". ").or_else(|| marker.strip_suffix(") "));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_marker = number.is_some_and(is_number) || ["- ", "* ", "+ ", "> "].contains(&marker);
    if is_marker { marker.len() } else { 0 }
}

/// The widths of the columns of a table of notes. Cells that are wider than [`MAX_ALIGNED`] do not count.
fn aligned_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let aligned = |row: &Vec<String>| -> Vec<String> {
        row.iter().map(|cell| if cell.width() > MAX_ALIGNED { String::new() } else { cell.clone() }).collect()
    };
    column_widths(&rows.iter().map(aligned).collect::<Vec<_>>())
}

/// Whether the other columns of a table leave less than [`MIN_TEXT_WIDTH`] of the terminal to the last one, and less than
/// it needs.
fn leaves_too_little(terminal: &Terminal, widths: &[usize], rows: &[Vec<String>]) -> bool {
    let (Some(columns), Some((_, others))) = (terminal.columns, widths.split_last()) else { return false };
    let beside: usize = others.iter().map(|width| width + COLUMN_GAP).sum();
    let last = rows.iter().filter_map(|row| row.get(others.len())).map(|cell| cell.width()).max();
    !others.is_empty() && columns < beside + last.unwrap_or(0).min(MIN_TEXT_WIDTH)
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
    pub(crate) fn push(&mut self, text: impl Into<String>) {
        self.push_as(Emphasis::None, text);
    }

    /// Adds an emphasised text.
    pub(in crate::ops) fn push_as(&mut self, emphasis: Emphasis, text: impl Into<String>) {
        self.parts.push((emphasis, text.into()));
    }

    /// This text with lines that fit the terminal: wider ones are wrapped between words, with a hanging indent.
    pub(crate) fn fitted(&self, terminal: &Terminal) -> StyledText {
        let columns = terminal.columns.unwrap_or(usize::MAX);
        self.wrapped(terminal, |line| hanging_indent(line, columns))
    }

    /// This text with the lines wrapped that are wider than the terminal. `indent` is the indent of the lines that
    /// continue one.
    fn wrapped(&self, terminal: &Terminal, indent: impl Fn(&str) -> usize) -> StyledText {
        let text = self.to_string();
        let Some(columns) =
            terminal.columns.filter(|columns| text.lines().any(|line| line.width() > *columns))
        else {
            return self.clone();
        };
        // The spaces that become a line break, as ranges of bytes, with the indent of the line that follows.
        let (mut breaks, mut start) = (Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            let begin = line.len() - line.trim_start_matches(' ').len();
            let content = line.trim_start_matches(' ').trim_end_matches('\n');
            if begin + content.width() > columns {
                let indent = indent(line.trim_end_matches('\n')).min(columns / 2);
                let room = |indent| columns.saturating_sub(indent).max(1);
                let lines = line_ranges(content, room(begin), room(indent));
                for (before, after) in lines.iter().zip(lines.iter().skip(1)) {
                    breaks.push((start + begin + before.end..start + begin + after.start, indent));
                }
            }
            start += line.len();
        }
        let emphases = self.parts.iter().flat_map(|(emphasis, part)| part.chars().map(move |_| *emphasis));
        let mut wrapped = StyledText::default();
        let mut breaks = breaks.into_iter().peekable();
        for ((at, c), emphasis) in text.char_indices().zip(emphases) {
            while breaks.next_if(|(spaces, _)| spaces.end <= at).is_some() {}
            match breaks.peek().filter(|(spaces, _)| spaces.contains(&at)) {
                Some((spaces, indent)) if spaces.start == at => {
                    wrapped.push(format!("\n{}", " ".repeat(*indent)));
                }
                Some(_) => {}
                None => wrapped.push_char(emphasis, c),
            }
        }
        wrapped
    }

    /// Adds a character to the last part if it has the same emphasis.
    fn push_char(&mut self, emphasis: Emphasis, c: char) {
        match self.parts.last_mut() {
            Some((last, text)) if *last == emphasis => text.push(c),
            _ => self.parts.push((emphasis, c.to_string())),
        }
    }

    /// Adds rows with aligned columns. Each column has its emphasis; the last one is cut to the width of the terminal. If
    /// the others leave too little to it, it is on a line of its own below each row. `after` returns the lines below a
    /// row, which must fit the terminal.
    pub(in crate::ops) fn push_table(
        &mut self,
        terminal: &Terminal,
        columns: &[Emphasis],
        rows: &[Vec<String>],
        after: impl Fn(usize) -> Option<(Emphasis, String)>,
    ) {
        let widths = aligned_widths(rows);
        let is_narrow = leaves_too_little(terminal, &widths, rows);
        for (number, row) in rows.iter().enumerate() {
            let (row, below) = match row.split_last() {
                Some((last, others)) if is_narrow && row.len() == widths.len() => (others, Some(last)),
                _ => (row.as_slice(), None),
            };
            let mut used = 0;
            for (place, cell) in row.iter().enumerate() {
                let emphasis = columns.get(place).copied().unwrap_or(Emphasis::None);
                let is_last = row.iter().skip(place + 1).all(String::is_empty);
                if is_last {
                    let cell = if is_narrow { cell.clone() } else { terminal.cut(cell, used) };
                    self.push_as(emphasis, cell);
                    break;
                }
                let width = widths.get(place).copied().unwrap_or(0);
                self.push_as(emphasis, cell.as_str());
                self.push(" ".repeat(width.saturating_sub(cell.width()) + COLUMN_GAP));
                used += width.max(cell.width()) + COLUMN_GAP;
            }
            self.push("\n");
            if let Some(last) = below.filter(|last| !last.is_empty()) {
                let emphasis = columns.get(row.len()).copied().unwrap_or(Emphasis::None);
                self.push(" ".repeat(TEXT_INDENT));
                self.push_as(emphasis, terminal.cut(last, TEXT_INDENT));
                self.push("\n");
            }
            if let Some((emphasis, lines)) = after(number) {
                self.push_as(emphasis, lines);
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
    fn a_very_long_cell_does_not_widen_its_column() {
        let row = |key: &str| vec![key.to_owned(), "semantic".to_owned()];
        let long = "x".repeat(MAX_ALIGNED + 1);
        let mut text = StyledText::default();
        let rows = [row("soup"), row(&long), row("lentils")];
        text.push_table(&Terminal::default(), &[], &rows, |_| None);
        assert_eq!(text.to_string(), format!("soup     semantic\n{long}  semantic\nlentils  semantic\n"));
    }

    #[test]
    fn titles_have_lines_of_their_own_in_a_narrow_terminal() {
        let row = |cells: [&str; 4]| cells.map(String::from).to_vec();
        let rows = [
            row(["2026-11-21", "harbour/pumps", "semantic", "The bilge pump was greased by Lin"]),
            row(["2026-11-20", "soup", "semantic", "Soup"]),
        ];
        let shown = |columns| {
            let mut text = StyledText::default();
            text.push_table(&narrow(columns), &[], &rows, |_| None);
            text.fitted(&narrow(columns)).to_string()
        };
        insta::assert_snapshot!(shown(40), @"
        2026-11-21  harbour/pumps  semantic
          The bilge pump was greased by Lin
        2026-11-20  soup           semantic
          Soup
        ");
        insta::assert_snapshot!(shown(60), @"
        2026-11-21  harbour/pumps  semantic  The bilge pump was gre…
        2026-11-20  soup           semantic  Soup
        ");
        let thirty = Terminal::new(Some(30), &[], &[]);
        assert_eq!(thirty.columns, Some(30));
        let mut cut = rows.to_vec();
        thirty.cut_titles(&mut cut, 3);
        assert_eq!(cut[0][3], "The bilge pump…");
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

    #[test]
    fn long_lines_continue_with_a_hanging_indent() {
        let fitted = |text: &str| StyledText::from(text.to_owned()).fitted(&narrow(44)).to_string();
        insta::assert_snapshot!(
            fitted(
                "ok       models    `default` (provider `heuristic`) is ready\n\
                 all is well with the memory, and nothing needs a decision\n  \
                 12. link `a` to `b`: both mention the pages of the index\n\
                 it is short\n\
                 see what waits with `poc-memory agent review 01a2`\n"
            ),
            @"
        ok       models    `default` (provider
                           `heuristic`) is ready
        all is well with the memory, and nothing
          needs a decision
          12. link `a` to `b`: both mention the
              pages of the index
        it is short
        see what waits with
          `poc-memory agent review 01a2`
        "
        );
        let gap = " ".repeat(29);
        assert_eq!(
            fitted(&format!("x{gap}the column begins in the right half")),
            format!("x{gap}the column\n  begins in the right half")
        );
        insta::assert_snapshot!(
            narrow(40).wrapped_note(
                "A split of a page writes two pages and updates the parent.\n\n\
                 - the journal holds all three until the checkpoint"
            ),
            @"
        A split of a page writes two pages and
        updates the parent.

        - the journal holds all three until the
          checkpoint
        "
        );
        let long = "x ".repeat(200);
        assert_eq!(StyledText::from(long.clone()).fitted(&Terminal::default()).to_string(), long);
    }

    poc_laws::laws! {
        #[test]
        fn a_fitted_text_has_the_same_words_with_the_same_emphasis(
            parts in proptest::collection::vec((0usize..3, "[a-c 語`\n]{0,60}"), 0..6),
            columns in 40usize..60,
        ) {
            let emphases = [Emphasis::None, Emphasis::Name, Emphasis::Faint];
            let mut text = StyledText::default();
            parts.iter().for_each(|(emphasis, part)| text.push_as(emphases[*emphasis], part.as_str()));
            let letters = |text: &StyledText| -> Vec<(Emphasis, char)> {
                let each = text.parts().flat_map(|(emphasis, part)| part.chars().map(move |c| (emphasis, c)));
                each.filter(|(_, c)| !c.is_whitespace()).collect()
            };
            let fitted = text.fitted(&narrow(columns));
            prop_assert_eq!(letters(&fitted), letters(&text));
            let words = |text: &StyledText| -> Vec<String> {
                text.to_string().split_whitespace().map(str::to_owned).collect()
            };
            prop_assert_eq!(words(&fitted), words(&text));
            for line in fitted.to_string().lines() {
                let widest = line.split(' ').map(|word| word.width()).max().unwrap_or(0);
                prop_assert!(line.trim_end().width() <= columns.max(widest + columns / 2), "{line}");
            }
        }

        #[test]
        fn no_line_is_wider_than_the_terminal(
            rows in proptest::collection::vec(("[a-z]{0,8}", "[a-z 語]{0,120}", "[a-z 語]{0,300}"), 0..6),
            columns in 60usize..100,
        ) {
            let terminal = narrow(columns);
            let cells: Vec<Vec<String>> = rows.iter().map(|(key, title, _)| vec![key.clone(), title.clone()]).collect();
            let mut text = StyledText::default();
            let after = |row: usize| Some((Emphasis::Faint, terminal.wrapped(&rows[row].2, 4)));
            text.push_table(&terminal, &[Emphasis::Name, Emphasis::None], &cells, after);
            for line in text.to_string().lines() {
                // A word without spaces may be wider than the terminal.
                let widest = line.split(' ').map(|word| word.width()).max().unwrap_or(0);
                prop_assert!(line.width() <= columns.max(widest + 4), "{line}");
            }
        }
    }
}
