//! The imports between the files of one crate, read from the text of the files.
//!
//! A module file and the files below it are one unit: it uses what they define, and they use its types. Imports between
//! them are left out, and so are tests.

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
                let is_apart = |used: &ModulePath| !used.starts_with(module) && !module.starts_with(used);
                (module.clone(), used.filter(is_apart).collect())
            })
            .collect();
        ImportGraph { imports }
    }

    /// The sets of modules that use each other in a circle, as paths with `/`.
    pub(crate) fn circles(&self) -> BTreeSet<BTreeSet<String>> {
        let reachable: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            self.imports.keys().map(|module| (module, self.reachable(module))).collect();
        let circle = |module: &ModulePath| {
            let both =
                |other: &&&ModulePath| reachable.get(**other).is_some_and(|back| back.contains(module));
            reachable[module].iter().filter(both).map(|other| other.join("/")).collect::<BTreeSet<String>>()
        };
        self.imports.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
    }

    fn reachable(&self, from: &ModulePath) -> BTreeSet<&ModulePath> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&ModulePath> = self.imports[from].iter().collect();
        while let Some(module) = open.pop() {
            if found.insert(module) {
                open.extend(self.imports.get(module).into_iter().flatten());
            }
        }
        found
    }
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
        let code = code(text);
        let mut source = Source { paths: Vec::new(), exports: BTreeMap::new() };
        // Statements, also those that begin after a block.
        for statement in code.split(';') {
            let Some(at) = statement.rfind("use ").filter(|at| is_start(statement, *at)) else {
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
            for path in expand(tree.trim_start_matches("use ")) {
                if is_export && let Some(name) = path.rsplit("::").next() {
                    source.exports.insert(name.to_owned(), path.clone());
                }
                source.paths.push(path);
            }
        }
        source
    }
}

/// Whether a keyword at this place begins an item.
fn is_start(statement: &str, at: usize) -> bool {
    let before = statement[..at].trim_end();
    before.is_empty() || before.ends_with(['}', '{', ']', ')']) || before.ends_with("pub")
}

/// The text without comments, string literals and the module of its tests.
fn code(text: &str) -> String {
    let text = text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code);
    let mut code = String::new();
    for line in text.lines() {
        let line = line.split_once("//").map_or(line, |(code, _)| code);
        // Every second part is inside of quotes.
        code.extend(line.split('"').step_by(2));
        code.push('\n');
    }
    code
}

/// Paths in expressions and signatures.
fn inline_paths(code: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.split(|c| !is_part(c)).filter(|path| path.contains("::")).map(str::to_owned).collect()
}

/// The paths of a tree of imports: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return tree.split_whitespace().next().map(str::to_owned).into_iter().collect();
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
    paths.into_iter().map(|path| format!("{}{path}", prefix.trim())).collect()
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

/// The module that defines what a path names, also if another module exports it.
fn defining_module(modules: &BTreeMap<ModulePath, Source>, path: &ModulePath, depth: usize) -> ModulePath {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length])).unwrap();
    let (module, rest) = (path[..length].to_vec(), &path[length..]);
    let exported = rest.first().and_then(|name| modules[&module].exports.get(name));
    if let Some(target) = exported.and_then(|target| absolute(modules, &module, target))
        && depth < path.len() + 8
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
