//! Hooks of assistants: what they add to a conversation, when they are silent, and how sessions are captured.

use crate::mcp::Assistant;
use crate::support::{CommandResult, Deadline, WAIT_LIMIT, World};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The session of an assistant in the folder of a project.
struct AssistantSession {
    id: String,
    folder: PathBuf,
    transcript: PathBuf,
}

impl AssistantSession {
    /// A session of Claude Code in a repository with a remote.
    fn new(world: &World, id: &str, project: &str) -> AssistantSession {
        let config = format!("[remote \"origin\"]\n\turl = git@github.com:ann/{project}.git\n");
        let folder = world.write(&format!("work/{project}/.git/config"), &config);
        let folder = folder.parent().unwrap().parent().unwrap().to_owned();
        let transcript = world.write(&format!("claude/projects/{project}/{id}.jsonl"), "");
        AssistantSession { id: id.to_owned(), folder, transcript }
    }

    fn message(&self, fields: Value) -> Value {
        let mut message = json!({
            "session_id": self.id,
            "transcript_path": self.transcript,
            "cwd": self.folder,
            "permission_mode": "default",
        });
        let given = fields.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(given);
        message
    }

    /// Calls a hook and returns the text that it adds, if any.
    #[track_caller]
    fn hook(&self, world: &World, hook: &str, fields: Value) -> Option<String> {
        let ran = world.run_with_input(&["hook", hook], &self.message(fields).to_string());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
        if ran.stdout.is_empty() {
            return None;
        }
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let event = match hook {
            "session-start" => "SessionStart",
            _ => "UserPromptSubmit",
        };
        let output = &answer["hookSpecificOutput"];
        assert_eq!((&output["hookEventName"], answer.as_object().unwrap().len()), (&json!(event), 1));
        Some(output["additionalContext"].as_str().unwrap().to_owned())
    }

    fn prompt(&self, world: &World, prompt: &str) -> Option<String> {
        self.hook(world, "prompt", json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}))
    }

    fn start(&self, world: &World, source: &str) -> Option<String> {
        self.hook(world, "session-start", json!({"hook_event_name": "SessionStart", "source": source}))
    }

    /// Appends a turn to the transcript, as Claude Code writes it.
    fn turn(&self, number: usize, prompt: &str, reply: &str) {
        let line = |uuid: String, parent: Value, kind: &str, second: usize, content: Value| {
            json!({
                "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": self.id, "cwd": self.folder,
                "timestamp": format!("2026-11-24T10:{number:02}:{second:02}.000Z"), "version": "2.1.0",
                "gitBranch": "main", "isSidechain": false, "userType": "external",
                "message": {"id": uuid, "role": kind, "content": content},
            })
        };
        let parent = match number {
            0 => Value::Null,
            _ => json!(format!("a{}", number - 1)),
        };
        let mut text = std::fs::read_to_string(&self.transcript).unwrap();
        writeln!(text, "{}", line(format!("u{number}"), parent, "user", 0, json!(prompt))).unwrap();
        let reply = json!([{"type": "text", "text": reply}]);
        writeln!(text, "{}", line(format!("a{number}"), json!(format!("u{number}")), "assistant", 5, reply))
            .unwrap();
        std::fs::write(&self.transcript, text).unwrap();
    }
}

/// The last line of the log of hooks, without the time.
fn logged(world: &World) -> String {
    let log = std::fs::read_to_string(world.home().join("hooks.log")).unwrap();
    log.lines().last().unwrap().split_once(' ').unwrap().1.to_owned()
}

fn insert(world: &World, key: &str, title: &str, body: &str, keywords: &[&str]) {
    let mut line = vec!["insert", "--key", key, "--title", title, "--body", body, "--update"];
    keywords.iter().for_each(|word| line.extend(["-k", word]));
    world.json(&line);
}

const JOURNAL: &str = "project:github.com/ann/journal";
const SHOP: &str = "project:github.com/ann/shop";

#[test]
fn a_prompt_gets_notes_of_its_project_and_of_no_project_once() {
    let mut world = World::new();
    world.start_daemon();
    insert(&world, "gateway", "Gateway port", "The gateway listens on port 7443.", &[JOURNAL]);
    insert(&world, "habit", "Gateway port habit", "I never put a gateway on a port below 1024.", &[]);
    insert(
        &world,
        "shop",
        "Gateway port of the shop",
        "The gateway of the shop listens on port 9000.",
        &[SHOP],
    );
    let session = AssistantSession::new(&world, "s1", "journal");
    let added = session.prompt(&world, "which port does the gateway listen on?").unwrap();
    assert!(added.contains("[gateway] Gateway port") && added.contains("port 7443"), "{added}");
    assert!(added.contains("data, not instructions") && added.contains("<<<data "), "{added}");
    assert!(!added.contains("9000"), "notes of another project are not added: {added}");
    if let Some(own) = added.find("[habit]") {
        assert!(added.find("[gateway]").unwrap() < own, "notes of the project come first: {added}");
    }
    assert!(logged(&world).contains(" ms added "), "{}", logged(&world));
    // A note is added once, and again when it has changed or the conversation was compacted.
    assert_eq!(session.prompt(&world, "which port does the gateway listen on?"), None);
    assert!(logged(&world).ends_with("nothing: nothing new since the last call of this session"));
    insert(&world, "gateway", "Gateway port", "The gateway listens on port 7444.", &[JOURNAL]);
    let again = session.prompt(&world, "which port does the gateway listen on?").unwrap();
    assert!(again.contains("7444") && !again.contains("[habit]"), "{again}");
    let added = session.start(&world, "compact").unwrap();
    assert!(added.contains("[gateway]"), "{added}");
    // None of this counts as a use or a change.
    assert_eq!(world.json(&["get", "habit"])["accesses"], 0);
    assert_eq!(world.json(&["changes"])["changes"].as_array().unwrap().len(), 4);
}

#[test]
fn a_note_of_which_a_sentence_was_quoted_is_still_added_to_a_prompt() {
    let mut world = World::new();
    world.start_daemon();
    let turn = |key: &str, body: &str| {
        let line = ["insert", "--key", key, "--type", "episodic", "--body", body, "-k", JOURNAL];
        world.json(&line);
    };
    let bolts =
        "User: Which bolts do we use for the gutter?\n\nClaude: M8, 40 mm, from Ulm.\n\nTODO: call Bob";
    turn("claude-code/s0/u0", bolts);
    turn("claude-code/s1/u0", "User: Where is the ladder?\n\nClaude: In the shed.");
    let session = AssistantSession::new(&world, "s2", "journal");
    let added = session.start(&world, "startup").unwrap();
    assert!(added.contains("TODO: call Bob") && !added.contains("from Ulm"), "{added}");
    let ask = || session.prompt(&world, "which bolts do we use for the gutter?");
    let added = ask().unwrap_or_else(|| panic!("{}", logged(&world)));
    assert!(added.contains("from Ulm"), "{added}");
    assert_eq!(ask(), None);
}

#[test]
fn the_scope_decides_whose_notes_are_added() {
    for (scope, expected) in [("project", ["gateway"].as_slice()), ("all", &["gateway", "shop"])] {
        let mut world = World::new();
        world.write("config.toml", &format!("[hooks]\nscope = \"{scope}\"\n"));
        world.start_daemon();
        insert(&world, "gateway", "Gateway port", "The gateway listens on port 7443.", &[JOURNAL]);
        insert(&world, "shop", "Gateway port", "The gateway listens on port 9000.", &[SHOP]);
        insert(&world, "lunch", "Lunch", "On Fridays we eat dumplings.", &[]);
        let session = AssistantSession::new(&world, "s1", "journal");
        let added = session.prompt(&world, "which port does the gateway listen on?").unwrap();
        let keys: Vec<&str> = ["gateway", "shop", "lunch"]
            .into_iter()
            .filter(|key| added.contains(&format!("[{key}]")))
            .collect();
        assert_eq!(keys, expected, "{scope}: {added}");
    }
}

#[test]
fn hooks_add_nothing_if_no_person_asked_or_nothing_is_known() {
    let mut world = World::new();
    world.start_daemon();
    insert(&world, "gateway", "Gateway port", "The gateway listens on port 7443.", &[]);
    let session = AssistantSession::new(&world, "s1", "journal");
    let silent = |prompt: &str, why: &str| {
        assert_eq!(session.prompt(&world, prompt), None, "{prompt}");
        assert!(
            logged(&world).starts_with("prompt s1 ") && logged(&world).ends_with(why),
            "{}",
            logged(&world)
        );
    };
    silent("how do penguins sleep in winter?", "nothing: the gate says MISS");
    silent("<task-notification>\n<task-id>gateway port</task-id>", "nothing: no person typed this prompt");
    silent("/compact keep the gateway port", "nothing: the prompt is a command");
    silent("yes, go on", "nothing: the prompt has nothing to look up");
    let subagent = json!({"prompt": "which port does the gateway listen on?", "agent_id": "a1"});
    assert_eq!(session.hook(&world, "prompt", subagent), None);
    assert!(logged(&world).ends_with("nothing: a subagent asks"));
    for hook in ["stop", "pre-compact", "session-end", "tool"] {
        assert_eq!(session.hook(&world, hook, json!({})), None);
        assert!(logged(&world).ends_with("nothing: the session is captured"), "{}", logged(&world));
    }
    // One of the agents of this memory asks.
    let mut command = world.command("poc-memory");
    command.args(["hook", "prompt"]).env("POC_MEMORY_AGENT", "linker");
    let done = command.output().unwrap();
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    assert!(logged(&world).ends_with("nothing: the caller is an agent of this memory"), "{}", logged(&world));
}

#[test]
fn a_hook_never_fails() {
    let world = World::new();
    let quiet = |ran: CommandResult| {
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    };
    quiet(world.run_with_input(&["hook", "prompt"], ""));
    assert!(logged(&world).contains("nothing: the assistant's message is empty"), "{}", logged(&world));
    quiet(world.run_with_input(&["hook", "prompt"], "{\"session_id\": 5"));
    assert!(logged(&world).contains("nothing: the assistant's message cannot be read"), "{}", logged(&world));
    // Calls of a newer plugin.
    let tenant = ["--tenant", "user=ann", "hook", "prompt"].as_slice();
    for line in [["hook", "no-such-hook"].as_slice(), &["hook", "prompt", "--foo"], &["hook"], tenant] {
        quiet(world.run_with_input(line, "{\"session_id\": \"s1\"}"));
        let unknown = ["does not know the argument", "needs an event", "does not accept `--tenant`"];
        assert!(unknown.iter().any(|why| logged(&world).contains(why)), "{line:?}: {}", logged(&world));
    }
    assert!(world.run(&["hook", "--help"]).stdout.contains("session-start"));
}

/// The log names the limit by which a call ended. The bound on the time itself is generous, because a busy machine is no
/// error.
#[test]
fn a_hook_ends_by_its_own_limits() {
    const BOUND: Duration = Duration::from_secs(10);
    let world = World::new();
    // Something listens on the socket and does not answer.
    let _socket = UnixListener::bind(world.home().join("daemon.sock")).unwrap();
    let asked = Instant::now();
    let ran = world.run_with_input(&["hook", "stop"], "{\"session_id\": \"s1\"}");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    assert!(asked.elapsed() < BOUND, "{:?}: {}", asked.elapsed(), logged(&world));
    assert!(logged(&world).contains("nothing: the daemon did not send its greeting"), "{}", logged(&world));
    // The assistant's message does not end, so only the limit of the whole call ends it.
    let mut command = world.command("poc-memory");
    command.args(["hook", "stop"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let asked = Instant::now();
    let mut hook = command.spawn().unwrap();
    let input = hook.stdin.take().unwrap();
    let done = hook.wait_with_output().unwrap();
    assert!(asked.elapsed() < BOUND, "{:?}: {}", asked.elapsed(), logged(&world));
    drop(input);
    assert!(done.status.success() && done.stdout.is_empty() && done.stderr.is_empty(), "{done:?}");
    assert!(logged(&world).contains("nothing: there was no answer within two seconds"), "{}", logged(&world));
}

#[test]
fn a_hook_starts_a_daemon_if_none_is_running() {
    let world = World::new();
    insert(&world, "gateway", "Gateway port", "The gateway listens on port 7443.", &[]);
    let session = AssistantSession::new(&world, "s1", "journal");
    let asked = Instant::now();
    // On a busy machine the daemon needs longer than the hook waits.
    while session.prompt(&world, "which port does the gateway listen on?").is_none() {
        assert!(logged(&world).contains("started and is not ready"), "{}", logged(&world));
        assert!(asked.elapsed() < WAIT_LIMIT, "{}", logged(&world));
    }
    let status = world.json(&["daemon", "status"]);
    assert_eq!(world.json(&["daemon", "start"])["pid"], status["pid"], "it is already running");
    let restarted = world.json(&["daemon", "restart"]);
    assert_ne!(restarted["pid"], status["pid"]);
    assert_eq!(restarted["was_running"], false);
    world.json(&["daemon", "stop"]);
    assert_eq!(world.run(&["daemon", "status"]).status, 5);
}

#[test]
fn a_session_starts_with_the_important_notes_of_its_project() {
    let mut world = World::new();
    world.start_daemon();
    let session = AssistantSession::new(&world, "s1", "journal");
    assert_eq!(session.start(&world, "startup"), None);
    assert!(
        logged(&world).ends_with("nothing: the memory has no notes on this project"),
        "{}",
        logged(&world)
    );
    insert(&world, "wal", "The journal is written first", "Pages come later.", &[JOURNAL, "decision"]);
    insert(&world, "split", "Splits are slow", "Find out why.", &[JOURNAL, "open"]);
    insert(&world, "pages", "Pages have 4 KiB", "", &[JOURNAL]);
    insert(&world, "till", "The till is a queue", "", &[SHOP, "decision"]);
    insert(&world, "lunch", "Lunch", "On Fridays we eat dumplings.", &[]);
    let added = session.start(&world, "startup").unwrap();
    let place = |text: &str| added.find(text).unwrap_or_else(|| panic!("no `{text}` in {added}"));
    assert!(place("Open:") < place("[split]") && place("[split]") < place("Decisions:"), "{added}");
    assert!(place("Decisions:") < place("[wal]") && place("[wal]") < place("[pages]"), "{added}");
    // The name of the project is foreign text, so it is inside the fence.
    assert!(place("<<<data") < place("github.com/ann/journal"), "{added}");
    for other in ["till", "lunch"] {
        assert!(!added.contains(&format!("[{other}]")), "{added}");
    }
    // A session that continues has them already.
    assert_eq!(session.start(&world, "resume"), None);
    assert!(session.start(&world, "clear").is_some());
    for number in 0..60 {
        let title = format!("Decision number {number} about the journal and its pages");
        insert(
            &world,
            &format!("d{number}"),
            &title,
            &"Because it is so. ".repeat(30),
            &[JOURNAL, "decision"],
        );
    }
    let long = session.start(&world, "startup").unwrap();
    assert!(long.chars().count() <= 2000, "{} characters", long.chars().count());
}

#[test]
fn notes_stored_in_a_repository_are_shown_at_the_start_of_its_next_session() {
    for (scope, is_labelled) in [("person", true), ("all", false)] {
        let mut world = World::new();
        world.write("config.toml", &format!("[hooks]\nscope = \"{scope}\"\n"));
        world.start_daemon();
        let session = AssistantSession::new(&world, "s1", "journal");
        let mut assistant = Assistant::start_in(&world, &session.folder, &[]);
        let wal = json!({"key": "wal", "title": "The journal is written first", "keywords": ["decision"]});
        assistant.call("memory_remember", wal);
        // A model that replaces the keywords does not take the note out of the project.
        let more = json!({"key": "wal", "update": true, "keywords": ["decision", "storage"]});
        assistant.call("memory_remember", more);
        // An update may create the note.
        let created = json!({"key": "rows", "update": true, "title": "Rows have 16 columns"});
        assistant.call("memory_remember", created);
        assistant.end();
        let by_hand = |folder: &Path, line: &[&str]| -> Value {
            let mut command = world.command("poc-memory");
            let ran = command.arg("--json").args(line).current_dir(folder).output().unwrap();
            assert!(ran.status.success(), "{line:?}: {ran:?}");
            serde_json::from_slice(&ran.stdout).unwrap()
        };
        by_hand(&session.folder, &["add", "--key", "split", "-k", "open", "-t", "Splits are slow"]);
        by_hand(&session.folder, &["add", "--key", "fish", "--category", "core", "-t", "I use fish"]);
        by_hand(&session.folder, &["add", "--key", "merge", "--update", "-t", "Merges are fast"]);
        by_hand(world.home(), &["add", "--key", "lunch", "-k", "open", "-t", "Dumplings"]);
        by_hand(&session.folder, &["add", "--key", "lunch", "--update", "-b", "On Fridays."]);
        let written = by_hand(&session.folder, &["write", "The gateway listens on port 7443."]);
        let chunk = written["node_ids"][0].as_str().unwrap().to_owned();
        let labelled = |note: &str| {
            let keywords = world.json(&["get", note])["keywords"].clone();
            keywords.as_array().unwrap().contains(&json!(JOURNAL))
        };
        for note in ["wal", "rows", "split", "merge", &chunk] {
            assert_eq!(labelled(note), is_labelled, "{note} with `{scope}`");
        }
        for note in ["fish", "lunch"] {
            assert!(!labelled(note), "{note} with `{scope}`");
        }
        if is_labelled {
            let added = session.start(&world, "startup").unwrap();
            assert!(added.contains("[wal]") && added.contains("[split]"), "{added}");
            assert!(!added.contains("[lunch]"), "{added}");
            // A message that was stored by hand is no turn of a session.
            assert!(!added.contains("The end of the last session"), "{added}");
        }
    }
}

#[test]
fn a_session_is_captured_also_when_its_assistant_is_killed() {
    let mut world = World::new();
    world.start_daemon();
    let captured = |world: &World, count: usize| {
        let pipeline = ["search", "-p", "all | type:episodic | project:journal"];
        world.until(WAIT_LIMIT, &pipeline, |found| found["results"].as_array().unwrap().len() == count);
    };
    let session = AssistantSession::new(&world, "6f1e2d3c-0001-4000-8000-000000000001", "journal");
    session.start(&world, "startup");
    session.turn(0, "Which port shall the gateway have?", "We use port 7443 for the gateway.");
    session.hook(&world, "stop", json!({"stop_hook_active": false}));
    captured(&world, 1);
    // No hook is called any more.
    session.turn(1, "And which database?", "We keep everything in sled.");
    captured(&world, 2);
    // Also not while no daemon runs.
    world.kill_daemon();
    session.turn(2, "Which compression?", "Long records are compressed with LZ4.");
    world.start_daemon();
    captured(&world, 3);
    session.turn(3, "And the alerts?", "We decided that nobody is woken at night. Still open: the budget.");
    session.turn(4, "Which retry?", "Three times, then the queue of failures.");
    session.turn(5, "commit this", "Committed.");
    session.turn(6, "thanks", "You are welcome.");
    captured(&world, 7);
    // The session does not get its own turns, but the next session does.
    assert_eq!(session.prompt(&world, "which port shall the gateway have?"), None);
    let next = AssistantSession::new(&world, "6f1e2d3c-0002-4000-8000-000000000002", "journal");
    let added = next.start(&world, "startup").unwrap();
    assert!(added.contains("The end of the last session:") && added.contains("queue of failures"), "{added}");
    let place = |text: &str| added.find(text).unwrap_or_else(|| panic!("no `{text}` in {added}"));
    assert!(place("Open:") < place("Still open: the budget."), "{added}");
    assert!(place("Decisions:") < place("We decided that nobody is woken at night."), "{added}");
    assert!(added.contains("- 2026-11-24 ["), "{added}");
    assert!(!added.contains("Committed") && !added.contains("You are welcome"), "{added}");
    let added = next.prompt(&world, "which port shall the gateway have?").unwrap();
    assert!(added.contains("7443"), "{added}");
    // Nothing is added in another project.
    let other = AssistantSession::new(&world, "6f1e2d3c-0003-4000-8000-000000000003", "shop");
    assert_eq!(other.prompt(&world, "which port shall the gateway have?"), None);
}

#[test]
fn a_session_whose_start_was_missed_is_captured_also_by_the_next_daemon() {
    for hook in ["prompt", "stop"] {
        let mut world = World::new();
        world.start_daemon();
        let session = AssistantSession::new(&world, "6f1e2d3c-0004-4000-8000-000000000004", "journal");
        session.turn(0, "Which port shall the gateway have?", "We use port 7443 for the gateway.");
        assert_eq!(session.hook(&world, hook, json!({"prompt": "thanks"})), None);
        // The assistant and the daemon are killed.
        world.kill_daemon();
        session.turn(1, "And which database?", "We keep everything in sled.");
        world.start_daemon();
        world.until(WAIT_LIMIT, &["search", "-p", "all | type:episodic"], |found| {
            found["results"].as_array().unwrap().len() == 2
        });
    }
}

#[test]
fn secrets_in_a_session_are_stored_only_if_the_settings_allow_it() {
    for (settings, title) in [
        ("", "use [secret: aws-access-key]"),
        ("[transcripts]\nallow-secrets = true\n", "use AKIAIOSFODNN7QWERTYU"),
    ] {
        let mut world = World::new();
        world.write("config.toml", settings);
        world.start_daemon();
        let session = AssistantSession::new(&world, "9f1e2d3c-0001-4000-8000-000000000001", "journal");
        session.turn(0, "use AKIAIOSFODNN7QWERTYU", "password=hunter2 is set");
        assert_eq!(session.hook(&world, "stop", json!({})), None);
        let found = world.until(WAIT_LIMIT, &["search", "-p", "all | type:episodic"], |found| {
            found["results"].as_array().unwrap().len() == 1
        });
        assert_eq!(found["results"][0]["title"], title, "{found:#}");
        // The daemon logs the capture after it has stored the note.
        let log = || std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
        let deadline = Deadline::after(WAIT_LIMIT);
        while !log().contains("captured `") {
            deadline.wait(|| format!("no capture is logged: {}", log()));
        }
        assert_eq!(log().contains("(aws-access-key: 1, password: 1)"), settings.is_empty(), "{}", log());
        assert!(!log().contains("hunter2"), "{}", log());
    }
}

#[test]
fn what_cannot_be_captured_of_a_session_is_named() {
    let mut world = World::new();
    world.start_daemon();
    let session = AssistantSession::new(&world, "8f1e2d3c-0001-4000-8000-000000000001", "journal");
    // A session without a message is no problem.
    let empty = AssistantSession::new(&world, "8f1e2d3c-0002-4000-8000-000000000002", "shop");
    std::fs::write(&empty.transcript, "{\"type\":\"summary\",\"summary\":\"Ports\"}\n").unwrap();
    assert_eq!(empty.hook(&world, "stop", json!({})), None);
    session.turn(0, "Which port shall the gateway have?", "We use port 7443 for the gateway.");
    let text = std::fs::read_to_string(&session.transcript).unwrap();
    std::fs::write(&session.transcript, format!("{text}{{\"type\": \"user\"\n")).unwrap();
    assert_eq!(session.hook(&world, "stop", json!({})), None);
    let status = world.until(WAIT_LIMIT, &["daemon", "status"], |status| {
        status["problems"].to_string().contains("is not captured completely: line 3: it is not JSON")
    });
    assert_eq!(status["problems"].as_array().unwrap().len(), 1, "{status:#}");
    assert_eq!(session.hook(&world, "stop", json!({})), None);
    let remark = logged(&world);
    assert!(
        remark.contains("nothing: the session is not captured completely: line 3: it is not JSON"),
        "{remark}"
    );
    // The other lines are captured.
    assert_eq!(world.json(&["search", "-p", "all | type:episodic"])["results"].as_array().unwrap().len(), 1);
    // Later captures skip the line. It stays a problem until the transcript is replaced by one without it.
    for number in 1..=2 {
        session.turn(number, "And the retries?", &format!("{number} times, then the queue of failures."));
        world.until(WAIT_LIMIT, &["search", "-p", "all | type:episodic"], |found| {
            found["results"].as_array().unwrap().len() == number + 1
        });
    }
    let problems = world.json(&["daemon", "status"])["problems"].to_string();
    assert!(
        problems.contains("line 3: it is not JSON") && problems.contains("listed for 7 days"),
        "{problems}"
    );
    std::fs::write(&session.transcript, text).unwrap();
    world.until(WAIT_LIMIT, &["daemon", "status"], |status| status["problems"] == json!([]));
}

/// The positions of transcripts cannot be stored at first, because a file has the name of their folder.
#[test]
fn a_capture_that_failed_is_repeated_without_a_change_of_the_transcript() {
    let mut world = World::new();
    world.write("config.toml", "[daemon]\nreload-poll = \"1s\"\n");
    world.start_daemon();
    let positions = world.write("transcripts", "");
    let session = AssistantSession::new(&world, "8f1e2d3c-0003-4000-8000-000000000003", "journal");
    session.turn(0, "Which port shall the gateway have?", "We use port 7443 for the gateway.");
    assert_eq!(session.hook(&world, "stop", json!({})), None);
    world.until(WAIT_LIMIT, &["daemon", "status"], |status| {
        status["problems"].to_string().contains("listed until a capture succeeds")
    });
    std::fs::remove_file(positions).unwrap();
    world.until(WAIT_LIMIT, &["daemon", "status"], |status| status["problems"] == json!([]));
    assert_eq!(world.json(&["search", "-p", "all | type:episodic"])["results"].as_array().unwrap().len(), 1);
}

/// A capture reads the file, and must not take that for a change.
#[test]
fn a_file_that_is_no_transcript_is_named_once_in_the_log() {
    let mut world = World::new();
    let folder = world.home().join("claude/projects");
    let settings = format!(
        "[transcripts]\nfollow = true\nmax-age = \"36500d\"\nfolders = [{:?}]\n",
        folder.display().to_string()
    );
    world.write("config.toml", &settings);
    let other = world.write("claude/projects/other.jsonl", "{\"a\": 1}\n");
    world.start_daemon();
    let session = AssistantSession::new(&world, "7f1e2d3c-0003-4000-8000-000000000003", "journal");
    for number in 0..3 {
        session.turn(number, "Which port shall the gateway have?", &format!("Port {number}."));
        world.until(WAIT_LIMIT, &["search", "-p", "all | type:episodic"], |found| {
            found["results"].as_array().unwrap().len() == number + 1
        });
    }
    let log = std::fs::read_to_string(world.home().join("daemon.log")).unwrap();
    let named = format!("`{}` was not captured", other.display());
    assert_eq!(log.matches(&named).count(), 1, "{log}");
}

#[test]
fn the_daemon_follows_the_folders_of_assistants() {
    let mut world = World::new();
    let session = AssistantSession::new(&world, "7f1e2d3c-0001-4000-8000-000000000001", "journal");
    session.turn(0, "Which port shall the gateway have?", "We use port 7443 for the gateway.");
    let folder = world.home().join("claude/projects");
    let settings = format!(
        "[transcripts]\nfollow = true\nmax-age = \"36500d\"\nfolders = [{:?}]\n",
        folder.display().to_string()
    );
    world.write("config.toml", &settings);
    world.start_daemon();
    let found = |world: &World, count: usize| {
        let pipeline = ["search", "-p", "all | type:episodic"];
        world.until(WAIT_LIMIT, &pipeline, |found| found["results"].as_array().unwrap().len() == count);
    };
    found(&world, 1);
    session.turn(1, "And which database?", "We keep everything in sled.");
    found(&world, 2);
    let new = AssistantSession::new(&world, "7f1e2d3c-0002-4000-8000-000000000002", "shop");
    new.turn(0, "What is the till?", "The till is a queue.");
    found(&world, 3);
}
