//! A validator for the subset of JSON Schema that the schema of agent files uses.

use serde_json::Value;

/// The positions where a value does not match the schema. An unknown keyword fails the test.
pub(super) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    validate(schema, value, "", &mut faults);
    faults
}

fn validate(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    for (word, says) in schema.as_object().unwrap() {
        if !keyword_holds(word, says, schema, value, path, faults) {
            faults.push(format!("{path}: {word} {says}, not {value}"));
        }
    }
}

fn keyword_holds(
    word: &str,
    says: &Value,
    schema: &Value,
    value: &Value,
    path: &str,
    faults: &mut Vec<String>,
) -> bool {
    let number =
        |is: fn(f64, f64) -> bool| value.as_f64().is_none_or(|value| is(value, says.as_f64().unwrap()));
    match word {
        "$schema" | "title" | "description" | "default" | "examples" => true,
        "type" => match says {
            Value::Array(types) => types.iter().any(|says| is_of_type(says.as_str().unwrap(), value)),
            says => is_of_type(says.as_str().unwrap(), value),
        },
        "properties" => {
            for (name, schema) in says.as_object().unwrap() {
                if let Some(value) = value.get(name) {
                    validate(schema, value, &format!("{path}.{name}"), faults);
                }
            }
            true
        }
        "additionalProperties" => value.as_object().into_iter().flatten().all(|(name, value)| {
            if schema.get("properties").is_some_and(|known| known.get(name).is_some()) {
                return true;
            }
            match says {
                Value::Bool(may) => *may,
                schema => {
                    validate(schema, value, &format!("{path}.{name}"), faults);
                    true
                }
            }
        }),
        "required" => value.as_object().is_none_or(|value| {
            says.as_array().unwrap().iter().all(|name| value.contains_key(name.as_str().unwrap()))
        }),
        "oneOf" => {
            says.as_array().unwrap().iter().filter(|schema| self::faults(schema, value).is_empty()).count()
                == 1
        }
        "enum" => says.as_array().unwrap().contains(value),
        "propertyNames" => value.as_object().is_none_or(|value| {
            value.keys().all(|name| self::faults(says, &Value::String(name.clone())).is_empty())
        }),
        "pattern" => {
            let pattern = regex::Regex::new(says.as_str().unwrap()).unwrap();
            value.as_str().is_none_or(|text| pattern.is_match(text))
        }
        "minLength" => {
            value.as_str().is_none_or(|text| text.chars().count() as u64 >= says.as_u64().unwrap())
        }
        "minimum" => number(|value, bound| value >= bound),
        "exclusiveMinimum" => number(|value, bound| value > bound),
        "maximum" => number(|value, bound| value <= bound),
        "minProperties" => value.as_object().is_none_or(|value| value.len() as u64 >= says.as_u64().unwrap()),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= says.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= says.as_u64().unwrap()),
        "items" => {
            for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                validate(says, item, &format!("{path}[{at}]"), faults);
            }
            true
        }
        "uniqueItems" => value.as_array().is_none_or(|items| {
            items.iter().enumerate().all(|(at, item)| !items[..at].contains(item)) || says == false
        }),
        other => panic!("the word {other}"),
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other}"),
    }
}
