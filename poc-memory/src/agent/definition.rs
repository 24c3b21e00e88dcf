//! An agent file as values: every key of the table in its place.

use crate::error::Error;

/// A checked agent.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The file's stem.
    pub name: String,
}

impl Definition {
    /// Parses and checks an agent file. All problems are reported together.
    pub fn parse(_name: &str, _file: &str, _text: &str) -> Result<Definition, Vec<Error>> {
        todo!()
    }
}
