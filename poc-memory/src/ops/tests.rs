//! Every verb of the graph through the table: words in, words and values out.

mod batch;
mod consolidate;
mod counts;
mod former_names;
mod fresh;
mod generated;
mod learning;
mod past;
mod quarantine;
mod reader;
mod samples;
mod settings;
mod tenants;
mod undo;
mod view;

use super::*;
use poc_agent::model::{CancellationToken, ModelRegistry};
use poc_agent::run_limiter::RunLimiter;
use poc_agent::{Catalog, CatalogChange};
use poc_graph::error::{Error, Exit, Result};
use poc_graph::time::Span;
use poc_notes::testing::TestMemory;
use serde_json::Value;
use std::sync::Arc;

/// A process without agents and without a daemon.
struct Nobody;

impl Host for Nobody {
    fn catalog(&self) -> Result<Arc<Catalog>> {
        Ok(Arc::default())
    }
    fn reload(&self) -> Result<(Arc<Catalog>, Vec<CatalogChange>)> {
        Ok((Arc::default(), Vec::new()))
    }
    fn calls(&self) -> CancellationToken {
        CancellationToken::new()
    }
    fn models(&self) -> ModelRegistry {
        poc_models::registry()
    }
    fn run_limiter(&self) -> RunLimiter {
        RunLimiter::default()
    }
    fn daemon(&self) -> Result<&dyn Daemon> {
        Err(Error::unavailable("no daemon here"))
    }
}

fn call(memory: &Memory, line: &str) -> Result<(&'static OpDef, Value)> {
    let line = words(line);
    let op = find(line[0]).unwrap();
    let command = (op.augment)(clap::Command::new(op.name));
    let matches = command.try_get_matches_from(line).map_err(|error| Error::invalid(error.to_string()))?;
    let ctx = Ctx { memory, host: &Nobody, actor: Actor::Person, may_write: true, progress: &|_| {} };
    Ok((op, (op.run)(&ctx, (op.parse)(&matches)?)?))
}

/// What a person reads, ids taken out.
fn say(memory: &Memory, line: &str) -> String {
    match call(memory, line) {
        Err(error) => {
            format!("{}: {error}\n{}", error.code.name(), error.hint.as_deref().unwrap_or_default())
        }
        Ok((op, answer)) => {
            let text = (op.decode)(&answer).unwrap().show();
            plain(&text)
        }
    }
}

/// The text with each id replaced by `ID`.
fn plain(text: &str) -> String {
    let word = |word: &str| {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_id = name.len() == 32 && name.starts_with("01");
        (if is_id { "ID" } else { name }).to_owned() + &word[name.len()..]
    };
    text.split_inclusive(|c: char| !c.is_alphanumeric()).map(word).collect()
}

fn json(memory: &Memory, line: &str) -> Value {
    call(memory, line).unwrap().1
}

/// The words of a command line; what stands between quotes is one word.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

fn filled() -> TestMemory {
    let memory = TestMemory::new();
    json(&memory, "insert --key btree -t 'B-tree splits' -b 'A split writes two pages.' -k Storage");
    json(
        &memory,
        "insert --key journal -t 'The journal' -b 'Page splits are written to the journal.' -k storage --type episodic",
    );
    json(&memory, "link btree journal --reason 'splits are journalled'");
    memory.clock.advance(Span::HOUR);
    memory
}

#[test]
fn get_shows_everything_about_a_note() {
    let memory = filled();
    json(&memory, "visit linker journal");
    json(&memory, "insert --update --key journal --author Ann");
    insta::assert_snapshot!(say(&memory, "get journal"), @r"
    The journal

    key        journal
    id         ID
    type       episodic, general, active
    keywords   storage
    weight     1.000
    created    2026-11-21T08:00:00.000Z
    modified   2026-11-21T09:00:00.000Z, version 2
    provenance manual, trust user
    author     Ann

    Page splits are written to the journal.

    link
      ← 0.80  btree  B-tree splits  (splits are journalled)

    keyword
      → 0.51  btree  B-tree splits  (storage)

    visits
      2026-11-21T09:00:00.000Z  v1  processed by linker

    history
      2026-11-21T08:00:00.000Z  v1  created by manual (insert, change 2)
      2026-11-21T09:00:00.000Z  v2  changed by manual (insert, change 5)
    ");
    insta::assert_snapshot!(say(&memory, "get btree --markdown"), @r"
    ---
    schema_version: 1
    id: ID
    key: btree
    title: B-tree splits
    type: semantic
    category: general
    keywords:
    - storage
    provenance: manual
    trust: user
    emotion: 0.0
    created: 2026-11-21T08:00:00.000Z
    modified: 2026-11-21T08:00:00.000Z
    state: active
    origin: local
    version: 1
    weight: 1.0
    touched: 2026-11-21T08:00:00.000Z
    accesses: 0
    replay_interval: 0
    edges:
    - to: ID
      kind: link
      strength: 0.8
      created: 2026-11-21T08:00:00.000Z
      touched: 2026-11-21T08:00:00.000Z
      provenance: manual
      reason: splits are journalled
    ---

    A split writes two pages.
    ");
    insta::assert_snapshot!(say(&memory, "history journal"), @r#"
    journal (ID)
      2026-11-21T08:00:00.000Z  v1  created by manual (insert, change 2)
      2026-11-21T09:00:00.000Z  v2  changed by manual (insert, change 5)
        author: "" → "Ann"
      2026-11-21T08:00:00.000Z  link ← `btree` by manual  (splits are journalled)
    "#);
}

#[test]
fn text_answers_of_ops_that_write() {
    let memory = filled();
    let mut told = String::new();
    for line in [
        "insert -t Soup --weight 2",
        "insert -t Soup",
        "insert -t 'Lentil soup' --supersedes soup --expires 2027-01-01",
        "link btree journal",
        "link btree journal --strength 0.3",
        "link btree journal --strength 0.3",
        "link btree journal --kind contradicts --strength 0.5",
        "link btree journal --remove",
        "link btree journal --remove",
        "weight btree -0.5",
        "weight btree 3",
        "visit linker btree journal --outcome skipped",
        "supersede btree journal --reason 'said twice'",
        "history btree",
        "delete btree",
        "delete btree",
        "history btree",
        "get jurnal",
        "search",
    ] {
        told += &format!("$ {line}\n{}\n", say(&memory, line).trim_end());
    }
    insta::assert_snapshot!(told, @r#"
    $ insert -t Soup --weight 2
    inserted `soup` (0 keyword edges, 0 semantic edges)
    $ insert -t Soup
    known already as `soup`
    $ insert -t 'Lentil soup' --supersedes soup --expires 2027-01-01
    inserted `lentil-soup` (0 keyword edges, 0 semantic edges)
    $ link btree journal
    already present: `btree` → `journal` (link, strength 0.8)
    $ link btree journal --strength 0.3
    changed: `btree` → `journal` (link, strength 0.3)
    $ link btree journal --strength 0.3
    already present: `btree` → `journal` (link, strength 0.3)
    $ link btree journal --kind contradicts --strength 0.5
    added: `btree` → `journal` (contradicts, strength 0.5)
    $ link btree journal --remove
    removed: `btree` → `journal` (link)
    $ link btree journal --remove
    not present: `btree` → `journal` (link)
    $ weight btree -0.5
    `btree` weighs 0.500 (before: 1.000)
    $ weight btree 3
    `btree` weighs 3.000 (before: 0.500)
    $ visit linker btree journal --outcome skipped
    2 notes skipped by `linker`
    $ supersede btree journal --reason 'said twice'
    `journal` supersedes `btree` and has 0 of its links
    $ history btree
    btree (ID)
      2026-11-21T08:00:00.000Z  v1  created by manual (insert, change 1)
      2026-11-21T09:00:00.000Z  v2  changed by manual (supersede, change 12)
        state: "active" → "superseded"
      2026-11-21T09:00:00.000Z  supersedes ← `journal` by manual  (said twice)
      2026-11-21T09:00:00.000Z  contradicts → `journal` by manual
    $ delete btree
    deleted `btree` and 3 edges; its history stays under its id, ID
    $ delete btree
    not_found: `node`: there is no node `btree`
    `poc-memory search btree` looks for it
    $ history btree
    not_found: `node`: there is no node `btree`
    `poc-memory search btree` looks for it; a note that was deleted has its history under its id
    $ get jurnal
    not_found: `node`: there is no node `jurnal`
    did you mean `journal`?
    $ search
    invalid_argument: `text`: there is nothing to search for
    give words, or a pipeline: `poc-memory search -p 'all | limit:20'`
    "#);
}

#[test]
fn an_expired_note_is_marked_as_expired() {
    let memory = filled();
    json(&memory, "insert -t Fair --expires 2026-11-23");
    assert!(!say(&memory, "get fair").contains("past"));
    memory.clock.advance(Span::WEEK);
    let shown = say(&memory, "get fair");
    assert!(
        shown.contains("expires    2026-11-23T00:00:00.000Z: it is past, and no search finds"),
        "{shown}"
    );
    assert_eq!(json(&memory, "get fair")["expired"], true);
    assert!(json(&memory, "get fair --at 2026-11-22")["expired"].is_null());
}

#[test]
fn import_and_insert_count_the_same_edges() {
    let notes = "{\"title\": \"Tea\", \"body\": \"Ann takes green tea.\", \"keywords\": [\"tea\"]}\n\
                 {\"title\": \"Teas\", \"body\": \"Ann takes green teas.\", \"keywords\": [\"tea\"]}\n";
    let (one, other) = (TestMemory::new(), TestMemory::new());
    let told = ["import", "insert --notes"].iter().zip([&one, &other]).map(|(verb, memory)| {
        let file = memory.folder().join("notes.jsonl");
        std::fs::write(&file, notes).unwrap();
        say(memory, &format!("{verb} {}", file.display()))
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], "2 inserted, 0 updated, 0 duplicates, 0 failed, 2 edges\n");
}

#[test]
fn search_lists_its_results() {
    let memory = filled();
    insta::assert_snapshot!(say(&memory, "search -p 'all | sort:created asc'"), @r"
    1.000  btree    semantic  B-tree splits
    1.000  journal  episodic  The journal
    ");
    assert_eq!(say(&memory, "search nowhere -p match"), "nothing found\n");
    // Plain words run the pipeline of the settings.
    insta::assert_snapshot!(say(&memory, "search written journal"), @r"
     1.500  journal  episodic  The journal
    -1.500  btree    semantic  B-tree splits
    ");
    let found = json(&memory, "search journal --explain");
    assert_eq!(found["explain"]["stages"][0]["stage"], "hybrid:journal");
    let found = json(&memory, "search journal -p spread --explain");
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for field in ["id", "key", "title", "type", "score", "weight", "modified"] {
        assert!(!results[0][field].is_null(), "{field}: {found:#}");
    }
    assert_eq!(found["explain"]["stages"].as_array().unwrap().len(), 2);
    assert_eq!((found["as_of"]["seq"].as_u64(), found["lag"].as_u64()), (Some(3), Some(0)));
    assert_eq!(found["degraded"], serde_json::json!([]));
}

#[test]
fn stats_equal_a_count_by_hand() {
    let memory = filled();
    json(&memory, "insert -t Soup --supersedes btree");
    let mut counted = json(&memory, "stats");
    for measured in ["log_bytes", "record_bytes", "index_bytes", "average_weight", "as_of"] {
        assert!(!counted.as_object_mut().unwrap().shift_remove(measured).unwrap().is_null(), "{measured}");
    }
    let source = counted["graph"].as_object_mut().unwrap().shift_remove("source").unwrap();
    assert!(source.as_str().unwrap().starts_with("computed now in "), "{source}");
    insta::assert_snapshot!(serde_json::to_string(&counted).unwrap(), @r#"{"nodes":3,"live":2,"edges":4,"keywords":1,"by_type":{"episodic":1,"semantic":2},"by_state":{"active":2,"superseded":1},"by_edge_kind":{"keyword":1,"link":2,"supersedes":1},"by_tenant":{"default":3},"lags":{"mentions":0,"text":0,"vectors":0},"cosines":{"embedder":"hash-256-1","insert":{"count":3,"p25":0.025,"p50":0.045,"p75":0.515,"p90":0.515,"p95":0.515,"p99":0.515},"query":{"count":0,"p25":null,"p50":null,"p75":null,"p90":null,"p95":null,"p99":null}},"backlog":{},"graph":{"components":1,"largest":2,"isolated":0,"clustering":0.0,"path_length":1.0,"small_world":null,"degree_gini":0.0,"ages":{"communities":null,"embedding":null,"health":0,"outliers":null},"power_law_alpha":null,"power_law_least":null},"lag":0,"degraded":[]}"#);
    let (edges, lines) = (counted["edges"].as_u64().unwrap(), json(&memory, "export"));
    assert_eq!(lines["edges"].as_u64().unwrap(), edges);
    assert_eq!(lines["nodes"], counted["nodes"]);
}

#[test]
fn export_writes_to_a_file_a_folder_or_the_answer() {
    let memory = filled();
    let (file, folder) = (memory.folder().join("all.jsonl"), memory.folder().join("all"));
    let lines = say(&memory, "export");
    assert_eq!(lines.lines().count(), 2);
    json(&memory, &format!("export --output {}", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    json(&memory, &format!("export --markdown {}", folder.display()));
    assert!(folder.join("btree.md").is_file());
    let again = call(&memory, &format!("export --markdown {}", folder.display())).err().unwrap();
    assert_eq!((again.code.name(), again.message.as_str()), ("conflict", "the folder is not empty"));
    let nowhere = memory.folder().join("no/such/folder");
    assert!(call(&memory, &format!("export --output {}", nowhere.display())).is_err());
}

#[test]
fn a_partly_failed_import_reports_it_and_exits_with_failure() {
    let memory = filled();
    let file = memory.folder().join("notes.jsonl");
    std::fs::write(&file, "{\"body\": \"good\", \"colour\": 1}\n{\"body\": 7}\nnonsense\n").unwrap();
    let line = format!("import {}", file.display());
    insta::assert_snapshot!(say(&memory, &line), @r"
    2 inserted, 0 updated, 0 duplicates, 1 failed, 0 edges
    failed     line 3: it is not JSON: expected ident at column 2
    ignored    the field `colour` of 1 note
    ");
    let (op, answer) = call(&memory, &line).unwrap();
    assert_eq!((op.decode)(&answer).unwrap().exit(), Exit::Failed);
    assert_eq!(answer["failed"][0]["line"], 3);
}

#[test]
fn an_invalid_request_names_the_field() {
    let memory = filled();
    let ctx =
        Ctx { memory: &memory, host: &Nobody, actor: Actor::Person, may_write: true, progress: &|_| {} };
    let check = |op: &str, request: Value, field: Option<&str>, message: &str| {
        let error = (find(op).unwrap().run)(&ctx, request).unwrap_err();
        let at = error.at.as_ref().and_then(|at| at.field.as_deref());
        assert_eq!((at, error.code.name()), (field, "invalid_argument"), "{error}");
        assert!(error.message.contains(message), "{error}");
    };
    check("insert", serde_json::json!({"titel": "x"}), Some("titel"), "unknown field `titel`");
    check("insert", serde_json::json!({"title": "x", "emotion": "much"}), Some("emotion"), "invalid type");
    check("link", serde_json::json!({"from": "btree"}), Some("to"), "missing field `to`");
    check(
        "weight",
        serde_json::json!({"node": "btree", "value": "much"}),
        Some("value"),
        "`much` is not a weight",
    );
    check(
        "link",
        serde_json::json!({"from": "btree", "to": "journal", "strength": 2}),
        Some("strength"),
        "out of range",
    );
}

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
    invalid_argument: `query`: the text is empty
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
    assert!(say(&memory, "query 'ticket INC-90039'").contains("no note holds `inc-90039`"));
    // A note that has it as its key is about it, whatever it says.
    json(&memory, "insert --key INC-90039 -t Printer -b 'It jams.'");
    let known = json(&memory, "query 'ticket INC-90039'");
    assert_eq!((&known["key"], &known["unheld"]), (&"INC-90039".into(), &Value::Null));
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
    let told = say(&memory, "retrieve 'bubye, the river' --explain");
    assert!(told.contains("in common with bubye: zimbabwe"), "{told}");
    let told = say(&memory, "retrieve 'in the middle, every day' --explain");
    assert!(told.contains("tied by a mention to market"), "{told}");
    let found = json(&memory, "retrieve 'bubye, the river'");
    assert!(found["results"].as_array().unwrap().iter().all(|hit| hit["led_by"] == Value::Null));
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
    insta::assert_snapshot!(say(&memory, "retrieve 'what splits pages' -k 1 --explain"), @r"
    1.500  btree  B-tree splits  meaning 1, words 1
           meaning +0.500  words +1.000
           passage 1, cosine 0.769: A split writes two pages.
    ");
    insta::assert_snapshot!(say(&memory, "retrieve journal -k 257"), @r"
    invalid_argument: `top_k`: 257 is out of range
    give a number from 1 to 256
    ");
    let explored = json(&memory, "explore journal --beam 1");
    assert_eq!(explored["results"][0]["key"], "journal");
    assert_eq!(explored["results"][1]["hop"], 1);
    insta::assert_snapshot!(say(&memory, "explore journal --depth 9"), @r"
    invalid_argument: `depth`: 9 is out of range
    give a number from 1 to 8
    ");
    insta::assert_snapshot!(say(&memory, "classify 'split pages'"), @"storage  1 edge");
    assert_eq!(say(&TestMemory::new(), "classify soup"), "no keyword fits\n");
}

#[test]
fn routes_are_unique_and_only_persons_call_what_is_for_persons() {
    let fields = |op: &OpDef| -> Vec<String> {
        let schema = (op.request_schema)();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        properties.keys().cloned().collect()
    };
    let mut routes = Vec::new();
    for op in OPS {
        let name = op.name;
        if op.access == Access::Person {
            assert!(op.route.is_none() && op.tool.is_none(), "`{name}` is for a person alone");
        }
        if let Some(route) = op.route {
            if route.method == Method::Get {
                assert_eq!(op.access, Access::Read, "`{name}` changes something and is a GET");
            }
            for field in route.path.split(['{', '}']).skip(1).step_by(2) {
                assert!(fields(op).iter().any(|own| own == field), "`{name}` has no field `{field}`");
            }
            routes.push((format!("{:?}", route.method), route.path));
        }
    }
    assert!(routes.len() > 10);
    let count = routes.len();
    routes.sort_unstable();
    routes.dedup();
    assert_eq!(routes.len(), count, "a route is there twice");
}
