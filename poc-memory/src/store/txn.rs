//! A transaction as a value: what the log holds.

use super::Table;
use crate::error::{Error, Result};
use crate::graph::{RunId, Tenant};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Nesting a record of the log may have; a [`Txn`] needs four.
const MAX_DEPTH: usize = 64;

/// Why a transaction happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// When.
    pub at: Timestamp,
    /// Who: `manual`, `import:FILE`, `agent:NAME`, `daemon`.
    pub actor: String,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The op that was called.
    pub op: String,
}

/// One changed record: before and after images, physical.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// The table.
    pub table: Table,
    /// The key.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
    /// The value before; `None` when there was none.
    #[serde(with = "serde_bytes")]
    pub before: Option<Vec<u8>>,
    /// The value after; `None` when it was deleted.
    #[serde(with = "serde_bytes")]
    pub after: Option<Vec<u8>>,
}

/// What the log holds: one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Txn {
    /// Position in the log, from 1 without gaps.
    pub seq: u64,
    /// Whose records it changed, beside those that all tenants share.
    #[serde(default, skip_serializing_if = "Tenant::is_default")]
    pub tenant: Tenant,
    /// Why it happened.
    pub cause: Cause,
    /// What it changed, each key once, in the order first written.
    pub writes: Vec<Write>,
}

impl Txn {
    /// The MessagePack of the transaction, fields by name.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        rmp_serde::to_vec_named(self)
            .map_err(|error| Error::internal(format!("a transaction cannot be encoded: {error}")))
    }

    /// The transaction in a record of the log.
    pub(super) fn decode(bytes: &[u8]) -> Result<Txn> {
        let mut decoder = rmp_serde::Deserializer::from_read_ref(bytes);
        decoder.set_max_depth(MAX_DEPTH);
        Txn::deserialize(&mut decoder)
            .map_err(|error| Error::internal(format!("a transaction of the log cannot be read: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(
            seq: u64, tenant: Option<[u8; 16]>, at: i64, actor: String, op: String, run: Option<[u8; 16]>,
            writes in proptest::collection::vec((1u8..=15, any::<Vec<u8>>(), any::<Option<Vec<u8>>>()), 0..4),
        ) {
            let writes = writes.into_iter().map(|(table, key, value)| Write {
                table: Table::try_from(table).unwrap(), key, before: None, after: value,
            });
            let cause = Cause { at: Timestamp(at), actor, run: run.map(RunId::from_bytes), op };
            let tenant = tenant.map_or(Tenant::default(), Tenant);
            let txn = Txn { seq, tenant, cause, writes: writes.collect() };
            prop_assert_eq!(Txn::decode(&txn.encode().unwrap()).unwrap(), txn);
        }

        #[test]
        fn garbage_is_an_error_and_not_a_panic(bytes: Vec<u8>) {
            prop_assert!(Txn::decode(&bytes).is_err());
        }
    }

    /// As it was written before there were tenants.
    #[test]
    fn a_transaction_of_the_default_tenant_names_none() {
        let cause = Cause { at: Timestamp(7), actor: "manual".into(), run: None, op: "test".into() };
        let txn = Txn { seq: 1, tenant: Tenant::default(), cause, writes: Vec::new() };
        let bytes = txn.encode().unwrap();
        assert!(!bytes.windows(6).any(|bytes| bytes == b"tenant"));
        assert_eq!(Txn::decode(&bytes).unwrap(), txn);
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(Txn::decode(&[0x91; 100_000]).is_err());
    }
}
