//! Notifies a person of problems: runs the command and posts to the address of `[notify]`.
//!
//! A message is sent when there is a problem that was not reported yet, and when the last problem is solved, also by
//! a restart of the daemon.
//! The same problem is reported again at most once per `every`. Problems are compared without their numbers
//! and times, which change constantly, but names keep their digits.

use crate::problems;
use crate::reported_problems::{self, ReportedProblems};
use crate::state::DaemonState;
use poc_config::schedule::Schedule;
use poc_config::{NotifyConfig, endpoint};
use poc_graph::error::{Error, Result};
use poc_graph::retry::Backoff;
use poc_graph::time::{Span, Timestamp};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How often the problems are checked.
const POLL: Duration = Duration::from_secs(5);

/// How often the command is polled for its end.
const CHILD_POLL: Duration = Duration::from_millis(20);

/// Minimum time between two messages. It doubles with every failed delivery, up to `every` of the settings.
const MIN_PAUSE: Span = Span::MINUTE;

/// Maximum number of problems in one message.
const MAX_PROBLEMS: usize = 50;

/// A message to a person.
#[derive(Debug, PartialEq, Serialize)]
struct Notification<'a> {
    /// The problems and waiting decisions; empty when everything is solved.
    problems: &'a [String],
    store: String,
    at: Timestamp,
}

/// Decides when to send a message to one recipient.
#[derive(Debug, Default)]
struct Notifier {
    /// The ids of the problems of the last delivered message that are not solved yet. An earlier daemon may have sent
    /// it.
    reported: BTreeSet<String>,
    /// When each problem was last reported.
    reported_at: BTreeMap<String, Timestamp>,
    /// When the last message was sent.
    last: Option<Timestamp>,
    /// Number of consecutive messages that were not delivered.
    failures: u32,
    /// Whether one of these messages contained a problem.
    has_undelivered: bool,
}

/// Whether less than `pause` has passed since `since`. If the clock was set back, this is `false`, because messages
/// could otherwise be delayed for a long time.
fn is_within(pause: Span, since: Timestamp, now: Timestamp) -> bool {
    since <= now && now < since.plus(pause)
}

impl Notifier {
    /// Returns the ids of the problems if a message is to be sent now: because a problem was not reported within
    /// the last `every`, or because the last problem is solved.
    fn due(
        &mut self,
        problems: &[String],
        config: &NotifyConfig,
        now: Timestamp,
    ) -> Option<BTreeSet<String>> {
        let current: BTreeSet<String> = problems.iter().map(|problem| id(problem)).collect();
        self.reported_at.retain(|_, at| is_within(config.every, *at, now));
        let is_new =
            |problem: &String| !self.reported.contains(problem) && !self.reported_at.contains_key(problem);
        let is_news = match current.is_empty() {
            true => !self.reported.is_empty() || self.has_undelivered,
            false => current.iter().any(is_new),
        };
        if !is_news {
            // A problem that is solved and comes back is reported again.
            self.reported.retain(|problem| current.contains(problem));
            return None;
        }
        let pause = Backoff { first: MIN_PAUSE, max: config.every }.delay(self.failures);
        if self.last.is_some_and(|last| is_within(pause, last, now)) {
            return None;
        }
        self.last = Some(now);
        Some(current)
    }

    /// Records whether a message with these problems was delivered. If not, the problems of the next attempt are sent.
    fn record_delivery(&mut self, problems: BTreeSet<String>, at: Timestamp, is_delivered: bool) {
        if is_delivered {
            self.reported_at.extend(problems.iter().map(|problem| (problem.clone(), at)));
            (self.reported, self.failures, self.has_undelivered) = (problems, 0, false);
        } else {
            self.failures = self.failures.saturating_add(1);
            self.has_undelivered |= !problems.is_empty();
        }
    }
}

/// The id of a problem, which does not change with its numbers and times.
fn id(problem: &str) -> String {
    reported_problems::id(&without_numbers(problem))
}

/// The problem without its numbers and times: the words outside of backticks that begin with a digit, also after
/// a sign.
fn without_numbers(problem: &str) -> String {
    let without = |text: &str| -> String {
        let is_number =
            |word: &&str| word.trim_start_matches(['(', '-', '$']).starts_with(|c: char| c.is_ascii_digit());
        text.split(' ').filter(|word| !is_number(word)).collect::<Vec<_>>().join(" ")
    };
    let parts = problem.split('`').enumerate();
    // Text between two backticks is a name.
    parts.map(|(place, text)| if place % 2 == 0 { without(text) } else { format!("`{text}`") }).collect()
}

/// The agents that have at least `min` notes to read, one line each; none if `min` is 0.
fn long_backlogs(backlog: &BTreeMap<String, usize>, min: usize) -> Vec<String> {
    let long = backlog.iter().filter(|(_, count)| min > 0 && **count >= min);
    long.map(|(agent, count)| format!("agent `{agent}`: notes to be read: {count}")).collect()
}

/// What a message contains: the problems, what waits for a person, and the agents with at least `min` notes still to
/// read.
fn lines(state: &DaemonState, min: usize) -> Vec<String> {
    let found = problems::find(state);
    // An error of the store is already listed as a problem.
    let mut backlog = problems::backlog(state).unwrap_or_default();
    // An agent that runs only when asked reads nothing by itself, so its backlog is no problem.
    let catalog = state.catalog.load();
    backlog.retain(|name, _| {
        let definition = catalog.agents.get(name).and_then(|entry| entry.definition.as_deref());
        definition.is_some_and(|agent| agent.execution.schedule != Schedule::OnDemand)
    });
    [found.problems, found.waiting, long_backlogs(&backlog, min)].concat()
}

/// Where messages are sent. Each recipient gets its messages independently, so that a server that is down neither
/// delays those of the command nor repeats them.
#[derive(Clone, Copy, Debug)]
enum Recipient {
    Command,
    Webhook,
}

impl Recipient {
    const ALL: [Recipient; 2] = [Recipient::Command, Recipient::Webhook];

    /// The key of its setting.
    fn name(self) -> &'static str {
        match self {
            Recipient::Command => "command",
            Recipient::Webhook => "webhook",
        }
    }

    fn is_configured(self, config: &NotifyConfig) -> bool {
        match self {
            Recipient::Command => !config.command.is_empty(),
            Recipient::Webhook => !config.webhook.is_empty(),
        }
    }

    /// Sends a message.
    fn send(self, state: &DaemonState, config: &NotifyConfig, problems: &[String]) -> Result<()> {
        let store = state.memory.paths.store().display().to_string();
        let message = Notification { problems, store, at: state.memory.now() };
        let text = serde_json::to_string(&message)
            .map_err(|error| Error::internal(format!("a message cannot be encoded: {error}")))?;
        match self {
            Recipient::Command => run_command(config, &text, &|| state.is_stopping()),
            Recipient::Webhook => post(config, text),
        }
    }
}

/// Sends messages until the daemon stops.
pub(crate) async fn run(state: Arc<DaemonState>) {
    let reading = state.clone();
    let reported = state.pools.background.run(move || reported_problems::load(&reading.memory.store)).await;
    let mut saved = reported.unwrap_or_default();
    let mut notifiers = Recipient::ALL.map(|recipient| {
        let reported = saved.get(recipient.name()).cloned().unwrap_or_default();
        (recipient, Notifier { reported, ..Notifier::default() })
    });
    loop {
        let reported: ReportedProblems = notifiers
            .iter()
            .map(|(recipient, notifier)| (recipient.name().to_owned(), notifier.reported.clone()))
            .filter(|(_, reported)| !reported.is_empty())
            .collect();
        if reported != saved {
            saved.clone_from(&reported);
            let saving = state.clone();
            let save = move || reported_problems::save(&saving.memory.store, &reported);
            if let Ok(Err(error)) = state.pools.background.run(save).await {
                tracing::warn!("the next daemon may report problems again: {error}");
            }
        }
        tokio::select! {
            () = state.stopped() => return,
            () = tokio::time::sleep(POLL) => {}
        }
        let config = state.settings.load().notify.clone();
        if !Recipient::ALL.iter().any(|recipient| recipient.is_configured(&config)) {
            continue;
        }
        let looking = state.clone();
        let min = config.backlog;
        let Ok(lines) = state.pools.background.run(move || lines(&looking, min)).await else { continue };
        for (recipient, notifier) in &mut notifiers {
            let (recipient, now) = (*recipient, state.memory.now());
            if !recipient.is_configured(&config) {
                continue;
            }
            let Some(problems) = notifier.due(&lines, &config, now) else { continue };
            let (sending, config) = (state.clone(), config.clone());
            let shown: Vec<String> = lines.iter().take(MAX_PROBLEMS).cloned().collect();
            let sending = state.pools.background.run(move || recipient.send(&sending, &config, &shown));
            tokio::select! {
                // The daemon does not wait for a slow server.
                () = state.stopped() => return,
                sent = sending => {
                    notifier.record_delivery(problems, now, matches!(sent, Ok(Ok(()))));
                    match sent {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => tracing::warn!("a notification was not delivered: {error}"),
                        Err(error) => tracing::error!("a notification failed: {error}"),
                    }
                }
            }
        }
    }
}

/// Runs the command with the message on its standard input, and ends it, with what it has started, when it takes too
/// long or the daemon stops.
#[expect(clippy::disallowed_methods, reason = "a child that ends sends this thread no signal")]
fn run_command(config: &NotifyConfig, text: &str, is_stopping: &dyn Fn() -> bool) -> Result<()> {
    let Some((program, arguments)) = config.command.split_first() else { return Ok(()) };
    let failed = |error: std::io::Error| Error::unavailable(format!("`{program}` cannot be run: {error}"));
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        let text = text.to_owned();
        // A program that does not read its input must not block this thread.
        std::thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let deadline = std::time::Instant::now() + config.timeout.std();
    loop {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(Error::unavailable(format!("`{program}` ended with {status}"))),
            None if std::time::Instant::now() >= deadline || is_stopping() => {
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                let _ = child.wait();
                return Err(Error::unavailable(format!(
                    "`{program}` has not ended within {}",
                    config.timeout
                )));
            }
            None => std::thread::sleep(CHILD_POLL),
        }
    }
}

/// Posts the message to the address.
fn post(config: &NotifyConfig, text: String) -> Result<()> {
    let address = endpoint::parse(&config.webhook).map_err(|_| {
        Error::config("`webhook` is not an address")
            .hint("write it as `https://HOST/PATH`")
            .field("notify.webhook")
    })?;
    // Only the host is logged, because the path may contain a secret.
    let host = address.host_str().unwrap_or_default().to_owned();
    let failed = |why: String| Error::unavailable(format!("the webhook at `{host}` {why}"));
    let client = endpoint::client(&address)
        .timeout(config.timeout.std())
        .build()
        .map_err(|error| failed(format!("cannot be called: {}", error.without_url())))?;
    let request = client.post(address).header("content-type", "application/json").body(text);
    let answer =
        request.send().map_err(|error| failed(format!("cannot be reached: {}", error.without_url())))?;
    match answer.status().is_success() {
        true => Ok(()),
        false => Err(failed(format!("answered {}", answer.status()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;

    fn config() -> NotifyConfig {
        NotifyConfig { every: Span::HOUR, ..Config::defaults().unwrap().notify }
    }

    #[test]
    fn notifications_are_off_by_default() {
        let NotifyConfig { command, webhook, .. } = Config::defaults().unwrap().notify;
        assert!(command.is_empty() && webhook.is_empty());
    }

    #[test]
    fn new_problems_and_their_end_are_reported_once_and_not_too_often() {
        let (mut notifier, config) = (Notifier::default(), config());
        let mut check = |minutes: i64, problems: &[&str], expected: bool| {
            let problems: Vec<String> = problems.iter().map(|problem| (*problem).to_owned()).collect();
            let now = Timestamp(minutes * Span::MINUTE.0);
            let due = notifier.due(&problems, &config, now);
            assert_eq!(due.is_some(), expected, "{minutes} {problems:?}");
            if let Some(due) = due {
                notifier.record_delivery(due, now, true);
            }
        };
        check(0, &[], false);
        check(1, &["3 proposals"], true);
        check(2, &["4 proposals"], false);
        check(3, &["4 proposals", "a provider is down"], true);
        check(4, &["4 proposals"], false);
        // The problem comes back within the hour, and stays.
        check(5, &["4 proposals", "a provider is down"], false);
        check(62, &["4 proposals", "a provider is down"], false);
        check(63, &["4 proposals", "a provider is down"], true);
        check(64, &[], true);
        check(65, &[], false);
        // The clock was set back.
        check(10, &["a provider is down"], true);
    }

    #[test]
    fn the_next_daemon_reports_the_end_of_a_problem_and_does_not_repeat_it() {
        let (config, now) = (config(), Timestamp(0));
        let both = ["the settings are broken, line 3", "agent `a`: paused"].map(str::to_owned);
        let reported = Notifier::default().due(&both, &config, now).unwrap();
        let after = || Notifier { reported: reported.clone(), ..Notifier::default() };
        let due = |problems: &[&str]| {
            let problems: Vec<String> = problems.iter().map(|problem| (*problem).to_owned()).collect();
            after().due(&problems, &config, now)
        };
        assert_eq!(due(&[]), Some(BTreeSet::new()));
        assert_eq!(due(&["the settings are broken, line 7"]), None);
        assert_eq!(due(&["agent `b`: paused"]).map(|problems| problems.len()), Some(1));
        // A restart that solves nothing: the problem is gone for a moment, and is reported when it comes back.
        let mut notifier = after();
        let solved = notifier.due(&[], &config, now).unwrap();
        notifier.record_delivery(solved, now, true);
        assert!(notifier.due(&both, &config, Timestamp(Span::MINUTE.0)).is_some());
    }

    #[test]
    fn a_message_that_was_not_delivered_is_sent_again() {
        let (mut notifier, config) = (Notifier::default(), config());
        let mut check = |minutes: i64, expected: bool, is_delivered: bool| {
            let now = Timestamp(minutes * Span::MINUTE.0);
            let due = notifier.due(&["the disk is full".to_owned()], &config, now);
            assert_eq!(due.is_some(), expected, "{minutes}");
            if let Some(due) = due {
                notifier.record_delivery(due, now, is_delivered);
            }
        };
        check(0, true, false);
        check(1, true, false);
        check(2, false, false);
        check(3, true, false);
        check(6, false, false);
        check(7, true, true);
        check(8, false, false);
        check(200, false, false);
    }

    #[test]
    fn problems_of_two_agents_differ_and_other_numbers_do_not() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(without_numbers(one) == without_numbers(other), expected, "{one} / {other}");
        };
        check("agent `agent1`: paused", "agent `agent2`: paused", false);
        check("agent `1`: paused", "agent `2`: paused", false);
        check("the call may cost $0.0152", "the call may cost $0.0160", true);
        check(
            "`gpt4` is suspended until 2026-11-21 09:00Z: no",
            "`gpt4` is suspended until 2026-11-22 10:30Z: no",
            true,
        );
        check(
            "agent `a`: paused after 3 failures in a row",
            "agent `a`: paused after 10 failures in a row",
            true,
        );
        check(
            "the disk of `/mnt/disk1` has only 12 MiB left",
            "the disk of `/mnt/disk1` has only 9 MiB left",
            true,
        );
        check(
            "the disk of `/mnt/disk1` has only 12 MiB left",
            "the disk of `/mnt/disk2` has only 12 MiB left",
            false,
        );
        check("1 proposal", "an unclosed `name 1", false);
    }

    #[test]
    fn a_backlog_is_reported_from_the_configured_number_on() {
        let backlog =
            BTreeMap::from([("few".to_owned(), 9), ("linker1".to_owned(), 10), ("many".to_owned(), 5000)]);
        assert_eq!(
            long_backlogs(&backlog, 10),
            ["agent `linker1`: notes to be read: 10", "agent `many`: notes to be read: 5000"]
        );
        assert_eq!(long_backlogs(&backlog, 0), [""; 0]);
        assert!(Config::defaults().unwrap().notify.backlog > 0);
    }

    #[test]
    fn a_command_gets_the_message_and_has_a_bounded_time() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("message");
        let shell = |script: String| vec!["sh".to_owned(), "-c".to_owned(), script];
        let config = NotifyConfig { command: shell(format!("cat > {}", file.display())), ..config() };
        run_command(&config, "{\"problems\":[]}", &|| false).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"problems\":[]}");
        let slow = NotifyConfig { command: shell("sleep 60".into()), timeout: Span(100), ..config.clone() };
        let error = run_command(&slow, &"x".repeat(1 << 20), &|| false).unwrap_err();
        assert!(error.message.contains("has not ended within"), "{error}");
        let failing = NotifyConfig { command: shell("exit 3".into()), ..config.clone() };
        assert!(run_command(&failing, "", &|| false).unwrap_err().message.contains("exit status: 3"));
        let missing = NotifyConfig { command: vec!["/nothing/there".into()], ..config };
        assert!(run_command(&missing, "", &|| false).unwrap_err().message.contains("cannot be run"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let command = vec!["sh".to_owned(), "-c".to_owned(), script];
        let config = NotifyConfig { command, timeout: Span::MINUTE, ..config() };
        let pid = || std::fs::read_to_string(&file).ok()?.strip_suffix('\n').map(str::to_owned);
        run_command(&config, "", &|| pid().is_some()).unwrap_err();
        let stat = format!("/proc/{}/stat", pid().unwrap());
        let limit = std::time::Instant::now() + Duration::from_secs(30);
        // It may stay a zombie.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(std::time::Instant::now() < limit, "it still runs");
            std::thread::yield_now();
        }
    }
}
