//! Transcripts in the form that the assistants write, from generated conversations.

use crate::import::{
    CaptureOptions, ImportOptions, ImportReport, ImportSource, SourceLocation, TranscriptSource,
    assistant_of, capture, import, session_key,
};
use crate::testing::TestMemory;
use crate::{delete, supersede};
use poc_graph::Node;
use poc_store::Transaction;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const SESSION: &str = "5e0a1b2c-3d4e-4f60-8a9b-0c1d2e3f4a5b";
const THREAD: &str = "01a20971-f513-77b3-b414-80d797d9a41f";

/// A turn of a generated conversation.
#[derive(Clone, Debug)]
struct GeneratedTurn {
    prompt: String,
    answers: Vec<String>,
    /// Other events in the turn.
    other: OtherEvents,
    /// Whether the person goes back afterwards and asks something else.
    abandoned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OtherEvents {
    None,
    Tools,
    Compaction,
    Command,
    Machine,
}

/// Writes the lines of a transcript.
struct Writer {
    lines: Vec<Value>,
    number: u64,
    /// The line that the next one follows.
    tip: Option<String>,
}

impl Writer {
    fn new() -> Writer {
        Writer { lines: Vec::new(), number: 0, tip: None }
    }

    fn id(&mut self) -> String {
        self.number += 1;
        format!("{:08x}-1111-4222-8333-{:012x}", self.number * 2_654_435_761 % 0xffff_ffff, self.number)
    }

    fn time(&self) -> String {
        format!("2026-11-20T10:{:02}:{:02}.000Z", self.number / 60 % 60, self.number % 60)
    }

    /// A line of Claude Code's tree.
    fn claude(&mut self, fields: Value) -> String {
        let id = self.id();
        let mut line = json!({
            "parentUuid": self.tip, "isSidechain": false, "uuid": id, "timestamp": self.time(), "userType": "external",
            "cwd": "/home/eve/shop", "sessionId": SESSION, "version": "2.1.330", "gitBranch": "HEAD",
        });
        for (name, value) in fields.as_object().unwrap() {
            line[name] = value.clone();
        }
        self.lines.push(line);
        self.tip = Some(id.clone());
        id
    }

    fn claude_block(&mut self, block: Value) {
        self.claude(
            json!({"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "content": [block]}}),
        );
    }

    fn claude_talk(&mut self, talk: &GeneratedTurn) -> String {
        let before = self.tip.clone();
        let prompt =
            self.claude(json!({"type": "user", "message": {"role": "user", "content": talk.prompt}}));
        self.claude(json!({"type": "attachment", "attachment": {"type": "date", "date": "2026-11-20"}}));
        self.lines
            .push(json!({"type": "api-request-blob", "sessionId": SESSION, "message": "of another type"}));
        match talk.other {
            OtherEvents::None => {}
            OtherEvents::Tools => {
                self.claude_block(
                    json!({"type": "thinking", "thinking": "I should look.", "signature": "x"}),
                );
                self.claude_block(
                    json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.rs"}}),
                );
                self.claude(json!({"type": "user", "message": {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "fn main() {}"}]},
                ]}}));
                self.lines.push(json!({"type": "last-prompt", "sessionId": SESSION, "leafUuid": self.tip}));
            }
            OtherEvents::Compaction => {
                let tip = self.tip.take();
                self.claude(json!({
                    "type": "system", "subtype": "compact_boundary", "logicalParentUuid": tip,
                    "compactMetadata": {"trigger": "auto"},
                }));
                self.claude(json!({"type": "user", "isCompactSummary": true, "message": {
                    "role": "user", "content": "This session is being continued from a previous conversation.",
                }}));
            }
            OtherEvents::Command => {
                self.claude(json!({"type": "user", "isMeta": true, "message": {
                    "role": "user", "content": "<local-command-caveat>not for you</local-command-caveat>",
                }}));
                self.claude(json!({"type": "user", "message": {
                    "role": "user", "content": "<local-command-stdout>done</local-command-stdout>",
                }}));
            }
            OtherEvents::Machine => {
                self.claude(json!({"type": "user", "message": {
                    "role": "user", "content": "<task-notification>agent a1 has ended</task-notification>",
                }}));
            }
        }
        for answer in &talk.answers {
            self.claude_block(json!({"type": "text", "text": answer}));
        }
        self.claude(json!({"type": "system", "subtype": "stop_hook_summary", "hookCount": 1}));
        if talk.abandoned {
            self.tip = before;
        }
        prompt
    }

    fn codex(&mut self, kind: &str, payload: Value) {
        let line = json!({
            "timestamp": self.time(), "ordinal": self.lines.len(), "type": kind, "payload": payload,
        });
        self.lines.push(line);
        self.number += 1;
    }

    fn codex_message(&mut self, role: &str, turn: &str, text: &str) {
        let (id, part) = (self.id(), if role == "assistant" { "output_text" } else { "input_text" });
        self.codex(
            "response_item",
            json!({
                "type": "message", "id": id, "role": role, "content": [{"type": part, "text": text}],
                "internal_chat_message_metadata_passthrough": {"turn_id": turn},
            }),
        );
        self.codex("event_msg", json!({"type": "item_completed", "item": {"content": [{"text": text}]}}));
    }

    fn codex_talk(&mut self, talk: &GeneratedTurn) -> String {
        if self.lines.is_empty() {
            self.codex(
                "session_meta",
                json!({"id": THREAD, "cwd": "/home/eve/shop", "originator": "codex_cli"}),
            );
            self.codex_message("developer", "t0", "<skills_instructions>many</skills_instructions>");
            self.codex_message(
                "user",
                "t0",
                "<environment_context><cwd>/home/eve/shop</cwd></environment_context>",
            );
        }
        let turn = self.id();
        self.codex_message("user", &turn, &talk.prompt);
        match talk.other {
            OtherEvents::Tools => {
                self.codex("response_item", json!({"type": "reasoning", "summary": [{"text": "Look"}]}));
                self.codex(
                    "response_item",
                    json!({"type": "function_call", "name": "exec", "arguments": "{}"}),
                );
                self.codex(
                    "response_item",
                    json!({"type": "function_call_output", "output": "fn main() {}"}),
                );
            }
            OtherEvents::Compaction => self.codex("compacted", json!({"message": "what was said before"})),
            _ => self.codex("event_msg", json!({"type": "token_count", "info": {}})),
        }
        for answer in &talk.answers {
            self.codex_message("assistant", &turn, answer);
        }
        if talk.abandoned {
            self.codex("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1}));
        }
        turn
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The transcript of a conversation, and the ids of its turns.
fn transcript(assistant: TranscriptSource, talks: &[GeneratedTurn]) -> (String, Vec<String>) {
    let mut writer = Writer::new();
    let turns = talks.iter().map(|talk| match assistant {
        TranscriptSource::ClaudeCode => writer.claude_talk(talk),
        TranscriptSource::Codex => writer.codex_talk(talk),
    });
    let turns = turns.collect();
    (writer.text(), turns)
}

fn session(assistant: TranscriptSource) -> &'static str {
    match assistant {
        TranscriptSource::ClaudeCode => SESSION,
        TranscriptSource::Codex => THREAD,
    }
}

fn key(assistant: TranscriptSource, turn: &str) -> String {
    let turn: String = turn.chars().filter(|c| *c != '-').take(12).collect();
    format!("{}{turn}", session_key(assistant, session(assistant)))
}

fn text() -> impl Strategy<Value = String> {
    "[a-z]{2,9}( [a-z]{2,9}){0,6}[.?]?"
}

fn talks() -> impl Strategy<Value = Vec<GeneratedTurn>> {
    let other = prop_oneof![
        Just(OtherEvents::None),
        Just(OtherEvents::Tools),
        Just(OtherEvents::Compaction),
        Just(OtherEvents::Command),
        Just(OtherEvents::Machine)
    ];
    let talk = (text(), proptest::collection::vec(text(), 0..4), other, proptest::bool::weighted(0.15));
    proptest::collection::vec(talk, 1..9).prop_map(|talks| {
        let last = talks.len() - 1;
        let talk = |(number, (prompt, answers, other, abandoned))| GeneratedTurn {
            // Two turns with the same text would be one note.
            prompt: format!("{prompt} {number}"),
            answers,
            other,
            abandoned: abandoned && number < last,
        };
        talks.into_iter().enumerate().map(talk).collect()
    })
}

fn assistant() -> impl Strategy<Value = TranscriptSource> {
    prop_oneof![Just(TranscriptSource::ClaudeCode), Just(TranscriptSource::Codex)]
}

fn file(memory: &TestMemory, text: &str) -> PathBuf {
    let file = memory.folder().join("session.jsonl");
    fs::write(&file, text).unwrap();
    file
}

fn take(memory: &TestMemory, path: &Path) -> ImportReport {
    let source = ImportSource::Path(path.to_owned());
    import(memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap()
}

/// Checks that the memory holds the turns that were not abandoned, in their order.
fn check(memory: &TestMemory, assistant: TranscriptSource, talks: &[GeneratedTurn], turns: &[String]) {
    let kept: Vec<(&GeneratedTurn, String)> = talks
        .iter()
        .zip(turns)
        .filter(|(talk, _)| !talk.abandoned)
        .map(|(talk, turn)| (talk, key(assistant, turn)))
        .collect();
    let answerer = if assistant == TranscriptSource::Codex { "Codex" } else { "Claude" };
    for (at, (talk, key)) in kept.iter().enumerate() {
        let note: Node = memory.find(key).unwrap();
        let mut expected_body = format!("User: {}", talk.prompt);
        for (number, answer) in talk.answers.iter().enumerate() {
            expected_body += "\n\n";
            if number == 0 {
                expected_body += &format!("{answerer}: ");
            }
            expected_body += answer;
        }
        assert_eq!(note.body, expected_body);
        assert_eq!(note.node_type.0, "episodic");
        assert_eq!(note.title, poc_graph::title_of(&talk.prompt).unwrap());
        let around = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let mut expected: Vec<String> =
            around.filter_map(|near| kept.get(near)).map(|(_, key)| key.clone()).collect();
        expected.sort();
        assert_eq!(memory.session_neighbors(key), expected, "{key}");
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The stored turns equal the conversation, in order, and a second import changes nothing.
    #[test]
    fn a_transcript_becomes_its_turns(assistant in assistant(), talks in talks()) {
        let memory = TestMemory::new();
        let (text, turns) = transcript(assistant, &talks);
        let path = file(&memory, &text);
        let report = take(&memory, &path);
        prop_assert!(report.failed.is_empty(), "{:?}", report.failed);
        prop_assert_eq!(report.formats.keys().collect::<Vec<_>>(), [assistant.name()]);
        let kept = talks.iter().filter(|talk| !talk.abandoned).count() as u64;
        prop_assert_eq!(report.inserted, kept);
        check(&memory, assistant, &talks, &turns);
        let seq = memory.store.view().seq;
        let again = take(&memory, &path);
        prop_assert_eq!([again.inserted, again.updated, again.duplicates], [0, 0, kept]);
        prop_assert_eq!(memory.store.view().seq, seq, "nothing was written");
    }

    /// Captures of a growing transcript, cut at any position, give the same notes as one import of the whole
    /// file.
    #[test]
    fn captures_equal_one_import(
        assistant in assistant(),
        talks in talks(),
        cuts in proptest::collection::vec(0.0f64..1.0, 0..6),
    ) {
        let memory = TestMemory::new();
        let (text, turns) = transcript(assistant, &talks);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut * text.len() as f64) as usize).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        for cut in cuts {
            let path = file(&memory, &text[..cut]);
            match capture(&memory, &path, &CaptureOptions::default()) {
                Ok(report) => prop_assert!(report.failed.is_empty(), "{:?}", report.failed),
                // The first line is not complete yet.
                Err(error) => prop_assert_eq!(assistant_of(&path), None, "{}", error),
            }
        }
        check(&memory, assistant, &talks, &turns);
        let seq = memory.store.view().seq;
        let again = capture(&memory, &file(&memory, &text), &CaptureOptions::default()).unwrap();
        prop_assert_eq!([again.inserted, again.updated], [0, 0]);
        prop_assert_eq!(memory.store.view().seq, seq, "nothing was written");
    }
}

/// Deletes the note of a turn.
fn delete_turn(memory: &TestMemory, key: &str) {
    let id = memory.find(key).unwrap().id;
    let cause = memory.cause("manual", "delete");
    let now = cause.at;
    memory.store.transact(cause, |tx| delete::apply(tx, id, now)).unwrap();
}

#[test]
fn a_turn_that_was_deleted_stays_deleted_while_its_session_continues() {
    for assistant in [TranscriptSource::ClaudeCode, TranscriptSource::Codex] {
        let memory = TestMemory::new();
        let mut talks = vec![talk("Which port?", "It is 5432."), talk("Which database?", "It is sled.")];
        let capture_all = |talks: &[GeneratedTurn]| {
            let (text, turns) = transcript(assistant, talks);
            let report = capture(&memory, &file(&memory, &text), &CaptureOptions::default()).unwrap();
            assert!(report.failed.is_empty(), "{:?}", report.failed);
            turns.iter().map(|turn| key(assistant, turn)).collect::<Vec<_>>()
        };
        let keys = capture_all(&talks);
        keys.iter().for_each(|key| delete_turn(&memory, key));
        // The answer of the deleted turn grows, and the next turns follow.
        talks[1].answers.push("With one tree.".into());
        capture_all(&talks);
        talks.push(talk("Which compression?", "It is LZ4."));
        let keys = capture_all(&talks);
        let is_stored = |key: &String| memory.find(key).is_ok();
        assert_eq!(keys.iter().map(is_stored).collect::<Vec<_>>(), [false, false, true], "{assistant:?}");
        // The person goes back, so the whole transcript is read.
        talks[2].abandoned = true;
        talks.push(talk("Which checksum?", "It is CRC-32C."));
        let keys = capture_all(&talks);
        let stored: Vec<bool> = keys.iter().map(is_stored).collect();
        assert_eq!((&stored[..2], stored[3]), (&[false, false][..], true), "{assistant:?}");
    }
}

#[test]
fn a_turn_after_one_that_cannot_be_stored_stays_deleted() {
    let memory = TestMemory::new();
    let assistant = TranscriptSource::ClaudeCode;
    let mut talks = vec![talk("Which port?", "It is 5432.")];
    let capture_all = |talks: &[GeneratedTurn]| {
        let (text, turns) = transcript(assistant, talks);
        let report = capture(&memory, &file(&memory, &text), &CaptureOptions::default()).unwrap();
        (report.failed.len(), turns.iter().map(|turn| key(assistant, turn)).collect::<Vec<_>>())
    };
    let (_, keys) = capture_all(&talks);
    let old = memory.find(&keys[0]).unwrap().id;
    let new = memory.insert(crate::testing::draft("The port is 5433.")).unwrap().id;
    let (cause, config) = (memory.cause("manual", "supersede"), &memory.config);
    let now = cause.at;
    let replace =
        |tx: &mut Transaction<'_>| supersede::apply(tx, old, new, "manual", "it changed", config, now);
    memory.store.transact(cause, replace).unwrap();
    // The turn grows, but its note was replaced.
    talks[0].answers.push("Or 5434.".into());
    talks.push(talk("Which database?", "It is sled."));
    let (failed, keys) = capture_all(&talks);
    assert_eq!((failed, memory.find(&keys[1]).is_ok()), (1, true));
    delete_turn(&memory, &keys[1]);
    talks.push(talk("Which compression?", "It is LZ4."));
    let (_, keys) = capture_all(&talks);
    assert_eq!([1, 2].map(|turn| memory.find(&keys[turn]).is_ok()), [false, true]);
}

#[test]
fn a_turn_whose_deletion_was_undone_grows_again() {
    let memory = TestMemory::new();
    let assistant = TranscriptSource::ClaudeCode;
    let mut talks = vec![talk("Which port?", "It is 5432.")];
    let capture_all = |talks: &[GeneratedTurn]| {
        let (text, turns) = transcript(assistant, talks);
        capture(&memory, &file(&memory, &text), &CaptureOptions::default()).unwrap();
        key(assistant, &turns[0])
    };
    let key = capture_all(&talks);
    let node = memory.find(&key).unwrap();
    delete_turn(&memory, &key);
    memory.store.transact(memory.cause("manual", "undo"), |tx| tx.put_node(&node)).unwrap();
    talks[0].answers.push("Or 5433.".into());
    capture_all(&talks);
    let grown = memory.find(&key).unwrap();
    assert!(grown.id == node.id && grown.body.ends_with("Or 5433."), "{}", grown.body);
}

#[test]
fn a_deleted_turn_that_was_imported_again_grows_with_its_session() {
    for assistant in [TranscriptSource::ClaudeCode, TranscriptSource::Codex] {
        let memory = TestMemory::new();
        let mut talks = vec![talk("Which port?", "It is 5432.")];
        let write = |talks: &[GeneratedTurn]| {
            let (text, turns) = transcript(assistant, talks);
            (file(&memory, &text), key(assistant, &turns[0]))
        };
        let (path, key) = write(&talks);
        capture(&memory, &path, &CaptureOptions::default()).unwrap();
        delete_turn(&memory, &key);
        assert_eq!(take(&memory, &path).inserted, 1, "{assistant:?}");
        for answer in ["Or 5433.", "Or 5434."] {
            talks[0].answers.push(answer.into());
            capture(&memory, &write(&talks).0, &CaptureOptions::default()).unwrap();
            let body = memory.find(&key).unwrap().body;
            assert!(body.ends_with(answer), "{assistant:?}: {body}");
        }
    }
}

#[test]
fn a_transcript_that_a_longer_one_replaced_is_read_from_its_beginning() {
    for assistant in [TranscriptSource::ClaudeCode, TranscriptSource::Codex] {
        let memory = TestMemory::new();
        let (before, _) = transcript(assistant, &[talk("one", "1"), talk("two", "2")]);
        capture(&memory, &file(&memory, &before), &CaptureOptions::default()).unwrap();
        let prompts = ["Which port does the gateway use?", "Which database?", "Which compression?"];
        let (after, turns) = transcript(assistant, &prompts.map(|prompt| talk(prompt, "It is open.")));
        assert!(after.len() > before.len());
        let report = capture(&memory, &file(&memory, &after), &CaptureOptions::default()).unwrap();
        assert!(report.failed.is_empty() && report.first_line == 1, "{report:?}");
        for (prompt, turn) in prompts.iter().zip(&turns) {
            let body = memory.find(&key(assistant, turn)).unwrap().body;
            assert!(body.contains(prompt), "{assistant:?}: {body}");
        }
    }
}

#[test]
fn a_session_that_begins_with_a_large_picture_is_captured() {
    let memory = TestMemory::new();
    let mut writer = Writer::new();
    let picture = json!({"type": "image", "source": {"type": "base64", "data": "A".repeat(300 << 10)}});
    let content = json!([{"type": "text", "text": "What is this?"}, picture]);
    let turn = writer.claude(json!({"type": "user", "message": {"role": "user", "content": content}}));
    writer.claude_block(json!({"type": "text", "text": "A gutter."}));
    let path = file(&memory, &writer.text());
    assert_eq!(assistant_of(&path), Some(TranscriptSource::ClaudeCode));
    let report = capture(&memory, &path, &CaptureOptions::default()).unwrap();
    assert_eq!((report.inserted, report.failed.len()), (1, 0));
    let note = memory.find(&key(TranscriptSource::ClaudeCode, &turn)).unwrap();
    assert_eq!(note.body, "User: What is this?\n\nClaude: A gutter.");
    let imported = TestMemory::new();
    let report = take(&imported, &file(&imported, &writer.text()));
    assert_eq!((report.inserted, report.failed.len()), (1, 0));
}

#[test]
fn a_capture_that_finds_nothing_new_does_not_write_the_position() {
    let memory = TestMemory::new();
    let (text, _) = transcript(TranscriptSource::ClaudeCode, &[talk("Which port?", "It is 5432.")]);
    let capture_text =
        |text: &str| capture(&memory, &file(&memory, text), &CaptureOptions::default()).unwrap();
    capture_text(&text);
    let position = fs::read_dir(memory.paths.transcripts()).unwrap().next().unwrap().unwrap().path();
    // The same position in another form.
    let saved = format!("{}\n", fs::read_to_string(&position).unwrap());
    fs::write(&position, &saved).unwrap();
    assert!(capture_text(&format!("{text}{{\"unfinished\": ")).is_read);
    assert_eq!(fs::read_to_string(&position).unwrap(), saved);
}

fn talk(prompt: &str, answer: &str) -> GeneratedTurn {
    GeneratedTurn {
        prompt: prompt.into(),
        answers: vec![answer.into()],
        other: OtherEvents::Tools,
        abandoned: false,
    }
}

#[test]
fn notes_say_where_they_come_from() {
    let memory = TestMemory::new();
    let (text, turns) = transcript(TranscriptSource::ClaudeCode, &[talk("Which port?", "It is 5432.")]);
    let report = take(&memory, &file(&memory, &text));
    let note = memory.find(&key(TranscriptSource::ClaudeCode, &turns[0])).unwrap();
    assert_eq!(note.author.as_deref(), Some("User, Claude"));
    assert_eq!(
        note.source.as_deref(),
        Some("session: 5e0a1b2c-3d4e-4f60-8a9b-0c1d2e3f4a5b; assistant: claude-code; folder: /home/eve/shop")
    );
    assert_eq!(note.created.to_string(), "2026-11-20T10:00:01.000Z");
    assert_eq!(note.keywords, ["project:/home/eve/shop"]);
    assert_eq!(skipped(&report), ["thoughts 1 14", "tool calls 1 4", "tool results 1 16"]);
}

/// The kinds that were left out, with their numbers and bytes.
fn skipped(report: &ImportReport) -> Vec<String> {
    report
        .skipped
        .iter()
        .map(|(kind, skipped)| format!("{kind} {} {}", skipped.count, skipped.bytes))
        .collect()
}

#[test]
fn what_no_person_typed_is_counted() {
    let memory = TestMemory::new();
    let mut writer = Writer::new();
    writer.claude_talk(&talk("Which port?", "It is 5432."));
    writer.claude(json!({"type": "user", "message": {
        "role": "user", "content": "<system-reminder>Be kind.</system-reminder>Thanks",
    }}));
    writer.claude(json!({"type": "attachment", "attachment": {"type": "file", "content": "fn main() {}"}}));
    writer.claude(json!({"type": "attachment", "attachment": {
        "type": "queued_command", "prompt": "done", "commandMode": "task-notification",
    }}));
    writer.claude(json!({"type": "system", "subtype": "local_command", "content": "failed"}));
    let report = take(&memory, &file(&memory, &writer.text()));
    assert_eq!(report.inserted, 2);
    let expected = [
        "attachments 1 16",
        "messages of the program 3 53",
        "thoughts 1 14",
        "tool calls 1 4",
        "tool results 1 16",
    ];
    assert_eq!(skipped(&report), expected);
}

#[test]
fn secrets_are_replaced_unless_allowed() {
    let (text, turns) =
        transcript(TranscriptSource::Codex, &[talk("use AKIAIOSFODNN7QWERTYU", "password=hunter2 is set")]);
    let key = key(TranscriptSource::Codex, &turns[0]);
    let memory = TestMemory::new();
    let report = capture(&memory, &file(&memory, &text), &CaptureOptions::default()).unwrap();
    let note = memory.find(&key).unwrap();
    assert_eq!(note.title, "use [secret: aws-access-key]");
    // An import by hand has another op, so an undo without a number skips a capture.
    assert_eq!(memory.store.history(note.id).unwrap()[0].cause.op, "capture");
    assert!(note.body.ends_with("password=[secret: password] is set"), "{}", note.body);
    assert_eq!(report.secrets.iter().collect::<Vec<_>>(), [("aws-access-key", 1), ("password", 1)]);
    let memory = TestMemory::new();
    let report = capture(&memory, &file(&memory, &text), &CaptureOptions { allow_secrets: true }).unwrap();
    assert!(report.secrets.is_empty());
    assert!(memory.find(&key).unwrap().body.contains("hunter2"));
}

#[test]
fn a_subagent_is_a_session_of_its_own() {
    let memory = TestMemory::new();
    let mut writer = Writer::new();
    writer.claude_talk(&talk("Find the bug", "It is in the lexer."));
    for line in &mut writer.lines {
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("a37b434476a04228d");
    }
    let folder = memory.folder().join("projects/-home-eve-shop");
    let (main, _) =
        transcript(TranscriptSource::ClaudeCode, &[talk("What is wrong?", "An agent looks for it.")]);
    fs::create_dir_all(folder.join(SESSION).join("subagents")).unwrap();
    fs::write(folder.join(format!("{SESSION}.jsonl")), main).unwrap();
    fs::write(folder.join(SESSION).join("subagents/agent-a37b434476a04228d.jsonl"), writer.text()).unwrap();
    fs::write(folder.join(SESSION).join("subagents/agent-a37b434476a04228d.meta.json"), "{\n \"a\": 1\n}")
        .unwrap();
    let report = take(&memory, &memory.folder().join("projects"));
    assert_eq!((report.inserted, report.failed.len()), (2, 0), "{:?}", report.failed);
    let note = |title: &str| {
        let view = memory.store.view();
        let mut notes = (0..view.slots()).map(|ix| memory.find(view.key(ix)).unwrap());
        notes.find(|note| note.title == title).unwrap()
    };
    let found = note("Find the bug");
    assert_eq!(found.body, "Claude: Find the bug\n\nSubagent: It is in the lexer.");
    assert!(found.key.starts_with("claude-code/5e0a1b2c3d4e/a37b434476a0/"), "{}", found.key);
    assert!(memory.session_neighbors(&found.key).is_empty());
}

#[test]
fn commands_count_if_they_are_answered() {
    let memory = TestMemory::new();
    let mut writer = Writer::new();
    let command = |name: &str, arguments: &str| {
        json!({"type": "user", "message": {"role": "user", "content": format!(
            "<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n<command-args>{arguments}</command-args>"
        )}})
    };
    writer.claude(command("clear", ""));
    let review = writer.claude(command("review", "the parser"));
    writer.claude_block(json!({"type": "text", "text": "It is fine."}));
    writer.claude(command("compact", "keep names"));
    writer.claude(
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and the lexer"}}),
    );
    let report = take(&memory, &file(&memory, &writer.text()));
    assert_eq!(report.inserted, 1);
    let note = memory.find(&key(TranscriptSource::ClaudeCode, &review)).unwrap();
    assert_eq!(note.body, "User: /review the parser\n\nClaude: It is fine.");
}

#[test]
fn a_prompt_that_was_queued_with_a_picture_belongs_to_the_turn() {
    let memory = TestMemory::new();
    let mut writer = Writer::new();
    let turn = writer.claude_talk(&talk("Which port?", "It is 5432."));
    let prompt = json!([{"type": "text", "text": "And here?"}, {"type": "image", "source": {}}]);
    writer.claude(json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": prompt}}));
    let report = take(&memory, &file(&memory, &writer.text()));
    assert!(skipped(&report).contains(&"pictures 1 0".to_owned()), "{:?}", skipped(&report));
    let note = memory.find(&key(TranscriptSource::ClaudeCode, &turn)).unwrap();
    assert_eq!(note.body, "User: Which port?\n\nClaude: It is 5432.\n\nUser: And here?");
}

#[test]
fn bad_lines_are_named_and_the_others_are_imported() {
    let memory = TestMemory::new();
    let (text, _) = transcript(TranscriptSource::ClaudeCode, &[talk("one", "1"), talk("two", "2")]);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(1, "{\"type\": \"user\", \"uuid\": 7, \"sessionId\": \"x\"}");
    lines.insert(3, "{\"type\": \"user\"");
    lines.insert(5, "\u{1}");
    let path = file(&memory, &(lines.join("\n") + "\n{\"unfinished\": "));
    let report = take(&memory, &path);
    assert_eq!(report.inserted, 2);
    let failed: String = report.failed.iter().map(|(place, error)| format!("{place}: {error}\n")).collect();
    insta::assert_snapshot!(failed, @r"
    line 2: it is not a line of a transcript: invalid type: integer `7`, expected a string at column 26
    line 4: it is not JSON: EOF while parsing an object at column 15
    line 6: it is not JSON: expected value at column 1
    ");
    assert!(report.skipped.iter().any(|(kind, _)| kind == "unfinished last line"));
    assert_eq!(report.failed[0].0, SourceLocation::Line(2));
}

#[test]
fn the_error_of_a_line_does_not_contain_its_texts() {
    let memory = TestMemory::new();
    let (text, _) = transcript(TranscriptSource::ClaudeCode, &[talk("one", "1")]);
    let line = json!({
        "type": "user", "uuid": "7", "sessionId": SESSION,
        "message": "The password is hunter2, expected at line 3.",
    });
    let report = take(&memory, &file(&memory, &format!("{text}{line}\n")));
    let [(_, error)] = &report.failed[..] else { panic!("{:?}", report.failed) };
    assert!(
        error.message.contains("invalid type: string, expected struct LineMessage at column "),
        "{error}"
    );
}

/// Keys show only a part of an id.
#[test]
fn turns_whose_ids_begin_alike_are_all_kept() {
    let id = |number: u32| format!("5e0a1b2c-3d4e-4f60-8a9b-{number:012x}");
    let line = |number: u32| {
        let (kind, content) = match number % 2 {
            1 => ("user", json!(format!("What is number {number}?"))),
            _ => ("assistant", json!([{"type": "text", "text": format!("It is {number}.")}])),
        };
        let parent = (number > 1).then(|| id(number - 1));
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "uuid": id(number), "userType": "external",
            "timestamp": format!("2026-11-20T10:00:{number:02}.000Z"), "cwd": "/home/eve/shop",
            "sessionId": SESSION, "version": "2.1.330", "gitBranch": "HEAD", "type": kind,
            "message": {"id": id(number), "role": kind, "content": content},
        });
        format!("{line}\n")
    };
    let lines: Vec<String> = (1..=6).map(line).collect();
    let bodies = |memory: &TestMemory| {
        let view = memory.store.view();
        let mut bodies: Vec<String> =
            (0..view.slots()).map(|ix| memory.find(view.key(ix)).unwrap().body).collect();
        bodies.sort();
        bodies
    };
    let imported = TestMemory::new();
    let path = file(&imported, &lines.concat());
    let report = take(&imported, &path);
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.inserted, 3);
    let first = imported.find("claude-code/5e0a1b2c3d4e/5e0a1b2c3d4e").unwrap();
    assert!(first.body.contains("What is number 1?"), "{}", first.body);
    let again = take(&imported, &path);
    assert_eq!([again.inserted, again.updated, again.duplicates], [0, 0, 3]);
    // The turns are also kept apart if each is captured alone.
    let captured = TestMemory::new();
    for end in 1..=lines.len() {
        let path = file(&captured, &lines[..end].concat());
        let report = capture(&captured, &path, &CaptureOptions::default()).unwrap();
        assert!(report.failed.is_empty(), "{:?}", report.failed);
    }
    assert_eq!(bodies(&captured), bodies(&imported));
}

#[test]
fn a_roll_back_of_more_turns_than_there_are_drops_all() {
    let memory = TestMemory::new();
    let mut writer = Writer::new();
    writer.codex_talk(&talk("one", "1"));
    writer.codex_talk(&talk("two", "2"));
    writer.codex("event_msg", json!({"type": "thread_rolled_back", "num_turns": u64::MAX}));
    let kept = writer.codex_talk(&talk("three", "3"));
    let report = take(&memory, &file(&memory, &writer.text()));
    assert_eq!((report.inserted, report.failed.len()), (1, 0), "{:?}", report.failed);
    assert!(memory.find(&key(TranscriptSource::Codex, &kept)).is_ok());
    assert!(
        skipped(&report).contains(&"turns of abandoned branches 2 0".to_owned()),
        "{:?}",
        skipped(&report)
    );
}

#[test]
fn a_file_that_is_not_a_transcript_is_refused() {
    let memory = TestMemory::new();
    let refused = |text: &str| {
        let error = capture(&memory, &file(&memory, text), &CaptureOptions::default()).unwrap_err();
        format!("{} {}", error.code.name(), error.message)
    };
    assert_eq!(
        refused("{\"title\": \"a note\"}\n"),
        "invalid_argument it is not a transcript of Claude Code or Codex"
    );
    assert_eq!(refused(""), "invalid_argument it is not a transcript of Claude Code or Codex");
    let nowhere = capture(&memory, Path::new("/nowhere.jsonl"), &CaptureOptions::default()).unwrap_err();
    assert_eq!(nowhere.code.name(), "not_found");
    let folder = capture(&memory, memory.folder(), &CaptureOptions::default()).unwrap_err();
    assert_eq!(folder.message, "it is neither a file nor a folder");
}

/// With real transcripts of the assistants, nothing fails, and captures of the files equal an import of the
/// folder.
#[test]
#[ignore = "needs POC_MEMORY_TEST_TRANSCRIPTS: a folder with transcripts of Claude Code and Codex"]
fn real_transcripts_are_imported() {
    let folder = PathBuf::from(std::env::var_os("POC_MEMORY_TEST_TRANSCRIPTS").unwrap());
    let (imported, captured) = (TestMemory::new(), TestMemory::new());
    let report = take(&imported, &folder);
    println!("{:?} {:?} {:?}", report.formats, report.skipped, report.secrets);
    assert!(report.inserted > 0 && report.failed.is_empty(), "{:?}", report.failed);
    let mut folders = vec![folder];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if assistant_of(&path).is_some() {
                capture(&captured, &path, &CaptureOptions::default()).unwrap();
            }
        }
    }
    let bodies = |memory: &TestMemory| {
        let view = memory.store.view();
        let mut bodies: Vec<(String, String)> = (0..view.slots())
            .map(|ix| memory.find(view.key(ix)).unwrap())
            .filter(|note| note.source.as_deref().is_some_and(|source| source.starts_with("session: ")))
            .map(|note| (note.key, note.body))
            .collect();
        bodies.sort();
        bodies
    };
    for (key, body) in bodies(&captured) {
        println!("--- {key}\n{body}");
    }
    assert_eq!(bodies(&captured), bodies(&imported));
}
