//! Runs the `[[tests]]` of an agent: its pipeline, prompt and permit on a fixture of notes and a recorded
//! reply, in a temporary memory.
//!
//! Tests are isolated: clock and random source are fixed, the configuration is the default one (except for
//! note types), and the recorded reply takes the place of any model that the agent names.

mod difference;
mod fixture;
mod record;
mod sandbox;

pub use difference::TestDifference;
pub(super) use record::long_string;
pub use record::record;
#[cfg(test)]
pub(super) use record::record_among;

use super::catalog;
use super::definition::{AgentTest, Definition, TestText};
use fixture::Fixture;
use poc_config::Config;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{ErrorLocation, Result};
use poc_graph::similar;
use poc_notes::Memory;

/// Result of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResult {
    /// Its name.
    pub test: String,
    /// Differences from the expectation; empty when the test passed.
    pub differences: Vec<TestDifference>,
    /// Keys of the nodes in the prompt, in the order of their handles: the first is `N1`.
    pub handles: Vec<String>,
}

/// Runs the tests of an agent in the order of its file.
///
/// # Errors
/// The diagnostics of [`check_tests`], or why the tests could not be run.
pub fn run_tests(memory: &Memory, definition: &Definition) -> Result<Vec<TestResult>, Vec<FileDiagnostic>> {
    let ready = prepare(memory, definition)?;
    let config = settings(&memory.config).map_err(|error| vec![error.into()])?;
    let results = ready.into_iter().map(|(test, fixture, reply)| {
        let sandbox = sandbox::Sandbox::new(&config, &fixture, test.now)?;
        let outcome = sandbox.run(definition, reply.as_deref())?;
        let differences = difference::compare(&test.expect, &outcome);
        Ok(TestResult { test: test.name.clone(), differences, handles: outcome.handles })
    });
    let results: Result<Vec<TestResult>> = results.collect();
    results.map_err(|error| vec![error.into()])
}

/// Problems in the tests of an agent beyond their syntax: fixtures and replies that are missing or
/// unreadable, and keys that no fixture has.
pub fn check_tests(memory: &Memory, definition: &Definition) -> Vec<FileDiagnostic> {
    prepare(memory, definition).err().unwrap_or_default()
}

/// A test, its fixture and its recorded reply.
type PreparedTest<'a> = (&'a AgentTest, Fixture, Option<String>);

/// Reads the fixtures and replies of all tests.
fn prepare<'a>(
    memory: &Memory,
    definition: &'a Definition,
) -> Result<Vec<PreparedTest<'a>>, Vec<FileDiagnostic>> {
    let mut diagnostics = Vec::new();
    let mut ready = Vec::new();
    let at = |offset| ErrorLocation {
        file: Some(format!("agents/{}.toml", definition.name)),
        ..ErrorLocation::offset(&definition.source, offset)
    };
    let text = |quoted: &TestText| match quoted.file() {
        Some(file) => catalog::test_file(memory, file)
            .map_err(|error| FileDiagnostic::from(error).at(at(quoted.offset))),
        None => Ok(quoted.text.clone()),
    };
    for test in &definition.tests {
        let reply = test.response.as_ref().map(text).transpose();
        let fixture = text(&test.fixture).map_err(|error| vec![error]).and_then(|lines| {
            let located = |found: FileDiagnostic| match (test.fixture.file(), found.line) {
                (Some(file), _) => found.file(format!("agents/{file}")),
                (None, line) => {
                    let line = line.unwrap_or_default();
                    let message = format!("{} (line {line} of the fixture)", found.message);
                    FileDiagnostic { message, ..found }.at(at(test.fixture.offset))
                }
            };
            Fixture::read(&lines, test.now)
                .map_err(|found| found.into_iter().map(located).collect::<Vec<FileDiagnostic>>())
        });
        if let Ok(fixture) = &fixture {
            let selected = test.expect.selected.iter().flatten();
            for key in selected.filter(|key| !fixture.keys.contains(&key.text)) {
                let diagnostic = FileDiagnostic::new(format!("the fixture has no note `{}`", key.text));
                let near = similar::closest(&key.text, fixture.keys.iter().map(String::as_str));
                let diagnostic = match near {
                    Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                    None => diagnostic.hint("name a `key` of the fixture"),
                };
                diagnostics.push(diagnostic.at(at(key.offset)));
            }
        }
        match (fixture, reply) {
            (Ok(fixture), Ok(reply)) => ready.push((test, fixture, reply)),
            (fixture, reply) => {
                diagnostics.extend(fixture.err().into_iter().flatten());
                diagnostics.extend(reply.err());
            }
        }
    }
    if diagnostics.is_empty() { Ok(ready) } else { Err(diagnostics) }
}

/// The configuration of a test: the defaults, so that results are the same everywhere, with the configured
/// note types, which agents depend on.
fn settings(own: &Config) -> Result<Config> {
    Ok(Config { nodes: own.nodes.clone(), ..Config::defaults()? })
}
