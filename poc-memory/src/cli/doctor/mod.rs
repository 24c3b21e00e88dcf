//! `doctor`: checks the installation in the order of dependencies. Each check has its own file and changes
//! nothing except what opening the memory creates.

mod agents;
mod daemon;
mod deep;
mod quarantine;
mod remote;
mod settings;
mod store;
mod vaults;

pub(super) use quarantine::{QuarantineDelete, QuarantineList, QuarantineShow};

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::pipeline_problems;
use crate::ops::Terminal;
use crate::ops::checks::{self, CheckResult, CheckState};
use poc_graph::error::{Exit, Result};
use serde::Serialize;

/// Check the installation: folders, settings, store, indexes, embedder, cross-encoder, models, daemon,
/// vaults and agents, with hints how to fix problems
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Also check that model providers can be reached
    #[arg(long)]
    online: bool,
    /// Also compare everything on disk with the log, which reads all of it. The memory can be used while it runs
    #[arg(long)]
    deep: bool,
}

/// The answer of `doctor`.
#[derive(Debug, Serialize)]
pub(super) struct DoctorOutput {
    /// Whether no check failed.
    healthy: bool,
    #[serde(rename = "findings")]
    results: Vec<CheckResult>,
}

impl LocalCommand for Doctor {
    const NAME: &'static str = "doctor";
    const FOR_AGENTS: bool = true;
    const NAMES_COMMANDS: bool = true;
    type Output = DoctorOutput;

    fn run(self, context: &CommandContext) -> Result<DoctorOutput> {
        context.paths.must_exist()?;
        let (more, config) = settings::check(context);
        let mut results = checks::folders::check(&context.paths, config.as_ref());
        results.extend(more);
        results.extend(settings::check_time_zone());
        let (more, daemon) = daemon::check(context, config.as_ref());
        let settings_problems: Vec<String> =
            config.iter().flat_map(pipeline_problems::in_settings).map(|problem| problem.line()).collect();
        results.extend(more);
        if let Some(config) = config {
            results.extend(checks::embedder::check(&config, &context.paths.store()));
            results.extend(checks::reranker::check(&config));
            results.extend(checks::models::check(&config, self.online));
            // A daemon lists what the last verification found among its problems.
            let is_reported = daemon.is_some() || self.deep;
            let globals = self.deep.then_some(&context.globals);
            let (more, mut memory) = store::check(&context.paths, config, daemon, globals);
            results.extend(more);
            if !is_reported {
                results.extend(store::last_verification(&context.paths));
            }
            results.extend(memory.as_mut().map(vaults::check).unwrap_or_default());
            results.extend(memory.as_mut().map(remote::check).unwrap_or_default());
            results.extend(memory.map(agents::check).unwrap_or_default());
        }
        // Several checks read the settings, so each problem of the settings is listed only once.
        results
            .retain(|result| result.check == settings::CHECK || !settings_problems.contains(&result.message));
        let repeated: Vec<bool> =
            results.iter().map(|result| deep::repeats_verification(result, &results)).collect();
        let once = results.into_iter().zip(repeated).filter(|(_, is_repeated)| !is_repeated);
        let results = CheckResult::without_repetitions(once.map(|(result, _)| result).collect());
        Ok(DoctorOutput { healthy: results.iter().all(|result| result.state != CheckState::Failed), results })
    }

    fn show(report: &DoctorOutput, _: &Terminal) -> String {
        let mut text = CheckResult::lines(&report.results);
        let count = |state| report.results.iter().filter(|result| result.state == state).count();
        text.push_str(&match (count(CheckState::Failed), count(CheckState::Warning)) {
            (0, 0) => "all is well\n".to_owned(),
            (0, warnings) => format!("it works; warnings: {warnings}\n"),
            (failed, warnings) => format!("failed: {failed}, warnings: {warnings}\n"),
        });
        text
    }

    fn exit(report: &DoctorOutput) -> Exit {
        if report.healthy { Exit::Ok } else { Exit::Failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::error::Error;

    #[test]
    fn the_report_is_shown_as_text() {
        let results = vec![
            CheckResult::new("folders", CheckState::Ok, "`/m` is private"),
            CheckResult::new("models", CheckState::Note, "`opus` has no key").hint("set `ANTHROPIC_API_KEY`"),
            CheckResult::of(
                "settings",
                CheckState::Failed,
                &Error::config("unknown key `k2`").hint("did you mean `k1`?"),
            ),
        ];
        let report = DoctorOutput { healthy: false, results };
        insta::assert_snapshot!(Doctor::show(&report, &Terminal::default()), @r"
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
