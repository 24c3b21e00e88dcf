//! Parsing and printing.

use super::{from_parts, parse};

fn check(text: &str, canonical: &str) {
    let pipeline = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(pipeline.to_string(), canonical);
    assert_eq!(parse(canonical).unwrap(), pipeline);
}

fn check_parts(terms: &[&str], stages: &[&str], canonical: &str) {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let pipeline = from_parts(&owned(terms), &owned(stages)).unwrap();
    assert_eq!(pipeline.to_string(), canonical);
    assert_eq!(parse(canonical).unwrap(), pipeline);
}

#[test]
fn pipelines_have_a_canonical_text() {
    let linker = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20";
    check(linker, linker);
    check("type:episodic", "all | type:episodic");
    check(" all|type: daily", "all | type:daily");
    check("! type: daily |\n limit:5", "all | !type:daily | limit:5");
    check("sort:created   asc", "all | sort:created asc");
    check("sort:visited:linker asc", "all | sort:visited:linker asc");
    check("sort:visited:\"my agent\"", "all | sort:\"visited:my agent\"");
    check("weight: > 0.50 | age:<86400 | degree:=3", "all | weight:>0.5 | age:<1d | degree:3");
    check(
        "match:b-tree|spread,edge_decay=0.50,max_hops=2",
        "match:b-tree | spread,max_hops=2,edge_decay=0.5",
    );
    check("similar:how trees split,k=5", "similar:\"how trees split\",k=5");
    check("visited:linker,336h|not-visited:x", "all | visited:linker,14d | not-visited:x");
    check("created:=2026-11-21 | modified:>= 2026-11-09", "all | created:2026-11-21 | modified:>=2026-11-09");
    check("age:>2w | created:<45s | visited:a,90", "all | age:>14d | created:<45s | visited:a,90s");
    check(
        "!visited:a,2w | !degree:>3 | !linked-to:'a b'",
        "all | !visited:a,14d | !degree:>3 | !linked-to:\"a b\"",
    );
    check("hybrid:\"a, b\",k=5|diverse", "hybrid:\"a, b\",k=5 | diverse");
    check("neighbors:'journal#1|2',hops=2", "neighbors:\"journal#1|2\",hops=2");
    check("spectral|geodesic,k=5,max_path=3|manifold", "all | spectral | geodesic,max_path=3,k=5 | manifold");
}

#[test]
fn values_may_be_quoted() {
    check("key:'a | b, c'", "all | key:\"a | b, c\"");
    check("key:journal#2026*", "all | key:journal#2026*");
    check("match:\"say \"\"hi\"\"\"", "match:'say \"hi\"'");
    check("match:\"it's \"\"so\"\"\"", "match:\"it's \"\"so\"\"\"");
    check("match:don't", "match:\"don't\"");
    check("match:a=b", "match:\"a=b\"");
    check("provenance:import:notes.md", "all | provenance:import:notes.md");
}

#[test]
fn terms_and_stages_of_a_command_line_form_a_pipeline() {
    check_parts(&["btree", "journal"], &["spread"], "hybrid:\"btree journal\" | limit:5 | spread");
    check_parts(&["btree"], &["limit:3", "spread"], "hybrid:btree | limit:3 | spread");
    check_parts(&["btree"], &["hybrid", "spread"], "hybrid:btree | spread");
    check_parts(&["a|b", "it's"], &["limit:5"], "hybrid:\"a|b it's\" | limit:5");
    check_parts(&[], &["all", "type:daily | limit:3"], "all | type:daily | limit:3");
    check_parts(&["x"], &["!key:'a|b'"], "hybrid:x | !key:\"a|b\"");
}

#[test]
fn terms_become_the_text_of_a_stage_that_has_none() {
    check_parts(&["btree", "journal"], &["hybrid | limit:20"], "hybrid:\"btree journal\" | limit:20");
    check_parts(&["btree"], &["similar"], "similar:btree");
    check_parts(
        &["how", "trees", "split"],
        &["hybrid,k=10", "limit:5"],
        "hybrid:\"how trees split\",k=10 | limit:5",
    );
    check_parts(&["it's", "a|b,c"], &[" hybrid |limit:5"], "hybrid:\"it's a|b,c\" | limit:5");
    check_parts(&["b"], &["match"], "match:b");
    // If the first stage takes no text or already has one, the terms become a `hybrid:` before it.
    check_parts(&["b"], &["limit:5"], "hybrid:b | limit:5");
    check_parts(&["b"], &["confluence,min_sources=1"], "hybrid:b | limit:5 | confluence,min_sources=1");
    // A given text is kept.
    check_parts(&[], &["hybrid:x"], "hybrid:x");
}

#[test]
fn visit_filters_are_read_from_a_pipeline() {
    let of =
        |text: &str| parse(text).unwrap().not_visited("linker").map(|span| span.map(|span| span.to_string()));
    assert_eq!(of("all | not-visited:linker,7d"), Some(Some("1w".into())));
    assert_eq!(of("all | not-visited:linker"), Some(None));
    assert_eq!(of("all | !visited:linker,24h"), Some(Some("1d".into())));
    assert_eq!(of("all | not-visited:other,7d | !not-visited:linker,7d"), None);
}

#[test]
fn a_limit_in_front_of_an_algorithm_does_not_limit_the_result() {
    let check = |text: &str, expected: bool| {
        let pipeline = parse(text).unwrap();
        assert_eq!(pipeline.has_limit(), expected, "{text}");
    };
    check("all", false);
    check("all | offset:3", false);
    check("all | limit:3", true);
    check("all | limit:3 | type:semantic", true);
    check("all | limit:3 | spread", false);
    check("all | spread | limit:3", true);
}

#[test]
fn the_text_of_a_pipeline_is_that_of_its_generator() {
    let text = |text: &str| parse(text).unwrap().text();
    assert_eq!(text("match:'a split' | limit:3").as_deref(), Some("a split"));
    assert_eq!(text("hybrid:journal").as_deref(), Some("journal"));
    assert_eq!(text("all | keyword:journal"), None);
}
