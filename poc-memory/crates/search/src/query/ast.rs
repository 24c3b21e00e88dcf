//! A checked pipeline as a value, and as text.

use super::arguments::Arguments;
use super::stage::definition::{Kind, StageDef};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A checked pipeline. Its text (`Display`) is canonical: reading it gives the same pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The stages; the first is a generator.
    pub(super) calls: Vec<Call>,
    /// The saved pipelines its text uses, directly or by each other.
    pub(super) used: BTreeSet<Arc<str>>,
}

/// Two pipelines are equal when they say the same, however they are written.
impl PartialEq for Pipeline {
    fn eq(&self, other: &Self) -> bool {
        self.calls == other.calls
    }
}

impl Pipeline {
    /// The saved pipelines it is made of, without their `@`.
    pub fn saved(&self) -> impl Iterator<Item = &str> {
        self.used.iter().map(|name| &**name)
    }

    /// The field its last `sort:` goes by.
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

/// One use of a stage.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The stage.
    pub(super) def: &'static StageDef,
    /// Whether `!` stands in front.
    pub(super) negated: bool,
    /// What it is given.
    pub(super) arguments: Arguments,
    /// The saved pipeline in whose text it stands.
    pub(super) saved: Option<Arc<str>>,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.negated == other.negated && self.arguments == other.arguments
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { "!" } else { "" };
        write!(f, "{not}{}{}", self.def.word, self.arguments)
    }
}

impl Call {
    /// What it does, in words.
    pub(super) fn does(&self) -> String {
        let about = (self.def.does)(&self.arguments);
        match (self.def.kind(), self.negated) {
            (Kind::Filter, false) => format!("keeps nodes {about}"),
            (Kind::Filter, true) => format!("drops nodes {about}"),
            _ => about,
        }
    }
}
