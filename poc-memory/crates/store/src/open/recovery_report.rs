//! What the recovery at open found.

/// The findings and repairs of the recovery at open.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// Messages for people, such as that a torn tail was cut off or the record engine rebuilt.
    pub notes: Vec<String>,
}
