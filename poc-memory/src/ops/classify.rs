//! `classify`

use super::argument::Words;
use super::text::counted;
use super::{Access, Ctx, Op, Route};
use poc_graph::error::Result;
use poc_notes::classify;
use poc_notes::freshness::{self, AsOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which keywords fit a text: the most frequent ones on the keyword edges of the notes whose titles
/// are nearest. No model is asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Classify {
    /// The text
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: Words,
    /// Also notes that are quarantined, which nobody has vouched for: a model sees them only with this,
    /// a person always
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// Keywords, most frequent first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Classified {
    keywords: Vec<Counted>,
    as_of: AsOf,
    /// Transactions the slowest index is behind.
    lag: u64,
    /// What makes this answer poorer than it should be.
    degraded: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Counted {
    keyword: String,
    /// Edges it is on.
    count: usize,
}

impl Op for Classify {
    const NAME: &'static str = "classify";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/classify");
    const TOOL: Option<&'static str> = Some("graft_classify");
    type Output = Classified;

    fn run(self, ctx: &Ctx<'_>) -> Result<Classified> {
        let memory = ctx.memory;
        let text = self.text.filled("text")?;
        let view = memory.store.view();
        let counts = classify::classify(memory, &view, text, ctx.sight(self.quarantined))?;
        let freshness = freshness::of(memory, &view);
        Ok(Classified {
            keywords: counts.into_iter().map(|(keyword, count)| Counted { keyword, count }).collect(),
            as_of: freshness.as_of,
            lag: freshness.lag,
            degraded: freshness.degraded,
        })
    }

    fn show(output: &Classified) -> String {
        if output.keywords.is_empty() {
            return "no keyword fits\n".to_owned();
        }
        let line = |found: &Counted| format!("{}  {}\n", found.keyword, counted(found.count as u64, "edge"));
        output.keywords.iter().map(line).collect()
    }
}
