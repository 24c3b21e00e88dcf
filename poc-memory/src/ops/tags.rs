//! `tags`

use super::hit::is_zero;
use super::text::{left_out, plural, table};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_graph::error::Result;
use poc_graph::{Ix, View, Visibility, cancellation};
use poc_notes::answer_status::{self, AsOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The key of the default of `limit`.
const LIMIT: &str = "tags.limit";

/// List the keywords with the number of notes that have each, the most frequent first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tags {
    /// How many keywords, at most 10,000 [default: 100]
    #[arg(long, short = 'n', value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    limit: Option<usize>,
}

/// The keywords, the most frequent first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TagsOutput {
    tags: Vec<KeywordCount>,
    /// How many more keywords there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// A keyword.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct KeywordCount {
    keyword: String,
    /// Number of live notes that have the keyword; for a model, without quarantined ones.
    notes: u32,
}

impl Op for Tags {
    const NAME: &'static str = "tags";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/tags");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::ReadOnly);
    type Output = TagsOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<TagsOutput> {
        let limit = argument::count("limit", self.limit, (LIMIT, ctx.memory.config.tags.limit))?;
        let view = ctx.memory.store.view();
        let hidden = hidden_uses(&view, ctx.visibility(false));
        let visible = |(keyword, notes): (&str, u32)| {
            let number = if hidden.is_empty() { None } else { view.keyword_number(keyword) };
            let not_shown = number.and_then(|number| hidden.get(&number)).copied().unwrap_or(0);
            let notes = notes.saturating_sub(not_shown);
            (notes > 0).then(|| KeywordCount { keyword: keyword.to_owned(), notes })
        };
        let mut tags: Vec<KeywordCount> =
            view.used_keywords().take_while(|_| !cancellation::is_requested()).filter_map(visible).collect();
        cancellation::check()?;
        tags.sort_by(|a, b| Reverse(a.notes).cmp(&Reverse(b.notes)).then_with(|| a.keyword.cmp(&b.keyword)));
        let left_out = tags.len().saturating_sub(limit);
        tags.truncate(limit);
        let status = answer_status::of(ctx.memory, &view);
        Ok(TagsOutput { tags, left_out, as_of: status.as_of, lag: status.lag, degraded: status.degraded })
    }

    fn lists_nothing(output: &TagsOutput) -> bool {
        output.tags.is_empty()
    }

    fn show(output: &TagsOutput, _: &Terminal) -> String {
        let row = |tag: &KeywordCount| vec![tag.keyword.clone(), plural(u64::from(tag.notes), "note")];
        let mut text = table(&output.tags.iter().map(row).collect::<Vec<_>>());
        if output.tags.is_empty() {
            text.push_str("no keywords\n");
        }
        text.push_str(&left_out(output.tags.len(), output.left_out, "more keyword", LIMIT));
        text
    }
}

/// The number of quarantined notes that the caller does not see, for each keyword of theirs, by its number in the view. A
/// keyword is a text, too, which must not reach a model.
fn hidden_uses(view: &View, visibility: Visibility) -> BTreeMap<u32, u32> {
    let mut uses = BTreeMap::new();
    if visibility.quarantined {
        return uses;
    }
    let is_quarantined = |ix: &Ix| !visibility.admits(view.trust(*ix));
    let hidden = view.hidden_nodes(visibility).into_iter().filter(is_quarantined);
    for number in hidden.flat_map(|ix| view.keywords(ix)) {
        *uses.entry(*number).or_insert(0) += 1;
    }
    uses
}
