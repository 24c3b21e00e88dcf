//! Files that are not TOML.

use super::table;

#[test]
fn syntax_errors_have_a_position_and_a_hint() {
    insta::assert_snapshot!(table(&[
        ("\"x\"", "\"x"),
        ("\"x\"", "x"),
        ("\"x\"", ""),
        ("description = \"x\"", "description \"x\""),
        ("description = \"x\"", "= \"x\""),
        ("description = \"x\"", "description = \"x\" \"y\""),
        ("[query]", "[query"),
        ("[query]", "[]"),
        ("[query]", "[[query]]"),
        ("[query]", "[query]\n[query]"),
        ("[\"NODES\"]", "[\"NODES\""),
        ("[\"NODES\"]", "[\"NODES\" \"DATE\"]"),
        ("\"daily\"", "\"daily\"\nschedule = \"hourly\""),
        ("\"daily\"", "'daily"),
        ("\"daily\"", "\"\"\"daily"),
        ("\"x\"", "\"\\q\""),
        ("\"x\"", "\"\\u12\""),
        ("\"x\"", "{ a = 1"),
        ("description = \"x\"", "description = \"x\"\nquery.pipeline = \"all\""),
        ("description = \"x\"", "description: \"x\""),
        ("schedule = \"daily\"", "schedule = \"daily\";"),
        ("\"x\"", "01"),
        ("\"x\"", "True"),
    ]), @r#"
    "x
      1:17: invalid basic string, expected `"`
         → close the text with `"`; use `"""` for several lines
    x
      1:15: string values must be quoted, expected literal string
         → write the text in quotes: `"…"`

      1:15: string values must be quoted, expected literal string
         → write the text in quotes: `"…"`
    description "x"
      1:13: key with no value, expected `=`
         → write `key = value`
    = "x"
      1:1: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
         → write a name: `key = value` or `[table]`
    description = "x" "y"
      1:19: unexpected key or value, expected newline, `#`
         → write one `key = value` per line; only a comment with `#` may follow
    [query
      3:7: unclosed table, expected `]`
         → close the name with `]`
    []
      3:2: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
         → write a name: `key = value` or `[table]`
    [[query]]
      3:1: `query` is an array
         → give a table: a line `[…]` with keys below it
      3:3: `query.pipeline` is missing
         → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    [query]
      4:2: `query` is defined twice
         → keep one of the two; write all keys of a table under one `[…]` line
    ["NODES"
      10:1: missing comma between array elements, expected `,`
         → separate the items by `,` and close the list with `]`
    ["NODES" "DATE"]
      8:25: missing comma between array elements, expected `,`
         → separate the items by `,` and close the list with `]`
    schedule = "hourly"
      14:1: `schedule` is defined twice
         → keep one of the two; write all keys of a table under one `[…]` line
    'daily
      13:18: invalid literal string, expected `'`
         → close the text with `'`; use `'''` for several lines
    """daily
      14:1: invalid multi-line basic string, expected `"`
         → close the text with `"""`
    "\q"
      1:17: missing escaped value, expected `b`, `e`, `f`, `n`, `r`, `\`, `"`, `x`, `u`, `U`
         → write a backslash as `\\`, or put the text in single quotes
    "\u12"
      1:20: too few unicode value digits, expected unicode hexadecimal value
         → write four digits after `\u`, eight after `\U`
    { a = 1
      3:1: missing key for inline table element, expected `,`
         → separate the pairs by `,` and close the table with `}`
    query.pipeline = "all"
      4:2: `query` is defined twice
         → keep one of the two; write all keys of a table under one `[…]` line
      5:1: `pipeline` is defined twice
         → keep one of the two; write all keys of a table under one `[…]` line
    description: "x"
      1:12: invalid unquoted key, expected letters, numbers, `-`, `_`
         → a key has letters, digits, `-` and `_`, followed by `=`
    schedule = "daily";
      13:19: unexpected key or value, expected newline, `#`
         → write one `key = value` per line; only a comment with `#` may follow
    01
      1:15: unexpected leading zero, expected nothing
         → write the number without leading zeros, or text in quotes
    True
      1:15: invalid boolean, expected `true`
         → write `true` or `false`, in lower case
    "#);
}
