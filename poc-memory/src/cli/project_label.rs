//! The label of the project for notes that are stored from the folder of a repository, so that they belong to the
//! sessions in it.

use crate::ops::OpDef;
use poc_config::{Config, HookScope};
use poc_graph::is_project_label;
use poc_notes::project::Project;
use serde_json::Value;
use std::path::Path;

/// The label that new notes get.
#[derive(Debug)]
pub(super) struct ProjectLabel {
    keyword: String,
    max_keywords: usize,
}

impl ProjectLabel {
    /// The label in the working folder. `None` outside of repositories, where the folder says nothing about the notes,
    /// and with `[hooks] scope = "all"`, with which sessions get notes whatever their label is.
    pub(super) fn here(config: &Config) -> Option<ProjectLabel> {
        ProjectLabel::of(&std::env::current_dir().ok()?, config)
    }

    fn of(folder: &Path, config: &Config) -> Option<ProjectLabel> {
        if config.hooks.scope == HookScope::All {
            return None;
        }
        let keyword = Project::of_repository(folder)?.keyword();
        Some(ProjectLabel { keyword, max_keywords: config.insert.max_keywords })
    }

    /// The request of an op with the label, if there is one, on the notes that it stores.
    pub(super) fn label_notes(label: Option<&ProjectLabel>, op: &OpDef, request: Value) -> Value {
        let Some(label) = label.filter(|_| op.labels_notes) else { return request };
        // As the op converts it: a model may write `"update": "true"`, and the label must not replace the keywords of a
        // note.
        let mut request = op.converted(request);
        match request.get_mut("notes").and_then(Value::as_array_mut) {
            Some(notes) => notes.iter_mut().for_each(|note| label.add_to(note)),
            None => label.add_to(&mut request),
        }
        request
    }

    /// Adds the label to a new note, unless it names a project or applies to all of them. For an update, the op
    /// decides, which knows whether the note is new.
    fn add_to(&self, note: &mut Value) {
        let Value::Object(note) = note else { return };
        let is_update = note.get("update").and_then(Value::as_bool) == Some(true);
        let is_core = note.get("category").and_then(Value::as_str) == Some("core");
        if is_core {
            return;
        }
        if is_update {
            note.insert("project_if_new".to_owned(), self.keyword.clone().into());
            return;
        }
        let keywords = note.entry("keywords").or_insert_with(|| Value::Array(Vec::new()));
        // A request whose keywords are not a list is refused where it is decoded.
        if let Value::Array(keywords) = keywords
            && keywords.len() < self.max_keywords
            && !keywords.iter().filter_map(Value::as_str).any(is_project_label)
        {
            keywords.push(self.keyword.clone().into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::find;
    use serde_json::json;

    #[test]
    fn new_notes_get_the_label_unless_they_name_a_project_or_apply_to_all() {
        let label = ProjectLabel { keyword: "project:a".into(), max_keywords: 2 };
        let check = |op: &str, given: Value, expected: Value| {
            let labelled = ProjectLabel::label_notes(Some(&label), find(op).unwrap(), given.clone());
            assert_eq!(labelled, expected, "{given}");
            assert_eq!(ProjectLabel::label_notes(None, find(op).unwrap(), given.clone()), given);
        };
        check("write", json!({"text": "x"}), json!({"text": "x", "keywords": ["project:a"]}));
        check("insert", json!({"keywords": ["open"]}), json!({"keywords": ["open", "project:a"]}));
        check(
            "insert",
            json!({"notes": [{"title": "x"}, {"keywords": ["Project:b"]}]}),
            json!({"notes": [{"title": "x", "keywords": ["project:a"]}, {"keywords": ["Project:b"]}]}),
        );
        check(
            "insert",
            json!({"key": "x", "update": true, "keywords": ["open"]}),
            json!({"key": "x", "update": true, "keywords": ["open"], "project_if_new": "project:a"}),
        );
        // Values are read as the op reads them.
        check("insert", json!({"keywords": "open"}), json!({"keywords": ["open", "project:a"]}));
        check(
            "insert",
            json!({"key": "x", "update": "true"}),
            json!({"key": "x", "update": true, "project_if_new": "project:a"}),
        );
        check(
            "insert",
            json!({"notes": [{"key": "x", "update": "true"}]}),
            json!({"notes": [{"key": "x", "update": true, "project_if_new": "project:a"}]}),
        );
        for (op, same) in [
            ("insert", json!({"update": true, "category": "core"})),
            ("insert", json!({"category": "core"})),
            ("insert", json!({"keywords": ["a", "b"]})),
            ("insert", json!({"keywords": 5})),
            ("search", json!({"text": "x"})),
        ] {
            check(op, same.clone(), same);
        }
    }

    #[test]
    fn the_scope_of_hooks_and_the_folder_decide_whether_there_is_a_label() {
        let folder = poc_graph::testing::folder();
        let mut config = Config::defaults().unwrap();
        assert!(ProjectLabel::of(folder.path(), &config).is_none());
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        for (scope, labels) in
            [(HookScope::Project, true), (HookScope::Person, true), (HookScope::All, false)]
        {
            config.hooks.scope = scope;
            assert_eq!(ProjectLabel::of(folder.path(), &config).is_some(), labels, "{scope:?}");
        }
    }
}
