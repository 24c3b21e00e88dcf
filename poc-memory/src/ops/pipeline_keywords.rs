//! Keywords in requests that no note has.

use poc_graph::{View, Visibility, similar};
use poc_notes::ReadSnapshot;
use poc_search::query::Pipeline;

/// The problems of a pipeline that filters by a keyword that is probably misspelt.
pub(super) fn problems(snapshot: &ReadSnapshot<'_>, pipeline: &Pipeline) -> Vec<String> {
    let (view, visibility) = (snapshot.view(), snapshot.visibility());
    pipeline.keywords().filter_map(|keyword| misspelt(view, visibility, &keyword)).collect()
}

/// The problem of a keyword that is probably misspelt: no note in use has it, and some have a similar one. Quarantined
/// notes count only where they are visible.
pub(super) fn misspelt(view: &View, visibility: Visibility, keyword: &str) -> Option<String> {
    let is_used = |keyword: &str| {
        let number = view.keyword_number(keyword);
        let mut notes = number.into_iter().flat_map(|number| view.nodes_with_keyword(number));
        notes.any(|ix| view.is_visible(ix, visibility))
    };
    if is_used(keyword) {
        return None;
    }
    let used = view.used_keywords().map(|(word, _)| word).filter(|&word| is_used(word));
    let near = similar::closest(keyword, used)?;
    Some(format!("no note in use has the keyword `{keyword}`; did you mean `{near}`?"))
}
