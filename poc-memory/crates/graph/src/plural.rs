//! Counts in messages.

/// A count with its noun: `1 edge`, `2 edges`.
pub fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
