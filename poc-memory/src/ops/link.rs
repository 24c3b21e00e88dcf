//! `link`

use super::{Access, Ctx, Op, Route, argument};
use poc_graph::EdgeKind;
use poc_graph::error::{Error, Result};
use poc_notes::link::{self, Linked};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tie one note to another, or take a tie away. A tie that is there stays as it is, unless another
/// strength is asked for.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    /// Key or id of the note the tie starts at
    from: String,
    /// Key or id of the note it leads to
    to: String,
    /// Above 0, at most 1 [default: 0.8]
    #[arg(long, value_name = "NUMBER", conflicts_with = "remove", value_parser = argument::number::<f64>)]
    strength: Option<f64>,
    /// What the tie means [default: link]
    #[arg(long, value_parser = argument::kind())]
    kind: Option<EdgeKind>,
    /// Why
    #[arg(long, value_name = "TEXT", conflicts_with = "remove")]
    reason: Option<String>,
    /// Take the tie away
    #[arg(long)]
    #[serde(default)]
    remove: bool,
}

/// What became of the tie.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Outcome {
    /// Key of the note it starts at.
    from: String,
    /// Key of the note it leads to.
    to: String,
    kind: EdgeKind,
    status: Status,
    /// The strength of a tie that is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strength: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Added,
    Changed,
    AlreadyPresent,
    Removed,
    NotPresent,
}

impl Op for Link {
    const NAME: &'static str = "link";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/link");
    const TOOL: Option<&'static str> = Some("memory_link");
    type Output = Outcome;

    fn run(self, ctx: &Ctx<'_>) -> Result<Outcome> {
        let beside = [(self.strength.is_some(), "strength"), (self.reason.is_some(), "reason")];
        if let Some((_, field)) = beside.into_iter().find(|(given, _)| self.remove && *given) {
            return Err(Error::invalid("a tie that is taken away has none")
                .hint("leave it out, or leave out `remove`")
                .field(field));
        }
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let kind = self.kind.unwrap_or(EdgeKind::Link);
        let strength = self.strength.unwrap_or(link::STRENGTH);
        let done = ctx.memory.store.transact(cause, |tx| {
            let (from, to) = (ctx.named(tx, &self.from, "from")?, ctx.named(tx, &self.to, "to")?);
            let (status, strength) = if self.remove {
                let removed = link::remove(tx, from.id, kind, to.id)?;
                (if removed { Status::Removed } else { Status::NotPresent }, None)
            } else {
                let tie = link::Link {
                    src: from.id,
                    dst: to.id,
                    kind,
                    strength,
                    reason: self.reason.clone().unwrap_or_default(),
                    provenance: ctx.actor.name().into(),
                };
                // Only a strength that is asked for replaces the one there.
                let linked = match self.strength {
                    Some(_) => link::set(tx, &tie, now)?,
                    None => Some(link::add(tx, &tie, now)?),
                };
                match linked {
                    Some(Linked::Added) => (Status::Added, Some(strength)),
                    None => (Status::Changed, Some(strength)),
                    Some(Linked::AlreadyPresent(strength)) => (Status::AlreadyPresent, Some(strength)),
                }
            };
            Ok(Outcome { from: from.key, to: to.key, kind, status, strength })
        })?;
        Ok(done.value)
    }

    fn show(output: &Outcome) -> String {
        let Outcome { from, to, kind, status, strength } = output;
        let strength = strength.map(|strength| format!(", strength {strength}")).unwrap_or_default();
        let status = match status {
            Status::Added => "added",
            Status::Changed => "changed",
            Status::AlreadyPresent => "already present",
            Status::Removed => "removed",
            Status::NotPresent => "not present",
        };
        format!("{status}: `{from}` → `{to}` ({kind}{strength})\n")
    }
}
