//! JSON objects without repeated fields. `serde_json::Value` silently keeps the last of two equal fields, so a model's
//! reply with two lists of links, or a request with two limits, would lose the first one.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A JSON value in which no object repeats a field. It can be decoded from every self-describing format.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueFields(pub Value);

/// The text before and after the name in the error for a field that occurs twice.
const REPEATED: [&str; 2] = ["the field `", "` occurs twice"];

/// The error for a whole number that JSON cannot represent, as `serde_json` words it.
const OUT_OF_RANGE: &str = "JSON number out of range";

/// The name of the repeated field if that is why decoding [`UniqueFields`] failed. Some formats put the path of the
/// object before the message.
pub fn repeated_field(error: &impl fmt::Display) -> Option<String> {
    let text = error.to_string();
    let [before, after] = REPEATED;
    let (_, named) = text.split_once(before)?;
    let (name, _) = named.rsplit_once(after)?;
    Some(name.to_owned())
}

impl<'de> Deserialize<'de> for UniqueFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(UniqueFields)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    // YAML has larger whole numbers than JSON.
    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Number::from_i128(value).map(Value::Number).ok_or_else(|| E::custom(OUT_OF_RANGE))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        Number::from_u128(value).map(Value::Number).ok_or_else(|| E::custom(OUT_OF_RANGE))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueFields(entry)) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                let [before, after] = REPEATED;
                return Err(A::Error::custom(format!("{before}{name}{after}")));
            }
            let UniqueFields(value) = fields.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no such number", |x| x.is_finite()).prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    poc_laws::laws! {
        #[test]
        fn other_json_is_read_as_by_serde_json(value in value()) {
            let text = value.to_string();
            let read: UniqueFields = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.0, serde_json::from_str::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn a_field_that_occurs_twice_is_an_error_at_every_depth() {
        for text in
            [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#, r#"{"a": 1, "\u0061": 2}"#]
        {
            let error = serde_json::from_str::<UniqueFields>(text).err().unwrap();
            assert_eq!(repeated_field(&error).as_deref(), Some("a"), "{error}");
            assert!(error.to_string().starts_with("the field `a` occurs twice at line 1 column"), "{error}");
        }
        let other = serde_json::from_str::<UniqueFields>("{").err().unwrap();
        assert_eq!(repeated_field(&other), None);
        assert!(serde_json::from_str::<UniqueFields>(r#"{"a": {"a": [{"a": 1}, {"a": 1}]}}"#).is_ok());
    }
}
