//! Finds the definition of a stage by its word, and reports words that are unknown or in the wrong position.

use super::correction;
use super::diagnostic::{SourceDiagnostic, short};
use super::field::FIELDS;
use super::lex::RawStage;
use super::names::Names;
use super::stage;
use super::stage::definition::StageDef;
use super::value::quoted;
use poc_graph::similar;

/// The hint for a word that is like no other. The list of all stages is several lines long.
const COMMON_STAGES: &str = "common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; \
                             `poc-memory help search` lists all";

/// Fields of notes that no stage filters, because the view does not have them, with what to use instead.
const UNFILTERED_FIELDS: &[(&str, &str)] = &[
    (
        "author",
        "no stage filters by author: `provenance:NAME` filters by who or what stored a note, and `match:NAME` finds \
         notes that contain a name",
    ),
    (
        "session",
        "the keys of the notes of a session begin with its name: `key:claude-code/1a2b3c4d/*`, as `list` shows them",
    ),
    ("source", "no stage filters by source: `provenance:NAME` filters by who or what stored a note"),
];

/// The definition of a stage; `None` after adding an error to `problems`. `alone` tells whether the pipeline has no
/// other stage.
pub(super) fn look_up(
    stage: &RawStage,
    alone: bool,
    names: &Names,
    problems: &mut Vec<SourceDiagnostic>,
) -> Option<&'static StageDef> {
    let word = stage.word.as_str();
    if word.is_empty() {
        let nothing = stage.value.is_none() && stage.arguments.is_empty() && stage.not.is_none();
        problems.push(match nothing {
            true if alone => SourceDiagnostic::new(stage.span.clone(), "the pipeline is empty")
                .hint("`all | limit:20` is a short one"),
            true => SourceDiagnostic::new(stage.span.clone(), "a stage is missing here")
                .hint("write stages between single `|`"),
            false => {
                SourceDiagnostic::new(stage.span.clone(), "a stage starts with its word, as in `type:daily`")
            }
        });
        return None;
    }
    let found = stage::find(word);
    if found.is_none() {
        let problem =
            SourceDiagnostic::new(stage.word_span.clone(), format!("unknown stage `{}`", short(word)));
        let sort = FIELDS.iter().find(|field| field.word == word).and_then(|field| field.sort);
        let right = correction::of_unknown_word(stage);
        let near = || similar::closest(word, stage::vocabulary().iter().map(|stage| stage.word));
        let unfiltered = UNFILTERED_FIELDS.iter().find(|(field, _)| *field == word);
        problems.push(problem.hint(if names.saved(word).is_some() {
            format!("the saved pipeline is `@{word}`")
        } else if let Some((_, instead)) = unfiltered {
            (*instead).to_owned()
        } else if let Some(sort) = sort.filter(|_| !is_compared(stage) || right.is_none()) {
            format!("it is a field to sort by: `sort:{sort}`")
        } else if let Some(right) = right {
            right
        } else if let Some(near) = near() {
            format!("did you mean `{near}`?")
        } else {
            COMMON_STAGES.to_owned()
        }));
    }
    found
}

/// Whether the value of a stage begins with the sign of a comparison.
fn is_compared(stage: &RawStage) -> bool {
    let first = stage.value.as_ref().and_then(|value| value.words.first());
    first.is_some_and(|word| word.text.starts_with(['<', '>', '=']))
}

/// Joins the words of two stages that search for a text into one stage; `None` if the stages are not the same.
fn joined(stage: &RawStage, def: &StageDef, first: &RawStage) -> Option<String> {
    def.text_param().filter(|_| stage.word == first.word)?;
    let words =
        [first, stage].into_iter().filter_map(|stage| stage.value.as_ref()).flat_map(|value| &value.words);
    let texts: Vec<&str> = words.map(|word| word.text.as_str()).collect();
    (texts.len() > 1).then(|| format!("{}:{}", def.word, quoted(&texts.join(" "))))
}

/// The error for a generator that is not the first stage.
pub(super) fn not_first(stage: &RawStage, def: &StageDef, first: Option<&RawStage>) -> SourceDiagnostic {
    let message = match stage.word.starts_with('@') {
        true => format!("`{}` starts with `{}` and can only be the first stage", stage.word, def.word),
        false => format!("`{}` produces a set and can only be the first stage", def.word),
    };
    let problem = SourceDiagnostic::new(stage.word_span.clone(), message);
    if let Some(right) = first.and_then(|first| joined(stage, def, first)) {
        return problem.hint(format!("one stage takes the words of both: write `{right}`"));
    }
    match first.and_then(|first| stage::find(&first.word)).filter(|first| first.hints.takes_free_terms) {
        Some(first) => problem.hint(format!("search terms already are the first stage, `{}:`", first.word)),
        None => problem.hint("put it first, or leave it out"),
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMON_STAGES, UNFILTERED_FIELDS, stage};

    #[test]
    fn the_common_stages_exist() {
        let words = COMMON_STAGES.split('`').skip(1).step_by(2).filter(|word| !word.contains(' '));
        assert!(words.clone().count() > 5);
        words.for_each(|word| assert!(stage::find(word).is_some(), "{word}"));
    }

    #[test]
    fn fields_without_a_stage_name_another_one() {
        for (field, instead) in UNFILTERED_FIELDS {
            assert!(stage::find(field).is_none(), "{field}");
            let stages = instead.split('`').skip(1).step_by(2).filter_map(|quoted| quoted.split_once(':'));
            assert!(stages.clone().count() > 0, "{field}");
            stages.for_each(|(word, _)| assert!(stage::find(word).is_some(), "{word}"));
        }
    }
}
