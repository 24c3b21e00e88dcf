//! What the stages of one run share: the sources, and the remarks they make for the report.

use super::scan::States;
use super::sources::Sources;
use poc_graph::error::{Error, Result};
use poc_graph::{Communities, Embedding, Ix, Outliers, Rules, Source, key_like, normal_key};
use std::cell::RefCell;
use std::sync::Arc;

/// What the stages of one run share.
pub(super) struct Ctx<'a> {
    /// What is read.
    pub(super) sources: Sources<'a>,
    /// The states `all` gives.
    pub(super) states: States,
    note: RefCell<Option<String>>,
    // What was answered from before the latest changes.
    reused: RefCell<Vec<String>>,
}

impl<'a> Ctx<'a> {
    pub(super) fn new(sources: &Sources<'a>, states: States) -> Self {
        Ctx { sources: *sources, states, note: RefCell::default(), reused: RefCell::default() }
    }

    /// Adds a remark on where something derived from the whole graph came from.
    fn derived(&self, what: &str, source: Source) {
        self.note(format!("{what} {source}"));
        if let Source::Reused(_) = source {
            self.reused.borrow_mut().push(format!("{what} {source}"));
        }
    }

    /// Adds a remark to the report of the stage at work.
    pub(super) fn note(&self, text: impl Into<String>) {
        let mut note = self.note.borrow_mut();
        *note = Some(match note.take() {
            Some(earlier) => format!("{earlier}; {}", text.into()),
            None => text.into(),
        });
    }

    /// The remarks of the stage at work, which the next stage starts without.
    pub(super) fn take_note(&self) -> Option<String> {
        self.note.take()
    }

    /// What was answered from before the latest changes.
    pub(super) fn into_reused(self) -> Vec<String> {
        let mut reused = self.reused.into_inner();
        reused.dedup();
        reused
    }

    /// The node with a key, in any state.
    ///
    /// # Errors
    /// `not_found`, naming the stage that asks.
    pub(super) fn node(&self, stage: &str, key: &str) -> Result<Ix> {
        let view = self.sources.view;
        view.find_key(&normal_key(key)).ok_or_else(|| {
            let error = Error::not_found(format!("`{stage}` names `{key}`, which is no node's key"));
            error.hint(match key_like(view, key) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`poc-memory search TERMS` shows keys".into(),
            })
        })
    }

    /// The communities, with a remark on where they came from.
    pub(super) fn communities(&self) -> Arc<Communities> {
        let (communities, source) = self.sources.view.communities(&self.rules());
        self.derived("communities", source);
        communities
    }

    /// The spectral embedding, with a remark on where it came from.
    pub(super) fn embedding(&self) -> Arc<Embedding> {
        let (embedding, source) = self.sources.view.embedding(&self.rules());
        self.derived("embedding", source);
        match embedding.unfinished() {
            0 => {}
            1 => self.note("one component was not finished: it has fewer dimensions"),
            more => self.note(format!("{more} components were not finished: they have fewer dimensions")),
        }
        embedding
    }

    /// The outlier scores, with a remark on where they came from; `None` in a large graph in which
    /// nobody has computed them.
    pub(super) fn outliers(&self) -> Option<Arc<Outliers>> {
        let Some((outliers, source)) = self.sources.view.outliers(&self.rules()) else {
            self.note("outlier scores not computed yet: displacement is from clustering");
            return None;
        };
        self.derived("outlier scores", source);
        Some(outliers)
    }

    fn rules(&self) -> Rules {
        self.sources.config.structure.rules()
    }
}
