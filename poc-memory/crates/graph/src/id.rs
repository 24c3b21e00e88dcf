//! Identifiers: time-ordered UUIDs for nodes and runs.

use crate::error::{Error, Result};
use crate::rng::Rng;
use crate::time::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// Sixteen bytes that sort by creation time (UUIDv7), displayed as 32 hexadecimal digits.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an identifier from its bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                $name(Uuid::from_bytes(bytes))
            }

            /// The sixteen bytes; identifiers sort by them.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl $name {
            /// The creation time in milliseconds since 1970. It is not reliable if the clock was
            /// set back.
            pub fn millis(&self) -> i64 {
                let bytes = self.as_bytes();
                bytes.iter().take(6).fold(0, |millis, &byte| millis << 8 | i64::from(byte))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                Uuid::try_parse(text).map($name).map_err(|_| {
                    Error::invalid(format!("`{text}` is not an id"))
                        .hint("an id is 32 hexadecimal digits")
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.as_bytes().serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = String::deserialize(deserializer)?;
                    text.parse().map_err(|error: Error| serde::de::Error::custom(error.message))
                } else {
                    <[u8; 16]>::deserialize(deserializer).map($name::from_bytes)
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": "^[0-9a-f]{32}$"})
            }
        }
    };
}

id!(
    /// Identifies a node permanently. Renaming a node changes its key but not its id.
    NodeId
);
id!(
    /// Identifies a message.
    MessageId
);
id!(
    /// Identifies a run of an agent.
    RunId
);

impl RunId {
    /// The first twelve hexadecimal digits, which commands accept instead of the id: the time in milliseconds. Two runs
    /// that were claimed within one millisecond have the same.
    pub fn short(&self) -> String {
        let mut id = self.to_string();
        id.truncate(12);
        id
    }
}

/// Generates identifiers that sort by creation order, even within one millisecond.
///
/// The layout is UUIDv7 of RFC 9562 §5.7: the 26 bits after the time are a counter (method 1 of
/// §6.2), followed by 48 random bits.
#[derive(Debug, Default)]
pub struct IdGenerator(
    // The time in milliseconds and the counter of the last identifier.
    Mutex<(i64, u32)>,
);

impl IdGenerator {
    const COUNTER_BITS: u32 = 26;

    /// The next node id.
    pub fn node(&self, now: Timestamp, rng: &dyn Rng) -> NodeId {
        NodeId(self.next(now, rng))
    }

    /// The next message id.
    pub fn message(&self, now: Timestamp, rng: &dyn Rng) -> MessageId {
        MessageId(self.next(now, rng))
    }

    /// The next run id.
    pub fn run(&self, now: Timestamp, rng: &dyn Rng) -> RunId {
        RunId(self.next(now, rng))
    }

    fn next(&self, now: Timestamp, rng: &dyn Rng) -> Uuid {
        let (millis, counter) = {
            let mut last = self.0.lock();
            if now.0 > last.0 {
                *last = (now.0, 0);
            } else if last.1 + 1 < 1 << Self::COUNTER_BITS {
                last.1 += 1;
            } else {
                *last = (last.0 + 1, 0);
            }
            *last
        };
        let random = rng.next_u64() as u128 & 0xFFFF_FFFF_FFFF;
        let time = (millis as u128 & 0xFFFF_FFFF_FFFF) << 80;
        let high = ((counter >> 14) as u128) << 64;
        let low = ((counter & 0x3FFF) as u128) << 48;
        Uuid::from_u128(time | 0x7 << 76 | high | 0b10 << 62 | low | random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SeededRng;

    #[test]
    fn ids_sort_in_the_order_they_were_made() {
        let id_generator = IdGenerator::default();
        let rng = SeededRng::new(1);
        let mut last = id_generator.node(Timestamp(5), &rng);
        for step in 0..50_000 {
            // The clock stops and then goes back once; ids must still ascend.
            let now = if step == 20_000 { Timestamp(3) } else { Timestamp(5) };
            let next = id_generator.node(now, &rng);
            assert!(next > last);
            last = next;
        }
    }

    #[test]
    fn an_id_is_32_hexadecimal_digits_of_version_7() {
        let id = IdGenerator::default().node(Timestamp(1_800_000_000_000), &SeededRng::new(1));
        let text = id.to_string();
        assert_eq!(text.len(), 32);
        assert_eq!(text.as_bytes()[12], b'7');
        assert_eq!(text.parse::<NodeId>().unwrap(), id);
        let run = RunId::from_bytes(*id.as_bytes());
        assert_eq!((run.short().len(), text.starts_with(&run.short())), (12, true));
    }
}
