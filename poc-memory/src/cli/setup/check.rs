//! Calls the memory as the assistants will, with the commands that their settings files now contain.

use super::assistant::{Assistant, ServerSetting, SettingsFolders};
use super::json_file;
use super::settings_file::{self, Syntax};
use crate::cli::command_context::CommandContext;
use crate::ops::plural;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Time limit of a call.
const LIMIT: Duration = Duration::from_secs(20);

/// The session that a check of the hooks names.
const SESSION: &str = "poc-memory-setup";

/// One call.
#[derive(Debug, Serialize)]
pub(super) struct SelfCheck {
    assistant: Assistant,
    /// `tools` or `hooks`.
    what: &'static str,
    ok: bool,
    message: String,
}

impl SelfCheck {
    pub(super) fn is_ok(&self) -> bool {
        self.ok
    }

    pub(super) fn line(&self) -> String {
        let state = if self.ok { "ok" } else { "failed" };
        format!("{state:<9}{}: {} {}\n", self.assistant.name(), self.what, self.message)
    }
}

/// Calls the memory through the settings of each assistant; with `hooks`, also its hooks.
pub(super) fn check(context: &CommandContext, assistants: &[Assistant], hooks: bool) -> Vec<SelfCheck> {
    let Ok(folders) = SettingsFolders::of_user() else { return Vec::new() };
    let mut checks = Vec::new();
    for &assistant in assistants {
        let mut add = |what, result: Result<String>| {
            let (ok, message) = match result {
                Ok(message) => (true, message),
                Err(error) => (false, error.line()),
            };
            checks.push(SelfCheck { assistant, what, ok, message });
        };
        add("tools", tools(assistant, &folders));
        if let Some(file) = assistant.hooks_file(&folders).filter(|_| hooks) {
            add("hooks", hook(context, &file));
        }
    }
    checks
}

/// Starts the server that an assistant's file names, and searches through it.
fn tools(assistant: Assistant, folders: &SettingsFolders) -> Result<String> {
    let ServerSetting { file, syntax, path } = assistant.server(folders);
    let text = settings_file::read(&file)?.unwrap_or_default();
    let document: Value = match syntax {
        Syntax::Json => json_file::value(&text).map_err(|error| unread(&file, &error))?,
        Syntax::Toml => toml::from_str(&text).map_err(|error| unread(&file, &error))?,
    };
    let server = path.iter().try_fold(&document, |value, name| value.get(name));
    let server = server.ok_or_else(|| Error::not_found(format!("`{}` has no server", file.display())))?;
    let field = |name: &str| server.get(name).cloned().unwrap_or_default();
    let arguments: Vec<String> = serde_json::from_value(field("args")).unwrap_or_default();
    let environment: std::collections::BTreeMap<String, String> =
        serde_json::from_value(field("env")).unwrap_or_default();
    let mut command = Command::new(field("command").as_str().unwrap_or_default());
    command.args(arguments);
    with_little_environment(&mut command).envs(environment);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::unavailable(format!("do not start: {error}")))?;
    let answered = list_tools_and_search(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    answered
}

/// Opens a session, lists the tools and searches.
fn list_tools_and_search(child: &mut Child) -> Result<String> {
    let broken = || Error::unavailable("do not answer");
    let (mut to, from) = (child.stdin.take().ok_or_else(broken)?, child.stdout.take().ok_or_else(broken)?);
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(std::io::Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let deadline = Instant::now() + LIMIT;
    let mut ask = |id: u64, method: &str, params: Value| -> Result<Value> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(to, "{message}").map_err(|error| Error::unavailable(format!("do not answer: {error}")))?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = lines.recv_timeout(left).map_err(|_| broken())?;
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer.get("id") == Some(&json!(id)) {
                return match answer.get("error") {
                    Some(error) => Err(Error::unavailable(format!("answer with an error: {error}"))),
                    None => Ok(answer.get("result").cloned().unwrap_or_default()),
                };
            }
        }
    };
    let client = json!({ "name": SESSION, "version": env!("CARGO_PKG_VERSION") });
    ask(
        1,
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
    )?;
    let tools = ask(2, "tools/list", json!({}))?;
    let tools = tools.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = tools.iter().filter_map(name).collect();
    let search = ["memory_search", "graft_retrieve"]
        .into_iter()
        .find(|search| names.iter().any(|name| name == search));
    let search = search.ok_or_else(|| Error::unavailable("have no search"))?;
    let found = ask(3, "tools/call", json!({ "name": search, "arguments": { "text": "setup" } }))?;
    if found.get("isError") == Some(&json!(true)) {
        let why = found.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        return Err(Error::unavailable(format!("cannot search: {why}")));
    }
    Ok(format!("answer ({})", plural(names.len() as u64, "tool")))
}

/// Runs the command of an assistant's hook as at the start of a session.
fn hook(context: &CommandContext, file: &Path) -> Result<String> {
    let text = settings_file::read(file)?.unwrap_or_default();
    let document = json_file::value(&text).map_err(|error| unread(file, &error))?;
    let entries = document.pointer("/hooks/SessionStart").and_then(Value::as_array);
    let own = entries.into_iter().flatten().find(|entry| super::hook_entries::is_own(entry));
    let line = own.and_then(|entry| entry.pointer("/hooks/0/command")?.as_str().map(str::to_owned));
    let line = line.ok_or_else(|| Error::not_found(format!("are not in `{}`", file.display())))?;
    let started = Instant::now();
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    let mut child = with_little_environment(&mut command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::unavailable(format!("do not start: {error}")))?;
    let message =
        json!({ "session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup", "cwd": "/" });
    if let Some(mut to) = child.stdin.take() {
        // A failed write is ignored, because the exit status of the hook reports the failure.
        let _ = to.write_all(message.to_string().as_bytes());
    }
    let done =
        child.wait_with_output().map_err(|error| Error::unavailable(format!("do not end: {error}")))?;
    let (took, output) = (started.elapsed(), String::from_utf8_lossy(&done.stdout));
    let is_answer = output.is_empty() || serde_json::from_str::<Value>(&output).is_ok();
    if !done.status.success() || !is_answer {
        return Err(Error::unavailable(format!("do not answer: {}", done.status)));
    }
    // The stored session state proves that the call has reached the daemon.
    let state = context.paths.hook_sessions().join(format!("{SESSION}.json"));
    if !state.exists() {
        return Err(Error::unavailable("do not reach the daemon")
            .hint(format!("see `{}` for the reason", context.paths.hook_log().display())));
    }
    let _ = std::fs::remove_file(state);
    Ok(format!("answer in {} ms", took.as_millis()))
}

/// Removes most environment variables, because assistants pass on only a few.
fn with_little_environment(command: &mut Command) -> &mut Command {
    let passed = ["HOME", "PATH", "USER", "LANG"];
    command.env_clear().envs(passed.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
}

fn unread(file: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::config(format!("`{}` cannot be read: {error}", file.display()))
}
