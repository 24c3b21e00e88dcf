//! Tests of the requests that the default tools send to ops, and of the size of the tool list.

use super::*;
use crate::mcp::recent_searches::RecentSearches;
use parking_lot::Mutex;

/// The id of the note that every search finds.
const KETTLE: &str = "0198aaaabbbb7ccc8dddeeeeeeeeeeee";

/// A text for which no search finds a note.
const NOTHING: &str = "nothing at all";

/// Records the requests, and answers each op with the same.
struct Recorder {
    offers: Offers,
    requests: Mutex<Vec<(String, Value)>>,
}

impl OpExecutor for Recorder {
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value> {
        let finds_nothing = request.get("text").is_some_and(|text| text == NOTHING);
        self.requests.lock().push((op.name.to_owned(), request));
        Ok(match op.name {
            "retrieve" if finds_nothing => json!({"results": [], "lag": 0, "degraded": []}),
            "retrieve" | "search" => json!({"results": [
                {"id": KETTLE, "key": "kettle", "title": "The kettle", "snippet": "It whistles.", "date": "2026-11-20",
                 "modified": "2026-11-20T08:00:00Z", "type": "semantic", "score": 2.5, "weight": 1.0},
            ], "lag": 0, "degraded": []}),
            "history" => json!({"id": 1, "key": "kettle", "changes": [
                {"seq": 1, "at": "2026-11-19T08:00:00Z", "actor": "manual", "op": "insert", "did": "created"},
                {"seq": 2, "at": "2026-11-20T08:00:00Z", "actor": "mcp", "op": "insert", "did": "changed",
                 "fields": [{"field": "body", "before": "", "after": "It whistles."}]},
            ]}),
            _ => json!({"key": "kettle", "visits": [], "history": []}),
        })
    }

    fn offers(&self, access: Access) -> bool {
        self.offers.offers(access)
    }

    fn tool_set(&self) -> ToolSet {
        self.offers.tool_set()
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        self.offers.tenants()
    }

    fn shares_log(&self) -> bool {
        self.offers.shares_log()
    }
}

/// Calls a tool, and returns the answer and the requests that reached the ops.
fn call(tool: &str, arguments: Value) -> (Result<Value>, Vec<(String, Value)>) {
    let caller = Recorder { offers: offers(Access::Write, ToolSet::All), requests: Mutex::default() };
    let answer = call_in_session(&caller, &RecentSearches::default(), tool, arguments);
    (answer, caller.requests.into_inner())
}

fn call_in_session(
    caller: &Recorder,
    searches: &RecentSearches,
    tool: &str,
    arguments: Value,
) -> Result<Value> {
    let tools = tools::offered(caller);
    let tool = tools.iter().find(|offered| offered.name == tool).unwrap();
    tool.call(caller, searches, arguments.as_object().cloned().unwrap())
}

/// Checks the single request that a call leads to.
fn check(tool: &str, arguments: Value, op: &str, request: Value) {
    let (answer, requests) = call(tool, arguments.clone());
    answer.unwrap_or_else(|error| panic!("{arguments}: {error}"));
    assert_eq!(requests, [(op.to_owned(), request)], "{arguments}");
}

/// Checks that a call is refused before an op runs.
fn refused(tool: &str, arguments: Value, field: &str, word: &str) {
    let (answer, requests) = call(tool, arguments.clone());
    let error = answer.unwrap_err();
    assert_eq!(error.code.name(), "invalid_argument", "{arguments}: {error}");
    assert_eq!(error.at.as_ref().and_then(|at| at.field.as_deref()), Some(field), "{arguments}: {error}");
    assert!(error.line().contains(word), "{arguments}: {error}");
    assert!(requests.is_empty());
}

#[test]
fn the_lists_of_tools_cost_at_most_so_many_tokens() {
    // Tokenizers produce fewer tokens than one per four characters for English text and JSON schemas.
    for (set, max) in [(ToolSet::Default, 2_000), (ToolSet::All, 10_000)] {
        let tools = offered(Access::Destroy, set);
        let tools: Vec<_> = tools.iter().map(|tool| tool.definition(Some(&tenants()))).collect();
        let tokens = json!({ "tools": tools }).to_string().chars().count() / 4;
        assert!(tokens <= max, "{tokens} tokens");
    }
}

#[test]
fn a_text_is_retrieved_and_a_pipeline_is_searched() {
    let retrieved = |text: &str, top_k: u64| json!({"quarantined": false, "text": text, "top_k": top_k});
    check("memory_search", json!({"text": "tea"}), "retrieve", retrieved("tea", 8));
    check("memory_search", json!({"text": "tea", "limit": "5"}), "retrieve", retrieved("tea", 5));
    check("memory_search", json!({"text": "tea", "limit": 5.0}), "retrieve", retrieved("tea", 5));
    check(
        "memory_search",
        json!({"text": "tea", "pipeline": "", "limit": null}),
        "retrieve",
        retrieved("tea", 8),
    );
    check("memory_search", json!({"query": "tea"}), "retrieve", retrieved("tea", 8));
    check("memory_search", json!({"terms": ["green", "tea"]}), "retrieve", retrieved("green tea", 8));
    let searched = |stages: Value| json!({"quarantined": false, "pipeline": stages, "default_limit": 8});
    check("memory_search", json!({"pipeline": "all"}), "search", searched(json!(["all"])));
    check("memory_search", json!({"pipeline": "[\"all\"]"}), "search", searched(json!(["all"])));
    check(
        "memory_search",
        json!({"pipeline": ["all", "limit:20"]}),
        "search",
        searched(json!(["all", "limit:20"])),
    );
    check(
        "memory_search",
        json!({"text": "tea", "pipeline": ["type:episodic"], "limit": 3, "tenant": {"user": "ann"}}),
        "search",
        json!({"quarantined": false, "text": "tea", "pipeline": ["type:episodic"], "top_k": 3, "tenant": {"user": "ann"}}),
    );
    let (answer, _) = call("memory_search", json!({"text": "tea"}));
    let expected = json!({"results": [{"key": "kettle", "title": "The kettle", "snippet": "It whistles.",
        "date": "2026-11-20", "type": "semantic", "score": 2.5}]});
    assert_eq!(answer.unwrap(), expected);
}

#[test]
fn wrong_arguments_are_refused_with_the_right_ones() {
    refused("memory_search", json!({}), "text", "give a `text`");
    refused("memory_search", json!({"text": "  "}), "text", "give a `text`");
    refused("memory_search", json!({"text": "tea", "limit": 51}), "limit", "from 1 to 50");
    refused("memory_search", json!({"text": "tea", "limit": "many"}), "limit", "whole number");
    refused("memory_search", json!({"text": "tea", "top_k": 5}), "top_k", "`limit`");
    refused("memory_get", json!({}), "node", "missing");
    refused("memory_get", json!({"node": ["x"]}), "node", "string");
    refused(
        "memory_get",
        json!({"node": "x", "at": "soon"}),
        "at",
        "neither the number of a change nor a time",
    );
    refused("memory_feedback", json!({"node": "x"}), "helped", "missing");
    refused("memory_history", json!({"limit": 0}), "limit", "from 1 to 100");
    refused(
        "memory_link",
        json!({"from": "a", "to": "b", "kind": "keyword"}),
        "kind",
        "give `link` or `contradicts`",
    );
    refused("memory_remember", json!({"titel": "x"}), "titel", "did you mean `title`");
    refused("memory_remember", json!({"text": "x"}), "text", "did you mean `body`");
    refused(
        "memory_remember",
        json!({"notes": [{"title": "a"}, {"titel": "x"}]}),
        "notes[1].titel",
        "did you mean `title`",
    );
    refused("memory_remember", json!({"notes": [{"title": 5}]}), "notes[0].title", "string");
    refused("memory_search", json!({"text": "tea", "query": "tea"}), "text", "given twice");
}

#[test]
fn each_tool_runs_its_op() {
    check(
        "memory_get",
        json!({"node": "kettle", "at": ""}),
        "get",
        json!({"node": "kettle", "quarantined": false}),
    );
    check(
        "memory_get",
        json!({"node": "kettle", "all_edges": "true"}),
        "get",
        json!({"node": "kettle", "quarantined": false, "all_edges": true}),
    );
    for at in [json!(6), json!("6")] {
        let request = json!({"node": "kettle", "at": "6", "quarantined": false});
        check("memory_get", json!({"node": "kettle", "at": at}), "get", request);
    }
    check(
        "memory_remember",
        json!({"title": "Tea is hot", "keywords": "tea", "update": "false", "expires_at": "2027-01-01"}),
        "insert",
        json!({"title": "Tea is hot", "keywords": ["tea"], "expires": "2027-01-01"}),
    );
    let notes = json!([{"title": "a", "keywords": ["x"]}, {"title": "b", "update": true}]);
    check(
        "memory_remember",
        json!({"notes": [{"title": "a", "keywords": "[\"x\"]", "key": ""}, {"title": "b", "update": "true", "body": null}]}),
        "insert",
        json!({"notes": notes}),
    );
    check(
        "memory_link",
        json!({"from": "a", "to": "b", "strength": "0.5"}),
        "link",
        json!({"from": "a", "to": "b", "strength": 0.5}),
    );
    check("memory_feedback", json!({"node": "a", "helped": true}), "reinforce", json!({"node": "a"}));
    check("memory_feedback", json!({"node": "a", "helped": "false"}), "demote", json!({"node": "a"}));
    check("memory_history", json!({"node": "a"}), "history", json!({"node": "a"}));
    check("memory_history", json!({}), "search", json!({"pipeline": ["all | sort:timestamp | limit:21"]}));
    // Tools that are ops get the arguments without those that are omitted.
    check("memory_recall", json!({"text": "tea", "k": null, "hops": ""}), "recall", json!({"text": "tea"}));
}

#[test]
fn helpful_feedback_confirms_the_question() {
    let question = json!({"node": "a", "helped": true, "question": "How hot is tea?"});
    check("memory_feedback", question, "reinforce", json!({"for": "How hot is tea?", "node": "a"}));
    let caller = Recorder { offers: offers(Access::Write, ToolSet::Default), requests: Mutex::default() };
    let searches = RecentSearches::default();
    let session = |tool, arguments| call_in_session(&caller, &searches, tool, arguments).unwrap();
    session("memory_search", json!({"text": "hot drinks"}));
    session("memory_feedback", json!({"node": "a", "helped": true}));
    session("memory_feedback", json!({"node": "a", "helped": false}));
    session("memory_feedback", json!({"node": "a", "helped": true, "question": "Which drink?"}));
    let requests: Vec<Value> =
        caller.requests.lock().iter().skip(1).map(|(_, given)| given.clone()).collect();
    assert_eq!(
        requests,
        [
            json!({"for": "hot drinks", "node": "a"}),
            json!({"node": "a"}),
            json!({"for": "Which drink?", "node": "a"})
        ]
    );
}

#[test]
fn feedback_on_an_id_confirms_the_search_that_found_the_note() {
    let caller = Recorder { offers: offers(Access::Write, ToolSet::Default), requests: Mutex::default() };
    let searches = RecentSearches::default();
    let session = |tool, arguments| call_in_session(&caller, &searches, tool, arguments).unwrap();
    session("memory_search", json!({"text": "hot drinks"}));
    session("memory_search", json!({"text": NOTHING}));
    session("memory_feedback", json!({"node": KETTLE, "helped": true}));
    let requests = caller.requests.lock();
    assert_eq!(requests.last().unwrap().1, json!({"for": "hot drinks", "node": KETTLE}));
}

#[test]
fn a_history_is_newest_first_and_bounded() {
    let (answer, _) = call("memory_history", json!({"node": "kettle", "limit": 1}));
    let expected = json!({"changes": [{"at": "2026-11-20T08:00:00Z", "key": "kettle", "did": "changed", "by": "mcp",
        "fields": [{"field": "body", "before": "", "after": "It whistles."}]}], "more": true});
    assert_eq!(answer.unwrap(), expected);
    let (answer, _) = call("memory_get", json!({"node": "kettle"}));
    assert_eq!(answer.unwrap(), json!({"key": "kettle"}));
}

/// The number is that of an answer of another daemon.
#[test]
fn every_default_tool_can_wait_for_a_change() {
    let needed = [
        ("memory_search", json!({"text": "kettle"})),
        ("memory_get", json!({"node": "kettle"})),
        ("memory_history", json!({"node": "kettle"})),
    ];
    for (tool, mut arguments) in needed {
        arguments["min_seq"] = 41.into();
        let (answer, requests) = call(tool, arguments);
        assert!(answer.is_ok(), "{tool}: {answer:?}");
        assert!(!requests.is_empty());
        assert!(requests.iter().all(|(_, request)| request["min_seq"] == 41), "{tool}: {requests:?}");
    }
}
