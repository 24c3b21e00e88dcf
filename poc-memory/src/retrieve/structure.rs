//! One step along the structure: from what is found to what stands beside it in a session, to what it
//! mentions, and to what mentions it.

use super::scores::{Candidates, Question};
use crate::graph::{Ix, View};
use crate::index::MentionIndex;

/// Lets every candidate that is worth more than nothing give on to the notes around it, and the best
/// `mention_from` of them to what they mention and to what mentions them.
pub(super) fn flow(
    question: &Question<'_>,
    mentions: &MentionIndex,
    mention_from: usize,
    candidates: &mut Candidates,
) {
    let sources = candidates.sources();
    let (mut beside, mut further) = (Vec::new(), Vec::new());
    for &(ix, worth) in &sources {
        around(question.view, ix, &mut beside, &mut further);
        for &other in &beside {
            if let Some(candidate) = candidates.at_index(question, other) {
                candidate.inflow.beside(worth);
            }
        }
        for &other in &further {
            if let Some(candidate) = candidates.at_index(question, other) {
                candidate.inflow.further(worth);
            }
        }
    }
    for &(ix, worth) in sources.iter().take(mention_from) {
        let Some(id) = question.view.id(ix) else { continue };
        for other in mentions.from(id) {
            if let Some(candidate) = candidates.at(question, other) {
                candidate.inflow.mentioned_by(worth);
            }
        }
        for other in mentions.to(id) {
            if let Some(candidate) = candidates.at(question, other) {
                candidate.inflow.mentions(worth);
            }
        }
    }
}

/// The notes before and after a note in its session, and those one further away.
fn around(view: &View, ix: Ix, beside: &mut Vec<Ix>, further: &mut Vec<Ix>) {
    beside.clear();
    further.clear();
    beside.extend(view.beside(ix));
    for &near in beside.iter() {
        further.extend(view.beside(near).filter(|other| *other != ix));
    }
    further.retain(|other| !beside.contains(other));
}
