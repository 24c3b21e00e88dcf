//! `embed fetch`

use super::local::LocalCommand;
use super::progress::Bar;
use super::session::Session;
use crate::ops::Progress;
use poc_embed::{HubCache, FetchedModel, HubClient, HubName};
use poc_graph::error::Result;

/// Download a model of the BERT family from the hub, for `[embedder]` or `[rerank]`
///
/// It goes where Hugging Face's own tools keep models (`HF_HOME`), and is found there by its name. Nothing
/// else here ever downloads anything. Which hub is asked, and where it may send on to, says `[hub]` in the
/// settings; `HF_ENDPOINT` and `HF_TOKEN` are known.
#[derive(Debug, clap::Args)]
pub(super) struct EmbedFetch {
    /// ORG/NAME, or ORG/NAME@REVISION
    #[arg(value_name = "NAME")]
    name: HubName,
}

impl LocalCommand for EmbedFetch {
    const NAME: &'static str = "embed fetch";
    type Output = FetchedModel;

    fn run(self, session: &Session) -> Result<FetchedModel> {
        let variable = |name: &str| std::env::var(name).ok();
        let (hub, cache) = (HubClient::new(&session.config()?.hub, &variable)?, HubCache::from_env(&variable)?);
        let bar = Bar::new(&session.globals);
        let fetched = hub.fetch(&self.name, &cache, &mut |file, done, total| {
            bar.show(&Progress { what: format!("bytes of {file}"), done, total });
        });
        bar.clear();
        fetched
    }

    fn show(output: &FetchedModel) -> String {
        let FetchedModel { model, revision, folder, bytes, files } = output;
        format!(
            "{model} at {revision}: {} files, {bytes} bytes downloaded\n{}\n",
            files.len(),
            folder.display()
        )
    }
}
