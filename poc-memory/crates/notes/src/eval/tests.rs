//! An evaluation of a set that is small enough to know the result.

use super::compare::compare;
use super::report::{ALL, EvalReport, QuestionResult};
use super::set::EvalSet;
use super::{EvalPhase, run};
use parking_lot::Mutex;
use poc_config::Config;
use std::path::Path;

fn write(folder: &Path, file: &str, lines: &[&str]) {
    std::fs::write(folder.join(file), lines.join("\n")).unwrap();
}

/// Two groups with the same texts; a question only finds those of its own group.
fn set() -> EvalSet {
    let folder = poc_graph::testing::folder();
    write(
        folder.path(),
        "docs.jsonl",
        &[
            r#"{"id": "a1", "text": "The harbour of Lisbon", "meta": {"group": "a"}}"#,
            r#"{"id": "a2", "text": "Lentil soup with lemon", "meta": {"group": "a"}}"#,
            r#"{"id": "a3", "text": "Lentil soup with lemon", "meta": {"group": "a"}}"#,
            r#"{"id": "b1", "text": "The harbour of Porto", "meta": {"group": "b"}}"#,
        ],
    );
    write(
        folder.path(),
        "queries.jsonl",
        &[
            r#"{"id": "qa", "text": "harbour", "type": "place", "meta": {"group": "a"}}"#,
            r#"{"id": "qb", "text": "harbour", "type": "place", "meta": {"group": "b"}}"#,
            r#"{"id": "qs", "text": "lentil soup", "type": "food", "meta": {"group": "a"}}"#,
            r#"{"id": "qn", "text": "nothing", "type": "food", "meta": {"group": "a"}}"#,
        ],
    );
    write(folder.path(), "qrels.tsv", &["qa\ta1\t1", "qb\tb1\t1", "qs\ta2\t1", "qs\ta3\t1"]);
    EvalSet::read(folder.path()).map(|set| EvalSet { name: "tiny".into(), ..set }).unwrap()
}

fn report() -> EvalReport {
    run(&set(), Config::defaults().unwrap(), &|_, _, _| {}).unwrap()
}

#[test]
fn each_group_is_searched_separately_and_duplicates_count_once() {
    let reported = Mutex::new(Vec::new());
    let set = set();
    let report = run(&set, Config::defaults().unwrap(), &|step, done, total| {
        reported.lock().push((step, done, total))
    })
    .unwrap();
    assert_eq!((report.documents, report.notes, report.groups), (4, 3, 2));
    assert_eq!(report.left_out, ["qn"]);
    let found: Vec<_> =
        report.questions.iter().map(|asked| (asked.id.as_str(), asked.found[0].as_str())).collect();
    assert!(report.questions.iter().all(|asked| asked.missed.is_empty()));
    assert_eq!(found, [("qa", "a1"), ("qb", "b1"), ("qs", "a2")]);
    let row = |kind: &str| report.rows.iter().find(|row| row.kind == kind).unwrap();
    assert_eq!(report.rows.iter().map(|row| row.kind.as_str()).collect::<Vec<_>>(), ["food", "place", ALL]);
    for (kind, questions) in [("food", 1), ("place", 2), (ALL, 3)] {
        let row = row(kind);
        assert_eq!(row.questions, questions);
        for (name, interval) in &row.measures {
            assert_eq!((interval.low, interval.mean, interval.high), (1.0, 1.0, 1.0), "{kind} {name}");
        }
    }
    let reported = reported.into_inner();
    assert!(
        reported.contains(&(EvalPhase::Storing, 4, 4)) && reported.ends_with(&[(EvalPhase::Asking, 3, 3)]),
        "{reported:?}"
    );
}

#[test]
fn a_document_that_cannot_be_stored_is_reported_with_its_line() {
    let mut set = set();
    set.groups[0].lines[1].1 = r#"{"id": "a2", "text": ["no text"]}"#.into();
    set.documents = "docs.jsonl".into();
    let error = run(&set, Config::defaults().unwrap(), &|_, _, _| {}).unwrap_err();
    insta::assert_snapshot!(error, @"docs.jsonl:2: `text`: it is a list");
}

#[test]
fn a_comparison_shows_exactly_the_changes() {
    let now = report();
    let same = compare(&now, &now);
    assert!(same.rows.iter().all(|row| row.paired));
    assert!(
        same.rows
            .iter()
            .flat_map(|row| row.measures.values())
            .all(|interval| *interval == Default::default())
    );
    let mut then = now.clone();
    then.questions[0].measures.insert("recall_10".into(), 0.5);
    let measured = |then: &EvalReport, kind: &str| {
        let compared = compare(then, &now);
        let row = compared.rows.into_iter().find(|row| row.kind == kind).unwrap();
        (row.paired, row.questions, row.measures["recall_10"].mean)
    };
    assert_eq!(measured(&then, "place"), (true, [2, 2], 0.25));
    assert_eq!(measured(&then, "food"), (true, [1, 1], 0.0));
    then.questions.remove(1);
    assert_eq!(measured(&then, "place"), (false, [2, 1], 0.5));
}

#[test]
fn a_question_counts_as_complete_if_all_its_documents_are_among_the_first_ten() {
    let mut set = set();
    let asked = set.questions.iter_mut().find(|question| question.id == "qa").unwrap();
    let others: Vec<String> = (1..=12).map(|number| format!("c{number}")).collect();
    asked.relevant.extend(others.iter().map(|id| (id.clone(), 1.0)));
    for (line, id) in (10..).zip(&others) {
        let text = format!(r#"{{"id": "{id}", "text": "The harbour of {id}", "meta": {{"group": "a"}}}}"#);
        set.groups[0].lines.push((line, text));
        set.groups[0].ids.push(id.clone());
    }
    let mut report = run(&set, Config::defaults().unwrap(), &|_, _, _| {}).unwrap();
    let complete = |report: &EvalReport| -> Vec<(String, f64)> {
        let of = |asked: &QuestionResult| (asked.id.clone(), asked.measures["all_10"]);
        report.questions.iter().map(of).collect()
    };
    let expected = [("qa", 0.0), ("qb", 1.0), ("qs", 1.0)].map(|(id, value)| (id.to_owned(), value));
    assert_eq!(complete(&report), expected);
    assert!((report.rows[2].measures["all_10"].mean - 2.0 / 3.0).abs() < 1e-9);
    // Earlier releases did not write it.
    let now = report.clone();
    report.questions.iter_mut().for_each(|asked| _ = asked.measures.remove("all_10"));
    let compared = compare(&report, &now);
    assert!(compared.rows.iter().all(|row| row.measures["all_10"] == Default::default()));
}

#[test]
fn a_report_survives_a_json_round_trip() {
    let report = report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<EvalReport>(&text).unwrap(), report);
}
