//! The imports between the files of one crate, read from the text of the files.
//!
//! A module file and the files below it count as one, because each uses what the other defines. The files of a folder
//! are compared in the same way with each other. Imports of tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module from the root of its crate.
type ModulePath = Vec<String>;

/// The modules of a crate, each with the modules whose items it uses.
pub(crate) struct ImportGraph {
    imports: BTreeMap<ModulePath, BTreeSet<ModulePath>>,
}

impl ImportGraph {
    /// The imports of the crate whose root is `source/lib.rs`.
    pub(crate) fn of(source: &Path) -> ImportGraph {
        let mut modules = BTreeMap::new();
        for file in crate::rust_files(source) {
            let relative = file.strip_prefix(source).unwrap().with_extension("");
            let mut module: ModulePath =
                relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            let is_test = module.iter().any(|part| matches!(part.as_str(), "tests" | "testing"));
            if is_test || module == ["main"] {
                continue;
            }
            module.pop_if(|last| matches!(last.as_str(), "mod" | "lib"));
            modules.insert(module, Source::parse(&fs::read_to_string(&file).unwrap()));
        }
        let imports = modules
            .iter()
            .map(|(module, source)| {
                let paths = source.paths.iter().filter_map(|path| absolute(&modules, module, path));
                let used = paths.map(|path| defining_module(&modules, &path, 0));
                (module.clone(), used.collect())
            })
            .collect();
        ImportGraph { imports }
    }

    /// The sets of files of one folder that use each other in a cycle, as paths with `/`.
    pub(crate) fn cycles(&self) -> BTreeSet<BTreeSet<String>> {
        let folders: BTreeSet<&[String]> = self
            .imports
            .keys()
            .flat_map(|module| (0..module.len()).map(|length| &module[..length]))
            .collect();
        folders.into_iter().flat_map(|folder| cycles(&self.imports_within(folder))).collect()
    }

    /// The imports between the files of a folder, each taken together with the files below it.
    fn imports_within(&self, folder: &[String]) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let file_of = |module: &ModulePath| {
            (module.starts_with(folder) && module.len() > folder.len())
                .then(|| module[..=folder.len()].to_vec())
        };
        let mut within: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (module, used) in &self.imports {
            let Some(file) = file_of(module) else { continue };
            let others = used.iter().filter_map(file_of).filter(|other| *other != file);
            within.entry(file.clone()).or_default().extend(others);
        }
        within
    }
}

/// The sets of modules that reach each other.
fn cycles(imports: &BTreeMap<ModulePath, BTreeSet<ModulePath>>) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        imports.keys().map(|module| (module, reachable(imports, module))).collect();
    let cycle = |module: &ModulePath| {
        let leads_back =
            |other: &&&ModulePath| reached.get(**other).is_some_and(|reached| reached.contains(module));
        reached[module].iter().filter(leads_back).map(|other| other.join("/")).collect::<BTreeSet<String>>()
    };
    imports.keys().map(cycle).filter(|cycle| !cycle.is_empty()).collect()
}

/// The modules that a module uses, and those that these use.
fn reachable<'a>(
    imports: &'a BTreeMap<ModulePath, BTreeSet<ModulePath>>,
    from: &ModulePath,
) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut pending: Vec<&ModulePath> = imports[from].iter().collect();
    while let Some(module) = pending.pop() {
        if found.insert(module) {
            pending.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

/// What a file uses and exports.
struct Source {
    /// All paths that may lead to another module.
    paths: Vec<String>,
    /// Names that are exported from elsewhere, with their paths.
    exports: BTreeMap<String, String>,
}

impl Source {
    fn parse(text: &str) -> Source {
        let code = without_comments_and_strings(text);
        let mut source = Source { paths: Vec::new(), exports: BTreeMap::new() };
        // The text between two semicolons may contain blocks, and a `use` after them.
        for statement in code.split(';') {
            let Some(at) = statement.rfind("use ").filter(|at| begins_an_item(statement, *at)) else {
                source.paths.extend(inline_paths(statement));
                continue;
            };
            let (before, tree) = statement.split_at(at);
            source.paths.extend(inline_paths(before));
            let is_export = before
                .trim_end()
                .rsplit('\n')
                .next()
                .is_some_and(|line| line.trim_start().starts_with("pub"));
            for used in expand(tree.trim_start_matches("use ")) {
                if is_export {
                    source.exports.insert(used.name, used.path.clone());
                }
                source.paths.push(used.path);
            }
        }
        source
    }
}

/// Whether a keyword at this place begins an item.
fn begins_an_item(statement: &str, at: usize) -> bool {
    let before = statement[..at].trim_end();
    before.is_empty() || before.ends_with(['}', '{', ']', ')']) || before.ends_with("pub")
}

/// The text without comments, string literals and the module of its tests.
fn without_comments_and_strings(text: &str) -> String {
    let text = text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code);
    let mut code = String::new();
    for line in text.lines() {
        // Every second part is inside of quotes. Strings of several lines and the character `"` are not handled: they
        // can only hide a path on the same line.
        let line: String = line.split('"').step_by(2).collect();
        code.push_str(line.split_once("//").map_or(line.as_str(), |(code, _)| code));
        code.push('\n');
    }
    code
}

/// Paths in expressions and signatures.
fn inline_paths(code: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.split(|c| !is_part(c)).filter(|path| path.contains("::")).map(str::to_owned).collect()
}

/// A path of a `use`, and the name that it gets.
struct UsedPath {
    path: String,
    name: String,
}

/// The paths of a tree of imports: `a::{b, c::d as e}` is `a::b`, and `a::c::d` with the name `e`.
fn expand(tree: &str) -> Vec<UsedPath> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        let words: Vec<&str> = tree.split_whitespace().collect();
        let Some(path) = words.first() else { return Vec::new() };
        let own_name = path.rsplit("::").next().unwrap_or(path);
        let name = if let [_, "as", alias] = words[..] { alias } else { own_name };
        return vec![UsedPath { path: (*path).to_owned(), name: name.to_owned() }];
    };
    let (mut depth, mut part, mut paths) = (0, String::new(), Vec::new());
    for character in rest.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
        if character == ',' && depth == 0 {
            paths.extend(expand(part.trim()));
            part.clear();
        } else {
            part.push(character);
        }
    }
    paths.extend(expand(part.trim()));
    for used in &mut paths {
        used.path.insert_str(0, prefix.trim());
    }
    paths
}

/// The path from the root of the crate, if it begins in the crate.
fn absolute(modules: &BTreeMap<ModulePath, Source>, module: &ModulePath, path: &str) -> Option<ModulePath> {
    let mut base = module.clone();
    let mut parts = path.split("::").filter(|part| !part.is_empty()).peekable();
    match parts.peek() {
        Some(&"crate") => {
            base.clear();
            parts.next();
        }
        Some(&"self") => drop(parts.next()),
        Some(&"super") => {
            while parts.next_if_eq(&"super").is_some() {
                base.pop();
            }
        }
        Some(first) => {
            let child: ModulePath = base.iter().cloned().chain([(*first).to_owned()]).collect();
            modules.get(&child)?;
        }
        None => return None,
    }
    base.extend(parts.map(str::to_owned));
    Some(base)
}

/// How many exports of exports are followed. Two modules may export names of each other.
const MAX_REEXPORTS: usize = 8;

/// The module that defines what a path names, also if another module exports it.
fn defining_module(modules: &BTreeMap<ModulePath, Source>, path: &ModulePath, depth: usize) -> ModulePath {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length])).unwrap();
    let (module, rest) = (path[..length].to_vec(), &path[length..]);
    let exported = rest.first().and_then(|name| modules[&module].exports.get(name));
    if let Some(target) = exported.and_then(|target| absolute(modules, &module, target))
        && depth < MAX_REEXPORTS
        && target != path[..=length]
    {
        return defining_module(
            modules,
            &target.into_iter().chain(rest[1..].iter().cloned()).collect(),
            depth + 1,
        );
    }
    module
}

#[test]
fn imports_are_found_in_every_form_of_use() {
    let text = "//! crate::nothing\nmod a;\npub use super::super::b::{c as d, e::{self, F}};\nfn g() {}\nuse crate::h;\n\
                let x = crate::i::j(\"crate::k\");";
    let source = Source::parse(text);
    let imports = ["super::super::b::c", "super::super::b::e::self", "super::super::b::e::F", "crate::h"];
    assert!(imports.iter().all(|path| source.paths.iter().any(|found| found == path)), "{:?}", source.paths);
    assert!(source.paths.iter().any(|path| path == "crate::i::j"), "{:?}", source.paths);
    assert!(!source.paths.iter().any(|path| path.ends_with("nothing") || path.ends_with('k')));
    assert_eq!(source.exports.get("d").map(String::as_str), Some("super::super::b::c"));
    assert!(!source.exports.contains_key("h"));
}
