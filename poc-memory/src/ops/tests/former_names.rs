//! Requests may give the text under the name that it had in release 0.1.

use super::*;
use serde_json::{Map, json as value};

fn answer(op: &OpDef, request: Value) -> String {
    let memory = filled();
    let ctx =
        Ctx { memory: &memory, host: &Nobody, actor: Principal::Person, may_write: true, progress: &|_| {} };
    match op.run(&ctx, request) {
        Ok(answer) => (op.decode)(&answer).unwrap().show(&Terminal::default()).to_string(),
        Err(error) => error.line(),
    }
}

#[test]
fn the_former_name_of_a_text_gives_the_same_answer() {
    let mut count = 0;
    for op in OPS {
        let Some(former) = op.former_text else { continue };
        count += 1;
        let text = |name: &str, text: Value| Value::Object(Map::from_iter([(name.to_owned(), text)]));
        let expected = plain(&answer(op, text("text", value!("page splits"))));
        assert_eq!(plain(&answer(op, text(former.name, value!("page splits")))), expected, "{}", op.name);
        if former.repeats {
            let words = value!(["page", "splits"]);
            assert_eq!(plain(&answer(op, text(former.name, words))), expected, "{}", op.name);
        }
        let twice = value!({"text": "a", former.name: "b"});
        assert_eq!(
            answer(op, twice),
            format!("`text`: the text is given twice, as `text` and as `{}`; give `text` only", former.name)
        );
        // Messages and schemas name `text` alone.
        assert!(answer(op, value!({"colour": "red"})).contains("`text`"), "{}", op.name);
        assert!(!(op.request_schema)().to_value().to_string().contains(&format!("\"{}\"", former.name)));
    }
    assert_eq!(count, 5);
}

#[test]
fn numbers_as_text_and_a_text_for_a_list_are_accepted() {
    let find = |name: &str| find(name).unwrap();
    let check = |op: &str, given: Value, expected: Value| {
        assert_eq!(answer(find(op), given), answer(find(op), expected), "{op}");
    };
    check("retrieve", value!({"text": "splits", "top_k": "2"}), value!({"text": "splits", "top_k": 2}));
    check("retrieve", value!({"text": "splits", "top_k": 2.0}), value!({"text": "splits", "top_k": 2}));
    check("search", value!({"pipeline": "all | limit:2"}), value!({"pipeline": ["all | limit:2"]}));
    let error = answer(find("retrieve"), value!({"text": "splits", "top_k": "many"}));
    assert!(error.starts_with("`top_k`: invalid type: string \"many\""), "{error}");
}
