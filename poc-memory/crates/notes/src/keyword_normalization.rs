//! Normalisation of keywords.

use poc_graph::error::{Error, Result};
use poc_graph::normal_keyword;
use rustc_hash::FxHashSet;

/// Keywords in the form of [`normal_keyword`], in order and without duplicates.
pub fn normalize(words: &[String]) -> Result<Vec<String>> {
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    let mut known: FxHashSet<String> = FxHashSet::default();
    for word in words {
        let normal = normal_keyword(word);
        let wrong = if normal.is_empty() {
            "a keyword is empty".to_owned()
        } else if normal.contains(',') {
            format!("the keyword `{normal}` has a comma in it")
        } else if normal.contains(char::is_control) {
            format!("the keyword {normal:?} has a control character in it")
        } else {
            if known.insert(normal.clone()) {
                kept.push(normal);
            }
            continue;
        };
        return Err(Error::invalid(wrong).hint("give each keyword by itself").field("keywords"));
    }
    Ok(kept)
}
