//! Imports of JSON Lines that other tools have written.

use super::*;

#[test]
fn json_lines_of_any_tool_become_notes() {
    let memory = TestMemory::new();
    let report = lines(
        &memory,
        concat!(
            r#"{"id": "conv-26/D1:1", "title": "", "text": "Caroline: Hey Mel! Good to see you!", "meta": {"group": "conv-26", "session": 1, "date": "1:56 pm on 8 May, 2023", "speaker": "Caroline"}}"#,
            "\n\n",
            r#"{"title": "Soup", "body": "Lentils", "keywords": "food, winter", "type": "daily", "created": "2026-01-02 10:30", "colour": "red", "meta": {"date": "2026-01-01"}}"#,
            "\n",
            r#"{"title": "Soup", "body": "Lentils", "keywords": ["winter", "food"]}"#,
            "\n",
        ),
    );
    assert_eq!(failures(&report), "");
    assert_eq!(counts(&report), [2, 0, 1, 0]);
    assert_eq!(report.ignored.keys().collect::<Vec<_>>(), ["colour"]);
    let turn = find(&memory, "conv-26/D1:1");
    assert_eq!(turn.title, "Caroline: Hey Mel! Good to see you!");
    assert_eq!(turn.author.as_deref(), Some("Caroline"));
    assert_eq!(turn.source.as_deref(), Some("group: conv-26; session: 1"));
    assert_eq!(turn.created.to_string(), "2023-05-08T13:56:00.000Z");
    assert_eq!(turn.node_type.0, "episodic");
    let soup = find(&memory, "soup");
    assert_eq!((soup.node_type.0.as_str(), soup.keywords.join(" ")), ("daily", "food winter".into()));
    assert_eq!(soup.created.to_string(), "2026-01-01T00:00:00.000Z");
}

#[test]
fn invalid_lines_are_reported_and_the_others_are_imported() {
    let mut config = poc_config::Config::defaults().unwrap();
    config.insert.max_node_bytes = 40;
    let memory = TestMemory::with(config);
    let long = format!("{{\"body\": \"{}\"}}", "x".repeat(400));
    let text = [
        r#"{"body": "good"}"#,
        r#"{"body": "cut"#,
        r#"["no object"]"#,
        r#"{"body": {"no": "text"}}"#,
        r#"{"body": "odd words", "keywords": ["a,b"]}"#,
        r#"{"body": "odd weight", "weight": "heavy"}"#,
        r#"{"body": "odd category", "category": "unheard"}"#,
        r#"{"schema_version": 9}"#,
        r#"{"schema_version": 1, "id": "x"}"#,
        r#"{"key": "k", "body": "first"}"#,
        r#"{"key": "k", "body": "second"}"#,
        "{}",
        &long,
        r#"{"body": "good again"}"#,
        r#"{"body": "one text", "body": "another"}"#,
    ]
    .join("\n");
    let report = lines(&memory, &text);
    assert_eq!(counts(&report), [6, 0, 0, 0]);
    insta::assert_snapshot!(failures(&report), @r#"
    line 2: it is not JSON: EOF while parsing a string at column 13
    line 3: it is JSON but not an object (write one note per line: {"title": …, "body": …})
    line 4: `body`: it is an object (give a text)
    line 8: `schema_version`: the note has schema version 9; this release reads 1 (import it with the release that wrote it, or a newer one)
    line 9: `id`: `x` is not an id
    line 11: the key `k` was already used at line 10 (give each note a key of its own)
    line 12: the note has no text (give it a title, a body or both)
    line 13: the line has more than 320 bytes (split the note into several, one idea each)
    line 15: the field `body` is given twice (give it once)
    "#);
    let warnings = ImportReport { failed: report.warnings, ..ImportReport::default() };
    insta::assert_snapshot!(failures(&warnings), @r"
    line 5: `keywords`: the keyword `a,b` has a comma in it (give each keyword by itself)
    line 6: `weight`: it is a text (give a number)
    line 7: `category`: unknown category `unheard` (the categories are core, general, technical, observation, task)
    ");
}
