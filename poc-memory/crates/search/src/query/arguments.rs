//! The arguments of one stage in a pipeline.

use super::param::{Param, ParamPosition, Presence};
use super::stage_error::StageError;
use super::value::{FieldComparison, SortDirection, Value};
use poc_graph::error::Result;
use poc_graph::time::Span;
use poc_graph::{Category, State};
use std::fmt;

/// The arguments of one stage in a pipeline. `Display` writes them as they appear after the stage's word.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    /// The word of the stage, such as `limit`.
    pub(super) word: &'static str,
    /// The parameters of the stage.
    pub(super) params: &'static [Param],
    /// One value per parameter; `None` if no value is given.
    pub(super) values: Vec<Option<Value>>,
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word && self.values == other.values
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (param, value) in self.params.iter().zip(&self.values) {
            let Some(value) = value else { continue };
            match param.position {
                ParamPosition::Colon => write!(f, ":{value}")?,
                ParamPosition::Comma => write!(f, ",{value}")?,
                ParamPosition::Named => write!(f, ",{}={value}", param.name)?,
                ParamPosition::Space => write!(f, " {value}")?,
            }
        }
        Ok(())
    }
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $type:ty;)+) => {
        impl Arguments {
            $($(#[$doc])*
            pub(super) fn $name(&self, name: &str) -> Result<$type> {
                match self.argument(name)? {
                    Some(Value::$variant(value)) => Ok(value),
                    _ => Err(StageError::NoSuchParameter {
                        stage: self.word.to_string(),
                        value_type: stringify!($variant),
                        param: name.to_owned(),
                    }.into()),
                }
            })+
        }
    };
}

arguments! {
    /// The text of a parameter.
    text: Text -> String;
    /// The whole number of a parameter.
    count: Count -> usize;
    /// The number of a parameter.
    number: Number -> f64;
    /// The comparison of a parameter.
    compare: FieldComparison -> FieldComparison;
    /// The glob of a parameter.
    glob: Glob -> super::glob::Glob;
    /// The state of a parameter.
    state: State -> State;
    /// The category of a parameter.
    category: Category -> Category;
    /// The direction of a parameter.
    direction: Direction -> SortDirection;
}

impl Arguments {
    /// The duration of an optional parameter.
    pub(super) fn duration(&self, name: &str) -> Option<Span> {
        match self.argument(name) {
            Ok(Some(Value::Span(span))) => Some(span),
            _ => None,
        }
    }

    /// The number of an optional parameter.
    pub(super) fn optional_number(&self, name: &str) -> Option<f64> {
        match self.argument(name) {
            Ok(Some(Value::Number(number))) => Some(number),
            _ => None,
        }
    }

    /// The value given for a parameter, or its default.
    pub(super) fn argument(&self, name: &str) -> Result<Option<Value>> {
        let mut params = self.params.iter().zip(&self.values);
        let Some((param, given)) = params.find(|(param, _)| param.name == name) else { return Ok(None) };
        match (given, param.presence) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, Presence::Default(text)) => {
                let invalid =
                    |_| StageError::InvalidDefault { stage: self.word.to_string(), param: name.to_owned() };
                Ok(Some(param.value_type.parse(text).map_err(invalid)?))
            }
            (None, _) => Ok(None),
        }
    }
}
