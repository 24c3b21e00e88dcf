//! Rules about the layers that the compiler does not check.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue fails; clippy.toml allows it only in functions marked as tests"
)]

mod import_graph;

use import_graph::ImportGraph;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates in the order of imports, each with the crates of the workspace that it must not depend on although
/// they are below it.
const CRATES: &[(&str, &[&str])] = &[
    ("graph", &[]),
    ("config", &[]),
    ("rank", &[]),
    ("embed", &[]),
    ("store", &["embed"]),
    // Above the store, because it implements its trait.
    ("postgres", &["config", "rank", "embed"]),
    ("index", &["postgres"]),
    // A pipeline cannot write and takes no lock on the store.
    ("search", &["store", "postgres"]),
    ("notes", &["postgres"]),
    ("agent", &["postgres"]),
    ("models", &["postgres"]),
];

/// The modules of the crate `poc-memory` in the order of imports.
const SURFACES: &[&str] = &["ops", "mcp", "wire", "client", "dispatch", "cli"];

#[test]
fn crates_depend_only_on_crates_below_them() {
    for (level, (name, forbidden)) in CRATES.iter().enumerate() {
        let manifest =
            fs::read_to_string(root().join("poc-memory/crates").join(name).join("Cargo.toml")).unwrap();
        let used: Vec<&str> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("poc-")?.split_once('.').map(|(used, _)| used))
            // Only tests use it.
            .filter(|used| *used != "laws")
            .collect();
        for used in used {
            let below = CRATES[..level].iter().any(|(lower, _)| *lower == used);
            assert!(below && !forbidden.contains(&used), "poc-{name} must not depend on poc-{used}");
        }
    }
    let folders = fs::read_dir(root().join("poc-memory/crates")).unwrap();
    let found: BTreeSet<String> =
        folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let listed: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}

/// `cargo test --workspace` turns on the default features of all crates, `cargo build` those of the programs. A default
/// feature elsewhere would make the tests compile its crate, and all crates above it, a second time.
#[test]
fn only_the_programs_have_default_features() {
    let lower = CRATES.iter().map(|(name, _)| format!("poc-memory/crates/{name}"));
    for folder in lower.chain(["bench".into()]) {
        let manifest = fs::read_to_string(root().join(&folder).join("Cargo.toml")).unwrap();
        assert!(!manifest.lines().any(|line| line.starts_with("default =")), "{folder} has default features");
    }
}

/// `.cargo/rustc.sh` names the crates whose tests are optimised.
#[test]
fn the_crates_whose_tests_are_optimised_exist() {
    let script = fs::read_to_string(root().join(".cargo/rustc.sh")).unwrap();
    let named: Vec<String> = script.split("--crate-name poc_").skip(1).filter_map(first_word).collect();
    let exists = |name: &String| CRATES.iter().any(|(known, _)| known == name);
    assert!(!named.is_empty() && named.iter().all(exists), "{named:?}");
}

#[test]
fn surfaces_import_only_what_is_below_them() {
    let source = root().join("poc-memory/src");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in rust_files(&source) {
        let relative = file.strip_prefix(&source).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let level = SURFACES.iter().position(|surface| *surface == module);
        let level = level.unwrap_or_else(|| panic!("`{module}` is not in the list of surfaces"));
        seen.insert(module);
        for used in used_modules(&fs::read_to_string(&file).unwrap()) {
            if !SURFACES[..=level].contains(&used.as_str()) {
                wrong.push(format!("{} uses `{used}`", relative.display()));
            }
        }
    }
    assert_eq!(seen.len(), SURFACES.len());
    assert!(wrong.is_empty(), "imports that point up:\n{}", wrong.join("\n"));
}

/// The cycles between files that ARCHITECTURE.md allows.
const CYCLES: &[(&str, &[&str])] = &[
    // A view caches the structure that is computed from views.
    ("poc-memory/crates/graph", &["structure", "view"]),
    // The table in `cli/command` lists the other four, which read the tree of commands that is built from the table.
    ("poc-memory", &["cli/command", "cli/completions", "cli/demo", "cli/help", "cli/man"]),
];

#[test]
fn files_do_not_import_each_other_in_cycles() {
    let mut found = BTreeSet::new();
    let crates = CRATES.iter().map(|(name, _)| format!("poc-memory/crates/{name}"));
    for folder in crates.chain(["poc-memory".into(), "poc-daemon".into()]) {
        let cycles = ImportGraph::of(&root().join(&folder).join("src")).cycles();
        found.extend(cycles.into_iter().map(|cycle| (folder.clone(), cycle)));
    }
    let allowed = CYCLES
        .iter()
        .map(|(folder, files)| ((*folder).to_owned(), files.iter().map(|file| (*file).to_owned()).collect()));
    assert_eq!(found, allowed.collect::<BTreeSet<(String, BTreeSet<String>)>>());
}

#[test]
fn used_modules_are_found_in_every_form_of_use() {
    let text = "use crate::ops::Ctx;\nuse crate::{mcp, wire::{Hello, Frame}};\n// crate::cli\nlet x = crate::client::open();";
    assert_eq!(used_modules(text).into_iter().collect::<Vec<_>>(), ["client", "mcp", "ops", "wire"]);
}

/// The name of a `pub` type means one thing in the whole workspace, also within a crate. Types of tests are left out.
#[test]
fn names_of_public_types_are_unique() {
    let mut places: BTreeMap<String, Vec<(bool, String)>> = BTreeMap::new();
    for folder in ["poc-memory", "poc-daemon", "bench/src"] {
        for file in rust_files(&root().join(folder)) {
            let path = file.strip_prefix(root()).unwrap().display().to_string();
            let is_test = file.iter().any(|part| part == "tests" || part == "tests.rs");
            for (name, is_public) in visible_types(&fs::read_to_string(&file).unwrap()) {
                if is_public || !is_test {
                    places.entry(name).or_default().push((is_public, path.clone()));
                }
            }
        }
    }
    let public = |places: &[(bool, String)]| places.iter().filter(|(is_public, _)| *is_public).count();
    let count = places.values().filter(|places| public(places) > 0).count();
    assert!(count > 300, "only {count} types were found");
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1 && public(places) > 0)
        .map(|(name, places)| {
            let files: Vec<&str> = places.iter().map(|(_, file)| file.as_str()).collect();
            format!("{name}: {}", files.join(", "))
        })
        .collect();
    assert!(twice.is_empty(), "public types that share a name:\n{}", twice.join("\n"));
}

/// A package contains only files of the folder of its crate. Tests may read the guides, which they check.
#[test]
fn compiled_files_are_below_the_folder_of_their_crate() {
    let crates = CRATES.iter().map(|(name, _)| format!("poc-memory/crates/{name}"));
    for folder in crates.chain(["poc-memory".into(), "poc-daemon".into()]) {
        for file in rust_files(&root().join(&folder).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            let parts = text.split("include_str!(\"").chain(text.split("include_bytes!(\""));
            for path in parts.filter_map(|part| part.split_once('"').map(|(path, _)| path)) {
                let below = file.strip_prefix(root().join(&folder)).unwrap().components().count() - 1;
                let climbs = path.split('/').take_while(|part| *part == "..").count();
                let is_guide = path.contains("../docs/");
                assert!(is_guide || climbs <= below, "{} includes {path}", file.display());
            }
        }
    }
}

#[test]
fn unsafe_code_is_in_one_file() {
    let allowed = root().join("poc-memory/crates/index/src/vectors/graph_vector.rs");
    let has_unsafe_code = |file: &PathBuf| fs::read_to_string(file).unwrap().contains("unsafe {");
    let mut files = rust_files(&root().join("poc-memory"));
    files.extend(rust_files(&root().join("poc-daemon")));
    files.retain(has_unsafe_code);
    assert_eq!(files, [allowed]);
}

/// ARCHITECTURE.md names the test modules that hold each invariant, as in "store: `past`".
#[test]
fn test_modules_in_the_architecture_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, invariants) = text.split_once("## Invariants").unwrap();
    let mut checked = 0;
    for row in invariants.lines().filter(|line| line.starts_with("| ")) {
        for holder in row.split('|').nth(2).unwrap().split(';') {
            let Some((package, modules)) = holder.split_once(": ") else { continue };
            let source = match package.trim() {
                "ops" => "poc-memory/src/ops".to_owned(),
                "daemon" => "poc-daemon/src".to_owned(),
                name if CRATES.iter().any(|(known, _)| *known == name) => {
                    format!("poc-memory/crates/{name}/src")
                }
                _ => continue,
            };
            let files = rust_files(&root().join(&source));
            for module in modules.split('`').skip(1).step_by(2) {
                let named = |path: &Path| {
                    path.iter().any(|part| part.to_str().unwrap().trim_end_matches(".rs") == module)
                };
                assert!(
                    files.iter().any(|file| named(file)),
                    "{source} has no test module `{module}`: {row}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "only {checked} test modules are named");
}

/// The names of the structs, enums and traits that a file declares as `pub` or `pub(…)`, each with whether it is `pub`.
fn visible_types(text: &str) -> impl Iterator<Item = (String, bool)> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let (rest, is_public) = match rest.strip_prefix('(') {
            Some(restricted) => (restricted.split_once(") ")?.1, false),
            None => (rest.strip_prefix(' ')?, true),
        };
        let rest = ["struct ", "enum ", "trait "].iter().find_map(|keyword| rest.strip_prefix(keyword))?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        // A macro has a variable in place of the name.
        (!name.is_empty()).then_some((name, is_public))
    })
}

/// The top-level modules that a file names after `crate::` outside of comments.
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

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
