//! Checks whether a daemon runs, has this release and uses the current settings.

use crate::cli::command_context::CommandContext;
use crate::cli::daemon_client::{self, RESTART};
use crate::client::Client;
use crate::ops::checks::{CheckResult, CheckState};
use crate::ops::{DaemonStatus, second};
use poc_config::Config;

const CHECK: &str = "daemon";

/// The diagnostics, and the daemon if one answers.
pub(super) fn check(context: &CommandContext, config: Option<&Config>) -> (Vec<CheckResult>, Option<Client>) {
    match daemon_client::connect_with_status(&context.paths, config) {
        Ok(None) => {
            let none = CheckResult::new(CHECK, CheckState::Note, "not running: agents run only on demand")
                .hint("start it with `poc-memory daemon start`, or with every session: `poc-memory daemon install`");
            (vec![none], None)
        }
        Ok(Some((client, status))) => (read(&status, config), Some(client)),
        Err(error) => (vec![CheckResult::of(CHECK, CheckState::Failed, &error)], None),
    }
}

fn read(status: &DaemonStatus, config: Option<&Config>) -> Vec<CheckResult> {
    let version = env!("CARGO_PKG_VERSION");
    let started = second(status.started);
    let running = format!("runs since {started}, pid {}, version {}", status.pid, status.version);
    let mut results = vec![CheckResult::new(CHECK, CheckState::Ok, running)];
    let warning = |message: String| CheckResult::new(CHECK, CheckState::Warning, message);
    if status.version != version {
        results.push(
            warning(format!("it has version {}, but this program has version {version}", status.version))
                .hint(RESTART),
        );
    }
    if config.is_some_and(|config| config.startup_fingerprint() != status.settings) {
        results.push(warning("the settings have changed since it started".into()).hint(RESTART));
    }
    let log = status.shared_log.as_ref().filter(|log| !log.others.is_empty());
    results.extend(log.map(|log| {
        let users = log.users(|other| {
            format!("{}, up to change {}, {} s ago", other.description(), other.head, other.seconds_ago)
        });
        CheckResult::new(CHECK, CheckState::Ok, format!("the shared log is also used by {users}"))
    }));
    results.extend(status.recovered.iter().map(|note| warning(format!("found when it started: {note}"))));
    results.extend(status.problems.iter().map(|problem| warning(problem.clone())));
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{PeerOutput, SharedLogOutput};
    use poc_graph::time::Timestamp;

    #[test]
    fn a_daemon_with_other_settings_or_release_is_a_warning() {
        let config = Config::defaults().unwrap();
        let status = DaemonStatus {
            shared_log: None,
            page: None,
            pid: 7,
            version: env!("CARGO_PKG_VERSION").into(),
            started: Timestamp::parse("2026-11-21T08:00:00Z").unwrap(),
            store: String::new(),
            socket: String::new(),
            rest: None,
            mcp: None,
            agents: Default::default(),
            running: Vec::new(),
            next: None,
            reloaded: None,
            vaults: Vec::new(),
            problems: Vec::new(),
            waiting: Vec::new(),
            backlog: Default::default(),
            recovered: Vec::new(),
            settings: config.startup_fingerprint(),
        };
        let states = |status: &DaemonStatus, config: &Config| {
            read(status, Some(config)).iter().map(|result| result.state).collect::<Vec<_>>()
        };
        assert_eq!(states(&status, &config), [CheckState::Ok]);
        let changed = Config::layered(Some(("c", "[text]\nk1 = 1.5\n")), std::iter::empty()).unwrap();
        assert_eq!(states(&status, &changed), [CheckState::Ok, CheckState::Warning]);
        let pipelines =
            Config::layered(Some(("c", "[pipelines]\na = \"all\"\n")), std::iter::empty()).unwrap();
        assert_eq!(states(&status, &pipelines), [CheckState::Ok], "a daemon follows changes of these");
        let old = DaemonStatus { version: "0.0.1".into(), ..status };
        assert_eq!(states(&old, &config), [CheckState::Ok, CheckState::Warning]);
        let (head, seconds_ago, has_lease, has_claim) = (40, 3, false, true);
        let name = "other, process 8".into();
        let others = vec![PeerOutput { name, head, seconds_ago, has_lease, has_claim }];
        let (address, first, snapshot) = ("postgres://db/memory#memory".into(), None, None);
        let log = SharedLogOutput { address, head: 41, behind: 0, conflicts: 0, snapshot, first, others };
        let shared = DaemonStatus { shared_log: Some(log), version: env!("CARGO_PKG_VERSION").into(), ..old };
        let messages: Vec<String> =
            read(&shared, Some(&config)).into_iter().map(|result| result.message).collect();
        assert_eq!(
            messages[1..],
            ["the shared log is also used by other, process 8 (stores a snapshot), up to change 40, 3 s ago"]
        );
        let peer = |number: u64| PeerOutput {
            name: format!("process {number}"),
            head: 40,
            seconds_ago: number,
            has_lease: false,
            has_claim: false,
        };
        let log = shared.shared_log.map(|log| SharedLogOutput { others: (1..=5).map(peer).collect(), ..log });
        let several = DaemonStatus { shared_log: log, ..shared };
        let shown = read(&several, Some(&config)).pop().unwrap().message;
        assert_eq!(
            shown,
            "the shared log is also used by 5 others: process 1, up to change 40, 1 s ago; process 2, up to change 40, 2 s ago; process 3, up to change 40, 3 s ago; and 2 more"
        );
    }
}
