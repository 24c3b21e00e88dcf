//! `[[tests]]` of an agent file: a fixture of notes, a recorded reply and the expected outcome.

use poc_graph::time::Timestamp;

/// One of `[[tests]]`.
#[derive(Clone, Debug)]
pub struct AgentTest {
    /// Name of the test.
    pub name: String,
    /// The notes as JSON Lines; empty for an empty memory.
    pub fixture: TestText,
    /// The time at which the test runs.
    pub now: Timestamp,
    /// The model's reply; `None` for a reply without actions.
    pub response: Option<TestText>,
    /// The expected outcome.
    pub expect: TestExpectation,
}

/// A text of a test, or the name of a file that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestText {
    /// The text, or the name of the file.
    pub text: String,
    /// Byte offset in the agent file.
    pub offset: usize,
}

/// The expected outcome of a test. Fields that are `None` are not checked.
#[derive(Clone, Debug, Default)]
pub struct TestExpectation {
    /// Keys of the selected nodes, in the pipeline's order, each with its position in the agent file.
    pub selected: Option<Vec<TestText>>,
    /// Applied actions, as `agent run` prints them.
    pub applied: Option<Vec<String>>,
    /// Proposed actions.
    pub proposed: Option<Vec<String>>,
    /// Refused actions, each followed by `: ` and the reason.
    pub rejected: Option<Vec<String>>,
    /// Texts that the prompt must contain.
    pub prompt_contains: Option<Vec<String>>,
}

impl TestText {
    /// The file name, if the text is one line that is not JSON; `None` when it is the text itself.
    pub fn file(&self) -> Option<&str> {
        let is_file = !self.text.is_empty() && !self.text.contains(['{', '\n']);
        is_file.then_some(self.text.as_str())
    }
}
