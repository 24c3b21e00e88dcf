//! Bounds on the memory that a template can use.
//!
//! The rendered output is bounded in time and size, but variables, captured blocks and lists are not, and a
//! rendering thread cannot be stopped. Therefore constructs that multiply their input are refused when the
//! template is loaded, or have their own bounds.

use super::tags::{Tag, TagKind, tags};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::ErrorLocation;
use tera::{Kwargs, State, Tera, TeraResult, Value};

/// Maximum number of `~` in one template. Each concatenates two texts of at most the size of a prompt.
const MAX_CONCATENATIONS: usize = 32;
/// Maximum depth of nested loops.
const MAX_DEPTH: usize = 3;
/// Maximum depth of nested blocks of any kind, and of brackets in a tag, because the parser is recursive. For the
/// parser, each `elif` is a block inside the one before.
const MAX_NESTING: usize = 32;
/// Maximum number of diagnostics of a template.
const MAX_DIAGNOSTICS: usize = 100;
/// Maximum iterations of a loop over `range`. Three nested loops then end within minutes.
const MAX_RANGE: i64 = 1000;
/// Maximum bytes of a result of `replace` or `join`.
const MAX_BYTES: usize = 1 << 20;

/// The words that begin a `{% … %}` tag and are no names of variables.
const BLOCK_WORDS: [&str; 8] = ["for", "endfor", "if", "elif", "else", "endif", "include", "extends"];

/// The diagnostics of a template.
pub(super) fn diagnostics(name: &str, text: &str) -> Vec<FileDiagnostic> {
    let mut check = BoundsCheck { name, text, ..BoundsCheck::default() };
    for tag in tags(text) {
        let bare = unquoted(tag.inside);
        let word = if tag.kind == TagKind::Block { first_word(&bare) } else { "" };
        check.nesting(&tag, &bare, word);
        check.construct(&tag, &bare, word);
        check.concatenations(&tag, &bare);
    }
    check.found
}

/// The check of one template, tag by tag. `bare` is the content of a tag without its quoted strings, and `word` the
/// first word of a block, which names its kind.
#[derive(Default)]
struct BoundsCheck<'a> {
    name: &'a str,
    text: &'a str,
    found: Vec<FileDiagnostic>,
    /// Depth of the current block, as the parser counts it.
    blocks: usize,
    /// The part of the depth that each open block adds.
    open: Vec<usize>,
    is_too_deep: bool,
    /// Number of open loops.
    loops: usize,
    /// Number of `~` so far.
    concatenations: usize,
}

impl BoundsCheck<'_> {
    fn refuse(&mut self, tag: &Tag<'_>, message: String, hint: &str) {
        if self.found.len() == MAX_DIAGNOSTICS {
            return;
        }
        let place =
            ErrorLocation { file: Some(self.name.to_owned()), ..ErrorLocation::offset(self.text, tag.start) };
        self.found.push(FileDiagnostic::new(message).hint(hint).at(place));
    }

    /// Checks how deep blocks and brackets are nested.
    fn nesting(&mut self, tag: &Tag<'_>, bare: &str, word: &str) {
        match word {
            "if" | "for" | "block" | "macro" | "component" | "filter" => {
                self.blocks += 1;
                self.open.push(1);
            }
            "elif" => {
                self.blocks += 1;
                if let Some(levels) = self.open.last_mut() {
                    *levels += 1;
                }
            }
            _ if word.starts_with("end") => {
                self.blocks = self.blocks.saturating_sub(self.open.pop().unwrap_or(0));
            }
            _ => {}
        }
        // Reported once, because everything inside is too deep as well.
        if self.blocks == MAX_NESTING + 1 && !word.starts_with("end") && !self.is_too_deep {
            self.is_too_deep = true;
            self.refuse(tag, format!("more than {MAX_NESTING} blocks are nested"), "use fewer blocks");
        }
        if bracket_depth(bare) > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} brackets are nested in a tag");
            self.refuse(tag, message, "use fewer brackets");
        }
    }

    /// Checks for constructs that multiply their input.
    fn construct(&mut self, tag: &Tag<'_>, bare: &str, word: &str) {
        match word {
            "set_global" | "filter" | "component" | "endset" => {
                let name = if word == "endset" { "set … endset" } else { word };
                self.refuse(
                    tag,
                    format!("a prompt may not use `{name}`"),
                    "write the text where it is needed",
                );
            }
            "set" if bare.contains(['~', '[', '{']) => self.refuse(
                tag,
                "a prompt may not build text or lists in `set`".into(),
                "write the text where it is needed",
            ),
            "for" => {
                self.loops += 1;
                if self.loops > MAX_DEPTH {
                    self.refuse(tag, format!("more than {MAX_DEPTH} loops are nested"), "use fewer loops");
                }
            }
            "endfor" => self.loops = self.loops.saturating_sub(1),
            _ => {}
        }
        let first = first_word(bare);
        if tag.kind == TagKind::Value && BLOCK_WORDS.contains(&first) && bare.starts_with(first) {
            let message = format!("`{first}` belongs in a `{{% … %}}` tag, not in `{{{{ … }}}}`");
            self.refuse(tag, message, &format!("write `{{% {} %}}`", tag.inside));
            return;
        }
        let loops = words(bare).filter(|inner| *inner == "for").count();
        if loops > usize::from(word == "for") {
            self.refuse(tag, "a prompt may not use list comprehensions".into(), "use a `for` loop");
        }
    }

    /// Counts concatenations of texts.
    fn concatenations(&mut self, tag: &Tag<'_>, bare: &str) {
        let before = self.concatenations;
        self.concatenations += bare.matches('~').count();
        if before <= MAX_CONCATENATIONS && self.concatenations > MAX_CONCATENATIONS {
            self.refuse(
                tag,
                format!("a prompt may use `~` at most {MAX_CONCATENATIONS} times"),
                "write the texts next to each other",
            );
        }
    }
}

/// Replaces unbounded filters and functions by bounded ones.
pub(super) fn bind(tera: &mut Tera) {
    tera.register_filter("replace", |text: &str, arguments: Kwargs, _: &State| -> TeraResult<String> {
        let (from, to) = (arguments.must_get::<&str>("from")?, arguments.must_get::<&str>("to")?);
        fits(text.len().saturating_add(text.matches(from).count().saturating_mul(to.len())), "replace")?;
        Ok(text.replace(from, to))
    });
    tera.register_filter("join", |values: &[Value], arguments: Kwargs, _: &State| -> TeraResult<String> {
        let between = arguments.get::<&str>("sep")?.unwrap_or_default();
        let mut joined = String::new();
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                joined.push_str(between);
            }
            joined.push_str(&value.to_string());
            fits(joined.len(), "join")?;
        }
        Ok(joined)
    });
    tera.register_filter("indent", |_: &str, _: Kwargs, _: &State| -> TeraResult<String> {
        Err(tera::Error::message("a prompt may not use the filter `indent`"))
    });
    tera.register_function("range", |arguments: Kwargs, _: &State| -> TeraResult<Vec<i64>> {
        let start = arguments.get::<i64>("start")?.unwrap_or_default();
        let end = arguments.must_get::<i64>("end")?;
        let step =
            usize::try_from(arguments.get::<i64>("step_by")?.unwrap_or(1)).ok().filter(|step| *step > 0);
        let Some(step) = step else {
            return Err(tera::Error::message("`step_by` of `range` must be at least 1"));
        };
        if end.saturating_sub(start) > MAX_RANGE {
            return Err(tera::Error::message(format!("`range` has at most {MAX_RANGE} numbers in a prompt")));
        }
        Ok((start..end).step_by(step).collect())
    });
}

fn fits(bytes: usize, filter: &str) -> TeraResult<()> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(tera::Error::message(format!("the result of the filter `{filter}` has more than {MAX_BYTES} bytes")))
}

/// How deep the brackets of a tag nest.
fn bracket_depth(bare: &str) -> usize {
    let (mut depth, mut max) = (0_usize, 0);
    for char in bare.chars() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        max = max.max(depth);
    }
    max
}

/// A tag without its quoted strings.
fn unquoted(inside: &str) -> String {
    let mut quote = None;
    let bare = inside.chars().filter(|char| match quote {
        Some(open) => {
            if *char == open {
                quote = None;
            }
            false
        }
        None if matches!(char, '"' | '\'' | '`') => {
            quote = Some(*char);
            false
        }
        None => true,
    });
    bare.collect()
}

fn words(bare: &str) -> impl Iterator<Item = &str> {
    bare.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

fn first_word(bare: &str) -> &str {
    words(bare).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let lines: Vec<String> = diagnostics("p.md", text)
            .iter()
            .map(|found| format!("{} ({})", found.message, found.line.unwrap()))
            .collect();
        lines.join("\n")
    }

    fn render(text: &str) -> Result<String, String> {
        let mut tera = Tera::new();
        bind(&mut tera);
        tera.add_raw_template("t", text).map_err(|error| error.to_string())?;
        let values = serde_json::json!({"long": "a".repeat(100_000), "list": [1, "b"]});
        let context = tera::Context::from_serialize(&values).unwrap();
        tera.render("t", &context).map_err(|error| error.to_string())
    }

    #[test]
    fn constructs_that_grow_unbounded_are_refused() {
        insta::assert_snapshot!(check("a\n{% set_global s = s ~ s %}"), @"a prompt may not use `set_global` (2)");
        insta::assert_snapshot!(check("{%- set s %}{{ NODES }}{% endset -%}"), @"a prompt may not use `set … endset` (1)");
        insta::assert_snapshot!(check("{% filter upper %}x{% endfilter %}"), @"a prompt may not use `filter` (1)");
        insta::assert_snapshot!(check("{% set s = s ~ s %}"), @"a prompt may not build text or lists in `set` (1)");
        insta::assert_snapshot!(check("{{ [i for i in range(end=9)] | length }}"), @"a prompt may not use list comprehensions (1)");
        insta::assert_snapshot!(check("{{ for x in NODES }}"), @"`for` belongs in a `{% … %}` tag, not in `{{ … }}` (1)");
        insta::assert_snapshot!(check("a\n{{ endif }}"), @"`endif` belongs in a `{% … %}` tag, not in `{{ … }}` (2)");
        insta::assert_snapshot!(check(&"{% for a in b %}".repeat(4)), @"more than 3 loops are nested (1)");
        let nested = format!("{}x{}", "{% if a %}".repeat(5_000), "{% endif %}".repeat(5_000));
        insta::assert_snapshot!(check(&nested), @"more than 32 blocks are nested (1)");
        let chain = format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}x".repeat(5_000));
        insta::assert_snapshot!(check(&chain), @"more than 32 blocks are nested (1)");
        let brackets = format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000));
        insta::assert_snapshot!(check(&brackets), @"more than 32 brackets are nested in a tag (1)");
        insta::assert_snapshot!(check(&format!("{{{{ a{} }}}}", " ~ a".repeat(33))), @"a prompt may use `~` at most 32 times (1)");
    }

    #[test]
    fn the_number_of_diagnostics_is_bounded() {
        assert_eq!(diagnostics("p.md", &"{% set_global a = 1 %}".repeat(500)).len(), MAX_DIAGNOSTICS);
    }

    #[test]
    fn ordinary_templates_are_accepted() {
        for text in [
            "{% set name = vars.name | upper %}{{ name }}",
            "{% for note in vars.list %}{% if loop.first %}for all{% endif %}{% endfor %}".repeat(9).as_str(),
            "{% if a %}1{% elif b %}2{% elif c %}3{% else %}4{% endif %}".repeat(40).as_str(),
            "{{ \"for [x] ~ \" ~ AGENT }}",
            "{# {% set_global x = 1 %} #}{% raw %}{% set_global x = 1 %}{% endraw %}",
            "{% include \"other.md\" %}",
        ] {
            assert_eq!(check(text), "", "{text}");
        }
    }

    #[test]
    fn filters_are_bounded() {
        assert_eq!(
            render("{{ \"abc\" | replace(from=\"b\", to=\"x\") }}{{ list | join(sep=\", \") }}").unwrap(),
            "axc1, b"
        );
        assert_eq!(
            render("{% for i in range(start=1, end=7, step_by=2) %}{{ i }}{% endfor %}").unwrap(),
            "135"
        );
        for text in [
            "{{ long | replace(from=\"a\", to=long) }}",
            "{{ range(end=1000) | join(sep=long) }}",
            "{{ long | indent(width=1000000) }}",
            "{% for i in range(end=1001) %}{% endfor %}",
            "{% for i in range(end=9, step_by=0) %}{% endfor %}",
        ] {
            assert!(render(text).is_err(), "{text}");
        }
    }
}
