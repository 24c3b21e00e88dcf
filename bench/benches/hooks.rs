//! The hooks of an assistant, as it calls them: the real `poc-memory hook prompt` and `hook session-start`, with a
//! message of Claude Code on standard input and the real daemon. The times are those of whole processes, compared with
//! the bare start of the same program (`poc-memory --version`) in the same run.
//!
//! The memory has about three thousand turns of sessions of the assistant's project; all other notes belong to other
//! projects. Half of the prompts ask about a turn, and half about nothing that the memory knows.
//!
//! `cargo build --release && cargo bench -p poc-bench --bench hooks [-- NOTES …]`

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench"
)]

use poc_bench::graph::NOW;
use poc_bench::measure::{Measurement, Report, folder, percentile, sizes, timed};
use poc_bench::memory;
use poc_bench::notes::{self, NoteText, Writer};
use poc_bench::processes::{DaemonProcess, command};
use poc_config::paths::Paths;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Edge, EdgeKind, Node, NodeId, NodeType};
use poc_notes::Memory;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const SEED: u64 = 7;

/// Notes that are embedded and stored at once.
const CHUNK: usize = 1000;

/// The number of turns of the project, about, and how many make a session.
const TURNS: usize = 3000;
const TURNS_PER_SESSION: usize = 20;
/// The number of the other projects.
const OTHER_PROJECTS: usize = 20;

/// The number of prompts that are measured, how many are typed in a session, and how many come before them and are not
/// measured.
const PROMPTS: usize = 300;
const PROMPTS_PER_SESSION: usize = 5;
const WARM_UP: usize = 20;

/// The requirements for up to 100,000 notes, in seconds.
const MAX_P50: f64 = 0.030;
const MAX_P99: f64 = 0.100;

fn main() {
    let mut report = Report::new("hooks");
    for count in sizes(&[13_000]) {
        assert!(
            count >= 2 * PROMPTS * PROMPTS_PER_SESSION,
            "too few notes for the turns that the prompts are about"
        );
        let home = tempfile::tempdir_in(folder()).unwrap();
        measure(home.path(), count, &mut report);
    }
    report.save();
}

fn measure(home: &Path, count: usize, report: &mut Report) {
    // Runs of agents would change the notes while they are asked for.
    std::fs::write(home.join("config.toml"), "[daemon]\nruns-agents = false\n").unwrap();
    let (seconds, subjects) = timed(|| fill(home, count));
    report.add(Measurement::time("filling it", count, seconds).note(format!("{} turns", subjects.len())));
    let _daemon = DaemonProcess::start(home);
    let assistant = Assistant::new(home);
    let prompts = Prompts { subjects: &subjects, unknown: unknown_prompts() };
    for number in 0..WARM_UP {
        assistant.start(&format!("warm-up-{number}"));
        assistant.prompt(&format!("warm-up-{number}"), &prompts.at(number * PROMPTS / WARM_UP));
    }
    std::fs::remove_file(Paths::in_folder(home).hook_log()).unwrap();
    let (mut with_notes, mut without_notes) = (Vec::new(), Vec::new());
    let (mut starts, mut versions) = (Vec::new(), Vec::new());
    let (mut missed, mut noise) = (0u32, 0u32);
    for number in 0..PROMPTS {
        let session = format!("asking-{}", number / PROMPTS_PER_SESSION);
        if number.is_multiple_of(PROMPTS_PER_SESSION) {
            let (seconds, added) = assistant.start(&session);
            assert!(!added.is_empty(), "a session of the project starts with notes");
            starts.push(seconds);
        }
        let (seconds, added) = assistant.prompt(&session, &prompts.at(number));
        match prompts.subject(number) {
            Some(subject) if !added.contains(subject) => missed += 1,
            None if !added.is_empty() => noise += 1,
            _ => {}
        }
        if added.is_empty() {
            without_notes.push(seconds)
        } else {
            with_notes.push(seconds)
        }
        let (seconds, version) = run(home, &["--version"], "");
        assert!(version.starts_with("poc-memory "), "{version}");
        versions.push(seconds);
    }
    assistant.check_log();
    for (name, prompts) in
        [("known prompts without their note", missed), ("unknown prompts with notes", noise)]
    {
        let line = Measurement::amount(name, count, f64::from(prompts), "");
        report.add(line.note(format!("of {}", PROMPTS / 2)));
    }
    // Otherwise the times would be those of other answers than the names of the rows say.
    assert!(missed as usize <= PROMPTS / 20, "{missed} known prompts got no note about their subject");
    assert!(noise as usize <= PROMPTS / 20, "{noise} prompts about nothing got notes");
    let all: Vec<f64> = with_notes.iter().chain(&without_notes).copied().collect();
    let mut add = |name: &str, times: &[f64], is_required: bool| {
        for (label, share, max) in [("p50", 0.5, MAX_P50), ("p99", 0.99, MAX_P99)] {
            let line =
                Measurement::time(format!("{name}, {label}"), count, percentile(times.to_vec(), share))
                    .with_peer("--version", Some(percentile(versions.clone(), share)))
                    .note(format!("{} calls", times.len()));
            report.add(if is_required && count <= 100_000 { line.within(max) } else { line });
        }
    };
    add("prompt", &all, true);
    add("prompt, notes added", &with_notes, false);
    add("prompt, nothing added", &without_notes, false);
    add("session-start", &starts, false);
}

/// The prompts: alternately about a turn and about nothing.
struct Prompts<'a> {
    subjects: &'a [String],
    unknown: Vec<String>,
}

impl Prompts<'_> {
    /// The subject of the turn that a prompt is about; `None` for a prompt about nothing.
    fn subject(&self, number: usize) -> Option<&str> {
        let is_known = number.is_multiple_of(2);
        is_known.then(|| self.subjects[number * (self.subjects.len() - TURNS_PER_SESSION) / PROMPTS].as_str())
    }

    fn at(&self, number: usize) -> String {
        match self.subject(number) {
            Some(subject) => format!("which port does the {subject} listen on?"),
            None => self.unknown[number / 2].clone(),
        }
    }
}

/// Prompts of words that no note contains.
fn unknown_prompts() -> Vec<String> {
    let writer = Writer::new(SEED + 1);
    let word = || format!("{}xq", writer.note().title.split(' ').nth(1).unwrap());
    let prompt = |_| format!("how do the {}, the {} and the {} fit together?", word(), word(), word());
    (0..PROMPTS.div_ceil(2)).map(prompt).collect()
}

/// An assistant that works in the folder of a project.
struct Assistant<'a> {
    home: &'a Path,
    folder: PathBuf,
}

impl<'a> Assistant<'a> {
    /// Creates the folder, which is a repository with a remote.
    fn new(home: &'a Path) -> Assistant<'a> {
        let folder = home.join("work/journal");
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        let config = "[remote \"origin\"]\n\turl = git@github.com:ann/journal.git\n";
        std::fs::write(folder.join(".git/config"), config).unwrap();
        std::fs::create_dir_all(home.join("transcripts")).unwrap();
        Assistant { home, folder }
    }

    /// Calls `hook session-start` as Claude Code does. Returns the seconds and the added text, which may be empty.
    fn start(&self, session: &str) -> (f64, String) {
        std::fs::write(self.transcript(session), "").unwrap();
        let fields = json!({"hook_event_name": "SessionStart", "source": "startup"});
        self.hook("session-start", session, fields)
    }

    /// The same for `hook prompt`.
    fn prompt(&self, session: &str, prompt: &str) -> (f64, String) {
        self.hook("prompt", session, json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}))
    }

    fn hook(&self, hook: &str, session: &str, fields: Value) -> (f64, String) {
        let mut message = json!({
            "session_id": session,
            "transcript_path": self.transcript(session),
            "cwd": self.folder,
            "permission_mode": "default",
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let (seconds, answer) = run(self.home, &["hook", hook], &message.to_string());
        if answer.is_empty() {
            return (seconds, answer);
        }
        let answer: Value = serde_json::from_str(&answer).unwrap();
        (seconds, answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    fn transcript(&self, session: &str) -> PathBuf {
        self.home.join("transcripts").join(format!("{session}.jsonl"))
    }

    /// Stops the bench if a call was not answered, because such a call prints nothing, too.
    fn check_log(&self) {
        let log = std::fs::read_to_string(Paths::in_folder(self.home).hook_log()).unwrap();
        for line in log.lines() {
            let answers = ["added ", "nothing: the gate says ", "nothing: nothing new "];
            let is_answered = answers.iter().any(|answer| line.contains(&format!(" ms {answer}")));
            assert!(is_answered, "{line}");
        }
    }
}

/// The seconds that a process of `poc-memory` takes, and what it prints.
fn run(home: &Path, arguments: &[&str], input: &str) -> (f64, String) {
    let mut command = command("poc-memory", home);
    command.args(arguments).env_remove("POC_MEMORY_AGENT").stdin(Stdio::piped()).stdout(Stdio::piped());
    let (seconds, output) = timed(|| {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    (seconds, String::from_utf8(output.stdout).unwrap())
}

/// Fills the memory in a folder. Returns the subject of each turn of the project.
fn fill(home: &Path, count: usize) -> Vec<String> {
    let memory = memory::open(home);
    let writer = Writer::new(SEED);
    // The turns are distributed over the whole time.
    let step = (count / TURNS).max(4);
    let (mut subjects, mut turns) = (Vec::new(), Vec::new());
    for start in (0..count).step_by(CHUNK) {
        let mut nodes = Vec::new();
        for number in start..count.min(start + CHUNK) {
            let (id, text) = (memory.new_node_id(), writer.note());
            let at = NOW.minus(Span((count - number) as i64 * Span::MINUTE.0));
            if number.is_multiple_of(step) {
                let subject: Vec<&str> = text.title.split(' ').take(2).collect();
                let subject = subject.join(" ");
                nodes.push(turn(id, subjects.len(), &subject, &text.body, at));
                subjects.push(subject);
                turns.push(id);
            } else {
                let project = format!("project:github.com/ann/other-{}", number % OTHER_PROJECTS);
                nodes.push(Node { keywords: vec![project], ..notes::node(id, &text, at) });
            }
        }
        store(&memory, nodes);
    }
    put_in_order(&memory, &turns);
    // The daemon would finish the graph of vectors and save it while it is measured.
    memory.store.settle();
    memory.vectors.finish(&|| false);
    memory.store.checkpoint().unwrap();
    subjects
}

/// A turn of a captured session, in which a port is said.
fn turn(id: NodeId, number: usize, subject: &str, rest: &str, at: Timestamp) -> Node {
    let text = NoteText {
        title: format!("which port shall the {subject} have?"),
        body: format!(
            "User: which port shall the {subject} have?\n\nClaude: The {subject} listens on port {}. {rest}",
            2000 + number
        ),
    };
    Node {
        key: format!("claude-code/{:012x}/{number}", number / TURNS_PER_SESSION),
        node_type: NodeType(NodeType::EPISODIC.into()),
        keywords: vec!["project:github.com/ann/journal".into()],
        provenance: "import:claude-code".into(),
        author: Some("User, Claude".into()),
        ..notes::node(id, &text, at)
    }
}

/// Stores notes with the vectors of the title and of the whole text.
fn store(memory: &Memory, mut nodes: Vec<Node>) {
    nodes.iter_mut().for_each(|node| node.content_hash = node.hash());
    let texts: Vec<String> = nodes
        .iter()
        .flat_map(|node| [node.title.clone(), format!("{}. {}", node.title, node.body)])
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = memory.embedder.embed(&texts).unwrap();
    let written = memory.store.transact(memory.cause("manual", "import"), |tx| {
        for (node, parts) in nodes.iter().zip(vectors.chunks(2)) {
            tx.put_node(node)?;
            tx.put_vectors(node.id, memory.embedder.name(), parts)?;
        }
        Ok(())
    });
    written.unwrap();
}

/// Makes the turns of each session a sequence.
fn put_in_order(memory: &Memory, turns: &[NodeId]) {
    let edge = |src, dst| Edge {
        src,
        dst,
        kind: EdgeKind::Structural,
        strength: 1.0,
        created: memory.now(),
        touched: memory.now(),
        provenance: "import:claude-code".into(),
        reason: String::new(),
    };
    let pairs = turns.chunks(TURNS_PER_SESSION).flat_map(|session| session.windows(2));
    let edges: Vec<Edge> = pairs.flat_map(|pair| [edge(pair[0], pair[1]), edge(pair[1], pair[0])]).collect();
    for chunk in edges.chunks(2000) {
        let written = memory.store.transact(memory.cause("manual", "import"), |tx| {
            chunk.iter().try_for_each(|edge| tx.put_edge(edge))
        });
        written.unwrap();
    }
}
