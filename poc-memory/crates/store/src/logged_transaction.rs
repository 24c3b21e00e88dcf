//! A transaction as the log stores it after it was built (see [`Transaction`](crate::Transaction)).

use super::compression::{self, ZSTD_LEVEL};
use super::encoding_error::EncodingError;
use super::keys;
use super::table::Table;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeId, NodeId, RunId, Tenant};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Maximum size of an encoded transaction, in bytes.
pub(crate) const MAX_RECORD: usize = 64 << 20;

/// Maximum nesting depth accepted in a log record; a [`LoggedTransaction`] needs four levels.
const MAX_DEPTH: usize = 64;

/// The first byte of a compressed transaction. MessagePack never begins with it.
const COMPRESSED_MARK: u8 = 0xC1;

/// The possible first bytes of an uncompressed transaction: MessagePack maps of three fields, and of one or two more
/// with a tenant or a base.
const PLAIN: [u8; 3] = [0x83, 0x84, 0x85];

/// Size in bytes from which compression is tried. A recall changes hundreds of weights and a message creates dozens of
/// records, whose names, keys and times repeat.
const COMPRESSION_MIN_BYTES: usize = 2048;

/// Like [`COMPRESSION_MIN_BYTES`], for a transaction that writes weights and edges only. Even the eight weights of one
/// recall become a third as long, because little but their ids and weights differs.
const USE_COMPRESSION_MIN_BYTES: usize = 512;

/// Why a transaction was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// When it was made.
    pub at: Timestamp,
    /// Who made it: `manual`, `import:FILE`, `agent:NAME` or `daemon`.
    pub actor: String,
    /// The agent's run that made it, if any.
    pub run: Option<RunId>,
    /// The name of the op that was called.
    pub op: String,
    /// The start of the call if it makes several transactions; `None` if it makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The sequence numbers of the transactions that it undoes, as far as they were not undone before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<u64>,
}

impl Cause {
    /// The cause of the only transaction of a call.
    pub fn new(at: Timestamp, actor: impl Into<String>, op: impl Into<String>) -> Cause {
        Cause { at, actor: actor.into(), run: None, op: op.into(), began: None, undoes: Vec::new() }
    }

    /// The cause of a further transaction of the call that this cause started.
    pub fn part(&self, at: Timestamp) -> Cause {
        Cause { at, began: Some(self.began.unwrap_or(self.at)), ..self.clone() }
    }

    /// Whether this is the cause of a part of a state, with which a compacted log replaces transactions.
    pub(crate) fn is_state(&self) -> bool {
        self.op == STATE_OP
    }

    /// Whether both transactions belong to one call. The transactions of a call may have different ops.
    pub fn is_same_call(&self, other: &Cause) -> bool {
        self.began.is_some() && (self.began, &self.actor) == (other.began, &other.actor)
    }
}

/// A changed record with its before-image and after-image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// The table of the record.
    pub table: Table,
    /// The key within the table.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
    /// The value before the transaction; `None` if there was none.
    #[serde(with = "serde_bytes")]
    pub before: Option<Vec<u8>>,
    /// The value after the transaction; `None` if the record was deleted.
    #[serde(with = "serde_bytes")]
    pub after: Option<Vec<u8>>,
}

impl Write {
    /// The first 16 bytes of the key as a node id. Only valid for tables whose keys begin with a node id.
    pub fn node_id(&self) -> Option<NodeId> {
        Some(NodeId::from_bytes(*self.key.first_chunk()?))
    }

    /// About the number of bytes that it takes in an encoded transaction.
    fn encoded_length(&self) -> usize {
        /// The names of the fields, and the lengths of the values.
        const OVERHEAD_BYTES: usize = 40;
        let length = |image: &Option<Vec<u8>>| image.as_ref().map_or(0, Vec::len);
        OVERHEAD_BYTES + self.key.len() + length(&self.before) + length(&self.after)
    }

    /// The edge if this writes one or its mirror.
    pub fn edge_id(&self) -> Option<EdgeId> {
        let read = || keys::read_edge(&self.key).ok();
        match self.table {
            Table::Edges => read(),
            Table::EdgesIn => read().map(EdgeId::reversed),
            _ => None,
        }
    }

    /// The name of a note if this writes its entry.
    pub fn name(&self) -> Option<&str> {
        keys::read_name(&self.key).filter(|_| self.table == Table::Keys)
    }

    /// The name of the embedder if this writes a vector.
    pub fn embedder(&self) -> Option<&[u8]> {
        let key = keys::read_vector(&self.key).ok().filter(|_| self.table == Table::Vectors)?;
        Some(key.2)
    }
}

/// Describes the part of a compacted log that was replaced with a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBase {
    /// The last transaction of that part. The state after it is the earliest that can be read.
    pub seq: u64,
    /// When that transaction was made.
    pub at: Timestamp,
    /// Identifies the log; see [`Store::log_origin`](crate::Store::log_origin).
    pub(crate) origin: [u8; 16],
}

/// The op of the transactions that make up a state.
const STATE_OP: &str = "compact";

/// A transaction in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedTransaction {
    /// The sequence number: the position in the log, from 1 without gaps.
    pub seq: u64,
    /// The tenant whose records it changed. It may also have changed records that all tenants share.
    #[serde(default, skip_serializing_if = "Tenant::is_default")]
    pub tenant: Tenant,
    /// Why it was made.
    pub cause: Cause,
    /// The base, in the first transaction of a compacted log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<LogBase>,
    /// The changed records, each key once, in the order in which they were first written.
    pub writes: Vec<Write>,
}

/// Positions of writes in a transaction: from `start` up to, but without, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WriteRange {
    /// Position of the first write.
    pub start: u32,
    /// Position after the last write.
    pub end: u32,
}

impl LoggedTransaction {
    /// A part of the state after transaction `base`, with which a compacted log replaces earlier transactions.
    pub(crate) fn state(seq: u64, tenant: Tenant, base: &LogBase, writes: Vec<Write>) -> LoggedTransaction {
        let cause = Cause::new(base.at, "daemon", STATE_OP);
        LoggedTransaction { seq, tenant, cause, base: None, writes }
    }

    /// The writes at a range of positions; empty if the range is out of bounds.
    pub fn writes_in(&self, range: WriteRange) -> &[Write] {
        self.writes.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Whether this is a part of a state. Its writes are then complete and include those of the index of changes.
    pub(crate) fn is_state(&self) -> bool {
        self.cause.is_state()
    }

    /// Whether it writes weights and edges only, as a recall does.
    fn writes_only_use(&self) -> bool {
        let is_use = |write: &Write| matches!(write.table, Table::Activity | Table::Edges | Table::EdgesIn);
        self.writes.iter().all(is_use)
    }

    /// Encodes the transaction as MessagePack with named fields, compressed if that is shorter.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let mut plain = Vec::with_capacity(self.writes.iter().map(Write::encoded_length).sum());
        rmp_serde::encode::write_named(&mut plain, self)
            .map_err(|error| EncodingError::new("a transaction", error))?;
        // A transaction that is too long for the log is rejected, even if it would compress well.
        let min = if self.writes_only_use() { USE_COMPRESSION_MIN_BYTES } else { COMPRESSION_MIN_BYTES };
        if !(min..=MAX_RECORD).contains(&plain.len()) {
            return Ok(plain);
        }
        let frame = zstd::bulk::compress(&plain, ZSTD_LEVEL)
            .map_err(|error| EncodingError::new("a transaction", error))?;
        Ok(if 1 + frame.len() < plain.len() {
            [&[COMPRESSED_MARK], frame.as_slice()].concat()
        } else {
            plain
        })
    }

    /// Whether an encoded transaction can begin with a byte.
    pub(super) fn may_begin_with(byte: u8) -> bool {
        byte == COMPRESSED_MARK || PLAIN.contains(&byte)
    }

    /// Decodes the transaction in a log record.
    pub(super) fn decode(bytes: &[u8]) -> Result<LoggedTransaction> {
        let plain = plain(bytes)?;
        let mut decoder = rmp_serde::Deserializer::from_read_ref(plain.as_ref());
        decoder.set_max_depth(MAX_DEPTH);
        LoggedTransaction::deserialize(&mut decoder).map_err(unreadable)
    }

    /// The number, the tenant and the cause of the transaction in a log record. Its writes, of which an import has
    /// thousands, are skipped.
    pub(super) fn decode_cause(bytes: &[u8]) -> Result<(u64, Tenant, Cause)> {
        let plain = plain(bytes)?;
        let mut decoder = rmp_serde::Deserializer::from_read_ref(plain.as_ref());
        decoder.set_max_depth(MAX_DEPTH);
        let TransactionHeader { seq, tenant, cause } =
            TransactionHeader::deserialize(&mut decoder).map_err(unreadable)?;
        Ok((seq, tenant, cause))
    }

    /// The cause of the transaction in a log record, and its write of one record of a tenant. `None` if it does not
    /// write that record. The other writes, of which an import has thousands, are not copied.
    pub(super) fn decode_write(
        bytes: &[u8],
        tenant: Tenant,
        table: Table,
        key: &[u8],
    ) -> Result<Option<(Cause, Write)>> {
        let plain = plain(bytes)?;
        let mut decoder = rmp_serde::Deserializer::from_read_ref(plain.as_ref());
        decoder.set_max_depth(MAX_DEPTH);
        let txn = BorrowedTransaction::deserialize(&mut decoder).map_err(unreadable)?;
        let own = |write: &&BorrowedWrite<'_>| write.table == table && write.key == key;
        let found = txn.writes.iter().find(own).filter(|_| txn.tenant == tenant);
        Ok(found.map(|write| {
            let owned = |image: Option<&[u8]>| image.map(<[u8]>::to_vec);
            let (before, after) = (owned(write.before), owned(write.after));
            (txn.cause.clone(), Write { table, key: key.to_vec(), before, after })
        }))
    }
}

/// A [`LoggedTransaction`] without its writes.
#[derive(Deserialize)]
struct TransactionHeader {
    seq: u64,
    #[serde(default)]
    tenant: Tenant,
    cause: Cause,
}

/// A [`LoggedTransaction`] that borrows its images from the encoded bytes.
#[derive(Deserialize)]
struct BorrowedTransaction<'a> {
    #[serde(default)]
    tenant: Tenant,
    cause: Cause,
    #[serde(borrow)]
    writes: Vec<BorrowedWrite<'a>>,
}

/// A [`Write`] of a [`BorrowedTransaction`].
#[derive(Deserialize)]
struct BorrowedWrite<'a> {
    table: Table,
    #[serde(with = "serde_bytes", borrow)]
    key: &'a [u8],
    #[serde(with = "serde_bytes", borrow)]
    before: Option<&'a [u8]>,
    #[serde(with = "serde_bytes", borrow)]
    after: Option<&'a [u8]>,
}

/// The MessagePack of the transaction in a log record, decompressed if necessary. Records of earlier versions have LZ4
/// blocks.
fn plain(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    match bytes.split_first() {
        Some((&COMPRESSED_MARK, compressed)) => {
            Ok(compression::decompress(compressed, MAX_RECORD).map_err(unreadable)?.into())
        }
        _ => Ok(bytes.into()),
    }
}

/// A log record that does not contain a transaction.
#[derive(Debug, thiserror::Error)]
#[error("a transaction of the log cannot be read: {0}")]
struct UnreadableTransaction(String);

impl From<UnreadableTransaction> for Error {
    fn from(error: UnreadableTransaction) -> Error {
        Error::damaged(error.to_string())
    }
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    UnreadableTransaction(why.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn encoded_transactions_are_decoded(
            seq in any::<u64>(), tenant in any::<Option<[u8; 16]>>(), at in any::<i64>(), actor in any::<String>(), op in any::<String>(), run in any::<Option<[u8; 16]>>(),
            began in any::<Option<i64>>(), undoes in any::<Vec<u64>>(),
            writes in proptest::collection::vec((1u8..=15, any::<Vec<u8>>(), any::<Option<Vec<u8>>>()), 0..4),
        ) {
            let writes = writes.into_iter().map(|(table, key, value)| Write {
                table: Table::try_from(table).unwrap(), key, before: None, after: value,
            });
            let cause = Cause { at: Timestamp(at), actor, run: run.map(RunId::from_bytes), op, began: began.map(Timestamp), undoes };
            let tenant = tenant.map_or(Tenant::default(), Tenant);
            let txn = LoggedTransaction { seq, tenant, cause, base: None, writes: writes.collect() };
            let bytes = txn.encode().unwrap();
            prop_assert!(LoggedTransaction::may_begin_with(bytes[0]));
            let header = LoggedTransaction::decode_cause(&bytes).unwrap();
            prop_assert_eq!(header, (txn.seq, txn.tenant, txn.cause.clone()));
            for write in &txn.writes {
                let found = LoggedTransaction::decode_write(&bytes, txn.tenant, write.table, &write.key).unwrap().unwrap();
                let first = txn.writes.iter().find(|other| (other.table, &other.key) == (write.table, &write.key));
                prop_assert_eq!((&found.0, Some(&found.1)), (&txn.cause, first));
                let other = Tenant(txn.tenant.0.map(|byte| !byte));
                prop_assert!(LoggedTransaction::decode_write(&bytes, other, write.table, &write.key).unwrap().is_none());
            }
            prop_assert_eq!(LoggedTransaction::decode(&bytes).unwrap(), txn);
        }

        #[test]
        fn compressed_transactions_are_decoded(value in any::<Vec<u8>>(), often in 100usize..400) {
            let write = |key: usize| Write {
                table: Table::Activity, key: key.to_be_bytes().to_vec(), before: None, after: Some(value.clone()),
            };
            let cause = Cause::new(Timestamp(7), "manual", "test");
            let writes = (0..often).map(write).collect();
            let txn = LoggedTransaction { seq: 1, tenant: Tenant::default(), cause, base: None, writes };
            let bytes = txn.encode().unwrap();
            prop_assert_eq!(bytes[0], COMPRESSED_MARK);
            prop_assert!(bytes.len() < rmp_serde::to_vec_named(&txn).unwrap().len() / 2);
            let plain = rmp_serde::to_vec_named(&txn).unwrap();
            let earlier = [&[COMPRESSED_MARK], lz4_flex::block::compress_prepend_size(&plain).as_slice()].concat();
            for bytes in [bytes, earlier] {
                prop_assert_eq!(&LoggedTransaction::decode(&bytes).unwrap(), &txn);
                prop_assert!(LoggedTransaction::decode(&bytes[..bytes.len() - 1]).is_err());
            }
        }

        #[test]
        fn compressed_garbage_is_an_error_and_not_a_panic(bytes in any::<Vec<u8>>()) {
            prop_assert!(LoggedTransaction::decode(&[&[COMPRESSED_MARK], bytes.as_slice()].concat()).is_err());
            let frame = [&[COMPRESSED_MARK], compression::ZSTD_MAGIC.as_slice(), bytes.as_slice()].concat();
            prop_assert!(LoggedTransaction::decode(&frame).is_err());
        }

        #[test]
        fn garbage_is_an_error_and_not_a_panic(bytes in any::<Vec<u8>>()) {
            prop_assert!(LoggedTransaction::decode(&bytes).is_err());
        }
    }

    /// The format of releases without tenants.
    #[test]
    fn a_transaction_of_the_default_tenant_names_none() {
        let cause = Cause::new(Timestamp(7), "manual", "test");
        let txn =
            LoggedTransaction { seq: 1, tenant: Tenant::default(), cause, base: None, writes: Vec::new() };
        let bytes = txn.encode().unwrap();
        assert!(!bytes.windows(6).any(|bytes| bytes == b"tenant"));
        assert_eq!(LoggedTransaction::decode(&bytes).unwrap(), txn);
    }

    /// A recall of a quiet time changes eight weights.
    #[test]
    fn a_transaction_of_a_few_weights_is_compressed_and_a_short_note_is_not() {
        let write = |table: Table, number: u8| Write {
            table,
            key: (0..16).map(|byte: u8| number.wrapping_mul(37).wrapping_add(byte)).collect(),
            before: Some(vec![number; 20]),
            after: Some(vec![number + 1; 20]),
        };
        let encoded = |table: Table| {
            let writes = (0..8).map(|number| write(table, number)).collect();
            let cause = Cause::new(Timestamp(7), "manual", "test");
            let txn = LoggedTransaction { seq: 1, tenant: Tenant::default(), cause, base: None, writes };
            let bytes = txn.encode().unwrap();
            assert_eq!(LoggedTransaction::decode(&bytes).unwrap(), txn);
            (bytes, rmp_serde::to_vec_named(&txn).unwrap())
        };
        let (bytes, plain) = encoded(Table::Activity);
        assert_eq!(bytes[0], COMPRESSED_MARK);
        assert!(bytes.len() < plain.len() / 2, "{} of {}", bytes.len(), plain.len());
        let (bytes, plain) = encoded(Table::Nodes);
        assert_eq!(bytes, plain);
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(LoggedTransaction::decode(&[0x91; 100_000]).is_err());
    }
}
