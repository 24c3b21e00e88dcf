//! `embed fetch`

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::progress::Bar;
use crate::ops::{Progress, Terminal, plural, size};
use poc_embed::{FetchedModel, HubCache, HubClient, HubName};
use poc_graph::error::Result;

/// Download a BERT model from the hub, for `[embedder]` or `[rerank]`
///
/// The model is stored in the cache of Hugging Face's own tools (`HF_HOME`) and found there by name. No other
/// command downloads anything. `[hub]` in the settings chooses the hub and the hosts it may redirect to;
/// `HF_ENDPOINT` and `HF_TOKEN` are respected.
#[derive(Debug, clap::Args)]
pub(super) struct EmbedFetch {
    /// ORG/NAME, or ORG/NAME@REVISION
    #[arg(value_name = "NAME")]
    name: HubName,
}

impl LocalCommand for EmbedFetch {
    const NAME: &'static str = "embed fetch";
    type Output = FetchedModel;

    fn run(self, context: &CommandContext) -> Result<FetchedModel> {
        let variable = |name: &str| std::env::var(name).ok();
        let (hub, cache) =
            (HubClient::new(&context.config()?.hub, &variable)?, HubCache::from_env(&variable)?);
        let bar = Bar::new(&context.globals);
        let fetched = hub.fetch(&self.name, &cache, &mut |file, done, total| {
            bar.show(&Progress { what: format!("bytes of {file}"), done, total });
        });
        bar.clear();
        fetched
    }

    fn show(output: &FetchedModel, _: &Terminal) -> String {
        let FetchedModel { model, revision, folder, bytes, files } = output;
        format!(
            "{model} at {revision}: {}, {} downloaded\n{}\n",
            plural(files.len() as u64, "file"),
            size(*bytes),
            folder.display()
        )
    }
}
