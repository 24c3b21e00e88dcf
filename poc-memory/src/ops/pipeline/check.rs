//! `pipeline check`

use crate::ops::text::{Problem, problem};
use crate::ops::{Access, Ctx, Op};
use poc_graph::error::{Exit, Result};
use poc_search::query::Pipeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Say whether pipelines are sound, with everything that is wrong; nothing is run. Without any, all
/// saved pipelines are checked.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// Pipelines; `@NAME` for a saved one
    #[arg(value_name = "PIPELINE", help = "Pipelines, each in quotes; `@NAME` for a saved one")]
    #[serde(default)]
    pipelines: Vec<String>,
}

/// What was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    pipelines: Vec<Checked>,
}

/// One pipeline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Checked {
    /// As given or saved.
    text: String,
    /// Its name, when all saved ones are checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
    /// Whether it can be used.
    sound: bool,
    /// A sound one in its canonical form, saved pipelines written out; `TERMS` stands where search
    /// terms belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

impl Checked {
    fn of(text: &str, saved: Option<&str>, parsed: Result<Pipeline>) -> Checked {
        Checked {
            text: text.to_owned(),
            saved: saved.map(str::to_owned),
            sound: parsed.is_ok(),
            pipeline: parsed.as_ref().ok().map(ToString::to_string),
            problem: parsed.as_ref().err().map(Problem::from),
        }
    }
}

impl Op for Check {
    const NAME: &'static str = "pipeline check";
    const ACCESS: Access = Access::Read;
    const TENANTS: bool = false;
    type Output = Report;

    fn run(self, ctx: &Ctx<'_>) -> Result<Report> {
        let names = ctx.memory.names.load();
        let mut pipelines: Vec<Checked> = self
            .pipelines
            .iter()
            .map(|text| Checked::of(text, None, Pipeline::template(text, &names)))
            .collect();
        if pipelines.is_empty() {
            let saved = names.all_saved().iter();
            pipelines
                .extend(saved.map(|(name, saved)| Checked::of(&saved.text, Some(name), names.check(name))));
        }
        Ok(Report { pipelines })
    }

    fn show(output: &Report) -> String {
        let mut text = String::new();
        for checked in &output.pipelines {
            match &checked.problem {
                Some(wrong) => text.push_str(&problem(wrong)),
                None => {
                    let name = checked.saved.as_ref().map_or_else(String::new, |name| format!("@{name}: "));
                    let pipeline = checked.pipeline.as_deref().unwrap_or(&checked.text);
                    text.push_str(&format!("{name}ok, {pipeline}\n"));
                }
            }
        }
        if output.pipelines.is_empty() {
            text.push_str("no pipelines are saved\n");
        }
        text
    }

    fn exit(output: &Report) -> Exit {
        match output.pipelines.iter().find(|checked| !checked.sound) {
            None => Exit::Ok,
            Some(checked) if checked.saved.is_some() => Exit::Config,
            Some(_) => Exit::Usage,
        }
    }
}
