//! `[[tests]]` of an agent file: what the agent makes of a few notes and a recorded reply.

use poc_graph::time::Timestamp;

/// One of `[[tests]]`.
#[derive(Clone, Debug)]
pub struct AgentTest {
    /// What it shows.
    pub name: String,
    /// The notes, as JSON Lines; empty: there are none.
    pub fixture: TestText,
    /// The instant it plays at.
    pub now: Timestamp,
    /// What the model answers; `None`: that there is nothing to do.
    pub response: Option<TestText>,
    /// What has to come of it.
    pub expect: TestExpectation,
}

/// A text of a test, as it is written in the agent file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestText {
    /// The text, or the name of the file that has it.
    pub text: String,
    /// The byte of the agent file where it begins.
    pub offset: usize,
}

/// What has to come of a test. What is `None` is not looked at.
#[derive(Clone, Debug, Default)]
pub struct TestExpectation {
    /// Keys of the nodes the pipeline chooses, in its order, each with its place in the agent file.
    pub selected: Option<Vec<TestText>>,
    /// The actions that are applied, as `agent run` words them.
    pub applied: Option<Vec<String>>,
    /// Those that wait for a person.
    pub proposed: Option<Vec<String>>,
    /// Those that are refused, each with `: ` and the reason behind it.
    pub rejected: Option<Vec<String>>,
    /// Texts that stand in the prompt.
    pub prompt_contains: Option<Vec<String>>,
}

impl TestText {
    /// The name of a file beside the agent file: one line that is no JSON. Else the text itself stands there.
    pub fn file(&self) -> Option<&str> {
        let is_file = !self.text.is_empty() && !self.text.contains(['{', '\n']);
        is_file.then_some(self.text.as_str())
    }
}
