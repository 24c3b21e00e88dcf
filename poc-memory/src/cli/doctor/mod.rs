//! `doctor`: everything that can be in the way of somebody new, looked at in the order in which one
//! thing needs another. Each check is a file; none changes anything but what opening the memory makes.

mod agents;
mod daemon;
mod embedder;
mod folders;
mod models;
mod reranker;
mod settings;
mod store;

pub(super) use settings::problems;

use super::local::Local;
use super::profile;
use super::session::Session;
use poc_graph::error::{Error, Exit, Result};
use serde::Serialize;

/// Check folders, settings, store, indexes, embedder, cross-encoder, models, daemon and agents, and say what would
/// help
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Also ask the providers of models whether they can be reached
    #[arg(long)]
    online: bool,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// As it should be.
    Ok,
    /// Not there, and not needed.
    Note,
    /// It works, and is probably not meant so.
    Warning,
    /// It does not work.
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Warning => "warning",
            State::Failed => "failed",
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Finding {
    /// What was looked at.
    check: &'static str,
    state: State,
    message: String,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn new(check: &'static str, state: State, message: impl Into<String>) -> Finding {
        Finding { check, state, message: message.into(), hint: None }
    }

    fn of(check: &'static str, state: State, error: &Error) -> Finding {
        Finding { hint: error.hint.clone(), ..Finding::new(check, state, error.to_string()) }
    }

    fn hint(self, hint: impl Into<String>) -> Finding {
        Finding { hint: Some(hint.into()), ..self }
    }
}

/// What `doctor` answers.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether nothing has failed.
    healthy: bool,
    findings: Vec<Finding>,
}

impl Local for Doctor {
    const NAME: &'static str = "doctor";
    const FOR_AGENTS: bool = true;
    type Output = Report;

    fn run(self, session: &Session) -> Result<Report> {
        profile::must_exist(session)?;
        let mut findings = folders::check(&session.paths);
        let (found, config) = settings::check(session);
        findings.extend(found);
        let (found, daemon) = daemon::check(session, config.as_ref());
        let told: Vec<String> = config.iter().flat_map(problems).map(|problem| problem.line()).collect();
        findings.extend(found);
        if let Some(config) = config {
            findings.extend(embedder::check(&config, &session.paths.store()));
            findings.extend(reranker::check(&config));
            findings.extend(models::check(&config, self.online));
            let (found, memory) = store::check(&session.paths, config, daemon);
            findings.extend(found);
            findings.extend(memory.map(agents::check).unwrap_or_default());
        }
        // Whoever reads the settings finds fault with them: once is enough.
        findings.retain(|finding| finding.check == settings::CHECK || !told.contains(&finding.message));
        Ok(Report { healthy: findings.iter().all(|finding| finding.state != State::Failed), findings })
    }

    fn show(report: &Report) -> String {
        let mut text = String::new();
        for Finding { check, state, message, hint } in &report.findings {
            text.push_str(&format!("{:<8} {check:<9} {message}\n", state.name()));
            if let Some(hint) = hint {
                text.push_str(&format!("{:<18} hint: {hint}\n", ""));
            }
        }
        let count = |state| report.findings.iter().filter(|finding| finding.state == state).count();
        text.push_str(&match (count(State::Failed), count(State::Warning)) {
            (0, 0) => "all is well\n".to_owned(),
            (0, warnings) => format!("it works; warnings: {warnings}\n"),
            (failed, warnings) => format!("failed: {failed}, warnings: {warnings}\n"),
        });
        text
    }

    fn exit(report: &Report) -> Exit {
        if report.healthy { Exit::Ok } else { Exit::Failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_reads_well() {
        let findings = vec![
            Finding::new("folders", State::Ok, "`/m` is private"),
            Finding::new("models", State::Note, "`opus` has no key").hint("set `ANTHROPIC_API_KEY`"),
            Finding::of(
                "settings",
                State::Failed,
                &Error::config("unknown key `k2`").hint("did you mean `k1`?"),
            ),
        ];
        let report = Report { healthy: false, findings };
        insta::assert_snapshot!(Doctor::show(&report), @r"
        ok       folders   `/m` is private
        note     models    `opus` has no key
                           hint: set `ANTHROPIC_API_KEY`
        failed   settings  unknown key `k2`
                           hint: did you mean `k1`?
        failed: 1, warnings: 0
        ");
        assert_eq!(Doctor::exit(&report), Exit::Failed);
    }
}
