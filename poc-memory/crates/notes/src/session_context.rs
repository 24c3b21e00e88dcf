//! What a memory adds to the session of an assistant: notes that matter at its start, and notes on what was typed.
//!
//! Both read and change nothing. They see what a model sees: no quarantined notes.

mod briefing;
mod relevant;
mod scope;
#[cfg(test)]
mod tests;

pub use briefing::{Briefing, BriefingPart, briefing};
pub use relevant::{Relevant, relevant};

use poc_graph::Node;

/// The session of an assistant, as far as it decides which notes it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionScope<'a> {
    /// The name of the project of its folder ([`crate::project::Project::name`]); `None` for a folder of no project.
    pub project: Option<&'a str>,
    /// The prefixes of the keys of its own notes, which are in the conversation already.
    pub own_notes: &'a [String],
}

/// A note for the session.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextNote {
    /// The note.
    pub node: Node,
    /// What to show of its text.
    pub text: String,
}
