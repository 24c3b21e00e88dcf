//! Recorded replies, for tests and demonstrations.
//!
//! The folder holds one file `AGENT.jsonl` per agent. Line 1 answers the first turn of every run, line 2 the
//! first correction turn, and so on; the last line answers all turns after it. A line is one JSON value. A
//! string is the text of the reply; for any other value, the line itself is the text.

use poc_agent::model::{CallError, CallFailure, Model, Reply, Request};
use serde_json::Value;
use std::path::PathBuf;

/// The provider `replay`.
#[derive(Debug)]
pub(super) struct RecordedReplies {
    pub(super) folder: PathBuf,
}

impl Model for RecordedReplies {
    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        Some(0.0)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let file = self.folder.join(format!("{}.jsonl", request.agent));
        let name = file.display();
        let text = poc_config::files::read_text(&file).map_err(|error| {
            CallError::Setup(format!("the recorded replies `{name}` cannot be read: {error}"))
        })?;
        let (number, line) = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .take(request.corrections.len() + 1)
            .last()
            .ok_or_else(|| CallError::Setup(format!("`{name}` is empty; write one reply per line")))?;
        match serde_json::from_str(line) {
            Ok(Value::String(text)) => Ok(Reply { text, ..Reply::default() }),
            Ok(_) => Ok(Reply { text: line.trim().to_owned(), ..Reply::default() }),
            Err(error) => Err(CallError::Setup(format!(
                "{name}:{}: not a JSON value: {error}; write a reply that is not JSON as a JSON string",
                number + 1
            ))
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_agent::model::RejectedReply;
    use poc_agent::testing::request::TestRequest;

    #[test]
    fn each_turn_reads_its_line_and_the_last_line_repeats() {
        let folder = poc_graph::testing::folder();
        let model = RecordedReplies { folder: folder.path().to_owned() };
        let answer = |corrections: usize| {
            let mut turn = TestRequest::new("linker");
            let rejected = RejectedReply { reply: "reply".into(), correction: "wrong".into() };
            turn.corrections = vec![rejected; corrections];
            model.call(&turn.request()).map(|reply| reply.text).map_err(|failed| failed.error)
        };
        assert!(matches!(answer(0), Err(CallError::Setup(text)) if text.contains("linker.jsonl")));

        let write = |text: &str| std::fs::write(folder.path().join("linker.jsonl"), text).unwrap();
        write("{\"notes\": \"a\"}\n\n\"in prose\\n\"\n");
        assert_eq!(answer(0).unwrap(), "{\"notes\": \"a\"}");
        assert_eq!(answer(1).unwrap(), "in prose\n");
        assert_eq!(answer(5).unwrap(), "in prose\n");

        write("\n{\"notes\": \n");
        assert!(matches!(answer(0), Err(CallError::Setup(text)) if text.contains("linker.jsonl:2: ")));
        write("\n");
        assert!(matches!(answer(0), Err(CallError::Setup(text)) if text.contains("is empty")));
    }
}
