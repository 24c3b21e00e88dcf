//! Where a derived value of the graph came from.

use std::fmt;
use std::time::Duration;

/// How a derived value was obtained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StructureSource {
    /// The value had already been computed for exactly this graph.
    Fresh,
    /// An earlier value was reused; the graph has changed this many times since.
    Reused(u64),
    /// This call computed the value, which took this long.
    Computed(Duration),
}

impl StructureSource {
    /// The name of the variant, without its number.
    pub fn name(self) -> &'static str {
        match self {
            StructureSource::Fresh => "fresh",
            StructureSource::Reused(_) => "reused",
            StructureSource::Computed(_) => "computed now",
        }
    }
}

impl fmt::Display for StructureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StructureSource::Fresh => f.write_str(self.name()),
            StructureSource::Reused(1) => write!(f, "{}, 1 change old", self.name()),
            StructureSource::Reused(changes) => write!(f, "{}, {changes} changes old", self.name()),
            StructureSource::Computed(time) => {
                write!(f, "{} in {:.1} ms", self.name(), time.as_secs_f64() * 1e3)
            }
        }
    }
}
