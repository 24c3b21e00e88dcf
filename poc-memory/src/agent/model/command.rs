//! A program as a model: the prompt on its standard input, the reply on its standard output.
//!
//! It runs in an empty folder of its own and in a process group of its own, which is killed as a
//! whole when the time is over, when the call is stopped, and when the program itself has ended.

mod envelope;
mod pipe;

use super::conversation::transcript;
use super::cost::{Spent, with_lost};
use super::key::Environment;
use super::path_of;
use super::stop::Waited;
use super::{CallError, Failed, Model, Reply, Request};
use crate::config::{self, Calls, Provider};
use pipe::{End, Pipe};
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
/// How long the pipes of a program that has ended may stay open.
const PIPES_CLOSE: Duration = Duration::from_secs(2);

/// The provider `command`.
pub(super) struct CommandModel {
    model: config::Model,
    program: PathBuf,
    arguments: Vec<String>,
    calls: Calls,
}

impl CommandModel {
    /// The provider with its program found; an error is one line that would help.
    pub(super) fn new(
        model: config::Model,
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
        Ok(CommandModel { model, program, arguments: arguments.to_vec(), calls })
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
    fn call(&self, request: &Request<'_>) -> Result<Reply, Failed> {
        if request.stop.is_stopped() {
            return Err(CallError::Stopped.into());
        }
        let folder = tempfile::tempdir().map_err(|error| {
            CallError::Setup(format!("no folder can be made for `{}`: {error}", self.model.provider))
        })?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                CallError::Setup(format!(
                    "`{}` of `{}` cannot be started: {error}",
                    self.program.display(),
                    self.model.provider
                ))
            })?;
        let running = Running::start(&mut child, transcript(request), self.calls.max_answer_bytes, request)?;
        let waited = running.wait(request);
        let status = running.end(&mut child);
        let (outcome, lost) = match waited {
            Waited::Stopped => (Err(CallError::Stopped.into()), 1),
            Waited::TimedOut => (Err(CallError::TimedOut(request.timeout).into()), 1),
            Waited::Came(()) => self.read(status, &running, request),
        };
        with_lost(outcome, lost, || Spent::most(&self.model, &self.calls, request))
    }
}

impl CommandModel {
    /// What the program answered, and how many answers were lost.
    fn read(
        &self,
        status: Option<ExitStatus>,
        running: &Running,
        request: &Request<'_>,
    ) -> (Result<Reply, Failed>, u32) {
        // What a grandchild still holds open is not waited for.
        request
            .stop
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
            let said = tail(if errors.trim().is_empty() { &output } else { &errors });
            let error = CallError::Down(format!("`{}` ended with {how}: {said}", self.model.provider));
            let spent = envelope::spent(&output).into_iter().collect();
            return (Err(Failed { error, spent }), 0);
        }
        let spent = envelope::spent(&output);
        // What has prices and tells no usage counts as much as it may have been.
        let most = || Spent::most(&self.model, &self.calls, request);
        let spent = vec![spent.unwrap_or_else(most)];
        let outcome = match envelope::read(&output) {
            Ok(reply) => Ok(Reply { spent, ..reply }),
            Err(said) => {
                let error = CallError::Down(format!("`{}` reports: {said}", self.model.provider));
                Err(Failed { error, spent })
            }
        };
        (outcome, 0)
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
        let output = Pipe::read(child.stdout.take(), End::Head(limit), request.stop.clone());
        let errors = Pipe::read(child.stderr.take(), End::Tail(STDERR_TAIL), request.stop.clone());
        let ended = Arc::new(AtomicBool::new(false));
        let running = Running { group, ended: ended.clone(), output, errors };
        let input = child.stdin.take();
        let feed = move || {
            if let Some(mut input) = input {
                // A program may end without reading its input.
                let _ = input.write_all(prompt.as_bytes());
            }
        };
        let stop = request.stop.clone();
        let watch = move || {
            if let Some(pid) = group {
                // The process stays a zombie, so its id and its group's stay its own until it is
                // killed and waited for below.
                let _ = rustix::io::retry_on_intr(|| {
                    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                });
            }
            ended.store(true, Ordering::Release);
            stop.wake();
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

    /// Waits for the program's end, for too much output, for the deadline or for a stop.
    fn wait(&self, request: &Request<'_>) -> Waited<()> {
        request.stop.wait(request.timeout.std(), || {
            (self.output.is_over() || self.ended.load(Ordering::Acquire)).then_some(())
        })
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
