//! `hook`: what assistants call at the events of a session. It asks the daemon and must be fast: `main` calls it before
//! the command line is built, it reads no settings and opens no store.
//!
//! It always exits with 0 within two seconds, and prints either nothing or an answer in the form that Claude
//! Code and Codex share. `hooks.log` records the result of every call.

mod assistant;
mod log;

use super::command_context::CommandContext;
use super::daemon;
use super::local::LocalCommand;
use crate::client::Client;
use crate::ops::{Hook, HookEvent, HookOutput, Principal};
use assistant::AssistantInput;
use clap::ValueEnum as _;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_graph::json;
use poc_graph::time::Span;
use poc_models::AGENT_VARIABLE;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Time limit of a call. Assistants wait for its end.
const LIMIT: Duration = Duration::from_secs(2);

/// Time limit within a call for a daemon that was just started to answer.
const START_LIMIT: Duration = Duration::from_millis(1500);

/// Maximum size of the assistant's message in bytes.
const MAX_INPUT: u64 = 16 << 20;

/// Maximum size of an answer of the daemon in bytes. The settings bound its text to 9,500 characters.
const MAX_ANSWER: usize = 24 << 20;

/// Answer a hook of an assistant: reads its message on standard input and prints what the memory adds
///
/// `poc-memory setup` and `poc-memory plugin` register it. It asks the daemon, and starts one if none runs. It exits
/// with 0 within two seconds; `hooks.log` beside the daemon's log says why nothing was added.
#[derive(Debug, clap::Args)]
pub(super) struct HookCall {
    /// When it is called
    #[arg(value_enum)]
    event: HookEvent,
}

/// Empty: the answer is printed in the assistant's form.
#[derive(Debug, Serialize)]
pub(super) struct HookCallOutput {}

impl LocalCommand for HookCall {
    const NAME: &'static str = "hook";
    // A call by an agent is allowed, but prints nothing.
    const FOR_AGENTS: bool = true;
    type Output = HookCallOutput;

    fn run(self, context: &CommandContext) -> Result<HookCallOutput> {
        answer(self.event, context.globals.profile.clone());
        Ok(HookCallOutput {})
    }

    fn show(_: &HookCallOutput) -> String {
        String::new()
    }
}

/// Runs the command line if it is a plain call of `hook`; `None` for all other command lines, including
/// `hook --help` and invalid calls of `hook`.
pub(super) fn run_early(arguments: &[OsString]) -> Option<ExitCode> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str());
    let (mut profile, mut event, mut is_hook) = (None, None, false);
    while let Some(word) = words.next() {
        match (word?, is_hook) {
            ("--profile", _) => profile = Some(words.next()??.to_owned()),
            ("hook", false) => is_hook = true,
            (word, _) if word.starts_with("--profile=") => {
                profile = word.strip_prefix("--profile=").map(str::to_owned);
            }
            (word, true) if event.is_none() => event = Some(HookEvent::from_str(word, false).ok()?),
            _ => return None,
        }
    }
    answer(event?, profile);
    Some(ExitCode::SUCCESS)
}

/// Answers a hook on standard output, and writes a line of the log.
#[expect(clippy::disallowed_methods, reason = "the log says when")]
fn answer(event: HookEvent, profile: Option<String>) {
    let started = Instant::now();
    let Ok(paths) = Paths::from_environment(profile.as_deref()) else { return };
    let (send, receive) = mpsc::channel();
    let asking = paths.clone();
    // Runs on a thread, because reading and connecting may block forever.
    std::thread::spawn(move || {
        let mut session = String::new();
        let outcome = ask(event, &asking, &mut session);
        // The receiver has been dropped if the time limit has passed.
        let _ = send.send((session, outcome));
    });
    let (session, outcome) = match receive.recv_timeout(LIMIT) {
        Ok(answered) => answered,
        Err(_) => (String::new(), Err(Error::unavailable("there was no answer within two seconds"))),
    };
    let line = match &outcome {
        Ok(HookOutput { context: Some(context), notes, .. }) => {
            format!("added {} characters: {}", context.chars().count(), notes.join(" "))
        }
        Ok(HookOutput { why, .. }) => format!("nothing: {why}"),
        Err(error) => format!("nothing: {}", error.line()),
    };
    if let Some(context) = outcome.ok().and_then(|output| output.context) {
        let text = assistant::answer(event, &context);
        let mut stdout = std::io::stdout().lock();
        // A failed write is ignored, because the assistant has exited.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
    log::write(&paths, std::time::SystemTime::now(), started.elapsed(), event.name(), &session, &line);
}

/// Asks the daemon, and stores the id of the session for the log.
fn ask(event: HookEvent, paths: &Paths, session: &mut String) -> Result<HookOutput> {
    let silent = |why: &str| Ok(HookOutput { why: why.to_owned(), ..HookOutput::default() });
    if std::env::var_os(AGENT_VARIABLE).is_some_and(|agent| !agent.is_empty()) {
        return silent("the caller is an agent of this memory");
    }
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_INPUT)
        .read_to_end(&mut text)
        .map_err(|error| Error::unavailable(format!("standard input cannot be read: {error}")))?;
    let input = AssistantInput::read(&text)?;
    input.session_id.clone_into(session);
    let request = Hook {
        event,
        session: input.session_id,
        folder: input.cwd,
        transcript: input.transcript_path,
        prompt: input.prompt,
        source: input.source,
        subagent: input.agent_id.is_some(),
    };
    let mut client = match connect(paths)? {
        Some(client) => client,
        None => match started(paths)? {
            Some(client) => client,
            None => return silent("no daemon ran; one was started and is not ready yet"),
        },
    };
    client.act_for(Principal::Model);
    let answer = client.call("hook", json::encode(&request)?, &|_| {})?;
    json::decode_answer("hook", &answer)
}

fn connect(paths: &Paths) -> Result<Option<Client>> {
    Client::connect(&paths.socket(), MAX_ANSWER, Span::SECOND)
}

/// Starts a daemon and connects to it; `None` if it needs longer than the limit.
#[expect(clippy::disallowed_methods, reason = "a socket that appears sends no signal")]
fn started(paths: &Paths) -> Result<Option<Client>> {
    let since = Instant::now();
    daemon::start(paths)?;
    while since.elapsed() < START_LIMIT {
        std::thread::sleep(Duration::from_millis(10));
        if let Some(client) = connect(paths)? {
            return Ok(Some(client));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::run_early;
    use std::ffi::OsString;

    #[test]
    fn only_plain_calls_are_run_before_the_command_line_is_built() {
        // A plain call would answer, so only the others can be tried here.
        for line in [
            "poc-memory",
            "poc-memory hook",
            "poc-memory hook --help",
            "poc-memory hook x",
            "poc-memory search hook",
            "poc-memory hook stop x",
            "poc-memory --json hook stop",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(run_early(&words).is_none(), "{line}");
        }
    }
}
