//! The data that a store records about its remote: its location, how far its log was read, and what both
//! stores had in common after the last sync.

use poc_graph::error::{Error, Result};
use poc_graph::rng::Rng;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeId, EdgeKind, NodeId, Tenant, Trust};
use poc_store::{DAMAGED_HINT, Record, Records, Store, Table, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;

// The keys of the records; those that end with a NUL byte are prefixes, which the tenant follows.
const BINDING: &[u8] = b"remote";
const IDENTITY: &[u8] = b"identity";
const POSITION: &[u8] = b"remote point\0";
const NOTES: &[u8] = b"remote note\0";
const REMOTE_IDS: &[u8] = b"remote twin\0";
const LINKS: &[u8] = b"remote link\0";

/// Where a remote is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemoteLocation {
    /// A profile by its name.
    Profile(String),
    /// A folder that is a store or contains one.
    Folder(PathBuf),
}

impl RemoteLocation {
    /// Parses a location: an absolute path is a folder, anything else a profile.
    pub fn parse(word: &str) -> Result<RemoteLocation> {
        let word = word.trim();
        if word.is_empty() {
            return Err(Error::invalid("the remote is empty")
                .hint("name a profile, or give the absolute path of a folder")
                .field("remote"));
        }
        if word.starts_with('/') {
            return Ok(RemoteLocation::Folder(word.into()));
        }
        if word.contains('/') || word == "." || word == ".." {
            return Err(Error::invalid(format!("`{word}` is not an absolute path"))
                .hint("give an absolute path, which begins with `/`")
                .field("remote"));
        }
        Ok(RemoteLocation::Profile(word.to_owned()))
    }

    /// The default trust of pulled notes. A profile contains what its user wrote, but a folder may come from
    /// anybody.
    pub fn default_trust(&self) -> Trust {
        match self {
            RemoteLocation::Profile(_) => Trust::User,
            RemoteLocation::Folder(_) => Trust::External,
        }
    }
}

impl fmt::Display for RemoteLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteLocation::Profile(name) => f.write_str(name),
            RemoteLocation::Folder(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The remote that a store is synchronised with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The location of the remote.
    pub location: RemoteLocation,
    /// Upper limit of the trust of pulled notes.
    pub trust: Trust,
    /// When it was bound.
    pub bound: Timestamp,
    /// The last completed sync.
    pub last: Option<LastSync>,
}

/// A completed sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastSync {
    /// When the sync ended.
    pub at: Timestamp,
    /// Number of notes pulled from the remote.
    pub pulled: u64,
    /// Number of notes deleted because the remote no longer has them.
    pub deleted: u64,
    /// Number of notes pushed to the remote.
    pub pushed: u64,
}

impl Record for Binding {
    const TABLE: Table = Table::Meta;
}

impl Binding {
    /// The binding of a store.
    pub fn of<R: Records + ?Sized>(records: &R) -> Result<Option<Binding>> {
        records.record(BINDING)
    }

    /// Stores the binding.
    pub(super) fn put(&self, tx: &mut Transaction<'_>) -> Result<()> {
        tx.put(BINDING, self)
    }
}

/// Deletes the binding and the remote position, which invalidates all marks: a later sync with any remote
/// treats every note as never synchronised.
pub(super) fn forget(tx: &mut Transaction<'_>) -> Result<()> {
    tx.delete::<Binding>(BINDING)?;
    for (key, _) in tx.raw_range(Table::Meta, POSITION)? {
        tx.put_raw(Table::Meta, &key, None)?;
    }
    Ok(())
}

/// A permanent id of a store, independent of its location. A copy has the id of its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoreId([u8; 16]);

impl Record for StoreId {
    const TABLE: Table = Table::Meta;
}

impl StoreId {
    pub(super) fn of<R: Records + ?Sized>(records: &R) -> Result<Option<StoreId>> {
        records.record(IDENTITY)
    }

    /// The id of the store; creates one if it has none.
    pub(super) fn get_or_create(tx: &mut Transaction<'_>, rng: &dyn Rng) -> Result<StoreId> {
        if let Some(known) = StoreId::of(tx)? {
            return Ok(known);
        }
        let bits = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let identity = StoreId(bits.to_be_bytes());
        tx.put(IDENTITY, &identity)?;
        Ok(identity)
    }
}

/// A position in the log of a remote. The marks are valid for a remote whose log contains exactly this
/// record. Otherwise it is another remote or has lost transactions, and the marks are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RemotePosition {
    remote: StoreId,
    seq: u64,
    checksum: u32,
}

impl Record for RemotePosition {
    const TABLE: Table = Table::Meta;
}

impl RemotePosition {
    /// The position of the remote after a transaction.
    pub(super) fn at(remote: &Store, identity: StoreId, seq: u64) -> Result<RemotePosition> {
        let checksum = remote
            .checksum(seq)?
            .ok_or_else(|| Error::internal(format!("the remote's log does not contain change {seq}")))?;
        Ok(RemotePosition { remote: identity, seq, checksum })
    }

    /// Whether the marks of a tenant are valid for this remote.
    pub(super) fn matches<R: Records + ?Sized>(local: &R, tenant: Tenant, remote: &Store) -> Result<bool> {
        let Some(position) = local.record::<RemotePosition>(&key_prefix(POSITION, tenant))? else {
            return Ok(false);
        };
        // A checksum that a compaction deleted cannot be compared, so only the id of the store is compared.
        let is_deleted = remote.history_base().is_some_and(|base| position.seq <= base.seq);
        let is_same = is_deleted || remote.checksum(position.seq)? == Some(position.checksum);
        Ok(is_same && StoreId::of(remote)? == Some(position.remote))
    }

    pub(super) fn put(&self, tx: &mut Transaction<'_>, tenant: Tenant) -> Result<()> {
        tx.put(&key_prefix(POSITION, tenant), self)
    }
}

/// A note that both stores had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyncedNote {
    /// The hash of its text.
    pub(super) hash: [u8; 32],
    /// Its id in the remote; `None` if both ids are the same.
    pub(super) remote_id: Option<NodeId>,
}

/// The hash of the text that both stores had.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SharedHash([u8; 32]);

impl Record for SharedHash {
    const TABLE: Table = Table::Meta;
}

/// The id of a note in the remote, if it differs from the local id.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct RemoteId(NodeId);

impl Record for RemoteId {
    const TABLE: Table = Table::Meta;
}

/// Every note that both stores had, by its local id.
pub(super) fn marks<R: Records + ?Sized>(records: &R, tenant: Tenant) -> Result<HashMap<NodeId, SyncedNote>> {
    let (notes, remote_ids) = (key_prefix(NOTES, tenant), key_prefix(REMOTE_IDS, tenant));
    let mut marks = HashMap::new();
    for (key, SharedHash(hash)) in records.range::<SharedHash>(&notes)? {
        marks.insert(read_id(key.get(notes.len()..))?, SyncedNote { hash, remote_id: None });
    }
    for (key, RemoteId(remote_id)) in records.range::<RemoteId>(&remote_ids)? {
        if let Some(mark) = marks.get_mut(&read_id(key.get(remote_ids.len()..))?) {
            mark.remote_id = Some(remote_id);
        }
    }
    Ok(marks)
}

/// Records that both stores have this text of a note, which has the id `remote_id` in the remote.
pub(super) fn mark(
    tx: &mut Transaction<'_>,
    tenant: Tenant,
    id: NodeId,
    hash: [u8; 32],
    remote_id: NodeId,
) -> Result<()> {
    tx.put(&key_of(NOTES, tenant, id), &SharedHash(hash))?;
    let key = key_of(REMOTE_IDS, tenant, id);
    if remote_id == id { tx.delete::<RemoteId>(&key) } else { tx.put(&key, &RemoteId(remote_id)) }
}

/// Deletes the mark.
pub(super) fn unmark(tx: &mut Transaction<'_>, tenant: Tenant, id: NodeId) -> Result<()> {
    tx.delete::<SharedHash>(&key_of(NOTES, tenant, id))?;
    tx.delete::<RemoteId>(&key_of(REMOTE_IDS, tenant, id))
}

/// The edges that both stores had, with local ids.
pub(super) fn link_marks<R: Records + ?Sized>(records: &R, tenant: Tenant) -> Result<BTreeSet<EdgeId>> {
    let prefix = key_prefix(LINKS, tenant);
    let marks = records.raw_range(Table::Meta, &prefix)?;
    marks
        .iter()
        .map(|(key, _)| {
            let parts = || {
                let (src, rest) = key.get(prefix.len()..)?.split_first_chunk::<16>()?;
                let (&kind, rest) = rest.split_first()?;
                Some((*src, *EdgeKind::ALL.get(usize::from(kind))?, <[u8; 16]>::try_from(rest).ok()?))
            };
            let (src, kind, dst) = parts().ok_or_else(damaged)?;
            Ok(EdgeId { src: NodeId::from_bytes(src), kind, dst: NodeId::from_bytes(dst) })
        })
        .collect()
}

/// Records that both stores have an edge.
pub(super) fn mark_link(tx: &mut Transaction<'_>, tenant: Tenant, link: EdgeId) -> Result<()> {
    tx.put_raw(Table::Meta, &link_key(tenant, link), Some(Vec::new()))
}

/// Deletes the mark.
pub(super) fn unmark_link(tx: &mut Transaction<'_>, tenant: Tenant, link: EdgeId) -> Result<()> {
    tx.put_raw(Table::Meta, &link_key(tenant, link), None)
}

fn key_of(name: &[u8], tenant: Tenant, id: NodeId) -> Vec<u8> {
    [key_prefix(name, tenant).as_slice(), id.as_bytes()].concat()
}

fn link_key(tenant: Tenant, EdgeId { src, kind, dst }: EdgeId) -> Vec<u8> {
    [key_prefix(LINKS, tenant).as_slice(), src.as_bytes(), &[kind as u8], dst.as_bytes()].concat()
}

fn key_prefix(name: &[u8], tenant: Tenant) -> Vec<u8> {
    [name, tenant.0.as_slice()].concat()
}

fn read_id(bytes: Option<&[u8]>) -> Result<NodeId> {
    let id = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    id.map(NodeId::from_bytes).ok_or_else(damaged)
}

fn damaged() -> Error {
    Error::damaged("a mark of the last sync is damaged").hint(DAMAGED_HINT)
}
