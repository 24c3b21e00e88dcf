//! The latest searches of an MCP session, so that feedback on a note is also feedback on the question it answered.

use parking_lot::Mutex;
use poc_graph::{NodeId, normal_key};
use poc_notes::confirmed_question::MAX_BYTES;
use serde_json::Value;
use std::collections::VecDeque;

/// Maximum number of searches that are remembered.
const REMEMBERED: usize = 16;

/// The number of digits of an id from which they name a note.
const MIN_ID_DIGITS: usize = 8;

/// The latest searches of one session, shared by its calls.
#[derive(Debug, Default)]
pub(super) struct RecentSearches(Mutex<VecDeque<RecentSearch>>);

#[derive(Debug)]
struct RecentSearch {
    tenant: Option<Value>,
    text: String,
    found: Vec<FoundNote>,
}

/// A note that a search found.
#[derive(Debug)]
pub(super) struct FoundNote {
    pub(super) key: String,
    pub(super) id: String,
}

impl FoundNote {
    /// Whether a name is the key of the note, its id, or the beginning of its id.
    fn has_name(&self, name: &str) -> bool {
        let id = name.parse::<NodeId>().map_or_else(|_| name.to_lowercase(), |id| id.to_string());
        self.key == *normal_key(name) || id.len() >= MIN_ID_DIGITS && self.id.starts_with(&id)
    }
}

impl RecentSearches {
    /// Remembers a search and the notes that it found.
    pub(super) fn add(&self, tenant: Option<&Value>, text: &str, found: Vec<FoundNote>) {
        // A longer text cannot be stored as a question.
        if text.len() > MAX_BYTES {
            return;
        }
        let mut searches = self.0.lock();
        searches.truncate(REMEMBERED - 1);
        searches.push_front(RecentSearch { tenant: tenant.cloned(), text: text.to_owned(), found });
    }

    /// The text of the latest search of a tenant that found a note, or of its latest search if none found it.
    pub(super) fn question_for(&self, tenant: Option<&Value>, name: &str) -> Option<String> {
        let searches = self.0.lock();
        let mut own = searches.iter().filter(|search| search.tenant.as_ref() == tenant);
        let latest = own.clone().next();
        own.find(|search| search.found.iter().any(|found| found.has_name(name)))
            .or(latest)
            .map(|search| search.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(keys: &[&str]) -> Vec<FoundNote> {
        let id = |key: &str| format!("{key}aaaaaaabbbbccccddddeeeeeeeeeeee");
        keys.iter().map(|key| FoundNote { key: (*key).to_owned(), id: id(key) }).collect()
    }

    #[test]
    fn a_note_may_be_named_by_its_key_or_its_id() {
        let searches = RecentSearches::default();
        searches.add(None, "first", found(&["a"]));
        searches.add(None, "second", found(&["b"]));
        let check = |name: &str, expected: &str| {
            assert_eq!(searches.question_for(None, name).as_deref(), Some(expected), "{name}");
        };
        for name in ["a", " a ", "aaaaaaaabbbbccccddddeeeeeeeeeeee", "AAAAAAAA"] {
            check(name, "first");
        }
        check("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "first");
        // Fewer digits name no note.
        check("aaaaaaa", "second");
    }

    #[test]
    fn feedback_belongs_to_the_latest_search_that_found_the_note() {
        let searches = RecentSearches::default();
        assert_eq!(searches.question_for(None, "a"), None);
        searches.add(None, "first", found(&["a", "b"]));
        searches.add(None, "second", found(&["b"]));
        let tenant = json!({ "user": "ann" });
        searches.add(Some(&tenant), "third", found(&["a"]));
        assert_eq!(searches.question_for(None, "a").as_deref(), Some("first"));
        assert_eq!(searches.question_for(None, "b").as_deref(), Some("second"));
        assert_eq!(searches.question_for(None, "c").as_deref(), Some("second"));
        assert_eq!(searches.question_for(Some(&tenant), "b").as_deref(), Some("third"));
        searches.add(None, &"long ".repeat(MAX_BYTES), found(&["b"]));
        assert_eq!(searches.question_for(None, "b").as_deref(), Some("second"));
        for number in 0..REMEMBERED {
            searches.add(None, &format!("later {number}"), Vec::new());
        }
        assert_eq!(searches.question_for(None, "a").as_deref(), Some("later 15"));
        assert_eq!(searches.question_for(Some(&tenant), "a"), None);
    }
}
