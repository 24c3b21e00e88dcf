//! What a look at the files makes of the agents: what is new, what is broken, what is kept.

use super::debounce::{Open, SECOND_LOOK};
use poc_agent::{Catalog, Entry, EntryState};
use poc_graph::error::Error;
use std::collections::BTreeMap;
use std::time::Instant;

/// Stands for the agents as a whole where names stand.
const WHOLE: &str = "";

/// What earlier looks left open.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    /// Since when something is newly wrong, by agent; with what is wrong as a whole by no name.
    doubt: BTreeMap<String, Instant>,
}

/// What one look found.
pub(crate) struct Found {
    /// The agents and what is wrong as a whole.
    pub(crate) catalog: Catalog,
    /// Whether the folder of the agents is there; without it nothing is known about them.
    pub(crate) folder: bool,
    /// What is wrong with the settings.
    pub(crate) settings: Option<String>,
}

/// What is to be shown from now on.
pub(crate) struct Settled {
    /// The agents.
    pub(crate) catalog: Catalog,
    /// How they differ from those shown before.
    pub(crate) news: Vec<News>,
    /// What wants another look.
    pub(crate) open: Open,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// An agent that was not there before.
    Added(String),
    /// Its definition is another now.
    Changed(String),
    /// Its file is good again, and as it was.
    Mended(String),
    /// Its file is broken; whether a last good version goes on.
    Broken(String, bool, Vec<Error>),
    /// Its file is gone.
    Retired(String),
    /// Something is wrong as a whole.
    Problem(String),
    /// That is over.
    Solved(String),
}

impl News {
    /// What became of an agent, in a word; `None` for what is wrong as a whole.
    pub(crate) fn change(&self) -> Option<&'static str> {
        match self {
            News::Added(_) => Some("added"),
            News::Changed(_) => Some("changed"),
            News::Mended(_) => Some("mended"),
            News::Broken(..) => Some("broken"),
            News::Retired(_) => Some("retired"),
            News::Problem(_) | News::Solved(_) => None,
        }
    }
}

impl Settling {
    /// Settles what was found against what is shown. When `sure`, nothing waits for another look.
    pub(crate) fn settle(&mut self, shown: &Catalog, found: Found, sure: bool, now: Instant) -> Settled {
        let Found { catalog: found, folder, settings } = found;
        let before = std::mem::take(&mut self.doubt);
        let since = |name: &str| before.get(name).copied();
        let is_sure = |name: &str| sure || since(name).is_some_and(|since| now >= since + SECOND_LOOK);
        let mut doubt = |name: &str| self.doubt.insert(name.to_owned(), since(name).unwrap_or(now));
        let mut open = Open::default();
        let mut problems = found.problems;
        problems.extend(settings);
        if !is_sure(WHOLE) && problems.iter().any(|problem| !shown.problems.contains(problem)) {
            doubt(WHOLE);
            problems.clone_from(&shown.problems);
        }
        let mut agents = BTreeMap::new();
        for (name, entry) in found.agents {
            let before = shown.agents.get(&name);
            let newly_wrong =
                !entry.errors.is_empty() && before.is_none_or(|before| before.errors != entry.errors);
            if newly_wrong && !is_sure(&name) {
                doubt(&name);
                agents.extend(before.map(|before| (name, before.clone())));
            } else {
                agents.insert(name, entry);
            }
        }
        for (name, entry) in &shown.agents {
            if agents.contains_key(name) {
                continue;
            }
            let waits = folder && found.missing.contains(name);
            open.gone |= waits;
            if waits || !folder {
                agents.insert(name.clone(), entry.clone());
            }
        }
        open.doubt = !self.doubt.is_empty();
        let catalog = Catalog { agents, problems, missing: found.missing };
        Settled { news: news(shown, &catalog), catalog, open }
    }
}

/// How two catalogs differ.
fn news(before: &Catalog, after: &Catalog) -> Vec<News> {
    let mut news = Vec::new();
    for (name, entry) in &after.agents {
        let name = name.clone();
        news.extend(match before.agents.get(&name) {
            Some(before) if entry.state != EntryState::Ok => (before.errors != entry.errors
                || before.state != entry.state)
                .then(|| News::Broken(name, entry.definition.is_some(), entry.errors.clone())),
            None if entry.state != EntryState::Ok => {
                Some(News::Broken(name, entry.definition.is_some(), entry.errors.clone()))
            }
            None => Some(News::Added(name)),
            Some(before) if fingerprint(before) != fingerprint(entry) => Some(News::Changed(name)),
            Some(before) => (before.state != EntryState::Ok).then_some(News::Mended(name)),
        });
    }
    let retired = before.agents.keys().filter(|name| !after.agents.contains_key(*name));
    news.extend(retired.cloned().map(News::Retired));
    let only = |these: &Catalog, those: &Catalog| -> Vec<String> {
        these.problems.iter().filter(|problem| !those.problems.contains(problem)).cloned().collect()
    };
    news.extend(only(after, before).into_iter().map(News::Problem));
    news.extend(only(before, after).into_iter().map(News::Solved));
    news
}

fn fingerprint(entry: &Entry) -> Option<&str> {
    entry.definition.as_ref().map(|definition| definition.fingerprint.as_str())
}

#[cfg(test)]
mod tests;
