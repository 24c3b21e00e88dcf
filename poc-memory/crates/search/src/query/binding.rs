//! Binds the arguments of one stage, as written, to the parameters of its definition.

use super::correction;
use super::diagnostic::{SourceDiagnostic, short};
use super::lex::{RawArgument, RawStage, RawWord};
use super::names::Names;
use super::param::{Param, ParamPosition, ParamType, Presence, invalid_value};
use super::stage::definition::StageDef;
use super::value::{Relation, Value};
use poc_graph::similar;
use std::ops::Range;

/// Returns one value per parameter, in the order of the definition; `None` for parameters without a value. Diagnostics
/// are added to `problems`.
pub(super) fn bind(
    stage: &RawStage,
    def: &'static StageDef,
    names: &Names,
    problems: &mut Vec<SourceDiagnostic>,
) -> Vec<Option<Value>> {
    let count = def.params.len();
    Binder { stage, def, names, values: vec![None; count], written: vec![false; count], problems }.bind()
}

struct Binder<'a> {
    stage: &'a RawStage,
    def: &'static StageDef,
    names: &'a Names,
    values: Vec<Option<Value>>,
    /// Whether something was written for a parameter, even if it is invalid.
    written: Vec<bool>,
    problems: &'a mut Vec<SourceDiagnostic>,
}

impl Binder<'_> {
    fn bind(mut self) -> Vec<Option<Value>> {
        self.bind_colon_argument();
        for argument in &self.stage.arguments {
            self.bind_comma_argument(argument);
        }
        let before = self.problems.len();
        self.bind_trailing_words();
        // A stray word is probably the missing text, so only one of the two errors is reported.
        if self.problems.len() == before || self.def.text_param().is_none() {
            self.report_missing();
        }
        self.values
    }

    /// Adds a diagnostic with the syntax of the stage.
    fn report(&mut self, span: Range<usize>, message: String) {
        let signature = self.def.signature();
        self.problems.push(SourceDiagnostic::new(span, message).hint(format!("write `{signature}`")));
    }

    /// Adds a diagnostic with the corrected stage if there is one, otherwise with the syntax of the stage.
    fn report_with_correction(&mut self, span: Range<usize>, message: String, correction: Option<String>) {
        let right = correction.unwrap_or_else(|| self.def.signature());
        self.problems.push(SourceDiagnostic::new(span, message).hint(format!("write `{right}`")));
    }

    /// Binds the argument after the `:` of the stage.
    fn bind_colon_argument(&mut self) {
        let Some(argument) = &self.stage.value else { return };
        match self.first_unset(ParamPosition::Colon) {
            Some(position) => self.bind_argument(position, argument),
            None => {
                let span = argument.mark.start..argument.end();
                let correction = correction::with_commas(self.stage, self.def, &argument.words);
                self.report_with_correction(
                    span,
                    format!("`{}` takes no argument after a `:`", self.def.word),
                    correction,
                );
            }
        }
    }

    /// Handles the words after a stage that has no `:`.
    fn bind_trailing_words(&mut self) {
        let words = &self.stage.trailing;
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let span = first.span.start..last.span.end;
        if let Some(correction) = correction::with_commas(self.stage, self.def, words) {
            let name = first.text.split('=').next().unwrap_or("");
            let message = format!("`{name}` of `{}` is written after a `,`", self.def.word);
            return self.report_with_correction(span, message, Some(correction));
        }
        let missing = self.first_unset(ParamPosition::Colon).filter(|_| self.stage.value.is_none());
        let Some((position, param)) = missing.and_then(|at| Some((at, self.def.params.get(at)?))) else {
            return self.bind_words(words);
        };
        self.mark_written(position);
        let what = param.value_type.description();
        let message = format!("`{}` takes {what} after a `:`", self.def.word);
        self.report_with_correction(span, message, correction::with_colon(self.stage, self.def, param));
    }

    /// Binds an argument after a `,`, with or without a name.
    fn bind_comma_argument(&mut self, argument: &RawArgument) {
        let Some(first) = argument.words.first() else {
            let message = format!("a parameter of `{}` is missing after this `,`", self.def.word);
            return self.report(argument.mark.clone(), message);
        };
        if let Some((name, value)) = first.equals.and_then(|at| first.text.split_at_checked(at)) {
            return self.bind_named_argument(name, value, argument, first);
        }
        if let Some(param) = self.def.named(&first.text) {
            let message =
                format!("`{}` of `{}` needs {}", param.name, self.def.word, param.value_type.description());
            let correction = match param.presence {
                Presence::Default(default) => {
                    let text = format!("{}={default}", param.name);
                    Some(self.stage.with(first.span.clone(), &text))
                }
                _ => None,
            };
            return self.report_with_correction(first.span.start..argument.end(), message, correction);
        }
        match self.first_unset(ParamPosition::Comma) {
            Some(position) => self.bind_argument(position, argument),
            None => {
                let span = first.span.start..argument.end();
                self.report(span, format!("`{}` takes no further `{}`", self.def.word, short(&first.text)));
            }
        }
    }

    /// Binds `NAME=VALUE`. `value` begins with the `=`.
    fn bind_named_argument(&mut self, name: &str, value: &str, argument: &RawArgument, first: &RawWord) {
        let named =
            || self.def.params.iter().enumerate().filter(|(_, param)| param.position == ParamPosition::Named);
        let Some((position, param)) = named().find(|(_, param)| param.name == name) else {
            let near = similar::closest(name, named().map(|(_, param)| param.name));
            let message = format!("`{}` has no parameter `{}`", self.def.word, short(name));
            match near {
                Some(near) => {
                    let hint = format!("did you mean `{near}`?");
                    self.problems.push(SourceDiagnostic::new(first.span.clone(), message).hint(hint));
                }
                None => self.report(first.span.clone(), message),
            }
            return;
        };
        if self.values.get(position).is_some_and(Option::is_some) {
            let message = format!("`{name}` of `{}` is given twice", self.def.word);
            return self.report(first.span.clone(), message);
        }
        let text = value.get(1..).unwrap_or("");
        self.bind_value(position, param, text, first.span.clone());
        self.bind_words(argument.words.get(1..).unwrap_or(&[]));
    }

    /// The index of the first parameter with this position that has no value yet.
    fn first_unset(&self, position: ParamPosition) -> Option<usize> {
        let mut params = self.def.params.iter().zip(&self.values);
        params.position(|(param, value)| param.position == position && value.is_none())
    }

    /// Binds an argument to the parameter at `position`.
    fn bind_argument(&mut self, position: usize, argument: &RawArgument) {
        let Some(param) = self.def.params.get(position) else { return };
        self.mark_written(position);
        let Some((first, others)) = argument.words.split_first() else {
            let message = format!("`{}` needs {}", self.def.word, param.value_type.description());
            return self.report(argument.mark.clone(), message);
        };
        if param.value_type.takes_duration() && self.report_other_notation(param, argument) {
            return;
        }
        match param.value_type.separator() {
            Some(separator) => {
                // In a comparison, only the sign may be followed by a space.
                let count = match param.value_type {
                    ParamType::Text => argument.words.len(),
                    _ => 1 + usize::from(Relation::SIGNS.iter().any(|(sign, _)| *sign == first.text)),
                };
                let (joined, others) = argument.words.split_at(count.min(argument.words.len()));
                let texts: Vec<&str> = joined.iter().map(|word| word.text.as_str()).collect();
                let end = joined.last().map_or(first.span.end, |word| word.span.end);
                self.bind_value(position, param, &texts.join(separator), first.span.start..end);
                self.bind_words(others);
            }
            None => {
                self.bind_value(position, param, &first.text, first.span.clone());
                self.bind_words(others);
            }
        }
    }

    /// Reports a duration in another notation, such as `7 days`. Returns whether the text is one.
    fn report_other_notation(&mut self, param: &Param, argument: &RawArgument) -> bool {
        let texts = argument.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let is_sign = |word: &RawWord| Relation::SIGNS.iter().any(|(sign, _)| *sign == word.text);
        let signs = argument.words.iter().take_while(|word| is_sign(word)).count();
        let right =
            argument.words.len() == 1 + signs && param.value_type.parse(&texts.replace(' ', "")).is_ok();
        let (false, Some(duration)) = (right, correction::duration(&texts)) else { return false };
        let (Some(first), Some(last)) = (argument.words.first(), argument.words.last()) else { return false };
        let span = first.span.start..last.span.end;
        let duration = correction::signed(&duration, param.value_type.is_comparison());
        let what = param.value_type.description();
        let message = format!("`{}` takes {what}, not `{}`", self.def.word, short(&texts));
        self.report_with_correction(span.clone(), message, Some(self.stage.with(span, &duration)));
        true
    }

    /// Binds the words after a value to the parameters that are written after a space.
    fn bind_words(&mut self, words: &[RawWord]) {
        for word in words {
            match self.first_unset(ParamPosition::Space).and_then(|at| Some((at, self.def.params.get(at)?))) {
                Some((position, param)) => self.bind_value(position, param, &word.text, word.span.clone()),
                None => {
                    let message = format!("`{}` does not belong to `{}`", short(&word.text), self.def.word);
                    let hint = "stages are divided by `|`; write a value with spaces in quotes";
                    self.problems.push(SourceDiagnostic::new(word.span.clone(), message).hint(hint));
                    return;
                }
            }
        }
    }

    fn mark_written(&mut self, position: usize) {
        if let Some(written) = self.written.get_mut(position) {
            *written = true;
        }
    }

    /// Parses a value of the parameter at `position`, and stores it or reports why it is invalid.
    fn bind_value(&mut self, position: usize, param: &Param, text: &str, span: Range<usize>) {
        self.mark_written(position);
        match param.value_type.parse(text) {
            Ok(Value::Text(name))
                if param.value_type == ParamType::NodeType && !self.names.has_type(&name) =>
            {
                self.problems.push(self.unknown_type(&name, span));
            }
            Ok(value) => {
                if let Some(slot) = self.values.get_mut(position) {
                    *slot = Some(value);
                }
            }
            Err(reason) => {
                let mut problem = invalid_value(self.def.word, param, &short(text), span.clone(), reason);
                if let Some(nearest) = correction::nearest_value(param.value_type, text) {
                    let value = match param.position {
                        ParamPosition::Named => format!("{}={nearest}", param.name),
                        _ => nearest,
                    };
                    problem = problem.hint(format!("write `{}`", self.stage.with(span, &value)));
                }
                self.problems.push(problem);
            }
        }
    }

    fn unknown_type(&self, name: &str, span: Range<usize>) -> SourceDiagnostic {
        let problem = SourceDiagnostic::new(span, format!("unknown note type `{}`", short(name)));
        match similar::closest(name, self.names.types()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => {
                let known: Vec<String> = self.names.types().map(|known| format!("`{known}`")).collect();
                problem.hint(format!("types are {}; add others under `[nodes] types`", known.join(", ")))
            }
        }
    }

    /// Reports the first required parameter that was not written.
    fn report_missing(&mut self) {
        let mut params = self.def.params.iter().zip(&self.written);
        let missing = params.find(|(param, written)| param.presence == Presence::Required && !**written);
        let Some((param, _)) = missing else { return };
        let message = format!("`{}` needs {}", self.def.word, param.value_type.description());
        let problem = SourceDiagnostic::new(self.stage.word_span.clone(), message);
        let signature = self.def.signature();
        self.problems.push(match self.def.text_param() {
            Some(_) => problem.hint(format!("write `{signature}`; search terms in front serve as its text")),
            None => problem.hint(format!("write `{signature}`")),
        });
    }
}
