//! When `query` reports a match.

use super::*;
use poc_config::Config;
use poc_graph::Trust;
use poc_notes::{Draft, insert};

#[test]
fn query_returns_strong_or_miss() {
    let memory = filled();
    let known = json(&memory, "query 'b-tree splits'");
    assert_eq!((&known["hit"], &known["key"]), (&"STRONG".into(), &"btree".into()));
    assert_eq!(known["body"], "A split writes two pages.");
    assert_eq!(json(&memory, "get btree")["accesses"], 1);
    // Only the verdict is computed.
    json(&memory, "query 'b-tree splits' --signals-only");
    assert_eq!(json(&memory, "get btree")["accesses"], 1);
    let unknown = json(&memory, "query 'quantum chromodynamics'");
    assert_eq!(unknown["hit"], "MISS");
    assert_eq!(unknown["id"], Value::Null);
    assert_eq!(unknown["fallback"].as_array().unwrap().len(), 2);
    let judged = json(&memory, "query 'quantum chromodynamics' --signals-only");
    assert_eq!(judged["fallback"], Value::Null);
    insta::assert_snapshot!(text_output(&memory, "query ' '"), @r"
    invalid_argument: `text`: the text is empty
    give words or a sentence
    ");
}

#[test]
fn query_does_not_match_another_ticket_number() {
    let memory = filled();
    json(&memory, "insert --key outage -t 'INC-90037' -b 'Ticket INC-90037: the store was full.'");
    for asked in
        ["ticket INC-90037", "INC-90037's ticket", "what is https://jira.example.com/browse/INC-90037?"]
    {
        let known = json(&memory, &format!("query \"{asked}\""));
        assert_eq!(
            (&known["hit"], &known["key"], &known["unheld"]),
            (&"STRONG".into(), &"outage".into(), &Value::Null)
        );
    }
    let other = json(&memory, "query 'ticket INC-90039'");
    assert_eq!((&other["hit"], &other["unheld"]), (&"WEAK".into(), &serde_json::json!(["inc-90039"])));
    assert!(text_output(&memory, "query 'ticket INC-90039'").contains("no note contains `inc-90039`"));
    // A note with the name as its key is about it, whatever its text is.
    json(&memory, "insert --key INC-90039 -t Printer -b 'It jams.'");
    let known = json(&memory, "query 'ticket INC-90039'");
    assert_eq!((&known["key"], &known["unheld"]), (&"INC-90039".into(), &Value::Null));
}

#[test]
fn the_verdict_is_about_the_note_that_is_shown() {
    let memory = filled();
    json(&memory, "insert --key lighthouse -t Lighthouse -b 'The lighthouse clock stopped.'");
    json(&memory, "insert --key reply -t Reply -b 'Yes, on Tuesday.'");
    let asked = || json(&memory, "query 'who repairs the lighthouse clock' --signals-only");
    let before = asked();
    assert_eq!(before["key"], "lighthouse", "{before}");
    let fact = Draft {
        key: Some("fact".into()),
        title: Some("Ann repairs the lighthouse clock".into()),
        ..Draft::new("agent:facts", Trust::Agent)
    };
    insert::insert(&memory, fact, memory.cause("agent:facts", "insert")).unwrap();
    let cosine = |answer: &Value| answer["signals"]["cosine"].as_f64().unwrap();
    assert!(cosine(&asked()) > cosine(&before) + 0.01);
    // A hidden fact does not make a note certain to which it does not lead.
    json(&memory, "link fact reply --kind derived-from");
    let after = asked();
    assert_eq!(after["key"], "lighthouse", "{after}");
    assert!((cosine(&after) - cosine(&before)).abs() < 1e-3, "{after}");
}

/// Checks that the note with a key answers a question for certain.
fn assert_answered(memory: &Memory, question: &str, key: &str) {
    let known = json(memory, &format!("query '{question}'"));
    assert_eq!(
        (&known["hit"], &known["key"], &known["missing"]),
        (&"STRONG".into(), &key.into(), &Value::Null),
        "{question}: {known}"
    );
}

/// Checks that a question is not answered for certain, because its best note lacks these words.
fn assert_other_subject(memory: &Memory, question: &str, missing: &str) {
    let other = json(memory, &format!("query '{question}'"));
    assert_ne!(other["hit"], "STRONG", "{question}: {other}");
    assert_eq!(other["missing"], serde_json::json!([missing]), "{question}: {other}");
}

#[test]
fn query_is_not_certain_about_another_subject_of_the_same_kind() {
    let memory = TestMemory::new();
    json(&memory, "insert --key invoices -b 'The invoice worker listens on port 7443.'");
    json(&memory, "insert --key owner -b 'Ann owns the search index and reviews changes to it.'");
    json(&memory, "insert --key mail -b 'Mail is sent at night.'");
    for (question, key) in [
        ("which port does the invoice worker listen on?", "invoices"),
        ("what is the port of the worker for invoices?", "invoices"),
        ("who owns the search index?", "owner"),
    ] {
        assert_answered(&memory, question, key);
    }
    // The notes contain the word `mail`, but not `upload` and `queue`.
    for (question, missing) in [
        ("which port does the mail worker listen on?", "mail worker"),
        ("which port does the upload worker listen on?", "upload worker"),
        ("which port does the invoice queue listen on?", "invoice queue"),
        ("who owns the mail index and reviews changes to it?", "mail index"),
    ] {
        assert_other_subject(&memory, question, missing);
    }
    let shown = text_output(&memory, "query 'who owns the mail index and reviews changes to it?'");
    assert!(shown.contains("`owner` does not contain `mail index`"), "{shown}");
}

#[test]
fn query_is_not_certain_about_another_word_in_the_same_place_or_another_day() {
    let memory = TestMemory::new();
    json(&memory, "insert --key crane -b 'Marta operates the crane in the north yard.'");
    json(&memory, "insert --key parking -b 'On Tuesdays, the visitors park behind the church in Lisbon.'");
    json(&memory, "insert --key soup -b 'Ann cooks soup for the guests.'");
    for (question, key) in [
        ("who operates the crane in the north yard?", "crane"),
        ("when did marta operate the crane in the north yard?", "crane"),
        ("where do the visitors park in lisbon on tuesdays?", "parking"),
    ] {
        assert_answered(&memory, question, key);
    }
    for (question, missing) in [
        ("who operates the ferry in the north yard?", "ferry"),
        ("who operates the lathe in the north yard?", "lathe"),
        ("when did jonas operate the crane in the north yard?", "jonas"),
        ("where do the visitors park in lisbon on Fridays?", "fridays"),
    ] {
        assert_other_subject(&memory, question, missing);
    }
}

#[test]
fn query_is_not_certain_about_the_same_thing_of_another_owner_or_at_another_time() {
    let memory = TestMemory::new();
    json(&memory, "insert --key wifi -b 'The wifi password of the office is sunflower7.'");
    json(&memory, "insert --key spare-key -b 'The spare key of the garage hangs behind the door.'");
    json(&memory, "insert --key visa -b 'Ben’s visa expires in March.'");
    json(&memory, "insert --key lessons -b 'Emma’s maths teacher is Ms Brown.'");
    json(&memory, "insert --key food -b 'In the morning, Rex gets 200 g of dry food.'");
    for (question, key) in [
        ("what is the wifi password of the office?", "wifi"),
        ("where is the spare key of the garage?", "spare-key"),
        ("when does Ben’s visa expire?", "visa"),
        ("who is Emma’s maths teacher?", "lessons"),
        ("what does Rex get in the morning?", "food"),
    ] {
        assert_answered(&memory, question, key);
    }
    for (question, missing) in [
        ("what is the wifi password of the hotel?", "hotel"),
        ("where is the spare key of the cellar?", "cellar"),
        ("when does anna’s visa expire?", "anna"),
        ("who is Emma’s music teacher?", "music teacher"),
        ("what does Rex get in the evening?", "evening"),
    ] {
        assert_other_subject(&memory, question, missing);
    }
    // A note that names the owner is about it, also in its keywords.
    json(
        &memory,
        "insert --key guest-wifi --keyword hotel -b 'The guest wifi password of the office is tulip4.'",
    );
    assert_answered(&memory, "what is the guest wifi password of the hotel?", "guest-wifi");
}

#[test]
fn query_and_search_find_the_note_of_a_day() {
    let memory = TestMemory::new();
    json(&memory, "insert --key daily/2026-11-05 -b 'Yuki shows the sensor dashboard.'");
    json(&memory, "insert --key roof -b 'Minutes of 2026-10-05: the roof leaks.'");
    json(&memory, "insert --key soup -b 'Ann cooks soup with lentils.'");
    for day in ["2026-11-05", "5 November 2026", "November 5"] {
        let found = json(&memory, &format!("retrieve '{day}'"));
        assert_eq!(found["results"][0]["key"], "daily/2026-11-05", "{day}");
        assert_answered(&memory, &format!("what happened on {day}?"), "daily/2026-11-05");
    }
    // The note counts as containing its day, and another note is about another day.
    assert_answered(&memory, "Yuki shows the sensor dashboard on 5 November 2026", "daily/2026-11-05");
    assert_answered(&memory, "which minutes of 2026-10-05 say that the roof leaks?", "roof");
    // A note that mentions the day and has all words of the question comes before the note of the day.
    json(&memory, "insert --key hiring -b 'Mirjam starts on 1 October 2026, at the desk by the window.'");
    json(&memory, "insert --key daily/2026-10-01 -t '1 October 2026' -b 'Worked in the library.'");
    assert_answered(&memory, "who starts on 1 October 2026?", "hiring");
    assert_answered(&memory, "1 October 2026", "daily/2026-10-01");
    let other = "what do the minutes of 10 November 2026 say: the roof leaks?";
    assert_other_subject(&memory, other, "10 november 2026");
}

#[test]
fn a_question_that_only_names_a_day_finds_what_was_written_on_it() {
    let memory = TestMemory::new();
    json(&memory, "insert --key cold -b 'It was minus 5 degrees on 7 February, and minus 5 on 3 February.'");
    json(&memory, "insert --key log/2026-02-05-07 -b 'The mast was repaired.'");
    json(&memory, "insert --key log/2026-02-05-19 -b 'Ann saw the comet.'");
    json(&memory, "insert --key log/2026-02-07-07 -b 'Five sledges came back.'");
    let keys = |day: &str| -> Vec<String> {
        let found = json(&memory, &format!("retrieve 'what happened on {day}?'"));
        let hits = found["results"].as_array().unwrap().iter();
        hits.map(|hit| hit["key"].as_str().unwrap().to_owned()).collect()
    };
    for day in ["5 February", "2026-02-05", "February 5, 2026"] {
        let mut first = keys(day);
        first.truncate(2);
        first.sort();
        assert_eq!(first, ["log/2026-02-05-07", "log/2026-02-05-19"], "{day}");
    }
    // With other words, what was written on the day and shares a word with the question comes first.
    json(&memory, "insert --key log/2026-02-05-21 -b 'The snow on the ridge was 90 cm deep.'");
    json(&memory, "insert --key log/2026-02-07-21 -b 'The snow on the ridge was 70 cm deep.'");
    for (day, key) in [("5 February", "log/2026-02-05-21"), ("February 7", "log/2026-02-07-21")] {
        assert_answered(&memory, &format!("how deep was the snow on {day}?"), key);
    }
    // The note of the day comes before what else was written on it.
    json(&memory, "insert --key daily/2026-02-05 -b 'Quiet.'");
    assert_eq!(keys("5 February")[0], "daily/2026-02-05");
    assert!(keys("5 February")[1].starts_with("log/2026-02-05"));
}

#[test]
fn a_note_with_all_words_is_the_answer_rather_than_one_without_the_rare_word() {
    let memory = TestMemory::new();
    for number in 0..6 {
        json(&memory, &format!("insert --key hut-{number} -t 'Hut {number}' -b 'Bed {number} in the hut.'"));
    }
    json(&memory, "insert --key food -t 'The hut' -b 'What is in the hut: rice, oats and beans.'");
    json(
        &memory,
        "insert --key wifi -b 'The password for guests hangs on the fridge, next to the door of the hut.'",
    );
    let known = json(&memory, "query 'what is on the fridge in the hut?'");
    assert_eq!(known["key"], "wifi", "{known}");
}

#[test]
fn a_note_with_all_words_of_a_question_is_no_miss() {
    let text = "[query.gates.hash]\nstrong = 4.0\nweak = 3.5\n";
    let memory = TestMemory::with(Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap());
    json(&memory, "insert --key day -b 'Dentist at 9, a crown on the lower left, 410 euros.'");
    json(&memory, "insert --key soup -b 'Ann cooks soup with lentils.'");
    let known = json(&memory, "query dentist");
    let found = (&known["hit"], &known["key"], &known["decided_by"]);
    assert_eq!(found, (&"WEAK".into(), &"day".into(), &"all-words".into()), "{known}");
    assert_eq!(json(&memory, "query 'what happened at the dentist?'")["hit"], "WEAK");
    for question in ["dentist and lentils", "dentist invoices", "at a"] {
        assert_eq!(json(&memory, &format!("query '{question}'"))["hit"], "MISS", "{question}");
    }
}

#[test]
fn a_miss_names_no_words_that_a_note_lacks() {
    let memory = filled();
    let unknown = json(&memory, "query 'who was the king of Lilliput in 1726?'");
    assert_eq!((&unknown["hit"], &unknown["missing"]), (&"MISS".into(), &Value::Null));
    let shown = text_output(&memory, "query 'who was the king of Lilliput in 1726?'");
    assert!(shown.contains("no note contains `lilliput`") && !shown.contains("does not contain"), "{shown}");
}

#[test]
fn query_matches_an_exact_key() {
    let memory = filled();
    json(&memory, "insert --key people/lin -b 'Leads the storage team.'");
    json(&memory, "insert --key handbook -b 'Who is on call: people/lin.'");
    for key in ["people/lin", " handbook"] {
        let known = json(&memory, &format!("query '{key}'"));
        assert_eq!((&known["hit"], &known["key"]), (&"STRONG".into(), &key.trim().into()));
        assert_eq!(json(&memory, &format!("retrieve '{key}'"))["results"][0]["key"], key.trim());
    }
    let asked = json(&memory, "query 'who is people/lin'");
    assert_eq!(
        (&asked["key"], asked["signals"]["coverage"].as_f64().unwrap() > 0.99),
        (&"people/lin".into(), true)
    );
    // Names match as people spell them. If several notes match, the best match is returned.
    json(&memory, "insert --key people/marta -b 'Leads the network team.'");
    for asked in ["Handbook?", "People/Lin", "notes/people/lin.md", "what are people/lin and people/marta's"]
    {
        let known = json(&memory, &format!("query \"{asked}\""));
        assert_eq!((&known["hit"], &known["unheld"]), (&"STRONG".into(), &Value::Null), "{asked}: {known}");
    }
    // A capitalised name that no note contains also counts as unknown.
    json(
        &memory,
        "insert --key guest-wifi -t 'Guest wifi' -b 'The guest wifi of the office in Lisbon has no password.'",
    );
    json(&memory, "insert --author Przemek -b 'To open the door of the office, kick it.'");
    for (asked, hit, unheld) in [
        ("guest wifi in Lisbon's office", "STRONG", Value::Null),
        ("guest wifi in Tokyo's office", "WEAK", serde_json::json!(["tokyo"])),
        ("guest wifi in ACME's office", "WEAK", serde_json::json!(["acme"])),
        ("how Przemek opens the door of the office", "STRONG", Value::Null),
    ] {
        let known = json(&memory, &format!("query \"{asked}\""));
        assert_eq!((&known["hit"], &known["unheld"]), (&hit.into(), &unheld), "{asked}: {known}");
    }
    let other = json(&memory, "query 'people/lin and people/john'");
    assert_eq!((&other["hit"], &other["unheld"]), (&"WEAK".into(), &serde_json::json!(["people/john"])));
}

#[test]
fn the_settings_choose_the_gate_and_the_answer_names_it() {
    let with_gate = |gate: &str| {
        let text = format!("[query]\ngate = \"{gate}\"\n");
        let config = Config::layered(Some(("config.toml", &text)), std::iter::empty()).unwrap();
        let memory = TestMemory::with(config);
        json(&memory, "insert --key btree -t 'B-tree splits' -b 'A split writes two pages.'");
        json(&memory, "insert --key soup -t 'Lentil soup' -b 'With lemon and bread.'");
        memory
    };
    for (gate, by) in [("certainty", "certainty"), ("two-path", "spelling"), ("fused", "fused")] {
        let memory = with_gate(gate);
        let known = json(&memory, "query 'b-tree splits' --explain");
        let names = (&known["hit"], &known["key"], &known["gate"], &known["decided_by"]);
        assert_eq!(names, (&"STRONG".into(), &"btree".into(), &gate.into(), &by.into()), "{known}");
        assert!(!known["thresholds"].as_object().unwrap().is_empty(), "{known}");
        assert_eq!(json(&memory, "query 'b-tree splits'")["thresholds"], Value::Null);
        let unknown = json(&memory, "query 'quantum chromodynamics'");
        assert_eq!((&unknown["hit"], &unknown["gate"]), (&"MISS".into(), &gate.into()), "{unknown}");
        assert!(!unknown["fallback"].as_array().unwrap().is_empty(), "{unknown}");
    }
    // The gates over titles do not read the text of a note.
    for (gate, hit) in [("certainty", "STRONG"), ("two-path", "MISS"), ("fused", "MISS")] {
        let asked = json(&with_gate(gate), "query 'a split writes two pages'");
        assert_eq!(asked["hit"], hit, "{gate}: {asked}");
    }
    let explained = |gate| text_output(&with_gate(gate), "query 'b-tree splits' --explain");
    insta::assert_snapshot!(explained("two-path"), @r"
    STRONG  btree  B-tree splits
    a note on this subject; it may not contain the answer

    A split writes two pages.

    meaning 1.000, spelling 1.000, word overlap 1.000, decided by spelling (gate `two-path`)
      query.title-min-vec = 0.3
      query.two-path.lex-strong-min-lex = 0.15
      query.two-path.lex-strong-min-vec = 0.7
      query.two-path.sem-margin = 0.015
      query.two-path.sem-strong-min-vec = 0.75
      query.two-path.strong-min-ce = 0.6
      query.two-path.weak-min-lex = 0.05
      query.two-path.weak-min-vec = 0.85
    ");
    insta::assert_snapshot!(explained("fused"), @r"
    STRONG  btree  B-tree splits
    a note on this subject; it may not contain the answer

    A split writes two pages.

    meaning 1.000, spelling 1.000, word overlap 1.000, fused 1.000, decided by fused (gate `fused`)
      query.fused.ce-weight = 0.45
      query.fused.lex-weight = 0.25
      query.fused.strong-min-fused = 0.7
      query.fused.vec-weight = 0.3
      query.fused.weak-min-fused = 0.5
      query.title-min-vec = 0.3
    ");
    insta::assert_snapshot!(explained("certainty"), @r"
    STRONG  btree  B-tree splits
    a note on this subject; it may not contain the answer

    A split writes two pages.

    coverage 1.000, meaning 1.000, certainty 3.000, decided by certainty (gate `certainty`)
      query.gates.hash.strong = 1.5
      query.gates.hash.weak = 1
    ");
}
