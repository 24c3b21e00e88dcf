//! Proposes quotations of messages: the sentences in which a speaker says something in the first person, with the
//! speaker's name, the day, and the question that the message answers.
//!
//! A message has greetings and remarks beside what it states, and does not repeat the question before it. A quotation
//! has only the statement and the question, so it matches later questions better.

use super::Nodes;
use crate::quotation;
use crate::selection::Handle;
use poc_graph::{Ix, Node, NodeType};
use poc_notes::speakers::{USER, authors, named_speaker};
use serde_json::{Value, json};
use std::collections::HashMap;
use unicode_segmentation::UnicodeSegmentation;

/// Minimum words of a quoted sentence. Shorter ones are mostly remarks, such as `I see!`.
const MIN_WORDS: usize = 5;
/// Minimum words of the questions before a message. `And you?` says nothing about the answer.
const MIN_QUESTION_WORDS: usize = 4;
/// Maximum characters of the questions. Earlier ones are left out.
const MAX_QUESTION_CHARS: usize = 200;

/// Words of a speaker about themselves, in lower case. They are English: few sentences in other languages have one.
const FIRST_PERSON: [&str; 16] = [
    "i", "i'm", "i've", "i'd", "i'll", "my", "mine", "me", "myself", "we", "we're", "we've", "we'd", "we'll",
    "our", "ours",
];

/// Speakers that are not people, in lower case. What they say in the first person is about the work at hand.
const ASSISTANTS: [&str; 14] = [
    "agent",
    "ai",
    "assistant",
    "bot",
    "chatgpt",
    "claude",
    "codex",
    "copilot",
    "gemini",
    "gpt",
    "model",
    "subagent",
    "system",
    "tool",
];

/// What one speaker of a message states.
pub(super) struct Quote<'a> {
    message: &'a Handle,
    speaker: &'a str,
    title: String,
    body: String,
}

/// A quotation whose message no longer has the text.
pub(super) struct OutdatedQuote<'a> {
    message: &'a Handle,
    quote: &'a Handle,
}

impl Quote<'_> {
    /// The action of a reply that inserts the quotation.
    pub(super) fn insertion(&self) -> Value {
        let reason = format!("{} says this in the first person", self.speaker);
        json!({"reason": reason, "key": "", "title": self.title, "body": self.body, "keywords": [],
               "sources": [self.message.name]})
    }
}

impl OutdatedQuote<'_> {
    /// The action of a reply that replaces the quotation by its message.
    pub(super) fn supersession(&self) -> Value {
        json!({"reason": "the message no longer has this text", "node": self.quote.name, "by": self.message.name,
               "key": "", "title": "", "body": "", "sources": []})
    }
}

/// The quotations of what speakers state in selected messages, without those that exist, and the quotations whose
/// messages have changed. A quotation has at most `max_chars` characters.
pub(super) fn find<'a>(nodes: &Nodes<'a>, max_chars: usize) -> (Vec<Quote<'a>>, Vec<OutdatedQuote<'a>>) {
    let (selection, view) = (nodes.selection, &nodes.selection.view);
    let (mut quotes, mut outdated) = (Vec::new(), Vec::new());
    // The last speech of each session, and the message that it is part of.
    let mut before: HashMap<usize, (Ix, Speech<'a>)> = HashMap::new();
    let is_message = |handle: &&Handle| NodeType::is_episodic_kind(&handle.node.node_type.0);
    for message in selection.selected().filter(is_message) {
        let session = selection.sessions.get(&message.ix);
        let is_quote = |handle: &&Handle| {
            handle.is_derived
                && view.is_quotation(handle.ix)
                && view.sources(handle.ix).any(|source| source == message.ix)
        };
        let (known, changed): (Vec<&Handle>, Vec<&Handle>) = selection
            .handles
            .iter()
            .filter(is_quote)
            .partition(|quote| quotation::is_of(&quote.node.body, &message.node));
        outdated.extend(changed.into_iter().map(|quote| OutdatedQuote { message, quote }));
        for speech in speeches(&message.node) {
            // Messages between the two may not be selected, for example because they were read earlier.
            let is_next =
                |ix: Ix| ix == message.ix || view.sequence_neighbors(message.ix).any(|other| other == ix);
            let question = session
                .and_then(|session| before.get(session))
                .filter(|(ix, before)| before.speaker != speech.speaker && is_next(*ix))
                .and_then(|(_, before)| before.questions());
            let is_quoted = known.iter().any(|quote| speech.is_in(&quote.node.body));
            if !is_quoted && let Some(body) = speech.statement(&message.node, question.is_some(), max_chars) {
                let title = title(speech.speaker, &message.node, question.as_deref());
                quotes.push(Quote { message, speaker: speech.speaker, title, body });
            }
            if let Some(&session) = session {
                before.insert(session, (message.ix, speech));
            }
        }
    }
    (quotes, outdated)
}

/// Who says it, when, and to which question.
fn title(speaker: &str, message: &Node, question: Option<&str>) -> String {
    let day = message.created.utc().map(|at| at.format("%-d %B %Y").to_string());
    poc_graph::quotation_title(speaker, day.as_deref(), question)
}

/// What one speaker says without a break.
struct Speech<'a> {
    speaker: &'a str,
    sentences: Vec<&'a str>,
}

impl Speech<'_> {
    /// The questions in it that have enough words, the last ones if they are long.
    fn questions(&self) -> Option<String> {
        let mut questions: Vec<&str> = Vec::new();
        let mut chars = 0;
        for sentence in self.sentences.iter().rev().filter(|sentence| is_question(sentence)) {
            chars += sentence.chars().count() + 1;
            if chars > MAX_QUESTION_CHARS {
                break;
            }
            questions.push(sentence);
        }
        questions.reverse();
        let text = questions.join(" ");
        (text.unicode_words().count() >= MIN_QUESTION_WORDS).then_some(text)
    }

    /// Whether a quotation has one of the sentences in the first person.
    fn is_in(&self, quotation: &str) -> bool {
        self.sentences.iter().any(|sentence| is_statement(sentence) && quotation.contains(*sentence))
    }

    /// The quotation of the sentences in the first person; `None` if there are none, or if it would be the whole speech
    /// and answers no question.
    fn statement(&self, message: &Node, is_answer: bool, max_chars: usize) -> Option<String> {
        if is_assistant(self.speaker, message) {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        let mut body = String::new();
        let mut is_whole = true;
        for sentence in &self.sentences {
            if !is_statement(sentence) {
                is_whole = false;
                continue;
            }
            // Without a mark of an omission where nothing is left out.
            let joined = parts.last().map(|last| format!("{last} {sentence}"));
            match (joined.filter(|joined| message.body.contains(joined.as_str())), parts.last_mut()) {
                (Some(joined), Some(last)) => *last = joined,
                _ => parts.push((*sentence).to_owned()),
            }
            let longer = quotation::body(&parts);
            if longer.chars().count() > max_chars {
                is_whole = false;
                break;
            }
            body = longer;
        }
        (!body.is_empty() && (is_answer || !is_whole)).then_some(body)
    }
}

/// Whether a speaker is not a person. An assistant may have any name; the person who talks to it is [`USER`].
fn is_assistant(speaker: &str, message: &Node) -> bool {
    ASSISTANTS.contains(&speaker.to_lowercase().as_str())
        || speaker != USER && authors(message).any(|author| author == USER)
}

/// The speeches of a message by its author, or of a turn by several authors, whose names stand before their words. Code
/// and quoted lines are left out.
fn speeches(message: &Node) -> Vec<Speech<'_>> {
    let authors: Vec<&str> = authors(message).collect();
    let mut speeches: Vec<Speech<'_>> = Vec::new();
    if let [author] = authors.as_slice() {
        speeches.push(Speech { speaker: author, sentences: Vec::new() });
    }
    let mut is_code = false;
    for line in message.body.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.trim_start().starts_with(['`', '>', '|']) {
            continue;
        }
        let text = match named_speaker(&authors, line) {
            Some((place, text)) => {
                let Some(&speaker) = authors.get(place) else { continue };
                if speeches.last().is_none_or(|speech| speech.speaker != speaker) {
                    speeches.push(Speech { speaker, sentences: Vec::new() });
                }
                text
            }
            None => line,
        };
        if let Some(speech) = speeches.last_mut() {
            speech
                .sentences
                .extend(text.unicode_sentences().map(without_remark).filter(|sentence| !sentence.is_empty()));
        }
    }
    speeches.retain(|speech| !speech.sentences.is_empty());
    speeches
}

/// A sentence without a remark in brackets at its end, such as `[shares a photo]`.
fn without_remark(sentence: &str) -> &str {
    let sentence = sentence.trim();
    match sentence.rfind('[') {
        Some(start) if sentence.ends_with(']') => sentence.get(..start).unwrap_or(sentence).trim_end(),
        _ => sentence,
    }
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(['"', '”', '\'', ')']).ends_with('?')
}

/// Whether a sentence states something in the first person.
fn is_statement(sentence: &str) -> bool {
    let words: Vec<String> =
        sentence.unicode_words().map(|word| word.replace('’', "'").to_lowercase()).collect();
    words.len() >= MIN_WORDS
        && !is_question(sentence)
        && words.iter().any(|word| FIRST_PERSON.contains(&word.as_str()))
}
