//! Keys of the engine in a sorted map.

/// A key of the engine, ordered by its bytes. Its first bytes are also stored as numbers, because they differ for most
/// keys: a search in a map then seldom reads memory outside of the map's own nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EngineKey {
    /// The first sixteen bytes as two big-endian numbers. A shorter key is padded with zeros. The derived order
    /// compares this field first.
    prefix: (u64, u64),
    bytes: Vec<u8>,
}

impl EngineKey {
    /// The key as bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key as bytes, without a copy.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl From<Vec<u8>> for EngineKey {
    fn from(bytes: Vec<u8>) -> EngineKey {
        let prefix = (first_bytes(&bytes), first_bytes(bytes.get(8..).unwrap_or_default()));
        EngineKey { prefix, bytes }
    }
}

/// The first eight bytes as a big-endian number; missing ones are zero.
fn first_bytes(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn keys_are_ordered_by_their_bytes(
            shared in proptest::collection::vec(0u8..3, 0..20), a in proptest::collection::vec(0u8..3, 0..20), b in proptest::collection::vec(0u8..3, 0..20),
        ) {
            let (a, b) = ([shared.as_slice(), &a].concat(), [shared.as_slice(), &b].concat());
            let (key_a, key_b) = (EngineKey::from(a.clone()), EngineKey::from(b.clone()));
            prop_assert_eq!(key_a.cmp(&key_b), a.cmp(&b));
            prop_assert_eq!(key_a.as_bytes(), a.as_slice());
            prop_assert_eq!(key_a.into_bytes(), a);
        }
    }
}
