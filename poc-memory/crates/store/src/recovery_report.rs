//! The result of the recovery at open.

/// The findings and repairs of the recovery at open.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// Messages for people, for example that an incomplete end of the log was cut off or the record
    /// engine was rebuilt.
    pub messages: Vec<String>,
}
