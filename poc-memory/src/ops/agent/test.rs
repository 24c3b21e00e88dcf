//! `agent test`

use crate::ops::text::{diagnostic_text, plural};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::test_runner::{self, TestDifference};
use poc_agent::{Catalog, Definition};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Exit, Result};
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Run the `[[tests]]` of agent files: each has a few notes, a recorded reply and the expected result. The
/// memory is not touched and no model is called. If a test fails, the exit status is 1.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentTest")]
pub(crate) struct AgentTestRequest {
    /// Name of the agent; if omitted, all agents
    agent: Option<String>,
}

/// The test results.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentTestOutput {
    agents: Vec<AgentTests>,
    /// Number of tests that passed.
    passed: u64,
    /// Number of tests that failed.
    failed: u64,
}

/// The test results of one agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct AgentTests {
    name: String,
    tests: Vec<TestResult>,
    /// Errors that prevent its tests from running.
    errors: Vec<FileDiagnostic>,
}

/// The result of one test.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TestResult {
    name: String,
    ok: bool,
    /// Differences from the expected result.
    differences: Vec<TestDifference>,
    /// Keys of the notes in the prompt, in the order of their handles: the first is `N1`.
    handles: Vec<String>,
}

impl Op for AgentTestRequest {
    const NAME: &'static str = "agent test";
    const ACCESS: Access = Access::Read;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/agent/test");
    type Output = AgentTestOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentTestOutput> {
        let catalog = Catalog::read(ctx.memory)?;
        let mut report = AgentTestOutput { agents: Vec::new(), passed: 0, failed: 0 };
        for (name, entry) in catalog.named(self.agent.as_deref())? {
            let (tests, errors) = match entry.valid_definition() {
                Some(definition) => test_results(ctx.memory, definition),
                None => (Vec::new(), entry.errors.clone()),
            };
            let passed = tests.iter().filter(|test| test.ok).count() as u64;
            report.passed += passed;
            report.failed += tests.len() as u64 - passed;
            report.agents.push(AgentTests { name: name.clone(), tests, errors });
        }
        Ok(report)
    }

    fn show(output: &AgentTestOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for agent in &output.agents {
            if agent.tests.is_empty() && agent.errors.is_empty() {
                let _ = writeln!(text, "{}: no tests", agent.name);
            }
            text.extend(agent.errors.iter().map(diagnostic_text));
            for test in &agent.tests {
                let _ = writeln!(
                    text,
                    "{}: {}: {}",
                    agent.name,
                    test.name,
                    if test.ok { "ok" } else { "FAILED" }
                );
                text.extend(test.differences.iter().map(difference_text));
                if !test.ok && !test.handles.is_empty() {
                    let handles =
                        (1..).zip(&test.handles).map(|(number, key): (usize, _)| format!("N{number} {key}"));
                    let _ = writeln!(text, "  in the prompt: {}", handles.collect::<Vec<_>>().join(", "));
                }
            }
        }
        let _ = writeln!(text, "{} passed, {} failed", plural(output.passed, "test"), output.failed);
        text
    }

    fn exit(output: &AgentTestOutput) -> Exit {
        if output.agents.iter().any(|agent| !agent.errors.is_empty()) {
            Exit::Config
        } else if output.failed > 0 {
            Exit::Failed
        } else if output.passed == 0 {
            Exit::NothingToDo
        } else {
            Exit::Ok
        }
    }
}

/// The results of the tests of an agent, or the errors of a test that cannot be run.
fn test_results(memory: &Memory, definition: &Definition) -> (Vec<TestResult>, Vec<FileDiagnostic>) {
    match test_runner::run_tests(memory, definition) {
        Ok(results) => {
            let output = |result: test_runner::TestResult| TestResult {
                name: result.test,
                ok: result.differences.is_empty(),
                differences: result.differences,
                handles: result.handles,
            };
            (results.into_iter().map(output).collect(), Vec::new())
        }
        Err(errors) => (Vec::new(), errors),
    }
}

/// A difference as a diff: `-` marks missing lines, `+` unexpected ones.
fn difference_text(difference: &TestDifference) -> String {
    let mut text = format!("  {}:\n", difference.what);
    let lines = difference.missing.iter().map(|line| ('-', line));
    for (mark, line) in lines.chain(difference.unexpected.iter().map(|line| ('+', line))) {
        let _ = writeln!(text, "    {mark} {}", line.replace('\n', "\n      "));
    }
    for refused in &difference.refused {
        let _ = writeln!(text, "    refused: {}", refused.replace('\n', "\n      "));
    }
    if let Some(order) = &difference.order {
        let _ = writeln!(text, "    in another order: {}", order.join(", "));
    }
    text
}
