//! `embed distill`

use super::local::LocalCommand;
use super::progress::Bar;
use super::session::Session;
use crate::ops::Progress;
use poc_embed::DistillOptions;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Make word vectors for the embedder `static` from a model of the BERT family
///
/// Each word of the model's vocabulary is read by the model alone, and what it makes of it is kept in a table
/// of a few megabytes. `embedder.model` names the table in the settings.
#[derive(Debug, clap::Args)]
pub(super) struct EmbedDistill {
    /// Folder of the model: `config.json`, `model.safetensors`, `tokenizer.json` or `vocab.txt`
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Numbers a vector shall have
    #[arg(long, value_name = "N")]
    dims: usize,
    /// The file to write; `NAME.table` when left out, where NAME is that of the folder
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Rank by frequency at which a word counts half
    #[arg(long, value_name = "RANK", default_value_t = poc_embed::DEFAULT_COMMON_RANK)]
    common: f64,
    /// Licence of the model, for the table to tell
    #[arg(long, value_name = "NAME", default_value = "")]
    licence: String,
}

/// What `embed distill` answers.
#[derive(Debug, Serialize)]
pub(super) struct EmbedDistillOutput {
    /// The file it wrote.
    file: PathBuf,
    bytes: usize,
    tokens: usize,
    dimensions: usize,
    /// Share of what the model says of the words that the vectors hold, 0–1.
    kept: f64,
}

impl LocalCommand for EmbedDistill {
    const NAME: &'static str = "embed distill";
    type Output = EmbedDistillOutput;

    fn run(self, session: &Session) -> Result<EmbedDistillOutput> {
        let name = self.from.canonicalize().ok();
        let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "model".to_owned());
        let file = self.to.unwrap_or_else(|| PathBuf::from(format!("{name}.table")));
        let mut made_by = format!("poc-memory embed distill --from {name} --dims {}", self.dims);
        if self.common != poc_embed::DEFAULT_COMMON_RANK {
            made_by.push_str(&format!(" --common {}", self.common));
        }
        let options =
            DistillOptions { dimensions: self.dims, common: self.common, model: name, licence: self.licence, made_by };
        let bar = Bar::new(&session.globals);
        let made = poc_embed::distill(&self.from, &options, &mut |done, total| {
            bar.show(&Progress { what: "tokens".into(), done: done as u64, total: Some(total as u64) });
        });
        bar.clear();
        let made = made?;
        std::fs::write(&file, &made.bytes).map_err(|error| {
            Error::unavailable(format!("`{}` cannot be written: {error}", file.display()))
        })?;
        Ok(EmbedDistillOutput {
            file,
            bytes: made.bytes.len(),
            tokens: made.tokens,
            dimensions: options.dimensions,
            kept: made.kept,
        })
    }

    fn show(output: &EmbedDistillOutput) -> String {
        let EmbedDistillOutput { file, tokens, dimensions, kept, .. } = output;
        format!(
            "wrote {}: {tokens} tokens, {dimensions} numbers each, which hold {:.1} % of what the model says of them\n",
            file.display(),
            kept * 100.0
        )
    }
}
