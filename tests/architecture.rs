//! The layers of the library: imports point down, and the language cannot reach the store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml allows it only in functions marked as tests"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules from the ground up. A module may use itself and what stands before it.
const LAYERS: &[&str] = &[
    "error", "similar", "time", "chance", "paths", "server", "graph", "config", "embedded", "rank", "embed",
    "store", "index", "retrieve", "query", "memory", "eval", "agent", "models", "ops", "mcp", "wire",
    "client", "dispatch", "cli",
];

/// Uses that point down and are forbidden all the same: a pipeline takes no lock and cannot write.
const FORBIDDEN: &[(&str, &str)] =
    &[("query", "store"), ("retrieve", "store"), ("rank", "store"), ("rank", "index")];

#[test]
fn imports_point_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../poc-memory/src");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in rust_files(&source) {
        let relative = file.strip_prefix(&source).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let Some(level) = LAYERS.iter().position(|layer| *layer == module) else {
            wrong.push(format!("`{module}` is in no layer"));
            continue;
        };
        seen.insert(module.clone());
        for used in used_modules(&fs::read_to_string(&file).unwrap()) {
            let points_up = !LAYERS[..=level].contains(&used.as_str());
            let forbidden = FORBIDDEN.contains(&(module.as_str(), used.as_str()));
            if points_up || forbidden {
                wrong.push(format!("{} uses `{used}`", relative.display()));
            }
        }
    }
    assert!(seen.len() > 10, "the sources were not found");
    assert!(wrong.is_empty(), "imports that do not point down:\n{}", wrong.join("\n"));
}

#[test]
fn a_layer_test_sees_every_way_to_name_a_module() {
    let text = "use poc_graph::View;\nuse crate::{error, store::{Tx, keys}};\n// crate::cli\nlet x = poc_index::open();";
    assert_eq!(used_modules(text).into_iter().collect::<Vec<_>>(), ["error", "graph", "index", "store"]);
}

/// The top-level modules a file names after `crate::`, comments apart.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => used.extend(first_word(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut start = true;
                for (place, character) in group.char_indices() {
                    if start && depth == 0 && !character.is_whitespace() {
                        used.extend(first_word(&group[place..]));
                        start = false;
                    }
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        _ => {}
                    }
                }
            }
        }
    }
    used
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    word.starts_with(|c: char| c.is_lowercase()).then_some(word)
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
