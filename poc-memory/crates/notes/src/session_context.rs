//! Selects the notes that a memory adds to the session of an assistant: at its start, notes about the project; for
//! each prompt, notes relevant to it.
//!
//! Both only read. They see what a model sees, that is, no quarantined notes.

mod briefing;
mod prompt_context;
mod scope;
#[cfg(test)]
mod tests;
mod turn_text;

pub use briefing::{Briefing, BriefingPart, briefing};
pub use prompt_context::{PromptContext, prompt_context};
pub use turn_text::is_assent;

use poc_graph::Node;

/// The properties of a session of an assistant that determine which notes it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFilter<'a> {
    /// The name of the project of its folder ([`crate::project::Project::name`]); `None` if the folder belongs
    /// to no project.
    pub project: Option<&'a str>,
    /// The prefixes of the keys of its own notes, which are in the conversation already.
    pub own_notes: &'a [String],
}

/// A note for the session.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextNote {
    /// The note.
    pub node: Node,
    /// The part of its text to show.
    pub text: String,
    /// Whether title and text together show the whole note.
    pub is_whole: bool,
}
