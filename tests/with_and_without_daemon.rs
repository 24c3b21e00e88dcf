//! Each op gives the same answer in process and through the daemon.

use crate::support::World;
use serde_json::Value;
use std::collections::BTreeMap;

/// An agent that runs only when it is asked to, as a file.
const OWN_AGENT: &str = "[query]\npipeline = \"all | limit:3\"\n[prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
    [execution]\nmodel = \"default\"\nactions = [\"weight\"]\n";

/// A session that calls each op. `{run}` is the last run that applied something, `{message}` the last message.
const SESSION: &[&[&str]] = &[
    &[
        "insert",
        "--title",
        "B-tree splits",
        "--body",
        "A split writes two pages.",
        "--key",
        "btree",
        "-k",
        "storage",
    ],
    &["insert", "--title", "B-tree splits", "--body", "A split writes two pages.", "-k", "storage"],
    &[
        "insert",
        "--title",
        "Journal",
        "--body",
        "The journal records page splits.",
        "--key",
        "journal",
        "-k",
        "storage",
    ],
    &[
        "insert",
        "--title",
        "Old journal",
        "--body",
        "The journal is slow.",
        "--key",
        "old",
        "--type",
        "episodic",
    ],
    &["insert", "--title", "", "--body", ""],
    &["insert", "--title", "x", "--key", "btree"],
    &["insert", "--notes", "many.jsonl"],
    &["insert", "--notes", "many.jsonl", "--title", "x"],
    &["get", "btree"],
    &["get", "nothing-like-it"],
    &["link", "btree", "journal", "--strength", "0.8", "--reason", "splits are journalled"],
    &["link", "btree", "journal", "--strength", "0.8"],
    &["link", "btree", "btree"],
    &["weight", "btree", "2.5"],
    &["weight", "nothing-like-it", "2.5"],
    &["rename", "btree", "b-tree"],
    &["rename", "btree", "journal"],
    &["rename", "b-tree", "btree", "--forget", "b-tree"],
    &["supersede", "old", "journal"],
    &["visit", "linker", "btree"],
    &["search", "btree"],
    &["search", "journal", "-p", "spread", "--explain"],
    &["search", "-p", "all | type:semantic | not-visited:linker,7d | sort:priority | limit:20"],
    &["search", "-p", "all | tpye:semantic"],
    &["search", "-p", "state:superseded"],
    &["search", "-p", "interference-pairs,min_sim=0.1"],
    &["search", "-p", "@kept | limit:5", "--explain"],
    &["search", "journal", "-p", "@broken"],
    &["search", "-p", "@kpt"],
    &["search", "journal", "--at", "0s"],
    &["get", "btree", "--at", "0s"],
    &["get", "btree", "--all-edges"],
    &["get", "jurnal", "--at", "0s"],
    &["query", "b-tree splits"],
    &["query", "quantum chromodynamics"],
    &["query", ""],
    &["retrieve", "page splits", "--top-k", "2"],
    &["retrieve", "page splits", "--top-k", "257"],
    &["explore", "journal", "--keyword", "storage"],
    &["classify", "page splits"],
    &["view"],
    &["view", "--plane"],
    &["view", "-p", "match:journal", "--limit", "2", "--max-edges", "1", "--at", "0s"],
    &["view", "--limit", "0"],
    &["pipeline", "list"],
    &["pipeline", "check"],
    &["pipeline", "check", "@kept", "all | tpye:semantic"],
    &["pipeline", "complete", "all | ty"],
    &["pipeline", "complete", "not-visited:", "--at", "12"],
    &["pipeline", "explain", "@kept | spread"],
    &["pipeline", "explain", "@kept", "match:journal", "--run"],
    &["pipeline", "explain", "@broken"],
    &["stats"],
    &["history", "btree"],
    &["history", "old"],
    &["list"],
    &["list", "--type", "episodic", "-n", "1"],
    &["list", "-n", "0"],
    &["tags"],
    &["backlinks", "Journal"],
    &["backlinks", "Journal", "-n", "1"],
    &["backlinks", "nothing-like-it"],
    &["duplicates", "--min-words", "0.1"],
    &["duplicates", "--min-words", "2"],
    &["import", "notes"],
    &["import", "notes"],
    &["import", "broken.jsonl"],
    &["import", "nothing-here"],
    &["export"],
    &["agent", "list"],
    &["agent", "show", "linker"],
    &["agent", "show", "nobody"],
    &["agent", "explain", "linker"],
    &["agent", "explain", "nobody"],
    &["agent", "show", "linker", "--files"],
    &["agent", "check"],
    &["agent", "check", "linker", "--text", "[query]\npipelin = \"all\"\n"],
    &["agent", "check", "linker", "--prompt", "{{ NOTHING }}"],
    &["agent", "new", "gardener"],
    &["agent", "new", "gardener"],
    &["agent", "save", "mine", "--text", OWN_AGENT],
    &["agent", "save", "mine", "--text", OWN_AGENT],
    &["agent", "save", "mine", "--text", "[query]\n"],
    &["agent", "save", "mine"],
    &["agent", "test"],
    &["agent", "test", "linker"],
    // Notes that share an identifier and have no edge, so the linker has work.
    &[
        "insert",
        "--type=episodic",
        "--title",
        "Insurance",
        "--body",
        "After INC-412 the insurer asks who saw the container fall from the harbour crane.",
    ],
    &[
        "insert",
        "--type=episodic",
        "--title",
        "Quay closed",
        "--body",
        "INC-412: the quay stays closed until Friday, because divers look for the container.",
    ],
    &["agent", "run", "linker", "--dry-run", "--record"],
    &["agent", "reload"],
    &["agent", "schema"],
    &["agent", "run", "linker", "--dry-run"],
    &["agent", "run", "linker"],
    &["agent", "run", "linker"],
    &["agent", "run", "separator"],
    &["agent", "history", "linker"],
    &["night"],
    &["night", "--since", "2999-01-01"],
    &["agent", "inspect", "{run}"],
    &["agent", "diff", "{run}", "{run}"],
    &["agent", "diff", "{run}", "nothing"],
    &["agent", "undo", "{run}", "--only", "99"],
    &["agent", "review"],
    &["agent", "apply", "{run}"],
    &["agent", "reject", "{run}", "--only", "1,2"],
    &["agent", "review", "--rejected"],
    &["agent", "reopen", "{run}"],
    &["undo", "{run}"],
    &["undo", "--since", "1h", "--agent", "linker"],
    &["undo", "--since", "1h"],
    &["undo", "--since", "1h", "--agent", "nobody"],
    &["undo", "--since", "1h", "1"],
    &["embed", "migrate"],
    &["changes", "--limit", "3"],
    &["undo", "999999"],
    &["agent", "undo", "{run}"],
    &["agent", "undo", "{run}"],
    &["agent", "pause", "linker", "--note", "too eager"],
    &["agent", "pause", "linker", "--until", "2001-01-01"],
    &["agent", "list"],
    &["agent", "resume", "linker"],
    &["agent", "resume", "linker"],
    &["agent", "pause", "nobody"],
    &[
        "write",
        "Dr. Smith split a page. It was in the journal. It was late. He slept.",
        "--metadata",
        "{\"session\": \"42\"}",
    ],
    &["write", " "],
    &["write", "x", "--metadata", "[1]"],
    &["get", "dr-smith-split-a-page-it-was"],
    &["recall", "who split a page?", "-k", "3"],
    &["recall", "who split a page?", "--no-learn", "--hops", "1", "--oversample", "5"],
    &["recall", "who split a page?", "--hops", "9"],
    &["recall", ""],
    &["reinforce", "btree"],
    &["reinforce", "btree", "--for", "what does a page split need?"],
    &["reinforce", "btree", "--for", " "],
    &["retrieve", "what does a split of a page need?"],
    &["demote", "btree"],
    &["demote", "nothing-like-it"],
    &["mark", "--since", "1h", "--strength", "2"],
    &["mark", "--since", "1h", "--strength", "0"],
    &["export"],
    &["backup", "backups"],
    &["backup", "backups", "--keep", "1"],
    &["backup", "backups", "--keep", "0"],
    &["backup", "store"],
    &["compact"],
    &["compact", "--dry-run"],
    &["compact", "--keep", "soon"],
    &["forget", "--message-id", "{message}"],
    &["forget", "--message-id", "{message}"],
    &["forget", "--before", "2020-01-01"],
    &["forget"],
    &["delete", "old"],
    &["delete", "old"],
    &["profile", "create", "shared"],
    &["profile", "remote", "sync"],
    &["profile", "remote", "detach"],
    &["profile", "remote", "bind", "shraed"],
    &["profile", "remote", "bind", "default"],
    &["profile", "remote", "bind", "./shared"],
    &["profile", "remote", "bind", "shared"],
    &["profile", "remote", "sync", "--dry-run"],
    &["profile", "remote", "sync"],
    &["profile", "remote", "sync"],
    &["profile", "remote", "status"],
    &["profile", "remote", "detach"],
    &["profile", "remote", "status"],
    &["vault", "list"],
    &["vault", "add", "vault"],
    &["vault", "add", "vault"],
    &["vault", "add", "nothing-here"],
    &["vault", "list"],
    &["vault", "status", "vault"],
    &["vault", "sync"],
    &["vault", "sync", "another"],
    &["vault", "write-back", "vault"],
    &["import", "vault"],
    &["vault", "remove", "vault"],
    &["vault", "remove", "vault"],
    &["calibrate"],
    &["query", "--calibrate", "--from", "/nowhere"],
    &["eval-live", "/nowhere"],
    &["eval", "--live", "/nowhere"],
    &["consolidate", "--dry-run"],
    &["consolidate"],
    &["consolidate"],
    &["doctor", "quarantine", "restore", "nothing"],
    &["verify"],
    &["stats"],
];

#[test]
fn every_op_gives_the_same_answer_with_and_without_a_daemon() {
    let (alone, mut served) = (World::new(), World::new());
    for world in [&alone, &served] {
        world.write("notes/one.md", "---\ntype: episodic\nkeywords: [storage]\n---\n# One\n\nSee [[two]].\n");
        world.write("notes/two.md", "# Two\n\nA note about page splits in a B-tree.\n");
        world.write("config.toml", "[pipelines]\nkept = \"type:semantic\"\nbroken = \"tpye:x\"\n");
        world.write(
            "many.jsonl",
            "{\"title\":\"Lentil soup\"}\n{\"title\":\"x\",\"key\":\"btree\"}\n{\"title\":\"Lentil soup\"}\n",
        );
        world.write("vault/harbour.md", "# Harbour\n\nThe crane stands on the [[quay]], see [[nowhere]].\n");
        world.write("vault/town/quay.md", "---\ntitle: [\n---\nBroken\n");
        world.write("vault/quay.md", "# Quay\n\nClosed until Friday. #closed\n");
        world.write("broken.jsonl", "{\"title\":\"good\",\"body\":\"good line\"}\n{\"title\":\n");
    }
    served.start_daemon();
    let (mut mine, mut theirs) = (Last::default(), Last::default());
    for arguments in SESSION {
        let [left, right] = [(&alone, &mut mine), (&served, &mut theirs)].map(|(world, last)| {
            let arguments: Vec<&str> = arguments.iter().map(|word| last.named(word)).collect();
            let ran = world.run(&[&["--json"], arguments.as_slice()].concat());
            let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
            last.see(&answer);
            ran
        });
        assert_eq!(left.status, right.status, "{arguments:?}\n{left:#?}\n{right:#?}");
        let answers = [(&left, &alone), (&right, &served)].map(|(ran, world)| {
            Names::default().plain(&ran.stdout.replace(world.home().to_str().unwrap(), "HOME"))
                + &Names::default().plain(&ran.stderr.replace(world.home().to_str().unwrap(), "HOME"))
        });
        assert_eq!(answers[0], answers[1], "{arguments:?}");
        // The text for people is derived from the same answer.
        if arguments.first() == Some(&"get") || arguments.first() == Some(&"search") {
            assert_eq!(alone.run(arguments).status, served.run(arguments).status, "{arguments:?}");
        }
    }
    assert!(!mine.run.is_empty(), "no run applied anything");
    assert!(!mine.message.is_empty(), "no message was written");
    served.stop_daemon();
}

#[test]
fn the_session_calls_every_op() {
    for op in poc_memory::ops::OPS.iter().filter(|op| !op.needs_daemon) {
        let words: Vec<&str> = op.command.split(' ').collect();
        assert!(SESSION.iter().any(|line| line.starts_with(&words)), "`{}` is not called", op.name);
    }
}

/// What later lines of a session refer to.
#[derive(Default)]
pub(crate) struct Last {
    /// The last run that applied something.
    pub(crate) run: String,
    /// The last written message.
    pub(crate) message: String,
}

impl Last {
    /// A word of a line, with placeholders replaced.
    pub(crate) fn named<'a>(&'a self, word: &'a str) -> &'a str {
        match word {
            "{run}" => &self.run,
            "{message}" => &self.message,
            word => word,
        }
    }

    /// Remembers the run or message of an answer.
    pub(crate) fn see(&mut self, answer: &Value) {
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        if answer["applied"].as_array().is_some_and(|applied| !applied.is_empty()) {
            self.run = text("run");
        }
        if answer["message_id"].is_string() {
            self.message = text("message_id");
        }
    }
}

/// Replaces ids, times and measurements with names that do not depend on the run.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<String, String>);

/// The text with each time replaced by `TIME`.
fn without_times(text: &str) -> String {
    const INSTANT: &str = "0000-00-00T00:00:00.000Z";
    let is_instant = |text: &str| {
        text.bytes()
            .zip(INSTANT.bytes())
            .all(|(byte, form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form })
    };
    let mut plain = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        match rest.get(..INSTANT.len()) {
            Some(instant) if is_instant(instant) => {
                plain.push_str("TIME");
                rest = &rest[INSTANT.len()..];
            }
            _ => {
                plain.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    plain
}

impl Names {
    pub(crate) fn plain(&mut self, text: &str) -> String {
        let Ok(mut value) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
        self.rename("", &mut value);
        serde_json::to_string_pretty(&value).unwrap()
    }

    fn rename(&mut self, key: &str, value: &mut Value) {
        match value {
            // The daemon computes in the background what a command computes on demand.
            Value::Object(ages) if key == "ages" => ages.clear(),
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| self.rename(key, value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename(key, item)),
            // An export inside an answer: one object per line.
            Value::String(lines) if key == "lines" => {
                *lines = lines.lines().map(|line| self.plain(line)).collect();
            }
            // Its name has the time and the number of the last transaction.
            Value::String(name) if key == "generation" => *name = "GENERATION".into(),
            Value::String(text)
                if key == "source" && (text == "fresh" || text.starts_with("computed now")) =>
            {
                *text = "SOURCE".into();
            }
            Value::String(text) => {
                let mut is_fraction = false;
                *text = without_times(text)
                    .split_inclusive(|c: char| !c.is_alphanumeric())
                    .map(|word| self.word(word, std::mem::replace(&mut is_fraction, word.ends_with('.'))))
                    .collect();
            }
            Value::Number(_)
                if [
                    "seq",
                    // Their numbers are those of transactions.
                    "changes",
                    "graph_version",
                    // The layout depends on ids.
                    "position",
                    "position_3d",
                    "micros",
                    "total_micros",
                    "weight",
                    "before",
                    "average_weight",
                    "strength",
                    "score",
                ]
                .contains(&key)
                    || key.ends_with("_bytes") =>
            {
                *value = Value::from(0);
            }
            _ => {}
        }
    }

    /// Replaces ids and the words of the fences around notes. `is_fraction` says whether a point precedes the word.
    fn word(&mut self, word: &str, is_fraction: bool) -> String {
        let id = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        // The fraction of a weight, which decays between the two answers. It may have as many digits as an id.
        if is_fraction && (7..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) {
            return id[..6].to_owned() + &word[id.len()..];
        }
        if [16, 32, 64].contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let number = self.0.len();
            return self.0.entry(id.to_owned()).or_insert_with(|| format!("ID{number}")).clone()
                + &word[id.len()..];
        }
        word.to_owned()
    }
}
