//! Property: after any history of edits, renames, moves and deletions, the memory equals the result of a
//! first sync of the folder. Syncs that stopped before, and files that changed during one, make no difference.

use super::*;
use parking_lot::Mutex;
use poc_config::Config;
use poc_graph::error::Code;
use poc_graph::rng::SeededRng;
use poc_graph::{NodeId, State};
use std::collections::{BTreeMap, BTreeSet};

const FOLDERS: [&str; 5] = ["", "db/", "db/tree/", "people/", "log/"];
const WORDS: [&str; 32] = [
    "page",
    "split",
    "journal",
    "crash",
    "lentil",
    "soup",
    "bread",
    "garden",
    "broker",
    "certificate",
    "recovery",
    "checkpoint",
    "lemon",
    "mint",
    "tree",
    "key",
    "half",
    "write",
    "index",
    "vector",
    "monday",
    "meeting",
    "budget",
    "river",
    "bridge",
    "train",
    "ticket",
    "paper",
    "ink",
    "north",
    "harbour",
    "signal",
];

/// A folder with random files.
struct RandomVault {
    rng: SeededRng,
    folder: PathBuf,
    files: BTreeMap<String, String>,
    deleted: Vec<(String, String)>,
    /// Files whose notes must stay the same, with the note.
    tracked: BTreeMap<String, NodeId>,
    /// Files that were moved, and those that were edited, since the last sync.
    moved: BTreeSet<String>,
    edited: BTreeSet<String>,
    number: u64,
}

impl RandomVault {
    fn new(seed: u64, folder: &Path) -> RandomVault {
        RandomVault {
            rng: SeededRng::new(seed),
            folder: folder.to_owned(),
            files: BTreeMap::new(),
            deleted: Vec::new(),
            tracked: BTreeMap::new(),
            moved: BTreeSet::new(),
            edited: BTreeSet::new(),
            number: 0,
        }
    }

    fn word(&self) -> &'static str {
        WORDS[self.rng.below(0, WORDS.len())]
    }

    fn some(&self) -> Option<String> {
        let at = self.rng.below(0, self.files.len().max(1));
        self.files.keys().nth(at).cloned()
    }

    /// A path that no file has.
    fn path(&mut self) -> String {
        loop {
            self.number += 1;
            let folder = FOLDERS[self.rng.below(0, FOLDERS.len())];
            // There are only a few names, so that names recur and base names are ambiguous.
            let path = format!("{folder}{}-{}.md", self.word(), self.rng.below(0, 40));
            if !self.files.contains_key(&path) {
                return path;
            }
        }
    }

    fn link(&self) -> String {
        let target = match self.rng.below(0, 4) {
            0 => format!("{}-{}", self.word(), self.rng.below(0, 40)),
            _ => self.some().unwrap_or_default().trim_end_matches(".md").to_owned(),
        };
        let last = target.rsplit('/').next().unwrap().to_owned();
        match self.rng.below(0, 6) {
            0 => format!("[[{target}|label]]"),
            1 => format!("![[{last}#Heading]]"),
            2 => format!("[text](/{target}.md)"),
            3 => format!("[text]({last}.md)"),
            4 => format!("[[{}]]", last.to_uppercase()),
            _ => format!("[[{last}]]"),
        }
    }

    fn sentence(&self) -> String {
        let words: Vec<&str> = (0..self.rng.below(6, 14)).map(|_| self.word()).collect();
        let end = match self.rng.below(0, 5) {
            0 => format!(" {}", self.link()),
            1 => format!(" #{}", self.word()),
            _ => String::new(),
        };
        format!("{}{end}.", words.join(" "))
    }

    fn text(&mut self) -> String {
        self.number += 1;
        let mut front = String::new();
        if self.rng.below(0, 3) == 0 {
            front += &format!("tags: [{}, {}]\n", self.word(), self.word());
        }
        if self.rng.below(0, 4) == 0 {
            front += &format!("aliases: [\"{} {}\"]\n", self.word(), self.word());
        }
        if self.rng.below(0, 5) == 0 {
            front += &format!("author: {}\n", self.word());
        }
        if self.rng.below(0, 6) == 0 {
            front += &format!("up: \"{}\"\n", self.link().trim_start_matches('!'));
        }
        if self.rng.below(0, 8) == 0 {
            let day = self.rng.below(1, 28);
            front += &format!(
                "session: {}\ncreated: 2026-10-{day:02}T{:02}:00:00Z\n",
                self.word(),
                self.number % 24
            );
        }
        if self.rng.below(0, 30) == 0 {
            front += &format!("key: own/{}-{}\n", self.word(), self.rng.below(0, 20));
        }
        let front = if front.is_empty() { front } else { format!("---\n{front}---\n") };
        let body: Vec<String> = (0..self.rng.below(2, 7)).map(|_| self.sentence()).collect();
        format!("{front}# {} {} {}\n\n{}\n", self.word(), self.word(), self.number, body.join("\n"))
    }

    fn write(&mut self, path: &str, text: String) {
        put(&self.folder, path, &text);
        self.files.insert(path.to_owned(), text);
    }

    fn remove(&mut self, path: &str) -> String {
        fs::remove_file(self.folder.join(path)).unwrap();
        self.tracked.remove(path);
        self.files.remove(path).unwrap()
    }

    fn rename(&mut self, from: &str, to: &str) {
        let target = self.folder.join(to);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::rename(self.folder.join(from), target).unwrap();
        let text = self.files.remove(from).unwrap();
        self.files.insert(to.to_owned(), text);
        self.tracked.remove(to);
        if let Some(node) = self.tracked.remove(from) {
            self.tracked.insert(to.to_owned(), node);
        }
        let was_edited = self.edited.remove(from);
        if was_edited {
            self.tracked.remove(to);
        }
        self.moved.insert(to.to_owned());
    }

    /// Changes something.
    fn step(&mut self) {
        let Some(path) = self.some().filter(|_| self.files.len() > 4) else {
            let (path, text) = (self.path(), self.text());
            return self.write(&path, text);
        };
        match self.rng.below(0, 100) {
            0..18 => {
                let (path, text) = (self.path(), self.text());
                self.tracked.remove(&path);
                self.write(&path, text);
            }
            18..42 => {
                let text = format!("{}{}\n", self.files[&path], self.sentence());
                // For a file that was moved and edited, the text decides.
                if self.moved.contains(&path) {
                    self.tracked.remove(&path);
                }
                self.edited.insert(path.clone());
                self.write(&path, text);
            }
            42..50 => {
                let text = self.text();
                if self.moved.contains(&path) {
                    self.tracked.remove(&path);
                }
                self.edited.insert(path.clone());
                self.write(&path, text);
            }
            50..66 => {
                let to = self.path();
                self.rename(&path, &to);
            }
            66..80 => {
                let text = self.remove(&path);
                self.deleted.push((path, text));
            }
            80..84 => {
                // A copy.
                let (to, text) = (self.path(), self.files[&path].clone());
                self.tracked.remove(&path);
                self.write(&to, text);
            }
            84..88 => {
                // One file takes the place of another.
                let Some(other) = self.some().filter(|other| *other != path) else { return };
                self.tracked.remove(&other);
                self.tracked.remove(&path);
                self.files.remove(&other);
                self.rename(&path, &other);
            }
            88..92 => {
                let Some(other) = self.some().filter(|other| *other != path) else { return };
                let aside = self.path();
                self.rename(&path, &aside);
                self.rename(&other, &path);
                self.rename(&aside, &other);
            }
            92..95 => {
                if let Some((path, text)) =
                    self.deleted.pop().filter(|(path, _)| !self.files.contains_key(path))
                {
                    self.tracked.retain(|tracked, _| self.files.get(tracked) != Some(&text));
                    self.write(&path, text);
                }
            }
            95..97 => {
                // A folder is renamed, and renamed back by the next change of this kind.
                let (from, to) = if self.files.keys().any(|path| path.starts_with("people/")) {
                    ("people/", "persons/")
                } else {
                    ("persons/", "people/")
                };
                let inside: Vec<String> =
                    self.files.keys().filter(|path| path.starts_with(from)).cloned().collect();
                for path in inside {
                    let moved = path.replacen(from, to, 1);
                    self.rename(&path, &moved);
                }
            }
            97..99 => {
                // Half-written, and then whole.
                let text = self.files[&path].clone();
                fs::write(self.folder.join(&path), b"---\ntitle: [\n---\n\xff").unwrap();
                fs::write(self.folder.join(&path), &text).unwrap();
            }
            _ => {
                let (other, text) = (self.path(), self.text());
                fs::write(self.folder.join(format!("broken-{}.md", self.number)), b"\xff\xfe").unwrap();
                self.write(&other, text);
            }
        }
    }
}

/// A note without the fields that depend on its history.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct NoteContent {
    title: String,
    body: String,
    keywords: Vec<String>,
    rest: String,
}

/// The live notes with their names, and their links and places in sessions.
type VaultState = (BTreeMap<NoteContent, BTreeSet<String>>, BTreeSet<String>);

fn state(memory: &TestMemory) -> VaultState {
    let view = memory.store.view();
    let mut notes = BTreeMap::new();
    let mut by_id = BTreeMap::new();
    for ix in (0..view.slots()).filter(|&ix| view.is_live(ix)) {
        let node = memory.store.node(view.id(ix).unwrap()).unwrap().unwrap();
        assert_eq!(node.state, State::Active);
        let mut keywords = node.keywords.clone();
        keywords.sort();
        let created = node.source.is_some().then_some(node.created);
        let mut other_names = node.other_names.clone();
        other_names.sort();
        let rest = format!(
            "{} {:?} {:?} {:?} {:?} {} {created:?} {other_names:?}",
            node.node_type, node.category, node.author, node.source, node.expires, node.emotion
        );
        let contents = NoteContent { title: node.title.clone(), body: node.body.clone(), keywords, rest };
        by_id.insert(node.id, contents.clone());
        assert!(notes.insert(contents, node.names().map(str::to_owned).collect()).is_none());
    }
    let mut edges = BTreeSet::new();
    for (id, contents) in &by_id {
        for edge in memory
            .store
            .edges_from(*id, &[EdgeKind::Link, EdgeKind::Structural, EdgeKind::Supersedes])
            .unwrap()
        {
            if let Some(other) = by_id.get(&edge.dst) {
                let Edge { kind, strength, provenance, reason, .. } = edge;
                edges.insert(format!(
                    "{} → {} {kind} {strength} {provenance} {reason}",
                    contents.title, other.title
                ));
            }
        }
    }
    (notes, edges)
}

/// The result of a first sync of the folder that knows the former names.
fn fresh(world: &World, names: &BTreeMap<NoteContent, BTreeSet<String>>) -> VaultState {
    let memory = TestMemory::apart(8, world.memory.config.as_ref().clone());
    let vault = add(&memory, &world.folder, None, false).unwrap();
    let options = SyncOptions::default();
    sync(&memory, &vault, &options, &|_, _| {}).unwrap();
    let first = state(&memory).0;
    for (contents, own) in &first {
        let key = own.first().unwrap();
        let mut node = memory.find(key).unwrap();
        let known = names.get(contents).cloned().unwrap_or_default();
        assert!(known.is_superset(own), "`{key}` has the names {known:?} instead of {own:?}");
        node.aliases.extend(known.difference(own).cloned());
        memory.store.transact(memory.cause("manual", "rename"), |tx| tx.put_node(&node)).unwrap();
    }
    memory.clock.advance(Span::SECOND);
    sync(&memory, &vault, &options, &|_, _| {}).unwrap();
    state(&memory)
}

/// Lists what only one of two collections has.
fn difference<T: Ord + std::fmt::Debug>(what: &str, synced: &BTreeSet<T>, fresh: &BTreeSet<T>) -> String {
    let only = |a: &BTreeSet<T>, b: &BTreeSet<T>, name: &str| {
        a.difference(b).map(|item| format!("{what} only {name}: {item:?}\n")).collect::<String>()
    };
    only(synced, fresh, "after the changes") + &only(fresh, synced, "in the first sync")
}

fn check(world: &World, vault: &mut RandomVault, seed: u64, round: u64) {
    let synced = state(&world.memory);
    let fresh = fresh(world, &synced.0);
    let keys = |state: &VaultState| state.0.keys().cloned().collect::<BTreeSet<_>>();
    let mut differences =
        difference("note", &keys(&synced), &keys(&fresh)) + &difference("edge", &synced.1, &fresh.1);
    if !differences.is_empty() {
        let found = differences.clone();
        // The files and names that the difference is about.
        for (path, text) in &vault.files {
            let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
            if !title.is_empty() && found.contains(title) {
                differences += &format!("\n{path}\n{text}");
            }
        }
        for (contents, names) in synced.0.iter().filter(|(contents, _)| found.contains(&contents.title)) {
            differences += &format!("\n{} {names:?}", contents.title);
        }
    }
    assert_eq!(differences, "", "seed {seed}, round {round}");
    assert_eq!(synced.0, fresh.0, "seed {seed}, round {round}");
    let VaultStatus { behind, undone, without_note, edited, .. } = status(&world.memory).unwrap().remove(0);
    assert_eq!((behind, undone, without_note, edited), (0, 0, 0, 0), "seed {seed}, round {round}");
    for (path, node) in &vault.tracked {
        let found = world.memory.find(path.trim_end_matches(".md")).map(|note| note.id);
        assert_eq!(found.ok(), Some(*node), "seed {seed}, round {round}: `{path}` is another note");
    }
    vault.moved.clear();
    vault.edited.clear();
    vault.tracked.clear();
    for (path, text) in &vault.files {
        let is_unique = vault.files.values().filter(|other| *other == text).count() == 1;
        let id = world.memory.find(path.trim_end_matches(".md")).map(|note| note.id);
        if let Ok(id) = id.as_ref()
            && is_unique
            && !text.contains("\nkey: ")
        {
            vault.tracked.insert(path.clone(), *id);
        }
    }
}

/// A folder of `files` files with `edits` changes, synchronised after every few of them or after many.
fn run(seed: u64, files: usize, edits: usize, rounds: u64) {
    let world = World::new(&[]);
    let mut vault = RandomVault::new(seed, &world.folder);
    while vault.files.len() < files {
        let (path, text) = (vault.path(), vault.text());
        vault.write(&path, text);
    }
    world.sync();
    check(&world, &mut vault, seed, 0);
    let per_round = edits as u64 / rounds;
    for round in 1..=rounds {
        // Every other round simulates a stopped daemon: all changes are synchronised at once.
        let batch = if round % 2 == 0 { per_round } else { vault.rng.below(1, 6) };
        for step in 0..per_round {
            vault.step();
            if step % batch == batch - 1 {
                let report = world.sync();
                assert!(
                    report.refused.iter().all(|problem| problem.file.starts_with("broken-")),
                    "{report:#?}"
                );
                let is_taken = |problem: &FileError| problem.error.message.contains("of another note");
                assert!(
                    !report.warnings.iter().any(is_taken),
                    "seed {seed}, round {round}: {}",
                    problems(&report)
                );
                vault.moved.clear();
                vault.edited.clear();
            }
        }
        world.sync();
        let seq = world.memory.store.published_seq();
        world.sync();
        assert_eq!(
            world.memory.store.published_seq(),
            seq,
            "seed {seed}, round {round}: a second sync writes"
        );
        check(&world, &mut vault, seed, round);
    }
}

/// Synchronises a folder whose files change during the syncs, most of which stop at some transaction.
fn run_disturbed(seed: u64, files: usize, rounds: u64) {
    let mut config = Config::defaults().unwrap();
    // Several transactions for the texts of a sync.
    config.import.chunk = 4;
    let world = World::over(TestMemory::with(config), &[]);
    let mut vault = RandomVault::new(seed, &world.folder);
    while vault.files.len() < files {
        let (path, text) = (vault.path(), vault.text());
        vault.write(&path, text);
    }
    let vault = Arc::new(Mutex::new(vault));
    let mut stopped = 0;
    for round in 0..rounds {
        for _ in 0..3 {
            (0..8).for_each(|_| vault.lock().step());
            let change = vault.lock().rng.below(0, 30);
            let stop = vault.lock().rng.below(1, 40);
            let token = CancellationToken::new();
            let (theirs, stopper) = (vault.clone(), token.clone());
            let ran = world.sync_watched(&token, move |reading| {
                if reading == change {
                    (0..3).for_each(|_| theirs.lock().step());
                }
                if reading == stop {
                    stopper.cancel();
                }
            });
            if let Err(error) = ran {
                assert_eq!(error.code, Code::Unavailable, "seed {seed}, round {round}: {error}");
                stopped += 1;
            }
        }
        world.sync();
        let mut vault = vault.lock();
        // A file that is edited after an interrupted sync has moved it may become another note.
        vault.tracked.clear();
        check(&world, &mut vault, seed, round);
    }
    assert!(stopped > rounds / 2, "seed {seed}: only {stopped} syncs were stopped");
}

#[test]
fn the_memory_equals_the_result_of_a_first_sync() {
    run(5, 100, 400, 6);
    run(1, 60, 240, 8);
    for seed in 31..34 {
        run_disturbed(seed, 40, 6);
    }
}

#[test]
#[ignore = "takes minutes: 2,000 files and 10,000 changes"]
fn the_memory_of_a_large_vault_equals_the_result_of_a_first_sync() {
    run(11, 2000, 10_000, 10);
    for seed in 41..61 {
        run_disturbed(seed, 100, 20);
    }
}

/// Write-back never changes what people wrote, however files are edited in between.
#[test]
fn write_back_changes_nothing_that_a_person_wrote() {
    for seed in 21..24 {
        let world = World::new(&[]);
        let mut vault = RandomVault::new(seed, &world.folder);
        (0..30).for_each(|_| {
            let (path, text) = (vault.path(), vault.text());
            vault.write(&path, text);
        });
        world.sync();
        set_write_back(&world.memory, &named(&world.memory, "vault").unwrap(), true).unwrap();
        let mut written = 0;
        for round in 0..30 {
            let keys: Vec<String> =
                vault.files.keys().map(|path| path.trim_end_matches(".md").to_owned()).collect();
            let key = |vault: &RandomVault| keys[vault.rng.below(0, keys.len())].clone();
            for _ in 0..3 {
                let (from, to) = (key(&vault), key(&vault));
                let (from, to) = (world.memory.find(&from), world.memory.find(&to));
                if let (Ok(from), Ok(to)) = (from, to)
                    && from.id != to.id
                {
                    link_as(&world, "agent:linker", &from.key, &to.key);
                }
            }
            written += world.sync().written.len();
            for (path, text) in &vault.files {
                let found = fs::read_to_string(world.folder.join(path)).unwrap();
                assert_eq!(written_properties::remove(&found), *text, "seed {seed}, round {round}: {path}");
            }
            // The person continues with the files as they are now.
            for (path, text) in vault.files.iter_mut() {
                *text = fs::read_to_string(world.folder.join(path)).unwrap();
            }
            (0..5).for_each(|_| vault.step());
            world.sync();
            for text in vault.files.values_mut() {
                *text = written_properties::remove(text);
            }
            let seq = world.memory.store.published_seq();
            assert_eq!(world.sync().written, [] as [&str; 0], "seed {seed}, round {round}");
            assert_eq!(world.memory.store.published_seq(), seq, "seed {seed}, round {round}");
        }
        assert!(written > 20, "seed {seed}: {written}");
    }
}
