//! `import`

use super::argument::{self, Input};
use super::text::counted;
use super::{Access, Ctx, Op, Progress};
use poc_graph::error::{Error, Exit, Result};
use poc_notes::import::{self, Options, Place, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lines about single notes that a person is shown.
const SHOWN: usize = 10;

/// Take notes in: a folder of Markdown with front matter and [[links]], one Markdown file, or JSON
/// Lines. Repeating it changes nothing; a note that has changed becomes a new version.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Import {
    /// Folder or file, or the text of one
    #[arg(
        value_name = "PATH",
        value_parser = argument::input,
        help = "Folder or file; `-` reads standard input"
    )]
    from: Input,
    /// Type of notes that name none [default: semantic]
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    node_type: Option<String>,
    /// Keywords for every note
    #[arg(
        long = "keyword",
        short = 'k',
        value_name = "WORD",
        help = "A keyword for every note; repeat it for more"
    )]
    #[serde(default)]
    keywords: Vec<String>,
}

/// What became of the notes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Imported {
    inserted: u64,
    /// New versions of notes that were there.
    updated: u64,
    /// Notes that were there already.
    duplicates: u64,
    /// New edges that the notes themselves name.
    edges: u64,
    /// Edges made to notes that share a keyword.
    keyword_edges: u64,
    /// Edges made to notes alike in meaning.
    semantic_edges: u64,
    failed: Vec<Failed>,
    /// Links to notes that are not there.
    unresolved: Vec<Unresolved>,
    /// Fields no meaning is known for, and how many notes have them.
    ignored: BTreeMap<String, u64>,
    /// Notes past their date, which were not taken.
    expired: Vec<Where>,
    /// Files of JSON Lines that stand in the folder beside its Markdown, and were not read.
    left_out: Vec<String>,
}

/// Where a note stands in the source.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Where {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Failed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What is wrong, and what would be right.
    error: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Unresolved {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    link: String,
}

impl Op for Import {
    const NAME: &'static str = "import";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const BEGINS: bool = true;
    type Output = Imported;

    fn run(self, ctx: &Ctx<'_>) -> Result<Imported> {
        let source = match self.from {
            Input::Path(path) => Source::Path(path),
            Input::Text(text) => Source::Text(text),
        };
        let options = Options { node_type: self.node_type, keywords: self.keywords };
        let report = import::import(ctx.memory, &source, &options, &|done, total| {
            (ctx.progress)(Progress { what: "notes".into(), done, total });
        })?;
        let failed = report.failed.into_iter().map(|(place, error)| {
            let (line, file) = parts(place);
            Failed { line, file, error: said(&error) }
        });
        let unresolved = report.unresolved.into_iter().map(|(place, link)| {
            let (line, file) = parts(place);
            Unresolved { line, file, link }
        });
        let expired = report.expired.into_iter().map(|place| {
            let (line, file) = parts(place);
            Where { line, file }
        });
        Ok(Imported {
            inserted: report.inserted,
            updated: report.updated,
            duplicates: report.duplicates,
            edges: report.edges,
            keyword_edges: report.keyword_edges,
            semantic_edges: report.semantic_edges,
            failed: failed.collect(),
            unresolved: unresolved.collect(),
            ignored: report.ignored,
            expired: expired.collect(),
            left_out: report.left_out,
        })
    }

    fn show(output: &Imported) -> String {
        let Imported { inserted, updated, duplicates, failed, unresolved, ignored, .. } = output;
        let edges = output.edges + output.keyword_edges + output.semantic_edges;
        let mut text = format!(
            "{inserted} inserted, {updated} updated, {}, {} failed, {}\n",
            counted(*duplicates, "duplicate"),
            failed.len(),
            counted(edges, "edge"),
        );
        // Writing to a string cannot fail.
        for Failed { line, file, error } in failed.iter().take(SHOWN) {
            let _ = writeln!(text, "failed     {}: {error}", place(*line, file.as_deref()));
        }
        for Unresolved { line, file, link } in unresolved.iter().take(SHOWN) {
            let _ = writeln!(text, "unresolved {}: [[{link}]]", place(*line, file.as_deref()));
        }
        let left_out = failed.len().saturating_sub(SHOWN) + unresolved.len().saturating_sub(SHOWN);
        if left_out > 0 {
            let _ = writeln!(text, "… and {left_out} more: `--json` shows them all");
        }
        for (field, count) in ignored {
            let _ = writeln!(text, "ignored    the field `{field}` of {}", counted(*count, "note"));
        }
        if let Some((Where { line, file }, more)) = output.expired.split_first() {
            let first = place(*line, file.as_deref());
            let _ = writeln!(text, "left out   {first}{}: past its date", and_more(more.len(), "more note"));
        }
        if let Some((first, more)) = output.left_out.split_first() {
            let more = and_more(more.len(), "more file");
            let _ = writeln!(text, "left out   {first}{more}: JSON Lines, import it by itself");
        }
        text
    }

    fn exit(output: &Imported) -> Exit {
        if output.failed.is_empty() { Exit::Ok } else { Exit::Failed }
    }
}

fn and_more(count: usize, of: &str) -> String {
    if count == 0 { String::new() } else { format!(" and {}", counted(count as u64, of)) }
}

fn parts(place: Place) -> (Option<u64>, Option<String>) {
    match place {
        Place::Line(line) => (Some(line), None),
        Place::File(file) => (None, Some(file)),
    }
}

fn place(line: Option<u64>, file: Option<&str>) -> String {
    match (line, file) {
        (Some(line), _) => format!("line {line}"),
        (None, file) => file.unwrap_or("-").to_owned(),
    }
}

fn said(error: &Error) -> String {
    match &error.hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}
