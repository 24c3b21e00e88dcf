//! Changes in a TOML file.

use super::edit::Edit;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

/// Sets a member. A table value becomes a `[section]`; other keys of an existing section are kept.
pub(super) fn set(text: &str, edit: &Edit) -> Result<String, String> {
    let Edit::Member { path, value } = edit else {
        return Err("hooks cannot be registered in a TOML file".into());
    };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let Some((name, above)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in above {
        let below = table.entry(name).or_insert_with(|| {
            let mut section = Table::new();
            section.set_implicit(true);
            Item::Table(section)
        });
        table = below.as_table_like_mut().ok_or_else(|| format!("`{name}` is not a table"))?;
    }
    match value {
        Value::Object(fields) => {
            let section = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
            let section = section.as_table_like_mut().ok_or_else(|| format!("`{name}` is not a table"))?;
            for (key, value) in fields {
                put(section, key, value)?;
            }
        }
        value => put(table, name, value)?,
    }
    Ok(document.to_string())
}

/// Removes a member, and the tables that become empty. Lines of comments stay: the memory writes none.
pub(super) fn remove(text: &str, edit: &Edit) -> Result<String, String> {
    let Edit::Member { path, .. } = edit else { return Ok(text.to_owned()) };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    remove_member(document.as_table_mut(), path);
    Ok(with_comments_of(text, &document.to_string()))
}

/// A text from which lines were removed, with the removed comments and the blank lines around them. `toml_edit` removes
/// the comments above a section with it.
fn with_comments_of(before: &str, after: &str) -> String {
    let mut text = String::new();
    // A removed blank line, and whether a removed comment is the last line of the text.
    let (mut blank, mut is_comment) = ("", false);
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        let line = change.value();
        let is_removed = change.tag() == ChangeTag::Delete;
        if is_removed && !line.trim_start().starts_with('#') {
            blank = if line.trim().is_empty() { line } else { "" };
            continue;
        }
        if is_removed || is_comment {
            text.push_str(blank);
        }
        text.push_str(line);
        (blank, is_comment) = ("", is_removed);
    }
    text
}

/// Like [`remove`], but keeps a member with another value than that of the edit.
pub(super) fn remove_same(text: &str, edit: &Edit) -> Result<String, String> {
    if set(text, edit)? == text { remove(text, edit) } else { Ok(text.to_owned()) }
}

fn remove_member(table: &mut dyn TableLike, path: &[String]) {
    let Some((name, below)) = path.split_first() else { return };
    if below.is_empty() {
        table.remove(name);
        return;
    }
    let Some(inner) = table.get_mut(name).and_then(Item::as_table_like_mut) else { return };
    let had_members = !inner.is_empty();
    remove_member(inner, below);
    if had_members && inner.is_empty() {
        table.remove(name);
    }
}

/// Sets a key, unless it has the value already.
fn put(table: &mut dyn TableLike, key: &str, value: &Value) -> Result<(), String> {
    let wanted = item(key, value)?;
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(current) if plain(current) == plain(&wanted) => {}
        Some(current) => {
            // Keeps a comment after the value.
            let decor = current.decor().clone();
            *current = wanted;
            *current.decor_mut() = decor;
        }
        None => drop(table.insert(key, Item::Value(wanted))),
    }
    Ok(())
}

/// The value without spaces and comments around it.
fn plain(value: &toml_edit::Value) -> String {
    let mut value = value.clone();
    value.decor_mut().clear();
    if let Some(array) = value.as_array_mut() {
        array.fmt();
    }
    value.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The value of a key as TOML.
fn item(key: &str, value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(items) => {
            let items = items.iter().map(|value| item(key, value)).collect::<Result<Array, String>>()?;
            toml_edit::Value::Array(items)
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| Ok((key.as_str(), item(key, value)?)));
            toml_edit::Value::InlineTable(fields.collect::<Result<InlineTable, String>>()?)
        }
        Value::Null => return Err(format!("`{key}` is `null`, which TOML cannot express")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server() -> Edit {
        Edit::Member {
            path: vec!["mcp_servers".into(), "poc-memory".into()],
            value: json!({"command": "/bin/poc-memory", "args": ["mcp"], "env": {"POC_MEMORY_HOME": "/m"}}),
        }
    }

    #[test]
    fn comments_and_other_keys_stay() {
        let text = "# mine\nmodel = \"x\"   # the best\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[tui]\ntheme = \"dark\"\n";
        let changed = set(text, &server()).unwrap();
        insta::assert_snapshot!(changed, @r#"
        # mine
        model = "x"   # the best

        [mcp_servers.other]
        command = "y"

        [mcp_servers.poc-memory]
        command = "/bin/poc-memory"
        args = ["mcp"]
        env = { POC_MEMORY_HOME = "/m" }

        [tui]
        theme = "dark"
        "#);
        assert_eq!(set(&changed, &server()).unwrap(), changed, "a second time changes nothing");
        assert_eq!(remove(&changed, &server()).unwrap(), text);
        assert_eq!(remove_same(&changed, &server()).unwrap(), text);
        let other_value = changed.replace("\"/m\"", "\"/other\"");
        assert_eq!(remove_same(&other_value, &server()).unwrap(), other_value);
    }

    #[test]
    fn comments_of_the_user_above_and_within_a_removed_section_stay() {
        for (before, after) in [
            ("", "# added\n"),
            ("model = \"x\"\n", "model = \"x\"\n\n# added\n"),
            ("[tui]\ntheme = \"dark\"\n", "[tui]\ntheme = \"dark\"\n\n# added\n"),
        ] {
            let text = set(before, &server()).unwrap();
            let text = text.replace("[mcp_servers.poc-memory]", "# added\n[mcp_servers.poc-memory]");
            assert_eq!(remove(&text, &server()).unwrap(), after);
        }
        let text = set("", &server()).unwrap().replace("args", "# within\nargs");
        assert_eq!(remove(&text, &server()).unwrap(), "# within\n");
    }

    #[test]
    fn keys_that_the_user_added_to_the_server_stay() {
        let text = set("", &server()).unwrap();
        let text = text
            .replace("args = [\"mcp\"]", "args = [\"--profile\", \"old\", \"mcp\"] # mine\nenabled = false");
        let changed = set(&text, &server()).unwrap();
        assert!(changed.contains("args = [\"mcp\"] # mine\nenabled = false"), "{changed}");
    }

    #[test]
    fn a_value_of_another_type_is_an_error() {
        assert_eq!(set("mcp_servers = 1", &server()).unwrap_err(), "`mcp_servers` is not a table");
        assert!(set("x = ", &server()).is_err());
        let null = Edit::Member { path: vec!["x".into()], value: json!({ "y": null }) };
        assert_eq!(set("", &null).unwrap_err(), "`y` is `null`, which TOML cannot express");
    }
}
