//! The daemon: whether one runs, is of this release, and knows the settings as they are.

use super::{Finding, State};
use crate::cli::daemon::{self, RESTART};
use crate::cli::session::Session;
use crate::client::Client;
use crate::ops::DaemonStatus;
use poc_config::Config;

const CHECK: &str = "daemon";

/// The findings, and the daemon when one answers.
pub(super) fn check(session: &Session, config: Option<&Config>) -> (Vec<Finding>, Option<Client>) {
    match daemon::ask(&session.paths, config) {
        Ok(None) => {
            let none = Finding::new(CHECK, State::Note, "none runs: agents run on demand only")
                .hint("start it with `poc-daemon`");
            (vec![none], None)
        }
        Ok(Some((client, status))) => (read(&status, config), Some(client)),
        Err(error) => (vec![Finding::of(CHECK, State::Failed, &error)], None),
    }
}

fn read(status: &DaemonStatus, config: Option<&Config>) -> Vec<Finding> {
    let version = env!("CARGO_PKG_VERSION");
    let running = format!("runs since {}, pid {}, version {}", status.started, status.pid, status.version);
    let mut findings = vec![Finding::new(CHECK, State::Ok, running)];
    let warning = |message: String| Finding::new(CHECK, State::Warning, message);
    if status.version != version {
        findings
            .push(warning(format!("it is of release {}, this is {version}", status.version)).hint(RESTART));
    }
    if config.is_some_and(|config| config.fingerprint() != status.settings) {
        findings.push(warning("the settings have changed since it started".into()).hint(RESTART));
    }
    findings.extend(status.recovered.iter().map(|note| warning(format!("found when it started: {note}"))));
    findings.extend(status.problems.iter().map(|problem| warning(problem.clone())));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::time::Timestamp;

    #[test]
    fn a_daemon_of_other_settings_or_another_release_is_told() {
        let config = Config::defaults().unwrap();
        let status = DaemonStatus {
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
            problems: Vec::new(),
            recovered: Vec::new(),
            settings: config.fingerprint(),
        };
        let states = |status: &DaemonStatus, config: &Config| {
            read(status, Some(config)).iter().map(|finding| finding.state).collect::<Vec<_>>()
        };
        assert_eq!(states(&status, &config), [State::Ok]);
        let changed = Config::layered(Some(("c", "[text]\nk1 = 1.5\n")), std::iter::empty()).unwrap();
        assert_eq!(states(&status, &changed), [State::Ok, State::Warning]);
        let pipelines =
            Config::layered(Some(("c", "[pipelines]\na = \"all\"\n")), std::iter::empty()).unwrap();
        assert_eq!(states(&status, &pipelines), [State::Ok], "a daemon follows changes of these");
        let old = DaemonStatus { version: "0.0.1".into(), ..status };
        assert_eq!(states(&old, &config), [State::Ok, State::Warning]);
    }
}
