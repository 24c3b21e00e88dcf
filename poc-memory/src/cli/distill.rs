//! `embed distill`

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::progress::Bar;
use crate::ops::{Progress, Terminal};
use poc_embed::{DistillOptions, DistillStage};
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Make word vectors for the embedder `static` from a BERT model
///
/// The model reads each token of its vocabulary alone, and the resulting vectors are stored in a table of a
/// few megabytes. `embedder.model` in the settings names the table.
///
/// With a corpus, the model also reads its texts, and the vectors of the tokens are changed so that their sums
/// come close to the vectors of the texts. The table then finds more paraphrases. A good corpus has some ten
/// thousand texts of one or two sentences on all subjects of your notes. Each text takes about ten
/// milliseconds and eight kilobytes of memory.
#[derive(Debug, clap::Args)]
pub(super) struct EmbedDistill {
    /// Folder of the model: `config.json`, `model.safetensors`, `tokenizer.json` or `vocab.txt`
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
    /// Dimensions of the vectors
    #[arg(long, value_name = "N")]
    dims: usize,
    /// Output file; if omitted, `NAME.table` with the name of the folder
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Frequency rank at which a token's weight is one half
    #[arg(long, value_name = "RANK", default_value_t = poc_embed::DEFAULT_COMMON_RANK)]
    common: f64,
    /// Texts to fit the vectors to: a file with one text per line, or `.jsonl` with {"text": "…"} per line
    #[arg(long, value_name = "FILE")]
    corpus: Option<PathBuf>,
    /// Licence of the model, stored in the table
    #[arg(long, value_name = "NAME", default_value = "")]
    licence: String,
}

/// The answer of `embed distill`.
#[derive(Debug, Serialize)]
pub(super) struct EmbedDistillOutput {
    /// The file that was written.
    file: PathBuf,
    bytes: usize,
    tokens: usize,
    dimensions: usize,
    /// Texts that the vectors were fitted to.
    texts: usize,
    /// Share of the energy (sum of squares) of the model's vectors that the table keeps, 0 to 1.
    kept: f64,
}

impl LocalCommand for EmbedDistill {
    const NAME: &'static str = "embed distill";
    type Output = EmbedDistillOutput;

    fn run(self, context: &CommandContext) -> Result<EmbedDistillOutput> {
        let name = self.from.canonicalize().ok();
        let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "model".to_owned());
        let file = self.to.unwrap_or_else(|| PathBuf::from(format!("{name}.table")));
        let mut made_by = format!("poc-memory embed distill --from {name} --dims {}", self.dims);
        if self.common != poc_embed::DEFAULT_COMMON_RANK {
            made_by.push_str(&format!(" --common {}", self.common));
        }
        let corpus = self.corpus.as_deref().map(poc_embed::read_corpus).transpose()?.unwrap_or_default();
        if let Some(path) = &self.corpus {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            made_by.push_str(&format!(" --corpus {file}"));
        }
        let options = DistillOptions {
            dimensions: self.dims,
            common: self.common,
            corpus,
            model: name,
            licence: self.licence,
            made_by,
        };
        let bar = Bar::new(&context.globals);
        let made = poc_embed::distill(&self.from, &options, &mut |stage, done, total| {
            let what = match stage {
                DistillStage::Tokens => "tokens",
                DistillStage::Texts => "texts",
            };
            bar.show(&Progress { what: what.into(), done: done as u64, total: Some(total as u64) });
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
            texts: options.corpus.len(),
            kept: made.kept,
        })
    }

    fn show(output: &EmbedDistillOutput, _: &Terminal) -> String {
        let EmbedDistillOutput { file, tokens, dimensions, texts, kept, .. } = output;
        let (fitted, of) = match texts {
            0 => (String::new(), "model's vectors"),
            1 => (", fitted to 1 text".to_owned(), "vectors of the texts"),
            texts => (format!(", fitted to {texts} texts"), "vectors of the texts"),
        };
        format!(
            "wrote {}: {tokens} tokens, {dimensions} dimensions each{fitted}, which keep {:.1} % of the energy of the \
             {of}\n",
            file.display(),
            kept * 100.0
        )
    }
}
