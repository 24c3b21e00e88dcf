//! `link`

use super::secret_check::{self, SecretCheck};
use super::{Access, Ctx, Op, Principal, Route, Terminal, ToolEffect, argument};
use poc_graph::EdgeKind;
use poc_graph::error::{Code, Error, Result};
use poc_notes::link::{self, LinkOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Link one note to another, or remove a link. An existing link stays unchanged unless you give another
/// strength or reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Link")]
pub(crate) struct LinkRequest {
    /// Key or id of the note where the link starts
    from: String,
    /// Key or id of the note where it ends
    to: String,
    /// Strength, above 0 and at most 1 [default: 0.8]
    #[arg(long, value_name = "NUMBER", conflicts_with = "remove", value_parser = argument::number::<f64>)]
    strength: Option<f64>,
    /// Kind of link [default: link]
    #[arg(long, value_parser = argument::kind())]
    kind: Option<EdgeKind>,
    /// The reason
    #[arg(long, value_name = "TEXT", conflicts_with = "remove")]
    reason: Option<String>,
    /// Remove the link
    #[arg(long)]
    #[serde(default)]
    remove: bool,
}

/// The link after the request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LinkOutput {
    /// Key of the note where it starts.
    from: String,
    /// Key of the note where it ends.
    to: String,
    kind: EdgeKind,
    status: LinkStatus,
    /// The strength of the link, above 0 and at most 1; absent if there is no link now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strength: Option<f64>,
    /// The number of the change, which `undo` takes; absent if nothing has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Keys of those of the two notes that no search finds, because they are retired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retired: Vec<String>,
    /// Secrets that were found in the reason, by kind. What a model writes has placeholders in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum LinkStatus {
    Added,
    Changed,
    AlreadyPresent,
    Removed,
    NotPresent,
}

impl Op for LinkRequest {
    const NAME: &'static str = "link";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/link");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    type Output = LinkOutput;

    fn run(mut self, ctx: &Ctx<'_>) -> Result<LinkOutput> {
        let beside = [(self.strength.is_some(), "strength"), (self.reason.is_some(), "reason")];
        if let Some((_, field)) = beside.into_iter().find(|(given, _)| self.remove && *given) {
            return Err(Error::invalid(format!("`{field}` cannot be combined with `remove`"))
                .hint("leave it out, or leave out `remove`")
                .field(field));
        }
        let kind = self.kind.unwrap_or(EdgeKind::Link);
        // What agents derive is checked against its sources. Here, nothing would be.
        if kind == EdgeKind::DerivedFrom && ctx.actor == Principal::Model {
            return Err(Error::new(
                Code::Rejected,
                format!("only a person may add or remove links of kind `{kind}`"),
            )
            .hint("the kinds for models are `link` and `contradicts`")
            .field("kind"));
        }
        let max = ctx.actor.max_link_strength();
        if let Some(strength) = self.strength {
            link::check_strength(strength, max)?;
        }
        link::check_reason(self.reason.as_deref().unwrap_or_default())?;
        let mut check = SecretCheck::of(ctx);
        self.reason.iter_mut().for_each(|reason| check.text(reason));
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let done = ctx.memory.store.transact(cause, |tx| {
            let (from, to) =
                (ctx.find_writable(tx, &self.from, "from")?, ctx.find_writable(tx, &self.to, "to")?);
            let (status, strength) = if self.remove {
                let removed = link::remove(tx, from.id, kind, to.id)?;
                (if removed { LinkStatus::Removed } else { LinkStatus::NotPresent }, None)
            } else {
                let existing = tx.edge(from.id, kind, to.id)?.map(|edge| edge.strength);
                // A model may lower the strength of a stronger link, but not raise it.
                let max = existing.map_or(max, |existing| existing.max(max));
                let strength = self.strength.or(existing).unwrap_or(link::STRENGTH).min(max);
                let link = link::Link {
                    src: from.id,
                    dst: to.id,
                    kind,
                    strength,
                    reason: self.reason.clone().unwrap_or_default(),
                    provenance: ctx.actor.name().into(),
                };
                match link::set(tx, &link, now)? {
                    Some(LinkOutcome::Added) => (LinkStatus::Added, Some(strength)),
                    None => (LinkStatus::Changed, Some(strength)),
                    Some(LinkOutcome::AlreadyPresent(strength)) => {
                        (LinkStatus::AlreadyPresent, Some(strength))
                    }
                }
            };
            let ends = [&from, &to].into_iter();
            let retired = ends.filter(|note| !note.state.is_live()).map(|note| note.key.clone()).collect();
            Ok(LinkOutput {
                from: from.key,
                to: to.key,
                kind,
                status,
                strength,
                seq: None,
                retired,
                warning: None,
            })
        });
        let done = done.map_err(|error| {
            let is_start = error.at.as_ref().is_some_and(|at| at.field.as_deref() == Some("from"));
            ctx.with_titled_note(error, if is_start { &self.from } else { &self.to })
        })?;
        let is_change = !matches!(done.value.status, LinkStatus::AlreadyPresent | LinkStatus::NotPresent);
        Ok(LinkOutput { seq: is_change.then_some(done.seq), warning: check.warning(), ..done.value })
    }

    fn show(output: &LinkOutput, _: &Terminal) -> String {
        let LinkOutput { from, to, kind, status, strength, retired, warning, .. } = output;
        let strength = strength.map(|strength| format!(", strength {strength}")).unwrap_or_default();
        let status = match status {
            LinkStatus::Added => "added",
            LinkStatus::Changed => "changed",
            LinkStatus::AlreadyPresent => "already present",
            LinkStatus::Removed => "removed",
            LinkStatus::NotPresent => "not present",
        };
        let retired = retired.iter().map(|key| format!("`{key}` is retired: no search finds it\n"));
        let notices = retired.collect::<String>() + &secret_check::line(warning.as_ref());
        format!("{status}: `{from}` → `{to}` ({kind}{strength})\n{notices}")
    }
}
