//! The manual of agent files, from the table of keys.

use crate::definition::keys::{KEYS, ValueType};
use crate::definition::schema;
use crate::embedded;
use crate::ledger::Reason;
use crate::permit::Rejection;
use crate::schedule::Schedule;
use crate::template::VARIABLES;
use poc_graph::testing::generated::{assert_file, assert_section};
use serde_json::Value;
use std::fmt::Write;

const HEAD: &str = "\
# Agent files

An agent is a file `NAME.toml` in the folder `agents`: a query, a prompt and a permit. Its template is a file \
in the folder `prompts` ([tera](https://keats.github.io/tera/)), or stands in the file itself. Both take \
effect when they are saved. `linker`, which is bundled:

```toml
";

const KEYS_HEAD: &str = "```

Only `query.pipeline`, a template, `prompt.placeholders`, `execution.model` and `execution.actions` must be \
there. A key that is not known is an error; `poc-memory agent check` tells everything that is wrong, with line \
and column. `poc-memory agent schema` prints the JSON Schema of these files; `init` writes it beside them, and \
their first line, `#:schema ../schema/agent.json`, has editors (Even Better TOML, taplo, tombi) complete and \
check by it, without a network.
";

#[test]
fn the_reference_is_fresh() {
    assert_section("REFERENCE.md", &page(), "# Agent files", None);
}

/// What `agent schema` prints is what editors of the bundled agents find.
#[test]
fn the_schema_of_agent_files_is_fresh() {
    let schema = serde_json::to_string_pretty(&schema()).unwrap();
    assert_file("schema/agent.json", &format!("{schema}\n"));
}

/// The part of the page about agents.
fn page() -> String {
    let (_, linker) = embedded::agents().iter().find(|(file, _)| *file == "linker.toml").unwrap();
    let mut page = format!("{HEAD}{}\n{KEYS_HEAD}", linker.trim_end());
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
        "\n## Schedules\n\n{}. What such a schedule leaves open follows from the agent's name: agents do not \
         all start together, and each keeps its time. The five fields of `cron` are minute, hour, day of \
         month, month and day of week.\n",
        schedules.join(", ")
    );
    let variables: Vec<String> = VARIABLES.map(|name| format!("`{name}`")).to_vec();
    let _ = write!(
        page,
        "\n## Variables of a template\n\n{}, in upper or lower case; `vars.NAME` for those of `[prompt.vars]`, \
         and the function `node(key=\"…\")`. What a template makes is bounded, so it may not put text together out \
         of sight: no `set_global`, no blocks of `set` or `filter`, no lists made by `for`, no more than three loops \
         within each other, `range` up to 1,000.\n",
        variables.join(", ")
    );
    page.push_str(
        "\n## Why it was not run\n\nEvery time an agent was due leaves a row (`poc-memory agent history`). One that \
         was `skipped` or `missed`, and some that `failed`, have a reason:\n",
    );
    page.push_str(&codes(Reason::ALL.iter().map(|reason| (reason.name(), reason.meaning()))));
    page.push_str(
        "\n## Why an action was not done\n\nEvery action a model asks for is in the run's row \
         (`poc-memory agent inspect RUN`), those that were not done with a reason. Parts of a note share the \
         fate of what is to take its place.\n",
    );
    page.push_str(&codes(Rejection::ALL.iter().map(|rejection| (rejection.code(), rejection.meaning()))));
    page
}

/// Codes and what they mean.
fn codes<'a>(codes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows: String = codes.map(|(code, meaning)| format!("| `{code}` | {meaning} |\n")).collect();
    format!("\n| code | meaning |\n|---|---|\n{rows}")
}

/// The keys right below a table, as rows; nothing when there are none.
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
            let cells = [key.takes.words(), default, key.doc.to_owned()].map(|cell| cell.replace('|', "\\|"));
            format!("| `{}` | {} |\n", key.name(), cells.join(" | "))
        })
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("\n| key | takes | default | meaning |\n|---|---|---|---|\n{}", rows.concat()),
    }
}
