//! MCP over standard input and output, as an assistant uses it.

mod http;

use crate::support::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An assistant with an initialized session of `poc-memory mcp`.
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
        let mut program = world
            .command("poc-memory")
            .args(options)
            .arg("mcp")
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
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "the program ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
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
    assert!(tools.contains(&"graft_insert") && tools.contains(&"memory_search"), "{tools:?}");
    assert!(!tools.contains(&"graft_delete"), "off until it is switched on");

    let title = format!("The journal is written first, says {}", world.home().display());
    let stored = assistant.call("graft_insert", json!({"title": title, "keywords": ["storage"]}));
    assert_eq!(stored["duplicate"], false);
    let known = assistant.call("graft_query", json!({"query": title}));
    assert_eq!((&known["hit"], &known["id"]), (&json!("STRONG"), &stored["id"]));
    // Notes that a model writes are marked as such.
    let note = assistant.call("graft_get", json!({"node": stored["key"]}));
    assert_eq!((&note["provenance"], &note["trust"]), (&json!("mcp"), &json!("agent")));
    let uri = format!("memory://nodes/{}", stored["key"].as_str().unwrap());
    let read = assistant.ask("resources/read", json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("title: The journal is written first"), "{text}");

    // A wrong argument is an error of the tool with a hint; an unknown tool is a protocol error.
    let wrong = assistant
        .ask("tools/call", json!({"name": "graft_retrieve", "arguments": {"query": "x", "top_k": "many"}}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let answer: Value =
        serde_json::from_str(wrong["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&answer["error"]["at"]["field"], &answer["expected"]["type"]),
        (&json!("top_k"), &json!("integer"))
    );
    for (tool, arguments) in [("graft_forget_all", json!({})), ("graft_delete", json!({"node": "x"}))] {
        let answer = assistant.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
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
fn an_assistant_shares_the_daemon_with_others() {
    let mut world = World::new();
    world.start_daemon();
    session(&world);
    let mut assistant = Assistant::start(&world);
    let both = world.json(&["insert", "-t", "From the command line, at the same time"]);
    assert_eq!(assistant.call("graft_get", json!({"node": both["key"]}))["provenance"], "manual");
    assistant.end();
    world.stop_daemon();
}

#[test]
fn pasted_settings_lead_to_the_right_memory() {
    let world = World::new();
    let home = "my memöry home";
    world.write("my memöry home/notes.jsonl", "");
    let tell = |client: &str| {
        let mut asked = world.command("poc-memory");
        asked.env("POC_MEMORY_HOME", home).args(["--profile", "work", "mcp", "config", client]);
        String::from_utf8(asked.output().unwrap().stdout).unwrap()
    };
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
    for server in [json(&tell("cursor")), json(&tell("claude-desktop")), codex] {
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
    let pasted = format!("claude() {{ printf '%s\\n' \"$@\"; }}\n{}", tell("claude-code"));
    let words = Command::new("bash").args(["-c", &pasted]).output().unwrap().stdout;
    let words = String::from_utf8(words).unwrap();
    let variable = format!("POC_MEMORY_HOME={whole}");
    let begin = ["mcp", "add", "poc-memory", "--env", &variable, "--"].join("\n");
    assert!(words.starts_with(&begin) && words.ends_with("--profile\nwork\nmcp\n"), "{words}");
}

#[test]
fn each_assistant_has_settings_to_paste() {
    let world = World::new();
    for client in ["claude-code", "claude-desktop", "cursor", "codex"] {
        let answer = world.json(&["mcp", "config", client]);
        assert!(answer["text"].as_str().unwrap().contains("mcp"), "{answer}");
    }
    assert_eq!(world.run(&["mcp", "config", "notepad"]).status, 2);
    let off = world.json_with_status(&["mcp", "config", "codex", "--http"], 5);
    assert!(off["error"]["hint"].as_str().unwrap().contains("[mcp]"), "{off}");
    world.write("config.toml", "[mcp]\nhttp = true\n");
    for client in ["claude-code", "cursor", "codex"] {
        let answer = world.json(&["mcp", "config", client, "--http"]);
        assert!(answer["text"].as_str().unwrap().contains("http://127.0.0.1:9977/mcp"), "{answer}");
    }
    assert_eq!(world.run(&["mcp", "config", "claude-desktop", "--http"]).status, 2);
}
