//! Broken agent files and their diagnostics: message, position and hint.

mod languages;
mod syntax;
mod values;

use super::world::{World, parse};
use crate::Catalog;
use poc_graph::diagnostic::FileDiagnostic;
use proptest::prelude::*;
use std::fmt::Write;

/// A valid file; the tests break it.
const GOOD: &str = "\
description = \"x\"

[query]
pipeline = \"all | type:episodic | limit:20\"

[prompt]
inline = \"{{ NODES }}\"
placeholders = [\"NODES\"]

[execution]
model = \"default\"
actions = [\"link-add\", \"weight\"]
schedule = \"daily\"
";

/// The diagnostics with their positions, without the name of the file.
fn positions(diagnostics: &[FileDiagnostic]) -> String {
    diagnostics.iter().fold(String::new(), |mut text, one| {
        let number = |at: Option<u32>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let message = one.message.replace('\n', "\n     ");
        writeln!(text, "  {}:{}: {message}", number(one.line), number(one.column)).unwrap();
        if let Some(hint) = &one.hint {
            writeln!(text, "     → {hint}").unwrap();
        }
        text
    })
}

/// The diagnostics of the valid file after replacing one text by another, for each row.
fn table(rows: &[(&str, &str)]) -> String {
    rows.iter().fold(String::new(), |mut text, (from, to)| {
        assert!(GOOD.contains(from), "{from}");
        let broken = GOOD.replacen(from, to, 1);
        let message = match parse(&broken) {
            Ok(_) => "  nothing\n".to_owned(),
            Err(errors) => positions(&errors),
        };
        write!(text, "{}\n{message}", to.lines().last().unwrap_or_default()).unwrap();
        text
    })
}

#[test]
fn a_file_has_a_bounded_number_of_diagnostics() {
    let many: String = (0..20_000).map(|number| format!("key{number} = 1\n")).collect();
    let errors = parse(&format!("{many}{GOOD}")).err().unwrap();
    assert_eq!((errors.len(), errors[0].line), (101, Some(1)));
    assert_eq!(errors[100].message, "there are 19900 more problems");
    let one_more: String = (0..101).map(|number| format!("key{number} = 1\n")).collect();
    let errors = parse(&format!("{one_more}{GOOD}")).err().unwrap();
    assert_eq!(errors.last().unwrap().message, "there is 1 more problem");
    // The placeholder is not used, and none of the variables exists.
    let variables: String = (0..300).map(|number| format!("{{{{ v{number} }}}}")).collect();
    let errors = parse(&GOOD.replacen("{{ NODES }}", &variables, 1)).err().unwrap();
    assert_eq!((errors.len(), errors[100].message.as_str()), (101, "there are 201 more problems"));
    let world = World::new();
    world.file("prompts/many.md", &variables);
    let text = GOOD.replacen("inline = \"{{ NODES }}\"", "template = \"many.md\"", 1);
    world.file("agents/many.toml", &text);
    let catalog = Catalog::load(&world.memory).unwrap();
    let errors = &catalog.agents["many"].errors;
    assert_eq!((errors.len(), errors[100].message.as_str()), (101, "there are 201 more problems"));
}

#[test]
fn unusual_but_valid_files_are_read_and_empty_ones_list_what_is_missing() {
    let deep = format!("x = {}{}", "[".repeat(5000), "]".repeat(5000));
    let tables = format!("[{}]\n", vec!["a"; 3000].join("."));
    for (name, text, expected) in [
        ("a BOM", format!("\u{feff}{GOOD}"), true),
        ("CRLF", GOOD.replace('\n', "\r\n"), true),
        ("dotted keys", "query.pipeline = \"all\"\nprompt = { inline = \"{{ NODES }}\", placeholders = [\"NODES\"] }\nexecution.model = \"default\"\nexecution.actions = [\"weight\"]\n".to_owned(), true),
        ("deep lists", deep, false),
        ("deep tables", tables, false),
        ("a NUL", format!("{GOOD}\0"), false),
    ] {
        let read = parse(&text);
        assert_eq!(read.is_ok(), expected, "{name}: {:?}", read.map(|_| ()));
        for error in read.err().into_iter().flatten() {
            assert!(error.line.is_some(), "{name}");
        }
    }
    let empty = positions(&parse("").unwrap_err());
    insta::assert_snapshot!(empty, @r#"
    1:1: `query.pipeline` is missing
       → add `pipeline = "all | type:episodic | limit:20"` under `[query]`
    1:1: `execution.model` is missing
       → add `model = "default"` under `[execution]`
    1:1: `execution.actions` is missing
       → add `actions = ["link-add"]` under `[execution]`
    1:1: `prompt.placeholders` is missing
       → add `placeholders = ["NODES"]` under `[prompt]`
    1:1: `prompt.template` is missing
       → add `template = "linker.md"` under `[prompt]`
    "#);
    for text in ["# nothing\n", "\r\n\r\n"] {
        assert_eq!(positions(&parse(text).unwrap_err()), empty);
    }
    let crlf = GOOD.replace("daily", "dayly").replace('\n', "\r\n");
    assert!(positions(&parse(&crlf).unwrap_err()).starts_with("  13:12:"), "lines are counted over CRLF");
    let bom = format!("\u{feff}{}", GOOD.replace("description", "descripton"));
    insta::assert_snapshot!(positions(&parse(&bom).unwrap_err()), @r#"
    1:2: unknown key `descripton`
       → did you mean `description`?
    "#);
}

#[test]
fn all_problems_are_reported_together() {
    let text = "mode = \"aply\"\n[query]\npipeline = \"all | tpye:x\"\nmin-results = -1\n[promt]\n";
    let lines: Vec<Option<u32>> = parse(text).unwrap_err().iter().map(|error| error.line).collect();
    for line in [1, 3, 4, 5] {
        assert!(lines.contains(&Some(line)), "nothing of line {line}: {lines:?}");
    }
    assert!(positions(&parse(text).unwrap_err()).contains("did you mean `apply`?"));
}

#[test]
fn unreadable_files_are_reported_by_name() {
    let world = World::new();
    let write = |path: &str, bytes: &[u8]| {
        let path = world.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    write("agents/latin.toml", b"# ok\ndescription = \"gr\xfc\xdfe\"\n");
    write("agents/wide.toml", b"\xff\xfed\0e\0");
    write("agents/huge.toml", &vec![b'#'; (1 << 20) + 1]);
    write(
        "agents/latin-prompt.toml",
        GOOD.replace("inline = \"{{ NODES }}\"", "template = \"latin.md\"").as_bytes(),
    );
    write("prompts/latin.md", b"{{ NODES }}\n\xe4\n");
    std::fs::create_dir_all(world.home.path().join("outside")).unwrap();
    write("outside/x.md", b"{{ NODES }}");
    std::os::unix::fs::symlink(
        world.home.path().join("outside/x.md"),
        world.home.path().join("prompts/out.md"),
    )
    .unwrap();
    write("agents/out.toml", GOOD.replace("inline = \"{{ NODES }}\"", "template = \"out.md\"").as_bytes());
    let catalog = Catalog::load(&world.memory).unwrap();
    let reports = catalog.agents.iter().filter(|(_, entry)| !entry.errors.is_empty());
    let reports = reports.map(|(_, entry)| {
        entry
            .errors
            .iter()
            .map(|error| {
                let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("\n  {hint}"));
                format!("{error}{hint}\n")
            })
            .collect::<String>()
    });
    insta::assert_snapshot!(reports.collect::<String>(), @r#"
    agents/huge.toml: cannot be read: it has 1048577 bytes, more than 1048576
    agents/latin.toml:2:18: the byte 0xFC is not valid UTF-8
      save the file as UTF-8
    prompts/latin.md:2:1: the byte 0xE4 is not valid UTF-8
      save the file as UTF-8
    agents/out.toml:7:12: the template `out.md` is outside the `prompts` folder
      copy it into the folder
    agents/wide.toml:1:1: the byte 0xFF is not valid UTF-8
      save the file as UTF-8
    "#);
}

poc_laws::laws! {
    #[test]
    fn any_text_is_parsed_or_reported_with_a_position(
        at in 0..GOOD.len(),
        cut in 0..40usize,
        put in prop_oneof![
            any::<String>(),
            "[\\[\\]{}=\"',.#\\\\\n a-z0-9|:$%-]{0,24}",
            Just("[limits.insert]\nmax = 1\n".to_owned()),
            Just("\"\"\"".to_owned()),
        ],
    ) {
        let text = format!("{}{put}{}", &GOOD[..at], &GOOD[(at + cut).min(GOOD.len())..]);
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                prop_assert!(error.line.unwrap() as usize <= text.matches('\n').count() + 1);
                prop_assert!(error.column.is_some() && error.file.is_some() && !error.message.is_empty());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_reported(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(errors) = parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(errors.iter().all(|error| error.line.is_some()));
        }
    }
}

#[test]
fn patterns_for_tenants_are_reported_where_they_are_wrong() {
    let values = [
        r#""usr""#,
        r#"["user=ann", "team=a,user=*"]"#,
        r#"["user=*", "user=*"]"#,
        r#"["all", "user=*"]"#,
        r#"[]"#,
        r#"5"#,
    ];
    let texts = values.map(|value| format!("schedule = \"daily\"\n[schedule]\ntenants = {value}"));
    let rows: Vec<(&str, &str)> = texts.iter().map(|text| ("schedule = \"daily\"", text.as_str())).collect();
    insta::assert_snapshot!(table(&rows), @r#"
    tenants = "usr"
      15:12: `usr` is not a pattern for tenants
         → write `default`, or a pattern such as `user=ann`, `user=*` or `team=research user=*`
    tenants = ["user=ann", "team=a,user=*"]
      15:36: the keys of a tenant are separated by a comma
         → separate the keys by a space: `team=research user=*`
    tenants = ["user=*", "user=*"]
      15:22: the pattern `user=*` is listed twice
         → list it once
    tenants = ["all", "user=*"]
      15:12: `all` cannot be in a list, because it includes the others
         → write `tenants = "all"`, or leave it out
    tenants = []
      15:11: `schedule.tenants` lists no tenant
         → write "all", or `enabled = false` to stop the schedule
    tenants = 5
      15:11: `schedule.tenants` is an integer
         → give "all", "default", a pattern in quotes such as "user=*", or a list of patterns
    "#);
}
