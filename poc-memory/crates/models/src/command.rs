//! A program as a model: the prompt on its standard input, the reply on its standard output.
//!
//! It runs in an empty folder of its own and in a process group of its own, which is killed as a
//! whole when the time is over, when the call is stopped, and when the program itself has ended. One that is
//! still there when this process was killed is ended by the next (`child_process.rs`). Of the
//! environment it gets what a program needs to find its own things, and what the settings name: the keys
//! of other providers are none of its business.

mod envelope;
mod pipe;

use super::conversation::transcript;
use super::environment::{Environment, path_of};
use super::http::{Progress, backoff};
use super::key::Key;
use super::usage::{cost_bound, upper_bound, with_lost};
use pipe::{End, Pipe};
use poc_agent::child_process::ChildProcess;
use poc_agent::model::{CallError, CallFailure, Model, Reply, Request, WaitOutcome};
use poc_config::{Calls, Provider};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of the end of standard error that are kept.
const STDERR_TAIL: usize = 8192;
/// Characters of it that a message shows.
const SAID: usize = 500;
/// Variables every program gets, when they are set.
const USUAL: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR"];
/// Tells the program, and what it starts, which agent calls.
pub const MARKER: &str = "POC_MEMORY_AGENT";
/// How long the pipes of a program that has ended may stay open.
const PIPES_CLOSE: Duration = Duration::from_secs(2);

/// The provider `command`.
pub(super) struct CommandModel {
    model: poc_config::Model,
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    key: Option<Key>,
    calls: Calls,
}

impl CommandModel {
    /// The provider with its program found; an error is one line that would help.
    pub(super) fn new(
        model: poc_config::Model,
        provider: &Provider,
        calls: Calls,
        environment: Environment<'_>,
    ) -> Result<CommandModel, String> {
        let Some((program, arguments)) = provider.command.as_deref().and_then(<[String]>::split_first) else {
            return Err(format!(
                "put `providers.{}.command = [\"program\", \"argument\"]` into config.toml",
                model.provider
            ));
        };
        let program = find(program, environment)?;
        let key = Key::find(provider, environment)?;
        let own = provider.key_env.iter().chain(provider.env.iter().flatten()).map(String::as_str);
        let variables = USUAL.into_iter().chain(own);
        let variables = variables.filter_map(|name| Some((name.to_owned(), environment(name)?))).collect();
        Ok(CommandModel { model, program, arguments: arguments.to_vec(), variables, key, calls })
    }
}

/// The program's file: the calls run in another folder, so it has to be found before.
fn find(program: &str, environment: Environment<'_>) -> Result<PathBuf, String> {
    if program.contains('/') {
        let path = path_of(program, environment)?;
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!("the program `{program}` does not exist"))
        };
    }
    let path = environment("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_absolute() && file.is_file())
        .ok_or_else(|| {
            format!("install `{program}`, or name it with its whole path: it is not on the `PATH`")
        })
}

impl Model for CommandModel {
    fn most(&self, request: &Request<'_>) -> Option<f64> {
        // Without prices the program itself may tell what it took, and nobody knows before.
        self.model.input_price.and_then(|_| cost_bound(&self.model, &self.calls, request))
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = Progress::begun(request.timeout);
        let attempts = request.attempts.max(1);
        let mut spent = Vec::new();
        let mut attempt = 1;
        loop {
            let (mut failed, may_pass) = match self.attempt(request, &progress) {
                Ok(mut reply) => {
                    spent.append(&mut reply.spent);
                    return Ok(Reply { spent, ..reply });
                }
                Err(failure) => failure,
            };
            spent.append(&mut failed.spent);
            let delay = backoff(&self.calls, attempt, request.chance.bits());
            if !may_pass || attempt == attempts || delay >= progress.remaining() {
                return Err(CallFailure { spent, ..failed });
            }
            let (provider, delay_ms) = (&self.model.provider, delay.as_millis() as u64);
            tracing::info!(provider, attempt, delay_ms, "{}", failed.error);
            if request.cancellation.wait(delay, || None::<()>) != WaitOutcome::TimedOut {
                return Err(CallFailure { error: CallError::Stopped, spent });
            }
            attempt += 1;
        }
    }
}

impl CommandModel {
    /// Runs the program once; a failure comes with whether it may pass.
    fn attempt(&self, request: &Request<'_>, progress: &Progress) -> Result<Reply, (CallFailure, bool)> {
        if request.cancellation.is_cancelled() {
            return Err((CallError::Stopped.into(), false));
        }
        let setup = |error: String| (CallFailure::from(CallError::Setup(error)), false);
        let folder = tempfile::tempdir().map_err(|error| {
            setup(format!("no folder can be made for `{}`: {error}", self.model.provider))
        })?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(folder.path())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env(MARKER, request.agent)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                setup(format!(
                    "`{}` of `{}` cannot be started: {error}",
                    self.program.display(),
                    self.model.provider
                ))
            })?;
        if let Some(program) = ChildProcess::of(child.id()) {
            (request.began)(program);
        }
        let running = Running::start(&mut child, transcript(request), self.calls.max_answer_bytes, request)
            .map_err(|error| (error.into(), false))?;
        let waited = running.wait(request, progress.remaining());
        let status = running.end(&mut child);
        let (outcome, lost) = match waited {
            WaitOutcome::Cancelled => (Err(CallError::Stopped.into()), 1),
            WaitOutcome::TimedOut => (Err(progress.passed().into()), 1),
            WaitOutcome::Ready(()) => self.read(status, &running, request),
        };
        let outcome = with_lost(outcome, lost, || upper_bound(&self.model, &self.calls, request));
        // What was too long will be too long again.
        outcome.map_err(|failed| {
            let may_pass = matches!(failed.error, CallError::Down(_)) && lost == 0;
            (failed, may_pass)
        })
    }

    /// What the program answered, and how many answers were lost.
    fn read(
        &self,
        status: Option<ExitStatus>,
        running: &Running,
        request: &Request<'_>,
    ) -> (Result<Reply, CallFailure>, u32) {
        // What a grandchild still holds open is not waited for.
        request
            .cancellation
            .wait(PIPES_CLOSE, || (running.output.is_closed() && running.errors.is_closed()).then_some(()));
        if running.output.is_over() {
            let error = CallError::Down(format!(
                "`{}` wrote more than the {} bytes of `calls.max-answer-bytes`",
                self.model.provider, self.calls.max_answer_bytes
            ));
            return (Err(error.into()), 1);
        }
        let output = running.output.text();
        if !status.is_some_and(|status| status.success()) {
            let how = status.map_or_else(|| "an unknown status".into(), |status| status.to_string());
            let errors = running.errors.text();
            let reported = envelope::read(&output).err();
            let said = reported.unwrap_or(if errors.trim().is_empty() { output.clone() } else { errors });
            let error = self.down(&format!("ended with {how}"), &said);
            let spent = envelope::spent(&output).into_iter().collect();
            return (Err(CallFailure { error, spent }), 0);
        }
        let spent = envelope::spent(&output);
        // What has prices and tells no usage counts as much as it may have been.
        let most = || upper_bound(&self.model, &self.calls, request);
        let spent = vec![spent.unwrap_or_else(most)];
        let outcome = match envelope::read(&output) {
            Ok(reply) => Ok(Reply { spent, ..reply }),
            Err(said) => {
                let error = self.down("reports", &said);
                Err(CallFailure { error, spent })
            }
        };
        (outcome, 0)
    }

    /// What a program's last words mean; those of `claude` are known
    /// (<https://code.claude.com/docs/en/errors>).
    fn down(&self, how: &str, said: &str) -> CallError {
        let said = self.key.as_ref().map_or_else(|| said.to_owned(), |key| key.scrub(said));
        let message = format!("`{}` {how}: {}", self.model.provider, tail(&said));
        let said = said.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if names(&["credit balance is too low", "usage limit reached", "insufficient_quota"]) {
            CallError::NoCredit(message)
        } else if names(&["invalid api key", "please run /login", "authentication_error"]) {
            CallError::KeyRefused(message)
        } else {
            CallError::Down(message)
        }
    }
}

/// A started program with its pipes.
struct Running {
    group: Option<Pid>,
    ended: Arc<AtomicBool>,
    output: Pipe,
    errors: Pipe,
}

impl Running {
    fn start(
        child: &mut Child,
        prompt: String,
        limit: usize,
        request: &Request<'_>,
    ) -> Result<Running, CallError> {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let output = Pipe::read(child.stdout.take(), End::Head(limit), request.cancellation.clone());
        let errors = Pipe::read(child.stderr.take(), End::Tail(STDERR_TAIL), request.cancellation.clone());
        let ended = Arc::new(AtomicBool::new(false));
        let running = Running { group, ended: ended.clone(), output, errors };
        let input = child.stdin.take();
        let feed = move || {
            if let Some(mut input) = input {
                // A program may end without reading its input.
                let _ = input.write_all(prompt.as_bytes());
            }
        };
        let cancellation = request.cancellation.clone();
        let watch = move || {
            if let Some(pid) = group {
                // The process stays a zombie, so its id and its group's stay its own until it is
                // killed and waited for below.
                let _ = rustix::io::retry_on_intr(|| {
                    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                });
            }
            ended.store(true, Ordering::Release);
            cancellation.wake();
        };
        let started = std::thread::Builder::new()
            .name("model-input".into())
            .spawn(feed)
            .and_then(|_| std::thread::Builder::new().name("model-watch".into()).spawn(watch));
        if let Err(error) = started {
            running.end(child);
            return Err(CallError::Setup(format!("no thread can be started for the call: {error}")));
        }
        Ok(running)
    }

    /// Waits for the program's end, for too much output, for the deadline or for cancellation.
    fn wait(&self, request: &Request<'_>, limit: Duration) -> WaitOutcome<()> {
        request
            .cancellation
            .wait(limit, || (self.output.is_over() || self.ended.load(Ordering::Acquire)).then_some(()))
    }

    /// Kills what is left of the group and collects the program's status.
    fn end(&self, child: &mut Child) -> Option<ExitStatus> {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait().ok()
    }
}

/// The end of what a program said, as one line.
fn tail(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let cut = line.chars().count().saturating_sub(SAID);
    match (line.is_empty(), cut) {
        (true, _) => "it wrote nothing".into(),
        (false, 0) => line,
        (false, cut) => format!("… {}", line.chars().skip(cut).collect::<String>()),
    }
}

#[cfg(test)]
mod tests;
