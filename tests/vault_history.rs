//! A bound folder that people and editors change at random, while the daemon runs, is killed or is stopped. Whenever
//! the changes pause, the memory equals that of a new import of the folder.

use crate::support::{Deadline, WAIT_LIMIT, World, move_path, number_in};
use poc_graph::rng::SeededRng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 6] = ["", "db/", "db/tree/", "people/", "Plans 2027/", "daily/"];
const WORDS: [&str; 24] = [
    "page",
    "split",
    "journal",
    "crash",
    "lentil",
    "soup",
    "bread",
    "garden",
    "broker",
    "recovery",
    "checkpoint",
    "lemon",
    "tree",
    "index",
    "vector",
    "meeting",
    "budget",
    "river",
    "bridge",
    "ticket",
    "paper",
    "harbour",
    "signal",
    "candle",
];

/// A folder with random files.
struct RandomFolder {
    rng: SeededRng,
    folder: PathBuf,
    /// The texts of the files that may become notes, by path.
    files: BTreeMap<String, String>,
    deleted: Vec<(String, String)>,
    number: u64,
}

impl RandomFolder {
    fn new(seed: u64, folder: PathBuf) -> RandomFolder {
        fs::create_dir(&folder).unwrap();
        let rng = SeededRng::new(seed);
        RandomFolder { rng, folder, files: BTreeMap::new(), deleted: Vec::new(), number: 0 }
    }

    fn below(&self, bound: usize) -> usize {
        self.rng.below(0, bound)
    }

    fn one_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn word(&self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    /// The path of a random file; empty if there is none.
    fn some(&self) -> String {
        self.files.keys().nth(self.below(self.files.len().max(1))).cloned().unwrap_or_default()
    }

    /// A path that no file has, on any filesystem.
    fn path(&self, extension: &str) -> String {
        loop {
            let folder = FOLDERS[self.below(FOLDERS.len())];
            let name = match folder {
                "daily/" => format!("2026-{:02}-{:02}", 1 + self.below(12), 1 + self.below(28)),
                // There are only a few names, so that names recur and base names are ambiguous.
                _ => format!("{}-{}", self.word(), self.below(60)),
            };
            let path = format!("{folder}{name}.{extension}");
            if !self.files.keys().any(|known| known.eq_ignore_ascii_case(&path)) {
                return path;
            }
        }
    }

    /// A link to a file that exists, existed, or may exist later.
    fn link(&self) -> String {
        let target = match self.below(4) {
            0 => format!("{}-{}", self.word(), self.below(60)),
            _ => self.some().trim_end_matches(".md").to_owned(),
        };
        let last = target.rsplit('/').next().unwrap_or_default().to_owned();
        match self.below(7) {
            0 => format!("[[{target}|label]]"),
            1 => format!("![[{last}#Heading]]"),
            2 => format!("[text](</{target}.md>)"),
            3 => format!("[text](<{last}.md>)"),
            4 => format!("[[{}]]", last.to_uppercase()),
            // An alias.
            5 => format!("[[{} {}]]", self.word(), self.word()),
            _ => format!("[[{last}]]"),
        }
    }

    fn sentence(&self) -> String {
        let words: Vec<&str> = (0..6 + self.below(8)).map(|_| self.word()).collect();
        let end = match self.below(4) {
            0 => format!(" {}", self.link()),
            1 => format!(" #{}", self.word()),
            _ => String::new(),
        };
        format!("{}{end}.", words.join(" "))
    }

    /// The text of a file of Markdown that no other file has.
    fn text(&mut self) -> String {
        self.number += 1;
        let mut front = String::new();
        if self.one_in(3) {
            front += &format!("tags: [{}, {}]\n", self.word(), self.word());
        }
        if self.one_in(3) {
            front += &format!("aliases: [{} {}]\n", self.word(), self.word());
        }
        if self.one_in(6) {
            front += &format!("author: {}\ntype: episodic\n", self.word());
        }
        if self.one_in(6) {
            front += &format!("up: \"{}\"\n", self.link().trim_start_matches('!'));
        }
        if self.one_in(8) {
            let (day, hour) = (1 + self.below(28), self.number % 24);
            front += &format!("session: {}\ncreated: 2026-10-{day:02}T{hour:02}:00:00Z\n", self.word());
        }
        if self.one_in(30) {
            front += &format!("key: own/{}-{}\n", self.word(), self.below(20));
        }
        let front = if front.is_empty() { front } else { format!("---\n{front}---\n") };
        let body: Vec<String> = (0..2 + self.below(5)).map(|_| self.sentence()).collect();
        let heading = if self.one_in(3) { "\n## Heading\n\nBelow it.\n" } else { "" };
        format!("{front}# {} {} {}\n\n{}\n{heading}", self.word(), self.word(), self.number, body.join("\n"))
    }

    /// The text of a canvas.
    fn canvas(&mut self) -> String {
        self.number += 1;
        let text = format!("Card {} {}", self.number, self.sentence());
        let mut cards = vec![json!({"id": "text", "type": "text", "text": text})];
        for number in 0..1 + self.below(4) {
            cards.push(json!({"id": format!("file{number}"), "type": "file", "file": self.some()}));
        }
        let (to, label) = (format!("file{}", self.below(4)), self.word());
        let arrow = json!({"id": "arrow", "fromNode": "file0", "toNode": to, "label": label});
        json!({"nodes": cards, "edges": [arrow]}).to_string()
    }

    fn new_text(&mut self, path: &str) -> String {
        if path.ends_with(".canvas") { self.canvas() } else { self.text() }
    }

    fn extension(&self) -> &'static str {
        ["canvas", "markdown"].get(self.below(14)).copied().unwrap_or("md")
    }

    /// Saves a file in one of the ways of editors.
    fn save(&mut self, path: &str, text: String) {
        let at = self.folder.join(path);
        let folder = at.parent().unwrap();
        let name = at.file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(folder).unwrap();
        let beside = |name: String| folder.join(name);
        match self.below(5) {
            0 => {
                // In two parts.
                let half = text.len() / 2;
                fs::write(&at, &text.as_bytes()[..half]).unwrap();
                fs::write(&at, &text).unwrap();
            }
            1 => {
                let temporary = beside(format!(".{name}.new"));
                fs::write(&temporary, &text).unwrap();
                fs::rename(temporary, &at).unwrap();
            }
            2 => {
                let temporary = beside(format!("{name}.tmp"));
                fs::write(&temporary, &text).unwrap();
                fs::rename(temporary, &at).unwrap();
            }
            3 if at.exists() => {
                let (swap, backup) = (beside(format!(".{name}.swp")), beside(format!("{name}~")));
                fs::write(&swap, "swap").unwrap();
                fs::rename(&at, &backup).unwrap();
                fs::write(&at, &text).unwrap();
                fs::remove_file(backup).unwrap();
                fs::remove_file(swap).unwrap();
            }
            _ => fs::write(&at, &text).unwrap(),
        }
        self.files.insert(path.to_owned(), text);
    }

    fn create(&mut self) {
        let path = self.path(self.extension());
        let text = self.new_text(&path);
        self.save(&path, text);
    }

    fn rename(&mut self, from: &str, to: &str) {
        move_path(&self.folder.join(from), &self.folder.join(to));
        let text = self.files.remove(from).unwrap();
        self.files.insert(to.to_owned(), text);
    }

    /// A path with the same extension that no file has.
    fn path_like(&self, path: &str) -> String {
        self.path(path.rsplit('.').next().unwrap_or_default())
    }

    /// Changes something.
    fn step(&mut self) {
        if self.files.len() < 5 {
            return self.create();
        }
        let (path, other) = (self.some(), self.some());
        let is_same_kind = path != other && path.ends_with(".canvas") == other.ends_with(".canvas");
        match self.below(100) {
            0..16 => self.create(),
            16..40 if !path.ends_with(".canvas") => {
                let text = format!("{}{}\n", self.files[&path], self.sentence());
                self.save(&path, text);
            }
            16..50 => {
                let text = self.new_text(&path);
                self.save(&path, text);
            }
            50..62 => {
                let to = self.path_like(&path);
                self.rename(&path, &to);
            }
            62..74 => {
                fs::remove_file(self.folder.join(&path)).unwrap();
                let text = self.files.remove(&path).unwrap();
                self.deleted.push((path, text));
            }
            74..79 => {
                let (to, text) = (self.path_like(&path), self.files[&path].clone());
                self.save(&to, text);
            }
            79..82 if is_same_kind => {
                // One file takes the place of another.
                self.files.remove(&other);
                self.rename(&path, &other);
            }
            82..85 if is_same_kind => {
                let aside = self.path_like(&path);
                self.rename(&path, &aside);
                self.rename(&other, &path);
                self.rename(&aside, &other);
            }
            85..88 => {
                let deleted = self.deleted.pop().filter(|(path, _)| !self.files.contains_key(path));
                if let Some((path, text)) = deleted {
                    self.save(&path, text);
                }
            }
            88..91 => self.rename_folder(),
            91..94 => {
                // Only the case of the name changes.
                let (folder, name) = path.rsplit_once('/').unwrap_or(("", path.as_str()));
                let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
                let upper = stem.to_uppercase();
                let stem = if stem == upper { stem.to_lowercase() } else { upper };
                let to = format!("{folder}{}{stem}.{extension}", if folder.is_empty() { "" } else { "/" });
                if !self.files.contains_key(&to) {
                    self.rename(&path, &to);
                }
            }
            94..96 => {
                // Half-written, and then whole.
                fs::write(self.folder.join(&path), b"---\ntitle: [\n---\n\xff").unwrap();
                fs::write(self.folder.join(&path), &self.files[&path]).unwrap();
            }
            96..98 => {
                // Folders that are moved into the vault with their files.
                self.number += 1;
                let (outside, name) = (self.folder.with_extension("new"), format!("new{}", self.number));
                fs::create_dir_all(outside.join("a/b")).unwrap();
                for file in ["x.md", "a/y.md", "a/b/z.md"] {
                    let text = self.text();
                    fs::write(outside.join(file), &text).unwrap();
                    self.files.insert(format!("{name}/{file}"), text);
                }
                fs::rename(outside, self.folder.join(name)).unwrap();
            }
            _ => {
                // Files that become no notes.
                self.number += 1;
                fs::write(self.folder.join(format!("broken-{}.md", self.number)), b"\xff\xfe").unwrap();
                fs::create_dir_all(self.folder.join(".obsidian")).unwrap();
                fs::write(self.folder.join(".obsidian/workspace.md"), "Open files.").unwrap();
            }
        }
    }

    /// Renames a folder at the top.
    fn rename_folder(&mut self) {
        let folders: BTreeSet<&str> =
            self.files.keys().filter_map(|path| Some(path.split_once('/')?.0)).collect();
        let Some(from) = folders.iter().nth(self.below(folders.len().max(1))).map(|from| (*from).to_owned())
        else {
            return;
        };
        let to = from.strip_suffix(" moved").map_or_else(|| format!("{from} moved"), str::to_owned);
        if self.folder.join(&to).exists() {
            return;
        }
        fs::rename(self.folder.join(&from), self.folder.join(&to)).unwrap();
        let is_inside = |path: &String| path.split_once('/').is_some_and(|(folder, _)| folder == from);
        let inside: Vec<String> = self.files.keys().filter(|path| is_inside(path)).cloned().collect();
        for path in inside {
            let text = self.files.remove(&path).unwrap();
            self.files.insert(path.replacen(&from, &to, 1), text);
        }
    }
}

/// The live notes of a memory with all their keys, and the edges of their links and sessions.
#[derive(PartialEq)]
struct Contents {
    notes: BTreeMap<String, BTreeSet<String>>,
    edges: BTreeSet<String>,
}

fn exported(world: &World) -> Vec<Value> {
    let ran = world.run(&["export"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let notes = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    notes.filter(|note| note["state"] == "active").collect()
}

/// A note without the fields that depend on its history.
fn content(note: &Value) -> String {
    let sorted = |field: &str| {
        let mut texts: Vec<&str> =
            note[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        texts.sort_unstable();
        texts.join(", ")
    };
    let mut text =
        format!("{} {} [{}] [{}]", note["title"], note["body"], sorted("keywords"), sorted("other_names"));
    for field in ["type", "category", "author", "source", "emotion", "expires"] {
        text += &format!(" {}", note[field]);
    }
    // Only notes of a session have a source and a date of their own.
    if note["source"].is_string() {
        text += &format!(" {}", note["created"]);
    }
    text
}

fn keys(note: &Value) -> BTreeSet<String> {
    let aliases = note["aliases"].as_array().into_iter().flatten();
    aliases.chain([&note["key"]]).filter_map(|key| key.as_str().map(str::to_owned)).collect()
}

fn contents(world: &World) -> Contents {
    let exported = exported(world);
    let texts: BTreeMap<&str, String> =
        exported.iter().map(|note| (note["id"].as_str().unwrap(), content(note))).collect();
    let mut contents = Contents { notes: BTreeMap::new(), edges: BTreeSet::new() };
    for note in &exported {
        let text = &texts[note["id"].as_str().unwrap()];
        for edge in note["edges"].as_array().into_iter().flatten() {
            let is_of_files = edge["kind"] == "link" || edge["kind"] == "structural";
            let to = edge["to"].as_str().and_then(|to| texts.get(to));
            if let Some(to) = to.filter(|_| is_of_files) {
                let (kind, reason) = (&edge["kind"], &edge["reason"]);
                let edge =
                    format!("{text} → {to} {kind} {reason} {} {}", edge["strength"], edge["provenance"]);
                contents.edges.insert(edge);
            }
        }
        assert!(contents.notes.insert(text.clone(), keys(note)).is_none(), "twice: {text}");
    }
    contents
}

/// A new memory of a copy of the folder. Files that become no notes are refused.
fn new_memory(folder: &Path) -> World {
    let world = World::new();
    let copy = world.home().join("notes");
    assert!(std::process::Command::new("cp").arg("-r").arg(folder).arg(&copy).status().unwrap().success());
    world.run(&["vault", "add", "notes"]);
    world
}

/// Gives the notes of a new memory the former keys that they have in another one: links may use them.
fn give_former_keys(fresh: &World, notes: &BTreeMap<String, BTreeSet<String>>) {
    let mut lines = String::new();
    for mut note in exported(fresh) {
        let own = keys(&note);
        let former: Vec<&String> =
            notes.get(&content(&note)).into_iter().flatten().filter(|key| !own.contains(*key)).collect();
        if !former.is_empty() {
            let mut aliases = note["aliases"].as_array().cloned().unwrap_or_default();
            aliases.extend(former.into_iter().map(|key| Value::from(key.as_str())));
            note["aliases"] = aliases.into();
            lines += &format!("{note}\n");
        }
    }
    if !lines.is_empty() {
        fresh.write("former-keys.jsonl", &lines);
        fresh.json(&["import", "former-keys.jsonl"]);
        fresh.run(&["vault", "sync"]);
    }
}

/// What only one of two collections has.
fn difference(synced: &BTreeSet<String>, fresh: &BTreeSet<String>) -> String {
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>, whose: &str| {
        a.difference(b).take(5).map(|item| format!("only {whose}: {item}\n")).collect::<String>()
    };
    only(synced, fresh, "after the changes") + &only(fresh, synced, "in the new memory")
}

/// How the memory differs from a new one; empty if it does not.
fn difference_from_new(world: &World, folder: &Path) -> String {
    let synced = contents(world);
    let fresh = new_memory(folder);
    let first = contents(&fresh);
    let mut wrong =
        difference(&synced.notes.keys().cloned().collect(), &first.notes.keys().cloned().collect());
    for (note, keys) in &first.notes {
        if let Some(known) = synced.notes.get(note).filter(|known| !known.is_superset(keys)) {
            wrong += &format!("{known:?} instead of {keys:?}: {note}\n");
        }
    }
    if wrong.is_empty() {
        give_former_keys(&fresh, &synced.notes);
        let fresh = contents(&fresh);
        wrong = difference(&synced.edges, &fresh.edges);
        if wrong.is_empty() && synced != fresh {
            let differs = |(note, keys): &(&String, &BTreeSet<String>)| fresh.notes.get(*note) != Some(*keys);
            wrong = format!("keys: {:?}", synced.notes.iter().find(differs));
        }
    }
    wrong
}

fn is_up_to_date(list: &Value) -> bool {
    list["vaults"][0]["behind"] == 0
}

/// Waits until the memory equals a new one.
#[track_caller]
fn follows(world: &World, folder: &RandomFolder, when: &str) {
    let deadline = Deadline::after(WAIT_LIMIT);
    loop {
        world.until(WAIT_LIMIT, &["vault", "list"], is_up_to_date);
        let wrong = difference_from_new(world, &folder.folder);
        if wrong.is_empty() {
            return;
        }
        deadline.wait(|| format!("{when}:\n{wrong}"));
    }
}

/// Makes changes, in bursts and one by one.
fn change(world: &World, folder: &mut RandomFolder, changes: usize) {
    let mut made = 0;
    while made < changes {
        let burst = if folder.one_in(2) { 1 } else { 1 + folder.below(20) };
        (0..burst).for_each(|_| folder.step());
        made += burst;
        if folder.one_in(4) {
            world.until(WAIT_LIMIT, &["vault", "list"], is_up_to_date);
        }
    }
}

/// A folder of `files` files with `changes` changes.
fn run(seed: u64, files: usize, changes: usize, rounds: usize) {
    let mut world = World::new();
    // A lost event is not made up for by a regular scan.
    world.write("config.toml", "[daemon]\nreload-poll = \"1d\"\n");
    let mut folder = RandomFolder::new(seed, world.home().join("notes"));
    while folder.files.len() < files {
        folder.create();
    }
    world.run(&["vault", "add", "notes"]);
    world.start_daemon();
    for round in 0..rounds {
        let changes = changes / rounds;
        match round % 3 {
            0 => change(&world, &mut folder, changes),
            1 => {
                change(&world, &mut folder, changes / 2);
                (0..5).for_each(|_| folder.step());
                world.kill_daemon();
                (0..5).for_each(|_| folder.step());
                world.start_daemon();
                change(&world, &mut folder, changes / 2);
            }
            _ => {
                world.stop_daemon();
                (0..changes).for_each(|_| folder.step());
                world.start_daemon();
            }
        }
        follows(&world, &folder, &format!("seed {seed}, round {round}"));
    }
    world.stop_daemon();
    // Folders that are moved and deleted while they are watched are no problem.
    let log = fs::read_to_string(world.home().join("daemon.log")).unwrap();
    assert!(!log.contains("from the watches"), "{log}");
}

#[test]
fn the_memory_follows_a_folder_with_a_daemon_that_runs_is_killed_or_is_stopped() {
    run(number_in("POC_MEMORY_SEED", 7), 60, 200, 3);
}

#[test]
#[ignore = "takes many minutes; POC_MEMORY_VAULT_CHANGES is the number of changes, 10,000 if unset"]
fn the_memory_follows_many_changes_of_a_large_folder() {
    run(number_in("POC_MEMORY_SEED", 11), 2000, number_in("POC_MEMORY_VAULT_CHANGES", 10_000), 21);
}
