//! What a turn of a session says, by plain rules on its words: whether it has content, and which sentences state a
//! decision or something that is left open.

use crate::{chunks, speakers};
use poc_graph::{Node, one_line};

/// Words of answers such as "yes, go on, please".
const ASSENT: &[&str] = &[
    "again", "all", "and", "continue", "cool", "do", "done", "enough", "fine", "for", "go", "good", "great",
    "it", "just", "lets", "let", "next", "nice", "no", "now", "ok", "okay", "on", "one", "perfect", "please",
    "proceed", "retry", "run", "start", "stop", "sure", "thank", "thanks", "that", "the", "this", "to",
    "try", "works", "yep", "yes", "you",
];

/// Words of prompts such as "commit and push it" and "looks good, thanks". A prompt with one of them is routine or
/// polite, whatever is answered. With the words that are only in [`ASSENT`], the answer decides.
const ROUTINE: &[&str] = &[
    "branch",
    "bye",
    "changes",
    "commit",
    "everything",
    "lgtm",
    "looks",
    "main",
    "merge",
    "much",
    "origin",
    "pull",
    "push",
    "squash",
    "test",
    "tests",
    "thank",
    "thanks",
    "very",
    "well",
];

/// Minimum number of characters of an answer to a prompt of assent that has content.
const MIN_ANSWER: usize = 200;

/// What a sentence states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// A decision.
    Decision,
    /// Something that is left open.
    Open,
}

/// Labels before a colon, and headings of lists.
const LABELS: &[(&str, Statement)] = &[
    ("decided", Statement::Decision),
    ("decision", Statement::Decision),
    ("decisions", Statement::Decision),
    ("open", Statement::Open),
    ("open point", Statement::Open),
    ("open points", Statement::Open),
    ("open question", Statement::Open),
    ("open questions", Statement::Open),
    ("still open", Statement::Open),
    ("still to do", Statement::Open),
    ("todo", Statement::Open),
    ("todos", Statement::Open),
];

/// Phrases of sentences that are not questions, without punctuation.
const PHRASES: &[(&str, Statement)] = &[
    ("havent decided", Statement::Open),
    ("left open", Statement::Open),
    ("not decided", Statement::Open),
    ("open question", Statement::Open),
    ("open questions", Statement::Open),
    ("remains open", Statement::Open),
    ("still open", Statement::Open),
    ("still to do", Statement::Open),
    ("undecided", Statement::Open),
    ("it was decided", Statement::Decision),
    ("the decision is", Statement::Decision),
    ("the decision was", Statement::Decision),
    ("we agreed", Statement::Decision),
    ("we decided", Statement::Decision),
    ("we have decided", Statement::Decision),
    ("weve decided", Statement::Decision),
];

/// Phrases by which a person decides. An assistant that decides something only describes its work.
const DECISIONS_OF_A_PERSON: [&str; 3] = ["i decided", "i have decided", "ive decided"];

/// Every label and phrase contains one of these. Most lines contain none and need not be split into sentences.
const STEMS: [&str; 5] = ["agreed", "deci", "open", "to do", "todo"];

/// Phrases that say that nothing is open.
const NOTHING_OPEN: [&str; 5] =
    ["no open point", "no open points", "no open question", "no open questions", "nothing"];

/// Whether a text consists only of words of assent, so that there is nothing to look up for it.
pub fn is_assent(text: &str) -> bool {
    plain_words(text).iter().all(|word| ASSENT.contains(&word.as_str()))
}

/// Whether a turn can represent its session: its prompt is not routine, and not only assent to which little is
/// answered.
pub(super) fn has_content(turn: &Node) -> bool {
    let (mut prompt, mut answered) = (String::new(), 0);
    for Line { text, is_answer } in lines(turn) {
        if is_answer {
            answered += text.chars().count();
        } else {
            prompt.push_str(text);
            prompt.push('\n');
        }
    }
    let words = plain_words(&prompt);
    let is_in = |list: &[&str], word: &String| list.contains(&word.as_str());
    if !words.iter().all(|word| is_in(ASSENT, word) || is_in(ROUTINE, word)) {
        return true;
    }
    !words.iter().any(|word| is_in(ROUTINE, word)) && answered >= MIN_ANSWER
}

/// The sentences of a turn that state a decision or something open, in order. These are sentences that begin with a
/// label such as `Decision:` or with `TODO`, contain a phrase such as "we decided", and the items of a list below such
/// a label or a heading. Code and quotations are skipped.
pub(super) fn statements(turn: &Node, language: &str) -> Vec<(Statement, String)> {
    let mut found = Vec::new();
    let (mut heading, mut is_code, mut was_answer) = (None, false, false);
    for Line { text, is_answer } in lines(turn) {
        // A list or a block of code ends where another speaker begins.
        if is_answer != was_answer {
            (heading, is_code, was_answer) = (None, false, is_answer);
        }
        let line = text.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.is_empty() || line.starts_with(['>', '|']) {
            continue;
        }
        let item = without_list_mark(line);
        if let (Some(kind), true) = (heading, item.len() < line.len() && !line.starts_with('#')) {
            found.push((kind, one_line(item)));
            continue;
        }
        heading = heading_of(item);
        if heading.is_some() {
            continue;
        }
        let lower = item.to_lowercase();
        if !STEMS.iter().any(|stem| lower.contains(stem)) {
            continue;
        }
        for sentence in chunks::sentences(item, language) {
            let sentence = one_line(item.get(sentence).unwrap_or_default());
            if let Some(kind) = kind_of(&sentence, !is_answer) {
                found.push((kind, sentence));
            }
        }
    }
    found
}

/// A line of a turn.
struct Line<'a> {
    text: &'a str,
    is_answer: bool,
}

/// The lines of a turn without the names of the speakers, which the author of its note lists, the asker first.
fn lines(turn: &Node) -> impl Iterator<Item = Line<'_>> {
    let authors: Vec<&str> = speakers::authors(turn).collect();
    let mut is_answer = false;
    turn.body.lines().map(move |text| {
        let named = speakers::named_speaker(&authors, text);
        if let Some((place, _)) = named {
            is_answer = place > 0;
        }
        Line { text: named.map_or(text, |(_, words)| words.trim_start()), is_answer }
    })
}

/// A line without the mark of a heading, a list or a number before it.
fn without_list_mark(line: &str) -> &str {
    let text = line.trim_start_matches('#').trim_start();
    if let Some(item) = text.strip_prefix(['-', '*', '+']).and_then(|rest| rest.strip_prefix(' ')) {
        return item.trim_start();
    }
    let after_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match after_number.strip_prefix(['.', ')']) {
        Some(item) if after_number.len() < text.len() && item.starts_with(' ') => item.trim_start(),
        _ => text,
    }
}

/// The statement that the items below a line make, if the line is only a label.
fn heading_of(line: &str) -> Option<Statement> {
    let plain = without_emphasis(line);
    let label = plain.trim().trim_end_matches(':').trim_end();
    LABELS.iter().find(|(known, _)| *known == label).map(|(_, kind)| *kind)
}

/// What a sentence states, if anything.
fn kind_of(sentence: &str, by_person: bool) -> Option<Statement> {
    let plain = without_emphasis(sentence);
    let label = plain.split_once(':').map_or("", |(label, _)| label.trim());
    let words = format!(" {} ", plain_words(&plain).join(" "));
    let contains = |phrase: &str| words.contains(&format!(" {phrase} "));
    if let Some((_, kind)) = LABELS.iter().find(|(known, _)| *known == label) {
        // "Open: nothing" states nothing.
        return Some(*kind).filter(|kind| *kind == Statement::Decision || !is_nothing(&contains));
    }
    if sentence.trim_end().ends_with('?') {
        return None;
    }
    // In other sentences, the word is mostly about such marks.
    let first = sentence.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    if first == Some("TODO") {
        return Some(Statement::Open);
    }
    if by_person && DECISIONS_OF_A_PERSON.iter().any(|phrase| contains(phrase)) {
        return Some(Statement::Decision);
    }
    let (_, kind) = PHRASES.iter().find(|(phrase, _)| contains(phrase))?;
    Some(*kind).filter(|kind| *kind == Statement::Decision || !is_nothing(&contains))
}

fn is_nothing(contains: &dyn Fn(&str) -> bool) -> bool {
    NOTHING_OPEN.iter().any(|phrase| contains(phrase))
}

/// A text in lower case and without emphasis.
fn without_emphasis(text: &str) -> String {
    text.to_lowercase().replace(['*', '_', '`'], "")
}

/// The words of a text in lower case and without punctuation.
fn plain_words(text: &str) -> Vec<String> {
    let plain = |word: &str| -> String {
        word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    text.split_whitespace().map(plain).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;

    fn turn(prompt: &str, answer: &str) -> Node {
        let body = format!("User: {prompt}\n\nClaude: {answer}");
        Node { body, author: Some("User, Claude".into()), ..testing::node(1) }
    }

    #[test]
    fn every_label_and_phrase_contains_a_stem() {
        let phrases = LABELS.iter().chain(PHRASES).map(|(phrase, _)| *phrase);
        for phrase in phrases.chain(DECISIONS_OF_A_PERSON) {
            assert!(STEMS.iter().any(|stem| phrase.contains(stem)), "{phrase}");
        }
    }

    #[test]
    fn routine_turns_and_assent_have_no_content() {
        let long = "The parser is done. ".repeat(12);
        for (prompt, answer, expected) in [
            ("Which port?", "7443", true),
            ("thanks", "You are welcome.", false),
            ("commit this", "Committed.", false),
            ("Commit and push the changes, please.", long.as_str(), false),
            ("looks good, thanks!", long.as_str(), false),
            ("yes, go on", "Done.", false),
            ("yes, go on", long.as_str(), true),
            ("commit this, and explain the retry", "Done.", true),
            ("да", "Готово.", true),
        ] {
            assert_eq!(has_content(&turn(prompt, answer)), expected, "{prompt}");
        }
        assert!(is_assent("OK, do it!") && is_assent("…") && !is_assent("commit this"));
    }

    #[test]
    fn statements_are_found_by_labels_and_phrases() {
        use Statement::{Decision, Open};
        let check = |prompt: &str, answer: &str, expected: &[(Statement, &str)]| {
            let found = statements(&turn(prompt, answer), "en");
            let found: Vec<(Statement, &str)> =
                found.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
            assert_eq!(found, expected, "{prompt}\n{answer}");
        };
        check(
            "And the queue?",
            "Decision: the queue is `inv-dlq`. Still open: alerting.",
            &[(Decision, "Decision: the queue is `inv-dlq`."), (Open, "Still open: alerting.")],
        );
        check("We decided to use NATS. Go.", "Fine.", &[(Decision, "We decided to use NATS.")]);
        check("I decided to stay.", "I decided to add a test.", &[(Decision, "I decided to stay.")]);
        check(
            "Go on",
            "All pass.\n\n## Open questions\n\n- Who is on call?\n2. Which region?\n\nThat is all.",
            &[(Open, "Who is on call?"), (Open, "Which region?")],
        );
        check("We've decided: no cache.", "OK", &[(Decision, "We've decided: no cache.")]);
        check("x", "- **Decision**: one log", &[(Decision, "**Decision**: one log")]);
        check("x", "**Decision:** we keep sled.", &[(Decision, "**Decision:** we keep sled.")]);
        check("x", "TODO rotate the key", &[(Open, "TODO rotate the key")]);
        check("x", "**TODO** rotate the key", &[(Open, "**TODO** rotate the key")]);
        check("x", "The name is not decided yet.", &[(Open, "The name is not decided yet.")]);
        // Code and lists end where another speaker begins.
        check("```\nlet x = 1;", "Decision: one log.", &[(Decision, "Decision: one log.")]);
        check("What is missing?\nOpen:", "- The retry is done.", &[]);
        for none in [
            "What is still open?",
            "Was it decided that we use NATS?",
            "There are no open questions.",
            "Open: nothing.",
            "Make a todo app.",
            "Removed the last TODO.",
            "```\n# TODO later\n```",
            "> we decided to leave",
            "The file stays open: see the log.",
        ] {
            check(none, none, &[]);
        }
    }
}
