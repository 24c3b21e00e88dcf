//! The state shared by the stages of one run.

use super::scan::StateSet;
use super::sources::{AbsentName, Sources};
use crate::retrieve::key::notes_of_name_or_id;
use poc_graph::error::{Error, Result};
use poc_graph::{
    Communities, Ix, NodeId, Outliers, SpectralEmbedding, StructureOptions, StructureSource, closest_name,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why the name of a note in a stage does not refer to exactly one note.
#[derive(Debug, thiserror::Error)]
enum NoteNameError<'a> {
    #[error("`{stage}` refers to `{name}`, but no note has this key")]
    Missing {
        stage: &'a str,
        name: &'a str,
        /// The most similar key.
        closest: Option<&'a str>,
    },
    #[error("`{stage}` refers to `{name}`, but no note had this key {state}")]
    MissingThen {
        stage: &'a str,
        name: &'a str,
        /// The past state, as in `at change 5`.
        state: String,
        /// What is known of the note, or the most similar key.
        hint: Option<String>,
    },
    #[error("`{stage}` names `{name}`, which is ambiguous")]
    Ambiguous {
        stage: &'a str,
        name: &'a str,
        /// The keys of some notes that have the name.
        keys: Vec<&'a str>,
    },
}

impl From<NoteNameError<'_>> for Error {
    fn from(error: NoteNameError<'_>) -> Error {
        let message = error.to_string();
        match error {
            NoteNameError::Missing { closest: Some(key), .. } => {
                Error::not_found(message).hint(did_you_mean(key))
            }
            NoteNameError::MissingThen { hint: Some(hint), .. } => Error::not_found(message).hint(hint),
            NoteNameError::Missing { closest: None, .. } | NoteNameError::MissingThen { hint: None, .. } => {
                Error::not_found(message).hint("`poc-memory search TEXT` shows keys")
            }
            NoteNameError::Ambiguous { keys, .. } => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                Error::invalid(message).hint(format!("name one of them: {}", keys.join(", ")))
            }
        }
    }
}

/// The hint for a name that is similar to a key.
fn did_you_mean(key: &str) -> String {
    format!("did you mean `{key}`?")
}

/// The context of one run: its sources, and the remarks of its stages for the report.
pub(super) struct QueryContext<'a> {
    /// The graph, the indexes and the settings.
    pub(super) sources: Sources<'a>,
    /// The node states that `all` returns.
    pub(super) states: StateSet,
    /// Whether a filter of the pipeline asks for derived notes.
    pub(super) lists_derived: bool,
    note: RefCell<Option<String>>,
    // Descriptions of derived data in use that is older than the latest changes.
    reused: RefCell<Vec<String>>,
    found_through: RefCell<BTreeMap<Ix, NodeId>>,
}

impl<'a> QueryContext<'a> {
    pub(super) fn new(sources: &Sources<'a>, states: StateSet, lists_derived: bool) -> Self {
        QueryContext {
            found_through: RefCell::default(),
            sources: *sources,
            states,
            lists_derived,
            note: RefCell::default(),
            reused: RefCell::default(),
        }
    }

    /// Returns a function that tells whether the generators leave out a visible node. They leave out confirmed questions
    /// and quotations unless the sources include them.
    pub(super) fn leaves_out(&self) -> impl Fn(Ix) -> bool {
        let (view, pointers) = (self.sources.view, self.sources.pointers);
        move |ix| !pointers && view.is_pointer(ix)
    }

    /// Adds a remark on the origin of data derived from the whole graph.
    fn derived(&self, what: &str, source: StructureSource) {
        self.remark(format!("{what} {source}"));
        if let StructureSource::Reused(_) = source {
            self.reused.borrow_mut().push(format!("{what} {source}"));
        }
    }

    /// Adds a remark to the report of the running stage.
    pub(super) fn remark(&self, text: impl Into<String>) {
        let mut note = self.note.borrow_mut();
        *note = Some(match note.take() {
            Some(earlier) => format!("{earlier}; {}", text.into()),
            None => text.into(),
        });
    }

    /// Takes the remarks of the running stage, so that the next stage starts without any.
    pub(super) fn take_note(&self) -> Option<String> {
        self.note.take()
    }

    /// Records the derived note through which a text search found a node.
    pub(super) fn record_found_through(&self, ix: Ix, derived: NodeId) {
        self.found_through.borrow_mut().insert(ix, derived);
    }

    /// Takes what [`QueryContext::record_found_through`] recorded.
    pub(super) fn take_found_through(&self) -> BTreeMap<Ix, NodeId> {
        self.found_through.take()
    }

    /// The derived data in use that is older than the latest changes.
    pub(super) fn into_reused(self) -> Vec<String> {
        let mut reused = self.reused.into_inner();
        reused.dedup();
        reused
    }

    /// The node with a name or with an id that begins with it ([`notes_of_name_or_id`]), in any state.
    ///
    /// # Errors
    /// `not_found`, or `invalid_argument` if several nodes have the name; the message names the stage.
    pub(super) fn node(&self, stage: &str, name: &str) -> Result<Ix> {
        let view = self.sources.view;
        match notes_of_name_or_id(view, name).as_slice() {
            [only] => Ok(*only),
            [] => {
                let closest = closest_name(view, name);
                Err(match self.sources.past {
                    None => NoteNameError::Missing { stage, name, closest }.into(),
                    Some(past) => {
                        let AbsentName { state, reason } = past.absent(name)?;
                        let hint = reason.or_else(|| closest.map(did_you_mean));
                        NoteNameError::MissingThen { stage, name, state, hint }.into()
                    }
                })
            }
            several => {
                let keys = several.iter().take(5).map(|&ix| view.key(ix)).collect();
                Err(NoteNameError::Ambiguous { stage, name, keys }.into())
            }
        }
    }

    /// The communities, with a remark on their origin.
    pub(super) fn communities(&self) -> Arc<Communities> {
        let (communities, source) = self.sources.view.communities(&self.options());
        self.derived("communities", source);
        communities
    }

    /// The spectral embedding, with a remark on its origin.
    pub(super) fn embedding(&self) -> Arc<SpectralEmbedding> {
        let (embedding, source) = self.sources.view.embedding(&self.options());
        self.derived("embedding", source);
        match embedding.unfinished() {
            0 => {}
            1 => self.remark("the embedding of one component did not converge and has fewer dimensions"),
            more => self.remark(format!(
                "the embeddings of {more} components did not converge and have fewer dimensions"
            )),
        }
        embedding
    }

    /// The outlier scores, with a remark on their origin; `None` in a large graph if they have not been
    /// computed yet.
    pub(super) fn outliers(&self) -> Option<Arc<Outliers>> {
        let Some((outliers, source)) = self.sources.view.outliers(&self.options()) else {
            self.remark(
                "outlier scores are not computed yet, so displacement uses the clustering coefficient",
            );
            return None;
        };
        self.derived("outlier scores", source);
        Some(outliers)
    }

    fn options(&self) -> StructureOptions {
        self.sources.config.structure.options()
    }
}
