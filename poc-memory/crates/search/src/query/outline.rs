//! The outline of a pipeline: what it will do, stage by stage, without running it.

use super::ast::{Pipeline, StageCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unicode_width::UnicodeWidthStr as _;

/// The width of the column of arguments.
const ARGUMENT_WIDTH: usize = 32;

/// The outline of one stage. `Display` writes the stage followed by one line per argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outline {
    /// The stage as written.
    pub stage: String,
    /// `generator`, `filter`, `transform` or `algorithm`.
    pub kind: String,
    /// What the stage does.
    pub does: String,
    /// The arguments of the stage, including defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// The name of the saved pipeline that the stage comes from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// An argument of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Argument {
    /// The name of the parameter.
    pub name: String,
    /// The value; absent if none is given and the parameter has no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether the value is given in the pipeline; `false` for a default.
    pub given: bool,
    /// What the parameter means.
    pub meaning: String,
}

impl Pipeline {
    /// The outlines of the pipeline's stages, in order.
    pub fn outline(&self) -> Vec<Outline> {
        self.calls.iter().map(outline).collect()
    }
}

fn outline(call: &StageCall) -> Outline {
    let arguments = call.def.params.iter().zip(&call.arguments.values).map(|(param, given)| Argument {
        name: param.name.to_owned(),
        // A test checks that every default can be parsed.
        value: call.arguments.argument(param.name).ok().flatten().map(|value| value.to_string()),
        given: given.is_some(),
        meaning: param.doc.to_owned(),
    });
    Outline {
        stage: call.to_string(),
        kind: call.def.kind().name().into(),
        does: call.description(),
        arguments: arguments.collect(),
        saved: call.saved.as_deref().map(str::to_owned),
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let saved = self.saved.as_ref().map_or_else(String::new, |name| format!(" (from `@{name}`)"));
        writeln!(f, "{}\n  {}: {}{saved}", self.stage, self.kind, self.does)?;
        for Argument { name, value, given, meaning } in &self.arguments {
            let argument = match (value, given) {
                (Some(value), true) => format!("{name} = {value}"),
                (Some(value), false) => format!("{name} = {value} (default)"),
                (None, _) => format!("{name} is not given"),
            };
            // `format` counts characters, some of which take two columns.
            let padding = " ".repeat(ARGUMENT_WIDTH.saturating_sub(argument.width()));
            writeln!(f, "    {argument}{padding}  {meaning}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_aligned_also_after_wide_characters() {
        let argument = |value: &str| Argument {
            name: "text".into(),
            value: Some(value.into()),
            given: true,
            meaning: "the words".into(),
        };
        let outline = Outline {
            stage: "match:tea".into(),
            kind: "generator".into(),
            does: "finds notes by words".into(),
            arguments: vec![argument("tea"), argument("日本茶")],
            saved: None,
        };
        let text = outline.to_string();
        let before = text.lines().filter_map(|line| Some(line.split_once("the words")?.0.width()));
        assert_eq!(before.collect::<Vec<_>>(), [38, 38], "{text}");
    }
}
