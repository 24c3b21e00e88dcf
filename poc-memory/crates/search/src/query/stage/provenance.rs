//! `provenance:NAME`: nodes by who made them.

use super::definition::{Hints, StageDef, Work};
use crate::query::example::Example;
use crate::query::param::{Param, ParamPosition, Presence, ValueType};

pub(super) const STAGE: StageDef = StageDef {
    word: "provenance",
    params: &[Param {
        name: "NAME",
        position: ParamPosition::Colon,
        value_type: ValueType::Name,
        presence: Presence::Required,
        doc: "the whole provenance, its part before `:`, or an agent's name",
    }],
    doc: "Keeps nodes by who made them",
    more: "`import:notes.md` goes by `import:notes.md` and by `import`; `agent:linker` by \
           `agent:linker`, `agent` and `linker`.",
    example: Example { pipeline: "provenance:linker", output: &["crash-notes"] },
    describe: |call| format!("made by `{}`", call.text("NAME").unwrap_or_default()),
    work: Work::Filter(|call, ctx| {
        let name = call.text("NAME")?;
        // Few provenances, many nodes: each provenance is looked at once.
        let mut wanted: Vec<bool> = Vec::new();
        for (number, provenance) in ctx.sources.view.provenances() {
            let number = number as usize;
            wanted.resize(wanted.len().max(number + 1), false);
            if let Some(slot) = wanted.get_mut(number) {
                *slot = goes_by(provenance, &name);
            }
        }
        let mut numbers = ctx.sources.view.provenance_numbers();
        Ok(Box::new(move |ix| wanted.get(numbers.of(ix, u32::MAX) as usize) == Some(&true)))
    }),
    hints: Hints {
        passes: Some(|call, node| call.text("NAME").is_ok_and(|name| goes_by(node.provenance, &name))),
        ..Hints::NONE
    },
};

/// Whether a provenance goes by a name.
fn goes_by(provenance: &str, name: &str) -> bool {
    provenance == name
        || provenance.split_once(':').is_some_and(|(maker, rest)| {
            maker == name || (maker == "agent" && rest.split(':').next() == Some(name))
        })
}

#[cfg(test)]
mod tests {
    use super::goes_by;

    #[test]
    fn names_of_a_provenance() {
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
            assert_eq!(goes_by(provenance, name), expected, "{provenance} {name}");
        }
    }
}
