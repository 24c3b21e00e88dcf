//! `doctor quarantine list`, `doctor quarantine show` and `doctor quarantine delete`

use crate::cli::command_context::CommandContext;
use crate::cli::confirmation::confirm;
use crate::cli::local::LocalCommand;
use crate::cli::repair::LostNoteRow;
use crate::ops::{Terminal, plural, size};
use poc_graph::error::{Code, Error, Result};
use poc_graph::one_line;
use poc_graph::time::Timestamp;
use poc_notes::quarantine::require_files;
use poc_store::{
    IntactContents, QuarantineFile, TransactionRange, delete_quarantine_part, quarantine_contents,
    quarantine_files, quarantine_lost_notes, quarantine_names, quarantine_parts,
};
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// List what opens and repairs of a damaged store have moved to `quarantine/`
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct QuarantineList {}

/// Show the notes that a part of the quarantine contains
///
/// Each note is as its last change in the part left it, or as it was before that change deleted it. Pieces of a log and
/// records are read as far as they are intact; the files are listed with the bytes that are damaged or incomplete.
/// `--key` shows the text of a note. If the part has what a repair replaced, the notes that the repair lost, and of which
/// it found a name or the id, are listed, too.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct QuarantineShow {
    /// The name of the part, as `list` shows it
    name: String,
    /// Show the text of the note with this key; repeat it for more
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
}

/// Maximum number of notes that are shown without their text.
const SHOWN_NOTES: usize = 100;

/// Delete a part of the quarantine for good
///
/// It may contain the only copy of notes: look at it with `show` first. A repair whose files are deleted cannot be
/// undone. On a terminal the command asks for the name of the part; elsewhere `--yes` is required.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct QuarantineDelete {
    /// The name of the part, as `list` shows it
    name: String,
    /// Delete without asking
    #[arg(long, short)]
    yes: bool,
}

/// What `doctor quarantine delete` answers.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct QuarantineDeleteOutput {
    name: String,
    /// The bytes that its files had.
    bytes: u64,
}

/// The contents of the quarantine.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct QuarantineListOutput {
    parts: Vec<QuarantinePartRow>,
}

/// A file or folder in the quarantine.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct QuarantinePartRow {
    name: String,
    bytes: u64,
    /// Number of readable changes in it.
    changes: u64,
    /// From the first to the last of these changes.
    range: Option<TransactionRange>,
}

/// A note as its last change in the quarantine left it.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct QuarantineNoteRow {
    key: String,
    title: String,
    body: String,
    #[serde(rename = "type")]
    node_type: String,
    keywords: Vec<String>,
    modified: Timestamp,
    /// Whether its last change deleted it.
    deleted: bool,
    /// The tenant, if it is not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

/// A file of a part.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct QuarantineFileRow {
    /// The path in the part.
    name: String,
    bytes: u64,
    /// Number of intact changes, if it is a piece of a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<u64>,
    /// Number of intact records, if it is a table of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    /// The ranges that are damaged or incomplete. Only pieces of a log and tables are checked.
    damaged: Vec<ByteRange>,
}

/// The bytes of a file from one to another, both included and counted from 0. In JSON, it is a list of the two numbers.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(into = "(u64, u64)")]
struct ByteRange {
    first: u64,
    last: u64,
}

impl From<ByteRange> for (u64, u64) {
    fn from(range: ByteRange) -> (u64, u64) {
        (range.first, range.last)
    }
}

/// One number, or `3 to 8`.
impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ByteRange { first, last } if first == last => write!(f, "{first}"),
            ByteRange { first, last } => write!(f, "{first} to {last}"),
        }
    }
}

/// Maximum number of damaged ranges that a line names.
const SHOWN_RANGES: usize = 8;

/// The notes of a part.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct QuarantineShowOutput {
    notes: Vec<QuarantineNoteRow>,
    /// The files of the part. Absent with `--key`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<QuarantineFileRow>,
    /// Notes that the repair lost, and of which a name or the id was left. Absent with `--key`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost_notes: Vec<LostNoteRow>,
    /// The name of the part.
    #[serde(skip)]
    name: String,
    /// Whether the text for a person contains the bodies.
    #[serde(skip)]
    with_bodies: bool,
}

impl LocalCommand for QuarantineList {
    const NAME: &'static str = "doctor quarantine list";
    const NAMES_COMMANDS: bool = true;
    type Output = QuarantineListOutput;

    fn run(self, context: &CommandContext) -> Result<QuarantineListOutput> {
        let parts = quarantine_parts(&context.paths.store())?.into_iter().map(|part| QuarantinePartRow {
            name: part.name,
            bytes: part.bytes,
            changes: part.changes,
            range: part.range,
        });
        Ok(QuarantineListOutput { parts: parts.collect() })
    }

    fn show(output: &QuarantineListOutput, _: &Terminal) -> String {
        match output.parts.is_empty() {
            true => "the quarantine is empty\n".to_owned(),
            false => output.parts.iter().map(part_line).collect(),
        }
    }
}

impl LocalCommand for QuarantineShow {
    const NAME: &'static str = "doctor quarantine show";
    const NAMES_COMMANDS: bool = true;
    type Output = QuarantineShowOutput;

    fn run(self, context: &CommandContext) -> Result<QuarantineShowOutput> {
        let store = context.paths.store();
        let contents = quarantine_contents(&store, &self.name).map_err(at_name)?;
        require_files(&store, &self.name).map_err(at_name)?;
        let mut notes = Vec::new();
        for (tenant, own) in contents {
            let name = match &own.tuple {
                Some(tuple) => tuple.to_string(),
                None => tenant.to_string(),
            };
            let tenant = (!tenant.is_default()).then_some(name);
            notes.extend(own.notes.into_iter().map(|note| QuarantineNoteRow {
                key: note.node.key,
                title: note.node.title,
                body: note.node.body,
                node_type: note.node.node_type.0,
                keywords: note.node.keywords,
                modified: note.node.modified,
                deleted: note.deleted,
                tenant: tenant.clone(),
            }));
        }
        for key in &self.keys {
            if notes.iter().all(|note: &QuarantineNoteRow| note.key != *key) {
                return Err(Error::not_found(format!("`{}` has no readable note `{key}`", self.name))
                    .hint(format!("`poc-memory doctor quarantine show {}` lists its notes", self.name))
                    .field("keys"));
            }
        }
        notes.retain(|note| self.keys.is_empty() || self.keys.contains(&note.key));
        let with_bodies = !self.keys.is_empty();
        let (files, lost) = match with_bodies {
            true => (Vec::new(), Vec::new()),
            false => (quarantine_files(&store, &self.name)?, quarantine_lost_notes(&store, &self.name)?),
        };
        let files = files.into_iter().map(QuarantineFileRow::of).collect();
        let lost_notes = lost.iter().map(LostNoteRow::of).collect();
        Ok(QuarantineShowOutput { notes, files, lost_notes, name: self.name, with_bodies })
    }

    fn show(output: &QuarantineShowOutput, _: &Terminal) -> String {
        let files: String = output.files.iter().map(QuarantineFileRow::line).collect();
        let files = if files.is_empty() { files } else { format!("files:\n{files}") };
        let lost = lost_notes_lines(&output.lost_notes);
        if output.notes.is_empty() {
            return format!("it contains no readable notes\n{files}{lost}");
        }
        let deleted = |note: &QuarantineNoteRow| if note.deleted { " (deleted)" } else { "" };
        if output.with_bodies {
            let text = |note: &QuarantineNoteRow| {
                format!("{}{}\n{}\n{}\n", note.key, deleted(note), note.title, note.body)
            };
            return output.notes.iter().map(text).collect::<Vec<_>>().join("\n");
        }
        let line =
            |note: &QuarantineNoteRow| format!("{}{}  {}\n", note.key, deleted(note), one_line(&note.title));
        let lines: String = output.notes.iter().take(SHOWN_NOTES).map(line).collect();
        let more = more_line(output.notes.len());
        let name = &output.name;
        format!(
            "{lines}{more}`--key KEY` shows the text of a note; `poc-memory doctor quarantine restore {name} --dry-run` \
             lists the notes that the memory lacks\n{files}{lost}"
        )
    }
}

impl LocalCommand for QuarantineDelete {
    const NAME: &'static str = "doctor quarantine delete";
    const NAMES_COMMANDS: bool = true;
    type Output = QuarantineDeleteOutput;

    fn run(self, context: &CommandContext) -> Result<QuarantineDeleteOutput> {
        let store = context.paths.store();
        if !quarantine_names(&store)?.contains(&self.name) {
            let message = format!("the quarantine does not contain `{}`", self.name);
            return Err(at_name(Error::not_found(message)));
        }
        if !self.yes {
            let warning = "This deletes files that may contain the only copy of notes.";
            confirm(&self.name, warning)?;
        }
        let bytes = delete_quarantine_part(&store, &self.name)?;
        Ok(QuarantineDeleteOutput { name: self.name, bytes })
    }

    fn show(output: &QuarantineDeleteOutput, _: &Terminal) -> String {
        format!("deleted `{}` with {}\n", output.name, size(output.bytes))
    }
}

impl QuarantineFileRow {
    fn of(file: QuarantineFile) -> QuarantineFileRow {
        let (changes, records) = match file.contents {
            Some(IntactContents::Changes(count)) => (Some(count), None),
            Some(IntactContents::Records(count)) => (None, Some(count)),
            None => (None, None),
        };
        // A range is never empty.
        let range = |range: &Range<u64>| ByteRange { first: range.start, last: range.end.saturating_sub(1) };
        let damaged = file.damaged.iter().map(range).collect();
        QuarantineFileRow { name: file.name, bytes: file.bytes, changes, records, damaged }
    }

    fn line(&self) -> String {
        let contents = match (self.changes, self.records) {
            (Some(changes), _) => plural(changes, "intact change"),
            (None, Some(records)) => plural(records, "intact record"),
            (None, None) => "not checked".to_owned(),
        };
        let ranges: Vec<String> = self.damaged.iter().take(SHOWN_RANGES).map(ByteRange::to_string).collect();
        let damaged = match (ranges.is_empty(), self.damaged.len().saturating_sub(SHOWN_RANGES)) {
            (true, _) => String::new(),
            (false, 0) => format!("; damaged bytes: {}", ranges.join(", ")),
            (false, more) => format!("; damaged bytes: {} and {more} more ranges", ranges.join(", ")),
        };
        format!("  {}  {}, {contents}{damaged}\n", self.name, size(self.bytes))
    }
}

/// Lists lost notes by a name or the id. Empty if there are none.
fn lost_notes_lines(notes: &[LostNoteRow]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let lines: String = notes.iter().take(SHOWN_NOTES).map(|note| format!("  {}\n", note.shown())).collect();
    let count = plural(notes.len() as u64, "note");
    format!(
        "the repair found only a name or the id of {count}, which it could not keep:\n{lines}{}",
        more_line(notes.len())
    )
}

/// The number of notes after the shown ones. Empty if all are shown.
fn more_line(count: usize) -> String {
    match count.saturating_sub(SHOWN_NOTES) {
        0 => String::new(),
        more => format!("… and {more} more: `--json` shows them all\n"),
    }
}

/// Adds the argument and a hint to the error for a part that does not exist.
fn at_name(error: Error) -> Error {
    match error.code {
        Code::NotFound => error.hint("`poc-memory doctor quarantine list` shows its parts").field("name"),
        _ => error,
    }
}

fn part_line(part: &QuarantinePartRow) -> String {
    let changes = match part.range {
        Some(range) if range.count() == 1 => format!("change {range}"),
        Some(range) => format!("{} ({range})", plural(part.changes, "change")),
        None => "no log changes".to_owned(),
    };
    format!("{}  {}, {changes}\n", part.name, size(part.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::{NodeId, Tenant};
    use poc_store::LostNote;

    #[test]
    fn lost_notes_are_listed_after_the_readable_ones() {
        let row = |number: u8, name: Option<&str>| {
            let id = NodeId::from_bytes([number; 16]);
            LostNoteRow::of(&LostNote { tenant: Tenant::default(), id, name: name.map(str::to_owned) })
        };
        let shown = |lost_notes: Vec<LostNoteRow>| {
            let name = "repair-1".to_owned();
            let (notes, files) = (Vec::new(), Vec::new());
            let output = QuarantineShowOutput { notes, files, lost_notes, name, with_bodies: false };
            QuarantineShow::show(&output, &Terminal::default())
        };
        assert_eq!(shown(Vec::new()), "it contains no readable notes\n");
        insta::assert_snapshot!(shown(vec![row(1, Some("quay")), row(2, None)]), @r"
        it contains no readable notes
        the repair found only a name or the id of 2 notes, which it could not keep:
          quay
          02020202020202020202020202020202
        ");
        let many = (0..103).map(|number| row(number, None)).collect();
        assert!(shown(many).ends_with("… and 3 more: `--json` shows them all\n"));
    }

    #[test]
    fn sizes_have_the_units_of_other_commands() {
        let part =
            QuarantinePartRow { name: "repair-1".to_owned(), bytes: 1_314_896, changes: 0, range: None };
        assert_eq!(part_line(&part), "repair-1  1.3 MiB, no log changes\n");
        let deleted = QuarantineDeleteOutput { name: "repair-1".to_owned(), bytes: 2048 };
        let text = QuarantineDelete::show(&deleted, &Terminal::default());
        assert_eq!(text, "deleted `repair-1` with 2.0 KiB\n");
    }

    #[test]
    fn damaged_bytes_of_files_are_named() {
        let line = |name: &str, contents, damaged: Vec<Range<u64>>| {
            let file = QuarantineFile { name: name.to_owned(), bytes: 900, contents, damaged };
            QuarantineFileRow::of(file).line()
        };
        let text = [
            "files:\n".to_owned(),
            line("log/1.log", Some(IntactContents::Changes(1)), vec![24..60, 80..81]),
            line("records/1.table", Some(IntactContents::Records(7)), Vec::new()),
            line(
                "x.log-24",
                Some(IntactContents::Changes(9)),
                (0..10).map(|at| at * 10..at * 10 + 5).collect(),
            ),
            line("view", None, Vec::new()),
        ];
        insta::assert_snapshot!(text.concat(), @r"
        files:
          log/1.log  900 bytes, 1 intact change; damaged bytes: 24 to 59, 80
          records/1.table  900 bytes, 7 intact records
          x.log-24  900 bytes, 9 intact changes; damaged bytes: 0 to 4, 10 to 14, 20 to 24, 30 to 34, 40 to 44, 50 to 54, 60 to 64, 70 to 74 and 2 more ranges
          view  900 bytes, not checked
        ");
    }
}
