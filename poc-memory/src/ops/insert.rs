//! `insert`

mod batch;

use super::text::counted;
use super::{Access, Ctx, Op, Progress, Route, argument};
use batch::{Notes, Outcome};
use poc_graph::error::{Exit, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Category, NodeId, normal_key};
use poc_notes::Draft;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Store a note, or many in one call. Its content is embedded, and it is tied to notes that share a
/// keyword and to notes alike in meaning. A note that is there already is recognised and not stored
/// twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(transform = batch::describe)]
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
    #[arg(long, visible_alias = "expires-at", value_name = "TIME", value_parser = argument::time)]
    #[serde(alias = "expires_at")]
    expires: Option<Timestamp>,
    /// Weight to start with [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f64>)]
    weight: Option<f64>,
    /// Key or id of a note this one replaces
    #[arg(long, value_name = "NODE", conflicts_with = "update")]
    supersedes: Option<String>,
    /// Make this a new version of the note that has the key; what is left out stays as it is, but for a
    /// title that was taken from the body: it goes with the body. Where no note has the key, this is a new
    /// one
    #[arg(long, requires = "key")]
    #[serde(default)]
    update: bool,
    /// Many notes instead of one, each with the fields of one. They are stored in their order, some
    /// hundred in one transaction; one that is wrong is reported with its place and does not hinder the
    /// others
    #[arg(long, value_name = "FILE", value_parser = batch::lines, long_help = batch::HELP)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<Notes>,
}

/// What became of the note; of many notes, what became of each.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Inserted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Whether it was there already, and was left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// Whether it is a new version of a note that was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyword_edges: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    semantic_edges: Option<usize>,
    /// Of many notes, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<Outcome>>,
}

impl Op for Insert {
    const NAME: &'static str = "insert";
    const ACCESS: Access = Access::Write;
    const BEGINS: bool = true;
    const ROUTE: Option<Route> = Route::create("/v1/insert");
    const TOOL: Option<&'static str> = Some("graft_insert");
    type Output = Inserted;

    fn run(mut self, ctx: &Ctx<'_>) -> Result<Inserted> {
        let cause = ctx.cause(Self::NAME);
        if let Some(notes) = self.notes.take() {
            let notes = notes.of(&self, ctx)?;
            let total = notes.len() as u64;
            let draft = |note: &Insert| note.clone().draft(ctx);
            let stored = poc_notes::batch::insert_all(ctx.memory, &notes, draft, &cause, &|done| {
                (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
            })?;
            let notes = stored.into_iter().enumerate().map(|(place, stored)| Outcome::of(place, stored));
            return Ok(Inserted { notes: Some(notes.collect()), ..Inserted::default() });
        }
        let done = poc_notes::insert::insert(ctx.memory, self.draft(ctx)?, cause)?;
        Ok(Inserted {
            id: Some(done.id),
            key: Some(done.key),
            duplicate: Some(done.duplicate),
            updated: Some(done.updated),
            keyword_edges: Some(done.keyword_edges),
            semantic_edges: Some(done.semantic_edges),
            notes: None,
        })
    }

    fn show(output: &Inserted) -> String {
        if let Some(notes) = &output.notes {
            return batch::told(notes);
        }
        let key = output.key.as_deref().unwrap_or_default();
        if output.duplicate == Some(true) {
            return format!("known already as `{key}`\n");
        }
        let done = if output.updated == Some(true) { "updated" } else { "inserted" };
        let edges = [(output.keyword_edges, "keyword edge"), (output.semantic_edges, "semantic edge")];
        let [keyword, semantic] = edges.map(|(count, one)| counted(count.unwrap_or(0) as u64, one));
        format!("{done} `{key}` ({keyword}, {semantic})\n")
    }

    fn exit(output: &Inserted) -> Exit {
        let failed = output.notes.iter().flatten().any(|note| note.error.is_some());
        if failed { Exit::Failed } else { Exit::Ok }
    }

    fn is_new(output: &Inserted) -> bool {
        match &output.notes {
            Some(notes) => notes.iter().any(Outcome::is_new),
            None => output.duplicate == Some(false) && output.updated == Some(false),
        }
    }
}

impl Insert {
    fn draft(self, ctx: &Ctx<'_>) -> Result<Draft> {
        let old = self.supersedes.map(|name| ctx.memory.find(&name)).transpose();
        let old = old.map_err(|error| error.field("supersedes"))?;
        // Its new text would vouch for what nobody has.
        let updated = match &self.key {
            Some(key) if self.update => ctx.memory.store.find_key(&normal_key(key))?,
            _ => None,
        };
        let updated = updated.map(|id| ctx.memory.store.node(id)).transpose()?.flatten();
        for (node, field) in [(&old, "supersedes"), (&updated, "key")] {
            node.as_ref().map_or(Ok(()), |node| ctx.allow(node, field))?;
        }
        Ok(Draft {
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
        })
    }
}
