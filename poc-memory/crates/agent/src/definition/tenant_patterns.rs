//! Patterns for the names of tenants: which tenants the schedule of an agent is for.

use poc_config::TenantSchema;
use poc_graph::error::{Code, Error};
use poc_graph::{Tuple, similar};
use std::collections::BTreeMap;
use std::fmt;

/// The word for every tenant.
pub(super) const ALL: &str = "all";

/// The word for the default tenant, as in answers.
const DEFAULT: &str = "default";

/// The character of a pattern that matches any text within a value, also an empty one.
const ANY: char = '*';

/// The tenants that an agent runs for by its schedule. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPatterns {
    /// Without patterns, every tenant matches.
    patterns: Vec<TenantPattern>,
}

/// A pattern for names of tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TenantPattern {
    /// The pattern as written.
    text: String,
    /// The keys that a tenant must have, each with a pattern for its value, with composed characters. Without keys, only
    /// the default tenant matches.
    pairs: BTreeMap<String, String>,
}

/// A mistake in a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TenantPatternError {
    /// The position of the mistake, in characters from the start of the pattern.
    pub(super) offset: usize,
    /// What is wrong.
    pub(super) message: String,
    /// What would be right.
    pub(super) hint: String,
}

impl TenantPatterns {
    /// The tenants that match at least one of the patterns; every tenant if there are none.
    pub(super) fn new(patterns: Vec<TenantPattern>) -> TenantPatterns {
        TenantPatterns { patterns }
    }

    /// Whether every tenant matches.
    pub fn is_all(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a tenant matches.
    pub fn matches(&self, tenant: &Tuple) -> bool {
        self.is_all() || self.patterns.iter().any(|pattern| pattern.matches(tenant))
    }

    /// The patterns as written in the file.
    pub fn texts(&self) -> Vec<String> {
        match self.is_all() {
            true => vec![ALL.to_owned()],
            false => self.patterns.iter().map(|pattern| pattern.text.clone()).collect(),
        }
    }
}

impl fmt::Display for TenantPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().join(", "))
    }
}

impl TenantPattern {
    /// Parses `default`, or `KEY=VALUE` pairs separated by spaces. Each `*` in a value matches any text. A key or value
    /// is quoted as in the displayed name of a tenant.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn parse(text: &str) -> Result<TenantPattern, TenantPatternError> {
        let text = text.trim_end();
        let pairs = match text.trim() {
            "" => return Err(mistake(0, "a pattern for tenants is blank", EXAMPLES)),
            DEFAULT => Vec::new(),
            _ => parse_pairs(text)?,
        };
        for PatternPair { offset, key, value } in &pairs {
            if key.contains(ANY) {
                let message = format!("the key `{key}` of a pattern contains `{ANY}`");
                return Err(mistake(*offset, message, "name the key; `*` can be in its value: `user=*`"));
            }
            Tuple::new([(key, value)]).map_err(|error| refused(*offset, &error))?;
            if [key, value].iter().any(|part| part.trim() != part.as_str()) {
                let message = "a key or value of a pattern begins or ends with a space";
                return Err(mistake(*offset, message, "leave the space out: no tenant has it"));
            }
        }
        let names = pairs.iter().map(|pair| (&pair.key, &pair.value));
        let names = Tuple::new(names).map_err(|error| refused(0, &error))?;
        let pairs = names.composed().pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Ok(TenantPattern { text: text.trim().to_owned(), pairs })
    }

    /// Whether both match the same tenants because they have the same keys and values.
    pub(super) fn is_same_as(&self, other: &TenantPattern) -> bool {
        self.pairs == other.pairs
    }

    /// Fails if the settings allow no tenant that matches.
    ///
    /// # Errors
    /// What the settings do not allow.
    pub(super) fn check(&self, schema: &TenantSchema) -> Result<(), TenantPatternError> {
        let mut example = Vec::new();
        for (key, pattern) in &self.pairs {
            let choices = schema.keys.get(key).and_then(|rules| rules.choices.as_ref());
            let value = match choices.filter(|_| pattern.contains(ANY)) {
                None => pattern.replace(ANY, "x"),
                Some(choices) => match choices.iter().find(|choice| is_match(pattern, choice)) {
                    Some(choice) => choice.clone(),
                    None => {
                        let known: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
                        let message =
                            format!("no value of `{key}` that `[tenant-schema]` allows matches `{pattern}`");
                        return Err(mistake(0, message, format!("the values are {}", known.join(", "))));
                    }
                },
            };
            example.push((key.as_str(), value));
        }
        let example = Tuple::new(example).map_err(|error| refused(0, &error))?;
        match schema.validate(&example) {
            Ok(()) => Ok(()),
            // Another value may match the expression of the schema.
            Err(error) if error.code == Code::TenantPatternMismatch && self.is_open(&error) => Ok(()),
            Err(error) => {
                let message =
                    format!("`[tenant-schema]` allows no tenant `{}`: {}", self.text, error.message);
                let hint = error.hint.unwrap_or_else(|| EXAMPLES.to_owned());
                Err(mistake(0, message, hint))
            }
        }
    }

    /// Whether the key at which an error is may have several values.
    fn is_open(&self, error: &Error) -> bool {
        let field = error.at.as_ref().and_then(|at| at.field.as_deref()).unwrap_or_default();
        self.pairs.iter().any(|(key, pattern)| pattern.contains(ANY) && field == format!("tenant.{key}"))
    }

    fn matches(&self, tenant: &Tuple) -> bool {
        let tenant = tenant.composed();
        let mut pairs = tenant.pairs();
        let all = self.pairs.iter().all(|(key, pattern)| {
            pairs.next().is_some_and(|(own, value)| own == key && is_match(pattern, value))
        });
        // A tenant with more keys is another tenant.
        all && pairs.next().is_none()
    }
}

/// What would be a pattern.
const EXAMPLES: &str = "write `default`, or a pattern such as `user=ann`, `user=*` or `team=research user=*`";

/// A pair of a pattern.
struct PatternPair {
    /// The index of its first character.
    offset: usize,
    key: String,
    value: String,
}

fn mistake(offset: usize, message: impl Into<String>, hint: impl Into<String>) -> TenantPatternError {
    TenantPatternError { offset, message: message.into(), hint: hint.into() }
}

fn refused(offset: usize, error: &Error) -> TenantPatternError {
    mistake(offset, error.message.clone(), error.hint.clone().unwrap_or_else(|| EXAMPLES.to_owned()))
}

/// The pairs of a pattern.
fn parse_pairs(text: &str) -> Result<Vec<PatternPair>, TenantPatternError> {
    let chars: Vec<char> = text.chars().collect();
    let (mut pairs, mut at) = (Vec::new(), 0);
    loop {
        while chars.get(at).is_some_and(|char| char.is_whitespace()) {
            at += 1;
        }
        if at >= chars.len() {
            return Ok(pairs);
        }
        let offset = at;
        let key = part(&chars, &mut at)?;
        if chars.get(at) != Some(&'=') {
            return Err(without_value(offset, &key, text));
        }
        at += 1;
        let value = part(&chars, &mut at)?;
        match chars.get(at) {
            None => {}
            Some(char) if char.is_whitespace() => {}
            Some('=') if value.contains(',') => {
                let hint = "separate the keys by a space: `team=research user=*`";
                return Err(mistake(at, "the keys of a tenant are separated by a comma", hint));
            }
            Some(_) => {
                let message = format!("the value of `{key}` is followed by `=` or a quote");
                return Err(mistake(at, message, "put the whole value in quotes"));
            }
        }
        pairs.push(PatternPair { offset, key, value });
    }
}

/// Reads a key or a value: in quotes, or up to a space, `=` or quote.
fn part(chars: &[char], at: &mut usize) -> Result<String, TenantPatternError> {
    let start = *at;
    let mut text = String::new();
    if chars.get(start) != Some(&'"') {
        while let Some(&char) = chars.get(*at) {
            if char.is_whitespace() || char == '=' || char == '"' {
                break;
            }
            text.push(char);
            *at += 1;
        }
        return Ok(text);
    }
    *at += 1;
    while let Some(&char) = chars.get(*at) {
        *at += 1;
        match (char, chars.get(*at)) {
            ('"', _) => return Ok(text),
            ('\\', Some(&escaped @ ('"' | '\\'))) => {
                text.push(escaped);
                *at += 1;
            }
            _ => text.push(char),
        }
    }
    Err(mistake(start, "a quote is not closed", "add `\"` after the value"))
}

/// The mistake of a word that is not followed by `=`.
fn without_value(offset: usize, word: &str, text: &str) -> TenantPatternError {
    let hint = match word {
        "*" => "`all` means every tenant, and `user=*` every tenant with only the key `user`".to_owned(),
        DEFAULT => format!("list it as a pattern of its own: `[\"{DEFAULT}\", \"user=*\"]`"),
        ALL => format!("write `tenants = \"{ALL}\"`"),
        _ if text.trim_start().starts_with('-') => "leave the option out and write `user=ann`".to_owned(),
        _ => match (word.split_once(':'), similar::closest(word, [ALL, DEFAULT].into_iter())) {
            (Some((key, value)), _) if !key.is_empty() && !value.is_empty() => {
                format!("did you mean `{key}={value}`?")
            }
            (_, Some(near)) => format!("did you mean `{near}`?"),
            (_, None) => EXAMPLES.to_owned(),
        },
    };
    mistake(offset, format!("`{word}` is not a pattern for tenants"), hint)
}

/// Whether a text matches a pattern. Each `*` in the pattern matches any text, also an empty one.
fn is_match(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once(ANY) else { return pattern == text };
    let Some(mut open) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split(ANY).collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        // The first occurrence leaves the most text for the other pieces.
        let Some((_, after)) = open.split_once(piece) else { return false };
        open = after;
    }
    open.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tenant(pairs: &[(&str, &str)]) -> Tuple {
        Tuple::new(pairs.iter().copied()).unwrap()
    }

    /// Checks which of some tenants match patterns, by their displayed names.
    fn check(patterns: &[&str], expected: &[&str]) {
        let tenants = [
            tenant(&[]),
            tenant(&[("user", "ann")]),
            tenant(&[("user", "anna")]),
            tenant(&[("user", "bob")]),
            tenant(&[("team", "research"), ("user", "ann")]),
            tenant(&[("team", "sales"), ("user", "bob")]),
        ];
        let parsed = patterns.iter().map(|text| TenantPattern::parse(text).unwrap()).collect();
        let parsed = TenantPatterns::new(parsed);
        let matching = tenants.iter().filter(|one| parsed.matches(one));
        let names: Vec<String> = matching.map(|one| one.to_string()).collect();
        assert_eq!(names, expected, "{patterns:?}");
    }

    #[test]
    fn a_tenant_matches_with_the_same_keys_and_values_that_fit() {
        check(&["default"], &["default"]);
        check(&["user=ann"], &["user=ann"]);
        check(&["user=*"], &["user=ann", "user=anna", "user=bob"]);
        check(&["user=a*n"], &["user=ann"]);
        check(&["user=*nn*"], &["user=ann", "user=anna"]);
        check(&["user=* team=research"], &["team=research user=ann"]);
        check(&["team=*  user=b*"], &["team=sales user=bob"]);
        check(&["team=*"], &[]);
        check(&["default", "\"user\"=\"bob\""], &["default", "user=bob"]);
        let decomposed = TenantPatterns::new(vec![TenantPattern::parse("user=Andre\u{301}*").unwrap()]);
        for user in ["Andr\u{e9}", "Andre\u{301}"] {
            assert!(decomposed.matches(&tenant(&[("user", user)])), "{user:?}");
        }
        let all = TenantPatterns::default();
        assert!(all.is_all() && all.matches(&tenant(&[])) && all.matches(&tenant(&[("user", "ann")])));
    }

    #[test]
    fn mistakes_are_explained() {
        let explain = |text: &str| {
            let error = TenantPattern::parse(text).unwrap_err();
            format!("{text}\n  {}: {}\n  → {}", error.offset, error.message, error.hint)
        };
        assert_eq!(
            TenantPattern::parse(" ").unwrap_err(),
            mistake(0, "a pattern for tenants is blank", EXAMPLES)
        );
        let texts = [
            "*",
            "al",
            "defualt",
            "default user=ann",
            "user:ann",
            "ann",
            "--tenant user=ann",
            "team=research,user=*",
            "user=a=b",
            "user=",
            "=ann",
            "u*=ann",
            "user=\"ann",
            "user=\" ann\"",
            "user=ann user=bob",
        ];
        insta::assert_snapshot!(texts.map(explain).join("\n"), @r#"
        *
          0: `*` is not a pattern for tenants
          → `all` means every tenant, and `user=*` every tenant with only the key `user`
        al
          0: `al` is not a pattern for tenants
          → did you mean `all`?
        defualt
          0: `defualt` is not a pattern for tenants
          → did you mean `default`?
        default user=ann
          0: `default` is not a pattern for tenants
          → list it as a pattern of its own: `["default", "user=*"]`
        user:ann
          0: `user:ann` is not a pattern for tenants
          → did you mean `user=ann`?
        ann
          0: `ann` is not a pattern for tenants
          → write `default`, or a pattern such as `user=ann`, `user=*` or `team=research user=*`
        --tenant user=ann
          0: `--tenant` is not a pattern for tenants
          → leave the option out and write `user=ann`
        team=research,user=*
          18: the keys of a tenant are separated by a comma
          → separate the keys by a space: `team=research user=*`
        user=a=b
          6: the value of `user` is followed by `=` or a quote
          → put the whole value in quotes
        user=
          0: the tenant's value for `user` is blank
          → write `key=value`, or leave the tenant out
        =ann
          0: a tenant's key is blank
          → write `key=value`
        u*=ann
          0: the key `u*` of a pattern contains `*`
          → name the key; `*` can be in its value: `user=*`
        user="ann
          5: a quote is not closed
          → add `"` after the value
        user=" ann"
          0: a key or value of a pattern begins or ends with a space
          → leave the space out: no tenant has it
        user=ann user=bob
          0: the tenant's key `user` is given twice
          → give each key once
        "#);
    }

    #[test]
    fn a_pattern_that_the_settings_exclude_is_refused() {
        let schema = |text: &str| {
            let config =
                poc_config::Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap();
            config.tenant_schema
        };
        let free = schema("");
        let users = schema(
            "[tenant-schema.keys]\nuser = { required = true, enum = [\"ann\", \"bob\"] }\nteam = { pattern = \"^[a-z]+$\" }\n",
        );
        let allows = |text: &str, schema: &TenantSchema| {
            TenantPattern::parse(text).unwrap().check(schema).map_err(|error| (error.message, error.hint))
        };
        for text in ["default", "user=*", "shop=a* user=b"] {
            assert_eq!(allows(text, &free), Ok(()), "{text}");
        }
        for text in ["user=*", "user=ann", "user=a*", "team=* user=bob", "team=A* user=bob"] {
            assert_eq!(allows(text, &users), Ok(()), "{text}");
        }
        let refused = |text: &str| {
            let (message, hint) = allows(text, &users).unwrap_err();
            format!("{message}; {hint}")
        };
        let texts = ["default", "user=eve", "user=c*", "usr=*", "team=*", "team=A user=bob"];
        insta::assert_snapshot!(texts.map(refused).join("\n"), @r"
        `[tenant-schema]` allows no tenant `default`: the tenant has no value for the key `user`; give `user=VALUE`
        `[tenant-schema]` allows no tenant `user=eve`: `eve` is none of the values of `user`; the values are `ann`, `bob`
        no value of `user` that `[tenant-schema]` allows matches `c*`; the values are `ann`, `bob`
        `[tenant-schema]` allows no tenant `usr=*`: the schema defines no key `usr`; did you mean `user`?
        `[tenant-schema]` allows no tenant `team=*`: the tenant has no value for the key `user`; give `user=VALUE`
        `[tenant-schema]` allows no tenant `team=A user=bob`: `A` does not match the pattern of `team`; the pattern is `^[a-z]+$`
        ");
    }

    /// The definition: every length of every `*` is tried.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, _) => text.is_empty(),
            (Some((&ANY, later)), _) => (0..=text.len()).any(|skip| naive(later, &text[skip..])),
            (Some((char, later)), Some((own, rest))) => char == own && naive(later, rest),
            (Some(_), None) => false,
        }
    }

    poc_laws::laws! {
        #[test]
        fn matching_agrees_with_the_definition(pattern in "[ab*é]{0,7}", text in "[abé]{0,8}") {
            let (stars, chars): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(is_match(&pattern, &text), naive(&stars, &chars));
        }

        /// The name of a tenant as it is displayed is the pattern that matches only this tenant.
        #[test]
        fn a_displayed_name_matches_its_tenant_only(
            a in proptest::collection::btree_map("[a-c=]{0,2}", "[a-c=\"\\\\, ]{0,3}", 0..4),
            b in proptest::collection::btree_map("[a-c=]{0,2}", "[a-c=\"\\\\, ]{0,3}", 0..4),
        ) {
            if let (Ok(a), Ok(b)) = (Tuple::new(a), Tuple::new(b)) {
                let pattern = TenantPattern::parse(&a.to_string()).unwrap();
                prop_assert!(pattern.matches(&a));
                prop_assert_eq!(pattern.matches(&b), a == b);
            }
        }
    }
}
