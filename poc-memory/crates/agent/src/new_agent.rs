//! The text of a new agent's files: a commented file with every key, or a copy of another agent.

use super::catalog::{template, test_file_of};
use super::definition::key_spec::{KeySpec, ValueType};
use super::definition::keys::KEYS;
use super::definition::{DEFAULTS, TestText, check_name, is_of_name};
use super::test_runner::long_string;
use super::{Definition, DefinitionContext};
use crate::embedded::{self, BundledFile};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_config::toml_document::TomlDocument;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use poc_search::query::Names;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use toml::de::DeValue;
use toml::{Spanned, Table};

/// Maximum width of a comment.
const WIDTH: usize = 100;

/// The text before an agent's name in a pipeline.
const VISITED_PREFIX: &str = "visited:";

const PROMPT: &str = "\
# Task

Say here what is to be done with the notes below, and why.

# How

1. Read the note. Ask what it is about.
2. `link-add` when reading one note would help somebody who has found the other. Sharing a common word
   is not enough.
3. `weight`: raise a note a little that others build on; lower one that says nothing beyond the moment.
4. Give every reason in one sentence.

Empty lists are a good answer when nothing fits.

# The memory

{{ TOPOLOGY }}

# The notes

{{ NODES }}
";

/// A new agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDraft {
    /// Text of `agents/NAME.toml`.
    pub agent: String,
    /// Its template; `None` when the copied agent has an inline template.
    pub prompt: Option<PromptDraft>,
}

/// The template of an agent before its file exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptDraft {
    /// Its name in the folder `prompts`.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl AgentDraft {
    /// A first version of an agent, for editing.
    ///
    /// # Errors
    /// `invalid_argument` when the name is not valid for an agent.
    pub fn new(name: &str) -> Result<AgentDraft> {
        check_name(name)?;
        let prompt = PromptDraft { name: format!("{name}.md"), text: PROMPT.to_owned() };
        Ok(AgentDraft { agent: commented(name), prompt: Some(prompt) })
    }

    /// A copy of an agent under another name, with its own template and visits, and with its tests.
    ///
    /// # Errors
    /// `invalid_argument` when the name is not valid for an agent, `not_found` when there is no agent to copy,
    /// `invalid_config` when that one is invalid.
    pub fn copy_of(other: &str, name: &str, paths: &Paths, config: &Config) -> Result<AgentDraft> {
        check_name(name)?;
        check_name(other).map_err(|error| error.field("from"))?;
        let text = source(other, &paths.agents())?;
        let (prompts, names) = (paths.prompts(), Names::of(config));
        let template = |file: &str| template(&prompts, file);
        let context = DefinitionContext { config, names: &names, template: &template };
        let parsed = Definition::parse(other, &format!("agents/{other}.toml"), &text, &context);
        let definition = parsed.map_err(|errors| {
            let first = errors.first().map_or_else(String::new, FileDiagnostic::line);
            Error::config(format!("the agent `{other}` is invalid: {first}"))
                .hint(format!("`poc-memory agent check {other}` lists all errors"))
        })?;
        let mut edits = Vec::new();
        let document = TomlDocument::parse(other, &text).ok();
        let value = |path| document.as_ref().and_then(|document| document.value_span(path));
        edits.extend(value("query.pipeline").map(|at| {
            let stage_text = text.get(at.clone()).unwrap_or_default();
            (at, renamed(stage_text, other, name))
        }));
        let own = PromptDraft { name: format!("{name}.md"), text: definition.prompt.text };
        let prompt = definition.prompt.template.map(|_| own);
        if let (Some(prompt), Some(at)) = (&prompt, value("prompt.template")) {
            edits.push((at, format!("\"{}\"", prompt.name)));
        }
        edits.extend(document.iter().flat_map(|document| test_edits(document, &paths.agents(), other, name)));
        // Apply edits from the end, so that earlier offsets stay valid.
        edits.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
        let mut agent = text.clone();
        for (at, new) in edits {
            agent.replace_range(at, &new);
        }
        let command = |agent: &str| format!("`poc-memory agent test {agent}`");
        Ok(AgentDraft { agent: agent.replace(&command(other), &command(name)), prompt })
    }
}

/// The values of `[[tests]]` that refer to the visits of the copied agent, each with its byte range and its new text. A
/// fixture without such visits stays as it is, also if it is a file, which both agents then use.
fn test_edits(
    document: &TomlDocument<'_>,
    agents: &Path,
    old: &str,
    new: &str,
) -> Vec<(Range<usize>, String)> {
    let tests = document.value("tests").and_then(|tests| tests.get_ref().as_array());
    let edit = |test: &Spanned<DeValue<'_>>| {
        let fixture = test.get_ref().as_table()?.get("fixture")?;
        let text = TestText { text: fixture.get_ref().as_str()?.to_owned(), offset: 0 };
        let lines = match text.file() {
            // `agent check` reports a file that cannot be read.
            Some(file) => test_file_of(agents, file).ok()?,
            None => text.text.clone(),
        };
        let renamed: Vec<String> = lines.lines().map(|line| renamed_visits(line, old, new)).collect();
        let is_changed = renamed.iter().map(String::as_str).ne(lines.lines());
        is_changed.then(|| (fixture.span(), long_string(&renamed.join("\n"))))
    };
    tests.into_iter().flat_map(|tests| tests.iter()).filter_map(edit).collect()
}

/// A line of a fixture with the visits of `old` as those of `new`.
fn renamed_visits(line: &str, old: &str, new: &str) -> String {
    let renamed = || -> Option<String> {
        let mut note: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
        let visits = note.get_mut("visits")?.as_object_mut()?;
        let ago = visits.remove(old)?;
        visits.insert(new.to_owned(), ago);
        serde_json::to_string(&note).ok()
    };
    renamed().unwrap_or_else(|| line.to_owned())
}

/// The text of an agent's file, or of the bundled agent.
fn source(name: &str, folder: &Path) -> Result<String> {
    match std::fs::read_to_string(folder.join(format!("{name}.toml"))) {
        Ok(text) => return Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            let file = format!("agents/{name}.toml");
            return Err(Error::config(format!("cannot be read: {error}")).file(file));
        }
    }
    let named = |file: &BundledFile| Some((file.name.strip_suffix(".toml")?, file.text));
    let bundled = || embedded::agents().iter().filter_map(named);
    if let Some((_, text)) = bundled().find(|(file, _)| *file == name) {
        return Ok(text.to_owned());
    }
    let there: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    let error = Error::not_found(format!("there is no agent `{name}`")).field("from");
    let known = there.iter().map(String::as_str).chain(bundled().map(|(file, _)| file));
    Err(match similar::closest(name, known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`poc-memory agent list` shows the agents"),
    })
}

/// The pipeline text with the visits of `old` replaced by those of `new`.
fn renamed(pipeline: &str, old: &str, new: &str) -> String {
    let mut text = String::new();
    let mut rest = pipeline;
    while let Some(at) = rest.find(old) {
        let (before, behind) = (rest.get(..at).unwrap_or(""), rest.get(at + old.len()..).unwrap_or(""));
        text.push_str(before);
        let word = before.trim_end_matches(['"', '\'', '\\', ' ']);
        text.push_str(if word.ends_with(VISITED_PREFIX) && !behind.starts_with(is_of_name) {
            new
        } else {
            old
        });
        rest = behind;
    }
    text + rest
}

/// An agent file with every key: required keys with a value, the others commented out with their defaults.
fn commented(name: &str) -> String {
    let defaults: Table = toml::from_str(DEFAULTS).unwrap_or_default();
    let mut text = String::from(
        "#:schema ../schema/agent.json\n# What is commented out shows the default, or an example where \
         there is none. To change it,\n# uncomment it and the `[section]` above it.\n\n",
    );
    add_keys(&mut text, "", name, &defaults);
    let shown =
        |key: &&KeySpec| matches!(key.takes, ValueType::Table | ValueType::Values) && !is_of_tests(key);
    for table in KEYS.iter().filter(shown) {
        text.push('\n');
        comment(&mut text, table.doc);
        let opens = keys_of(table.path).any(|key| value(key.path, name).is_some());
        let _ = writeln!(text, "{}[{}]", if opens { "" } else { "#" }, table.path);
        add_keys(&mut text, table.path, name, &defaults);
    }
    text
}

/// The keys directly in a table, without its subtables.
fn keys_of(table: &str) -> impl Iterator<Item = &'static KeySpec> {
    let is_table = |key: &KeySpec| matches!(key.takes, ValueType::Table | ValueType::Values);
    let listed = move |key: &KeySpec| !is_table(key) && key.path != "prompt.inline" && !is_of_tests(key);
    KEYS.iter().filter(move |key| key.table() == table && listed(key))
}

/// Whether the key belongs to `[[tests]]`, which `agent run --record` writes.
fn is_of_tests(key: &KeySpec) -> bool {
    key.path.split('.').next() == Some("tests")
}

fn add_keys(text: &mut String, table: &str, name: &str, defaults: &Table) {
    for key in keys_of(table) {
        comment(text, key.doc);
        let default = || {
            let path = key.path.split('.');
            let mut at = Some(toml::Value::Table(defaults.clone()));
            path.for_each(|name| at = at.take().and_then(|table| table.get(name).cloned()));
            at.map(|default| default.to_string())
        };
        // Writing to a string cannot fail.
        let _ = match (value(key.path, name), default()) {
            (Some(value), _) => writeln!(text, "{} = {value}", key.name()),
            (None, Some(default)) => writeln!(text, "#{} = {default}", key.name()),
            (None, None) => writeln!(text, "#{} = 0.5", key.name()),
        };
    }
}

/// The value of a required key in a new agent file.
fn value(path: &str, name: &str) -> Option<String> {
    Some(match path {
        "description" => format!("\"What {name} is for, in a line\""),
        "query.pipeline" => {
            format!("\"all | type:episodic | not-visited:{name},7d | sort:priority | limit:20\"")
        }
        "prompt.template" => format!("\"{name}.md\""),
        "prompt.placeholders" => "[\"TOPOLOGY\", \"NODES\"]".to_owned(),
        "execution.model" => "\"default\"".to_owned(),
        "execution.actions" => "[\"link-add\", \"weight\"]".to_owned(),
        "execution.schedule" => "\"on-demand\"".to_owned(),
        _ => return None,
    })
}

/// A sentence as lines of a comment.
fn comment(text: &mut String, sentence: &str) {
    let mut line = String::from("#");
    for word in sentence.split(' ') {
        if line.chars().count() + word.chars().count() >= WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, draft: &AgentDraft) -> Result<Definition, Vec<FileDiagnostic>> {
        let config = Config::defaults().unwrap();
        let prompt = draft.prompt.clone().unwrap_or_default();
        let template = |file: &str| Ok((file == prompt.name).then(|| prompt.text.clone()).unwrap());
        let context = DefinitionContext { config: &config, names: &Names::of(&config), template: &template };
        Definition::parse(name, &format!("agents/{name}.toml"), &draft.agent, &context)
    }

    #[test]
    fn a_new_agent_file_is_valid_and_lists_every_key() {
        let draft = AgentDraft::new("weekly.review").unwrap();
        let definition = parse("weekly.review", &draft).unwrap();
        assert!(definition.warnings().is_empty(), "{:?}", definition.warnings());
        assert_eq!(
            definition.query.pipeline.not_visited("weekly.review"),
            Some(Some(poc_graph::time::Span::WEEK))
        );
        let listed = |key: &&KeySpec| {
            !matches!(key.takes, ValueType::Table) && key.path != "prompt.inline" && !is_of_tests(key)
        };
        for key in KEYS.iter().filter(listed) {
            let shown = draft.agent.lines().any(|line| {
                let line = line.trim_start_matches('#');
                line.starts_with(&format!("{} =", key.name())) || line == format!("[{}]", key.path)
            });
            assert!(shown, "{}", key.path);
        }
        assert!(draft.agent.lines().all(|line| line.chars().count() <= 120));
    }

    #[test]
    fn every_commented_line_is_valid_when_uncommented() {
        let draft = AgentDraft::new("mine").unwrap();
        let line = |line: &str| match line.strip_prefix('#') {
            Some(stage_text) if !stage_text.starts_with([' ', ':']) => format!("{stage_text}\n"),
            _ => format!("{line}\n"),
        };
        let all: String = draft.agent.lines().map(line).collect();
        let all = all
            .replace("[\"link-add\", \"weight\"]", "[\"link-add\", \"weight\", \"insert\", \"supersede\"]");
        let draft = AgentDraft { agent: all, ..draft };
        assert!(parse("mine", &draft).is_ok(), "{:?}\n{}", parse("mine", &draft), draft.agent);
    }

    #[test]
    fn a_copied_agent_has_its_own_visits_and_template() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        let config = Config::defaults().unwrap();
        for file in embedded::agents() {
            let other = file.name.strip_suffix(".toml").unwrap();
            let draft = AgentDraft::copy_of(other, "mine", &paths, &config).unwrap();
            let definition = parse("mine", &draft).unwrap();
            assert_eq!(definition.prompt.template.as_deref(), Some("mine.md"));
            assert_eq!(definition.query.pipeline.not_visited(other), None, "{}", definition.query.pipeline);
            assert_eq!(definition.tests.len(), file.text.matches("\n[[tests]]").count(), "{other}");
            assert!(!definition.tests.is_empty(), "{other}");
        }
        let error = AgentDraft::copy_of("linkr", "mine", &paths, &config).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            ("there is no agent `linkr`", Some("did you mean `linker`?"))
        );
    }

    #[test]
    fn copied_tests_have_the_visits_of_the_new_agent() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        let config = Config::defaults().unwrap();
        let draft = AgentDraft::copy_of("linker", "mine", &paths, &config).unwrap();
        let definition = parse("mine", &draft).unwrap();
        let fixtures: Vec<&str> = definition.tests.iter().map(|test| test.fixture.text.as_str()).collect();
        assert!(fixtures[0].contains("\"visits\":{\"mine\":\"2d\"}"), "{}", fixtures[0]);
        assert!(fixtures.iter().all(|fixture| !fixture.contains("\"linker\"")), "{fixtures:?}");
        assert_eq!(definition.tests[0].response.as_ref().unwrap().text, "tests/linker-good.json");
        assert!(draft.agent.contains("`poc-memory agent test mine`"), "{}", draft.agent);
        // A fixture without visits is shared.
        let draft = AgentDraft::copy_of("facts", "mine", &paths, &config).unwrap();
        assert_eq!(parse("mine", &draft).unwrap().tests[0].fixture.text, "tests/facts.jsonl");
    }

    #[test]
    fn copying_renames_only_the_agents_own_visits() {
        for (written, expected) in [
            ("\"all | not-visited:a,7d | type:a\"", "\"all | not-visited:b,7d | type:a\""),
            (
                "'not-visited: \"a\" | key:a | sort:visited:a asc'",
                "'not-visited: \"b\" | key:a | sort:visited:b asc'",
            ),
            ("\"!visited:a,1d | visited:ab | visited:a-b\"", "\"!visited:b,1d | visited:ab | visited:a-b\""),
        ] {
            assert_eq!(renamed(written, "a", "b"), expected);
        }
    }
}
