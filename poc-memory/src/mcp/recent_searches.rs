//! The latest searches of an MCP session, so that feedback on a note is also feedback on the question it answered.

use parking_lot::Mutex;
use poc_notes::confirmed_question::MAX_BYTES;
use serde_json::Value;
use std::collections::VecDeque;

/// Maximum number of searches that are remembered.
const REMEMBERED: usize = 16;

/// The latest searches of one session, shared by its calls.
#[derive(Debug, Default)]
pub(super) struct RecentSearches(Mutex<VecDeque<RecentSearch>>);

#[derive(Debug)]
struct RecentSearch {
    tenant: Option<Value>,
    text: String,
    /// The keys of the notes that were found.
    found: Vec<String>,
}

impl RecentSearches {
    /// Remembers a search and the keys that it found.
    pub(super) fn add(&self, tenant: Option<&Value>, text: &str, found: Vec<String>) {
        // A longer text cannot be stored as a question.
        if text.len() > MAX_BYTES {
            return;
        }
        let mut searches = self.0.lock();
        searches.truncate(REMEMBERED - 1);
        searches.push_front(RecentSearch { tenant: tenant.cloned(), text: text.to_owned(), found });
    }

    /// The text of the latest search of a tenant that found a note, or of its latest search if none found it.
    pub(super) fn question_for(&self, tenant: Option<&Value>, key: &str) -> Option<String> {
        let searches = self.0.lock();
        let mut own = searches.iter().filter(|search| search.tenant.as_ref() == tenant);
        let latest = own.clone().next();
        own.find(|search| search.found.iter().any(|found| found == key))
            .or(latest)
            .map(|search| search.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn feedback_belongs_to_the_latest_search_that_found_the_note() {
        let searches = RecentSearches::default();
        assert_eq!(searches.question_for(None, "a"), None);
        searches.add(None, "first", vec!["a".into(), "b".into()]);
        searches.add(None, "second", vec!["b".into()]);
        let tenant = json!({ "user": "ann" });
        searches.add(Some(&tenant), "third", vec!["a".into()]);
        assert_eq!(searches.question_for(None, "a").as_deref(), Some("first"));
        assert_eq!(searches.question_for(None, "b").as_deref(), Some("second"));
        assert_eq!(searches.question_for(None, "c").as_deref(), Some("second"));
        assert_eq!(searches.question_for(Some(&tenant), "b").as_deref(), Some("third"));
        searches.add(None, &"long ".repeat(MAX_BYTES), vec!["b".into()]);
        assert_eq!(searches.question_for(None, "b").as_deref(), Some("second"));
        for number in 0..REMEMBERED {
            searches.add(None, &format!("later {number}"), Vec::new());
        }
        assert_eq!(searches.question_for(None, "a").as_deref(), Some("later 15"));
        assert_eq!(searches.question_for(Some(&tenant), "a"), None);
    }
}
