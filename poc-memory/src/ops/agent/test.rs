//! `agent test`

use crate::ops::text::{Problem, counted, problem};
use crate::ops::{Access, Ctx, Op};
use poc_agent::trial::{self, Difference};
use poc_agent::{Catalog, Definition};
use poc_graph::error::{Error, Exit, Result};
use poc_notes::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Play the `[[tests]]` of agent files: a few notes, a recorded reply, and what has to come of it.
/// Nothing of the memory is touched and no model is asked. When one fails the exit status is 1.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    /// Name of the agent; all when missing
    agent: Option<String>,
}

/// How the tests went.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    agents: Vec<Tested>,
    passed: u64,
    failed: u64,
}

/// One agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Tested {
    name: String,
    tests: Vec<Played>,
    /// What keeps its tests from being played.
    errors: Vec<Problem>,
}

/// One test.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Played {
    name: String,
    ok: bool,
    /// What came otherwise than expected.
    differences: Vec<Difference>,
    /// Keys of the nodes in the prompt in the order of their handles: the first is `N1`.
    handles: Vec<String>,
}

impl Op for Test {
    const NAME: &'static str = "agent test";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    type Output = Report;

    fn run(self, ctx: &Ctx<'_>) -> Result<Report> {
        let catalog = Catalog::read(ctx.memory)?;
        let mut report = Report { agents: Vec::new(), passed: 0, failed: 0 };
        for (name, entry) in catalog.named(self.agent.as_deref())? {
            let (tests, errors) = match entry.sound() {
                Some(definition) => played(ctx.memory, definition),
                None => (Vec::new(), entry.errors.iter().map(Problem::from).collect()),
            };
            let passed = tests.iter().filter(|test| test.ok).count() as u64;
            report.passed += passed;
            report.failed += tests.len() as u64 - passed;
            report.agents.push(Tested { name: name.clone(), tests, errors });
        }
        Ok(report)
    }

    fn show(output: &Report) -> String {
        let mut text = String::new();
        for agent in &output.agents {
            if agent.tests.is_empty() && agent.errors.is_empty() {
                let _ = writeln!(text, "{}: no tests", agent.name);
            }
            text.extend(agent.errors.iter().map(problem));
            for test in &agent.tests {
                let _ = writeln!(
                    text,
                    "{}: {}: {}",
                    agent.name,
                    test.name,
                    if test.ok { "ok" } else { "FAILED" }
                );
                text.extend(test.differences.iter().map(shown));
                if !test.ok && !test.handles.is_empty() {
                    let handles =
                        (1..).zip(&test.handles).map(|(number, key): (usize, _)| format!("N{number} {key}"));
                    let _ = writeln!(text, "  in the prompt: {}", handles.collect::<Vec<_>>().join(", "));
                }
            }
        }
        let _ = writeln!(text, "{} passed, {} failed", counted(output.passed, "test"), output.failed);
        text
    }

    fn exit(output: &Report) -> Exit {
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

fn played(memory: &Memory, definition: &Definition) -> (Vec<Played>, Vec<Problem>) {
    match trial::play(memory, definition) {
        Ok(played) => {
            let one = |played: trial::Played| Played {
                name: played.test,
                ok: played.differences.is_empty(),
                differences: played.differences,
                handles: played.handles,
            };
            (played.into_iter().map(one).collect(), Vec::new())
        }
        Err(errors) => (Vec::new(), errors.iter().map(|error: &Error| Problem::from(error)).collect()),
    }
}

/// `-` stands before what did not come, `+` before what came instead.
fn shown(difference: &Difference) -> String {
    let mut text = format!("  {}:\n", difference.what);
    let lines = difference.missing.iter().map(|line| ('-', line));
    for (mark, line) in lines.chain(difference.unexpected.iter().map(|line| ('+', line))) {
        let _ = writeln!(text, "    {mark} {}", line.replace('\n', "\n      "));
    }
    if let Some(order) = &difference.order {
        let _ = writeln!(text, "    in another order: {}", order.join(", "));
    }
    text
}
