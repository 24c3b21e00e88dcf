//! JSON values with all fields of their objects, also repeated ones. A part of a response, such as the reply of a model
//! in the response of its provider, can be written as text again and read with
//! [`UniqueFields`](super::UniqueFields).

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use std::fmt;

/// A JSON value in which objects may repeat fields. Displayed as JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum AllFields {
    /// Null, a Boolean, a number or a string.
    Scalar(Value),
    /// The entries of an array.
    Array(Vec<AllFields>),
    /// The fields of an object, in their order.
    Object(Vec<(String, AllFields)>),
}

impl AllFields {
    /// The last field of an object with a name, which is the one that `serde_json::Value` keeps.
    pub fn get(&self, name: &str) -> Option<&AllFields> {
        let AllFields::Object(fields) = self else { return None };
        fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// The entries of an array; empty for other values.
    pub fn entries(&self) -> &[AllFields] {
        match self {
            AllFields::Array(entries) => entries,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            AllFields::Scalar(value) => value.as_str(),
            _ => None,
        }
    }
}

impl fmt::Display for AllFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllFields::Scalar(value) => write!(f, "{value}"),
            AllFields::Array(entries) => {
                f.write_str("[")?;
                for (at, entry) in entries.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{entry}")?;
                }
                f.write_str("]")
            }
            AllFields::Object(fields) => {
                f.write_str("{")?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{}:{value}", Value::from(name.as_str()))?;
                }
                f.write_str("}")
            }
        }
    }
}

impl<'de> Deserialize<'de> for AllFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AllFieldsVisitor)
    }
}

struct AllFieldsVisitor;

impl<'de> Visitor<'de> for AllFieldsVisitor {
    type Value = AllFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<AllFields, E> {
        Ok(AllFields::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<AllFields, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(AllFields::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<AllFields, A::Error> {
        let mut list = Vec::new();
        while let Some(field) = fields.next_entry()? {
            list.push(field);
        }
        Ok(AllFields::Object(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_value_has_every_field() {
        for text in [
            r#"{"a":1,"b":[{"c":"x","c":"\"y\"\n"},null,true,-3,0.5,18446744073709551615,1e300],"a":{}}"#,
            "[]",
            "{}",
            r#""é\u0001""#,
        ] {
            let read: AllFields = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_str::<AllFields>(&read.to_string()).unwrap(), read);
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&read.to_string()).unwrap(), value, "{read}");
        }
        let read: AllFields = serde_json::from_str(r#"{"a": [1, "b"], "c": 1, "c": 2}"#).unwrap();
        assert_eq!(read.to_string(), r#"{"a":[1,"b"],"c":1,"c":2}"#);
        assert_eq!(read.get("c"), Some(&AllFields::Scalar(2.into())));
        assert_eq!(read.get("a").unwrap().entries()[1].as_str(), Some("b"));
    }
}
