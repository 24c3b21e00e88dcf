//! Parsers for the fuzz targets, with properties that must hold for any input: see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use super::action::schema;
use super::definition::{ActionKind, check};
use super::model::Reply;
use super::{Definition, DefinitionContext, reply, template};
use poc_config::Config;
use poc_graph::error::Result;
use poc_search::query::Names;
use std::collections::BTreeMap;
use std::io::{Error, Write};
use std::sync::LazyLock;

static CONFIG: LazyLock<Config> = LazyLock::new(|| Config::defaults().unwrap());
static NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(&CONFIG));

/// Maximum bytes of a rendered template.
const MAX_BYTES: usize = 1 << 20;

/// Resolves every included template to the same text.
fn included(_: &str) -> Result<String> {
    Ok("{{ NODES }} {{ vars.tone }}".to_owned())
}

/// Reads an agent file. The same text is the same agent.
pub fn agent_file(text: &str) {
    let context = DefinitionContext { config: &CONFIG, names: &NAMES, template: &included };
    match Definition::parse("linker", "agents/linker.toml", text, &context) {
        Ok(definition) => {
            definition.warnings();
            definition.window();
            schema(&definition.execution.actions);
            let again = Definition::parse("linker", "agents/linker.toml", text, &context).unwrap();
            assert_eq!(again.fingerprint, definition.fingerprint);
        }
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty() && diagnostics.iter().all(|one| !one.to_string().is_empty()));
        }
    }
}

/// Checks a template, and renders it if it has no loop: bounded loops may take minutes.
pub fn prompt_template(text: &str) {
    let name = "linker.md";
    let Ok(includes) = template::includes(name, text, &included) else { return };
    let checked = check::template(name, text, &includes);
    let Ok(tera) = template::engine(name, text, &includes, |key| Ok(format!("a note `{key}`"))) else {
        return assert!(!checked.diagnostics.is_empty());
    };
    assert!(checked.diagnostics.is_empty() && text.starts_with(template::head(text)));
    if text.contains("for") {
        return;
    }
    let mut context = tera::Context::new();
    context.insert("vars", &BTreeMap::from([("tone", "dry"), ("count", "3")]));
    for used in template::variables(&tera, name) {
        context.insert(used, &"a text\nwith `{{ braces }}`");
    }
    let _ = tera.render_to(name, &context, &mut Bounded(0));
}

/// Counts what is written.
struct Bounded(usize);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > MAX_BYTES { Err(Error::other("too long")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Parses a reply of a model, as text and as a structured field.
pub fn model_reply(text: &str) {
    let given = Reply { text: text.to_owned(), ..Reply::default() };
    let structured = serde_json::from_str(text).ok();
    for permitted in [&ActionKind::ALL[..], &[ActionKind::LinkAdd], &[]] {
        for given in [given.clone(), Reply { structured: structured.clone(), ..Reply::default() }] {
            match reply::read(&given, permitted) {
                Ok(parsed) => assert!(parsed.actions.iter().all(|action| !action.kind().name().is_empty())),
                Err(problems) => assert!(!problems.is_empty()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use poc_graph::testing::corpus;

    type Target = fn(&str);

    #[test]
    fn the_properties_hold_for_the_corpora() {
        let targets: [(&str, Target); 3] = [
            ("agent_file", super::agent_file),
            ("prompt_template", super::prompt_template),
            ("model_reply", super::model_reply),
        ];
        for (name, target) in targets {
            for bytes in corpus(name) {
                std::str::from_utf8(&bytes).iter().for_each(|text| target(text));
            }
        }
    }
}
