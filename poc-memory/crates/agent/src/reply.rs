//! Parses and validates replies. A reply must be one whole JSON object, and is validated even if the provider
//! guarantees its schema.

use super::action::Action;
use super::definition::ActionKind;
use super::model::Reply;
use poc_graph::json::{DecodeError, UniqueFields};
use poc_notes::secrets::{SecretCounts, scrub_in_place};
use serde_json::Value;

/// Maximum number of actions in a reply that are read; the rest are counted.
const MAX_ENTRIES: usize = 1000;

/// Maximum number of problems listed in a correction turn; the rest are counted.
const MAX_PROBLEMS: usize = 20;

/// Maximum characters kept of a model's texts other than note bodies: they are stored in rows and edges.
const MAX_TEXT_CHARS: usize = 2000;

/// A reply that validates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedReply {
    /// The model's notes about it.
    pub notes: String,
    /// Its actions, in the order they are applied. Includes actions that are not permitted, which are refused
    /// by name.
    pub actions: Vec<Action>,
    /// Number of further actions, which were not read.
    pub unread: usize,
}

impl ParsedReply {
    /// Replaces the secrets in the texts that are stored by placeholders, and returns what was found.
    pub(super) fn scrub(&mut self) -> SecretCounts {
        let mut found = SecretCounts::default();
        let texts = self.actions.iter_mut().flat_map(Action::texts_mut);
        std::iter::once(&mut self.notes).chain(texts).for_each(|text| scrub_in_place(text, &mut found));
        found
    }
}

/// Parses a reply: the native structured field, else the whole text, else the content of its code fence. The error
/// lists the problems to correct. Before the reply is stored, the key of the provider is removed from the model's
/// notes, and a generated key also from its actions.
pub fn read(reply: &Reply, permitted: &[ActionKind]) -> Result<ParsedReply, Vec<String>> {
    let redacted = |problems: Vec<String>| problems.iter().map(|problem| reply.redacted(problem)).collect();
    let mut value = find(reply).map_err(|problem| redacted(vec![problem]))?;
    if let Some(secret) = &reply.secret {
        match secret.is_generated() {
            true => secret.redact_strings(&mut value),
            // An action may contain a word that is also a short API key, so only generated keys are removed
            // from actions.
            false => value.get_mut("notes").into_iter().for_each(|notes| secret.redact_strings(notes)),
        }
    }
    validate(value, permitted).map_err(redacted)
}

/// A text as one JSON value in which no object repeats a field.
///
/// # Errors
/// What is wrong, and the line and column.
pub fn parse_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|UniqueFields(value)| value)
}

/// The text, cut to the maximum length of a model's texts.
pub(super) fn short(text: &str) -> String {
    cut(text, MAX_TEXT_CHARS)
}

/// The first characters of a text, with an ellipsis when it was cut.
pub(super) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// The JSON value of a reply. JSON embedded in prose is not accepted.
///
/// # Errors
/// What is wrong with the reply.
fn find(reply: &Reply) -> Result<Value, String> {
    if let Some(value) = &reply.structured {
        return Ok(value.clone());
    }
    let whole = reply.text.trim();
    let read = parse_json(whole).or_else(|error| fenced(whole).map_or(Err(error), parse_json));
    read.map_err(|error| match error.is_data() {
        true => format!("the reply is not valid: {error}"),
        false => "the reply is not a single JSON object".to_owned(),
    })
}

/// The content of the fenced block of a text, from the first line that opens one to the last fence, because a
/// note in it may contain blocks. With several blocks the result is not valid JSON.
fn fenced(text: &str) -> Option<&str> {
    let mut rest = text;
    let inside = loop {
        let (line, behind) = rest.split_once('\n')?;
        match line.trim().strip_prefix("```") {
            Some(info) if matches!(info.trim(), "" | "json" | "JSON") => break behind,
            Some(_) => return None,
            None => rest = behind,
        }
    };
    inside.get(..inside.rfind("```")?)
}

fn validate(value: Value, permitted: &[ActionKind]) -> Result<ParsedReply, Vec<String>> {
    let Value::Object(mut fields) = value else {
        return Err(vec!["the reply is JSON but not an object".to_owned()]);
    };
    let mut problems = Vec::new();
    let mut answer = ParsedReply::default();
    match fields.remove("notes") {
        Some(Value::String(notes)) => answer.notes = short(&notes),
        Some(_) => problems.push("`notes` is not text".to_owned()),
        None => problems.push("`notes` is missing".to_owned()),
    }
    for kind in ActionKind::ALL {
        let name = kind.name();
        match fields.remove(name) {
            Some(Value::Array(mut entries)) => {
                let room = MAX_ENTRIES.saturating_sub(answer.actions.len());
                answer.unread += entries.len().saturating_sub(room);
                entries.truncate(room);
                for (index, entry) in entries.into_iter().enumerate() {
                    match Action::decode(kind, &entry) {
                        Ok(mut action) => {
                            let reason = action.reason_mut();
                            *reason = short(reason);
                            answer.actions.push(action);
                        }
                        // An action that is not permitted is refused anyway, so a malformed entry needs no
                        // correction.
                        Err(_) if !permitted.contains(&kind) => answer.actions.push(Action::blank(kind)),
                        Err(DecodeError { path, message }) => {
                            let path = if path.is_empty() { path } else { format!(".{path}") };
                            problems.push(format!("`{name}[{index}]{path}`: {message}"));
                        }
                    }
                }
            }
            Some(_) => problems.push(format!("`{name}` is not a list")),
            // Models often leave out an empty list.
            None => {}
        }
    }
    problems.extend(fields.keys().map(|name| format!("`{name}` is not a field of the reply")));
    if problems.is_empty() {
        return Ok(answer);
    }
    problems.iter_mut().for_each(|problem| *problem = short(problem));
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    Err(problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{LinkAdd, Weight};
    use crate::model::Secret;

    fn text(text: &str) -> Reply {
        Reply { text: text.to_owned(), ..Reply::default() }
    }

    #[test]
    fn a_code_fence_opens_on_its_own_line_and_closes_at_the_last_fence() {
        let check = |reply_text: &str, expected: Option<&str>| {
            assert_eq!(fenced(reply_text), expected, "{reply_text}")
        };
        check("```\n{}\n```", Some("{}\n"));
        check("Here:\n  ```json  \n{}\n```\nBye.", Some("{}\n"));
        check("```JSON\n{}```", Some("{}"));
        // Fences within strings do not close the block.
        check("```json\n{\"a\": \"```rust\nx\n```\"}\n```", Some("{\"a\": \"```rust\nx\n```\"}\n"));
        // Several blocks are ambiguous and not valid JSON.
        check("```json\n{}\n```\n```json\n{}\n```", Some("{}\n```\n```json\n{}\n"));
        // Another language, never closed, never opened, or within a line.
        for reply_text in ["```rust\n{}\n```", "```json\n{}", "{}\n", "see ``` {} ```", "```json {}\n```", ""]
        {
            check(reply_text, None);
        }
    }

    #[test]
    fn a_reply_must_be_one_whole_json_object() {
        let none = r#"{"notes": "n", "link-add": []}"#;
        let permitted = [ActionKind::LinkAdd];
        for reply_text in
            [none.to_owned(), format!("\n {none} \n"), format!("So:\n```json\n{none}\n```\nBye.")]
        {
            assert_eq!(read(&text(&reply_text), &permitted).unwrap().notes, "n", "{reply_text}");
        }
        for reply_text in
            [format!("So: {none}"), format!("{none}\n{none}"), format!("```\n{none}\n```\n```\n{none}\n```")]
        {
            assert!(read(&text(&reply_text), &permitted).is_err(), "{reply_text}");
        }
        // If a field occurs twice, one of the values would be lost.
        let twice = r#"{"notes": "n", "link-add": [], "link-add": []}"#;
        for reply_text in [twice.to_owned(), format!("```json\n{twice}\n```")] {
            let problems = read(&text(&reply_text), &permitted).unwrap_err();
            assert!(
                problems[0].starts_with("the reply is not valid: the field `link-add` occurs twice"),
                "{problems:?}"
            );
        }
        // The native field takes precedence over the text.
        let both = Reply { structured: serde_json::from_str(none).ok(), ..text("{\"notes\": \"other\"}") };
        assert_eq!(read(&both, &permitted).unwrap().notes, "n");
    }

    #[test]
    fn a_key_is_removed_from_what_is_stored_and_never_changes_what_a_reply_means() {
        let permitted = [ActionKind::LinkAdd, ActionKind::Supersede];
        let check = |key: &str, notes: &str, from: &str, stored: &str| {
            let link =
                format!(r#"{{"reason": "as {key} says", "from": "{key}", "to": "N2", "strength": 1}}"#);
            let reply_text = format!(r#"{{"notes": "saw {key}", "supersede": [], "link-add": [{link}]}}"#);
            let reply = Reply { secret: Some(Secret::new(key)), ..text(&reply_text) };
            let read = read(&reply, &permitted).unwrap();
            assert_eq!(read.notes, notes);
            let [Action::LinkAdd(link)] = read.actions.as_slice() else { panic!("{:?}", read.actions) };
            assert_eq!(link.from, from);
            assert_eq!(reply.stored_text().contains(key), stored == key, "{}", reply.stored_text());
        };
        // Keys that people choose for servers on their own machine are words.
        check("supersede", "saw [key]", "supersede", "[key]");
        check("lm-studio", "saw [key]", "lm-studio", "[key]");
        check("link-add", "saw [key]", "link-add", "[key]");
        check("local", "saw local", "local", "local");
        check("sk-0123456789abcdef", "saw [key]", "[key]", "[key]");
    }

    #[test]
    fn unpermitted_actions_need_not_be_well_formed() {
        let permitted = [ActionKind::LinkAdd];
        let reply_text = r#"{"notes": "", "link-add": [], "weight": [{"delta": "much"}, 7, null]}"#;
        let actions = read(&text(reply_text), &permitted).unwrap().actions;
        assert_eq!(actions, vec![Action::Weight(Weight::default()); 3]);
        // It neither hides problems of permitted actions nor is reported as one.
        let reply_text = r#"{"notes": "", "link-add": [{"from": "N1"}], "weight": [7]}"#;
        let problems = read(&text(reply_text), &permitted).unwrap_err();
        assert!(problems.len() == 1 && problems[0].starts_with("`link-add[0]"), "{problems:?}");
        // A value that is not a list is invalid even for unpermitted actions.
        assert!(read(&text(r#"{"notes": "", "link-add": [], "weight": "none"}"#), &permitted).is_err());
        // The same entries are problems when the action is permitted.
        let both = [ActionKind::LinkAdd, ActionKind::Weight];
        let reply_text = r#"{"notes": "", "link-add": [], "weight": [{"delta": "much"}, 7, null]}"#;
        assert_eq!(read(&text(reply_text), &both).unwrap_err().len(), 3);
        let reply_text = r#"{"notes": "", "weight": [], "link-add": [{"reason": "", "from": "N1", "to": "N2", "strength": 1}]}"#;
        let link = LinkAdd { reason: String::new(), from: "N1".into(), to: "N2".into(), strength: 1.0 };
        assert_eq!(read(&text(reply_text), &both).unwrap().actions, [Action::LinkAdd(link)]);
    }
}
