//! The manual page of the pipeline language, from the tables of its stages and fields.

use super::{MANUAL, SOURCE};
use crate::ops::STAGE_KINDS;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use poc_search::query::{FIELDS, Param, Presence, StageDef, vocabulary};
use std::io;

/// The name of the page.
pub(super) const NAME: &str = "poc-memory-pipelines";

const ABOUT: &str = "\
A pipeline is a sequence of stages separated by `|`. Each stage takes a list of notes with scores and returns \
one; the stages run in the order written. The value of a stage follows its `:`, and named parameters follow a \
`,`. A pipeline without a generator starts with `all`. Search terms before the pipeline become the text of its \
first stage if that takes one. A value needs quotes if it contains `|` or `,`, starts with a quote, or contains \
spaces and is not a text. Durations are written as `7d`, `24h`, `30m`, `2w` or `45s`; comparisons (CMP) begin \
with `>`, `>=`, `<`, `<=` or `=`. `@NAME` is a pipeline that is saved under `[pipelines]` in `config.toml`.";

/// The page in roff.
pub(super) fn page() -> io::Result<Vec<u8>> {
    let mut roff = Roff::new();
    // The third argument is the date.
    roff.control("TH", [NAME, "1", "\"\"", SOURCE, MANUAL]);
    roff.control("SH", ["NAME"]).text([roman(format!("{NAME} - the language of searches and of agents"))]);
    roff.control("SH", ["SYNOPSIS"])
        .text([bold("poc-memory search"), roman(" [TERMS] -p 'STAGE | STAGE | ...'")]);
    roff.control("SH", ["DESCRIPTION"]).text(inlines(ABOUT));
    for (kind, about) in STAGE_KINDS {
        roff.control("SH", [about.split(' ').next().unwrap_or(about).to_uppercase().as_str()]);
        roff.text(inlines(&format!("{about}.")));
        for stage in vocabulary().iter().filter(|stage| stage.kind() == kind) {
            add_stage(&mut roff, stage);
        }
    }
    add_fields(&mut roff);
    roff.control("SH", ["SEE ALSO"]).text([roman("poc-memory-search(1), poc-memory-pipeline-explain(1)")]);
    let mut text = Vec::new();
    roff.to_writer(&mut text)?;
    Ok(text)
}

fn add_stage(roff: &mut Roff, stage: &StageDef) {
    roff.control("TP", []).text([bold(stage.signature())]);
    roff.text(inlines(&format!("{}.", stage.doc)));
    add_paragraphs(roff, stage.more);
    for param in stage.params {
        roff.control("IP", []).text(inlines(&parameter(param)));
    }
    roff.control("IP", []).text(inlines(&format!("Example: `{}`", stage.example.pipeline)));
}

/// A parameter on one line: `k`: a whole number from 1, 20 if omitted. The meaning.
fn parameter(param: &Param) -> String {
    let default = match param.presence {
        Presence::Required => String::new(),
        Presence::Optional => ", may be omitted".to_owned(),
        Presence::Default(value) => format!(", `{value}` if omitted"),
    };
    format!("`{}`: {}; {}{default}", param.name, param.doc, param.value_type.description())
}

fn add_fields(roff: &mut Roff) {
    roff.control("SH", ["FIELDS"]);
    roff.text(inlines(
        "The numeric fields of notes. `FIELD:CMP` filters by a field, `sort:FIELD` sorts by it.",
    ));
    for field in FIELDS {
        let filter = field.filter.is_some().then(|| format!("{}:CMP", field.word));
        let sort = field.sort.map(|sort| format!("sort:{sort}"));
        let forms: Vec<String> = filter.into_iter().chain(sort).collect();
        roff.control("TP", []).text([bold(forms.join(", "))]);
        roff.text(inlines(&format!("{}.", field.doc.trim_end_matches('.'))));
        add_paragraphs(roff, field.more);
    }
}

/// The paragraphs of a text in Markdown, below the entry of a list.
fn add_paragraphs(roff: &mut Roff, text: &str) {
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        roff.control("IP", []).text(inlines(&paragraph.replace('\n', " ")));
    }
}

/// A text whose code is bold.
fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(place, part)| if place % 2 == 0 { roman(part) } else { bold(part) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_stage_with_its_parameters_and_every_field() {
        let page = String::from_utf8(page().unwrap()).unwrap().replace("\\-", "-");
        for stage in vocabulary() {
            assert!(page.contains(&format!("\\fB{}", stage.word)), "{}", stage.word);
            for param in stage.params {
                assert!(page.contains(&format!("\\fB{}\\fR: ", param.name)), "{} {}", stage.word, param.name);
            }
        }
        for field in FIELDS {
            assert!(page.contains(field.word), "{}", field.word);
        }
        for heading in ["GENERATORS", "FILTERS", "TRANSFORMS", "ALGORITHMS", "FIELDS"] {
            assert!(page.contains(&format!(".SH {heading}\n")), "{heading}");
        }
    }
}
