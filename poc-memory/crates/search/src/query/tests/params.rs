//! Parameters: `${NAME}` in the pipeline of an agent.

use super::{NAMES, parse};
use crate::query::Pipeline;
use crate::query::value::quoted;
use poc_graph::error::Result;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn with(text: &str, values: &[(&str, &str)]) -> Result<Pipeline> {
    let values: BTreeMap<String, String> =
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Pipeline::with_values(text, &NAMES, &values)
}

#[test]
fn a_parameter_is_replaced_by_its_value() {
    for (text, expected) in [
        ("all | type:${kind} | limit:${n}", "all | type:daily | limit:3"),
        ("not-visited:${who},${span}", "all | not-visited:me,7d"),
        ("weight:>${w} | age:< ${span}", "all | weight:>0.5 | age:<7d"),
        ("match:tree | spread,max_hops=${n}", "match:tree | spread,max_hops=3"),
        ("match:\"a ${kind} of ${two}\"", "match:\"a daily of two words\""),
        ("match:pre${kind}post ${two}", "match:\"predailypost two words\""),
        ("key:'${glob}'", "all | key:b*"),
        ("match:$${kind}", "match:${kind}"),
        ("match:'$${kind} ${kind} $5'", "match:\"${kind} daily $5\""),
    ] {
        let values = [
            ("kind", "daily"),
            ("n", "3"),
            ("who", "me"),
            ("span", "7d"),
            ("w", "0.5"),
            ("two", "two words"),
            ("glob", "b*"),
        ];
        assert_eq!(with(text, &values).unwrap().to_string(), expected, "{text}");
    }
    assert_eq!(parse("match:${kind}").unwrap().to_string(), "match:${kind}", "only agents have parameters");
    let names: Vec<String> = Pipeline::parameters("a:${x} | b:$${y},${z-1} | ${x}").into_iter().collect();
    assert_eq!(names, ["x", "z-1"]);
    // Of a `${` without a `}`, only the name is skipped.
    let names: Vec<String> = Pipeline::parameters("${a${b} ${c d}${ä$${e}${f").into_iter().collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn invalid_parameters_are_reported_with_their_place() {
    let error_text = |text: &str| {
        let error = with(text, &[("kind", "daily"), ("count", "many")]).unwrap_err();
        let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("\n  {hint}"));
        format!("{error}{hint}\n")
    };
    let texts = [
        "all | type:${knd}",
        "all | type:${other}",
        "all | limit:${count}",
        "all | ${kind}:x | limit:3",
        "all | @${kind}",
        "all | type:${kind",
        "all | type:${ kind }",
    ];
    insta::assert_snapshot!(texts.map(error_text).concat(), @r#"
    there is no parameter `knd`
      all | type:${knd}
                 ^^^^^^
      did you mean `${kind}`?
    there is no parameter `other`
      all | type:${other}
                 ^^^^^^^^
      add `other = "…"` under `[query.params]`
    `limit` takes a whole number from 1, not `many`
      all | limit:${count}
                  ^^^^^^^^
    a parameter cannot stand for a stage or a part of its word
      all | ${kind}:x | limit:3
            ^^^^^^^
      write the stage out and the parameter in its argument: `type:${kind}`
    a parameter cannot stand for a stage or a part of its word
      all | @${kind}
            ^^^^^^^^
      write the stage out and the parameter in its argument: `type:${kind}`
    this `${` is not followed by a name and a `}`
      all | type:${kind
                 ^^^^^^
      write `${NAME}`; `$${` is the text `${`
    this `${` is not followed by a name and a `}`
      all | type:${ kind }
                 ^^
      write `${NAME}`; `$${` is the text `${`
    "#);
}

poc_laws::laws! {
    /// A value is always the text of one argument, as if it were quoted, and never adds a stage.
    #[test]
    fn a_value_never_adds_a_stage(
        value in prop_oneof![
            any::<String>(),
            "[a-z |,:'\"!=@$>{}\\\\]{0,20}",
            Just("x | limit:1".to_owned()),
            Just("\" | all | \"".to_owned()),
            Just("${x}".to_owned()),
            Just(" ".to_owned()),
        ],
    ) {
        for text in [
            "match:${x} | type:daily | limit:3",
            "match:\"${x}\" | type:daily | limit:3",
            "match:'a ${x}'|type:daily|limit:3",
            "all | key:${x} | limit:3",
            "similar:${x},k=5 | type:daily | limit:3",
            "all | type:${x} | limit:3",
            "all | not-visited:${x},7d | limit:3",
            "all | weight:>${x} | limit:3",
            "all | sort:${x} | limit:${x}",
        ] {
            if let Ok(pipeline) = with(text, &[("x", &value)]) {
                prop_assert_eq!(pipeline.outline().len(), 3, "{} with {:?}: {}", text, value, pipeline);
                // The printed result is a pipeline that parses to the same one.
                prop_assert_eq!(parse(&pipeline.to_string()).unwrap(), pipeline);
            }
        }
        let as_value = with("match:${x}", &[("x", &value)]).map(|pipeline| pipeline.to_string()).ok();
        let in_quotes = parse(&format!("match:{}", quoted(&value))).map(|pipeline| pipeline.to_string()).ok();
        prop_assert_eq!(as_value, in_quotes);
    }
}
