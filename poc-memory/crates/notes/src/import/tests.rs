//! Tests of imports.

mod json_lines;
mod kept_keywords;
mod markdown_folder;
mod round_trip;
mod run;
mod session_order;

use super::*;
use crate::export;
use crate::testing::TestMemory;
use poc_graph::{EdgeKind, Node};
use poc_store::Records as _;
use std::fs;
use std::path::Path;

fn take(memory: &TestMemory, source: ImportSource) -> ImportReport {
    import(memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap()
}

fn lines(memory: &TestMemory, text: &str) -> ImportReport {
    take(memory, ImportSource::Text(text.into()))
}

/// Inserted, updated, duplicates, edges.
fn counts(report: &ImportReport) -> [u64; 4] {
    [report.inserted, report.updated, report.duplicates, report.edges]
}

fn failures(report: &ImportReport) -> String {
    let line = |(place, error): &(SourceLocation, Error)| {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{place}: {error}{hint}\n")
    };
    report.failed.iter().map(line).collect()
}

fn find(memory: &TestMemory, key: &str) -> Node {
    memory.find(key).unwrap()
}

fn exported(memory: &TestMemory) -> String {
    let mut out = Vec::new();
    export::json_lines(memory, &mut out, &|_, _| {}).unwrap();
    String::from_utf8(out).unwrap()
}

fn put(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn links(memory: &TestMemory, key: &str) -> Vec<String> {
    let id = find(memory, key).id;
    let mut ends: Vec<String> = memory
        .store
        .edges(id)
        .unwrap()
        .into_iter()
        .filter(|edge| edge.kind == EdgeKind::Link && edge.src == id)
        .map(|edge| memory.store.node(edge.dst).unwrap().unwrap().key)
        .collect();
    ends.sort();
    ends
}
