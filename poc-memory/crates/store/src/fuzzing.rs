//! Parsers for the fuzz targets, with the properties that must hold for any input; see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use super::catch_up;
use super::engine::read_any_table;
use super::log::{check_segment, intact_records, last_transaction_before};
use super::logged_transaction::LoggedTransaction;
use super::views::Views;
use super::{tenant_view_files, view_file};
use poc_graph::View;
use poc_graph::testing::contents;
use poc_graph::time::Timestamp;
use std::path::Path;

/// Decodes the record of a transaction and translates its writes into changes of a view.
pub fn log_record(payload: &[u8]) {
    let Ok(txn) = LoggedTransaction::decode(payload) else { return };
    let encoded = txn.encode().unwrap();
    assert_eq!(LoggedTransaction::decode(&encoded).unwrap(), txn);
    for write in &txn.writes {
        let found = LoggedTransaction::decode_write(&encoded, txn.tenant, write.table, &write.key).unwrap();
        let same = |other: &&super::Write| (other.table, &other.key) == (write.table, &write.key);
        assert_eq!(found.as_ref().map(|(_, write)| write), txn.writes.iter().find(same));
        write.embedder();
    }
    // Both an error and a result are acceptable; only panics are not.
    let _ = catch_up::apply_to_views(&mut Views::default(), &txn);
}

/// Writes the bytes to a file and reads it as a segment of the log.
pub fn log_segment(bytes: &[u8], file: &Path) {
    std::fs::write(file, bytes).unwrap();
    let _ = check_segment(file, 1, u64::MAX);
    let _ = last_transaction_before(file, 1, Timestamp(0));
    intact_records(bytes, 0).iter().for_each(|record| log_record(record.payload));
}

/// Writes a table of records to a file and reads it. The first byte determines which share of the others is the index;
/// the rest is the filter.
pub fn sorted_table(bytes: &[u8], file: &Path) {
    let Some((share, bytes)) = bytes.split_first() else { return };
    let (index, filter) = bytes.split_at(bytes.len() * usize::from(*share) / usize::from(u8::MAX));
    read_any_table(index, filter, file);
}

/// Decodes a saved view, the file of saved views, and that of the view of a tenant. A decoded view must survive another
/// round trip.
pub fn view_file(bytes: &[u8]) {
    let _ = view_file::decode(bytes, 1);
    let _ = tenant_view_files::decode(bytes, 1);
    let Some(view) = View::decode(bytes, 1) else { return };
    let again = View::decode(&view.encode().unwrap(), 1).unwrap();
    assert_eq!(contents(&again), contents(&view));
}

#[cfg(test)]
mod tests {
    use poc_graph::testing::corpus;

    #[test]
    fn the_properties_hold_for_the_corpora() {
        let folder = poc_graph::testing::folder();
        let file = folder.path().join("segment");
        corpus("log_record").iter().for_each(|bytes| super::log_record(bytes));
        corpus("log_segment").iter().for_each(|bytes| super::log_segment(bytes, &file));
        corpus("sorted_table").iter().for_each(|bytes| super::sorted_table(bytes, &file));
        corpus("view_file").iter().for_each(|bytes| super::view_file(bytes));
    }
}
