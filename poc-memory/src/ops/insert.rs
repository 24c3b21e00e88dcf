//! `insert`

mod batch;
mod body;

use super::secret_check::{self, SecretCheck};
use super::text::plural;
use super::{Access, Ctx, Op, Principal, Progress, Route, Terminal, ToolEffect, argument};
use batch::{BatchNotes, InsertedNote};
use body::BodyArgument;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Category, Node, NodeId, is_project_label, normal_key};
use poc_notes::{ClearableField, Draft, check_origin, vault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Store a note, or many in one call. It is embedded and linked to notes that share a keyword and to similar
/// notes. A duplicate is recognised and not stored twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[command(visible_alias = "add")]
#[schemars(transform = batch::describe)]
#[schemars(rename = "Insert")]
pub(crate) struct InsertRequest {
    // The first field, because the others are taken out of the matches when they are read.
    /// Text, in Markdown
    #[command(flatten)]
    #[serde(default, skip_serializing_if = "BodyArgument::is_absent")]
    body: BodyArgument,
    /// Title, one line; if omitted, the first heading or sentence of the body
    #[arg(
        long,
        short,
        value_name = "TEXT",
        value_parser = argument::text,
        help = "Title, one line; if omitted, the first heading or sentence of the body. `-` reads standard input"
    )]
    title: Option<String>,
    /// Keywords
    #[arg(
        long = "keyword",
        short = 'k',
        alias = "tag",
        value_name = "WORD",
        help = "A keyword; repeat it for more"
    )]
    #[serde(default)]
    keywords: Vec<String>,
    /// Unique name of the note; if omitted, derived from the title
    #[arg(long)]
    key: Option<String>,
    /// Type: episodic, daily, weekly, monthly, semantic, or one from the settings [default: semantic]
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    node_type: Option<String>,
    /// Category, which sets how fast it decays [default: general]
    #[arg(long, value_parser = argument::category())]
    category: Option<Category>,
    /// Who wrote or said it
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Where it comes from: a URL, a file, a ticket
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Emotional intensity, 0 to 10 [default: 0]
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f32>)]
    emotion: Option<f32>,
    /// When it expires, after which no search finds it: a date or an RFC 3339 time
    #[arg(long, visible_alias = "expires-at", value_name = "TIME", value_parser = argument::time)]
    #[serde(alias = "expires_at")]
    expires: Option<Timestamp>,
    /// Initial weight [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = argument::number::<f64>)]
    weight: Option<f64>,
    /// Key or id of a note that this one replaces
    #[arg(long, value_name = "NOTE", conflicts_with = "update")]
    supersedes: Option<String>,
    /// Make this a new version of the note with this key. Omitted fields keep their values, except that a
    /// title derived from the body follows the new body. If no note has the key, a new note is stored
    #[arg(long, requires = "key")]
    #[serde(default)]
    update: bool,
    /// Fields that an update removes: keywords, author, source or expires
    #[arg(
        long,
        value_name = "FIELD",
        requires = "update",
        value_parser = argument::clearable_field(),
        help = "A field that the update removes; repeat it for more"
    )]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clear: Vec<ClearableField>,
    /// Update the note only if it still has this version, which `get` shows; 0 if there must be no such note
    /// yet. Otherwise it is a conflict that names the current version
    #[arg(long, value_name = "N", requires = "update")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
    // The surface that adds it does not know whether an update creates the note, and the keywords of an update would
    // replace those of the note.
    /// The label of the project that the note gets if `update` creates it and its keywords name none
    #[arg(skip)]
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project_if_new: Option<String>,
    // The header `If-Match: *` of HTTP.
    /// Whether `update` must find a note
    #[arg(skip)]
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    must_exist: bool,
    /// Many notes instead of one, each with the fields of a single note. They are stored in order, a few
    /// hundred per transaction. An invalid note is reported with its position; the others are stored
    #[arg(long, value_name = "FILE", value_parser = batch::lines, long_help = batch::HELP)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<BatchNotes>,
}

/// The result for the note, or for each of many notes.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct InsertOutput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Whether an identical note was already stored; that note was left unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// Whether it is a new version of an existing note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated: Option<bool>,
    /// Version of the note, from 1, which `if_version` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The number of the change, which `undo` takes: that of its last part for a batch. Absent if nothing was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Number of new edges to notes that share a keyword; absent for a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyword_edges: Option<usize>,
    /// Number of new edges to similar notes; absent for a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    semantic_edges: Option<usize>,
    /// Secrets that were found in the text, by kind; what a model writes has placeholders in their place. Or the file of
    /// a vault whose next change replaces the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// For a batch: one entry per note, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<InsertedNote>>,
}

impl Op for InsertRequest {
    const NAME: &'static str = "insert";
    const ACCESS: Access = Access::Write;
    const CREATES_PROFILE: bool = true;
    const LABELS_NOTES: bool = true;
    const ROUTE: Option<Route> = Route::create("/v1/insert");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    const VERSIONED: bool = true;
    type Output = InsertOutput;

    fn run(mut self, ctx: &Ctx<'_>) -> Result<InsertOutput> {
        let cause = ctx.cause(Self::NAME);
        if let Some(notes) = self.notes.take() {
            let mut notes = notes.of(&self, ctx)?;
            let warnings: Vec<Option<String>> =
                notes.iter_mut().map(|note| note.check_secrets(ctx)).collect();
            let total = notes.len() as u64;
            let draft = |note: &InsertRequest| note.clone().draft(ctx);
            let stored = poc_notes::batch::insert_all(ctx.memory, &notes, draft, &cause, &|done| {
                (ctx.progress)(Progress { what: "notes".into(), done, total: Some(total) });
            })?;
            let seq = stored.iter().flatten().filter_map(|note| note.seq).max();
            let notes = stored.into_iter().zip(warnings).enumerate();
            let notes = notes.map(|(place, (stored, warning))| InsertedNote::of(place, stored, warning));
            return Ok(InsertOutput { seq, notes: Some(notes.collect()), ..InsertOutput::default() });
        }
        let warning = self.check_secrets(ctx);
        let draft = || self.clone().draft(ctx);
        let done = poc_notes::insert::commit(ctx.memory, draft, cause)?;
        let of_file = if done.updated { self.file_warning(ctx, done.id)? } else { None };
        let warnings: Vec<String> = warning.into_iter().chain(of_file).collect();
        let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        Ok(InsertOutput {
            seq: done.seq,
            id: Some(done.id),
            key: Some(done.key),
            duplicate: Some(done.duplicate),
            updated: Some(done.updated),
            version: Some(done.version),
            keyword_edges: Some(done.keyword_edges),
            semantic_edges: Some(done.semantic_edges),
            warning,
            notes: None,
        })
    }

    fn show(output: &InsertOutput, _: &Terminal) -> String {
        if let Some(notes) = &output.notes {
            return batch::summary(notes);
        }
        let key = output.key.as_deref().unwrap_or_default();
        let warning = secret_check::line(output.warning.as_ref());
        if output.duplicate == Some(true) {
            return format!("already stored as `{key}`\n{warning}");
        }
        let done = if output.updated == Some(true) { "updated" } else { "inserted" };
        let edges = [(output.keyword_edges, "keyword edge"), (output.semantic_edges, "semantic edge")];
        let [keyword, semantic] = edges.map(|(count, one)| plural(count.unwrap_or(0) as u64, one));
        format!("{done} `{key}` ({keyword}, {semantic})\n{warning}")
    }

    fn exit(output: &InsertOutput) -> Exit {
        let failed = output.notes.iter().flatten().any(|note| note.error.is_some());
        if failed { Exit::Failed } else { Exit::Ok }
    }

    fn is_new(output: &InsertOutput) -> bool {
        match &output.notes {
            Some(notes) => notes.iter().any(InsertedNote::is_new),
            None => output.duplicate == Some(false) && output.updated == Some(false),
        }
    }
}

impl InsertRequest {
    /// Checks the texts of the note for secrets, and returns the warning about them.
    fn check_secrets(&mut self, ctx: &Ctx<'_>) -> Option<String> {
        let mut check = SecretCheck::of(ctx);
        let texts =
            [&mut self.title, &mut self.body.0, &mut self.author, &mut self.source, &mut self.project_if_new];
        texts.into_iter().flatten().chain(&mut self.keywords).for_each(|text| check.text(text));
        // The key of an update names a note.
        if !self.update {
            self.key.iter_mut().for_each(|key| check.text(key));
        }
        check.warning()
    }

    /// The warning that a file of a vault will replace the text of an updated note.
    fn file_warning(&self, ctx: &Ctx<'_>, id: NodeId) -> Result<Option<String>> {
        if self.title.is_none() && self.body.0.is_none() {
            return Ok(None);
        }
        Ok(vault::file_of_note(ctx.memory, id)?.map(|(vault, path)| {
            format!(
                "the note follows the file `{path}` of the vault `{}`; the next change of that file replaces this text",
                vault.name
            )
        }))
    }

    /// Checks that an update of a stored note changes it, and that an update that would store a new note is not meant
    /// for a note whose key differs only in capitals.
    fn check_update(&self, ctx: &Ctx<'_>, stored: Option<&Node>) -> Result<()> {
        if self.title.as_deref().is_some_and(|title| title.trim().is_empty()) {
            return Err(Error::invalid("the title is empty")
                .hint("give a title, or leave `title` out to keep the current one")
                .field("title"));
        }
        if stored.is_some() {
            return match self.has_changes() {
                true => Ok(()),
                false => Err(Error::invalid("there is nothing to change")
                    .hint("give the fields to change, such as `body` or `title`")
                    .field("update")),
            };
        }
        // These requests say themselves whether there must be a note.
        let (Some(key), None, false) = (&self.key, self.if_version, self.must_exist) else { return Ok(()) };
        let (view, visibility) = (ctx.memory.store.view(), ctx.visibility(false));
        let mut similar = view.find_keys_any_case(&normal_key(key)).into_iter();
        match similar.find(|&ix| visibility.admits(view.trust(ix))).map(|ix| view.key(ix)) {
            None => Ok(()),
            Some(other) => Err(Error::invalid(format!(
                "there is no note `{key}`, but a key of `{other}` differs only in capitals"
            ))
            .hint(format!("give `{other}` to update that note, or leave `update` out to store another one"))
            .field("key")),
        }
    }

    /// Whether a field of a note is given, apart from the key.
    fn has_changes(&self) -> bool {
        let texts = [&self.title, &self.body.0, &self.node_type, &self.author, &self.source];
        texts.into_iter().any(Option::is_some)
            || !self.keywords.is_empty()
            || !self.clear.is_empty()
            || self.category.is_some()
            || self.emotion.is_some()
            || self.expires.is_some()
            || self.weight.is_some()
    }

    /// Checks that no field is both given and removed.
    fn check_clear(&self) -> Result<()> {
        let is_given = |field: &ClearableField| match field {
            ClearableField::Keywords => !self.keywords.is_empty(),
            ClearableField::Author => self.author.is_some(),
            ClearableField::Source => self.source.is_some(),
            ClearableField::Expires => self.expires.is_some(),
        };
        let Some(field) = self.clear.iter().copied().find(is_given) else { return Ok(()) };
        let name = field.name();
        Err(Error::invalid(format!("`{name}` is both given and removed"))
            .hint(format!("leave `{name}` out, or take it out of `clear`"))
            .field("clear"))
    }

    fn draft(self, ctx: &Ctx<'_>) -> Result<Draft> {
        check_origin(self.author.as_deref(), self.source.as_deref())?;
        let old = self.supersedes.as_deref().map(|name| ctx.memory.find(name)).transpose();
        let old = old.map_err(|error| error.field("supersedes"))?;
        // An update by a model must not lift quarantined content to the trust of the model.
        let updated = match &self.key {
            Some(key) if self.update => ctx.memory.store.find_key(&normal_key(key))?,
            _ => None,
        };
        let updated = updated.map(|id| ctx.memory.store.node(id)).transpose()?.flatten();
        for (node, field) in [(&old, "supersedes"), (&updated, "key")] {
            node.as_ref().map_or(Ok(()), |node| ctx.require_visible(node, field))?;
        }
        if self.update {
            self.check_clear()?;
            self.check_update(ctx, updated.as_ref())?;
        }
        let clears_keywords = self.clear.contains(&ClearableField::Keywords);
        let mut keywords = Some(self.keywords).filter(|words| clears_keywords || !words.is_empty());
        // A model that replaces or removes the keywords does not know that the label decides which sessions get the
        // note.
        if let (Some(words), Some(node), Principal::Model) = (&mut keywords, &updated, ctx.actor)
            && !words.iter().any(|word| is_project_label(word))
        {
            let free = ctx.memory.config.insert.max_keywords.saturating_sub(words.len());
            words.extend(node.keywords.iter().filter(|word| is_project_label(word)).take(free).cloned());
        }
        if let (Some(label), true, None) = (self.project_if_new, self.update, &updated) {
            let words = keywords.get_or_insert_default();
            if words.len() < ctx.memory.config.insert.max_keywords
                && !words.iter().any(|word| is_project_label(word))
            {
                words.push(label);
            }
        }
        Ok(Draft {
            title: self.title,
            body: self.body.0,
            keywords,
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
            if_version: self.if_version,
            must_exist: self.must_exist,
            clear: self.clear,
            // The surface adds the label of the folder, so the same request may come with and without it.
            ignores_labels: true,
            ..Draft::new(ctx.actor.name(), ctx.actor.trust())
        })
    }
}
