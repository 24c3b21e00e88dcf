//! `export`

use super::text::counted;
use super::{Access, Ctx, Op, Progress, argument};
use crate::error::{Error, Result};
use crate::memory::export;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Write every note out, with its edges and visits: as JSON Lines, or as a folder of Markdown.
/// `import` reads either back as it was.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Export {
    /// A file for the JSON Lines; standard output when left out
    #[arg(long, short, value_name = "FILE", value_parser = argument::path)]
    output: Option<PathBuf>,
    /// A new folder for one Markdown file a note
    #[arg(long, value_name = "FOLDER", value_parser = argument::path, conflicts_with = "output")]
    markdown: Option<PathBuf>,
}

/// What was written.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Exported {
    nodes: u64,
    edges: u64,
    /// The file or folder that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// The JSON Lines, when no file was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<String>,
}

impl Op for Export {
    const NAME: &'static str = "export";
    const ACCESS: Access = Access::Person;
    type Output = Exported;

    fn run(self, ctx: &Ctx<'_>) -> Result<Exported> {
        let progress = |done, total| {
            (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
        };
        let (written, lines) = match (&self.output, &self.markdown) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("an export is one file or one folder")
                    .hint("leave out `output` or `markdown`")
                    .field("markdown"));
            }
            (Some(file), None) => (export::json_lines_file(ctx.memory, file, &progress)?, None),
            (None, Some(folder)) => (export::folder(ctx.memory, folder, &progress)?, None),
            (None, None) => {
                let mut bytes = Vec::new();
                let written = export::json_lines(ctx.memory, &mut bytes, &progress)?;
                let lines =
                    String::from_utf8(bytes).map_err(|_| Error::internal("the export is not UTF-8"))?;
                (written, Some(lines))
            }
        };
        let path = self.output.or(self.markdown);
        Ok(Exported { nodes: written.nodes, edges: written.edges, path, lines })
    }

    fn show(output: &Exported) -> String {
        match (&output.lines, &output.path) {
            (Some(lines), _) => lines.clone(),
            (None, Some(path)) => {
                let (notes, edges) = (counted(output.nodes, "note"), counted(output.edges, "edge"));
                format!("{notes} and {edges} in {}\n", path.display())
            }
            (None, None) => String::new(),
        }
    }
}
