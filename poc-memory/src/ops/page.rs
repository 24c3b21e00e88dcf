//! `page`

use super::{Access, Ctx, Op, Terminal};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Make a link that signs a browser in to the page. It works once and for one minute. The browser sees the notes of one
/// tenant.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// Sign in for reading only
    #[arg(long)]
    #[serde(default)]
    pub(crate) read_only: bool,
}

/// A link that signs a browser in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageLink {
    /// The address to open: `http://127.0.0.1:9977/sign-in/CODE`.
    pub url: String,
    /// When it stops working.
    pub expires: Timestamp,
}

impl Op for Page {
    const NAME: &'static str = "page";
    const ACCESS: Access = Access::Person;
    const NEEDS_DAEMON: bool = true;
    type Output = PageLink;

    fn run(self, ctx: &Ctx<'_>) -> Result<PageLink> {
        ctx.host.daemon()?.page_link(self.read_only, ctx.memory.store.tuple())
    }

    fn show(link: &PageLink, _: &Terminal) -> String {
        format!("{}\n", link.url)
    }
}
