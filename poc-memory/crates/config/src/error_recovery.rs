//! Finds every mistake in merged settings. Serde stops at the first one, so each wrong value is replaced by its default,
//! and the settings are decoded again.

use super::layer::{SettingDiagnostic, deserialize};
use super::sections::Config;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Maximum number of mistakes that are looked for, because each one costs another decoding.
pub(super) const MAX_MISTAKES: usize = 100;

/// The values that were wrong and were replaced, by the keys that lead to them.
#[derive(Default)]
pub(super) struct ReplacedValues(BTreeSet<Vec<String>>);

impl ReplacedValues {
    /// Adds a value that does not take effect.
    pub(super) fn insert(&mut self, keys: &[String]) {
        self.0.insert(keys.to_vec());
    }

    /// Whether the value with these keys, a table that contained it, or a value in it was replaced.
    pub(super) fn overlaps(&self, keys: &[&str]) -> bool {
        self.0.iter().any(|replaced| replaced.iter().zip(keys).all(|(replaced, key)| replaced == key))
    }

    /// The dotted paths of the values that were replaced.
    pub(super) fn paths(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|replaced| replaced.join("."))
    }
}

/// Decodes the settings. Wrong values in `table` are replaced and returned as mistakes. There are no settings if not all
/// mistakes could be replaced.
pub(super) fn decode(
    table: &mut Table,
    defaults: &Table,
    replaced: &mut ReplacedValues,
) -> (Option<Config>, Vec<SettingDiagnostic>) {
    let mut mistakes: Vec<SettingDiagnostic> = Vec::new();
    // The keys that were missing.
    let mut added: BTreeSet<Vec<String>> = BTreeSet::new();
    // The keys that the errors about unknown keys suggest.
    let mut suggested: BTreeSet<Vec<String>> = BTreeSet::new();
    while mistakes.len() < MAX_MISTAKES {
        let mistake = match deserialize(table.clone()) {
            Ok(config) => return (Some(config), mistakes),
            Err(mistake) => mistake,
        };
        let keys = mistake.keys.clone();
        let missing = mistake.missing_key().map(|name| [keys.as_slice(), &[name.to_owned()]].concat());
        // A key can be missing only because its wrong value, or its key that is spelled wrong, was removed before.
        let follows = missing.as_ref().is_some_and(|path| {
            suggested.contains(path) || replaced.0.contains(path) && !added.contains(path)
        });
        suggested.extend(mistake.suggested_key());
        if !follows && !mistakes.contains(&mistake) {
            mistakes.push(mistake);
        }
        // The other values of the table are checked, too.
        if let Some(path) = missing
            && added.insert(path.clone())
            && add_missing(table, defaults, &path)
        {
            replaced.insert(&path);
            continue;
        }
        // If a value has its default already, the mistake is in the table around it.
        let mut around = (1..=keys.len()).rev().filter_map(|length| keys.get(..length));
        match around.find(|keys| replace(table, defaults, keys)) {
            Some(keys) => replaced.insert(keys),
            None => break,
        }
    }
    (None, mistakes)
}

/// Adds a missing key with the value that it has in another table of the same section: the key of a model with that of
/// a model of the defaults. Returns whether there is one.
fn add_missing(table: &mut Table, defaults: &Table, path: &[String]) -> bool {
    let Some((name, keys)) = path.split_last() else { return false };
    let Some((_, section)) = keys.split_last() else { return false };
    let mut defaults = Some(defaults);
    for key in section {
        defaults = defaults.and_then(|table| table.get(key)).and_then(Value::as_table);
    }
    let mut others = defaults.into_iter().flat_map(Table::values);
    let Some(value) = others.find_map(|other| other.get(name)) else { return false };
    let mut table = table;
    for key in keys {
        let Some(Value::Table(inner)) = table.get_mut(key) else { return false };
        table = inner;
    }
    table.insert(name.clone(), value.clone()).is_none()
}

/// Replaces a value by its default, or removes it if it has none. Returns whether this changed anything.
fn replace(table: &mut Table, defaults: &Table, keys: &[String]) -> bool {
    let Some((name, parents)) = keys.split_last() else { return false };
    let (mut table, mut defaults) = (table, Some(defaults));
    for parent in parents {
        defaults = defaults.and_then(|table| table.get(parent)).and_then(Value::as_table);
        let Some(Value::Table(inner)) = table.get_mut(parent) else { return false };
        table = inner;
    }
    match (table.get(name), defaults.and_then(|table| table.get(name))) {
        (None, _) => false,
        (Some(value), Some(default)) if value == default => false,
        (Some(_), Some(default)) => {
            table.insert(name.clone(), default.clone());
            true
        }
        (Some(_), None) => {
            table.remove(name);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use poc_graph::error::Error;

    fn mistakes(text: Option<&str>, variables: &[(&str, &str)]) -> String {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let error = Config::layered(text.map(|text| ("config.toml", text)), variables).unwrap_err();
        let lines: Vec<String> = error.each().map(Error::line).collect();
        lines.join("\n")
    }

    #[test]
    fn all_mistakes_are_reported_in_the_order_of_the_file() {
        let text = "\
[text]
langauge = \"german\"
k1 = \"high\"
[list]
limit = 0
[nodes]
types = [\"two words\"]
[daemon]
heartbeat = \"soon\"
[embedder]
kind = \"candel\"
[models.x]
provider = \"nobody\"
id = \"m\"
";
        insta::assert_snapshot!(mistakes(Some(text), &[("POC_MEMORY__VIEW__LIMIT", "many")]), @r#"
        config.toml:2:1: `text.langauge`: unknown key `langauge`; did you mean `language`?
        config.toml:3:1: `text.k1`: cannot be the text "high"; give a number
        config.toml:5:1: `list.limit`: cannot be 0; give 1 to 1000; 20 is usual
        config.toml:7:1: `nodes.types`: `two words` cannot be the name of a type; leave out spaces, quotes and the characters `:`, `,` and `|`
        config.toml:9:1: `daemon.heartbeat`: `soon` is not a duration; write a whole number with a unit: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds
        config.toml:11:1: `embedder.kind`: unknown embedder `candel`; did you mean `candle`?
        config.toml:13:1: `models.x.provider`: model `x` names the provider `nobody`, which is not configured; add a section `[providers.nobody]`
        `POC_MEMORY__VIEW__LIMIT`: cannot be the text "many"; give a whole number from 1 to 100000
        "#);
    }

    #[test]
    fn mistakes_in_variables_are_reported_without_a_file() {
        let variables = [
            ("POC_MEMORY__TEXT__K1", "high"),
            ("POC_MEMORY__DAEMON__HEARTBEAT", "1.5"),
            ("POC_MEMORY__LIST__LIMIT", "0"),
            ("POC_MEMORY__NOTIFY__WEBHOOK", "ftp://x"),
        ];
        insta::assert_snapshot!(mistakes(None, &variables), @r#"
        `POC_MEMORY__TEXT__K1`: cannot be the text "high"; give a number
        `POC_MEMORY__DAEMON__HEARTBEAT`: cannot be the number `1.5`; give a duration such as "24h", "30m" or "45s"; a bare number is seconds
        `POC_MEMORY__LIST__LIMIT`: cannot be 0; give 1 to 1000; 20 is usual
        `POC_MEMORY__NOTIFY__WEBHOOK`: the value is not an address; give one that begins with `http://` or `https://`, such as `https://example.org/path`
        "#);
    }

    #[test]
    fn mistakes_do_not_hide_others_of_the_same_table_or_of_other_kinds() {
        let text = "\
txt = 5
[consolidate]
schedule = \"daily at 25:00\"
[embedder]
kind = \"foo\"
dimensions = \"many\"
[models.foo]
provider = \"nobody\"
context = 0
[notify]
webhook = \"ftp://x\"
every = \"soon\"
";
        let lines = mistakes(Some(text), &[]);
        let lines: Vec<&str> = lines.lines().collect();
        let fields = [
            "config.toml:1:1: `txt`",
            "config.toml:3:1: `consolidate.schedule`",
            "config.toml:5:1: `embedder.kind`",
            "config.toml:6:1: `embedder.dimensions`",
            "config.toml:7:9: `models.foo`: `id` is missing here",
            "config.toml:8:1: `models.foo.provider`: model `foo` names the provider `nobody`",
            "config.toml:9:1: `models.foo.context`: cannot be 0",
            "config.toml:11:1: `notify.webhook`",
            "config.toml:12:1: `notify.every`",
        ];
        assert_eq!(lines.len(), fields.len(), "{lines:#?}");
        for (line, field) in lines.iter().zip(fields) {
            assert!(line.starts_with(field), "{line}: {field}");
        }
    }

    #[test]
    fn all_missing_keys_of_a_table_are_reported() {
        insta::assert_snapshot!(mistakes(Some("[models.x]\ncontext = 5\n"), &[]), @r"
        config.toml:1:9: `models.x`: `provider` is missing here; add a line `provider = …`
        config.toml:1:9: `models.x`: `id` is missing here; add a line `id = …`
        ");
    }

    #[test]
    fn missing_keys_are_reported_with_other_mistakes_of_their_table() {
        let unknown = "[models.x]\nprovidr = \"heuristic\"\nprice = 3\n";
        insta::assert_snapshot!(mistakes(Some(unknown), &[]), @r"
        config.toml:1:9: `models.x`: `id` is missing here; add a line `id = …`
        config.toml:2:1: `models.x.providr`: unknown key `providr`; did you mean `provider`?
        config.toml:3:1: `models.x.price`: unknown key `price`; known here: `provider`, `id`, `input-price`, `output-price`, `cache-write-price`, `cache-read-price`, `context`
        ");
        insta::assert_snapshot!(mistakes(Some("[models.x]\nprovider = 5\n"), &[]), @r"
        config.toml:1:9: `models.x`: `id` is missing here; add a line `id = …`
        config.toml:2:1: `models.x.provider`: cannot be the number `5`; give text in quotes
        ");
        insta::assert_snapshot!(mistakes(Some("[providers.x]\nadress = \"\"\n"), &[]).lines().next().unwrap(), @"config.toml:1:12: `providers.x`: `kind` is missing here; add a line `kind = …`");
    }

    #[test]
    fn a_value_of_a_variable_that_the_file_also_has_names_the_variable() {
        let text = "[list]\nlimit = 5\n";
        insta::assert_snapshot!(mistakes(Some(text), &[("POC_MEMORY__LIST__LIMIT", "0")]), @"`POC_MEMORY__LIST__LIMIT`: cannot be 0; give 1 to 1000; 20 is usual");
        // A variable can also set a whole table.
        insta::assert_snapshot!(mistakes(Some(text), &[("POC_MEMORY__LIST", "{ limit = 0 }")]), @"`POC_MEMORY__LIST`: cannot be 0; give 1 to 1000; 20 is usual");
    }

    #[test]
    fn all_syntax_errors_are_reported() {
        insta::assert_snapshot!(mistakes(Some("text.k1 = x\ntext.b = True\nlist.limit = 0\n"), &[]), @r#"
        config.toml:1:11: string values must be quoted, expected literal string; write the text in quotes: `"…"`
        config.toml:2:10: invalid boolean, expected `true`; write `true` or `false`, in lower case
        "#);
    }

    #[test]
    fn a_mistake_that_follows_from_another_is_not_reported() {
        for text in [
            // The key is missing because it is spelled wrong.
            "[models.x]\nprovidr = \"heuristic\"\nid = \"m\"\n",
            "[models.x]\nprovider = 5\nid = \"m\"\n",
            // The limits depend on a value that is wrong.
            "[write]\nchunk-window = 0\nchunk-stride = 5\n",
            "[write]\nchunk-window = \"many\"\nchunk-stride = 5\n",
            "[edges]\nfloor = -1.0\ncap = 0.0\n",
            // The provider is there, but has a mistake.
            "[providers.p]\nkind = \"openia\"\n[models.x]\nprovider = \"p\"\nid = \"m\"\n",
        ] {
            let error = Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap_err();
            assert!(error.others.is_empty(), "{text}: {error}");
        }
    }

    #[test]
    fn values_that_do_not_fit_together_are_reported_with_mistakes_elsewhere_in_their_section() {
        let text = "\
[query.fused]
weak-min-fused = 0.9
[query.two-path]
sem-margin = 1.5
[query.gates]
hash = { strong = 1, weak = 2.5 }
static = { strong = 1, weak = 2.5 }
";
        insta::assert_snapshot!(mistakes(Some(text), &[]), @r"
        config.toml:2:1: `query.fused.weak-min-fused`: cannot be 0.9, above `strong-min-fused`, 0.7; `weak-min-fused` is the lower threshold
        config.toml:4:1: `query.two-path.sem-margin`: cannot be 1.5; give 0 to 1; 0.015 is usual
        config.toml:6:22: `query.gates.hash.weak`: cannot be 2.5, above `strong`, 1; `weak` is the lower threshold
        config.toml:7:24: `query.gates.static.weak`: cannot be 2.5, above `strong`, 1; `weak` is the lower threshold
        ");
    }

    #[test]
    fn a_provider_with_a_mistake_in_a_variable_is_not_missing() {
        let text = "[models.x]\nprovider = \"p\"\nid = \"m\"\n";
        insta::assert_snapshot!(mistakes(Some(text), &[("POC_MEMORY__PROVIDERS__P__KIND", "openia")]), @"`POC_MEMORY__PROVIDERS__P__KIND`: unknown value `openia`; did you mean `openai`?");
    }

    #[test]
    fn addresses_of_servers_are_checked_with_the_other_values() {
        let text = "\
[embedder]
kind = \"http\"
url = \"\"
[hub]
url = \"https://me:secret@example.org\"
[notify]
webhook = \"\"
[list]
limit = 0
[providers.mine]
kind = \"openai\"
base-url = \"localhost:1234\"
";
        let variables = [("POC_MEMORY__PROVIDERS__OLLAMA__BASE_URL", "127.0.0.1:11434")];
        insta::assert_snapshot!(mistakes(Some(text), &variables), @r"
        config.toml:3:1: `embedder.url`: the value is not an address; give one that begins with `http://` or `https://`, such as `https://example.org/path`
        config.toml:5:1: `hub.url`: the address contains a user or a password; leave them out, because messages show the address
        config.toml:9:1: `list.limit`: cannot be 0; give 1 to 1000; 20 is usual
        config.toml:12:1: `providers.mine.base-url`: the value is not an address; give one that begins with `http://` or `https://`, such as `https://example.org/path`
        `POC_MEMORY__PROVIDERS__OLLAMA__BASE_URL`: the value is not an address; give one that begins with `http://` or `https://`, such as `https://example.org/path`
        ");
    }

    #[test]
    fn addresses_of_servers_that_are_not_needed_may_be_empty() {
        let text = "[embedder]\nkind = \"hash\"\nurl = \"\"\n[hub]\nurl = \"\"\n[list]\nlimit = 0\n";
        insta::assert_snapshot!(mistakes(Some(text), &[]), @"config.toml:7:1: `list.limit`: cannot be 0; give 1 to 1000; 20 is usual");
    }

    #[test]
    fn keys_with_dots_have_their_positions() {
        let text = "[models.\"gpt-4.1\"]\nprovider = \"heuristic\"\nid = 5\n[list]\nlimit = 0\n";
        insta::assert_snapshot!(mistakes(Some(text), &[]), @r"
        config.toml:3:1: `models.gpt-4.1.id`: cannot be the number `5`; give text in quotes
        config.toml:5:1: `list.limit`: cannot be 0; give 1 to 1000; 20 is usual
        ");
    }

    #[test]
    fn no_more_mistakes_than_the_maximum_are_looked_for() {
        let text: String = (0..300).map(|number| format!("unknown-{number} = 1\n")).collect();
        let error = Config::layered(Some(("config.toml", &text)), std::iter::empty()).unwrap_err();
        assert_eq!(error.each().count(), super::MAX_MISTAKES);
    }
}
