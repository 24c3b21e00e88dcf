//! Language models, and the one that is none.
