//! `provenance:NAME`: nodes by their provenance.

use super::definition::{Hints, StageDef, StageImplementation};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, ParamType, Presence};

pub(super) const STAGE: StageDef = StageDef {
    word: "provenance",
    params: &[Param {
        name: "NAME",
        position: ParamPosition::Colon,
        value_type: ParamType::Name,
        presence: Presence::Required,
        doc: "the whole provenance, its part before `:`, or an agent's name",
    }],
    doc: "Keeps notes by their provenance: who or what created them",
    more: "`import:notes.md` matches the names `import:notes.md` and `import`; `agent:linker` matches \
           `agent:linker`, `agent` and `linker`.",
    example: Example { pipeline: "provenance:linker", output: &["crash-notes"] },
    describe: |call| format!("made by `{}`", call.text("NAME").unwrap_or_default()),
    implementation: StageImplementation::Filter(|call, ctx| {
        let name = call.text("NAME")?;
        // There are few provenances and many nodes, so each provenance is compared only once.
        let mut wanted: Vec<bool> = Vec::new();
        for (number, provenance) in ctx.sources.view.provenances() {
            let number = number as usize;
            wanted.resize(wanted.len().max(number + 1), false);
            if let Some(slot) = wanted.get_mut(number) {
                *slot = matches_name(provenance, &name);
            }
        }
        let mut numbers = ctx.sources.view.provenance_numbers();
        Ok(Box::new(move |ix| wanted.get(numbers.of(ix, u32::MAX) as usize) == Some(&true)))
    }),
    hints: Hints {
        // The name may be that of an agent, whose notes are usually derived.
        asks_for_derived: Some(|call| {
            let is_of_others = |name: &str| matches!(name.split(':').next(), Some("manual" | "import"));
            call.text("NAME").is_ok_and(|name| !is_of_others(&name))
        }),
        passes: Some(|call, node| call.text("NAME").is_ok_and(|name| matches_name(node.provenance, &name))),
        ..Hints::NONE
    },
};

/// Whether a name selects a provenance.
fn matches_name(provenance: &str, name: &str) -> bool {
    provenance == name
        || provenance.split_once(':').is_some_and(|(maker, rest)| {
            maker == name || (maker == "agent" && rest.split(':').next() == Some(name))
        })
}

#[cfg(test)]
mod tests {
    use super::matches_name;

    #[test]
    fn a_provenance_matches_its_kind_and_agent() {
        for (provenance, name, expected) in [
            ("manual", "manual", true),
            ("import:a/b.md", "import", true),
            ("import:a/b.md", "import:a/b.md", true),
            ("import:linker", "linker", false),
            ("agent:linker", "linker", true),
            ("agent:linker", "agent", true),
            ("linker:link-add", "linker", true),
            ("manual", "man", false),
        ] {
            assert_eq!(matches_name(provenance, name), expected, "{provenance} {name}");
        }
    }
}
