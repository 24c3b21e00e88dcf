//! Tenants: a set of `key=value` pairs, and the 16-byte id derived from them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use unicode_normalization::UnicodeNormalization as _;

/// Limits of a tenant: the number of pairs, and the length of a key and of a value in bytes.
const MAX_PAIRS: usize = 16;
const MAX_KEY: usize = 64;
const MAX_VALUE: usize = 256;

/// The id of a tenant. The id of the default tenant is all zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tenant(pub [u8; 16]);

impl Tenant {
    /// Whether this is the default tenant, which is used if a request names none.
    pub fn is_default(&self) -> bool {
        *self == Tenant::default()
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The readable name of a tenant: trimmed key-value pairs, sorted by key. The empty tuple is the default tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuple(BTreeMap<String, String>);

impl Tuple {
    /// Creates a tuple from pairs in any order.
    ///
    /// # Errors
    /// `invalid_argument` with the field `tenant` or `tenant.KEY` for a blank or over-long key or value, a key with `=`
    /// or a control character, a value with a control character, a duplicate key, or too many pairs.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Tuple> {
        let mut tuple = BTreeMap::new();
        for (key, value) in pairs {
            let (key, value) = (key.as_ref().trim(), value.as_ref().trim());
            check(key, value)?;
            match tuple.entry(key.to_owned()) {
                Entry::Vacant(entry) => drop(entry.insert(value.to_owned())),
                Entry::Occupied(_) => {
                    return Err(Error::invalid(format!("the tenant's key `{key}` is given twice"))
                        .hint("give each key once")
                        .field(format!("tenant.{key}")));
                }
            }
            if tuple.len() > MAX_PAIRS {
                return Err(Error::invalid(format!("a tenant has at most {MAX_PAIRS} keys"))
                    .hint("leave some out")
                    .field("tenant"));
            }
        }
        Ok(Tuple(tuple))
    }

    /// Whether this is the tuple of the default tenant.
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs, sorted by key.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of a key, if the tuple has it.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The same name with composed characters (the Unicode form NFC): `é` is one character.
    pub fn composed(&self) -> Cow<'_, Tuple> {
        self.spelled(|part| part.nfc().collect())
    }

    /// The same name with decomposed characters (the Unicode form NFD): `é` is an `e` and an accent. Some systems write
    /// names of files and users in this form.
    pub fn decomposed(&self) -> Cow<'_, Tuple> {
        self.spelled(|part| part.nfd().collect())
    }

    /// This name with each key and value spelled in another way; unchanged if that is not a valid name.
    fn spelled(&self, spell: impl Fn(&str) -> String) -> Cow<'_, Tuple> {
        if self.pairs().all(|(key, value)| key.is_ascii() && value.is_ascii()) {
            return Cow::Borrowed(self);
        }
        // Two keys may become the same, `≠` in a key becomes `=` and a stroke, and a text may become too long.
        let spelled = Tuple::new(self.pairs().map(|(key, value)| (spell(key), spell(value))));
        spelled.map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// The id of the tenant: the first 16 bytes of the SHA-256 hash of all `key=value` texts, sorted and joined by NUL.
    /// The default tenant has the id zero.
    pub fn id(&self) -> Tenant {
        if self.is_default() {
            return Tenant::default();
        }
        let mut pairs: Vec<String> = self.pairs().map(|(key, value)| format!("{key}={value}")).collect();
        // The texts sort differently from the keys: `a-b=` comes before `a=`.
        pairs.sort_unstable();
        let digest: [u8; 32] = Sha256::digest(pairs.join("\0")).into();
        let (first, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
        Tenant(*first)
    }
}

fn check(key: &str, value: &str) -> Result<()> {
    let of_value = format!("tenant.{key}");
    let (wrong, right, field) = if key.is_empty() {
        ("a tenant's key is blank".to_owned(), "write `key=value`".to_owned(), "tenant")
    } else if key.contains('=') || key.chars().any(char::is_control) {
        let wrong = format!("the tenant's key `{}` has a character that no key may have", key.escape_debug());
        (wrong, "a key has neither `=` nor control characters".to_owned(), "tenant")
    } else if key.len() > MAX_KEY {
        (format!("a tenant's key has {} bytes", key.len()), format!("the limit is {MAX_KEY}"), "tenant")
    } else if value.is_empty() {
        let wrong = format!("the tenant's value for `{key}` is blank");
        (wrong, "write `key=value`, or leave the tenant out".to_owned(), "tenant")
    } else if value.chars().any(char::is_control) {
        let wrong = format!("the tenant's value for `{key}` has a control character");
        (wrong, "a value is one line of text".to_owned(), of_value.as_str())
    } else if value.len() > MAX_VALUE {
        let wrong = format!("the tenant's value for `{key}` has {} bytes", value.len());
        (wrong, format!("the limit is {MAX_VALUE}"), of_value.as_str())
    } else {
        return Ok(());
    };
    Err(Error::invalid(wrong).hint(right).field(field))
}

/// A key or value that is displayed in quotes if it would otherwise be ambiguous.
struct QuotedPart<'a>(&'a str);

impl fmt::Display for QuotedPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs_on = |c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\\');
        if self.0.contains(runs_on) { write!(f, "{:?}", self.0) } else { f.write_str(self.0) }
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_default() {
            return f.write_str("default");
        }
        for (at, (key, value)) in self.pairs().enumerate() {
            let separator = if at > 0 { " " } else { "" };
            write!(f, "{separator}{}={}", QuotedPart(key), QuotedPart(value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(pairs: &[(&str, &str)]) -> String {
        Tuple::new(pairs.iter().copied()).unwrap().id().to_string()
    }

    /// The expected ids come from `printf 'a=1\0b=2' | sha256sum`.
    #[test]
    fn ids_are_the_first_bytes_of_sha256() {
        assert_eq!(id(&[]), "00000000000000000000000000000000");
        assert_eq!(id(&[("user", "ann")]), "d4f97b78c3dc5aec3c65fa78e0d2c746");
        assert_eq!(id(&[("b", "2"), ("a", "1")]), "e1a036aeae08a3a6de7e8add00a10de2");
        // Pairs are sorted as text, in which `-` comes before `=`.
        assert_eq!(id(&[("a", "1"), ("a-b", "2")]), "6aeabef50ca5ef74d03e37a20770a708");
    }

    #[test]
    fn whitespace_and_order_do_not_change_the_tenant() {
        assert_eq!(id(&[(" a ", " 1 "), ("b", "2")]), id(&[("b", "2"), ("a", "1")]));
        assert_ne!(id(&[("a", "1"), ("b", "2")]), id(&[("a", "1 b=2")]));
        assert_ne!(id(&[("a", "A")]), id(&[("a", "a")]));
    }

    #[test]
    fn a_name_has_a_composed_and_a_decomposed_spelling() {
        let tuple = |key: &str, value: &str| Tuple::new([(key, value)]).unwrap();
        let (composed, decomposed) =
            (tuple("stra\u{df}e", "Andr\u{e9}"), tuple("stra\u{df}e", "Andre\u{301}"));
        for spelling in [&composed, &decomposed] {
            assert_eq!((&*spelling.composed(), &*spelling.decomposed()), (&composed, &decomposed));
        }
        // Only what is the same text is the same name, not what looks similar.
        assert_eq!(*tuple("a", "\u{fb01}").composed(), tuple("a", "\u{fb01}"));
        let both = Tuple::new([("\u{e9}", "1"), ("e\u{301}", "2")]).unwrap();
        assert_eq!(*both.composed(), both);
    }

    #[test]
    fn a_spelling_that_is_no_valid_name_is_not_used() {
        let tuple = |key: &str, value: &str| Tuple::new([(key, value)]).unwrap();
        // The key would contain `=`, and the name would have the id of another tenant.
        let (unequal, other) = (tuple("a\u{2260}", "v"), tuple("a", "\u{338}=v"));
        assert_eq!(*unequal.decomposed(), unequal);
        assert_ne!(unequal.decomposed().id(), other.id());
        // In a value, it means nothing.
        assert_eq!(*tuple("a", "\u{2260}").decomposed(), tuple("a", "=\u{338}"));
        // Both forms of this letter are twice as long.
        let long = tuple("a", &"\u{958}".repeat(MAX_VALUE / 3));
        assert_eq!((&*long.composed(), &*long.decomposed()), (&long, &long));
    }

    #[test]
    fn invalid_tenants_are_rejected() {
        let report = |pairs: &[(&str, &str)]| {
            let error = Tuple::new(pairs.iter().copied()).unwrap_err();
            assert_eq!(error.code, crate::error::Code::InvalidArgument);
            format!("{error}; {}", error.hint.clone().unwrap())
        };
        let (long, longer) = ("k".repeat(65), "v".repeat(257));
        let many: Vec<(String, &str)> = (0..17).map(|number| (format!("k{number}"), "v")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        let all = [
            report(&[(" ", "1")]),
            report(&[("a=b", "1")]),
            report(&[("a\0b", "1")]),
            report(&[("a", " ")]),
            report(&[("a", "1\n2")]),
            report(&[("a", "1"), (" a", "2")]),
            report(&[(&long, "1")]),
            report(&[("a", &longer)]),
            report(&many),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        `tenant`: a tenant's key is blank; write `key=value`
        `tenant`: the tenant's key `a=b` has a character that no key may have; a key has neither `=` nor control characters
        `tenant`: the tenant's key `a\0b` has a character that no key may have; a key has neither `=` nor control characters
        `tenant`: the tenant's value for `a` is blank; write `key=value`, or leave the tenant out
        `tenant.a`: the tenant's value for `a` has a control character; a value is one line of text
        `tenant.a`: the tenant's key `a` is given twice; give each key once
        `tenant`: a tenant's key has 65 bytes; the limit is 64
        `tenant.a`: the tenant's value for `a` has 257 bytes; the limit is 256
        `tenant`: a tenant has at most 16 keys; leave some out
        "#);
    }

    poc_laws::laws! {
        /// Two valid tuples have the same id and the same text only if they are equal.
        #[test]
        fn different_tuples_are_different_tenants(
            a in proptest::collection::btree_map("[a-c=]{0,2}", "[a-c=\"\\\\\\x00 ]{0,3}", 0..4),
            b in proptest::collection::btree_map("[a-c=]{0,2}", "[a-c=\\x00 ]{0,3}", 0..4),
        ) {
            if let (Ok(a), Ok(b)) = (Tuple::new(a), Tuple::new(b)) {
                prop_assert_eq!(a == b, a.id() == b.id());
                prop_assert_eq!(a == b, a.to_string() == b.to_string());
            }
        }
    }
}
