//! Whose memory something belongs to: a tuple of `key=value` pairs and the sixteen bytes it stands
//! for.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// Most pairs of a tuple, and most bytes of a key and of a value.
const MAX_PAIRS: usize = 16;
const MAX_KEY: usize = 64;
const MAX_VALUE: usize = 256;

/// Names a tenant in the store; the default tenant is all zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tenant(pub [u8; 16]);

impl Tenant {
    /// Whether it is the tenant of whoever names none.
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

/// What people call a tenant: pairs of key and value, trimmed, by key. The empty tuple is the default
/// tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuple(BTreeMap<String, String>);

impl Tuple {
    /// The tuple of these pairs, in any order.
    ///
    /// # Errors
    /// `invalid_argument` with the field `tenant` or `tenant.KEY`: a blank key, a key with `=` or a
    /// control character, a value with a control character, a key given twice, or too much of any of
    /// it.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Tuple> {
        let mut tuple = BTreeMap::new();
        for (key, value) in pairs {
            let (key, value) = (key.as_ref().trim(), value.as_ref().trim());
            check(key, value)?;
            match tuple.entry(key.to_owned()) {
                Entry::Vacant(place) => drop(place.insert(value.to_owned())),
                Entry::Occupied(_) => {
                    return Err(Error::invalid(format!("the tenant's key `{key}` is given twice"))
                        .hint("give each key once")
                        .field(format!("tenant.{key}")));
                }
            }
            if tuple.len() > MAX_PAIRS {
                return Err(Error::invalid(format!("a tenant has at most {MAX_PAIRS} keys")).field("tenant"));
            }
        }
        Ok(Tuple(tuple))
    }

    /// Whether it is that of the default tenant.
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs, by key.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The tenant it stands for: the first 16 bytes of SHA-256 over the pairs as `key=value`, sorted
    /// as text and joined by NUL.
    pub fn id(&self) -> Tenant {
        if self.is_default() {
            return Tenant::default();
        }
        let mut pairs: Vec<String> = self.pairs().map(|(key, value)| format!("{key}={value}")).collect();
        // Not the order of the keys: `a-b=` comes before `a=`.
        pairs.sort_unstable();
        let digest: [u8; 32] = Sha256::digest(pairs.join("\0")).into();
        let (first, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
        Tenant(*first)
    }
}

fn check(key: &str, value: &str) -> Result<()> {
    let wrong = |what: String, right: &str| Err(Error::invalid(what).hint(right));
    let found = if key.is_empty() {
        wrong("a tenant's key is blank".into(), "write `key=value`").map_err(|error| error.field("tenant"))
    } else if key.contains('=') || key.chars().any(char::is_control) {
        wrong(
            format!("the tenant's key `{}` has a character that no key may have", key.escape_debug()),
            "a key has neither `=` nor control characters",
        )
        .map_err(|error| error.field("tenant"))
    } else if key.len() > MAX_KEY {
        wrong(format!("a tenant's key has {} bytes", key.len()), &format!("{MAX_KEY} are the most"))
            .map_err(|error| error.field("tenant"))
    } else if value.chars().any(char::is_control) {
        wrong(
            format!("the tenant's value for `{key}` has a control character"),
            "a value is one line of text",
        )
        .map_err(|error| error.field(format!("tenant.{key}")))
    } else if value.len() > MAX_VALUE {
        wrong(
            format!("the tenant's value for `{key}` has {} bytes", value.len()),
            &format!("{MAX_VALUE} are the most"),
        )
        .map_err(|error| error.field(format!("tenant.{key}")))
    } else {
        Ok(())
    };
    found
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_default() {
            return f.write_str("default");
        }
        for (at, (key, value)) in self.pairs().enumerate() {
            let separator = if at > 0 { " " } else { "" };
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}
