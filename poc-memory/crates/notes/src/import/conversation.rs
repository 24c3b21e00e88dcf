//! Conversations with an assistant: each turn becomes a note.
//!
//! A turn consists of a prompt of a person and all answers up to the next prompt. One note holds both, so that a
//! question is found together with its answer.

use super::foreign::ForeignNote;
use super::options::ImportOptions;
use super::skipped::SkippedCounts;
use crate::Draft;
use crate::project::Project;
use crate::secrets::{self, SecretCounts};
use poc_graph::time::Timestamp;
use poc_graph::{NodeType, Trust, former_title_of, title_of};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Maximum length of the text of one message in bytes. The rest, for example of a pasted log, is left out and
/// counted.
const MAX_MESSAGE_BYTES: usize = 32 << 10;

/// Maximum number of bytes before [`MAX_MESSAGE_BYTES`] that are left out, too, so that the text ends after a whole word.
const MAX_CUT_WORD_BYTES: usize = 4 << 10;

/// A conversation, or the work of a subagent in one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Conversation {
    /// The name of its format, the prefix of its keys.
    pub format: String,
    /// Its id.
    pub id: String,
    /// The id of the subagent whose work it is.
    pub subagent: Option<String>,
    /// The title of the conversation.
    pub title: Option<String>,
    /// The folder in which the assistant worked.
    pub folder: Option<String>,
    /// The branch of the repository.
    pub branch: Option<String>,
    /// The name of the person, or of the assistant that started the subagent.
    pub asker: String,
    /// The name of the assistant.
    pub answerer: String,
}

/// A turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turn {
    /// Its id, unique within the conversation.
    pub id: String,
    /// Its messages in order.
    pub messages: Vec<TurnMessage>,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The person.
    Person,
    /// The assistant.
    Assistant,
}

/// A message of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TurnMessage {
    /// Who wrote it.
    pub speaker: Speaker,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Markdown.
    pub text: String,
}

impl TurnMessage {
    /// A message. The text is trimmed, NUL characters are removed, and bytes after the first [`MAX_MESSAGE_BYTES`] are
    /// left out and counted in `skipped`. A word that crosses this limit is left out as a whole: the part of a secret
    /// would not be recognised as one.
    pub(super) fn new(
        speaker: Speaker,
        at: Option<Timestamp>,
        text: &str,
        skipped: &mut SkippedCounts,
    ) -> TurnMessage {
        let mut text = text.trim().replace('\0', "");
        if text.len() > MAX_MESSAGE_BYTES {
            let end = end_of_words(&text, MAX_MESSAGE_BYTES);
            let rest = text.len() - end;
            skipped.add("ends of long messages", rest);
            text.truncate(end);
            text.push_str(&format!("\n\n[{rest} bytes left out]"));
        }
        TurnMessage { speaker, at, text }
    }
}

impl Turn {
    /// Whether no message has text.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.iter().all(|message| message.text.is_empty())
    }
}

impl Conversation {
    /// The name of its session. Edges connect the turns of a session in order.
    pub(super) fn session(&self) -> String {
        match &self.subagent {
            None => self.id.clone(),
            Some(subagent) => format!("{}; subagent: {subagent}", self.id),
        }
    }

    /// The key of the note of a turn.
    pub(super) fn key(&self, turn: &str) -> String {
        format!("{}{}", self.key_prefix(), short(turn))
    }

    /// The key of the note of a turn if another turn of the conversation has the key [`Conversation::key`]: it shows
    /// the whole id.
    pub(super) fn whole_key(&self, turn: &str) -> String {
        match long_hex(turn) {
            Some(digits) => format!("{}{digits}", self.key_prefix()),
            None => self.key(turn),
        }
    }

    /// The common prefix of the keys of all its turns.
    pub(super) fn key_prefix(&self) -> String {
        let subagent = self.subagent.as_deref().map(|id| format!("{}/", short(id))).unwrap_or_default();
        format!("{}/{}/{subagent}", self.format, short(&self.id))
    }

    /// The note of a turn; `None` if the turn has no text. Unless the options allow secrets, they are replaced and
    /// counted.
    pub(super) fn note(
        &self,
        turn: &Turn,
        options: &ImportOptions,
        provenance: &str,
        counts: &mut SecretCounts,
    ) -> Option<ForeignNote> {
        if turn.is_empty() {
            return None;
        }
        let mut scrub = |text: &str| match options.allow_secrets {
            true => text.to_owned(),
            false => secrets::scrub(text, counts).into_owned(),
        };
        let mut body = String::new();
        let mut speakers: Vec<&str> = Vec::new();
        let (mut title, mut former_title) = (None, None);
        let mut last: Option<Speaker> = None;
        for message in turn.messages.iter().filter(|message| !message.text.is_empty()) {
            let text = scrub(&message.text);
            let name = match message.speaker {
                Speaker::Person => &self.asker,
                Speaker::Assistant => &self.answerer,
            };
            if !body.is_empty() {
                body.push_str("\n\n");
            }
            if last != Some(message.speaker) {
                body.push_str(name);
                // A heading, a list or a code block begins a line of its own.
                body.push_str(if starts_block(&text) { ":\n\n" } else { ": " });
            }
            title = title.or_else(|| title_of(&text));
            former_title = former_title.or_else(|| former_title_of(&text));
            body.push_str(&text);
            last = Some(message.speaker);
            if !speakers.contains(&name.as_str()) {
                speakers.push(name);
            }
        }
        let times = || turn.messages.iter().filter_map(|message| message.at);
        let mut draft = Draft::new(provenance, Trust::External);
        draft.title = title;
        draft.former_title = former_title;
        draft.body = Some(body);
        draft.key = Some(self.key(&turn.id));
        draft.update = true;
        draft.node_type = Some(options.node_type.clone().unwrap_or_else(|| NodeType::EPISODIC.to_owned()));
        draft.author = Some(speakers.join(", "));
        draft.created = times().min();
        draft.modified = times().max();
        let name = self.title.as_deref().map(scrub);
        draft.source = Some(self.source(name.as_deref()));
        let project = self.folder.as_deref().and_then(|folder| Project::of(Path::new(folder)));
        draft.keywords =
            Some(options.keywords.iter().cloned().chain(project.map(|project| project.keyword())).collect());
        let names = vec![turn.id.clone()];
        Some(ForeignNote {
            draft,
            names,
            aliases: Vec::new(),
            links: Vec::new(),
            session: Some(self.session()),
            session_position: None,
            has_title: false,
            ignored: Vec::new(),
            warnings: Vec::new(),
            frame: None,
        })
    }

    /// The source of its notes, with the title of the conversation.
    fn source(&self, title: Option<&str>) -> String {
        let mut source = format!("session: {}; assistant: {}", self.session(), self.format);
        let fields =
            [("title", title), ("folder", self.folder.as_deref()), ("branch", self.branch.as_deref())];
        for (name, value) in fields {
            if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
                source.push_str(&format!("; {name}: {value}"));
            }
        }
        source
    }
}

/// The end of the last whole word within the first `max` bytes of a longer text; `max` itself within a very long word.
fn end_of_words(text: &str, max: usize) -> usize {
    let max = text.floor_char_boundary(max);
    let (kept, rest) = text.split_at(max);
    if rest.starts_with(char::is_whitespace) {
        return max;
    }
    kept.rfind(char::is_whitespace).filter(|end| max - end <= MAX_CUT_WORD_BYTES).unwrap_or(max)
}

/// Whether a text begins with a block of Markdown, such as a heading, a list or a code block.
fn starts_block(text: &str) -> bool {
    let is_mark = |c: char| matches!(c, '#' | '-' | '*' | '`' | '>' | '|' | '+' | '~' | '<');
    text.starts_with(is_mark) || text.starts_with(|c: char| c.is_ascii_digit())
}

/// A message with its id.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IdentifiedMessage {
    pub id: String,
    pub message: TurnMessage,
}

/// Groups messages into turns. A turn begins with the first message of the person after an answer, and has
/// the id of that message.
pub(super) fn turns(messages: impl IntoIterator<Item = IdentifiedMessage>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for IdentifiedMessage { id, message } in messages {
        let is_by_person = |message: &TurnMessage| message.speaker == Speaker::Person;
        let continues =
            |turn: &Turn| !is_by_person(&message) || turn.messages.last().is_some_and(is_by_person);
        match turns.last_mut().filter(|turn| continues(turn)) {
            Some(turn) => turn.messages.push(message),
            None => turns.push(Turn { id, messages: vec![message] }),
        }
    }
    turns
}

/// The part of an id that keys show: the first 12 characters of a hexadecimal id, the last 12 if it begins with the
/// time (UUID version 7), and any other id as it is, without `/`.
pub(super) fn short(id: &str) -> String {
    let Some(digits) = long_hex(id) else { return id.replace('/', "-") };
    let part = match digits.as_bytes().get(12) {
        Some(b'7') if digits.len() == 32 => digits.get(20..),
        _ => digits.get(..12),
    };
    part.unwrap_or(&digits).to_owned()
}

/// The digits of a hexadecimal id that has more of them than keys show; `None` for any other id.
fn long_hex(id: &str) -> Option<String> {
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    (digits.len() > 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(messages: &[(Speaker, &str)]) -> Turn {
        let mut skipped = SkippedCounts::default();
        let message =
            |&(speaker, text): &(Speaker, &str)| TurnMessage::new(speaker, None, text, &mut skipped);
        Turn { id: "t1".into(), messages: messages.iter().map(message).collect() }
    }

    fn conversation() -> Conversation {
        Conversation {
            format: "claude-code".into(),
            id: "dad2fca9-8d29-4643-b430-438ea676b135".into(),
            folder: Some("/home/ann/proj".into()),
            asker: "User".into(),
            answerer: "Claude".into(),
            ..Conversation::default()
        }
    }

    #[test]
    fn a_turn_is_one_note_with_both_speakers() {
        let turn = turn(&[
            (Speaker::Person, "Which port?"),
            (Speaker::Assistant, "Let me look."),
            (Speaker::Assistant, "5432."),
            (Speaker::Person, "Thanks\0"),
            (Speaker::Assistant, "- done\n- key AKIAIOSFODNN7QWERTYU"),
        ]);
        let mut secrets = SecretCounts::default();
        let note =
            conversation().note(&turn, &ImportOptions::default(), "import:x", &mut secrets).unwrap().draft;
        insta::assert_snapshot!(note.body.unwrap(), @r"
        User: Which port?

        Claude: Let me look.

        5432.

        User: Thanks

        Claude:

        - done
        - key [secret: aws-access-key]
        ");
        assert_eq!(note.title.as_deref(), Some("Which port?"));
        assert_eq!(note.author.as_deref(), Some("User, Claude"));
        assert_eq!(note.key.as_deref(), Some("claude-code/dad2fca98d29/t1"));
        assert_eq!(note.keywords.unwrap(), ["project:/home/ann/proj"]);
        assert_eq!(
            note.source.as_deref(),
            Some(
                "session: dad2fca9-8d29-4643-b430-438ea676b135; assistant: claude-code; folder: /home/ann/proj"
            )
        );
        assert_eq!(secrets.iter().collect::<Vec<_>>(), [("aws-access-key", 1)]);
    }

    #[test]
    fn long_messages_are_cut() {
        let mut skipped = SkippedCounts::default();
        let message = TurnMessage::new(Speaker::Person, None, &"é".repeat(MAX_MESSAGE_BYTES), &mut skipped);
        assert!(message.text.ends_with("é\n\n[32768 bytes left out]"));
        assert_eq!(skipped.iter().next().unwrap().1.bytes, 32768);
    }

    #[test]
    fn a_secret_that_crosses_the_limit_is_left_out_as_a_whole() {
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let text = format!("{} {secret}", "a ".repeat(MAX_MESSAGE_BYTES / 2 - 15));
        let message = TurnMessage::new(Speaker::Person, None, &text, &mut SkippedCounts::default());
        assert!(message.text.ends_with("a \n\n[41 bytes left out]") && !message.text.contains("ghp_"));
        let whole = format!("{}\n{secret}", "a".repeat(MAX_MESSAGE_BYTES));
        let message = TurnMessage::new(Speaker::Person, None, &whole, &mut SkippedCounts::default());
        assert!(message.text.ends_with("aa\n\n[41 bytes left out]"), "{}", message.text.len());
    }

    #[test]
    fn keys_show_a_part_of_ids() {
        let check = |id: &str, part: &str| assert_eq!(short(id), part);
        check("dad2fca9-8d29-4643-b430-438ea676b135", "dad2fca98d29");
        check("01a20971-f513-77b3-b414-80d797d9a41f", "80d797d9a41f");
        check("a37b434476a04228d", "a37b434476a0");
        check("msg_1_0", "msg_1_0");
        check("a/b", "a-b");
    }
}
