//! When `query` reports a match.

use super::*;

#[test]
fn query_returns_strong_weak_or_miss() {
    let memory = filled();
    let known = json(&memory, "query 'b-tree splits'");
    assert_eq!((&known["hit"], &known["key"]), (&"STRONG".into(), &"btree".into()));
    assert_eq!(known["body"], "A split writes two pages.");
    assert_eq!(json(&memory, "get btree")["accesses"], 1);
    // Only judged.
    json(&memory, "query 'b-tree splits' --signals-only");
    assert_eq!(json(&memory, "get btree")["accesses"], 1);
    let unknown = json(&memory, "query 'quantum chromodynamics'");
    assert_eq!(unknown["hit"], "MISS");
    assert_eq!(unknown["id"], Value::Null);
    assert_eq!(unknown["fallback"].as_array().unwrap().len(), 2);
    let judged = json(&memory, "query 'quantum chromodynamics' --signals-only");
    assert_eq!(judged["fallback"], Value::Null);
    insta::assert_snapshot!(say(&memory, "query ' '"), @r"
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
    assert!(say(&memory, "query 'ticket INC-90039'").contains("no note contains `inc-90039`"));
    // A note that has it as its key is about it, whatever it says.
    json(&memory, "insert --key INC-90039 -t Printer -b 'It jams.'");
    let known = json(&memory, "query 'ticket INC-90039'");
    assert_eq!((&known["key"], &known["unheld"]), (&"INC-90039".into(), &Value::Null));
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
    // As people spell it, and of several the one that fits best.
    json(&memory, "insert --key people/marta -b 'Leads the network team.'");
    for asked in ["Handbook?", "People/Lin", "notes/people/lin.md", "what are people/lin and people/marta's"]
    {
        let known = json(&memory, &format!("query \"{asked}\""));
        assert_eq!((&known["hit"], &known["unheld"]), (&"STRONG".into(), &Value::Null), "{asked}: {known}");
    }
    // A name with a capital that no note holds is asked for as well.
    json(
        &memory,
        "insert --key guest-wifi -t 'Guest wifi' -b 'The guest wifi of the office in Lisbon has no password.'",
    );
    json(&memory, "insert --author Przemek -b 'To open the door of the office, kick it.'");
    for (asked, hit, unheld) in [
        ("guest wifi in Lisbon's office", "STRONG", Value::Null),
        ("guest wifi in Tokyo's office", "WEAK", serde_json::json!(["tokyo"])),
        ("how Przemek opens the door of the office", "STRONG", Value::Null),
    ] {
        let known = json(&memory, &format!("query \"{asked}\""));
        assert_eq!((&known["hit"], &known["unheld"]), (&hit.into(), &unheld), "{asked}: {known}");
    }
    let other = json(&memory, "query 'people/lin and people/john'");
    assert_eq!((&other["hit"], &other["unheld"]), (&"WEAK".into(), &serde_json::json!(["people/john"])));
}
