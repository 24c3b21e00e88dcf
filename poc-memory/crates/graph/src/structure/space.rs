//! The embedding space of one component.

use serde::{Deserialize, Serialize};

/// The embedding space of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Space {
    pub(super) eigenvalues: Vec<f64>,
    pub(super) converged: bool,
}
