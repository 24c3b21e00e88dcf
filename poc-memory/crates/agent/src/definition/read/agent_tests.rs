//! Reads `[[tests]]`. Only `agent check` and `agent test` check what the tests refer to, because a missing
//! fixture must not stop an agent.

use super::{Reader, TomlSection, WithOffset};
use crate::definition::{AgentTest, TestExpectation, TestText};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::time::Timestamp;
use std::collections::BTreeSet;

/// The default time of a test.
const DEFAULT_NOW: &str = "2026-11-21T08:00:00Z";

impl<'a> Reader<'a> {
    pub(super) fn tests(&self, root: &TomlSection<'a>) -> Vec<AgentTest> {
        let mut names = BTreeSet::new();
        let mut tests = Vec::new();
        for section in root.sections("tests") {
            section.refuse_unknown();
            let name: Option<WithOffset<String>> = section.required("name");
            let fixture: Option<WithOffset<String>> = section.required("fixture");
            let response: Option<WithOffset<String>> = section.get("response");
            let (now, expect) = (self.instant(&section), self.expect(&section.section("expect")));
            if let Some(name) = &name {
                if name.value.trim().is_empty() {
                    let diagnostic = FileDiagnostic::new("the test has an empty name");
                    self.file.report(name.offset, diagnostic.hint("describe in a few words what it tests"));
                } else if !names.insert(name.value.clone()) {
                    let diagnostic = FileDiagnostic::new(format!("two tests have the name `{}`", name.value));
                    self.file.report(name.offset, diagnostic.hint("give each test its own name"));
                }
            }
            if let (Some(name), Some(fixture), Some(now), Some(expect)) = (name, fixture, now, expect) {
                let (fixture, response) = (quoted(fixture), response.map(quoted));
                tests.push(AgentTest { name: name.value, fixture, now, response, expect });
            }
        }
        tests
    }

    fn instant(&self, section: &TomlSection<'a>) -> Option<Timestamp> {
        let now: Option<WithOffset<String>> = section.get("now");
        let (text, offset) = now.map_or_else(|| (DEFAULT_NOW.to_owned(), 0), |now| (now.value, now.offset));
        Timestamp::parse(&text).map_err(|error| self.file.report(offset, error)).ok()
    }

    fn expect(&self, section: &TomlSection<'a>) -> Option<TestExpectation> {
        section.refuse_unknown();
        if section.is_empty() {
            let diagnostic = FileDiagnostic::new("the test expects nothing, so it cannot fail");
            let hint = "add `expect.selected = [\"KEY\"]` or `expect.applied = []` to it";
            self.file.report(section.offset(), diagnostic.hint(hint));
            return None;
        }
        let list = |key: &str| section.get::<Vec<WithOffset<String>>>(key).map(|list| list.value);
        let texts = |key: &str| list(key).map(|list| list.into_iter().map(|item| item.value).collect());
        Some(TestExpectation {
            selected: list("selected").map(|keys| keys.into_iter().map(quoted).collect()),
            applied: texts("applied"),
            proposed: texts("proposed"),
            rejected: texts("rejected"),
            prompt_contains: texts("prompt-contains"),
        })
    }
}

fn quoted(placed: WithOffset<String>) -> TestText {
    TestText { text: placed.value, offset: placed.offset }
}
