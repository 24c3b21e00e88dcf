//! Corrections of common mistakes: the corrected stage, ready to run.

use super::lex::{RawStage, RawWord};
use super::param::{Param, ParamPosition, ParamType};
use super::stage;
use super::stage::definition::StageDef;
use super::value::{Relation, quoted};
use poc_graph::time::Span;
use std::ops::Range;

/// Words of other query languages, with the equivalent stage of this language.
const SYNONYMS: &[(&str, &str)] = &[
    ("tag", "keyword"),
    ("tags", "keyword"),
    ("keywords", "keyword"),
    ("label", "keyword"),
    ("top", "limit"),
    ("take", "limit"),
    ("first", "limit"),
    ("head", "limit"),
    ("skip", "offset"),
    ("order", "sort"),
    ("order-by", "sort"),
    ("sort-by", "sort"),
    ("kind", "type"),
    ("timestamp", "age"),
    ("date", "age"),
    ("updated", "modified"),
    ("since", "age"),
    ("text", "match"),
    ("words", "match"),
    ("contains", "match"),
];

impl RawStage {
    /// The stage with the text at `span`, which is a range in the whole pipeline, replaced.
    pub(super) fn with(&self, span: Range<usize>, text: &str) -> String {
        let (from, to) =
            (span.start.saturating_sub(self.span.start), span.end.saturating_sub(self.span.start));
        let (before, after) = (self.text.get(..from).unwrap_or(""), self.text.get(to..).unwrap_or(""));
        format!("{before}{text}{after}")
    }
}

/// A hint with the stage that was probably meant by an unknown word: `limit:5` for `top:5`, `type:daily` for
/// `type=daily`.
pub(super) fn of_unknown_word(raw: &RawStage) -> Option<String> {
    let synonym = |word: &str| SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, stage)| *stage);
    let known = |word: &str| stage::find(word).or_else(|| stage::find(synonym(word)?));
    if let Some(at) = raw.word.find(['=', '<', '>']) {
        let (word, value) = raw.word.split_at_checked(at)?;
        let def = known(word)?;
        let param = def.colon_param()?;
        let value = match param.value_type.is_comparison() {
            true => with_sign_in_order(value),
            false => value.trim_start_matches('=').to_owned(),
        };
        let text = match value.is_empty() {
            true => return Some(format!("write `{}`", def.signature())),
            false => raw.with(raw.word_span.clone(), &format!("{}:{value}", def.word)),
        };
        return Some(format!("write `{text}`"));
    }
    let def = stage::find(synonym(&raw.word)?)?;
    let words = raw.value.as_ref().map(|value| value.words.as_slice()).unwrap_or_default();
    let Some(last) = words.last() else { return Some(format!("write `{}`", def.signature())) };
    let is_time = |param: &&Param| param.value_type.is_comparison() && param.value_type.takes_duration();
    let text = match def.colon_param().filter(is_time) {
        Some(param) => {
            let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            let text = with_sign_in_order(&text);
            let is_day = param.value_type.parse(&text).is_ok();
            let value = match duration(&text) {
                Some(age) => signed(&age, true),
                None if is_day => text,
                None => "<7d".to_owned(),
            };
            raw.with(raw.word_span.start..last.span.end, &format!("{}:{value}", def.word))
        }
        None => raw.with(raw.word_span.clone(), def.word),
    };
    Some(format!("write `{text}`"))
}

/// Corrects a stage whose value was written after a space: `limit 5`, `limit = 5`, `weight > 1`.
pub(super) fn with_colon(raw: &RawStage, def: &StageDef, param: &Param) -> Option<String> {
    let (first, last) = (raw.trailing.first()?, raw.trailing.last()?);
    let texts = raw.trailing.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let comparison = param.value_type.is_comparison();
    let value = if comparison { texts.as_str() } else { texts.trim_start_matches(['=', ' ']) };
    let has_space_param = def.params.iter().any(|param| param.position == ParamPosition::Space);
    let value = match param.value_type {
        value_type if value_type.takes_duration() => {
            let value = with_sign_in_order(value);
            duration(&value).map_or(value, |short| signed(&short, comparison))
        }
        ParamType::CompareNumber => with_sign_in_order(&value.replace(' ', "")),
        _ if has_space_param => value.to_owned(),
        _ => quoted(value),
    };
    if value.is_empty() {
        return None;
    }
    Some(raw.with(raw.word_span.end..last.span.end.max(first.span.end), &format!(":{value}")))
}

/// Corrects a stage whose named parameters were written after a space or a `:`, as in `spread max_hops=3`.
pub(super) fn with_commas(raw: &RawStage, def: &StageDef, words: &[RawWord]) -> Option<String> {
    let (first, last) = (words.first()?, words.last()?);
    let is_named = |word: &RawWord| {
        let name = word.equals.and_then(|at| word.text.get(..at));
        name.is_some_and(|name| def.named(name).is_some())
    };
    if !words.iter().all(is_named) {
        return None;
    }
    let before = raw.text.get(..first.span.start.saturating_sub(raw.span.start))?;
    let end = before.trim_end().trim_end_matches(':').len() + raw.span.start;
    let texts: String = words.iter().map(|word| format!(",{}", word.text)).collect();
    Some(raw.with(end..last.span.end, &texts))
}

/// Rewrites a duration from another notation: `7 days`, `7days` and `7 d` become `7d`, including the sign of a
/// comparison if there is one. A number alone counts as days.
pub(super) fn duration(text: &str) -> Option<String> {
    let text = text.trim();
    let (sign, rest) = Relation::SIGNS
        .into_iter()
        .find_map(|(sign, _)| text.strip_prefix(sign).map(|rest| (sign, rest.trim_start())))
        .unwrap_or(("", text));
    let (number, unit) =
        rest.split_at_checked(rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len()))?;
    let unit = match unit.trim().to_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "" | "d" | "day" | "days" => "d",
        "w" | "week" | "weeks" => "w",
        _ => return None,
    };
    Span::parse(&format!("{number}{unit}")).ok().map(|_| format!("{sign}{number}{unit}"))
}

/// Adds a sign to a duration in a comparison, because no note has exactly that age to the millisecond.
pub(super) fn signed(duration: &str, comparison: bool) -> String {
    match comparison && duration.starts_with(|char: char| char.is_ascii_digit()) {
        true => format!("<{duration}"),
        false => duration.to_owned(),
    }
}

/// A comparison whose sign may be written the wrong way round, such as `=>5`, with the sign as this language has it.
fn with_sign_in_order(text: &str) -> String {
    let reversed = [("=>", ">="), ("=<", "<=")];
    let found =
        reversed.iter().find_map(|(wrong, right)| Some(format!("{right}{}", text.strip_prefix(wrong)?)));
    found.unwrap_or_else(|| text.to_owned())
}

/// A valid value near an invalid one: the nearest allowed number, or a comparison with its sign the right way round.
pub(super) fn nearest_value(value_type: ParamType, text: &str) -> Option<String> {
    if !value_type.is_comparison() {
        return nearest_number(value_type, text);
    }
    let comparison = with_sign_in_order(text);
    value_type.parse(&comparison).is_ok().then_some(comparison)
}

/// The allowed number nearest to one that is out of bounds or not whole.
fn nearest_number(value_type: ParamType, text: &str) -> Option<String> {
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    match value_type {
        ParamType::Count(min, max) => {
            // A conversion from a float saturates.
            Some((number as usize).clamp(min, max).to_string())
        }
        ParamType::Number(min, max) => Some(number.clamp(min, max).to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_map_to_stages_and_are_not_stages() {
        for (word, stage) in SYNONYMS {
            assert!(stage::find(stage).is_some() && stage::find(word).is_none(), "{word} {stage}");
        }
    }

    #[test]
    fn signs_are_put_in_order() {
        for (text, expected) in [("=>5", ">=5"), ("=<5", "<=5"), (">=5", ">=5"), ("=5", "=5"), ("5", "5")] {
            assert_eq!(with_sign_in_order(text), expected);
        }
        assert_eq!(nearest_value(ParamType::CompareNumber, "=>x"), None);
    }

    #[test]
    fn durations_in_other_notations_are_corrected() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(duration(text).as_deref(), expected, "{text}");
        check("7 days", Some("7d"));
        check("7d", Some("7d"));
        check("< 24 hours", Some("<24h"));
        check(">=2 Weeks", Some(">=2w"));
        check("30min", Some("30m"));
        check("7", Some("7d"));
        check("days", None);
        check("7 dogs", None);
        check("7 days ago", None);
    }
}
