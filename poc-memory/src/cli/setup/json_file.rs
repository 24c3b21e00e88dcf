//! Changes in a JSON file, which may have comments and trailing commas.

use super::edit::Edit;
use super::hook_entries;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

/// The member with the hooks of all events.
const HOOKS: &str = "hooks";

/// Sets a member or an entry. An equal existing value is not touched.
pub(super) fn set(text: &str, edit: &Edit) -> Result<String, String> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("it is not a JSON object")?;
    match edit {
        Edit::Member { path, value } => {
            let Some((name, above)) = path.split_last() else { return Ok(text.to_owned()) };
            let object = above.iter().try_fold(object, |object, name| {
                object.object_value_or_create(name).ok_or_else(|| format!("`{name}` is not an object"))
            })?;
            match object.get(name) {
                Some(member) if value_of(&member) == Some(value.clone()) => return Ok(text.to_owned()),
                Some(member) => member.set_value(input(value)),
                None => drop(object.append(name, input(value))),
            }
        }
        Edit::HookEntry { event, entry } => {
            let hooks = object.object_value_or_create(HOOKS).ok_or("`hooks` is not an object")?;
            let entries =
                hooks.array_value_or_create(event).ok_or_else(|| format!("`hooks.{event}` is not a list"))?;
            let own = entries_where(&entries, hook_entries::is_own);
            if let [(_, there)] = own.as_slice()
                && there == entry
            {
                return Ok(text.to_owned());
            }
            let at = own.first().map(|(at, _)| *at);
            remove_entries(&entries, &own);
            match at {
                Some(at) => drop(entries.insert(at, input(entry))),
                None => drop(entries.append(input(entry))),
            }
        }
    }
    Ok(root.to_string())
}

/// Removes a member, or the entries that call this program, and the objects and arrays that become empty.
pub(super) fn remove(text: &str, edit: &Edit) -> Result<String, String> {
    remove_where(text, edit, hook_entries::is_own)
}

/// Like [`remove`], but keeps a member with another value than that of the edit, and entries with another command.
pub(super) fn remove_same(text: &str, edit: &Edit) -> Result<String, String> {
    match edit {
        Edit::Member { .. } if set(text, edit)? != text => Ok(text.to_owned()),
        Edit::Member { .. } => remove(text, edit),
        Edit::HookEntry { entry: same, .. } => {
            remove_where(text, edit, |entry| hook_entries::have_same_command(entry, same))
        }
    }
}

/// Removes a member, or the entries for which `is_meant` holds, and the objects and arrays that become empty.
fn remove_where(text: &str, edit: &Edit, is_meant: impl Fn(&Value) -> bool) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    match edit {
        Edit::Member { path, .. } => remove_member(&object, path),
        Edit::HookEntry { event, .. } => {
            let Some(hooks) = object.object_value(HOOKS) else { return Ok(text.to_owned()) };
            let Some(entries) = hooks.array_value(event) else { return Ok(text.to_owned()) };
            let meant = entries_where(&entries, is_meant);
            if meant.is_empty() {
                return Ok(text.to_owned());
            }
            remove_entries(&entries, &meant);
            if entries.elements().is_empty() {
                remove_member(&object, &[HOOKS.to_owned(), event.clone()]);
            }
        }
    }
    Ok(root.to_string())
}

/// Removes the member at a path, and the objects above it that become empty.
fn remove_member(object: &CstObject, path: &[String]) {
    let Some((name, below)) = path.split_first() else { return };
    let Some(member) = object.get(name) else { return };
    if below.is_empty() {
        member.remove();
        return;
    }
    let Some(inner) = member.object_value() else { return };
    let had_members = !inner.properties().is_empty();
    remove_member(&inner, below);
    if had_members && inner.properties().is_empty() {
        member.remove();
    }
}

/// The value of a file, for reading.
pub(super) fn value(text: &str) -> Result<Value, String> {
    parse(text)?.to_serde_value().ok_or_else(|| "it has no value".to_owned())
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    // An empty file counts as an empty object.
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// The entries for which `is_meant` holds, with their places.
fn entries_where(entries: &CstArray, is_meant: impl Fn(&Value) -> bool) -> Vec<(usize, Value)> {
    let elements = entries.elements().into_iter().enumerate();
    let values = elements.filter_map(|(at, element)| Some((at, element.to_serde_value()?)));
    values.filter(|(_, entry)| is_meant(entry)).collect()
}

fn remove_entries(entries: &CstArray, removed: &[(usize, Value)]) {
    for (at, _) in removed.iter().rev() {
        if let Some(element) = entries.elements().into_iter().nth(*at) {
            element.remove();
        }
    }
}

fn value_of(member: &jsonc_parser::cst::CstObjectProp) -> Option<Value> {
    member.value()?.to_serde_value()
}

/// The value in the form of the parser.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn member() -> Edit {
        Edit::Member {
            path: vec!["servers".into(), "poc-memory".into()],
            value: json!({"command": "/bin/poc-memory", "args": ["mcp"]}),
        }
    }

    fn hook(program: &str) -> Edit {
        let command = format!("{program} hook stop");
        Edit::HookEntry {
            event: "Stop".into(),
            entry: json!({"hooks": [{"type": "command", "command": command, "timeout": 5}]}),
        }
    }

    #[test]
    fn comments_order_and_other_settings_stay() {
        let text = "// mine\n{\n    \"zeta\": 1, // last\n    \"servers\": {\n        /* theirs */\n        \"other\": {\"command\": \"x\"},\n    },\n    \"alpha\": [1, 2],\n}\n";
        let changed = set(text, &member()).unwrap();
        insta::assert_snapshot!(changed, @r#"
        // mine
        {
            "zeta": 1, // last
            "servers": {
                /* theirs */
                "other": {"command": "x"},
                "poc-memory": {
                    "command": "/bin/poc-memory",
                    "args": ["mcp"],
                },
            },
            "alpha": [1, 2],
        }
        "#);
        assert_eq!(set(&changed, &member()).unwrap(), changed, "a second time changes nothing");
        assert_eq!(remove(&changed, &member()).unwrap(), text);
    }

    #[test]
    fn a_missing_file_gets_only_the_member() {
        let changed = set("", &member()).unwrap();
        insta::assert_snapshot!(changed, @r#"
        {
          "servers": {
            "poc-memory": {
              "command": "/bin/poc-memory",
              "args": ["mcp"]
            }
          }
        }
        "#);
        assert_eq!(serde_json::from_str::<Value>(&remove(&changed, &member()).unwrap()).unwrap(), json!({}));
    }

    #[test]
    fn hooks_of_other_programs_stay_and_our_own_hook_is_replaced() {
        let other = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}, "model": "x"});
        let text = format!("{other:#}\n");
        let first = set(&text, &hook("/old/poc-memory")).unwrap();
        let second = set(&first, &hook("A=b /new/poc-memory --profile work")).unwrap();
        let entries = serde_json::from_str::<Value>(&second).unwrap()["hooks"]["Stop"].clone();
        assert_eq!(entries.as_array().unwrap().len(), 2, "{second}");
        assert_eq!(entries[0], other["hooks"]["Stop"][0]);
        assert_eq!(entries[1]["hooks"][0]["command"], "A=b /new/poc-memory --profile work hook stop");
        assert_eq!(set(&second, &hook("A=b /new/poc-memory --profile work")).unwrap(), second);
        let removed = serde_json::from_str::<Value>(&remove(&second, &hook("")).unwrap()).unwrap();
        assert_eq!(removed, other);
    }

    #[test]
    fn only_what_is_as_it_was_written_is_removed_as_the_same() {
        let text = set(&set("", &hook("/bin/poc-memory")).unwrap(), &member()).unwrap();
        // Another profile has registered its hook, and the user has changed the member.
        assert_eq!(remove_same(&text, &hook("/bin/poc-memory --profile work")).unwrap(), text);
        let changed = text.replace("\"mcp\"", "\"--quiet\", \"mcp\"");
        assert_eq!(remove_same(&changed, &member()).unwrap(), changed);
        let slower = text.replace("\"timeout\": 5", "\"timeout\": 9");
        let removed = remove_same(&slower, &hook("/bin/poc-memory")).unwrap();
        let removed = remove_same(&removed, &member()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&removed).unwrap(), json!({}));
    }

    #[test]
    fn a_value_of_another_type_is_an_error_and_not_replaced() {
        assert_eq!(set("[]", &member()).unwrap_err(), "it is not a JSON object");
        assert_eq!(set("{\"servers\": []}", &member()).unwrap_err(), "`servers` is not an object");
        assert!(set("{\"servers\": ", &member()).is_err());
    }
}
