//! Which nodes of a prompt an agent may change.

/// Which nodes of a prompt may be re-weighted and superseded. At least one end of every new link must be such
/// a node. Each variant includes the nodes of the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Targets {
    /// The results of the pipeline.
    Results,
    /// Also the nodes that the prompt shows beside a result: linked nodes, link candidates and the other node of a
    /// pair.
    Neighborhood,
    /// Every node with a handle in the prompt.
    Any,
}

impl Targets {
    /// The targets with their names in TOML and output.
    pub const NAMES: [(&'static str, Targets); 3] =
        [("results", Targets::Results), ("neighborhood", Targets::Neighborhood), ("any", Targets::Any)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Targets::Results => "results",
            Targets::Neighborhood => "neighborhood",
            Targets::Any => "any",
        }
    }
}
