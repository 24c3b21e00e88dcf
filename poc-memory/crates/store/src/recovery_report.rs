//! The result of the recovery at open.

/// The findings and repairs of the recovery at open.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// Messages for people, for example that an incomplete end of the log was cut off or the record
    /// engine was rebuilt.
    pub messages: Vec<String>,
    /// Messages for people about the derived files that were damaged when they were read, up to now. Nothing is lost
    /// with them, but the disk may be failing.
    pub rebuilt: Vec<String>,
}

impl RecoveryReport {
    /// All messages.
    pub fn lines(self) -> Vec<String> {
        self.messages.into_iter().chain(self.rebuilt).collect()
    }
}
