//! Properties of the op table and of requests.

use super::*;

#[test]
fn an_invalid_request_names_the_field() {
    let memory = filled();
    let ctx =
        Ctx { memory: &memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    let check = |op: &str, request: Value, field: Option<&str>, message: &str| {
        let error = find(op).unwrap().run(&ctx, request).unwrap_err();
        let at = error.at.as_ref().and_then(|at| at.field.as_deref());
        assert_eq!((at, error.code.name()), (field, "invalid_argument"), "{error}");
        assert!(error.line().contains(message), "{}", error.line());
    };
    check("insert", serde_json::json!({"titel": "x"}), Some("titel"), "unknown field `titel`");
    // The field that surfaces add is not among the known ones.
    check("insert", serde_json::json!({"colour": "red"}), Some("colour"), "`if_version`, `notes`");
    check("insert", serde_json::json!({"title": "x", "emotion": "much"}), Some("emotion"), "invalid type");
    check("list", serde_json::json!({"type": "bogus"}), Some("type"), "unknown type `bogus`; the types are");
    check("list", serde_json::json!({"type": "semantics"}), Some("type"), "did you mean `semantic`?");
    check("link", serde_json::json!({"from": "btree"}), Some("to"), "missing field `to`");
    check(
        "weight",
        serde_json::json!({"node": "btree", "value": "much"}),
        Some("value"),
        "`much` is not a weight",
    );
    check(
        "link",
        serde_json::json!({"from": "btree", "to": "journal", "strength": 2}),
        Some("strength"),
        "out of range",
    );
    for (reason, message) in [("é".repeat(2001), "the reason has 2001 characters"), ("a\0b".into(), "a NUL")]
    {
        let request = serde_json::json!({"from": "btree", "to": "journal", "reason": reason});
        check("link", request, Some("reason"), message);
        let request = serde_json::json!({"old": "btree", "new": "journal", "reason": reason});
        check("supersede", request, Some("reason"), message);
    }
    for field in ["author", "source"] {
        let request = serde_json::json!({"title": "x", field: "é".repeat(2001)});
        check("insert", request, Some(field), &format!("the {field} has 2001 characters"));
    }
}

#[test]
fn routes_are_unique_and_only_people_call_what_is_for_people() {
    let fields = |op: &OpDef| -> Vec<String> {
        let schema = (op.request_schema)();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        properties.keys().cloned().collect()
    };
    let mut routes = Vec::new();
    for op in OPS {
        let name = op.name;
        if op.access == Access::Person {
            assert!(op.tool.is_none(), "`{name}` is for a person alone");
        }
        if let Some(route) = op.route {
            if route.method == Method::Get {
                let reads =
                    op.access == Access::Read || ["agent review", "changes", "daemon check"].contains(&name);
                assert!(reads, "`{name}` changes something and is a GET");
            }
            for field in route.path.split(['{', '}']).skip(1).step_by(2) {
                assert!(fields(op).iter().any(|own| own == field), "`{name}` has no field `{field}`");
            }
            routes.push((format!("{:?}", route.method), route.path));
        }
    }
    assert!(routes.len() > 10);
    let count = routes.len();
    routes.sort_unstable();
    routes.dedup();
    assert_eq!(routes.len(), count, "two ops have the same route");
}

#[test]
fn deletions_say_that_they_can_be_undone() {
    for name in ["delete", "forget"] {
        let command = (find(name).unwrap().augment)(clap::Command::new(name));
        let about = command.get_long_about().or(command.get_about()).unwrap().to_string();
        assert!(about.starts_with("Delete a ") && about.contains("`undo` brings "), "{about}");
    }
}
