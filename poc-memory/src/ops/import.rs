//! `import`

use super::argument::{self, Input};
use super::text::plural;
use super::{Access, Ctx, Op, Progress, Terminal};
use poc_graph::error::{Error, Exit, Result};
use poc_graph::escape_line;
use poc_notes::import::{
    self, ImportOptions, ImportSource, SkippedAmount, SourceLocation, UnresolvedImportLink,
};
use poc_notes::resolve::quoted;
use poc_notes::vault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum number of notes listed one by one in the text for a person.
const SHOWN_NOTES: usize = 10;

/// Maximum number of notes that a link may mean in the text for a person.
const SHOWN_CANDIDATES: usize = 5;

/// The formats, for the help.
fn formats() -> String {
    let format = |(name, about): (&str, &str)| format!("\n  {name}\n      {about}");
    import::formats().map(format).fold("Formats:".to_owned(), |text, format| text + &format)
}

/// Import notes from a file or a folder: Markdown with front matter and [[links]], JSON Lines, and the files of other
/// programs. The format is recognised by the content. Importing again changes nothing; a changed note becomes a new
/// version.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[command(after_long_help = formats())]
pub(crate) struct Import {
    /// Folder, file, or the text of a file
    #[arg(
        value_name = "PATH",
        value_parser = argument::input,
        help = "Folder or file; `-` reads standard input"
    )]
    from: Input,
    /// Type of the notes that set none [default: semantic]
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    node_type: Option<String>,
    /// Keywords added to every note
    #[arg(
        long = "keyword",
        short = 'k',
        alias = "tag",
        value_name = "WORD",
        help = "A keyword added to every note; repeat it for more"
    )]
    #[serde(default)]
    keywords: Vec<String>,
    /// Format of the files; recognised by their content if omitted
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    /// Store secrets in conversations; otherwise each is replaced by its kind
    #[arg(long)]
    #[serde(default)]
    allow_secrets: bool,
}

/// The result of an import.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ImportOutput {
    /// New notes.
    inserted: u64,
    /// Existing notes that got a new version.
    updated: u64,
    /// Notes that were already stored.
    duplicates: u64,
    /// Duplicates of notes with another key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    same_content: Vec<SameContentNote>,
    /// New edges from links in the notes.
    edges: u64,
    /// New edges to notes that share a keyword.
    keyword_edges: u64,
    /// New edges to similar notes.
    semantic_edges: u64,
    failed: Vec<FailedNote>,
    /// Properties that were left out because of their value or occur several times, texts that were not imported because
    /// only the note was changed, and files that changed the note of another file.
    #[serde(default)]
    warnings: Vec<FailedNote>,
    /// Links to notes that do not exist.
    unresolved: Vec<UnresolvedLink>,
    /// Unknown fields, with the number of notes that have them.
    ignored: BTreeMap<String, u64>,
    /// Notes that were skipped because they have expired.
    expired: Vec<SourcePlace>,
    /// Documents next to Markdown files or next to the data of a program. They are listed but not imported.
    left_out: Vec<String>,
    /// The formats that were read, with the number of files.
    #[serde(default)]
    formats: BTreeMap<String, u64>,
    /// Content that was left out on purpose, such as tool results, by kind.
    #[serde(default)]
    skipped: BTreeMap<String, SkippedKind>,
    /// Secrets that were replaced, by kind.
    #[serde(default)]
    secrets: BTreeMap<String, u64>,
}

/// How much of one kind was left out.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkippedKind {
    /// Number of items of this kind.
    count: u64,
    /// Total size of their text in bytes; 0 if they have none.
    bytes: u64,
}

/// The position of a note in the imported source.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SourcePlace {
    /// Line number in the file, from 1; absent if the format has no lines or the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FailedNote {
    /// Line number in the file, from 1; absent if the format has no lines or the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The part of the file, if it is not a line, for example `conversation 3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// What is wrong and how to fix it.
    error: String,
}

impl FailedNote {
    fn of((place, error): (SourceLocation, Error)) -> FailedNote {
        let part = match &place {
            SourceLocation::Item { kind, number, .. } if *kind != "line" => Some(format!("{kind} {number}")),
            _ => None,
        };
        let (line, file) = parts(place);
        FailedNote { line, file, part, error: error_with_hint(&error) }
    }

    fn place(&self) -> String {
        let place = place(self.line, self.file.as_deref());
        self.part.as_deref().map_or_else(|| place.clone(), |part| format!("{place} {part}"))
    }
}

/// A note that was not stored, because a note with another key has the same content.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SameContentNote {
    /// Line number in the file, from 1; absent if the format has no lines or the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Key of the stored note.
    key: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UnresolvedLink {
    /// Line number in the file, from 1; absent if the format has no lines or the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    link: String,
    /// Keys of notes that the link may mean, at most 100: several have the name, or one has it as its title.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<String>,
}

impl UnresolvedLink {
    fn of(UnresolvedImportLink { place, link, candidates }: UnresolvedImportLink) -> UnresolvedLink {
        let (line, file) = parts(place);
        UnresolvedLink { line, file, link, candidates }
    }

    /// The link with the notes that it may mean.
    fn text(&self) -> String {
        let UnresolvedLink { line, file, link, candidates } = self;
        let meant = match candidates.is_empty() {
            true => String::new(),
            false => {
                let shown: Vec<&str> = candidates.iter().take(SHOWN_CANDIDATES).map(String::as_str).collect();
                let more = match candidates.len() - shown.len() {
                    0 => String::new(),
                    more => format!(" and {more} more (`--json` lists them)"),
                };
                format!(" may be {}{more}", shown.join(", "))
            }
        };
        format!("{}: [[{}]]{meant}", place(*line, file.as_deref()), escape_line(link))
    }
}

impl Op for Import {
    const NAME: &'static str = "import";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const CREATES_PROFILE: bool = true;
    type Output = ImportOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ImportOutput> {
        let source = match self.from {
            Input::Path(path) => ImportSource::Path(path),
            Input::Text(text) => ImportSource::Text(text),
        };
        if let ImportSource::Path(path) = &source
            && let Some(vault) = vault::bound_folder(ctx.memory, path)?
        {
            return Err(Error::conflict(format!(
                "`{}` is in the vault `{}`, whose notes follow its files",
                path.display(),
                vault.name
            ))
            .hint(format!("`poc-memory vault sync {}` synchronises it now", quoted(&vault.name)))
            .field("from"));
        }
        if let ImportSource::Path(path) = &source
            && let Some(vault) = vault::bound_below(ctx.memory, path)?
        {
            return Err(Error::conflict(format!(
                "`{}` contains the vault `{}` (`{}`), whose notes follow its files",
                path.display(),
                vault.name,
                vault.folder.display()
            ))
            .hint("import the other folders and files in it one by one")
            .field("from"));
        }
        let options = ImportOptions {
            node_type: self.node_type,
            keywords: self.keywords,
            format: self.format,
            allow_secrets: self.allow_secrets,
            vaults: vault::bindings(ctx.memory)?.iter().map(vault::VaultBinding::provenance).collect(),
        };
        let report = import::import(ctx.memory, &source, &options, &|done, total| {
            (ctx.progress)(Progress { what: "notes".into(), done, total });
        })?;
        let same_content = report.same_content.into_iter().map(|(place, key)| {
            let (line, file) = parts(place);
            SameContentNote { line, file, key }
        });
        let expired = report.expired.into_iter().map(|place| {
            let (line, file) = parts(place);
            SourcePlace { line, file }
        });
        Ok(ImportOutput {
            inserted: report.inserted,
            updated: report.updated,
            duplicates: report.duplicates,
            same_content: same_content.collect(),
            edges: report.edges,
            keyword_edges: report.keyword_edges,
            semantic_edges: report.semantic_edges,
            failed: report.failed.into_iter().map(FailedNote::of).collect(),
            warnings: report.warnings.into_iter().map(FailedNote::of).collect(),
            unresolved: report.unresolved.into_iter().map(UnresolvedLink::of).collect(),
            ignored: report.ignored,
            expired: expired.collect(),
            left_out: report.left_out.into_iter().map(|(file, _)| file).collect(),
            formats: report.formats,
            skipped: report
                .skipped
                .iter()
                .map(|(kind, SkippedAmount { count, bytes })| (kind.to_owned(), SkippedKind { count, bytes }))
                .collect(),
            secrets: report.secrets.iter().map(|(kind, count)| (kind.to_owned(), count)).collect(),
        })
    }

    fn show(output: &ImportOutput, _: &Terminal) -> String {
        let ImportOutput { inserted, updated, duplicates, same_content, failed, unresolved, ignored, .. } =
            output;
        let edges = output.edges + output.keyword_edges + output.semantic_edges;
        let formats: Vec<String> = output
            .formats
            .iter()
            .map(|(name, files)| format!("{name}: {}", plural(*files, "file")))
            .collect();
        let formats = if formats.is_empty() { String::new() } else { format!(" ({})", formats.join(", ")) };
        let mut text = format!(
            "{inserted} inserted, {updated} updated, {}, {} failed, {}{formats}\n",
            plural(*duplicates, "duplicate"),
            failed.len(),
            plural(edges, "edge"),
        );
        // Writing to a string cannot fail.
        for note in failed.iter().take(SHOWN_NOTES) {
            let _ = writeln!(text, "failed     {}: {}", note.place(), escape_line(&note.error));
        }
        let warnings = grouped(&output.warnings);
        for (error, notes) in warnings.iter().take(SHOWN_NOTES) {
            if let Some((first, more)) = notes.split_first() {
                let more = and_more(more.len(), "more note");
                let _ = writeln!(text, "warning    {}{more}: {}", first.place(), escape_line(error));
            }
        }
        for SameContentNote { line, file, key } in same_content.iter().take(SHOWN_NOTES) {
            let _ =
                writeln!(text, "duplicate  {}: has the content of `{key}`", place(*line, file.as_deref()));
        }
        for link in unresolved.iter().take(SHOWN_NOTES) {
            let _ = writeln!(text, "unresolved {}", link.text());
        }
        let left_out = [failed.len(), warnings.len(), same_content.len(), unresolved.len()]
            .map(|listed| listed.saturating_sub(SHOWN_NOTES))
            .iter()
            .sum::<usize>();
        if left_out > 0 {
            let _ = writeln!(text, "… and {left_out} more: `--json` shows them all");
        }
        for (field, count) in ignored {
            let field = escape_line(field);
            let _ = writeln!(text, "ignored    the field `{field}` of {}", plural(*count, "note"));
        }
        if let Some((SourcePlace { line, file }, more)) = output.expired.split_first() {
            let first = place(*line, file.as_deref());
            let _ = writeln!(text, "left out   {first}{}: expired", and_more(more.len(), "more note"));
        }
        if let Some((first, more)) = output.left_out.split_first() {
            let (first, more) = (escape_line(first), and_more(more.len(), "more file"));
            let _ = writeln!(
                text,
                "left out   {first}{more}: not imported with other notes; import each by itself"
            );
        }
        for (kind, SkippedKind { count, bytes }) in &output.skipped {
            let size = if *bytes > 0 { format!(" ({})", size(*bytes)) } else { String::new() };
            let _ = writeln!(text, "left out   {}: {count}{size}", escape_line(kind));
        }
        for (kind, count) in &output.secrets {
            let _ = writeln!(text, "secret     {kind}: {count} replaced, `--allow-secrets` stores them");
        }
        text
    }

    fn exit(output: &ImportOutput) -> Exit {
        if output.failed.is_empty() { Exit::Ok } else { Exit::Failed }
    }
}

/// The warnings by their text, in the order in which each text comes first: a vault repeats the same odd property in many
/// notes.
fn grouped(warnings: &[FailedNote]) -> Vec<(&str, Vec<&FailedNote>)> {
    let mut groups: Vec<(&str, Vec<&FailedNote>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in warnings {
        let place = *places.entry(&warning.error).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, notes)) => notes.push(warning),
            None => groups.push((warning.error.as_str(), vec![warning])),
        }
    }
    groups
}

fn and_more(count: usize, of: &str) -> String {
    if count == 0 { String::new() } else { format!(" and {}", plural(count as u64, of)) }
}

/// A size with its unit, for a person.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => plural(bytes, "byte"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn parts(place: SourceLocation) -> (Option<u64>, Option<String>) {
    match place {
        SourceLocation::Item { file, kind, number } => ((kind == "line").then_some(number), Some(file)),
        SourceLocation::Line(line) => (Some(line), None),
        SourceLocation::File(file) => (None, Some(file)),
    }
}

fn place(line: Option<u64>, file: Option<&str>) -> String {
    let file = file.map(escape_line);
    match (line, file) {
        (Some(line), None) => format!("line {line}"),
        (Some(line), Some(file)) => format!("{file} line {line}"),
        (None, file) => file.map_or_else(|| "-".to_owned(), Cow::into_owned),
    }
}

fn error_with_hint(error: &Error) -> String {
    match &error.hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_in_the_order_of_the_file() {
        let warning = |line, error: &str| FailedNote {
            line: Some(line),
            file: None,
            part: None,
            error: error.to_owned(),
        };
        let warnings = [warning(2, "z"), warning(6, "m"), warning(7, "z"), warning(9, "a")];
        let shown: Vec<(&str, Vec<Option<u64>>)> = grouped(&warnings)
            .into_iter()
            .map(|(error, notes)| (error, notes.iter().map(|note| note.line).collect()))
            .collect();
        assert_eq!(shown, [("z", vec![Some(2), Some(7)]), ("m", vec![Some(6)]), ("a", vec![Some(9)])]);
    }

    #[test]
    fn an_unresolved_link_is_shown_with_the_notes_that_it_may_mean() {
        let shown = |candidates: &[&str]| {
            let candidates = candidates.iter().map(|key| (*key).to_owned()).collect();
            let place = SourceLocation::File("home.md".into());
            UnresolvedLink::of(UnresolvedImportLink { place, link: "plan".into(), candidates }).text()
        };
        assert_eq!(shown(&[]), "home.md: [[plan]]");
        assert_eq!(shown(&["a/plan", "b/plan"]), "home.md: [[plan]] may be a/plan, b/plan");
        let many = shown(&["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(many, "home.md: [[plan]] may be a, b, c, d, e and 2 more (`--json` lists them)");
    }
}
