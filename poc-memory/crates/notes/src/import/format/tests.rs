//! Tests of each format: the import has the content of the file, a second import changes nothing, and invalid
//! parts are reported while the others are imported.

use crate::Draft;
use crate::import::{ImportOptions, ImportReport, ImportSource, import};
use crate::testing::{TestMemory, draft};
use poc_graph::{EdgeKind, Node, Trust};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn take_with(memory: &TestMemory, path: &Path, options: &ImportOptions) -> ImportReport {
    import(memory, &ImportSource::Path(path.to_owned()), options, &|_, _| {}).unwrap()
}

fn take(memory: &TestMemory, path: &Path) -> ImportReport {
    take_with(memory, path, &ImportOptions::default())
}

fn put(memory: &TestMemory, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = memory.folder().join("in").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// The notes of a memory, by creation in the store.
fn notes(memory: &TestMemory) -> Vec<Node> {
    let view = memory.store.view();
    let mut notes: Vec<Node> =
        (0..view.slots()).filter_map(|ix| memory.store.node(view.id(ix)?).unwrap()).collect();
    notes.sort_by_key(|note| note.id);
    notes
}

/// Imports a file of a format, checks that the format is recognised, and that a second import changes nothing.
fn twice(memory: &TestMemory, path: &Path, format: &str) -> ImportReport {
    let report = take(memory, path);
    assert_eq!(report.formats.keys().collect::<Vec<_>>(), [format]);
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let seq = memory.store.view().seq;
    let again = take(memory, path);
    assert_eq!([again.inserted, again.updated], [0, 0]);
    assert_eq!(memory.store.view().seq, seq, "nothing was written");
    report
}

fn failures(report: &ImportReport) -> String {
    let line = |(place, error): &(_, poc_graph::error::Error)| {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{place}: {error}{hint}\n")
    };
    report.failed.iter().map(line).collect()
}

/// Texts that differ at least by the number at their end.
fn texts() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-zé]{2,9}( [a-z\"<&,;]{2,9}){0,6}", 1..8)
        .prop_map(|texts| (0..).zip(texts).map(|(number, text)| format!("{text} {number}")).collect())
}

/// Exchanges of a conversation: what was asked, and what was answered.
fn exchanges() -> impl Strategy<Value = Vec<(String, String)>> {
    texts()
        .prop_map(|texts| texts.into_iter().map(|text| (text.clone(), format!("answer to {text}"))).collect())
}

fn uuid(kind: u32, number: usize) -> String {
    format!("{:08x}-0000-4000-8000-{kind:012x}", number + 1)
}

/// A conversation of ChatGPT; after each exchange there is a branch that was abandoned.
fn chatgpt(exchanges: &[(String, String)]) -> Value {
    numbered_chatgpt(0, exchanges)
}

fn numbered_chatgpt(first: usize, exchanges: &[(String, String)]) -> Value {
    let mut mapping = json!({"root": {"id": "root", "message": null, "parent": null, "children": []}});
    let mut parent = "root".to_owned();
    let mut add = |id: String, parent: &str, role: &str, kind: &str, parts: Value, recipient: &str| {
        mapping[&id] = json!({"id": id, "parent": parent, "children": [], "message": {
            "id": id, "author": {"role": role}, "create_time": 1_700_000_000.5, "recipient": recipient,
            "content": {"content_type": kind, "parts": parts}, "metadata": {},
        }});
        id
    };
    for (number, (question, answer)) in (first..).zip(exchanges) {
        let asked = add(uuid(1, number), &parent, "user", "text", json!([question]), "all");
        let other = add(uuid(2, number), &parent, "user", "text", json!([format!("not {question}")]), "all");
        add(uuid(3, number), &other, "assistant", "text", json!(["never mind"]), "all");
        let call = add(uuid(4, number), &asked, "assistant", "code", json!(["search()"]), "browser");
        let result = add(uuid(5, number), &call, "tool", "text", json!(["a page"]), "all");
        let thoughts = add(uuid(6, number), &result, "assistant", "thoughts", json!([]), "all");
        parent = add(uuid(7, number), &thoughts, "assistant", "text", json!([answer]), "all");
    }
    json!({
        "title": "A talk", "create_time": 1_700_000_000.0, "conversation_id": uuid(0, first), "current_node": parent,
        "mapping": mapping,
    })
}

fn claude_ai(exchanges: &[(String, String)]) -> Value {
    let message = |number: usize, sender: &str, text: &str| {
        json!({
            "uuid": uuid(u32::from(sender == "human"), number), "sender": sender, "text": text,
            "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text},
                {"type": "tool_result", "content": [{"type": "text", "text": "a page"}]},
            ],
            "created_at": "2026-11-20T10:00:00.000000Z", "attachments": [{"extracted_content": "long"}], "files": [],
        })
    };
    let messages: Vec<Value> = exchanges
        .iter()
        .enumerate()
        .flat_map(|(number, (asked, answered))| {
            [message(number, "human", asked), message(number, "assistant", answered)]
        })
        .collect();
    json!({"uuid": uuid(9, 0), "name": "A talk", "account": {"uuid": "x"}, "chat_messages": messages})
}

/// Makes the export of a conversation that has only this many messages so far, without those of tools.
type PartialExport = fn(&[(String, String)], usize) -> Value;

/// The conversation of [`chatgpt`] when it had only this many messages, without those of tools.
fn chatgpt_until(exchanges: &[(String, String)], messages: usize) -> Value {
    let mut conversation = chatgpt(exchanges);
    let (kind, number) = if messages.is_multiple_of(2) { (7, messages / 2 - 1) } else { (1, messages / 2) };
    let last = uuid(kind, number);
    let mapping = conversation["mapping"].as_object_mut().unwrap();
    let count = mapping.keys().position(|id| *id == last).unwrap() + 1;
    *mapping = std::mem::take(mapping).into_iter().take(count).collect();
    conversation["current_node"] = json!(last);
    conversation
}

/// The conversation of [`claude_ai`] when it had only this many messages.
fn claude_ai_until(exchanges: &[(String, String)], messages: usize) -> Value {
    let mut conversation = claude_ai(exchanges);
    conversation["chat_messages"].as_array_mut().unwrap().truncate(messages);
    conversation
}

/// Checks that the notes are the exchanges, each linked to the next.
fn check_turns(memory: &TestMemory, exchanges: &[(String, String)], answerer: &str) {
    let notes = notes(memory);
    let bodies: Vec<String> = notes.iter().map(|note| note.body.clone()).collect();
    let expected: Vec<String> = exchanges
        .iter()
        .map(|(asked, answered)| format!("User: {asked}\n\n{answerer}: {answered}"))
        .collect();
    assert_eq!(bodies, expected);
    let view = memory.store.view();
    for pair in notes.windows(2) {
        let ix = view.find(pair[0].id).unwrap();
        assert!(view.sequence_neighbors(ix).any(|next| view.id(next) == Some(pair[1].id)));
    }
    assert!(notes.iter().all(|note| note.node_type.0 == "episodic"));
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn chatgpt_conversations_are_their_current_branch(exchanges in exchanges()) {
        let memory = TestMemory::new();
        let path = put(&memory, "conversations.json", json!([chatgpt(&exchanges)]).to_string());
        let report = twice(&memory, &path, "chatgpt");
        check_turns(&memory, &exchanges, "ChatGPT");
        let skipped: Vec<&str> = report.skipped.iter().map(|(kind, _)| kind).collect();
        prop_assert_eq!(skipped, ["thoughts", "tool calls", "tool results", "turns of abandoned branches"]);
    }

    #[test]
    fn claude_ai_conversations_are_their_texts(exchanges in exchanges()) {
        let memory = TestMemory::new();
        let path = put(&memory, "conversations.json", json!([claude_ai(&exchanges)]).to_string());
        twice(&memory, &path, "claude-ai");
        check_turns(&memory, &exchanges, "Claude");
    }

    #[test]
    fn entities_keep_observations_and_relations(texts in texts()) {
        let memory = TestMemory::new();
        let entity = |(number, text): (usize, &String)| {
            json!({"type": "entity", "name": format!("E{number}"), "entityType": "thing", "observations": [text, "seen"]})
        };
        let relation = |number: usize| {
            json!({"type": "relation", "from": "E0", "to": format!("E{number}"), "relationType": "knows"})
        };
        let lines: Vec<String> = (1..texts.len())
            .map(relation)
            .chain(texts.iter().enumerate().map(entity))
            .map(|line| line.to_string())
            .collect();
        // The first line identifies the format.
        let lines = if texts.len() > 1 { lines } else { lines.into_iter().rev().collect() };
        twice(&memory, &put(&memory, "memory.jsonl", lines.join("\n")), "mcp-memory");
        for (number, text) in texts.iter().enumerate() {
            let note = memory.find(&format!("E{number}")).unwrap();
            prop_assert_eq!(note.body, format!("- {text}\n- seen"));
            prop_assert_eq!(note.keywords, ["thing"]);
        }
        let first = memory.find("E0").unwrap().id;
        let links = memory.store.edges(first).unwrap().into_iter().filter(|edge| edge.kind == EdgeKind::Link);
        let reasons: Vec<String> = links.map(|edge| edge.reason).collect();
        prop_assert_eq!(reasons, vec!["knows"; texts.len() - 1]);
    }

    #[test]
    fn memories_of_mem0_have_three_forms(texts in texts(), form in 0..3) {
        let memory = TestMemory::new();
        let record = |(number, text): (usize, &String)| json!({
            "id": uuid(1, number), "memory": text, "hash": "x", "user_id": "eve", "categories": ["food"],
            "metadata": {"place": "home"}, "created_at": "2026-01-02T03:04:05-08:00", "updated_at": null,
        });
        let records: Vec<Value> = texts.iter().enumerate().map(record).collect();
        let (name, content) = match form {
            0 => ("mem0.json", json!({"results": records}).to_string()),
            1 => ("mem0.json", serde_json::to_string_pretty(&records).unwrap()),
            _ => ("mem0.jsonl", records.iter().map(|record| format!("{record}\n")).collect()),
        };
        twice(&memory, &put(&memory, name, content), "mem0");
        let notes = notes(&memory);
        prop_assert_eq!(notes.iter().map(|note| &note.body).collect::<Vec<_>>(), texts.iter().collect::<Vec<_>>());
        let note = &notes[0];
        prop_assert_eq!(&note.key, &format!("mem0/{}", uuid(1, 0)));
        prop_assert_eq!(note.author.as_deref(), Some("eve"));
        prop_assert_eq!(note.source.as_deref(), Some("mem0; user: eve; place: home"));
        prop_assert_eq!(note.created.to_string(), "2026-01-02T11:04:05.000Z");
    }

    #[test]
    fn tables_are_rows(texts in texts(), delimiter in prop_oneof![Just(','), Just(';'), Just('\t')]) {
        let memory = TestMemory::new();
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let rows: Vec<String> = texts.iter().enumerate().map(|(number, text)| {
            [format!("k{number}"), quoted(text), "2026-01-02".into(), "2".into()].join(&delimiter.to_string())
        }).collect();
        let header = ["ID", "Text", "date", "weight"].join(&delimiter.to_string());
        let path = put(&memory, "notes.csv", format!("\u{FEFF}{header}\r\n{}\r\n", rows.join("\r\n")));
        twice(&memory, &path, "csv");
        for (number, text) in texts.iter().enumerate() {
            let note = memory.find(&format!("k{number}")).unwrap();
            prop_assert_eq!(&note.body, text.trim());
            prop_assert_eq!(memory.store.activity(note.id).unwrap().unwrap().weight, 2.0);
        }
    }

    #[test]
    fn lists_of_notes_are_notes(texts in texts()) {
        let memory = TestMemory::new();
        let list: Vec<Value> = texts.iter().map(|text| json!({"title": "One", "body": text})).collect();
        twice(&memory, &put(&memory, "notes.json", serde_json::to_string_pretty(&list).unwrap()), "json-lines");
        let bodies: Vec<String> = notes(&memory).into_iter().map(|note| note.body).collect();
        prop_assert_eq!(bodies, texts);
    }

    #[test]
    fn blocks_of_letta_are_notes(texts in texts(), in_file in any::<bool>()) {
        let memory = TestMemory::new();
        let block = |(number, text): (usize, &String)| json!({
            "id": format!("block-{number}"), "label": "human", "value": text, "limit": 5000, "description": "the person",
        });
        let blocks: Vec<Value> = texts.iter().enumerate().map(block).collect();
        let content = match in_file {
            true => json!({"agents": [{"id": "agent-0", "name": "Ada", "block_ids": ["block-0"], "messages": [
                {"id": "m1", "role": "system", "content": [{"type": "text", "text": "You are Ada."}]},
                {"id": "m2", "role": "user", "content": [{"type": "text", "text": "Which port?"}]},
                {"id": "m3", "role": "assistant", "content": [{"type": "text", "text": "It is 5432."}]},
                {"id": "m4", "role": "tool", "content": [{"type": "text", "text": "OK"}]},
            ]}], "blocks": blocks}),
            false => json!(blocks),
        };
        twice(&memory, &put(&memory, if in_file { "ada.af" } else { "blocks.json" }, content.to_string()), "letta");
        for (number, text) in texts.iter().enumerate() {
            let note = memory.find(&format!("letta/block-{number}")).unwrap();
            prop_assert_eq!((note.title.as_str(), &note.body), ("human", text));
        }
        if in_file {
            prop_assert_eq!(memory.find("letta/agent-0/m2").unwrap().body, "User: Which port?\n\nAda: It is 5432.");
        }
    }

    #[test]
    fn notes_of_basic_memory_are_their_texts(texts in texts()) {
        let memory = TestMemory::new();
        let body = |number: usize| {
            let relation = if number == 0 { "" } else { "\n- part_of [[Note 0]] (by number)" };
            format!("- [fact] {} #seen{relation}", texts[number])
        };
        for number in 0..texts.len() {
            let front = format!("title: Note {number}\ntype: note\npermalink: all/note-{number}\ntags: [made]");
            put(&memory, &format!("{number}.md"), format!("---\n{front}\n---\n\n{}\n", body(number)));
        }
        let report = twice(&memory, &memory.folder().join("in"), "basic-memory");
        prop_assert_eq!((report.warnings.len(), report.unresolved.len()), (0, 0));
        for number in 0..texts.len() {
            let note = memory.find(&format!("all/note-{number}")).unwrap();
            prop_assert_eq!((note.title, note.body), (format!("Note {number}"), body(number)));
            prop_assert_eq!(note.keywords, ["made", "seen"]);
        }
        let first = memory.find("all/note-0").unwrap().id;
        let links = memory.store.edges(first).unwrap().into_iter().filter(|edge| edge.kind == EdgeKind::Link);
        let reasons: Vec<String> = links.map(|edge| edge.reason).collect();
        prop_assert_eq!(reasons, vec!["part_of (by number)"; texts.len() - 1]);
    }

    #[cfg(feature = "documents")]
    #[test]
    fn pages_are_their_paragraphs(texts in texts()) {
        let memory = TestMemory::new();
        let escaped = |text: &String| text.replace('&', "&amp;").replace('<', "&lt;");
        let paragraphs: String = texts.iter().map(|text| format!("<p>{}</p>\n", escaped(text))).collect();
        let page = format!("<!DOCTYPE html><html><head><title>Made</title></head><body>\n{paragraphs}</body></html>");
        twice(&memory, &put(&memory, "page.html", page), "html");
        let note = memory.find("page").unwrap();
        prop_assert_eq!(note.title, "Made");
        // In Markdown, a `<` that could begin an element is escaped.
        prop_assert_eq!(note.body.replace("\\<", "<"), texts.join("\n\n"));
    }

    #[cfg(feature = "documents")]
    #[test]
    fn pdf_documents_are_their_texts(
        words in proptest::collection::vec("[a-z]{2,9}( [a-z]{2,9}){0,4}", 1..4)
    ) {
        let memory = TestMemory::new();
        let text = |number: usize| format!("{} {number}", words[number]);
        for number in 0..words.len() {
            put(&memory, &format!("{number}.pdf"), pdf(&text(number)));
        }
        twice(&memory, &memory.folder().join("in"), "pdf");
        for number in 0..words.len() {
            prop_assert_eq!(memory.find(&number.to_string()).unwrap().body, text(number));
        }
    }

    /// A long document is cut into notes that follow each other and together contain it.
    #[test]
    fn documents_are_cut_into_parts(paragraphs in proptest::collection::vec("[a-z]{3,9}( [a-z]{3,9}){40,200}", 1..20)) {
        let memory = TestMemory::new();
        let text: String = (0..).zip(&paragraphs).map(|(number, text)| format!("Nr. {number} {text}\n\n")).collect();
        twice(&memory, &put(&memory, "book.txt", &text), "text");
        let bodies: Vec<String> = notes(&memory).into_iter().map(|note| note.body).collect();
        prop_assert_eq!(bodies.join("\n\n"), text.trim());
        prop_assert!(bodies.iter().all(|body| body.len() <= 6_000));
    }
}

/// Exports are made again when conversations have gone on: new messages are added, and nothing else changes.
#[test]
fn conversations_that_went_on_are_continued() {
    let exchange = |asked: &str| (asked.to_owned(), format!("answer to {asked}"));
    let exchanges = ["which port?", "since when?"].map(exchange);
    let formats: [(&str, &str, PartialExport); 2] =
        [("chatgpt", "ChatGPT", chatgpt_until), ("claude-ai", "Claude", claude_ai_until)];
    for (format, answerer, export) in formats {
        let memory = TestMemory::new();
        let take_until = |messages: usize| {
            let text = json!([export(&exchanges, messages)]).to_string();
            let report = twice(&memory, &put(&memory, "conversations.json", text), format);
            [report.inserted, report.updated]
        };
        // The first export ends with a question. The next one has its answer and another question.
        assert_eq!(take_until(1), [1, 0], "{format}");
        let first = notes(&memory)[0].id;
        assert_eq!(take_until(3), [1, 1], "{format}");
        assert_eq!(take_until(3), [0, 0], "{format}");
        assert_eq!(take_until(4), [0, 1], "{format}");
        assert_eq!(notes(&memory)[0].id, first, "{format}");
        check_turns(&memory, &exchanges, answerer);
    }
}

#[test]
fn notes_of_basic_memory_keep_observations_and_relations() {
    let memory = TestMemory::new();
    let text = "---\ntitle: Coffee\ntype: note\npermalink: kitchen/coffee\ntags: [drink]\n---\n\n# Coffee\n\n## Observations\n\n- [method] Pour over at 93 degrees #brewing (from a book)\n\n## Relations\n\n- needs [[Kettle]] (for water)\n- relates_to [[tea]]\n";
    put(&memory, "kitchen/Coffee.md", text);
    put(&memory, "Kettle.md", "---\ntitle: Kettle\npermalink: kettle\n---\nIt holds a litre.\n");
    put(&memory, "tea.md", "Green tea.\n");
    let report = take(&memory, &memory.folder().join("in"));
    assert_eq!(report.formats, [("basic-memory".to_owned(), 2), ("markdown".to_owned(), 1)].into());
    assert_eq!((failures(&report).as_str(), report.warnings.len()), ("", 0));
    let coffee = memory.find("kitchen/coffee").unwrap();
    assert_eq!(coffee.keywords, ["drink", "brewing"]);
    assert!(coffee.body.contains("- [method] Pour over at 93 degrees #brewing (from a book)"));
    let mut links: Vec<(String, String)> = memory
        .store
        .edges(coffee.id)
        .unwrap()
        .into_iter()
        .filter(|edge| edge.kind == EdgeKind::Link)
        .map(|edge| (memory.store.node(edge.dst).unwrap().unwrap().key, edge.reason))
        .collect();
    links.sort();
    let expected = [("kettle", "needs (for water)"), ("tea", "relates_to")];
    assert_eq!(links, expected.map(|(key, reason)| (key.to_owned(), reason.to_owned())));
}

#[cfg(feature = "documents")]
#[test]
fn pages_become_markdown() {
    let memory = TestMemory::new();
    let page = "<!DOCTYPE html><html><head><title>Tea &amp; milk</title><style>p {}</style></head><body><nav>Home</nav><h1>Tea</h1><p>Boil <b>water</b>, see <a href=\"/kettle\">the kettle</a>.</p><ul><li>cup</li></ul><script>x()</script></body></html>";
    twice(&memory, &put(&memory, "tea.html", page), "html");
    let note = memory.find("tea").unwrap();
    assert_eq!(note.title, "Tea & milk");
    assert_eq!(note.body, "# Tea\n\nBoil **water**, see [the kettle](/kettle).\n\n*   cup");
}

/// A PDF with one page and a line of text.
#[cfg(feature = "documents")]
fn pdf(text: &str) -> Vec<u8> {
    let stream = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let mut pdf = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        offsets.push(pdf.len());
        pdf += &format!("{number} 0 obj\n{object}\nendobj\n");
    }
    let start = pdf.len();
    pdf += &format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for offset in offsets {
        pdf += &format!("{offset:010} 00000 n \n");
    }
    pdf += &format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    pdf.into_bytes()
}

#[cfg(feature = "documents")]
#[test]
fn the_text_of_a_pdf_is_read() {
    let memory = TestMemory::new();
    twice(&memory, &put(&memory, "kettle.pdf", pdf("The kettle holds a litre.")), "pdf");
    assert_eq!(memory.find("kettle").unwrap().body, "The kettle holds a litre.");
    let mut bad = String::new();
    for (name, content) in [("empty.pdf", pdf("")), ("cut.pdf", pdf("The kettle")[..200].to_vec())] {
        let report = take(&memory, &put(&memory, name, content));
        bad += &failures(&report);
    }
    assert!(bad.contains("`empty.pdf`: the document has no text (it may consist of pictures"), "{bad}");
    assert!(bad.contains("`cut.pdf`: the document cannot be read: "), "{bad}");
}

#[cfg(feature = "documents")]
#[test]
fn bad_pages_are_named() {
    let memory = TestMemory::new();
    put(
        &memory,
        "blank.html",
        "<html><head><title>Tea</title></head><body><script>x()</script></body></html>",
    );
    put(&memory, "cut.html", "<html><body><p>Boil water.</p><p>Then the tea <b");
    put(&memory, "latin.html", b"<p>caf\xe9</p>");
    put(&memory, "tea.html", "<p>Green tea.</p>");
    let report = take(&memory, &memory.folder().join("in"));
    insta::assert_snapshot!(failures(&report), @r"
    `blank.html`: the document has no text (leave it out)
    `latin.html`: it is not UTF-8: byte 7 is invalid (save it as UTF-8)
    ");
    assert_eq!(report.inserted, 2);
    assert!(memory.find("cut").unwrap().body.starts_with("Boil water.\n\nThen the tea"));
    assert_eq!(memory.find("tea").unwrap().body, "Green tea.");
}

#[test]
fn bad_canvas_files_are_named() {
    let memory = TestMemory::new();
    let card = json!({"id": "1", "type": "text", "text": "A card about tea."});
    put(&memory, "good.canvas", json!({"nodes": [card], "edges": []}).to_string());
    put(&memory, "a-cut.canvas", "{\"nodes\": [{\"id\": \"1\"");
    put(&memory, "b-cards.canvas", "{\"nodes\": 7}");
    put(&memory, "c-arrows.canvas", "{\"nodes\": [], \"edges\": [{\"fromNode\": \"1\"}]}");
    put(&memory, "latin.canvas", b"{\"nodes\": \"caf\xe9\"}");
    put(&memory, "note.md", "Green tea.\n");
    let report = take(&memory, &memory.folder().join("in"));
    let failures = failures(&report);
    let lines: Vec<&str> = failures.lines().collect();
    for (line, (file, reason)) in lines.iter().zip([
        ("a-cut", "it is not a canvas: EOF while parsing"),
        ("b-cards", "it is not a canvas: invalid type: integer `7`"),
        ("c-arrows", "it is not a canvas: missing field `toNode`"),
        ("latin", "it is not UTF-8: byte 15 is invalid"),
    ]) {
        assert!(line.starts_with(&format!("`{file}.canvas`: {reason}")), "{failures}");
        assert!(
            line.contains(" (open it in its editor") || line.ends_with(" (save it as UTF-8)"),
            "{failures}"
        );
    }
    assert_eq!((lines.len(), report.inserted), (4, 2), "{failures}");
    assert_eq!(memory.find("good.canvas").unwrap().body, "A card about tea.");
}

/// Files with one invalid part each: the error names the part and the expected form, and everything else is
/// imported.
#[test]
fn bad_parts_are_named() {
    let memory = TestMemory::new();
    let good = |number: usize| numbered_chatgpt(number, &[(format!("question {number}"), "answer".into())]);
    put(
        &memory,
        "chatgpt.json",
        json!([good(1), {"title": "x", "mapping": 7}, {"mapping": {}}, good(2)]).to_string(),
    );
    let cut = json!([good(3), good(4)]).to_string();
    put(&memory, "chatgpt-cut.json", &cut[..cut.len() - 700]);
    put(&memory, "claude.json", json!([
        claude_ai(&[("hello".into(), "hi".into())]), {"uuid": "a", "chat_messages": 1}, {"chat_messages": []},
    ]).to_string());
    put(
        &memory,
        "memory.jsonl",
        "{\"type\":\"entity\",\"name\":\"A\",\"observations\":[\"a fact\"]}\n{\"type\":\"entity\",\"observations\":[]}\n{\"type\":\"relation\",\"from\":\"A\"}\n{\"type\":\"thing\"}\nnothing\n",
    );
    put(&memory, "mem0.json", json!({"results": [{"id": "1", "memory": "likes tea", "hash": "x"}, {"id": "2", "memory": " ", "hash": "y"}]}).to_string());
    put(
        &memory,
        "blocks.json",
        json!([{"label": "a", "value": "block a", "limit": 1}, {"label": "b", "value": "", "limit": 1}])
            .to_string(),
    );
    let report = take(&memory, &memory.folder().join("in"));
    insta::assert_snapshot!(failures(&report), @r#"
    `blocks.json` block 2: the block has no text (a block of Letta has `label` and `value`)
    `chatgpt-cut.json`: it is not JSON from line 1 on: EOF while parsing a string (everything before the error was imported; export the file again for the rest)
    `chatgpt.json` conversation 2: the conversation has no `mapping` (a conversation of ChatGPT's export has `title`, `mapping` and `current_node`)
    `chatgpt.json` conversation 3: the conversation has no `conversation_id` (a conversation of ChatGPT's export has `conversation_id` or `id`)
    `claude.json` conversation 2: the conversation has no `chat_messages` (a conversation of Claude.ai's export has `uuid`, `name` and `chat_messages`)
    `claude.json` conversation 3: the conversation has no `uuid` (a conversation of Claude.ai's export has `uuid`, `name` and `chat_messages`)
    `mem0.json` memory 2: the memory has no text (a memory of mem0 has `id` and `memory`)
    `memory.jsonl` line 2: the entity has no `name` (give it a name; relations refer to entities by name)
    `memory.jsonl` line 3: the relation lacks `from` or `to` (write {"type": "entity", "name": …, "entityType": …, "observations": […]} or {"type": "relation", "from": …, "to": …, "relationType": …})
    `memory.jsonl` line 4: `thing` is neither an entity nor a relation (write {"type": "entity", "name": …, "entityType": …, "observations": […]} or {"type": "relation", "from": …, "to": …, "relationType": …})
    `memory.jsonl` line 5: it is not JSON: expected ident at column 2 (write one JSON object per line)
    "#);
    assert_eq!(report.inserted, 7);
}

#[test]
fn a_last_message_without_an_id_does_not_hide_the_others() {
    let memory = TestMemory::new();
    let conversations = json!([{"uuid": "a", "name": "Tea", "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "Which tea?", "parent_message_uuid": "0"},
        {"uuid": "2", "sender": "assistant", "text": "Green tea.", "parent_message_uuid": "1"},
        {"sender": "human", "text": "Thanks", "parent_message_uuid": "2"},
    ]}]);
    let report = twice(&memory, &put(&memory, "conversations.json", conversations.to_string()), "claude-ai");
    assert_eq!(report.inserted, 1);
    assert_eq!(notes(&memory)[0].body, "User: Which tea?\n\nClaude: Green tea.");
}

/// Programs on Windows write it.
#[test]
fn a_byte_order_mark_is_not_part_of_the_content() {
    let card = json!({"nodes": [{"id": "1", "type": "text", "text": "Green tea."}], "edges": []});
    for (name, content) in [
        ("notes.jsonl", "{\"key\": \"a\", \"body\": \"Green tea.\"}\n".to_owned()),
        ("notes.json", "[{\"key\": \"a\", \"body\": \"Green tea.\"}]".to_owned()),
        (
            "mem0.json",
            "{\n\"results\": [{\"id\": \"1\", \"memory\": \"Green tea.\", \"hash\": \"x\"}]\n}".to_owned(),
        ),
        ("notes.csv", "\"key\",\"body\"\na,Green tea.\n".to_owned()),
        ("a.canvas", card.to_string()),
        ("a.txt", "Green tea.".to_owned()),
    ] {
        let memory = TestMemory::new();
        let report = take(&memory, &put(&memory, name, format!("\u{FEFF}{content}")));
        assert_eq!((failures(&report).as_str(), report.inserted), ("", 1), "{name}");
        let [note] = &notes(&memory)[..] else { panic!("{name}") };
        assert_eq!(note.body, "Green tea.", "{name}");
    }
}

#[test]
fn a_value_after_a_list_is_named() {
    let memory = TestMemory::new();
    let lists = "[{\"key\": \"a\", \"body\": \"first\"}]\n[{\"key\": \"b\", \"body\": \"second\"}]\n";
    let report = take(&memory, &put(&memory, "notes.json", lists));
    assert_eq!(
        failures(&report),
        "`notes.json`: it is not JSON from line 2 on: trailing characters (everything before the error was \
         imported; export the file again for the rest)\n"
    );
    assert_eq!(report.inserted, 1);
}

#[test]
fn the_hint_for_an_object_that_is_cut_off_names_no_imported_part() {
    let memory = TestMemory::new();
    let text =
        "{\n\"results\": [\n{\"id\": \"1\", \"memory\": \"likes tea\", \"hash\": \"x\"},\n{\"id\": \"2\"";
    let report = take(&memory, &put(&memory, "mem0.json", text));
    let failures = failures(&report);
    assert!(failures.contains("at line 4, column"), "{failures}");
    assert!(failures.ends_with("(export the file again)\n"), "{failures}");
    assert_eq!(report.inserted, 0);
}

/// A formatter may leave short objects on one line, and the last of them has no comma, like a line of JSON Lines.
#[test]
fn an_object_of_several_lines_is_not_json_lines() {
    let memory = TestMemory::new();
    let [tea, milk] =
        ["tea", "milk"].map(|id| json!({"id": id, "memory": format!("likes {id}"), "hash": id}));
    let object = format!("{{\n  \"results\": [\n    {tea},\n    {milk}\n  ]\n}}\n");
    let report = twice(&memory, &put(&memory, "mem0.json", object), "mem0");
    assert_eq!(report.inserted, 2);
    assert_eq!(memory.find("mem0/milk").unwrap().body, "likes milk");
}

#[test]
fn bad_tables_and_documents_are_named() {
    let memory = TestMemory::new();
    put(
        &memory,
        "rows.csv",
        b"title,body\nOne,first\nTwo,second,third\n,\nThree,\"thi\"\"rd\"\nFour,caf\xe9\n",
    );
    put(&memory, "open.csv", "title,body\nInch,5\" disk\nOne,\"first\nTwo,second\n");
    put(&memory, "empty.csv", "");
    put(&memory, "empty.txt", " \n");
    put(&memory, "latin.txt", b"caf\xe9");
    let report = take(&memory, &memory.folder().join("in"));
    insta::assert_snapshot!(failures(&report), @r"
    `empty.csv`: the table has no header row (write the names of the columns into the first row, for example `title,body`)
    `empty.txt`: the document has no text (leave it out)
    `latin.txt`: it is not UTF-8: byte 4 is invalid (save it as UTF-8)
    `open.csv` line 3: a quote in this row is not closed (close it, or write a quote inside a cell twice; no row was imported)
    `rows.csv` line 3: the row has 3 cells, but the header has 2 (put a cell that contains the delimiter into double quotes)
    `rows.csv` line 4: the note has no text (give it a title, a body or both)
    `rows.csv` line 6: the column `body` is not UTF-8 (save the table as UTF-8)
    ");
    assert_eq!(report.inserted, 2);
}

#[test]
fn columns_without_a_known_name_become_the_text() {
    let memory = TestMemory::new();
    take(&memory, &put(&memory, "people.csv", "Name,Town\nEve,Ulm\nBob,\n"));
    let bodies: Vec<String> = notes(&memory).into_iter().map(|note| note.body).collect();
    assert_eq!(bodies, ["name: Eve\ntown: Ulm", "name: Bob"]);
}

#[test]
fn columns_of_one_field_are_read_like_properties_of_one_field() {
    let memory = TestMemory::new();
    let table = "title,tags,created_at,keywords,date\nTea,drink,2022-01-01,hot,2023-05-08\n";
    twice(&memory, &put(&memory, "t.csv", table), "csv");
    let [note]: [Node; 1] = notes(&memory).try_into().unwrap();
    assert_eq!(note.keywords, ["drink", "hot"]);
    assert_eq!(note.created.to_string(), "2022-01-01T00:00:00.000Z");
}

#[test]
fn names_and_subjects_are_the_titles_of_rows_without_a_title() {
    let titles = |table: &str| {
        let memory = TestMemory::new();
        let report = twice(&memory, &put(&memory, "rows.csv", table), "csv");
        let titles: Vec<String> = notes(&memory).into_iter().map(|note| note.title).collect();
        (titles.join("|"), report.ignored.into_keys().collect::<Vec<_>>())
    };
    let check =
        |table, expected: &str| assert_eq!(titles(table), (expected.to_owned(), Vec::new()), "{table}");
    check("Town,Name\nUlm,Eve\nBonn,\n", "Eve|town: Bonn");
    check("Subject,Amount\nRent,3\nTea,4\n", "Rent|Tea");
    check("name,body\nEve,Likes tea.\n,Milk is good.\n", "Eve|Milk is good.");
    check("title,name\nRent,Eve\n", "Rent");
    let both = titles("subject,name,text\nRent,Eve,Paid.\n");
    assert_eq!(both, ("Eve".to_owned(), vec!["subject".to_owned()]));
}

#[test]
fn unknown_columns_and_fields_beside_a_title_are_the_text() {
    let check = |name: &str, format: &str, content: &str, expected: &str| {
        let memory = TestMemory::new();
        let report = twice(&memory, &put(&memory, name, content), format);
        let [note]: [Node; 1] = notes(&memory).try_into().unwrap();
        assert_eq!((note.title.as_str(), note.body.as_str()), ("Eve", expected), "{content}");
        assert!(report.ignored.is_empty(), "{content}");
    };
    check("t.csv", "csv", "title,town\nEve,Ulm\n", "title: Eve\ntown: Ulm");
    check("t.csv", "csv", "title,tags\nEve,friend\n", "");
    let line = r#"{"title": "Eve", "town": "Ulm", "pets": ["cat", "dog"], "age": 7, "car": null}"#;
    check("t.jsonl", "json-lines", line, "title: Eve\ntown: Ulm\npets: cat, dog\nage: 7");
    check("t.jsonl", "json-lines", r#"{"title": "Eve", "tags": ["friend"]}"#, "");
}

#[test]
fn a_changed_row_updates_the_note_of_its_id_or_title() {
    let check = |name: &str, before: &str, after: &str, expected: [u64; 3]| {
        let memory = TestMemory::new();
        let format = if name.ends_with("csv") { "csv" } else { "json-lines" };
        twice(&memory, &put(&memory, name, before), format);
        let report = twice(&memory, &put(&memory, name, after), format);
        assert_eq!([report.inserted, report.updated, report.duplicates], expected, "{after}");
        memory
    };
    let memory = check("r.csv", "name,phone\nBob,1\nEve,7\n", "name,phone\nEve,7\nBob,3\n", [0, 1, 1]);
    assert_eq!(memory.find("bob").unwrap().body, "name: Bob\nphone: 3");
    let memory = check("r.csv", "id,name\nX1,Ann\n", "id,name\nX1,Anna\n", [0, 1, 0]);
    assert_eq!(memory.find("X1").unwrap().title, "Anna");
    check("r.csv", "key,town\nx,Ulm\n", "key,town\nx,Bonn\n", [0, 1, 0]);
    check("r.csv", "title,body\nTea,Black.\n", "title,body\nTea,Green.\n", [0, 1, 0]);
    let (before, after) = (r#"{"title": "Tea", "body": "Black."}"#, r#"{"title": "Tea", "body": "Green."}"#);
    check("r.jsonl", before, after, [0, 1, 0]);
    check("r.json", &format!("[{before}]"), &format!("[{after}]"), [0, 1, 0]);
    // Nothing shows which of the rents has changed.
    check("r.csv", "name,paid\nRent,1\nRent,2\n", "name,paid\nRent,1\nRent,3\n", [1, 0, 1]);
    check("r.csv", "name,paid\nRent,1\n", "name,paid\nRent,2\nRent,1\n", [1, 0, 1]);
}

#[test]
fn an_id_in_a_table_of_anything_does_not_lead_to_a_note_of_another_table() {
    let memory = TestMemory::new();
    twice(&memory, &put(&memory, "people.csv", "id,name\n1,Ann\n"), "csv");
    let things = put(&memory, "things.csv", "id,name\n1,Chair\n");
    assert_eq!(twice(&memory, &things, "csv").inserted, 1);
    fs::write(&things, "id,name\n1,Stool\n").unwrap();
    assert_eq!(twice(&memory, &things, "csv").updated, 1);
    assert_eq!(
        (memory.find("1").unwrap().title, memory.find("chair").unwrap().title),
        ("Ann".into(), "Stool".into())
    );
}

#[test]
fn other_tables_of_a_folder_and_other_rows_may_have_the_same_id() {
    let memory = TestMemory::new();
    let people = put(&memory, "people.csv", "id,name\n1,Ann\n");
    let things = put(&memory, "things.csv", "id,name\n1,Chair\n");
    let folder = memory.folder().join("in");
    assert_eq!(twice(&memory, &folder, "csv").inserted, 2);
    fs::write(&things, "id,name\n1,Stool\n").unwrap();
    let report = twice(&memory, &folder, "csv");
    assert_eq!([report.inserted, report.updated, report.duplicates], [0, 1, 1]);
    fs::write(&things, "id,name\n1,Stool\n1,Table\n").unwrap();
    let report = twice(&memory, &folder, "csv");
    assert_eq!([report.inserted, report.updated, report.duplicates], [1, 0, 2]);
    fs::write(&people, "id,name\n2,Bea\n").unwrap();
    fs::write(&things, "id,name\n1,Table\n").unwrap();
    let report = twice(&memory, &folder, "csv");
    assert_eq!([report.inserted, report.updated, report.duplicates], [1, 0, 1]);
    assert_eq!(memory.find("1").unwrap().title, "Ann");
}

#[test]
fn tables_of_one_folder_with_the_same_title_do_not_replace_each_other() {
    let memory = TestMemory::new();
    put(&memory, "a.csv", "name,phone\nBob,1\n");
    put(&memory, "b.csv", "name,phone\nBob,2\n");
    let folder = memory.folder().join("in");
    assert_eq!(twice(&memory, &folder, "csv").inserted, 2);
    fs::remove_file(folder.join("b.csv")).unwrap();
    put(&memory, "a.csv", "name,phone\nBob,3\n");
    assert_eq!(twice(&memory, &folder, "csv").inserted, 1);
}

#[test]
fn a_row_whose_note_was_changed_in_the_memory_is_not_stored_again() {
    let memory = TestMemory::new();
    let path = put(&memory, "r.csv", "name,phone\nBob,1\n");
    take(&memory, &path);
    memory.insert(Draft { key: Some("bob".into()), update: true, ..draft("Bob has moved.") }).unwrap();
    let again = take(&memory, &path);
    assert_eq!((again.inserted, again.updated, again.warnings.len()), (0, 0, 1));
    assert_eq!(memory.find("bob").unwrap().body, "Bob has moved.");
}

#[test]
fn a_row_that_an_earlier_release_imported_without_its_id_or_text_is_updated() {
    let check = |name: &str, title: &str, body: &str, rows: [&str; 2], expected: &str| {
        let memory = TestMemory::new();
        let provenance = format!("import:{name}");
        let earlier = Draft {
            title: Some(title.into()),
            body: Some(body.into()),
            ..Draft::new(provenance, Trust::External)
        };
        let id = memory.insert(earlier).unwrap().id;
        for row in rows {
            let report = take(&memory, &put(&memory, name, row));
            assert_eq!((report.inserted, report.updated, report.failed.len()), (0, 1, 0), "{row}");
            let seq = memory.store.view().seq;
            take(&memory, &memory.folder().join("in").join(name));
            assert_eq!(memory.store.view().seq, seq, "{row}");
        }
        let note = memory.store.node(id).unwrap().unwrap();
        assert_eq!(note.body, expected);
        note
    };
    let ann = check(
        "q.csv",
        "Ann",
        "id: X1\nname: Ann\nphone: 1",
        ["id,name,phone\nX1,Ann,1\n", "id,name,phone\nX1,Anna,3\n"],
        "id: X1\nname: Anna\nphone: 3",
    );
    assert_eq!((ann.key.as_str(), ann.other_names), ("ann", vec!["X1".to_owned()]));
    check("t.csv", "Eve", "", ["title,town\nEve,Ulm\n", "title,town\nEve,Bonn\n"], "title: Eve\ntown: Bonn");
    let rows = [r#"{"title": "Zoe", "town": "Ulm"}"#, r#"{"title": "Zoe", "town": "Bonn"}"#];
    check("z.jsonl", "Zoe", "", rows, "title: Zoe\ntown: Bonn");
}

#[test]
fn a_row_that_an_earlier_release_imported_without_its_title_is_stored_once() {
    for (body, table) in
        [("name: Eve\ntown: Ulm", "Name,Town\nEve,Ulm\n"), ("Likes tea.", "Name,Text\nEve,Likes tea.\n")]
    {
        let memory = TestMemory::new();
        memory.insert(draft(body)).unwrap();
        let report = take(&memory, &put(&memory, "rows.csv", table));
        assert_eq!((report.inserted, report.duplicates), (0, 1), "{table}");
    }
}

#[test]
fn odd_properties_are_warnings() {
    let memory = TestMemory::new();
    put(
        &memory,
        "a.md",
        "---\ntype: person\nweight: heavy\ncreated: long ago\ntags: [tea, 'a,b']\naliases: {x: y}\n---\nEve likes tea.\n",
    );
    put(&memory, "b.md", "---\nkey: \"a\\u0007b\"\nemotion: 11\nweight: 0\n---\nBob likes milk.\n");
    let report = take(&memory, &memory.folder().join("in"));
    assert_eq!((report.inserted, failures(&report).as_str()), (2, ""));
    let warnings: String =
        report.warnings.iter().map(|(place, error)| format!("{place}: {error}\n")).collect();
    insta::assert_snapshot!(warnings, @r#"
    `a.md`: `weight`: it is a text
    `a.md`: `created`: `long ago` is not a time
    `a.md`: `aliases`: it is an object
    `a.md`: `type`: unknown type `person`
    `a.md`: `keywords`: the keyword `a,b` has a comma in it
    `b.md`: `emotion`: an emotion of 11 is out of range
    `b.md`: `weight`: a weight of 0 is out of range
    `b.md`: `key`: the key "a\u{7}b" has a control character in it
    "#);
    let eve = memory.find("a").unwrap();
    assert_eq!((eve.node_type.0.as_str(), eve.keywords), ("semantic", vec!["tea".to_owned()]));
}

#[test]
fn a_property_that_occurs_twice_is_a_warning() {
    let memory = TestMemory::new();
    put(&memory, "a.md", "---\nauthor: Ann\ntags: [tea]\nauthor: Bob\n---\nEve likes tea.\n");
    let report = take(&memory, &memory.folder().join("in"));
    assert_eq!((report.inserted, failures(&report).as_str()), (1, ""));
    let [(place, warning)] = report.warnings.as_slice() else { panic!("{:?}", report.warnings) };
    assert_eq!(
        format!("{place}: {warning}"),
        "`a.md`: 4: `author`: the property occurs several times, and only its last value was read"
    );
    assert_eq!(memory.find("a").unwrap().author.as_deref(), Some("Bob"));
}

#[test]
fn a_format_can_be_forced() {
    let memory = TestMemory::new();
    let path = put(&memory, "notes.data", "title,body\nOne,first\n");
    let options = |format: &str| ImportOptions { format: Some(format.into()), ..ImportOptions::default() };
    assert_eq!(take_with(&memory, &path, &options("csv")).inserted, 1);
    let source = ImportSource::Path(path);
    let unknown = import(&memory, &source, &options("cvs"), &|_, _| {}).unwrap_err();
    assert_eq!(
        (unknown.message.as_str(), unknown.hint.as_deref()),
        ("unknown format `cvs`", Some("did you mean `csv`?"))
    );
    let unknown = import(&memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap_err();
    assert_eq!(unknown.message, "its format is unknown");
    let hint = unknown.hint.unwrap();
    for format in super::FORMATS {
        assert!(hint.contains(format.name()), "{hint}");
    }
}

#[test]
fn a_markdown_file_that_quotes_the_data_of_a_program_is_a_note() {
    let entity = json!({"type": "entity", "name": "Ann", "entityType": "person", "observations": ["tea"]});
    let relation = json!({"type": "relation", "from": "Ann", "to": "Bob", "relationType": "knows"});
    let memory_of_mem0 = json!({"memory": "Ann prefers tea.", "user_id": "ann", "hash": "1"});
    for (name, quoted) in
        [("entity.md", &entity), ("relation.MD", &relation), ("mem0.markdown", &memory_of_mem0)]
    {
        for text in [format!("# How to\n\n{quoted}\n"), format!("{quoted}\n")] {
            let memory = TestMemory::new();
            let path = put(&memory, name, &text);
            twice(&memory, &path, "markdown");
            let key = Path::new(name).file_stem().unwrap().to_str().unwrap();
            assert_eq!(notes(&memory).iter().map(|note| note.key.as_str()).collect::<Vec<_>>(), [key]);
        }
    }
    let memory = TestMemory::new();
    let path = put(&memory, "memory.md", format!("{entity}\n"));
    let options = ImportOptions { format: Some("mcp-memory".into()), ..ImportOptions::default() };
    assert_eq!(take_with(&memory, &path, &options).inserted, 1, "a format can be forced");
    assert_eq!(notes(&memory)[0].title, "Ann");
}

#[test]
fn only_regular_files_of_the_folder_are_read() {
    let memory = TestMemory::new();
    put(&memory, "a.md", "A note.\n");
    put(&memory, "sub/b.md", "Another note.\n");
    put(&memory, "picture.png", "no note");
    let outside = memory.folder().join("outside.md");
    fs::write(&outside, "Not yours.\n").unwrap();
    let folder = memory.folder().join("in");
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
    link(&outside, "out.md");
    link(Path::new("/etc"), "etc");
    link(Path::new("nowhere.md"), "broken.md");
    link(Path::new(".."), "up");
    link(Path::new("sub"), "again");
    link(Path::new("sub/b.md"), "c.md");
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("s.md")).unwrap();
    let report = take(&memory, &folder);
    assert_eq!((report.inserted, report.duplicates, failures(&report).as_str()), (2, 1, ""));
    let skipped: Vec<String> =
        report.skipped.iter().map(|(kind, skipped)| format!("{} {kind}", skipped.count)).collect();
    assert_eq!(
        skipped,
        ["1 files `.png`", "1 files that are not regular files", "4 symbolic links out of the folder"]
    );
}

#[test]
fn documents_beside_conversations_are_listed() {
    let memory = TestMemory::new();
    put(&memory, "conversations.json", json!([chatgpt(&[("tea?".into(), "yes".into())])]).to_string());
    put(&memory, "chat.txt", "tea? yes");
    put(&memory, "user.json", "{\"id\": \"user-1\",\n \"email\": \"eve@example.org\"}");
    let report = take(&memory, &memory.folder().join("in"));
    assert_eq!((report.inserted, failures(&report).as_str()), (1, ""));
    assert_eq!(report.left_out.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(), ["chat.txt"]);
    assert_eq!(
        report.skipped.iter().map(|(kind, _)| kind).collect::<Vec<_>>(),
        ["files `.json`", "thoughts", "tool calls", "tool results", "turns of abandoned branches"]
    );
}

#[test]
fn passages_of_letta_keep_their_dates() {
    let memory = TestMemory::new();
    let passage = json!({"id": "passage-1", "text": "Ann is on call.", "created_at": "2026-01-02T03:04:05Z"});
    let agent = json!({"id": "agent-0", "name": "Ada", "block_ids": [], "passages": [passage]});
    let content = json!({"agents": [agent], "blocks": []}).to_string();
    twice(&memory, &put(&memory, "ada.af", content), "letta");
    let note = memory.find("letta/passage-1").unwrap();
    assert_eq!(
        (note.body.as_str(), note.created.to_string().as_str()),
        ("Ann is on call.", "2026-01-02T03:04:05.000Z")
    );
}

#[test]
fn what_the_formats_leave_out_is_counted_by_kind() {
    let check = |name: &str, content: Value, expected: &[&str]| {
        let memory = TestMemory::new();
        let report = take(&memory, &put(&memory, name, content.to_string()));
        assert!(report.inserted > 0 && report.failed.is_empty(), "{name}: {:?}", report.failed);
        let skipped: Vec<String> = report
            .skipped
            .iter()
            .map(|(kind, skipped)| format!("{kind} {} {}", skipped.count, skipped.bytes))
            .collect();
        assert_eq!(skipped, expected, "{name}");
    };
    let mut talk = chatgpt(&[("tea?".into(), "yes".into())]);
    talk["mapping"]["root"]["message"] = json!({
        "id": "root", "author": {"role": "system"}, "content": {"content_type": "text", "parts": ["Be kind."]},
    });
    talk["mapping"][uuid(1, 0)]["message"]["metadata"]["attachments"] = json!([
        {"name": "a.pdf", "mime_type": "application/pdf"}, {"name": "b.png", "mime_type": "image/png"},
    ]);
    let expected = [
        "attachments 1 0",
        "messages of the program 1 8",
        "thoughts 1 8",
        "tool calls 1 8",
        "tool results 1 6",
        "turns of abandoned branches 1 0",
    ];
    check("conversations.json", json!([talk]), &expected);
    let project = json!({
        "uuid": uuid(3, 0), "name": "Shop", "prompt_template": "Answer briefly.",
        "docs": [{"uuid": uuid(4, 0), "filename": "a.md", "content": "Tea is here."}],
    });
    check("projects.json", json!([project]), &["instructions of projects 1 15"]);
    let memory = json!({
        "id": uuid(1, 0), "memory": "likes tea", "hash": "x",
        "metadata": {"place": "home", "seen": ["one", "two"], "categories": ["food"]},
    });
    check("mem0.json", json!([memory]), &["metadata 1 6"]);
    let entity = json!({
        "type": "entity", "name": "E", "entityType": "thing", "observations": ["seen", {"text": "odd"}],
    });
    check("memory.jsonl", entity, &["observations that are not texts 1 3"]);
    let agent = json!({
        "agents": [{"id": "agent-0", "name": "Ada", "block_ids": ["block-0"], "system": "You are Ada.", "messages": [
            {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Which port?"}, {"type": "image"}]},
            {"id": "m2", "role": "assistant", "content": [
                {"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "It is 5432."},
            ]},
        ]}],
        "blocks": [{"id": "block-0", "label": "human", "value": "Eve", "limit": 5000}],
        "tools": [{"name": "send"}],
    });
    let expected = ["instructions of agents 1 12", "pictures 1 0", "thoughts 1 3", "tools 1 4"];
    check("ada.af", agent, &expected);
    let canvas = json!({
        "nodes": [{"id": "1", "text": "Tea"}, {"id": "2", "file": "a.md"}, {"id": "3", "file": "b.md"}],
        "edges": [
            {"fromNode": "1", "toNode": "2", "label": "needs"}, {"fromNode": "2", "toNode": "3", "label": "then"},
        ],
    });
    check("plan.canvas", canvas, &["arrows between cards 1 5"]);
}

#[test]
fn secrets_in_the_data_of_other_programs_are_replaced_unless_allowed() {
    const SECRET: &str = "AKIAIOSFODNN7QWERTYU";
    let text = format!("the key is {SECRET} today");
    let mut talk = claude_ai(&[(text.clone(), "noted".into())]);
    talk["name"] = json!(text);
    let project = json!({
        "uuid": uuid(3, 0), "name": "Shop", "prompt_template": "",
        "docs": [{"uuid": uuid(4, 0), "filename": "a.md", "content": text}],
    });
    let files = [
        ("conversations.json", json!([talk]).to_string()),
        ("projects.json", json!([project]).to_string()),
        ("mem0.json", json!([{"id": uuid(1, 0), "memory": text, "hash": "x"}]).to_string()),
        ("blocks.json", json!([{"label": "human", "value": text, "limit": 5000}]).to_string()),
        ("blocks.json", json!([{"label": "human", "value": "Ann", "description": text}]).to_string()),
        ("memory.jsonl", json!({"type": "entity", "name": "E", "observations": [text]}).to_string()),
        ("basic.md", format!("---\ntitle: Keys\npermalink: keys\n---\n\n- [fact] {text}\n")),
    ];
    for (name, content) in files {
        for allow_secrets in [false, true] {
            let memory = TestMemory::new();
            let options = ImportOptions { allow_secrets, ..ImportOptions::default() };
            let report = take_with(&memory, &put(&memory, name, &content), &options);
            assert_eq!((report.inserted, failures(&report).as_str()), (1, ""), "{name}");
            assert_eq!(report.secrets.is_empty(), allow_secrets, "{name}");
            let note = format!("{:?}", notes(&memory));
            assert_eq!(note.contains(SECRET), allow_secrets, "{name}: {note}");
        }
    }
}

#[test]
fn a_text_is_recognized_too() {
    let memory = TestMemory::new();
    let text = json!([claude_ai(&[("hello".into(), "hi".into())])]).to_string();
    let report = import(&memory, &ImportSource::Text(text), &ImportOptions::default(), &|_, _| {}).unwrap();
    assert_eq!((report.inserted, report.formats.keys().next().map(String::as_str)), (1, Some("claude-ai")));
}
