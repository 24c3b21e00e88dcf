//! MCP over standard input and output, as an assistant uses it.

pub(crate) mod http;

use crate::support::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An assistant with an initialised session of `poc-memory mcp`.
pub(crate) struct Assistant {
    program: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Assistant {
    pub(crate) fn start(world: &World) -> Assistant {
        Assistant::start_with(world, &[])
    }

    /// The same with global options of the command line.
    pub(crate) fn start_with(world: &World, options: &[&str]) -> Assistant {
        Assistant::start_in(world, world.home(), options)
    }

    /// The same in another folder.
    pub(crate) fn start_in(world: &World, folder: &Path, options: &[&str]) -> Assistant {
        let mut program = world
            .command("poc-memory")
            .args(options)
            .arg("mcp")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (program.stdin.take(), BufReader::new(program.stdout.take().unwrap()));
        let mut assistant = Assistant { program, to, from, last: 0 };
        let hello = assistant.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "story", "version": "1"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "poc-memory", "{hello}");
        assistant.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assistant
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and returns the answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ask_with(&format!("\"method\": {}, \"params\": {params}", json!(method)))
    }

    /// The same with the text of the fields, which may not be a correct request.
    pub(crate) fn ask_with(&mut self, fields: &str) -> Value {
        self.last += 1;
        let id = self.last;
        writeln!(self.to.as_mut().unwrap(), "{{\"jsonrpc\": \"2.0\", \"id\": {id}, {fields}}}").unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "the program ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a request, and cancels it once `started` has returned. Returns the answer if there is one; a client must
    /// not rely on it.
    pub(crate) fn cancel(&mut self, method: &str, params: Value, started: impl FnOnce()) -> Option<Value> {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        started();
        self.say(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
        // The answer to a later request comes after an answer to the cancelled one.
        self.last += 1;
        let ping = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": ping, "method": "ping"}));
        let mut answer = None;
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "the program ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == ping {
                return answer;
            }
            answer = answer.or_else(|| (message["id"] == id).then_some(message));
        }
    }

    /// Calls a tool and returns its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(!answer["result"]["isError"].as_bool().unwrap_or(false), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    pub(crate) fn end(mut self) {
        drop(self.to.take());
        assert!(self.program.wait().unwrap().success());
    }
}

fn session(world: &World) {
    let mut assistant = Assistant::start(world);
    let listed = assistant.ask("tools/list", json!({}));
    let tools: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let six = [
        "memory_search",
        "memory_get",
        "memory_remember",
        "memory_link",
        "memory_feedback",
        "memory_history",
    ];
    assert_eq!(tools, six);

    // Which of the two texts is meant is unknown.
    let twice = r#""method": "tools/call", "params": {"name": "memory_remember", "arguments": {"text": "a", "text": "b"}}"#;
    let refused = assistant.ask_with(twice);
    assert_eq!(refused["error"]["message"], "the field `text` is given twice", "{refused}");

    let title = format!("The journal is written first, says {}", world.home().display());
    let stored = assistant.call("memory_remember", json!({"title": title, "keywords": "storage", "key": ""}));
    assert_eq!(stored["duplicate"], false);
    let found = assistant.call("memory_search", json!({"text": "what is written first?", "limit": "3"}));
    let hit = &found["results"][0];
    assert_eq!(
        (&hit["key"], &hit["title"], &hit["type"]),
        (&stored["key"], &json!(title), &json!("semantic"))
    );
    assert!(hit["snippet"].is_string() && hit["date"].is_string() && hit["score"].is_number(), "{hit}");
    // The name that the argument had before is still accepted.
    assert_eq!(
        assistant.call("memory_search", json!({"query": "what is written first?", "limit": 3})),
        found
    );
    // Notes that a model writes are marked as such.
    let note = assistant.call("memory_get", json!({"node": stored["key"]}));
    assert_eq!((&note["provenance"], &note["trust"]), (&json!("mcp"), &json!("agent")));
    // A search counts no use, a rating does.
    let rated = assistant.call("memory_feedback", json!({"node": stored["key"], "helped": true}));
    assert_eq!((&rated["key"], &rated["accesses"]), (&stored["key"], &json!(1)));
    let other = assistant.call("memory_remember", json!({"title": "The index is written later"}));
    let linked = assistant.call("memory_link", json!({"from": stored["key"], "to": other["key"]}));
    assert_eq!(linked["status"], "added");
    let recent = assistant.call("memory_history", json!({}));
    let titles: Vec<&Value> =
        recent["changes"].as_array().unwrap().iter().map(|note| &note["title"]).collect();
    assert!(titles.contains(&&json!("The index is written later")), "{recent}");
    let history = assistant.call("memory_history", json!({"node": stored["key"]}));
    assert_eq!((&history["changes"][0]["by"], &history["more"]), (&json!("mcp"), &json!(false)));
    let uri = format!("memory://nodes/{}", stored["key"].as_str().unwrap());
    let read = assistant.ask("resources/read", json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("title: The journal is written first"), "{text}");

    // A wrong argument is an error of the tool with a hint; an unknown tool is a protocol error.
    let wrong = assistant
        .ask("tools/call", json!({"name": "memory_search", "arguments": {"text": "x", "limit": "many"}}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let answer: Value =
        serde_json::from_str(wrong["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&answer["error"]["at"]["field"], &answer["expected"]["type"]),
        (&json!("limit"), &json!("integer"))
    );
    for (tool, arguments) in [("memory_forget_all", json!({})), ("memory_delete", json!({"node": "x"}))] {
        let answer = assistant.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("; the tools are `memory_search`, "), "{answer}");
    }
    for (wrong, right) in [("memory_serch", "memory_search"), ("memory_insert", "memory_remember")] {
        let answer = assistant.ask("tools/call", json!({"name": wrong, "arguments": {}}));
        let expected = format!("there is no tool `{wrong}`; did you mean `{right}`?");
        assert_eq!(answer["error"]["message"], expected, "{answer}");
    }
    for (method, code, message) in [
        ("bogus", -32601, "there is no method `bogus`"),
        ("tools/cal", -32601, "there is no method `tools/cal`; did you mean `tools/call`?"),
        ("tools/call", -32602, "the parameters of `tools/call` do not follow the protocol"),
    ] {
        let answer = assistant.ask(method, json!({"name": 5}));
        assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(code), &json!(message)));
    }
    // A call may name the change that it waits for. Without a shared log, no later change can come.
    let mut search = json!({"name": "memory_search", "arguments": {"text": "journal"}});
    for (seq, code) in [(json!(1), None), (json!(1_000_000), Some("unavailable"))] {
        search["_meta"] = json!({"poc-memory/seq": seq});
        let answer = assistant.ask("tools/call", search.clone());
        assert!(answer["result"]["_meta"].is_null(), "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let body: Value = serde_json::from_str(text).unwrap();
        assert_eq!(body["error"]["code"].as_str(), code, "{answer}");
    }
    for wrong in [json!(-1), json!("soon"), json!(1e20)] {
        search["_meta"] = json!({"poc-memory/seq": wrong});
        let answer = assistant.ask("tools/call", search.clone());
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["data"]["at"]["field"], "poc-memory/seq", "{answer}");
    }
    // Hints name tools.
    let missing =
        assistant.ask("tools/call", json!({"name": "memory_get", "arguments": {"node": "zzz qqq"}}));
    let answer: Value =
        serde_json::from_str(missing["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(answer["error"]["hint"], "`memory_search` with `zzz qqq` looks for it", "{answer}");
    let prompts = assistant.ask("prompts/list", json!({}));
    let names: Vec<&Value> =
        prompts["result"]["prompts"].as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["recall", "remember", "handover"]);
    let prompt =
        assistant.ask("prompts/get", json!({"name": "recall", "arguments": {"topic": "the journal"}}));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("the journal") && text.contains("`memory_search`"), "{text}");
    let completed = assistant.ask(
        "completion/complete",
        json!({"ref": {"type": "ref/prompt", "name": "recall"}, "argument": {"name": "topic", "value": "the-j"}}),
    );
    assert_eq!(completed["result"]["completion"]["values"], json!([stored["key"]]), "{completed}");
    let missing = assistant.ask("resources/read", json!({"uri": "memory://nodes/nothing"}));
    assert_eq!(missing["error"]["data"]["code"], "not_found", "{missing}");
    assistant.end();
    // The store is not locked between calls, nor afterwards.
    assert_eq!(world.run(&["get", stored["key"].as_str().unwrap()]).status, 0);
}

#[test]
fn an_assistant_is_served_without_a_daemon() {
    session(&World::new());
}

#[test]
fn mistakes_of_a_client_are_answered_and_not_logged() {
    let world = World::new();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "story", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_serch", "arguments": {}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "memory://node/nothing"}}),
    ];
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let ran = world.run_with_input(&["mcp"], &input);
    assert!(ran.stdout.contains("did you mean `memory_search`?"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_assistant_shares_the_daemon_with_others() {
    let mut world = World::new();
    world.start_daemon();
    session(&world);
    let mut assistant = Assistant::start(&world);
    let both = world.json(&["insert", "-t", "From the command line, at the same time"]);
    assert_eq!(assistant.call("memory_get", json!({"node": both["key"]}))["provenance"], "manual");
    assistant.end();
    world.stop_daemon();
}

#[test]
fn the_settings_choose_the_tools() {
    let world = World::new();
    let tools = |set: &str| -> Vec<String> {
        world.write("config.toml", &format!("[mcp]\ntools = \"{set}\"\ndelete = true\n"));
        let mut assistant = Assistant::start(&world);
        let listed = assistant.ask("tools/list", json!({}));
        assistant.end();
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tools("default").len(), 6);
    let all = tools("all");
    assert!(all.len() > 10 && all.contains(&"memory_recall".into()) && all.contains(&"memory_delete".into()));
    let seed = tools("seed");
    assert!(
        seed.contains(&"graft_insert".into()) && seed.iter().all(|name| name.starts_with("graft_")),
        "{seed:?}"
    );
    world.write("config.toml", "[mcp]\ntools = \"none\"\n");
    assert_eq!(world.run(&["stats"]).status, 78);
}

#[test]
fn the_tools_of_the_seed_work_with_their_former_arguments() {
    let world = World::new();
    world.write("config.toml", "[mcp]\ntools = \"seed\"\n");
    let mut assistant = Assistant::start(&world);
    let stored = assistant.call("graft_insert", json!({"title": "The kettle whistles", "keywords": ["tea"]}));
    let known = assistant.call("graft_query", json!({"query": "The kettle whistles"}));
    assert_eq!((&known["hit"], &known["key"]), (&json!("STRONG"), &stored["key"]));
    let found = assistant.call("graft_retrieve", json!({"query": "kettle", "top_k": "1"}));
    assert_eq!(found["results"][0]["key"], stored["key"]);
    assistant.end();
}

#[test]
fn pasted_settings_lead_to_the_right_memory() {
    let world = World::new();
    let home = "Ann's memöry home";
    world.write(&format!("{home}/notes.jsonl"), "");
    let tell_with = |words: &[&str]| {
        let mut asked = world.command("poc-memory");
        asked.env("POC_MEMORY_HOME", home).args(["--profile", "work", "mcp", "config"]).args(words);
        String::from_utf8(asked.output().unwrap().stdout).unwrap()
    };
    let tell = |client: &str| tell_with(&[client]);
    let make = |arguments: &[&str]| {
        let made = world.command("poc-memory").env("POC_MEMORY_HOME", home).args(arguments).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    };
    make(&["profile", "create", "work"]);
    make(&["--profile", "work", "insert", "--title", "Kettle", "--body", "b"]);
    let whole = world.home().join(home).display().to_string();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap()["mcpServers"]["poc-memory"].clone();
    let codex: toml::Table = toml::from_str(&tell("codex")).unwrap();
    let codex = serde_json::to_value(&codex["mcp_servers"]["poc-memory"]).unwrap();
    let value = |client: &str| serde_json::from_str::<Value>(&tell(client)).unwrap();
    let vscode = value("vscode")["servers"]["poc-memory"].clone();
    assert_eq!(vscode["type"], "stdio");
    let zed = value("zed")["context_servers"]["poc-memory"].clone();
    for server in [json(&tell("cursor")), json(&tell("claude-desktop")), codex, vscode, zed] {
        assert_eq!(server["env"], json!({"POC_MEMORY_HOME": whole}), "{server}");
        let words: Vec<&str> = server["args"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
        let [before @ .., "mcp"] = &words[..] else { panic!("{server}") };
        // Assistants start the server with little more than the environment in the settings.
        let found = Command::new(server["command"].as_str().unwrap())
            .env_clear()
            .env("POC_MEMORY_HOME", server["env"]["POC_MEMORY_HOME"].as_str().unwrap())
            .args(before)
            .args(["get", "kettle"])
            .current_dir("/")
            .output()
            .unwrap();
        assert!(found.status.success(), "{found:?}");
    }
    let pasted = |line: &str| {
        let script = format!("claude() {{ printf '%s\\n' \"$@\"; }}\n{line}");
        String::from_utf8(Command::new("bash").args(["-c", &script]).output().unwrap().stdout).unwrap()
    };
    let words = pasted(&tell("claude-code"));
    let variable = format!("POC_MEMORY_HOME={whole}");
    let begin = ["mcp", "add", "poc-memory", "--env", &variable, "--"].join("\n");
    assert!(words.starts_with(&begin) && words.ends_with("--profile\nwork\nmcp\n"), "{words}");
    world.write(&format!("{home}/profiles/work/config.toml"), "[mcp]\nhttp = true\n");
    world.write(&format!("{home}/profiles/work/token-model"), "of-models\n");
    let words = pasted(&tell_with(&["claude-code", "--http"]));
    assert!(words.ends_with("--header\nAuthorization: Bearer of-models\n"), "{words}");
}

#[test]
fn each_assistant_has_settings_to_paste() {
    let world = World::new();
    for client in ["claude-code", "claude-desktop", "cursor", "codex", "vscode", "zed"] {
        let answer = world.json(&["mcp", "config", client]);
        assert!(answer["text"].as_str().unwrap().contains("mcp"), "{answer}");
    }
    assert_eq!(world.run(&["mcp", "config", "notepad"]).status, 2);
    let off = world.json_with_status(&["mcp", "config", "codex", "--http"], 5);
    assert!(off["error"]["hint"].as_str().unwrap().contains("[mcp]"), "{off}");
    world.write("config.toml", "[mcp]\nhttp = true\n");
    for client in ["claude-code", "cursor", "codex", "vscode"] {
        let answer = world.json(&["mcp", "config", client, "--http"]);
        assert!(answer["text"].as_str().unwrap().contains("http://127.0.0.1:9977/mcp"), "{answer}");
    }
    for client in ["claude-desktop", "zed"] {
        assert_eq!(world.run(&["mcp", "config", client, "--http"]).status, 2, "{client}");
    }
    let bound = |client: &str| {
        let answer = world.json(&["--tenant", "user=ann", "mcp", "config", client, "--http"]);
        answer["text"].as_str().unwrap().to_owned()
    };
    let url = "http://127.0.0.1:9977/mcp?tenant=user%3Dann";
    assert!(bound("codex").contains(&format!("url = \"{url}\"")), "{}", bound("codex"));
    assert!(bound("claude-code").contains(&format!("'{url}'")), "{}", bound("claude-code"));
}
