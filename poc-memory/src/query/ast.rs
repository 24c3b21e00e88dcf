//! A checked pipeline as a value, and as text.

use super::param::{Absent, Place};
use super::stage::{Kind, StageDef};
use super::value::{Compare, Direction, Value};
use crate::error::{Error, Result};
use crate::graph::State;
use crate::time::Span;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A checked pipeline. Its text (`Display`) is canonical: reading it gives the same pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The stages; the first is a generator.
    pub(super) calls: Vec<Call>,
    /// The saved pipelines its text uses, directly or by each other.
    pub(super) used: BTreeSet<Arc<str>>,
}

/// Two pipelines are equal when they say the same, however they are written.
impl PartialEq for Pipeline {
    fn eq(&self, other: &Self) -> bool {
        self.calls == other.calls
    }
}

impl Pipeline {
    /// The saved pipelines it is made of, without their `@`.
    pub fn saved(&self) -> impl Iterator<Item = &str> {
        self.used.iter().map(|name| &**name)
    }

    /// The field its last `sort:` goes by.
    pub fn sorted_by(&self) -> Option<String> {
        let sort = self.calls.iter().rev().find(|call| call.def.word == "sort")?;
        sort.text("FIELD").ok()
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, call) in self.calls.iter().enumerate() {
            let separator = if position == 0 { "" } else { " | " };
            write!(f, "{separator}{call}")?;
        }
        Ok(())
    }
}

/// One use of a stage.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The stage.
    pub(super) def: &'static StageDef,
    /// Whether `!` stands in front.
    pub(super) negated: bool,
    /// The arguments, one per parameter; `None` where not given.
    pub(super) values: Vec<Option<Value>>,
    /// The saved pipeline in whose text it stands.
    pub(super) saved: Option<Arc<str>>,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.def.word == other.def.word && self.negated == other.negated && self.values == other.values
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { "!" } else { "" };
        write!(f, "{not}{}", self.def.word)?;
        for (param, value) in self.def.params.iter().zip(&self.values) {
            let Some(value) = value else { continue };
            match param.place {
                Place::Colon => write!(f, ":{value}")?,
                Place::Comma => write!(f, ",{value}")?,
                Place::Named => write!(f, ",{}={value}", param.name)?,
                Place::Space => write!(f, " {value}")?,
            }
        }
        Ok(())
    }
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $type:ty;)+) => {
        impl Call {
            $($(#[$doc])*
            pub(super) fn $name(&self, name: &str) -> Result<$type> {
                match self.argument(name)? {
                    Some(Value::$variant(value)) => Ok(value),
                    _ => Err(Error::internal(format!(
                        "`{}` has no {} `{name}`", self.def.word, stringify!($variant),
                    ))),
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
    compare: Compare -> Compare;
    /// The glob of a parameter.
    glob: Glob -> super::glob::Glob;
    /// The state of a parameter.
    state: State -> State;
    /// The direction of a parameter.
    direction: Direction -> Direction;
}

impl Call {
    /// What it does, in words.
    pub(super) fn does(&self) -> String {
        let about = (self.def.does)(self);
        match (self.def.kind(), self.negated) {
            (Kind::Filter, false) => format!("keeps nodes {about}"),
            (Kind::Filter, true) => format!("drops nodes {about}"),
            _ => about,
        }
    }

    /// The duration of a parameter that may be absent.
    pub(super) fn duration(&self, name: &str) -> Option<Span> {
        match self.argument(name) {
            Ok(Some(Value::Span(span))) => Some(span),
            _ => None,
        }
    }

    /// The number of a parameter that may be absent.
    pub(super) fn number_if_given(&self, name: &str) -> Option<f64> {
        match self.argument(name) {
            Ok(Some(Value::Number(number))) => Some(number),
            _ => None,
        }
    }

    /// What was given for a parameter, else its default.
    pub(super) fn argument(&self, name: &str) -> Result<Option<Value>> {
        let mut params = self.def.params.iter().zip(&self.values);
        let Some((param, given)) = params.find(|(param, _)| param.name == name) else { return Ok(None) };
        match (given, param.absent) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, Absent::Default(text)) => {
                let wrong =
                    |_| Error::internal(format!("the default of `{name}` of `{}` is wrong", self.def.word));
                param.takes.read(text).map(Some).map_err(wrong)
            }
            (None, _) => Ok(None),
        }
    }
}
