//! Each op with a route gives the same answer over REST as on the command line.

use crate::support::World;
use crate::support::http::{Http, ON};
use crate::with_and_without_daemon::{Last, Names};
use poc_memory::ops::{Access, OPS, OpDef};
use serde_json::{Value, json};

const MESSAGE: &str = "Dr. Smith split a page. It was in the journal. It was late. He slept.";

/// Requests and equivalent command lines. `{run}` is the last run that applied something, `{message}` the last message.
fn session() -> Vec<(&'static str, Option<Value>, Vec<&'static str>)> {
    let page = "A split writes two pages.";
    vec![
        (
            "POST /v1/insert",
            Some(json!({"title": "B-tree splits", "body": page, "key": "btree", "keywords": ["storage"]})),
            vec!["insert", "--title", "B-tree splits", "--body", page, "--key", "btree", "-k", "storage"],
        ),
        (
            "POST /v1/insert",
            Some(json!({"title": "Journal", "body": "The journal records page splits.", "key": "a/journal"})),
            vec![
                "insert",
                "--title",
                "Journal",
                "--body",
                "The journal records page splits.",
                "--key",
                "a/journal",
            ],
        ),
        (
            "POST /v1/insert",
            Some(json!({"title": "Old", "body": "The journal is slow.", "key": "old", "type": "episodic"})),
            vec![
                "insert",
                "--title",
                "Old",
                "--body",
                "The journal is slow.",
                "--key",
                "old",
                "--type",
                "episodic",
            ],
        ),
        (
            "POST /v1/insert",
            Some(json!({"title": "x", "key": "btree"})),
            vec!["insert", "--title", "x", "--key", "btree"],
        ),
        (
            "POST /v1/insert",
            Some(json!({"notes": [{"title": "Lentil soup"}, {"title": "x", "key": "btree"}]})),
            vec!["insert", "--notes", "many.jsonl"],
        ),
        ("GET /v1/nodes/btree", None, vec!["get", "btree"]),
        ("GET /v1/nodes/btree?all_edges=true", None, vec!["get", "btree", "--all-edges"]),
        ("GET /v1/nodes/a%2Fjournal?at=0s", None, vec!["get", "a/journal", "--at", "0s"]),
        ("GET /v1/nodes/a/journal?at=0s", None, vec!["get", "a/journal", "--at", "0s"]),
        ("GET /v1/nodes/a/journal/backlinks", None, vec!["backlinks", "a/journal"]),
        ("GET /v1/nodes/nothing-like-it", None, vec!["get", "nothing-like-it"]),
        (
            "POST /v1/link",
            Some(json!({"from": "btree", "to": "a/journal", "strength": 0.7})),
            vec!["link", "btree", "a/journal", "--strength", "0.7"],
        ),
        ("POST /v1/link", Some(json!({"from": "btree", "to": "btree"})), vec!["link", "btree", "btree"]),
        ("POST /v1/weight", Some(json!({"node": "btree", "value": 2.5})), vec!["weight", "btree", "2.5"]),
        ("POST /v1/rename", Some(json!({"node": "old", "key": "older"})), vec!["rename", "old", "older"]),
        (
            "POST /v1/rename",
            Some(json!({"node": "old", "forget": ["nothing"]})),
            vec!["rename", "old", "--forget", "nothing"],
        ),
        (
            "POST /v1/supersede",
            Some(json!({"old": "old", "new": "btree"})),
            vec!["supersede", "old", "btree"],
        ),
        (
            "POST /v1/visit",
            Some(json!({"agent": "linker", "nodes": ["btree"]})),
            vec!["visit", "linker", "btree"],
        ),
        ("GET /v1/pipeline?text=btree", None, vec!["search", "btree"]),
        (
            "GET /v1/pipeline?text=journal&pipeline=spread&pipeline=limit%3A5&explain=true",
            None,
            vec!["search", "journal", "-p", "spread", "-p", "limit:5", "--explain"],
        ),
        ("GET /v1/pipeline?pipeline=all+%7C+tpye%3Ax", None, vec!["search", "-p", "all | tpye:x"]),
        ("GET /v1/query?text=b-tree+splits", None, vec!["query", "b-tree splits"]),
        ("GET /v1/query?text=", None, vec!["query", ""]),
        ("GET /v1/search?text=page+splits&top_k=2", None, vec!["retrieve", "page splits", "--top-k", "2"]),
        (
            "GET /v1/search?text=page+splits&top_k=257",
            None,
            vec!["retrieve", "page splits", "--top-k", "257"],
        ),
        (
            "GET /v1/explore?text=journal&keywords=storage&keywords=x",
            None,
            vec!["explore", "journal", "--keyword", "storage", "--keyword", "x"],
        ),
        ("GET /v1/classify?text=page+splits", None, vec!["classify", "page splits"]),
        ("POST /v1/history", Some(json!({"node": "btree"})), vec!["history", "btree"]),
        ("GET /v1/stats", None, vec!["stats"]),
        (
            "GET /v1/pipeline/check?pipelines=all&pipelines=all+%7C+tpye%3Ax",
            None,
            vec!["pipeline", "check", "all", "all | tpye:x"],
        ),
        ("GET /v1/pipeline/list", None, vec!["pipeline", "list"]),
        ("GET /v1/pipeline/complete?pipeline=all+%7C+ty", None, vec!["pipeline", "complete", "all | ty"]),
        ("GET /v1/list?limit=2&type=semantic", None, vec!["list", "-n", "2", "--type", "semantic"]),
        ("GET /v1/tags", None, vec!["tags"]),
        ("GET /v1/vault/list", None, vec!["vault", "list"]),
        ("GET /v1/nodes/btree/backlinks", None, vec!["backlinks", "btree"]),
        ("GET /v1/nodes/btree/backlinks?limit=1", None, vec!["backlinks", "btree", "--limit", "1"]),
        ("GET /v1/nodes/btree/backlinks?limit=0", None, vec!["backlinks", "btree", "--limit", "0"]),
        ("GET /v1/nodes/nothing-like-it/backlinks", None, vec!["backlinks", "nothing-like-it"]),
        ("GET /v1/duplicates?min_words=0.1", None, vec!["duplicates", "--min-words", "0.1"]),
        ("GET /v1/view", None, vec!["view"]),
        (
            "GET /v1/view?pipeline=match%3Ajournal&pipeline=limit%3A5&limit=2&max_edges=1",
            None,
            vec!["view", "-p", "match:journal", "-p", "limit:5", "--limit", "2", "--max-edges", "1"],
        ),
        ("GET /v1/view?limit=0", None, vec!["view", "--limit", "0"]),
        ("GET /v1/agents", None, vec!["agent", "list"]),
        ("GET /v1/agents/linker", None, vec!["agent", "show", "linker"]),
        ("GET /v1/agents/linker?files=true", None, vec!["agent", "show", "linker", "--files"]),
        ("GET /v1/agents/nobody", None, vec!["agent", "show", "nobody"]),
        ("GET /v1/agents/linker/explain", None, vec!["agent", "explain", "linker"]),
        (
            "POST /v1/agents/linker/run",
            Some(json!({"dry_run": true})),
            vec!["agent", "run", "linker", "--dry-run"],
        ),
        ("POST /v1/agents/linker/run", Some(json!({})), vec!["agent", "run", "linker"]),
        ("GET /v1/runs?agent=linker", None, vec!["agent", "history", "linker"]),
        ("GET /v1/night?since=2001-01-01", None, vec!["night", "--since", "2001-01-01"]),
        ("GET /v1/runs/{run}", None, vec!["agent", "inspect", "{run}"]),
        ("GET /v1/runs/nothing", None, vec!["agent", "inspect", "nothing"]),
        ("GET /v1/runs/{run}/diff/{run}", None, vec!["agent", "diff", "{run}", "{run}"]),
        ("GET /v1/runs/{run}/diff/nothing", None, vec!["agent", "diff", "{run}", "nothing"]),
        ("POST /v1/agent/check", Some(json!({})), vec!["agent", "check"]),
        (
            "POST /v1/agent/check",
            Some(json!({"agent": "linker", "file": "[query]\n"})),
            vec!["agent", "check", "linker", "--text", "[query]\n"],
        ),
        ("GET /v1/agent/test?agent=linker", None, vec!["agent", "test", "linker"]),
        ("GET /v1/agent/schema", None, vec!["agent", "schema"]),
        ("POST /v1/agent/reload", Some(json!({})), vec!["agent", "reload"]),
        (
            "POST /v1/write",
            Some(json!({"text": MESSAGE, "metadata": {"session": "42", "turn": 3}})),
            vec!["write", MESSAGE, "--metadata", "{\"session\": \"42\", \"turn\": 3}"],
        ),
        ("POST /v1/write", Some(json!({"text": " \n"})), vec!["write", " \n"]),
        ("GET /v1/nodes/dr-smith-split-a-page-it-was", None, vec!["get", "dr-smith-split-a-page-it-was"]),
        (
            "POST /v1/recall",
            Some(json!({"text": "who split a page?", "k": 3, "hops": 1, "oversample": 50, "no_learn": true})),
            vec!["recall", "who split a page?", "-k", "3", "--hops", "1", "--oversample", "50", "--no-learn"],
        ),
        ("POST /v1/recall", Some(json!({"text": "who split a page?"})), vec!["recall", "who split a page?"]),
        ("POST /v1/recall", Some(json!({"text": "x", "k": 0})), vec!["recall", "x", "-k", "0"]),
        ("POST /v1/reinforce", Some(json!({"node": "btree"})), vec!["reinforce", "btree"]),
        ("POST /v1/demote", Some(json!({"node": "btree"})), vec!["demote", "btree"]),
        ("POST /v1/demote", Some(json!({"node": "nothing-like-it"})), vec!["demote", "nothing-like-it"]),
        (
            "POST /v1/mark",
            Some(json!({"since": "1h", "strength": 2.0})),
            vec!["mark", "--since", "1h", "--strength", "2"],
        ),
        (
            "POST /v1/mark",
            Some(json!({"since": "1h", "strength": -1.0})),
            vec!["mark", "--since", "1h", "--strength=-1"],
        ),
        (
            "POST /v1/forget",
            Some(json!({"message_id": "{message}"})),
            vec!["forget", "--message-id", "{message}"],
        ),
        (
            "POST /v1/forget",
            Some(json!({"message_id": "{message}"})),
            vec!["forget", "--message-id", "{message}"],
        ),
        ("POST /v1/forget", Some(json!({"before": "0s"})), vec!["forget", "--before", "0s"]),
        ("DELETE /v1/nodes/older", None, vec!["delete", "older"]),
        ("DELETE /v1/nodes/older", None, vec!["delete", "older"]),
    ]
}

#[test]
fn every_route_gives_the_answer_of_the_command_line() {
    let (alone, mut served) = (World::new(), World::new());
    alone.write("many.jsonl", "{\"title\": \"Lentil soup\"}\n{\"title\": \"x\", \"key\": \"btree\"}\n");
    served.write("config.toml", &format!("{ON}delete = true\n"));
    served.start_daemon();
    let http = Http::of(&served);
    let (mut mine, mut theirs) = (Last::default(), Last::default());
    for (line, body, words) in session() {
        let words: Vec<&str> = words.into_iter().map(|word| mine.named(word)).collect();
        let ran = alone.run(&[&["--json"], words.as_slice()].concat());
        let body = body.map(|body| json(&body.to_string().replace("{message}", &theirs.message)));
        let answered = http.call(&line.replace("{run}", &theirs.run), body.as_ref());
        let expected: Value =
            if ran.stdout.is_empty() { json(&ran.stderr)["error"].clone() } else { json(&ran.stdout) };
        let route = OPS
            .iter()
            .find_map(|op| {
                op.name
                    .split(' ')
                    .eq(words.iter().copied().take(op.name.split(' ').count()))
                    .then_some(op.route?)
            })
            .unwrap();
        if ran.stdout.is_empty() {
            assert!(answered.status >= 400, "{line}: {answered:?}");
        } else {
            assert_eq!(answered.status, route.status, "{line}: {answered:?}");
        }
        let got = answered.json();
        for (last, answer) in [(&mut mine, &expected), (&mut theirs, &got)] {
            last.see(answer);
            // Also runs that applied nothing.
            if let Some(run) = answer["run"].as_str() {
                last.run = run.to_owned();
            }
        }
        let plain = |value: &Value, world: &World| {
            Names::default().plain(&value.to_string().replace(world.home().to_str().unwrap(), "HOME"))
        };
        assert_eq!(plain(&expected, &alone), plain(&got, &served), "{line}");
    }
    served.stop_daemon();
}

#[test]
fn the_session_calls_every_route() {
    let words: Vec<Vec<&str>> = session().into_iter().map(|(_, _, words)| words).collect();
    // Ops that only people may call are refused with a token, and ops that only a daemon can answer have no answer
    // without one.
    let for_tokens = |op: &&OpDef| op.route.is_some() && op.access != Access::Person && !op.needs_daemon;
    for op in OPS.iter().filter(for_tokens) {
        let name: Vec<&str> = op.name.split(' ').collect();
        assert!(words.iter().any(|line| line.starts_with(&name)), "`{}` is not called", op.name);
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
