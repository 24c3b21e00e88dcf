//! Every console block of the documents does what the documents say.

use crate::support::{World, transcript};
use std::path::Path;

#[test]
fn the_readme() {
    transcript::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"), &World::new());
}
