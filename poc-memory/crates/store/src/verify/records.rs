//! Compares all records with the transactions of the log.
//!
//! Only hashes of the log's contents are kept in memory, and in parts of limited size. Each part covers the records
//! whose key hashes are in one range, and reads the whole log once.

use super::{DamagedPart, MAX_LISTED, StorePart, Verifier, listed};
use crate::engine::{Engine as _, changes};
use crate::keys;
use crate::table::Table;
use poc_graph::error::{Code, Error, Result};
use rustc_hash::FxHashMap;

const FOLDER: &str = "records";
/// Approximate number of records per part. Each takes 16 bytes plus the overhead of the hash table.
const PART: u64 = 1 << 19;
/// Maximum number of records that are checked again.
const MAX_SUSPECTS: usize = 10_000;

/// The hash of each record's value according to the log, by the hash of its key.
type ExpectedHashes = FxHashMap<u64, u64>;

/// Records that differ, by key, with the hash of the value according to the log, or `None` if the log has no such
/// record.
type Suspects = FxHashMap<Vec<u8>, Option<u64>>;

fn hash(bytes: &[u8]) -> u64 {
    blake3::hash(bytes).as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

impl Verifier<'_> {
    /// Compares the records of all tenants with the log.
    pub(super) fn records(&self) -> Result<Vec<DamagedPart>> {
        let mut findings: Vec<DamagedPart> =
            self.check_file(StorePart::Records, "records/last").into_iter().collect();
        if let Err(error) = self.store.shared.engine.check_files() {
            findings.push(self.unreadable(error)?);
            return Ok(findings);
        }
        let mut count = 0u64;
        if let Some(unreadable) = self.each_record(None, &mut |_, _| count += 1)? {
            findings.push(unreadable);
            return Ok(findings);
        }
        let parts = count / PART + 1;
        for part in 0..parts {
            let seq = self.store.shared.log.last();
            let mut suspects = Suspects::default();
            if let Some(unreadable) = self.suspects(part, parts, seq, count, &mut suspects)? {
                findings.push(unreadable);
                return Ok(findings);
            }
            if suspects.is_empty() {
                continue;
            }
            let differing = self.confirmed(suspects, seq)?;
            if !differing.is_empty() {
                let names: Vec<String> = differing.iter().take(MAX_LISTED).map(|key| name(key)).collect();
                let message = format!("the records differ from the log: {}", listed(&names, differing.len()));
                findings.push(self.finding(StorePart::Records, FOLDER, message));
            }
        }
        Ok(findings)
    }

    /// Calls `each` with every key and value. Returns a diagnostic if they cannot be read.
    fn each_record(
        &self,
        total: Option<u64>,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<DamagedPart>> {
        let (mut done, mut stopped) = (0, None);
        let read = self.store.shared.engine.scan_as_it_is(&[], &mut |key, value| {
            done += 1;
            if let Err(error) = self.step("records", done, total) {
                stopped = Some(error.clone());
                return Err(error);
            }
            each(key, value);
            Ok(())
        });
        match (read, stopped) {
            (_, Some(stopped)) => Err(stopped),
            (Err(error), None) => self.unreadable(error).map(Some),
            (Ok(()), None) => Ok(None),
        }
    }

    /// The diagnostic for records that cannot be read. Other errors are returned unchanged.
    ///
    /// The engine has recorded the damage, so the next read would rebuild the records. They are rebuilt here, so that
    /// the diagnostic says whether they were rebuilt.
    fn unreadable(&self, error: Error) -> Result<DamagedPart> {
        if !matches!(error.code, Code::Damaged | Code::Internal) {
            return Err(error);
        }
        let engine = &self.store.shared.engine;
        let is_recorded = error.code == Code::Damaged && engine.has_failed();
        if is_recorded {
            engine.reopen_if_failed();
        }
        let is_rebuilt = is_recorded && !engine.has_failed() && engine.substituted().is_none();
        Ok(DamagedPart { is_rebuilt, ..self.finding(StorePart::Records, FOLDER, error.message) })
    }

    /// The hashes of the records after transaction `seq`, according to the log. `belongs` selects records by the hash
    /// of their key.
    fn expected_hashes(&self, belongs: impl Fn(u64) -> bool, seq: u64) -> Result<ExpectedHashes> {
        let mut expected = ExpectedHashes::default();
        self.store.shared.log.replay(1, seq, &mut |txn, _| {
            self.step("changes of records", txn.seq, Some(seq))?;
            for (key, value) in changes(&txn)? {
                let key = hash(&key);
                match value {
                    _ if !belongs(key) => {}
                    Some(value) => drop(expected.insert(key, hash(&value))),
                    None => drop(expected.remove(&key)),
                }
            }
            Ok(())
        })?;
        Ok(expected)
    }

    /// Adds the missing records to `suspects`. Only the hashes of their keys are known, so the log is read again, up
    /// to transaction `seq`, to find the keys.
    fn add_missing(&self, missing: &ExpectedHashes, seq: u64, suspects: &mut Suspects) -> Result<()> {
        self.store.shared.log.replay(1, seq, &mut |txn, _| {
            self.step("changes of records", txn.seq, Some(seq))?;
            for (full, _) in changes(&txn)? {
                if let Some(value) = missing.get(&hash(&full))
                    && suspects.len() < MAX_SUSPECTS
                {
                    suspects.insert(full, Some(*value));
                }
            }
            Ok(())
        })
    }

    /// Finds the records of part number `part` of `parts` that differ from the log up to transaction `seq`. `count` is
    /// the approximate number of all records.
    fn suspects(
        &self,
        part: u64,
        parts: u64,
        seq: u64,
        count: u64,
        suspects: &mut Suspects,
    ) -> Result<Option<DamagedPart>> {
        let base = self.store.shared.log.base_seq();
        let belongs = |key: u64| key % parts == part;
        let mut expected = self.expected_hashes(belongs, seq)?;
        let unreadable = self.each_record(Some(count), &mut |full, value| {
            let key = hash(full);
            if !belongs(key) || suspects.len() >= MAX_SUSPECTS {
                return;
            }
            match expected.remove(&key) {
                Some(expected) if expected == hash(value) => {}
                Some(expected) => drop(suspects.insert(full.to_vec(), Some(expected))),
                None if is_deleted_history(full, base) => {}
                None => drop(suspects.insert(full.to_vec(), None)),
            }
        })?;
        if unreadable.is_some() || expected.is_empty() || suspects.len() >= MAX_SUSPECTS {
            return Ok(unreadable);
        }
        self.add_missing(&expected, seq, suspects)?;
        Ok(None)
    }

    /// The keys of suspects that still differ from the log while no transaction runs, compared with their values after
    /// transaction `seq`.
    fn confirmed(&self, mut suspects: Suspects, seq: u64) -> Result<Vec<Vec<u8>>> {
        let shared = &self.store.shared;
        let advance = |suspects: &mut Suspects, first: u64, last: u64| {
            shared.log.replay(first, last, &mut |txn, _| {
                for (key, value) in changes(&txn)? {
                    if let Some(expected) = suspects.get_mut(&key) {
                        *expected = value.as_deref().map(hash);
                    }
                }
                Ok(())
            })
        };
        // Most of the log is read before writers have to wait.
        let read_until = shared.log.last();
        advance(&mut suspects, seq + 1, read_until)?;
        self.at_rest(|last| {
            advance(&mut suspects, read_until + 1, last)?;
            let mut differing = Vec::new();
            for (key, expected) in suspects {
                if shared.engine.get(&key)?.as_deref().map(hash) != expected {
                    differing.push(key);
                }
            }
            differing.sort_unstable();
            Ok(differing)
        })
    }
}

/// Whether a record is an entry for history that a compaction has deleted from the log.
fn is_deleted_history(full: &[u8], base: u64) -> bool {
    let Some((_, Table::Changes, key)) = Table::split_engine_key(full) else { return false };
    keys::read_change(key).is_ok_and(|seq| seq <= base)
}

/// A description of a record: its table, its tenant, and the beginning of its key.
fn name(full: &[u8]) -> String {
    let Some((tenant, table, key)) = Table::split_engine_key(full) else {
        return "a record of no table".to_owned();
    };
    let key: String = key.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    match tenant.is_default() {
        true => format!("{table:?} {key}"),
        false => format!("{table:?} {key} of tenant {tenant}"),
    }
}
