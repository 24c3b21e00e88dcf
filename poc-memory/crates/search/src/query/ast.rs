//! The syntax tree of a checked pipeline.

use super::arguments::Arguments;
use super::stage::definition::{StageDef, StageKind};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A checked pipeline. `Display` writes its canonical text, which parses to the same pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The stages. The first one is a generator.
    pub(super) calls: Vec<StageCall>,
    /// The saved pipelines used, directly or indirectly.
    pub(super) used: BTreeSet<Arc<str>>,
}

/// Compares the stages and their arguments, ignoring how they were written.
impl PartialEq for Pipeline {
    fn eq(&self, other: &Self) -> bool {
        self.calls == other.calls
    }
}

impl Pipeline {
    /// The names of the saved pipelines that the pipeline uses, without the `@`.
    pub fn saved(&self) -> impl Iterator<Item = &str> {
        self.used.iter().map(|name| &**name)
    }

    /// Whether the pipeline limits the number of nodes in its result. A limit before an algorithm does not count,
    /// because the algorithm adds further nodes.
    pub fn has_limit(&self) -> bool {
        let mut last = self.calls.iter().rev().take_while(|call| call.def.kind() != StageKind::Algorithm);
        last.any(|call| call.def.is_limit(&call.arguments))
    }

    /// The text that the generator searches for; `None` if it does not search for a text.
    pub fn text(&self) -> Option<String> {
        let first = self.calls.first()?;
        first.arguments.text(first.def.text_param()?.name).ok()
    }

    /// The field of the last `sort:`, as written.
    pub fn sorted_by(&self) -> Option<String> {
        let sort = self.calls.iter().rev().find(|call| call.def.is_sort())?;
        sort.arguments.text("FIELD").ok()
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, call) in self.calls.iter().enumerate() {
            let separator = if position == 0 { "" } else { " | " };
            write!(f, "{separator}{call}")?;
        }
        Ok(())
    }
}

/// One stage of a pipeline, with its arguments.
#[derive(Clone, Debug)]
pub(super) struct StageCall {
    /// The definition of the stage.
    pub(super) def: &'static StageDef,
    /// Whether the stage is negated with `!`.
    pub(super) negated: bool,
    /// The arguments of the stage.
    pub(super) arguments: Arguments,
    /// The saved pipeline that the stage comes from, if any.
    pub(super) saved: Option<Arc<str>>,
}

impl PartialEq for StageCall {
    fn eq(&self, other: &Self) -> bool {
        self.negated == other.negated && self.arguments == other.arguments
    }
}

impl fmt::Display for StageCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { "!" } else { "" };
        write!(f, "{not}{}{}", self.def.word, self.arguments)
    }
}

impl StageCall {
    /// Describes what the stage does.
    pub(super) fn description(&self) -> String {
        let about = (self.def.describe)(&self.arguments);
        match (self.def.kind(), self.negated) {
            (StageKind::Filter, false) => format!("keeps notes {about}"),
            (StageKind::Filter, true) => format!("drops notes {about}"),
            _ => about,
        }
    }
}
