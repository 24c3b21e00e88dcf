//! `insert`

use super::text::counted;
use super::{Access, Ctx, Op, Route, argument};
use crate::error::Result;
use crate::graph::{Category, NodeId};
use crate::memory::{Draft, insert};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Store a note. Its content is embedded, and it is tied to notes that share a keyword and to notes
/// alike in meaning. A note that is there already is recognised and not stored twice.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Insert {
    /// One line; the first line of the body when left out
    #[arg(
        long,
        short,
        value_name = "TEXT",
        value_parser = argument::text,
        help = "One line; the first line of the body when left out. `-` reads standard input"
    )]
    title: Option<String>,
    /// Markdown
    #[arg(
        long,
        short,
        value_name = "TEXT",
        value_parser = argument::text,
        help = "Markdown. `-` reads standard input"
    )]
    body: Option<String>,
    /// Keywords
    #[arg(long = "keyword", short = 'k', value_name = "WORD", help = "A keyword; repeat it for more")]
    #[serde(default)]
    keywords: Vec<String>,
    /// The name of the note; made from the title when left out
    #[arg(long)]
    key: Option<String>,
    /// Type: episodic, daily, weekly, monthly, semantic or one of the settings [default: semantic]
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    node_type: Option<String>,
    /// How fast it fades [default: general]
    #[arg(long, value_parser = argument::category())]
    category: Option<Category>,
    /// Who said it
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Where it came from: a URL, a file, a ticket
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// How much it moved somebody, 0 to 10 [default: 0]
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f32>)]
    emotion: Option<f32>,
    /// When it leaves retrieval by itself: a date or a time in RFC 3339
    #[arg(long, value_name = "TIME", value_parser = argument::time)]
    expires: Option<Timestamp>,
    /// Weight to start with [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f64>)]
    weight: Option<f64>,
    /// Key or id of a note this one replaces
    #[arg(long, value_name = "NODE", conflicts_with = "update")]
    supersedes: Option<String>,
    /// Make this a new version of the note that has the key; what is left out stays as it is
    #[arg(long, requires = "key")]
    #[serde(default)]
    update: bool,
}

/// What became of the note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Inserted {
    id: NodeId,
    key: String,
    /// Whether it was there already, and was left as it is.
    duplicate: bool,
    /// Whether it is a new version of a note that was there.
    updated: bool,
    keyword_edges: usize,
    semantic_edges: usize,
}

impl Op for Insert {
    const NAME: &'static str = "insert";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::create("/v1/insert");
    const TOOL: Option<&'static str> = Some("graft_insert");
    type Output = Inserted;

    fn run(self, ctx: &Ctx<'_>) -> Result<Inserted> {
        let old = self.supersedes.map(|name| ctx.memory.find(&name)).transpose()?;
        let draft = Draft {
            title: self.title,
            body: self.body,
            keywords: Some(self.keywords).filter(|words| !words.is_empty()),
            key: self.key,
            node_type: self.node_type,
            category: self.category,
            author: self.author,
            source: self.source,
            emotion: self.emotion,
            expires: self.expires,
            weight: self.weight,
            supersedes: old.map(|old| old.id),
            update: self.update,
            ..Draft::new(ctx.actor.name(), ctx.actor.trust())
        };
        let done = insert::insert(ctx.memory, draft, ctx.cause(Self::NAME))?;
        Ok(Inserted {
            id: done.id,
            key: done.key,
            duplicate: done.duplicate,
            updated: done.updated,
            keyword_edges: done.keyword_edges,
            semantic_edges: done.semantic_edges,
        })
    }

    fn show(output: &Inserted) -> String {
        let Inserted { key, duplicate, updated, keyword_edges, semantic_edges, .. } = output;
        if *duplicate {
            return format!("known already as `{key}`\n");
        }
        let done = if *updated { "updated" } else { "inserted" };
        let edges = [(*keyword_edges, "keyword edge"), (*semantic_edges, "semantic edge")];
        let [keyword, semantic] = edges.map(|(count, one)| counted(count as u64, one));
        format!("{done} `{key}` ({keyword}, {semantic})\n")
    }
}
