//! `forget`

use super::erasure::{self, ErasureOutput};
use super::text::plural;
use super::undo_window::{undo_line, undo_window};
use super::{Access, Ctx, IrreversibleFlag, Op, Principal, Progress, Route, Terminal, ToolEffect, argument};
use poc_config::HistoryRetention;
use poc_graph::MessageId;
use poc_graph::error::{Code, Error, Exit, Result};
use poc_graph::time::{PastTime, Timestamp};
use poc_notes::erasure::{ErasedTexts, Erasure, ErasureTarget};
use poc_notes::forget::{self, ForgetReport};
use poc_store::{Cause, Records as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delete a message, or all messages written before a given time, with their chunks, vectors and edges. `undo` brings
/// them back as long as the history goes back to the deletion (`[history] keep`); with `erase`, a person removes them
/// for good. Other notes stay, including those that were derived from the messages. A message that the remote also has
/// comes back with the next sync unless it is forgotten there too. A model deletes only what models wrote.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forget {
    /// The message to delete
    #[arg(long, value_name = "ID", value_parser = argument::message, conflicts_with = "before")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_id: Option<MessageId>,
    /// Delete the messages written before this time: `2026-11-21`, `2026-11-21T08:00:00Z`, or `30d` (30 days
    /// ago). It must be at least a day ago, unless the setting `[forget] min-age` says otherwise
    #[arg(long, value_name = "TIME", value_parser = argument::past_time)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<PastTime>,
    /// Also erase the text for good: from the log, the records, the indexes, the prompts of runs and the
    /// quarantine. This deletes the history of the whole memory, so no earlier change can be undone
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    erase: bool,
    /// With `before`: also delete messages that are younger than `[forget] min-age`. Only a person may
    #[arg(long, requires = "before")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    recent: bool,
}

/// How much was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ForgetOutput {
    /// Number of deleted messages.
    messages: usize,
    /// Number of deleted chunks of the messages.
    nodes: usize,
    /// Number of deleted notes that agents had derived from the chunks alone.
    derived: usize,
    /// Number of deleted edges of the chunks.
    edges: usize,
    /// Number of deleted vectors of the chunks.
    vectors: usize,
    /// The numbers of the changes, which `undo` takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<u64>,
    /// The minimum time for which the changes can be undone: `all` if there is no limit, otherwise a duration. Absent
    /// after an erasure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo_within: Option<HistoryRetention>,
    /// With `erase`: what else was done. Absent if no message matched; nothing was changed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    erasure: Option<ErasureOutput>,
}

impl ForgetOutput {
    /// Whether an erasure was requested and no message matched, so that nothing was changed.
    fn is_nothing_to_erase(&self) -> bool {
        self.undo_within.is_none() && self.erasure.is_none()
    }
}

/// What was deleted, and the erasure that has begun, if one was requested and there is something to erase.
type ForgetOutcome<'a> = (ForgetReport, Option<Erasure<'a>>);

impl Forget {
    /// Deletes one message.
    fn forget_one<'a>(
        &self,
        ctx: &Ctx<'a>,
        id: MessageId,
        author: Option<&str>,
        cause: Cause,
    ) -> Result<ForgetOutcome<'a>> {
        let target = ErasureTarget::Message(id);
        let is_repeated = self.erase && Erasure::is_repeated(ctx.memory, &target)?;
        if self.erase {
            check_erasable(ctx, &[id])?;
        }
        let erasure = self.begin_erasure(ctx, target, cause.at)?;
        match forget::message(ctx.memory, id, author, cause) {
            Err(unknown) if is_repeated && unknown.code == Code::NotFound => {
                Ok((ForgetReport::default(), erasure))
            }
            forgotten => or_abandon(forgotten, erasure),
        }
    }

    /// Deletes the messages written before a time.
    fn forget_before<'a>(
        &self,
        ctx: &Ctx<'a>,
        before: Timestamp,
        author: Option<&str>,
        cause: &Cause,
    ) -> Result<ForgetOutcome<'a>> {
        self.check_age(ctx, before)?;
        let report_progress =
            |done, total| (ctx.progress)(Progress { what: "messages".into(), done, total: Some(total) });
        let target = ErasureTarget::MessagesBefore { time: before, recent: self.recent };
        if self.erase {
            let ids = ctx.memory.store.messages_before(before)?;
            // Without a message, the history would be deleted for nothing, unless an erasure was interrupted.
            let is_repeated =
                Erasure::is_repeated(ctx.memory, &target)? || Erasure::has_unfinished(ctx.memory)?;
            if ids.is_empty() && !is_repeated {
                return Ok((ForgetReport::default(), None));
            }
            check_erasable(ctx, &ids)?;
        }
        let erasure = self.begin_erasure(ctx, target, cause.at)?;
        or_abandon(forget::before(ctx.memory, before, author, cause, &report_progress), erasure)
    }

    fn begin_erasure<'a>(
        &self,
        ctx: &Ctx<'a>,
        target: ErasureTarget,
        at: Timestamp,
    ) -> Result<Option<Erasure<'a>>> {
        self.erase.then(|| Erasure::begin(ctx.memory, target, at)).transpose()
    }

    /// Returns an error if messages to delete are too young.
    fn check_age(&self, ctx: &Ctx<'_>, before: Timestamp) -> Result<()> {
        let min_age = ctx.memory.config.forget.min_age;
        let latest = ctx.memory.now().minus(min_age);
        let is_person = ctx.actor == Principal::Person;
        if self.recent && !is_person {
            return Err(Error::new(Code::Rejected, "only a person may delete recent messages")
                .hint(format!("leave `recent` out, and give a time at least {min_age} ago"))
                .field("recent"));
        }
        if before <= latest || self.recent {
            return Ok(());
        }
        let mut hint = format!("give a time at least {min_age} ago, such as `{min_age}`");
        if is_person {
            hint += ", or add `recent` to delete younger messages, too";
        }
        Err(Error::invalid(format!("this would delete messages of the last {min_age}"))
            .hint(hint)
            .field("before"))
    }
}

/// Ends the erasure if the deletion failed.
fn or_abandon(forgotten: Result<ForgetReport>, erasure: Option<Erasure<'_>>) -> Result<ForgetOutcome<'_>> {
    match forgotten {
        Ok(forgotten) => Ok((forgotten, erasure)),
        Err(error) => {
            erasure.map_or(Ok(()), |erasure| erasure.abandon_after(&error))?;
            Err(error)
        }
    }
}

/// Returns an error, before anything is deleted, if a file prevents an erasure of messages. There is none if all of
/// them were deleted before.
fn check_erasable(ctx: &Ctx<'_>, ids: &[MessageId]) -> Result<()> {
    let mut texts = None;
    for &id in ids {
        if let Some(message) = ctx.memory.store.message(id)? {
            texts.get_or_insert_with(ErasedTexts::default).add_message(&message);
        }
    }
    texts.map_or(Ok(()), |texts| poc_notes::erasure::check_erasable(ctx.memory, &texts))
}

impl Op for Forget {
    const NAME: &'static str = "forget";
    const ACCESS: Access = Access::Retract;
    const ROUTE: Option<Route> = Route::post("/v1/forget");
    const PERSON_ARGUMENTS: &'static [&'static str] = &["recent", "erase"];
    const IRREVERSIBLE: Option<IrreversibleFlag> = Some(erasure::FLAG);
    // An erasure compacts the memory.
    const USES_SHUTDOWN_GRACE: bool = true;
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    type Output = ForgetOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ForgetOutput> {
        if self.erase {
            erasure::require_person(ctx)?;
        }
        let cause = ctx.cause(Self::NAME);
        let author = match ctx.actor {
            Principal::Person => None,
            Principal::Model => Some(ctx.actor.name()),
        };
        let (forgotten, erasure) = match (self.message_id, self.before) {
            (Some(id), None) => self.forget_one(ctx, id, author, cause)?,
            (None, Some(before)) => self.forget_before(ctx, before.resolve(cause.at), author, &cause)?,
            (given, _) => {
                let wrong = match given {
                    Some(_) => "both a message and a time are given",
                    None => "neither a message nor a time is given",
                };
                return Err(Error::invalid(wrong)
                    .hint("give `message_id` or `before`, one of the two")
                    .field("message_id"));
            }
        };
        let ForgetReport { messages, nodes, derived, edges, vectors, texts, changes } = forgotten;
        let erasure = erasure.map(|erasure| erasure::run(ctx, erasure, &texts)).transpose()?;
        let undo_within = (!self.erase).then(|| undo_window(ctx));
        Ok(ForgetOutput { messages, nodes, derived, edges, vectors, changes, undo_within, erasure })
    }

    fn show(output: &ForgetOutput, terminal: &Terminal) -> String {
        if output.is_nothing_to_erase() {
            let text = "nothing was erased: the memory has no such message; bring messages back with `undo` to erase \
                        those that were forgotten before\n";
            return text.to_owned();
        }
        let counts = [
            (output.messages, "message"),
            (output.nodes, "chunk"),
            (output.edges, "edge"),
            (output.vectors, "vector"),
        ];
        let mut counts: Vec<String> = counts.iter().map(|&(count, one)| plural(count as u64, one)).collect();
        if output.derived > 0 {
            counts.push(plural(output.derived as u64, "derived note"));
        }
        let erased = output.erasure.as_ref().map(ErasureOutput::show).unwrap_or_default();
        let undo = output.undo_within.map(|window| undo_line(&output.changes, window, terminal));
        format!("forgot {}\n{}{erased}", counts.join(", "), undo.unwrap_or_default())
    }

    fn exit(output: &ForgetOutput) -> Exit {
        if output.is_nothing_to_erase() { Exit::NothingToDo } else { Exit::Ok }
    }
}
