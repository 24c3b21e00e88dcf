//! The note that the rules compare with a question.

/// A note whose subject is compared with that of a question.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComparedNote<'a> {
    /// The title, unless it is the beginning of the body.
    pub title: &'a str,
    /// The body.
    pub body: &'a str,
    /// The key, the former keys and the other names, one per line.
    pub names: &'a str,
    /// What else the note is known by, such as its author, one per line.
    pub attributes: &'a str,
    /// The days on which the note was written and those in its names, with their weekdays and months. The text rarely
    /// contains them, so they count as contained.
    pub dates: &'a str,
}
