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
use crate::ops::{Hook, HookEvent, HookOutput, Principal, Terminal};
use assistant::AssistantInput;
use clap::ValueEnum as _;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_graph::json;
use poc_graph::time::Span;
use poc_models::AGENT_VARIABLE;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _, Write as _};
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

    fn show(_: &HookCallOutput, _: &Terminal) -> String {
        String::new()
    }
}

/// Runs the command line if it calls `hook`; `None` for all other command lines, including `hook --help`.
///
/// An invalid call also exits with 0, because Claude Code would block the prompt after an exit with 2. A plugin that is
/// newer than this program may make invalid calls.
pub(super) fn run_early(arguments: &[OsString]) -> Option<ExitCode> {
    let EarlyCall { event, profile } = EarlyCall::parse(arguments)?;
    match event {
        Ok(event) => answer(event, profile),
        Err(error) => report(&error, profile.as_deref()),
    }
    Some(ExitCode::SUCCESS)
}

/// A call of `hook`, read without the command-line parser.
#[derive(Debug, PartialEq)]
struct EarlyCall {
    event: Result<HookEvent>,
    profile: Option<String>,
}

impl EarlyCall {
    /// `None` if the command line does not call `hook`, or asks for its help.
    fn parse(arguments: &[OsString]) -> Option<EarlyCall> {
        let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
        let (mut profile, mut event, mut is_hook, mut has_tenant) = (None, None, false, false);
        while let Some(word) = words.next() {
            match (word.as_ref(), is_hook) {
                ("--profile", _) => match (words.next(), is_hook) {
                    (Some(name), _) => profile = Some(name.into_owned()),
                    (None, false) => return None,
                    (None, true) => {
                        event = Some(Err(Error::invalid("`--profile` has no value").hint("give a name")));
                        break;
                    }
                },
                (word, _) if word.starts_with("--profile=") => {
                    profile = word.strip_prefix("--profile=").map(str::to_owned);
                }
                ("--tenant", _) => {
                    words.next();
                    has_tenant = true;
                }
                (word, _) if word.starts_with("--tenant=") => has_tenant = true,
                // These options have no effect on a hook.
                ("--json" | "--quiet" | "-q" | "--verbose" | "-v", _) => {}
                ("hook", false) => is_hook = true,
                (_, false) | ("--help" | "-h", true) => return None,
                (word, true) => match HookEvent::from_str(word, false) {
                    Ok(known) if event.is_none() => event = Some(Ok(known)),
                    _ => {
                        let message = format!("`hook` does not know the argument `{word}`");
                        event = Some(Err(Error::invalid(message).hint("see `poc-memory hook --help`")));
                        break;
                    }
                },
            }
        }
        if !is_hook {
            return None;
        }
        if has_tenant {
            let error = Error::invalid("`hook` does not accept `--tenant`");
            event = Some(Err(error.hint("leave it out: hooks serve the default tenant")));
        }
        let missing = || Err(Error::invalid("`hook` needs an event").hint("see `poc-memory hook --help`"));
        Some(EarlyCall { event: event.unwrap_or_else(missing), profile })
    }
}

/// Writes the error of an invalid call to the log, and to a terminal if a person sees one.
#[expect(clippy::disallowed_methods, reason = "the log says when")]
fn report(error: &Error, profile: Option<&str>) {
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() {
        // A failed write is ignored, because nobody reads it.
        let _ = writeln!(stderr, "{}", error.line());
    }
    if let Ok(paths) = Paths::from_environment(profile) {
        let line = format!("nothing: {}", error.line());
        log::write(&paths, std::time::SystemTime::now(), Duration::ZERO, "-", "", &line);
    }
}

/// Answers a hook on standard output, and writes a line of the log.
#[expect(clippy::disallowed_methods, reason = "the log says when")]
fn answer(event: HookEvent, profile: Option<String>) {
    let started = Instant::now();
    let Ok(paths) = Paths::from_environment(profile.as_deref()) else { return };
    let (send, receive) = mpsc::channel();
    let paths_of_thread = paths.clone();
    // Runs on a thread, because reading and connecting may block forever.
    std::thread::spawn(move || {
        let mut session = String::new();
        let outcome = ask(event, &paths_of_thread, &mut session);
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
        None => match start_and_connect(paths)? {
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
fn start_and_connect(paths: &Paths) -> Result<Option<Client>> {
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
    use super::{EarlyCall, HookEvent};
    use std::ffi::OsString;

    fn parse(line: &str) -> Option<EarlyCall> {
        EarlyCall::parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_call_of_a_hook_is_found_without_the_parser() {
        for (line, event, profile) in [
            ("poc-memory hook stop", HookEvent::Stop, None),
            ("poc-memory hook stop --json", HookEvent::Stop, None),
            ("poc-memory --profile=work hook prompt", HookEvent::Prompt, Some("work")),
            ("poc-memory hook prompt --profile work", HookEvent::Prompt, Some("work")),
        ] {
            let call = EarlyCall { event: Ok(event), profile: profile.map(str::to_owned) };
            assert_eq!(parse(line), Some(call), "{line}");
        }
    }

    #[test]
    fn other_command_lines_are_left_to_the_parser() {
        for line in [
            "poc-memory",
            "poc-memory hook --help",
            "poc-memory hook stop -h",
            "poc-memory search hook",
            "poc-memory --profile hook",
            "poc-memory --tenant hook search",
            "poc-memory --tenant user=ann search hook",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn an_invalid_call_of_a_hook_is_an_error_of_its_own() {
        for (line, message) in [
            ("poc-memory hook", "`hook` needs an event"),
            ("poc-memory hook subagent-stop", "`hook` does not know the argument `subagent-stop`"),
            ("poc-memory hook prompt --foo --help", "`hook` does not know the argument `--foo`"),
            ("poc-memory hook stop stop", "`hook` does not know the argument `stop`"),
            ("poc-memory hook stop --profile", "`--profile` has no value"),
            ("poc-memory --tenant user=ann hook stop", "`hook` does not accept `--tenant`"),
            ("poc-memory hook stop --tenant=user=ann", "`hook` does not accept `--tenant`"),
        ] {
            assert_eq!(parse(line).unwrap().event.unwrap_err().message, message, "{line}");
        }
    }
}
