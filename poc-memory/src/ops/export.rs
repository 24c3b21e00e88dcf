//! `export`

use super::hit::is_zero;
use super::text::plural;
use super::{Access, Ctx, Op, Progress, Terminal, argument};
use poc_graph::error::{Error, Exit, Result};
use poc_notes::export::{self, ExportReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an export leaves out, as a clause for the messages.
const LEFT_OUT: &str =
    "left out: history, deleted notes, runs, agent files and settings; `poc-memory backup` includes them";

/// Export all notes of one tenant with their edges and visits, as JSON Lines or as a folder of Markdown.
/// `import` restores either. `vault` writes Markdown for editors. Without a tenant the default tenant is exported. An
/// export leaves out history, deleted notes, runs of agents, agent files and settings; `backup` has them.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Export {
    /// Output file for JSON Lines; standard output if omitted or a hyphen
    #[arg(long, short, value_name = "FILE", value_parser = argument::path_or_stdout)]
    output: Option<PathBuf>,
    /// Replace the output file even if it is not an earlier export
    #[arg(long)]
    #[serde(default)]
    force: bool,
    /// New folder for Markdown, one file per note
    #[arg(long, value_name = "FOLDER", value_parser = argument::path, conflicts_with = "output")]
    markdown: Option<PathBuf>,
    /// New folder for Markdown as editors such as Obsidian write it: imported files as they were, with what has changed
    #[arg(long, value_name = "FOLDER", value_parser = argument::path, conflicts_with_all = ["output", "markdown"])]
    vault: Option<PathBuf>,
}

/// The result of an export.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExportOutput {
    /// Number of exported notes.
    nodes: u64,
    /// Number of exported edges.
    edges: u64,
    /// Notes that were left out because their texts are lost in a damaged store. The exit code is 1 then.
    #[serde(default, skip_serializing_if = "is_zero")]
    lost: u64,
    /// How many other tenants have notes, which are not part of this export. Only set for a request without a
    /// tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other_tenants: Option<u64>,
    /// Reasons why the export is incomplete, such as damage of the store, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
    /// The file or folder that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// The JSON Lines, if no file was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<String>,
}

impl Op for Export {
    const NAME: &'static str = "export";
    const ACCESS: Access = Access::Person;
    type Output = ExportOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ExportOutput> {
        let progress = |done, total| {
            (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
        };
        let output = self.output.filter(|path| path.as_os_str() != argument::STANDARD_STREAM);
        if self.force && output.is_none() {
            return Err(Error::invalid("only an output file can be replaced")
                .hint("name the file in `output`")
                .field("force"));
        }
        let (written, lines) = match (&output, &self.markdown, &self.vault) {
            (Some(file), None, None) => {
                (export::json_lines_file(ctx.memory, file, self.force, &progress)?, None)
            }
            (None, Some(folder), None) => (export::folder(ctx.memory, folder, &progress)?, None),
            (None, None, Some(folder)) => (export::vault(ctx.memory, folder, &progress)?, None),
            (None, None, None) => {
                let mut bytes = Vec::new();
                let written = export::json_lines(ctx.memory, &mut bytes, &progress)?;
                let lines =
                    String::from_utf8(bytes).map_err(|_| Error::internal("the export is not UTF-8"))?;
                (written, Some(lines))
            }
            _ => {
                return Err(Error::invalid("an export is written to only one file or folder")
                    .hint("give one of `output`, `markdown` and `vault`")
                    .field(if self.vault.is_some() { "vault" } else { "markdown" }));
            }
        };
        let path = output.or(self.markdown).or(self.vault);
        let other_tenants = ctx.memory.store.tenant().is_default().then(|| others(ctx)).transpose()?;
        let (other_tenants, unnamed) = other_tenants.unzip();
        let mut degraded: Vec<String> = unnamed.flatten().into_iter().collect();
        if written.lost > 0 {
            degraded.push(format!("{} left out because of damage", plural(written.lost, "note")));
        }
        let ExportReport { nodes, edges, lost } = written;
        Ok(ExportOutput { nodes, edges, lost, other_tenants, degraded, path, lines })
    }

    fn verbatim(output: &ExportOutput) -> bool {
        output.lines.is_some()
    }

    fn notice(output: &ExportOutput) -> Option<String> {
        let mut notices = output.degraded.clone();
        if let Some(others) = output.other_tenants.filter(|count| *count > 0) {
            let (them, whose) = if others == 1 { ("has", "its") } else { ("have", "their") };
            notices.push(format!(
                "{} {them} notes that this export leaves out: export each with {whose} `--tenant`",
                plural(others, "other tenant")
            ));
        }
        notices.push(LEFT_OUT.to_owned());
        Some(notices.join("; "))
    }

    fn exit(output: &ExportOutput) -> Exit {
        if output.lost > 0 { Exit::Failed } else { Exit::Ok }
    }

    fn show(output: &ExportOutput, _: &Terminal) -> String {
        match (&output.lines, &output.path) {
            (Some(lines), _) => lines.clone(),
            (None, Some(path)) => {
                let (notes, edges) = (plural(output.nodes, "note"), plural(output.edges, "edge"));
                format!("{notes} and {edges} in {}\n", path.display())
            }
            (None, None) => String::new(),
        }
    }
}

/// How many tenants other than the default one have notes, and a line about those whose names are lost, if there are
/// any.
fn others(ctx: &Ctx<'_>) -> Result<(u64, Option<String>)> {
    let tenants = ctx.memory.store.tenants()?;
    let named = tenants.iter().filter(|named| !named.tuple.is_default() && named.counts.nodes > 0).count();
    let mut counts: Vec<u64> =
        ctx.memory.store.unnamed_tenants()?.iter().map(|own| own.counts().nodes).collect();
    counts.retain(|notes| *notes > 0);
    let line = (!counts.is_empty()).then(|| {
        let (notes, tenants) = (counts.iter().sum::<u64>(), counts.len() as u64);
        format!(
            "{} of {} whose name is unknown: any write with its `--tenant KEY=VALUE` records the name again",
            plural(notes, "note"),
            plural(tenants, "tenant")
        )
    });
    Ok(((named + counts.len()) as u64, line))
}
