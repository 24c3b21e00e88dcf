//! The record of an action in the ledger, before it is applied or when it is refused.

use super::{Refusal, RefusalReason};
use crate::action::Action;
use crate::ledger::{ActionRecord, ActionState};
use crate::reply::{cut, short};
use crate::selection::Selection;
use poc_graph::one_line;
use poc_store::WriteRange;

/// Maximum characters that a row stores of each text about a refused action.
const MAX_REFUSED_SAID: usize = 300;

/// Description of an action in one line, with keys instead of handles. Texts of the model cannot add lines, which could
/// imitate other actions where a person reads them.
pub fn summary(action: &Action, selection: &Selection) -> String {
    let key = |name: &str| match selection.get(name.trim()) {
        Some(handle) => format!("`{}`", handle.node.key),
        None => format!("`{}` (unknown)", one_line(name)),
    };
    match action {
        Action::LinkAdd(link) => {
            format!("link {} to {} at {}", key(&link.from), key(&link.to), rounded_strength(link.strength))
        }
        Action::Weight(weight) => format!("move the weight of {} by {:+}", key(&weight.node), weight.delta),
        Action::Insert(insert) => format!("insert \"{}\"", one_line(&insert.title)),
        Action::Supersede(supersede) if supersede.renames() => {
            format!("rename {} to `{}`", key(&supersede.node), one_line(&supersede.key))
        }
        Action::Supersede(supersede) if supersede.by.trim().is_empty() => {
            format!("supersede {} by a new note \"{}\"", key(&supersede.node), one_line(&supersede.title))
        }
        Action::Supersede(supersede) => {
            format!("supersede {} by {}", key(&supersede.node), key(&supersede.by))
        }
    }
}

/// A strength with at most three decimals, as texts show it.
pub fn rounded_strength(strength: f64) -> f64 {
    (strength * 1000.0).round() / 1000.0
}

impl ActionRecord {
    /// The record of an action that will be applied.
    pub(crate) fn of(action: &Action, selection: &Selection) -> ActionRecord {
        ActionRecord {
            kind: Some(action.kind()),
            summary: short(&summary(action, selection)),
            why: action.reason().to_owned(),
            state: ActionState::Applied,
            refusal_code: None,
            detail: None,
            seq: None,
            writes: WriteRange::default(),
            changes: Vec::new(),
        }
    }

    /// Why it was refused.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let reason = self.refusal_code.as_deref().and_then(RefusalReason::parse)?;
        Some(Refusal { reason, detail: self.detail.clone().unwrap_or_default() })
    }

    /// Marks the action as refused.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.state = ActionState::Refused;
        self.refusal_code = Some(refusal.reason.code().to_owned());
        let about = |text: &str| cut(text, MAX_REFUSED_SAID);
        (self.summary, self.why) = (about(&self.summary), about(&self.why));
        self.detail = Some(about(&refusal.detail));
    }
}
