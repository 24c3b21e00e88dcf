//! After the same transactions, the record engine and the one in memory have the same contents.

use super::*;
use crate::engine::lsm::{FlushLimits, LsmEngine};
use crate::engine::{Watermark, changes};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Op {
    table: u8,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

fn txns() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let key = proptest::collection::vec(0u8..3, 0..4);
    let value = proptest::option::weighted(0.7, proptest::collection::vec(any::<u8>(), 0..20));
    // These tables have no key layout, because the engine must accept any bytes.
    let op = (10u8..=12, key, value).prop_map(|(table, key, value)| Op { table, key, value });
    proptest::collection::vec(proptest::collection::vec(op, 0..150), 1..6)
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_engine_equals_the_one_in_memory(txns in txns(), table in 1usize..2000, recent in 1usize..2000) {
        let folder = poc_graph::testing::folder();
        let memory = InMemoryEngine::default();
        let open = || LsmEngine::open_with(&folder.path().join("records"), FlushLimits { table, recent }).unwrap();
        let lsm = open();
        for (at, ops) in txns.into_iter().enumerate() {
            let write = |op: Op| Write {
                table: Table::try_from(op.table).unwrap(), key: op.key, before: None, after: op.value,
            };
            let txn = LoggedTransaction { seq: at as u64 + 1, tenant: Tenant::default(), cause: cause(), base: None, writes: ops.into_iter().map(write).collect() };
            for engine in [&memory as &dyn Engine, &lsm] {
                // Applying a transaction again must change nothing.
                for _ in 0..2 {
                    let watermark = Watermark { seq: txn.seq, checksum: 5 };
                    engine.apply(changes(&txn).unwrap().into(), watermark).unwrap();
                }
            }
        }
        drop(lsm);
        let lsm = open();
        prop_assert_eq!(memory.watermark().unwrap(), lsm.watermark().unwrap());
        for prefix in [&[10][..], &[10, 0], &[11, 2, 1], &[12], &[13]] {
            let all = |engine: &dyn Engine| {
                let mut found = Vec::new();
                engine.scan(prefix, &mut |key, value| { found.push((key.to_vec(), value.to_vec())); Ok(()) }).unwrap();
                found
            };
            let expected = all(&memory);
            prop_assert_eq!(&expected, &all(&lsm));
            for (key, value) in expected {
                prop_assert_eq!(lsm.get(&key).unwrap(), Some(value));
            }
        }
    }
}
