//! Keywords that imported notes get in the memory.

use super::*;
use crate::markdown_frame::MarkdownFrame;
use poc_graph::Trust;

/// Sets the keywords of a note by hand.
fn set_keywords(memory: &TestMemory, key: &str, words: &[&str]) {
    let keywords = Some(words.iter().map(|word| (*word).to_owned()).collect());
    let draft = Draft { key: Some(key.into()), keywords, update: true, ..Draft::new("manual", Trust::User) };
    memory.insert(draft).unwrap();
}

fn with_keyword(memory: &TestMemory, text: &str) -> ImportReport {
    let options = ImportOptions { keywords: vec!["standup".into()], ..ImportOptions::default() };
    import(memory, &ImportSource::Text(text.into()), &options, &|_, _| {}).unwrap()
}

#[test]
fn lines_keep_the_keywords_of_their_notes() {
    let memory = TestMemory::new();
    let text = "{\"key\": \"a\", \"body\": \"Shall we ship?\"}\n{\"key\": \"b\", \"body\": \"On Friday.\"}";
    with_keyword(&memory, text);
    set_keywords(&memory, "b", &["mine", "standup"]);
    // Without the option.
    let report = lines(&memory, text);
    assert_eq!((counts(&report), report.warnings.len()), ([0, 0, 2, 0], 0));
    let note = find(&memory, "b");
    assert_eq!((note.keywords.join(" "), note.trust), ("mine standup".to_owned(), Trust::User));
    assert_eq!(find(&memory, "a").keywords, ["standup"]);
    let edited = text.replace("On Friday.", "On Monday.");
    assert_eq!(counts(&with_keyword(&memory, &edited)), [0, 1, 1, 0]);
    let note = find(&memory, "b");
    assert_eq!((note.keywords.join(" "), note.body.as_str()), ("mine standup".to_owned(), "On Monday."));
}

#[test]
fn a_text_that_was_changed_in_the_memory_stays_if_an_option_is_left_out() {
    let memory = TestMemory::new();
    let text = "{\"key\": \"a\", \"body\": \"Shall we ship?\"}";
    with_keyword(&memory, text);
    let draft = crate::testing::draft("We ship on Friday.");
    memory.insert(Draft { key: Some("a".into()), update: true, ..draft }).unwrap();
    let report = lines(&memory, text);
    assert_eq!((counts(&report), report.warnings.len()), ([0, 0, 1, 0], 1));
    assert_eq!(find(&memory, "a").body, "We ship on Friday.");
}

#[test]
fn a_file_removes_only_the_keywords_that_it_gave() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("vault");
    let import = || {
        let report = take(&memory, ImportSource::Path(folder.clone()));
        assert_eq!((failures(&report), report.warnings.len()), (String::new(), 0));
        (counts(&report), find(&memory, "soup").keywords.join(" "))
    };
    put(&folder, "soup.md", "---\ntags: [food, Lunch]\n---\nLentils #warm\n");
    assert_eq!(import(), ([1, 0, 0, 0], "food lunch warm".into()));
    set_keywords(&memory, "soup", &["food", "lunch", "mine", "warm"]);
    assert_eq!(import(), ([0, 0, 1, 0], "food lunch mine warm".into()));
    put(&folder, "soup.md", "---\ntags: [food, new]\n---\nBeans\n");
    assert_eq!(import(), ([0, 1, 0, 0], "food mine new".into()));
    assert_eq!(import(), ([0, 0, 1, 0], "food mine new".into()));
    // An export still has to write the keyword into the file.
    let frames = MarkdownFrame::all(&memory.store, find(&memory, "soup").id).unwrap();
    assert_eq!(frames[0].imported.keywords, ["food", "new"]);
}
