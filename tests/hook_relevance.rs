//! A hundred made-up sessions of Claude Code, generated from a seed. Some are imported, and the daemon follows the
//! others. Statements from a session are added to later prompts that need them, and nothing is added to other prompts.

use crate::support::{WAIT_LIMIT, World};
use poc_graph::rng::{Rng as _, SeededRng};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const SEED: u64 = 2;
const SESSIONS: usize = 100;
/// Sessions that are written while the daemon follows the folder; the others are imported.
const FOLLOWED: usize = 10;
/// Questions in each of the two wordings.
const QUESTIONS: usize = 60;

/// The minimum percentage of questions that are answered: those in the words of the session, and those in other words.
/// For other words, the gate of `query` is often not sure enough.
const ANSWERED: [usize; 2] = [90, 45];

const PROJECTS: [&str; 5] = ["journal", "shop", "gateway", "atlas", "ledger"];
const NOUNS: &str = "billing search upload invoice image report login export webhook archive metrics mailer payment catalogue \
                     indexer scheduler notifier renderer importer quota audit backup thumbnail geocoder consent pricing shipping";
const KINDS: &str = "worker service proxy cache queue";
const TOOLS: &str =
    "sqlite redis nats postgres rabbitmq zstd protobuf minio traefik caddy vector loki terraform nix bazel";
const OWNERS: &str = "Ann Bob Carla Dmitri Elif Farid Greta Hiro Ines Jonas";
const CAUSES: [&str; 5] = [
    "the clock of the host was an hour off",
    "two workers shared one lock file",
    "the certificate had expired",
    "the retry sent the request twice",
    "an index was missing after the migration",
];

/// Turns that are said again and again, and from which nothing can be learned.
const SMALL_TALK: [(&str, &str); 10] = [
    ("run the tests", "All tests pass."),
    ("fix the formatting", "Done, only whitespace changed."),
    ("commit this", "Committed."),
    ("looks good, thanks", "You are welcome."),
    ("rename the variable to something clearer", "Renamed it in three places."),
    ("add a test for the empty case", "Added; it fails before the change and passes after it."),
    ("split this function", "It is two functions now."),
    ("go on", "The next part is done."),
    ("update the documentation", "The guide describes the new flag."),
    ("remove the dead code", "Removed 40 lines."),
];

/// Instructions that need nothing from the memory.
const NEEDS_NOTHING: [&str; 30] = [
    "run the tests",
    "fix the formatting",
    "commit this",
    "thanks",
    "go on",
    "yes",
    "write a unit test for the parser",
    "explain what a mutex is",
    "what is the capital of Peru?",
    "refactor this function into smaller ones",
    "add a docstring to this class",
    "make the button blue",
    "convert this loop into an iterator",
    "how do I reverse a string in Python?",
    "please push the branch",
    "open a pull request",
    "what does this regular expression do?",
    "bump the version",
    "sort the imports",
    "translate this comment to English",
    "the build is red, look at the log and fix it",
    "write a README for this folder",
    "why is the sky blue?",
    "delete the temporary files",
    "show me the diff",
    "use tabs instead of spaces here",
    "add error handling to this call",
    "is this code thread safe?",
    "write a bash script that counts lines",
    "squash the last two commits",
];

/// Makes random choices.
struct Chooser(SeededRng);

impl Chooser {
    fn below(&self, end: usize) -> usize {
        self.0.below(0, end)
    }

    fn word<'a>(&self, words: &'a str) -> &'a str {
        let words: Vec<&str> = words.split_whitespace().collect();
        words[self.below(words.len())]
    }
}

/// Something that is said once in a session, and the ways to ask for it later.
struct Fact {
    project: &'static str,
    text: String,
    questions: [String; 2],
}

/// A fact that no other fact contradicts: its kind and its subject occur once.
fn fact(chooser: &Chooser, known: &mut BTreeSet<(String, usize)>, project: &'static str) -> Fact {
    let (subject, kind) = loop {
        let subject = format!("{} {}", chooser.word(NOUNS), chooser.word(KINDS));
        let kind = chooser.below(7);
        if known.insert((subject.clone(), kind)) {
            break (subject, kind);
        }
    };
    let number = 2000 + chooser.below(7000);
    let (text, first, second) = match kind {
        0 => (
            format!("The {subject} listens on port {number}."),
            format!("which port does the {subject} listen on?"),
            format!("what port is the {subject} on?"),
        ),
        1 => (
            format!(
                "We decided to use {} for the {subject}, because it needs no server.",
                chooser.word(TOOLS)
            ),
            format!("what did we decide to use for the {subject}?"),
            format!("remind me what we chose for the {subject}"),
        ),
        2 => (
            format!("EQX-{number} in the {subject} came from this: {}.", CAUSES[chooser.below(CAUSES.len())]),
            format!("what did EQX-{number} come from?"),
            format!("EQX-{number} is back, what was it last time?"),
        ),
        3 => (
            format!("The retry logic of the {subject} is in src/{}_{number}.rs.", chooser.word(KINDS)),
            format!("where is the retry logic of the {subject}?"),
            format!("in which file do I find the retry logic of the {subject}?"),
        ),
        4 => (
            format!("{} owns the {subject} and reviews changes to it.", chooser.word(OWNERS)),
            format!("who owns the {subject}?"),
            format!("who should review a change to the {subject}?"),
        ),
        5 => (
            format!("The release of the {subject} is planned for day {number}."),
            format!("when is the release of the {subject} planned?"),
            format!("when do we release the {subject}?"),
        ),
        _ => (
            format!("Requests to the {subject} time out after {number} seconds; more would block the queue."),
            format!("after how many seconds do requests to the {subject} time out?"),
            format!("what is the timeout of the {subject}?"),
        ),
    };
    Fact { project, text, questions: [first, second] }
}

/// The transcript of a session, as Claude Code writes it.
fn transcript(world: &World, id: &str, number: usize, project: &str, turns: &[(String, String)]) -> String {
    let folder = world.home().join("work").join(project);
    let mut text = String::new();
    let mut parent = Value::Null;
    for (at, (prompt, reply)) in turns.iter().enumerate() {
        for (kind, content) in
            [("user", json!(prompt)), ("assistant", json!([{"type": "text", "text": reply}]))]
        {
            let uuid = format!("{kind}{at}");
            let line = json!({
                "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": id, "cwd": folder, "version": "2.1.0",
                "timestamp": format!("2026-11-{:02}T{:02}:{at:02}:00.000Z", 1 + number / 5, 8 + number % 5),
                "gitBranch": "main", "isSidechain": false, "userType": "external",
                "message": {"id": uuid, "role": kind, "content": content},
            });
            writeln!(text, "{line}").unwrap();
            parent = json!(uuid);
        }
    }
    text
}

/// What is added to a prompt of a new session in a project.
fn added(world: &World, number: usize, project: &str, prompt: &str) -> Option<String> {
    let message = json!({
        "session_id": format!("asking-{number}"), "transcript_path": world.home().join("none.jsonl"),
        "cwd": world.home().join("work").join(project), "hook_event_name": "UserPromptSubmit", "prompt": prompt,
    });
    let ran = world.run_with_input(&["hook", "prompt"], &message.to_string());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let answer: Option<Value> = (!ran.stdout.is_empty()).then(|| serde_json::from_str(&ran.stdout).unwrap());
    answer.map(|answer| answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
}

#[test]
fn earlier_statements_are_added_where_they_are_needed_and_nowhere_else() {
    let mut world = World::new();
    let chooser = Chooser(SeededRng::new(SEED));
    let (mut facts, mut known) = (Vec::new(), BTreeSet::new());
    let folder = world.home().join("claude/projects");
    world.write(
        "config.toml",
        &format!("[transcripts]\nfollow = true\nfolders = [\"{}\"]\nmax-age = \"3650d\"\n", folder.display()),
    );
    let mut late = Vec::new();
    for number in 0..SESSIONS {
        let project = PROJECTS[number % PROJECTS.len()];
        world.write(
            &format!("work/{project}/.git/config"),
            &format!("[remote \"origin\"]\n\turl = git@github.com:ann/{project}.git\n"),
        );
        let mut turns = Vec::new();
        for at in 0..5 + chooser.below(6) {
            let (prompt, reply) = SMALL_TALK[chooser.below(SMALL_TALK.len())];
            turns.push((prompt.to_owned(), reply.to_owned()));
            if at == 1 || at == 3 {
                let fact = fact(&chooser, &mut known, project);
                turns.push(match chooser.below(2) {
                    0 => (format!("please note: {}", fact.text), "Noted.".to_owned()),
                    _ => ("look into that and tell me".to_owned(), format!("{} Shall I go on?", fact.text)),
                });
                facts.push(fact);
            }
        }
        let id = format!(
            "{:08x}-{:04x}-4000-8000-{number:012}",
            chooser.0.next_u64() >> 32,
            chooser.0.next_u64() >> 48
        );
        let text = transcript(&world, &id, number, project, &turns);
        let path = format!("claude/projects/{project}/{id}.jsonl");
        if number < SESSIONS - FOLLOWED {
            world.write(&path, &text);
        } else {
            late.push((path, text));
        }
    }
    let imported = world.run(&["import", &folder.display().to_string()]);
    assert_eq!(imported.status, 0, "{imported:?}");
    world.start_daemon();
    for (path, text) in &late {
        world.write(path, text);
    }
    let last = facts.last().unwrap();
    world.until(
        WAIT_LIMIT,
        &["search", "-p", &format!("match:\"{}\"", last.text.trim_end_matches('.'))],
        |found| found.to_string().contains(&last.text),
    );
    for (wording, min) in ANSWERED.into_iter().enumerate() {
        let (mut answered, mut missed) = (0, Vec::new());
        for number in 0..QUESTIONS {
            let fact = &facts[chooser.below(facts.len())];
            let question = &fact.questions[wording];
            match added(&world, wording * QUESTIONS + number, fact.project, question) {
                Some(text) if text.contains(&fact.text) => answered += 1,
                other => missed.push((question, other.is_some())),
            }
        }
        println!("wording {wording}: {answered} of {QUESTIONS} answered");
        assert!(answered * 100 >= min * QUESTIONS, "{answered} of {QUESTIONS}, missed: {missed:#?}");
    }
    let needless: Vec<&str> = NEEDS_NOTHING
        .into_iter()
        .enumerate()
        .filter(|(number, prompt)| {
            added(&world, 1000 + number, PROJECTS[number % PROJECTS.len()], prompt).is_some()
        })
        .map(|(_, prompt)| prompt)
        .collect();
    println!("added where nothing is needed: {} of {}", needless.len(), NEEDS_NOTHING.len());
    assert!(needless.len() * 100 <= 5 * NEEDS_NOTHING.len(), "{needless:?}");
    world.stop_daemon();
}
