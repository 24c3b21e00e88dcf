//! The op `view`, which returns the graph for drawing.

use super::*;
use serde_json::json;

/// The keys of the notes of an answer, in order.
fn keys(answer: &Value) -> Vec<String> {
    answer["nodes"].as_array().unwrap().iter().map(|node| node["key"].as_str().unwrap().into()).collect()
}

#[test]
fn view_returns_positions_and_edges() {
    let memory = filled();
    json(&memory, "insert --key alone -t 'Lentil soup' -b 'For lunch.'");
    json(&memory, "insert --key second -t 'The second journal' -b 'Another.' --supersedes journal");
    let answer = json(&memory, "view");
    assert_eq!(keys(&answer).len(), 3);
    assert!(!keys(&answer).contains(&"journal".to_owned()), "it is superseded");
    for node in answer["nodes"].as_array().unwrap() {
        let places = [&node["position"], &node["position_3d"]].map(|place| place.as_array().unwrap().clone());
        assert_eq!((places[0].len(), places[1].len()), (2, 3));
        assert!(places.iter().flatten().all(|x| x.as_f64().is_some_and(f64::is_finite)), "{node}");
    }
    assert_eq!((&answer["node_count"], &answer["past"]), (&json!(3), &Value::Null));
    assert_eq!(answer["graph_version"], answer["as_of"]["seq"]);

    let plane = json(&memory, "view --plane");
    for (node, both) in plane["nodes"].as_array().unwrap().iter().zip(answer["nodes"].as_array().unwrap()) {
        assert_eq!((&node["position"], &node["position_3d"]), (&both["position"], &Value::Null));
    }

    let all = json(&memory, "view -p 'all | sort:created asc' -p state:superseded");
    assert_eq!(keys(&all), ["journal"]);
    let both = json(&memory, "view -p 'match:journal | state:superseded'");
    assert_eq!(both["edges"], json!([]));
    let then = json(&memory, "view --at 0s");
    assert_eq!((&then["nodes"], &then["edges"]), (&answer["nodes"], &answer["edges"]));
    assert_eq!(then["past"], json!(true));
}

#[test]
fn a_view_around_a_note_has_all_notes_that_it_has_an_edge_to() {
    let memory = filled();
    json(&memory, "insert --key fact -t 'Zebras gallop'");
    json(&memory, "insert --key far -t 'Lentil soup' -b 'For lunch.'");
    json(&memory, "link fact btree --kind derived-from");
    let keys = |words: &str| keys(&json(&memory, words));
    // Graph stages do not lead from a fact to its source, and the journal is linked with the source.
    assert_eq!(keys("view -p key:fact -p spread"), ["fact"]);
    assert_eq!(keys("view --around fact"), ["fact", "btree", "journal"]);
    assert_eq!(keys("view --around btree"), ["btree", "journal", "fact"]);
    let edges = json(&memory, "view --around fact")["edges"].clone();
    assert!(edges.as_array().unwrap().iter().any(|edge| edge["kind"] == "derived-from"), "{edges:#}");
    assert!(text_output(&memory, "view --around nothing").starts_with("not_found: `around`: "));
    let ctx =
        Ctx { memory: &memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    let both = find("view").unwrap().run(&ctx, json!({ "around": "fact", "pipeline": ["all"] }));
    assert_eq!(both.unwrap_err().at.unwrap().field.as_deref(), Some("around"));
}

#[test]
fn each_edge_is_listed_once_with_kind_and_strength() {
    let memory = filled();
    let answer = json(&memory, "view");
    let edges: Vec<(String, f64)> = answer["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| (edge["kind"].as_str().unwrap().to_owned(), edge["strength"].as_f64().unwrap()))
        .collect();
    let kinds_and_strengths: Vec<String> =
        edges.iter().map(|(kind, strength)| format!("{kind} {strength}")).collect();
    assert_eq!(kinds_and_strengths, ["link 0.8", "keyword 0.510422"]);
    let id = |at: usize| answer["nodes"][at]["id"].clone();
    assert!(answer["edges"].as_array().unwrap().iter().all(|edge| [id(0), id(1)].contains(&edge["from"])));
}

#[test]
fn view_is_limited_and_reports_totals() {
    let memory = TestMemory::new();
    for number in 0..6 {
        json(&memory, &format!("insert --key n{number} -t 'Thing {number}'"));
    }
    for number in 1..6 {
        json(&memory, &format!("link n0 n{number} --strength 0.{number}"));
    }
    json(&memory, "link n4 n5 --strength 0.9");
    let answer = json(&memory, "view --limit 3 --max-edges 1");
    assert_eq!(answer["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(answer["nodes"][0]["key"], "n0", "with most edges");
    assert_eq!(answer["node_count"], json!(6));
    assert!(answer["edge_count"].as_u64() > Some(1));
    assert_eq!(answer["edges"].as_array().unwrap().len(), 1);
    // Each note's strongest edge comes first, before stronger edges between notes that are already connected.
    let five = json(&memory, "view --max-edges 5");
    let joined: std::collections::BTreeSet<String> = five["edges"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|edge| [edge["from"].to_string(), edge["to"].to_string()])
        .collect();
    assert_eq!(joined.len(), 6);
    assert!(text_output(&memory, "view --limit 0").starts_with("invalid_argument: `limit`"));
    assert!(text_output(&memory, "view --max-edges 100001").starts_with("invalid_argument: `max_edges`"));
    assert!(text_output(&memory, "view -p tpye:x").starts_with("invalid_argument"));
}

#[test]
fn equal_requests_get_byte_equal_answers() {
    let memory = filled();
    let answer = || json(&memory, "view").to_string();
    assert_eq!(answer(), answer());
    let text = text_output(&memory, "view");
    assert_eq!(text, text.trim_end().to_owned() + "\n");
    assert!(text.starts_with("{\"schema_version\":"), "{text}");
}

#[test]
fn an_empty_memory_has_a_view() {
    let answer = json(&TestMemory::new(), "view");
    assert_eq!((&answer["nodes"], &answer["edges"]), (&json!([]), &json!([])));
}
