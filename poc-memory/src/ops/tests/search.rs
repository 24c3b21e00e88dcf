//! Tests of the results of `search`, `retrieve`, `explore` and `classify`.

use super::*;
use poc_graph::Trust;
use poc_notes::{Draft, insert};

#[test]
fn search_lists_its_results() {
    let memory = filled();
    insta::assert_snapshot!(text_output(&memory, "search -p 'all | sort:created asc'"), @r"
    1.000  btree    semantic  B-tree splits
    1.000  journal  episodic  The journal
    ");
    assert_eq!(text_output(&memory, "search nowhere -p match"), "nothing found\n");
    // Plain words run the pipeline of the settings.
    insta::assert_snapshot!(text_output(&memory, "search written journal"), @r"
    1.600  journal  episodic  The journal
           2026-11-21  Page splits are written to the journal.
    ");
    // With a number, that many hits are shown.
    assert_eq!(json(&memory, "search written journal -n 2")["results"].as_array().unwrap().len(), 2);
    let found = json(&memory, "search journal --explain");
    assert_eq!(found["explain"]["stages"][0]["stage"], "hybrid:journal");
    let found = json(&memory, "search journal -p spread --explain");
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for field in ["id", "key", "title", "type", "score", "weight", "modified"] {
        assert!(!results[0][field].is_null(), "{field}: {found:#}");
    }
    let stages = found["explain"]["stages"].as_array().unwrap().iter().map(|stage| &stage["stage"]);
    assert_eq!(stages.collect::<Vec<_>>(), ["hybrid:journal", "limit:5", "spread"]);
    assert_eq!((found["as_of"]["seq"].as_u64(), found["lag"].as_u64()), (Some(3), Some(0)));
    assert_eq!(found["degraded"], serde_json::json!([]));
}

/// As in the query of an agent: the setting of its file decides whether a visit of an earlier version counts.
#[test]
fn a_note_that_was_edited_after_the_visit_of_an_agent_is_not_visited() {
    let memory = filled();
    let agents = memory.paths.agents();
    std::fs::create_dir_all(&agents).unwrap();
    for (name, revisits) in [("revisiting", true), ("once", false)] {
        let text = format!(
            "query.pipeline = \"all\"\nprompt.inline = \"{{{{ NODES }}}}\"\nprompt.placeholders = [\"NODES\"]\n\
             execution.model = \"default\"\nexecution.actions = [\"link-add\"]\n\
             freshness.revisit-on-change = {revisits}\n"
        );
        std::fs::write(agents.join(format!("{name}.toml")), text).unwrap();
    }
    for agent in ["revisiting", "once", "crawler"] {
        json(&memory, &format!("visit {agent} btree journal"));
    }
    json(&memory, "insert --update --key btree -b 'A split writes three pages.'");
    let keys = |pipeline: &str| -> Vec<String> {
        let found = json(&memory, &format!("search -p 'all | {pipeline}'"));
        let results = found["results"].as_array().unwrap().iter();
        results.map(|note| note["key"].as_str().unwrap().to_owned()).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(keys("not-visited:revisiting"), ["btree"]);
    assert_eq!(keys("not-visited:once"), none);
    // A program without a file.
    assert_eq!(keys("not-visited:crawler"), none);
    assert_eq!(keys("visited:revisiting | sort:key-len asc"), ["btree", "journal"]);
    let drawn = json(&memory, "view -p 'all | not-visited:revisiting'");
    assert_eq!(drawn["nodes"].as_array().unwrap().len(), 1);
    let explained = json(&memory, "'pipeline explain' 'all | not-visited:revisiting' --run");
    assert_eq!(explained["pipelines"][0]["ran"]["stages"][1]["out"], 1);
}

#[test]
fn a_number_bounds_every_search() {
    let memory = filled();
    let check = |line: &str, count: usize, left_out: Option<u64>| {
        let answer = json(&memory, line);
        let shown = answer["results"].as_array().unwrap().len();
        assert_eq!((shown, answer["left_out"].as_u64()), (count, left_out), "{line}");
    };
    check("search -p 'all | limit:2' -n 1", 1, Some(1));
    check("search -p 'all | limit:1' -n 2", 1, None);
    check("search journal -p 'limit:2 | sort:created' -n 1", 1, Some(1));
    check("search journal btree -n 1", 1, None);
    let shown = text_output(&memory, "search -p 'all | limit:2' -n 1");
    assert!(shown.ends_with("1 more note left out: add `-n N` or `-p offset:1`\n"), "{shown}");
}

/// A surface that bounds its answers does not know whether a pipeline has a limit.
#[test]
fn a_limit_in_the_pipeline_replaces_the_default_of_a_surface() {
    let memory = filled();
    let ctx =
        Ctx { memory: &memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    let count = |stages: &str| {
        let request = serde_json::json!({"pipeline": [stages], "default_limit": 1});
        find("search").unwrap().run(&ctx, request).unwrap()["results"].as_array().unwrap().len()
    };
    assert_eq!((count("all"), count("all | limit:2")), (1, 2));
}

#[test]
fn a_search_for_words_that_read_like_stages_names_the_pipeline() {
    let memory = filled();
    let notice = |line: &str| {
        let (op, answer) = call(&memory, line).unwrap();
        (op.decode)(&answer).unwrap().notice()
    };
    let of = |pipeline: &str| {
        let command = format!("`poc-memory search -p '{pipeline}'`");
        Some(format!("the text was searched for as words; {command} runs it as a pipeline"))
    };
    assert_eq!(notice("search type:episodic"), of("all | type:episodic"));
    assert_eq!(notice("search 'all | type:episodic | limit:2'"), of("all | type:episodic | limit:2"));
    assert_eq!(notice("search 'journal | limit:2'"), of("hybrid:journal | limit:2"));
    let as_words = [
        "search journal",
        "search all",
        "search 'journal | btree'",
        "search 'title: the journal'",
        "search 'journal | title: btree'",
        "search -p 'type:episodic'",
        "search journal -p limit:2",
    ];
    for line in as_words {
        assert_eq!(notice(line), None, "{line}");
    }
}

#[test]
fn an_explanation_names_the_leading_note() {
    let memory = filled();
    json(&memory, "insert --key bubye -b 'A river that flows through Zimbabwe.'");
    json(&memory, "insert --key harare -t Harare -b 'The town where the government of Zimbabwe sits.'");
    json(&memory, "insert --key market -b 'In the middle of Harare, every day.'");
    let found = json(&memory, "retrieve 'bubye, the river' --explain");
    let lead = |key: &str| {
        let results = found["results"].as_array().unwrap();
        results.iter().find(|hit| hit["key"] == key).unwrap()["led_by"].clone()
    };
    assert_eq!(lead("harare"), serde_json::json!({"key": "bubye", "names": ["zimbabwe"]}));
    assert_eq!(lead("btree"), Value::Null);
    let text = text_output(&memory, "retrieve 'bubye, the river' --explain");
    assert!(text.contains("in common with bubye: zimbabwe"), "{text}");
    let text = text_output(&memory, "retrieve 'in the middle, every day' --explain");
    assert!(text.contains("linked by a mention to market"), "{text}");
    let found = json(&memory, "retrieve 'bubye, the river'");
    assert!(found["results"].as_array().unwrap().iter().all(|hit| hit["led_by"] == Value::Null));
}

#[test]
fn retrieve_finds_by_words_by_meaning_and_along_edges() {
    let memory = filled();
    let found = json(&memory, "retrieve journal");
    assert_eq!(found["results"][0]["key"], "journal");
    assert_eq!(found["results"][0]["ranks"], serde_json::json!({"meaning": 1, "words": 1}));
    assert_eq!(found["results"][0]["nearest"], Value::Null);
    assert_eq!(json(&memory, "retrieve journal -k 1")["results"].as_array().unwrap().len(), 1);
    let explained = json(&memory, "retrieve journal --explain");
    for hit in explained["results"].as_array().unwrap() {
        let shares: f64 = hit["shares"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
        assert!((shares - hit["score"].as_f64().unwrap()).abs() < 1e-9, "{hit}");
        assert!(hit["nearest"]["cosine"].is_number() && !hit["nearest"]["text"].as_str().unwrap().is_empty());
    }
    insta::assert_snapshot!(text_output(&memory, "retrieve 'what splits pages' -k 1 --explain"), @r"
    1.600  btree  B-tree splits  meaning 1, words 1
           meaning +0.600  words +1.000
           passage 1, cosine 0.769: A split writes two pages.
    ");
    insta::assert_snapshot!(text_output(&memory, "retrieve journal -k 257"), @r"
    invalid_argument: `top_k`: 257 is out of range
    give a number from 1 to 256
    ");
    let explored = json(&memory, "explore journal --beam 1");
    assert_eq!(explored["results"][0]["key"], "journal");
    assert_eq!(explored["results"][1]["hop"], 1);
    insta::assert_snapshot!(text_output(&memory, "explore journal --depth 9"), @r"
    invalid_argument: `depth`: 9 is out of range
    give a number from 1 to 8
    ");
    insta::assert_snapshot!(text_output(&memory, "classify 'split pages'"), @"storage  1 edge");
    assert_eq!(text_output(&TestMemory::new(), "classify soup"), "no keyword fits\n");
}

#[test]
fn a_note_derived_from_a_derived_note_leads_to_the_first_one() {
    let memory = filled();
    for (key, title) in [("fact", "Zebras gallop"), ("digest", "Lentil soup")] {
        let draft = Draft {
            key: Some(key.into()),
            title: Some(title.into()),
            ..Draft::new("agent:facts", Trust::Agent)
        };
        insert::insert(&memory, draft, memory.cause("agent:facts", "insert")).unwrap();
    }
    json(&memory, "link fact btree --kind derived-from");
    json(&memory, "link digest fact --kind derived-from");
    for op in ["search", "retrieve"] {
        let answer = json(&memory, &format!("{op} 'lentil soup'"));
        let keys: Vec<&Value> = answer["results"].as_array().unwrap().iter().map(|hit| &hit["key"]).collect();
        assert_eq!((keys[0], &answer["results"][0]["derived"]["key"]), (&"btree".into(), &"digest".into()));
        assert!(!keys.contains(&&"digest".into()) && !keys.contains(&&"fact".into()), "{op}: {answer}");
    }
    assert_eq!(json(&memory, "retrieve 'lentil soup' --derived")["results"][0]["key"], "digest");
}

#[test]
fn a_text_without_words_finds_nothing() {
    let memory = filled();
    insta::assert_snapshot!(text_output(&memory, "search '?!'"), @r"
    invalid_argument: `text`: there is nothing to search for
    give a text, or a pipeline such as `all | limit:20`
    ");
    for op in ["retrieve", "query", "explore"] {
        let refused = text_output(&memory, &format!("{op} '?!'"));
        assert!(refused.contains("`text`: the text has no letter or digit"), "{op}: {refused}");
    }
    // A stage may look for punctuation.
    assert!(call(&memory, "search '?!' -p match").is_ok());
}
