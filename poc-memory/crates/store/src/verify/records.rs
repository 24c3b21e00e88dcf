//! Compares all records with what the transactions of the log give.
//!
//! Of the log, only hashes are kept in memory, in parts of bounded size: each part has the records whose keys have hashes
//! in one range, and reads the log once.

use super::{MAX_LISTED, StorePart, Verifier, VerifyDiagnostic, listed};
use crate::engine::{Engine as _, changes};
use crate::keys;
use crate::table::Table;
use poc_graph::error::{Code, Error, Result};
use rustc_hash::FxHashMap;

const FOLDER: &str = "records";
/// About how many records a part has: 16 bytes each, and what the table wastes.
const PART: u64 = 1 << 19;
/// Maximum number of records that are looked at again.
const MAX_SUSPECTS: usize = 10_000;

/// The hash of the value of each record that the log gives, by the hash of its key.
type Expected = FxHashMap<u64, u64>;

/// Records that differ, by key: the hash of the value that the log gives, or `None` for a record that it does not give.
type Suspects = FxHashMap<Vec<u8>, Option<u64>>;

fn hash(bytes: &[u8]) -> u64 {
    blake3::hash(bytes).as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

impl Verifier<'_> {
    /// Compares the records of all tenants with the log.
    pub(super) fn records(&self) -> Result<Vec<VerifyDiagnostic>> {
        let mut findings: Vec<VerifyDiagnostic> =
            self.sealed(StorePart::Records, "records/last").into_iter().collect();
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
            if let Some(unreadable) = self.suspects((part, parts), (seq, count), &mut suspects)? {
                findings.push(unreadable);
                return Ok(findings);
            }
            if suspects.is_empty() {
                continue;
            }
            let differing = self.confirmed(suspects, seq)?;
            if !differing.is_empty() {
                let names: Vec<String> = differing.iter().take(MAX_LISTED).map(|key| name(key)).collect();
                let message =
                    format!("they differ from what the log gives: {}", listed(&names, differing.len()));
                findings.push(self.finding(StorePart::Records, FOLDER, message));
            }
        }
        Ok(findings)
    }

    /// Calls `each` with every key and value. Returns a finding if they cannot be read.
    fn each_record(
        &self,
        total: Option<u64>,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<VerifyDiagnostic>> {
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

    /// The finding for records that cannot be read; other errors are returned as they are.
    fn unreadable(&self, error: Error) -> Result<VerifyDiagnostic> {
        match error.code {
            Code::Damaged | Code::Internal => Ok(self.finding(StorePart::Records, FOLDER, error.message)),
            _ => Err(error),
        }
    }

    /// Finds the records of a part (its number, and how many there are) that differ from the log up to a transaction.
    /// `count` is about the number of all records.
    fn suspects(
        &self,
        (part, parts): (u64, u64),
        (seq, count): (u64, u64),
        suspects: &mut Suspects,
    ) -> Result<Option<VerifyDiagnostic>> {
        let log = &self.store.shared.log;
        let base = log.base_seq();
        let belongs = |key: u64| key % parts == part;
        let mut expected = Expected::default();
        log.replay(1, seq, &mut |txn, _| {
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
        let unreadable = self.each_record(Some(count), &mut |full, value| {
            let key = hash(full);
            if !belongs(key) || suspects.len() >= MAX_SUSPECTS {
                return;
            }
            match expected.remove(&key) {
                Some(expected) if expected == hash(value) => {}
                Some(expected) => drop(suspects.insert(full.to_vec(), Some(expected))),
                None if is_dropped_history(full, base) => {}
                None => drop(suspects.insert(full.to_vec(), None)),
            }
        })?;
        if unreadable.is_some() || expected.is_empty() || suspects.len() >= MAX_SUSPECTS {
            return Ok(unreadable);
        }
        // The hash of a missing record does not say which it is.
        log.replay(1, seq, &mut |txn, _| {
            self.step("changes of records", txn.seq, Some(seq))?;
            for (full, _) in changes(&txn)? {
                if let Some(value) = expected.get(&hash(&full))
                    && suspects.len() < MAX_SUSPECTS
                {
                    suspects.insert(full, Some(*value));
                }
            }
            Ok(())
        })?;
        Ok(None)
    }

    /// The keys of suspects that differ from the log while no transaction runs. Their values are those after
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
        // Most of it before writers have to wait.
        let meanwhile = shared.log.last();
        advance(&mut suspects, seq + 1, meanwhile)?;
        self.at_rest(|last| {
            advance(&mut suspects, meanwhile + 1, last)?;
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

/// Whether a record is an entry of the history that a compaction has dropped from the log.
fn is_dropped_history(full: &[u8], base: u64) -> bool {
    let Some((_, Table::Changes, key)) = Table::split_engine_key(full) else { return false };
    keys::read_change(key).is_ok_and(|seq| seq <= base)
}

/// The table of a record, its tenant, and the beginning of its key.
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
