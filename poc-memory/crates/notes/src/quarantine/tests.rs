//! Tests of restorations from the quarantine.

use super::record_kinds::*;
use super::tenant_restore::{MAX_BYTES, conflict, groups, length};
use super::*;
use crate::testing::TestMemory;
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, Node, Visit, VisitOutcome};
use poc_store::testing::{count_by_scan, counts_of_view};
use poc_store::{
    QuarantineNote, QuarantineRecord, QuarantineTenant, Record as _, Table, Transaction, VerifyCallbacks,
};
use std::fs;

#[test]
fn each_table_is_restored_or_left_out_with_a_reason() {
    let memory = TestMemory::new();
    let own = memory.note("own", "The gate opens at noon.").as_bytes().to_vec();
    let (lost, run) = (vec![9; ID], [7; ID]);
    let accepted = AcceptedRecords { runs: [run].into_iter().collect(), ..AcceptedRecords::default() };
    let visit =
        |version| Visit { at: Timestamp(1), outcome: VisitOutcome::Processed, version }.encode().unwrap();
    let nothing = Vec::new;
    for (table, key, value, expected) in [
        (Table::Visits, &own, visit(1), Ok("visit")),
        (Table::Visits, &own, visit(2), Err(LATER_VISITS)),
        (Table::Visits, &lost, visit(1), Err(NO_NOTE)),
        (Table::Activity, &own, nothing(), Ok("weight")),
        (Table::Activity, &lost, nothing(), Err(NO_NOTE)),
        (Table::Frames, &own, nothing(), Ok("Markdown frame")),
        (Table::Frames, &lost, nothing(), Err(NO_NOTE)),
        (Table::Messages, &lost, nothing(), Ok("message")),
        (Table::Samples, &lost, nothing(), Ok("cosine histogram")),
        (Table::Runs, &lost, nothing(), Ok("run")),
        (Table::Occurrences, &lost, nothing(), Ok("scheduled run")),
        (Table::Proposals, &run.to_vec(), nothing(), Ok("proposal")),
        (Table::Proposals, &lost, nothing(), Err(OTHER_PROPOSALS)),
        (Table::Agents, &lost, nothing(), Err(AGENT_STATES)),
        (Table::AgentStates, &lost, nothing(), Err(AGENT_STATES)),
        (Table::TenantSpending, &lost, nothing(), Err(AGENT_STATES)),
        (Table::Reservations, &lost, nothing(), Err(RESERVATIONS)),
        (Table::Meta, &lost, nothing(), Err(SYNC_RECORDS)),
        (Table::Vaults, &lost, nothing(), Err(VAULT_RECORDS)),
    ] {
        let record = QuarantineRecord { table, key: key.clone(), value };
        let classified = memory.store.preview(|tx| classify(tx, &record, &accepted)).unwrap();
        assert_eq!(classified, expected, "{table:?}");
    }
}

#[test]
fn a_conflict_names_the_other_note_and_says_whether_its_text_differs() {
    let memory = TestMemory::new();
    let own = memory.note("gate", "The gate opens at noon.");
    let own = memory.store.node(own).unwrap().unwrap();
    let of = |key: &str, body: &str, aliases: &[&str]| {
        let aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        let id = memory.new_node_id();
        let mut node = Node { id, key: key.into(), body: body.into(), aliases, ..own.clone() };
        node.content_hash = node.hash();
        memory.store.preview(|tx| conflict(tx, &node)).unwrap().unwrap_or_default()
    };
    let shown = [
        of("gate", "The gate opens at dawn.", &[]),
        of("gate", &own.body, &[]),
        of("door", "The door is shut.", &["gate"]),
        of("door", &own.body, &[]),
        of("door", "The door is shut.", &[]),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    `gate`: the memory has another note of this name, with another text
    `gate`: the memory has another note of this name, with the same text
    `door`: its name `gate` now belongs to the note `gate`, which has another text
    `door`: the note `gate` has the same text
    ");
}

/// A store that an earlier release has repaired may have links and visits of a note that it lacks.
#[test]
fn a_dry_run_and_a_restore_agree_if_the_memory_has_records_of_a_lost_note() {
    let memory = TestMemory::new();
    let own = memory.note("own", "The gate opens at noon.");
    let lost = memory.note("lost", "A ship lies at anchor.");
    let link = |src, dst| Edge { src, dst, ..poc_graph::testing::edge(1, 2, EdgeKind::Link, 0.5) };
    let visit = Visit { at: Timestamp(1), outcome: VisitOutcome::Processed, version: 1 };
    let run = |act: &dyn Fn(&mut Transaction<'_>) -> Result<()>| {
        memory.store.transact(memory.cause("manual", "test"), act).unwrap();
    };
    run(&|tx| {
        tx.put_edge(&link(own, lost))?;
        tx.put_edge(&link(lost, own))?;
        tx.put_visit("linker", lost, &visit)
    });
    let added = memory.store.transaction(memory.store.last_seq()).unwrap().unwrap().writes;
    let edges = counts_of_view(&memory.store.view()).0[2];
    let folder = memory.paths.store();
    fs::create_dir_all(folder.join("quarantine")).unwrap();
    fs::copy(folder.join("log/00000000000000000001.log"), folder.join("quarantine/piece.log")).unwrap();
    run(&|tx| tx.delete_node(lost));
    let left = edges - counts_of_view(&memory.store.view()).0[2];
    run(&|tx| added.iter().try_for_each(|write| tx.put_raw(write.table, &write.key, write.after.clone())));
    let announced = restore(&memory, "piece.log", "manual", true).unwrap();
    let mut restored = restore(&memory, "piece.log", "manual", false).unwrap();
    let change = (memory.store.tuple().clone(), memory.store.last_seq());
    assert_eq!((std::mem::take(&mut restored.changes), &restored), (vec![change], &announced));
    assert_eq!((restored.restored.len(), restored.edges, restored.records.get("visit")), (1, left, Some(&1)));
    // The view is built from the records when no saved one fits.
    let counts = counts_of_view(&memory.store.view());
    assert_eq!((counts.0[2], &counts), (edges, &count_by_scan(&memory.store)));
    let callbacks = VerifyCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };
    assert!(memory.store.verify(&callbacks).unwrap().is_empty());
}

/// A former version stored the name of a tenant as it was given, and the memory has lost it.
#[test]
fn notes_are_restored_into_the_tenant_with_the_present_spelling_of_its_name() {
    let memory = TestMemory::new();
    let name = Tuple::new([("user", "Andre\u{301}")]).unwrap();
    let node = Node { tenant: name.id(), ..poc_graph::testing::node(1) };
    let notes = vec![QuarantineNote { node, deleted: false }];
    let mut report = QuarantineReport::default();
    let restore = TenantRestore {
        memory: &memory.of(&name),
        actor: "manual",
        dry_run: false,
        accepted: AcceptedRecords::default(),
        report: &mut report,
    };
    restore.run(QuarantineTenant { notes, ..QuarantineTenant::default() }).unwrap();
    assert_eq!(report.restored, ["n1"]);
    let restored = memory.of(&name).store;
    assert_eq!((restored.tuple(), restored.counts().nodes), (&*name.composed(), 1));
}

#[test]
fn no_group_of_records_is_too_large_for_a_transaction() {
    let record = |size| QuarantineRecord { table: Table::Messages, key: vec![1; ID], value: vec![0; size] };
    let records = [100, MAX_BYTES, MAX_BYTES / 2, MAX_BYTES / 3, 100, MAX_BYTES / 2].map(record);
    let groups = groups(&records, length);
    assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [1, 1, 3, 1]);
}
