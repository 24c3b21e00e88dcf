//! `supersede`

use super::secret_check::{self, SecretCheck};
use super::undo_window::{undo_line, undo_window};
use super::{Access, Ctx, Op, Route, Terminal};
use poc_config::HistoryRetention;
use poc_graph::error::Result;
use poc_notes::{link, resolve, supersede};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Replace a note by another. Searches no longer find the old one, but it keeps its history; the new one takes over
/// its explicit links.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Supersede")]
pub(crate) struct SupersedeRequest {
    /// Key or id of the note to retire
    old: String,
    /// Key or id of its replacement
    new: String,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Retire the note only if it still has this version, which `get` shows
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
}

/// The retired note and its replacement.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SupersedeOutput {
    /// Key of the retired note.
    old: String,
    /// Key of its replacement.
    new: String,
    /// Number of links that the new note took over.
    links: usize,
    /// The number of the change, which `undo` takes.
    seq: u64,
    /// The minimum time for which it can be undone: `all` if there is no limit, otherwise a duration.
    undo_within: HistoryRetention,
    /// Secrets that were found in the reason, by kind. What a model writes has placeholders in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl Op for SupersedeRequest {
    const NAME: &'static str = "supersede";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/supersede");
    type Output = SupersedeOutput;

    fn run(mut self, ctx: &Ctx<'_>) -> Result<SupersedeOutput> {
        link::check_reason(self.reason.as_deref().unwrap_or_default())?;
        let mut check = SecretCheck::of(ctx);
        self.reason.iter_mut().for_each(|reason| check.text(reason));
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let reason = self.reason.as_deref().unwrap_or_default();
        let done = ctx.memory.store.transact(cause, |tx| {
            let (old, new) =
                (ctx.find_writable(tx, &self.old, "old")?, ctx.find_writable(tx, &self.new, "new")?);
            resolve::check_version(&old, self.if_version)?;
            let done =
                supersede::apply(tx, old.id, new.id, ctx.actor.name(), reason, &ctx.memory.config, now)?;
            Ok((old.key, new.key, done.links))
        })?;
        let (old, new, links) = done.value;
        let (undo_within, warning) = (undo_window(ctx), check.warning());
        Ok(SupersedeOutput { old, new, links, seq: done.seq, undo_within, warning })
    }

    fn show(output: &SupersedeOutput, terminal: &Terminal) -> String {
        let done = format!(
            "`{}` supersedes `{}` and took over {} of its links\n",
            output.new, output.old, output.links
        );
        let undo = undo_line(&[output.seq], output.undo_within, terminal);
        done + &undo + &secret_check::line(output.warning.as_ref())
    }
}
