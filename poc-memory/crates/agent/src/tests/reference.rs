//! The section of REFERENCE.md about agent files, generated from the table of keys.

use crate::definition::key_spec::ValueType;
use crate::definition::keys::KEYS;
use crate::definition::schema;
use crate::embedded;
use crate::ledger::StatusReason;
use crate::permit::RefusalReason;
use crate::schedule::Schedule;
use crate::template::VARIABLES;
use poc_graph::testing::generated::{assert_file, assert_section};
use serde_json::Value;
use std::fmt::Write;

const HEAD: &str = "\
# Agent files

An agent is a file `NAME.toml` in the folder `agents`. It has a query, a prompt and limits on what it may change. \
Its prompt template is a file in the folder `prompts` or part of the agent file; the template language is \
[tera](https://keats.github.io/tera/). Changes take effect when a file is saved. The bundled agent `linker`:

```toml
";

const KEYS_HEAD: &str = "```

Required are `query.pipeline`, a template, `prompt.placeholders`, `execution.model` and `execution.actions`. \
Unknown keys are errors. `poc-memory agent check` reports every problem with its line and column. \
`poc-memory agent schema` prints the JSON Schema of agent files. `init` writes that schema to disk, and the first \
line of each agent file, `#:schema ../schema/agent.json`, points editors (Even Better TOML, taplo, tombi) to it, so \
that they complete and check agent files offline.
";

#[test]
fn the_reference_is_up_to_date() {
    assert_section("REFERENCE.md", &page(), "# Agent files", None);
}

/// `agent schema` prints the schema file that editors use.
#[test]
fn the_schema_of_agent_files_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&schema()).unwrap();
    assert_file("schema/agent.json", &format!("{schema}\n"));
}

/// The section about agents.
fn page() -> String {
    let linker = embedded::agents().iter().find(|file| file.name == "linker.toml").unwrap();
    let mut page = format!("{HEAD}{}\n{KEYS_HEAD}", linker.text.trim_end());
    let schema = Value::Object(schema());
    page.push_str(&table("", &schema));
    for section in KEYS.iter().filter(|key| matches!(key.takes, ValueType::Table | ValueType::Tables)) {
        let name = match section.takes {
            ValueType::Tables => format!("[[{}]]", section.path),
            _ => format!("[{}]", section.path),
        };
        let _ = write!(page, "\n## {name}\n\n{}.\n", section.doc);
        page.push_str(&table(section.path, &schema));
    }
    let schedules: Vec<String> = Schedule::examples().map(|form| format!("`{form}`")).collect();
    let _ = write!(
        page,
        "\n## Schedules\n\n{}. Times that a schedule leaves open are derived from the agent's name, so that \
         agents start at different times and each agent always at the same time. The five fields of `cron` are \
         minute, hour, day of month, month and day of week.\n",
        schedules.join(", ")
    );
    let variables: Vec<String> = VARIABLES.map(|name| format!("`{name}`")).to_vec();
    let _ = write!(
        page,
        "\n## Variables of a template\n\n{}, in upper or lower case; `vars.NAME` for the values of `[prompt.vars]`; \
         and the function `node(key=\"…\")`. The size of the output is limited. Templates therefore must not use \
         `set_global`, `set` or `filter` blocks, list comprehensions with `for`, or more than three nested loops; \
         `range` goes up to 1,000.\n",
        variables.join(", ")
    );
    page.push_str(
        "\n## Why it was not run\n\nEvery scheduled time of an agent has a row in `poc-memory agent history`. Rows that are \
         `skipped` or `missed`, and some that `failed`, have a reason:\n",
    );
    page.push_str(&codes(StatusReason::ALL.iter().map(|reason| (reason.name(), reason.meaning()))));
    page.push_str(
        "\n## Why an action was not done\n\n`poc-memory agent inspect RUN` lists every action that the model \
         requested. Actions that were not applied have a reason. When a note is split, its parts and its replacement are \
         applied together or not at all.\n",
    );
    page.push_str(&codes(RefusalReason::ALL.iter().map(|reason| (reason.code(), reason.meaning()))));
    page
}

/// Codes and their meanings.
fn codes<'a>(codes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows: String = codes.map(|(code, meaning)| format!("| `{code}` | {meaning} |\n")).collect();
    format!("\n| code | meaning |\n|---|---|\n{rows}")
}

/// The keys directly in a table as rows; empty when there are none.
fn table(path: &str, schema: &Value) -> String {
    let keys = KEYS
        .iter()
        .filter(|key| key.table() == path && !matches!(key.takes, ValueType::Table | ValueType::Tables));
    let rows: Vec<String> = keys
        .map(|key| {
            let place = key.path.split('.').fold(schema, |schema, name| &schema["properties"][name]);
            let default = match (key.example, place.get("default")) {
                (Some(_), _) => "must be given".to_owned(),
                (None, Some(default)) => format!("`{default}`"),
                (None, None) => "none".to_owned(),
            };
            let cells =
                [key.takes.description(), default, key.doc.to_owned()].map(|cell| cell.replace('|', "\\|"));
            format!("| `{}` | {} |\n", key.name(), cells.join(" | "))
        })
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("\n| key | takes | default | meaning |\n|---|---|---|---|\n{}", rows.concat()),
    }
}
