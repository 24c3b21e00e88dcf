//! Completion: what may follow at a position of a pipeline that is being typed, from the tables of the language.

use super::field::FIELDS;
use super::lex::{self, RawArgument, RawStage, RawWord};
use super::names::{Names, is_name};
use super::param::{Param, ParamPosition, ParamType, Presence};
use super::stage::definition::{StageDef, StageKind};
use super::stage::{find, vocabulary};
use super::value::quoted;
use poc_graph::{Category, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A possible completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// The text that replaces what was typed.
    pub text: String,
    /// The kind of completion: `generator`, `filter`, `transform`, `algorithm`, `saved`, `parameter` or `value`.
    pub kind: String,
    /// A description in one sentence or phrase.
    pub about: String,
}

/// The possible completions at a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completions {
    /// The byte offset of the part that a completion replaces.
    pub offset: usize,
    /// The length of that part in bytes.
    pub length: usize,
    /// The completions, in the order of the tables of the language.
    pub items: Vec<Completion>,
    /// The syntax of the stage at this position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// A description of the expected value, such as `a whole number` or `a duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
}

/// Completes a pipeline at a byte offset, which is moved to the start of its character. `agents` are the names offered
/// for `visited` and `not-visited`.
pub fn complete(text: &str, at: usize, names: &Names, agents: &[&str]) -> Completions {
    let at = text.floor_char_boundary(at);
    let before = text.get(..at).unwrap_or_default();
    let mut stages = lex::stages(before, 0..at, None, &mut Vec::new());
    let Some(stage) = stages.pop() else { return Completions::default() };
    let is_word = stage.value.is_none() && stage.arguments.is_empty() && stage.trailing.is_empty();
    if is_word && stage.word_span.end == at {
        return word(&stage, stages.is_empty(), names);
    }
    let Some(def) = find(&stage.word) else { return Completions { offset: at, ..Completions::default() } };
    let found = ArgumentPosition { def, stage: &stage, at, names, agents }.argument();
    // The name of a parameter is never quoted, so nothing fits after a quoted word.
    let found = if text.is_char_boundary(found.offset) {
        found
    } else {
        Completions { offset: at, ..Completions::default() }
    };
    Completions { signature: Some(def.signature()), ..found }
}

/// Completes the word of a stage.
fn word(stage: &RawStage, is_first: bool, names: &Names) -> Completions {
    let typed = &stage.word;
    let fits = |def: &&StageDef| {
        let allowed = match def.kind() {
            StageKind::Generator => is_first && stage.not.is_none(),
            StageKind::Filter => true,
            StageKind::Transform | StageKind::Algorithm => stage.not.is_none(),
        };
        allowed && def.word.starts_with(typed.as_str())
    };
    let stages = vocabulary().iter().filter(fits).map(|def| {
        let needs_value = def.colon_param().is_some_and(|param| param.presence == Presence::Required);
        let colon = if needs_value { ":" } else { "" };
        completion(&format!("{}{colon}", def.word), def.kind().name(), def.doc)
    });
    let saved = names.all_saved().iter().map(|(name, saved)| (format!("@{name}"), saved));
    let saved = saved.filter(|(name, _)| {
        stage.not.is_none() && name.starts_with(typed.as_str()) && name.strip_prefix('@').is_some_and(is_name)
    });
    let saved = saved.map(|(name, saved)| {
        completion(&name, "saved", &saved.text.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    let Range { start, end } = stage.word_span;
    let signature = find(typed).map(StageDef::signature);
    Completions {
        offset: start,
        length: end - start,
        items: stages.chain(saved).collect(),
        signature,
        expects: None,
    }
}

/// A position after the word of a stage.
struct ArgumentPosition<'a> {
    def: &'static StageDef,
    stage: &'a RawStage,
    at: usize,
    names: &'a Names,
    agents: &'a [&'a str],
}

impl ArgumentPosition<'_> {
    fn argument(&self) -> Completions {
        let positional =
            |position: ParamPosition| self.def.params.iter().filter(move |param| param.position == position);
        if let Some(argument) = self.stage.arguments.last() {
            let typed = self.last_word(argument);
            let name = typed.and_then(|word| word.text.get(..word.equals?));
            if let Some(name) = name {
                let from = typed.map_or(self.at, |word| word.span.start + name.len() + 1);
                return self
                    .def
                    .named(name)
                    .map_or_else(Completions::default, |param| self.values(param, from));
            }
            let index = self.stage.arguments.len() - 1;
            let from = typed.map_or(self.at, |word| word.span.start);
            if let Some(param) = positional(ParamPosition::Comma).nth(index) {
                return self.values(param, from);
            }
            return self.parameters(from);
        }
        if let Some(word) = self.stage.trailing.last() {
            let ended = word.span.end < self.at;
            let from = if ended { self.at } else { word.span.start };
            return match positional(ParamPosition::Space).nth(self.stage.trailing.len() - usize::from(!ended))
            {
                Some(param) => self.values(param, from),
                None => Completions { offset: self.at, ..Completions::default() },
            };
        }
        match (&self.stage.value, self.def.colon_param()) {
            (Some(value), Some(param)) => {
                let ended = value.words.last().is_some_and(|word| word.span.end < self.at);
                match positional(ParamPosition::Space).next().filter(|_| value.words.len() > 1 || ended) {
                    Some(direction) => {
                        let typed = value.words.get(1..).and_then(<[RawWord]>::last);
                        self.values(direction, typed.map_or(self.at, |word| word.span.start))
                    }
                    None => self.values(param, value.words.first().map_or(self.at, |word| word.span.start)),
                }
            }
            _ => match positional(ParamPosition::Space).next() {
                Some(param) => self.values(param, self.at),
                None => Completions { offset: self.at, ..Completions::default() },
            },
        }
    }

    /// The word of an argument that contains the position or directly precedes it.
    fn last_word<'w>(&self, argument: &'w RawArgument) -> Option<&'w RawWord> {
        argument.words.last().filter(|word| word.span.end == self.at)
    }

    /// The named parameters that the stage does not have yet.
    fn parameters(&self, from: usize) -> Completions {
        let typed = self.typed(from);
        let given = |name: &str| {
            let words = self.stage.arguments.iter().flat_map(|argument| &argument.words);
            words
                .filter(|word| word.span.start != from)
                .any(|word| word.equals.and_then(|equals| word.text.get(..equals)) == Some(name))
        };
        let open = self.def.params.iter().filter(|param| {
            param.position == ParamPosition::Named && param.name.starts_with(&typed) && !given(param.name)
        });
        let items = open.map(|param| {
            let default = match param.presence {
                Presence::Default(default) => format!(", by default {default}"),
                Presence::Required | Presence::Optional => String::new(),
            };
            completion(&format!("{}=", param.name), "parameter", &format!("{}{default}", param.doc))
        });
        Completions { offset: from, length: self.at - from, items: items.collect(), ..Completions::default() }
    }

    /// The values of a parameter that the language knows.
    fn values(&self, param: &Param, from: usize) -> Completions {
        let typed = self.typed(from);
        let value = |text: &str, about: &str| completion(&quoted(text), "value", about);
        let all: Vec<Completion> = match param.value_type {
            ParamType::NodeType => self.names.types().map(|name| value(name, "a type of notes")).collect(),
            ParamType::State => {
                State::ALL.iter().map(|state| value(state.name(), "a state of notes")).collect()
            }
            ParamType::Category => {
                let categories = Category::ALL.iter().map(|category| category.name());
                categories.map(|name| value(name, "a category of notes")).collect()
            }
            ParamType::SortField => FIELDS
                .iter()
                .filter_map(|field| Some(completion(field.sort?.split(':').next()?, "value", field.doc)))
                .collect(),
            ParamType::Direction => {
                vec![value("asc", "smallest first"), value("desc", "greatest first")]
            }
            ParamType::Name if self.def.hints.keeps_visited.is_some() => {
                self.agents.iter().map(|agent| value(agent, "an agent")).collect()
            }
            ParamType::CompareDuration | ParamType::CompareInstant => ["<24h", "<7d", "<30d", ">365d"]
                .iter()
                .map(|text| {
                    completion(text, "value", if text.starts_with('<') { "less than" } else { "more than" })
                })
                .collect(),
            _ => Vec::new(),
        };
        let items = all.into_iter().filter(|item| item.text.starts_with(&typed)).collect();
        Completions {
            offset: from,
            length: self.at - from,
            items,
            signature: None,
            expects: Some(format!("{}: {}", param.doc, param.value_type.description())),
        }
    }

    /// The text from an offset to the position.
    fn typed(&self, from: usize) -> String {
        let start = from.saturating_sub(self.stage.span.start);
        self.stage.text.get(start..).unwrap_or_default().trim_start().to_owned()
    }
}

fn completion(text: &str, kind: &str, about: &str) -> Completion {
    Completion { text: text.to_owned(), kind: kind.to_owned(), about: about.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Pipeline;
    use poc_config::{Config, SavedPipeline};
    use proptest::prelude::*;

    fn names() -> Names {
        let saved = SavedPipeline::from("age:<7d | limit:20".to_owned());
        Names::of(&Config::defaults().unwrap()).with_saved([("recent".to_owned(), saved)].into())
    }

    /// The completed texts at the `^`, with the part that they replace.
    fn at(marked: &str) -> (String, Vec<String>) {
        let at = marked.find('^').unwrap();
        let text = marked.replace('^', "");
        let found = complete(&text, at, &names(), &["linker", "facts"]);
        let replaced = text[found.offset..found.offset + found.length].to_owned();
        (replaced, found.items.into_iter().map(|item| item.text).collect())
    }

    #[test]
    fn words_of_stages_are_completed_where_they_are_allowed() {
        assert_eq!(at("lim^"), ("lim".into(), vec!["limit:".into()]));
        assert_eq!(at("all | ty^ | limit:5"), ("ty".into(), vec!["type:".into()]));
        assert_eq!(at("all | !sta^"), ("sta".into(), vec!["state:".into()]));
        // A generator is only offered for the first stage, and only filters can be negated.
        assert_eq!(at("match^").1, ["match:"]);
        assert_eq!(at("all | match^").1, [""; 0]);
        assert_eq!(at("all | !sor^").1, [""; 0]);
        assert_eq!(at("@^").1, ["@recent"]);
        assert_eq!(at("all | @re^"), ("@re".into(), vec!["@recent".into()]));
        let every = at("all | ^").1;
        let fitting = vocabulary().iter().filter(|def| def.kind() != StageKind::Generator).count();
        assert_eq!(every.len(), fitting + 1);
    }

    #[test]
    fn values_and_parameters_come_from_the_tables() {
        assert_eq!(at("all | type:epi^"), ("epi".into(), vec!["episodic".into()]));
        assert_eq!(at("sort:pri^ | limit:3"), ("pri".into(), vec!["priority".into()]));
        assert_eq!(at("sort:weight ^").1, ["asc", "desc"]);
        assert_eq!(at("sort:weight a^"), ("a".into(), vec!["asc".into()]));
        assert_eq!(at("category:t^").1, ["technical", "task"]);
        assert_eq!(at("state:sup^"), ("sup".into(), vec!["superseded".into()]));
        assert_eq!(at("not-visited:li^,7d"), ("li".into(), vec!["linker".into()]));
        assert_eq!(at("hybrid:x,^").1, ["k=", "derived="]);
        assert_eq!(at("hybrid:x,k=5,^").1, ["derived="]);
        assert_eq!(at("similar:x,k=5,^").1, [""; 0]);
        let spread = at("spread,max^");
        assert_eq!(spread.0, "max");
        assert!(!spread.1.is_empty() && spread.1.iter().all(|name| name.starts_with("max")), "{spread:?}");
        assert_eq!(at("match:epi^").1, [""; 0]);
    }

    #[test]
    fn the_signature_and_the_expected_value_are_given() {
        let found = complete("all | limit:", 12, &names(), &[]);
        assert!(found.signature.as_deref() == Some("limit:N"), "{found:?}");
        assert!(found.expects.as_deref().unwrap().contains("a whole number from 1"), "{found:?}");
        assert_eq!(complete("all", 3, &names(), &[]).signature.as_deref(), Some("all"));
    }

    #[test]
    fn completed_stages_and_fields_can_be_parsed() {
        for def in vocabulary() {
            let (_, items) = at(&format!("{}^", def.word));
            assert!(items.iter().any(|item| item.trim_end_matches(':') == def.word), "{}", def.word);
        }
        // A completed field can be used for sorting, unless it takes a name itself.
        for field in at("sort:^").1.iter().filter(|field| *field != "visited") {
            Pipeline::parse(&format!("all | sort:{field}"), &names()).unwrap();
        }
    }

    poc_laws::laws! {
        #[test]
        fn any_text_and_any_place_are_completed_within_the_text(text in "[a-z:|,=@!\"' äß<>0-9-]{0,40}", at in 0..60usize) {
            let found = complete(&text, at, &names(), &["linker"]);
            prop_assert!(found.offset + found.length <= text.len());
            prop_assert!(text.is_char_boundary(found.offset) && text.is_char_boundary(found.offset + found.length));
        }
    }
}
