//! A program as a model: the prompt on its standard input, the reply on its standard output.
//!
//! The program runs in an empty folder and in its own process group. The whole group is killed at the
//! deadline, on cancellation, and when the program itself has ended. If this process is killed, the next one
//! kills the program (`child_process.rs`). The program gets a few common environment variables and those that
//! the settings name, so it does not see the keys of other providers.

mod envelope;
mod pipe;

use super::api_key::ApiKey;
use super::conversation::transcript;
use super::environment::{Environment, path_of};
use super::http::{CallProgress, backoff};
use super::usage::{Usage, add_lost_attempts, cost_bound, estimate, upper_bound};
use pipe::{OutputLimit, Pipe};
use poc_agent::child_process::ChildProcess;
use poc_agent::model::{CallCost, CallError, CallFailure, Model, Reply, Request};
use poc_config::{CallsConfig, ProviderConfig};
use poc_graph::cancellation::WaitOutcome;
use poc_graph::retry::retry;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Number of bytes at the end of standard error that are kept.
const STDERR_TAIL: usize = 8192;
/// Maximum number of characters of the program's output in a message.
const MESSAGE_CHARS: usize = 500;
/// Environment variables that every program inherits if they are set.
const INHERITED_VARIABLES: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "TZ", "TMPDIR"];
/// The environment variable with the name of the calling agent, for the program and its child processes.
pub const AGENT_VARIABLE: &str = "POC_MEMORY_AGENT";
/// How long to wait for the pipes to close after the program has ended.
const PIPE_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The provider `command`.
pub(super) struct CommandModel {
    model: poc_config::ModelConfig,
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    key: Option<ApiKey>,
    calls: CallsConfig,
}

impl CommandModel {
    /// The provider, once its program has been found.
    ///
    /// # Errors
    /// One line that says which setting to change.
    pub(super) fn new(
        model: poc_config::ModelConfig,
        provider: &ProviderConfig,
        calls: CallsConfig,
        environment: Environment<'_>,
    ) -> Result<CommandModel, String> {
        let Some((program, arguments)) = provider.command.as_deref().and_then(<[String]>::split_first) else {
            return Err(format!(
                "put `providers.{}.command = [\"program\", \"argument\"]` into config.toml",
                model.provider
            ));
        };
        let program = find_program(program, environment)?;
        let key = ApiKey::find(provider, environment)?;
        let own = provider.key_env.iter().chain(provider.env.iter().flatten()).map(String::as_str);
        let variables = INHERITED_VARIABLES.into_iter().chain(own);
        let variables = variables.filter_map(|name| Some((name.to_owned(), environment(name)?))).collect();
        Ok(CommandModel { model, program, arguments: arguments.to_vec(), variables, key, calls })
    }
}

/// The path of the program. It is resolved here because calls run in another folder.
fn find_program(program: &str, environment: Environment<'_>) -> Result<PathBuf, String> {
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
        .ok_or_else(|| format!("install `{program}`, or use its absolute path; it is not on the `PATH`"))
}

impl Model for CommandModel {
    fn max_cost(&self, request: &Request<'_>) -> Option<f64> {
        // Without prices in the settings, only the program may report its cost, and only after the call.
        self.model.input_price.and_then(|_| cost_bound(&self.model, &self.calls, request))
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let progress = CallProgress::start(request.timeout);
        let attempts = request.attempts.max(1);
        let mut spent = Vec::new();
        let before_retry = |failures: u32, (mut failed, retryable): (CallFailure, bool)| {
            spent.append(&mut failed.spent);
            let delay = backoff(&self.calls).jittered_delay(failures, request.rng.next_u64()).std();
            if !retryable || failures >= attempts || delay >= progress.remaining() {
                return Err(failed.error);
            }
            let (provider, delay_ms) = (&self.model.provider, delay.as_millis() as u64);
            tracing::info!(provider, attempt = failures, delay_ms, "{}", failed.error);
            match request.cancellation.wait(delay, || None::<()>) {
                WaitOutcome::TimedOut => Ok(()),
                _ => Err(CallError::Stopped),
            }
        };
        match retry(|| self.attempt(request, &progress), before_retry) {
            Ok(mut reply) => {
                spent.append(&mut reply.spent);
                Ok(Reply { spent, ..reply })
            }
            Err(error) => Err(CallFailure { error, spent }),
        }
    }
}

impl CommandModel {
    /// Runs the program once. The flag of a failure says whether a retry may succeed.
    fn attempt(&self, request: &Request<'_>, progress: &CallProgress) -> Result<Reply, (CallFailure, bool)> {
        if request.cancellation.is_cancelled() {
            return Err((CallError::Stopped.into(), false));
        }
        let setup = |error: String| (CallFailure::from(CallError::Setup(error)), false);
        let folder = tempfile::tempdir().map_err(|error| {
            setup(format!("the folder for `{}` cannot be created: {error}", self.model.provider))
        })?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(folder.path())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env(AGENT_VARIABLE, request.agent)
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
            (request.on_child_process)(program);
        }
        let running =
            RunningProgram::start(&mut child, transcript(request), self.calls.max_answer_bytes, request)
                .map_err(|error| (error.into(), false))?;
        let waited = running.wait(request, progress.remaining());
        let status = running.end(&mut child);
        let (outcome, lost) = match waited {
            WaitOutcome::Cancelled => (Err(CallError::Stopped.into()), 1),
            WaitOutcome::TimedOut => (Err(progress.timeout_error().into()), 1),
            WaitOutcome::Ready(()) => self.read(status, &running, request),
        };
        let outcome = add_lost_attempts(outcome, lost, || upper_bound(&self.model, &self.calls, request));
        // A retry would exceed the limit again.
        outcome.map_err(|failed| {
            let retryable = matches!(failed.error, CallError::Down(_)) && lost == 0;
            (failed, retryable)
        })
    }

    /// Interprets the output of the program: the reply or failure, and the number of lost responses.
    fn read(
        &self,
        status: Option<ExitStatus>,
        running: &RunningProgram,
        request: &Request<'_>,
    ) -> (Result<Reply, CallFailure>, u32) {
        // Pipes that a grandchild keeps open must not delay the call any longer.
        request.cancellation.wait(PIPE_CLOSE_TIMEOUT, || {
            (running.output.is_closed() && running.errors.is_closed()).then_some(())
        });
        if running.output.overflowed() {
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
            let message = reported.unwrap_or(if errors.trim().is_empty() { output.clone() } else { errors });
            let error = self.classify(&format!("ended with {how}"), &message);
            let spent = self.reported_cost(&output).into_iter().collect();
            return (Err(CallFailure { error, spent }), 0);
        }
        let spent = vec![self.reported_cost(&output).unwrap_or_else(|| {
            let sent = transcript(request).len();
            estimate(&self.model, &self.calls, request, sent, output.len())
        })];
        let outcome = match envelope::read(&output) {
            Ok(reply) => {
                Ok(Reply { spent, secret: self.key.as_ref().map(|key| key.secret().clone()), ..reply })
            }
            Err(message) => {
                let error = self.classify("reports", &message);
                Err(CallFailure { error, spent })
            }
        };
        (outcome, 0)
    }

    /// The cost that an envelope reports. If it reports tokens only, their cost follows from the prices of the settings.
    fn reported_cost(&self, output: &str) -> Option<CallCost> {
        let reported = envelope::spent(output)?;
        if reported.cost.is_some() {
            return Some(reported);
        }
        let (input, output) = (reported.tokens_in?, reported.tokens_out?);
        Some(Usage { input, output, ..Usage::default() }.spent(&self.model, 1.0, 1.0))
    }

    /// Maps a message of the program to an error. The messages of `claude` are known
    /// (<https://code.claude.com/docs/en/errors>); others mean that the provider is down.
    fn classify(&self, how: &str, output: &str) -> CallError {
        let output = self.key.as_ref().map_or_else(|| output.to_owned(), |key| key.secret().redact(output));
        let message = format!("`{}` {how}: {}", self.model.provider, last_chars(&output));
        let output = output.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| output.contains(word));
        if names(&["credit balance is too low", "usage limit reached", "insufficient_quota"]) {
            CallError::NoCredit(message)
        } else if names(&["invalid api key", "please run /login", "authentication_error"]) {
            CallError::KeyRefused(message)
        } else {
            CallError::Down(message)
        }
    }
}

/// A running program with its pipes.
struct RunningProgram {
    group: Option<Pid>,
    ended: Arc<AtomicBool>,
    output: Pipe,
    errors: Pipe,
}

impl RunningProgram {
    fn start(
        child: &mut Child,
        prompt: String,
        limit: usize,
        request: &Request<'_>,
    ) -> Result<RunningProgram, CallError> {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let output = Pipe::read(child.stdout.take(), OutputLimit::Head(limit), request.cancellation.clone());
        let errors =
            Pipe::read(child.stderr.take(), OutputLimit::Tail(STDERR_TAIL), request.cancellation.clone());
        let ended = Arc::new(AtomicBool::new(false));
        let running = RunningProgram { group, ended: ended.clone(), output, errors };
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
                // `NOWAIT` leaves the process a zombie, so its id and its group's are not reused before `end`.
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

    /// Waits until the program ends, writes too much, `limit` passes, or the call is cancelled.
    fn wait(&self, request: &Request<'_>, limit: Duration) -> WaitOutcome<()> {
        request
            .cancellation
            .wait(limit, || (self.output.overflowed() || self.ended.load(Ordering::Acquire)).then_some(()))
    }

    /// Kills the process group and returns the program's exit status.
    fn end(&self, child: &mut Child) -> Option<ExitStatus> {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait().ok()
    }
}

/// The last [`MESSAGE_CHARS`] characters of an output as one line.
fn last_chars(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let cut = line.chars().count().saturating_sub(MESSAGE_CHARS);
    match (line.is_empty(), cut) {
        (true, _) => "it wrote nothing".into(),
        (false, 0) => line,
        (false, cut) => format!("… {}", line.chars().skip(cut).collect::<String>()),
    }
}

#[cfg(test)]
mod tests;
