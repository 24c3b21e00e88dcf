//! Calls that make several transactions, as an import does.

use super::transaction_summary::summary;
use crate::Memory;
use poc_graph::Tenant;
use poc_graph::cancellation;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_store::Cause;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// Whether a transaction was made before the call of another transaction began. Then no earlier transaction belongs to
/// that call.
pub(super) fn is_before(cause: &Cause, other: &Cause) -> bool {
    other.began.is_none_or(|began| cause.at < began)
}

/// The numbers of the transactions of the call to which a transaction belongs, the latest first. A repetition reads only
/// what the log got since.
pub(crate) fn of_call(memory: &Memory, seq: u64, cause: &Cause) -> Result<Vec<u64>> {
    let Some(began) = cause.began else { return Ok(vec![seq]) };
    let (store, id) = (&memory.store, (memory.store.tenant(), began, cause.actor.clone()));
    // A transaction that is not published yet may be replaced by another one if the disk fails, and is not cached.
    let (first, published, last) = (store.first_seq(), store.published_seq(), store.last_seq());
    let known = memory.call_parts.lock().0.get(&id).cloned();
    let mut call = match known.filter(|call| call.parts.contains(&seq)) {
        Some(mut call) => {
            // A compaction may have deleted some since.
            call.parts.retain(|part| *part >= first || *part == seq);
            call
        }
        None => CallParts { parts: first_parts(memory, seq, cause)?, read_up_to: seq },
    };
    for later in call.read_up_to + 1..=last {
        cancellation::check()?;
        if store.cause(later)?.is_some_and(|other| other.is_same_call(cause)) {
            call.parts.push(later);
        }
    }
    let mut parts = call.parts.clone();
    parts.reverse();
    if seq <= published {
        call.read_up_to = call.read_up_to.max(published);
        call.parts.retain(|part| *part <= call.read_up_to);
        let mut cache = memory.call_parts.lock();
        while cache.0.len() >= MAX_CACHED_CALLS {
            cache.0.pop_first();
        }
        cache.0.insert(id, call);
    }
    Ok(parts)
}

/// The numbers of the transactions of a call up to transaction `seq`, which belongs to it, in order.
fn first_parts(memory: &Memory, seq: u64, cause: &Cause) -> Result<Vec<u64>> {
    let mut parts = vec![seq];
    for earlier in (memory.store.first_seq()..seq).rev() {
        cancellation::check()?;
        let Some(other) = memory.store.cause(earlier)? else { continue };
        if is_before(&other, cause) {
            break;
        }
        parts.extend(other.is_same_call(cause).then_some(earlier));
    }
    parts.reverse();
    Ok(parts)
}

/// Maximum number of calls with cached transactions.
const MAX_CACHED_CALLS: usize = 64;

/// Cached results of [`of_call`], by tenant, start and actor.
#[derive(Default)]
pub(crate) struct PartsOfCalls(BTreeMap<(Tenant, Timestamp, String), CallParts>);

#[derive(Clone)]
struct CallParts {
    /// The numbers of its transactions, in order.
    parts: Vec<u64>,
    /// The number up to which the log was read for them.
    read_up_to: u64,
}

/// Maximum number of transactions of others between two of a call, for [`last_of_call`].
const MAX_BETWEEN: usize = 16;

/// Maximum number of cached ends of calls.
const MAX_CACHED: usize = 4096;

/// Cached results of [`last_of_call`].
#[derive(Default)]
pub(crate) struct CallEnds {
    /// The ends of calls that may have several transactions, by transaction.
    ends: BTreeMap<(Tenant, u64), CachedEnd>,
    singles: SingleCalls,
}

/// The numbers of transactions that are known to be all of their call, one bit for each. Most transactions are, so they
/// would not all fit among the cached ends.
#[derive(Default)]
struct SingleCalls(Vec<u64>);

impl SingleCalls {
    /// The first number that is not remembered. All others together take 2 MiB.
    const END: u64 = 1 << 24;

    /// The index of the word with the bit of a number, and the bit.
    fn place(seq: u64) -> (usize, u64) {
        ((seq / 64) as usize, 1 << (seq % 64))
    }

    fn contains(&self, seq: u64) -> bool {
        let (word, bit) = SingleCalls::place(seq);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn insert(&mut self, seq: u64) {
        if seq >= SingleCalls::END {
            return;
        }
        let (word, bit) = SingleCalls::place(seq);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= bit;
        }
    }
}

#[derive(Clone, Copy)]
struct CachedEnd {
    listed: u64,
    /// The last transaction of the call among those that were read; `None` if the log does not have the transaction.
    last: Option<u64>,
    /// The newest transaction for which this holds; `None` if no later one can change it.
    newest: Option<u64>,
}

/// The end of a call, as far as it is known.
struct CallEnd {
    /// The number of its last transaction that changed notes.
    listed: u64,
    /// The number of its last transaction; `None` if the log does not have the transaction.
    last: Option<u64>,
}

/// The number with which a list of changes names the call to which a transaction belongs: that of the last transaction
/// of the call, up to `newest`, that changed notes.
pub(super) fn last_of_call(memory: &Memory, seq: u64, newest: u64) -> Result<u64> {
    // The index of changes may still have a creation that the log has lost in a compaction.
    if seq < memory.store.first_seq() {
        return Ok(seq);
    }
    let id = (memory.store.tenant(), seq);
    let cached = {
        let known = memory.call_ends.lock();
        if known.singles.contains(seq) {
            return Ok(seq);
        }
        known.ends.get(&id).copied()
    };
    let is_valid = |end: &CachedEnd| end.newest.map_or(end.listed <= newest, |known| known == newest);
    if let Some(end) = cached.filter(is_valid) {
        return Ok(end.listed);
    }
    let is_earlier = |end: &CachedEnd| end.newest.is_some_and(|known| known < newest);
    let known = cached.filter(is_earlier).and_then(|end| end.last).unwrap_or(seq);
    // The cause is read from the log, because the index of changes lacks the start of the call for a creation.
    let own = memory.store.cause(seq)?;
    if own.as_ref().is_some_and(|own| own.began.is_none()) {
        memory.call_ends.lock().singles.insert(seq);
        return Ok(seq);
    }
    let end = own.map(|own| find_end(memory, seq, known, newest, &own)).transpose()?;
    let CallEnd { listed, last } = end.unwrap_or(CallEnd { listed: seq, last: None });
    let is_over = last.is_none_or(|last| newest > last + MAX_BETWEEN as u64);
    let ends = &mut memory.call_ends.lock().ends;
    while ends.len() >= MAX_CACHED {
        ends.pop_first();
    }
    ends.insert(id, CachedEnd { listed, last, newest: (!is_over).then_some(newest) });
    Ok(listed)
}

/// The end of the call to which a transaction belongs, up to `newest`; `own` is the cause of this transaction, and
/// `known` is this or a later transaction of the call. The transactions of a call follow each other closely, so the last
/// one is found in steps that double, without reading all of them.
fn find_end(memory: &Memory, seq: u64, known: u64, newest: u64, own: &Cause) -> Result<CallEnd> {
    let part_from = |from: u64| part_among(memory, from..=newest, own);
    let (mut last, mut step) = (known, 1);
    while let Some(part) = part_from(last + step)? {
        last = part;
        step *= 2;
    }
    while step > 1 {
        step /= 2;
        last = part_from(last + step)?.unwrap_or(last);
    }
    // The last transactions of a sync may only note which files it has read.
    for later in (seq + 1..=last).rev() {
        cancellation::check()?;
        let part = summary(memory, later, &|_| true)?;
        if part.is_some_and(|part| part.nodes.is_some() && part.cause.is_same_call(own)) {
            return Ok(CallEnd { listed: later, last: Some(last) });
        }
    }
    Ok(CallEnd { listed: seq, last: Some(last) })
}

/// The first of a few numbers whose transaction belongs to a call; `None` if none of these does.
fn part_among(memory: &Memory, numbers: RangeInclusive<u64>, cause: &Cause) -> Result<Option<u64>> {
    for seq in numbers.take(MAX_BETWEEN + 1) {
        cancellation::check()?;
        let Some(other) = memory.store.cause(seq)? else { continue };
        if other.is_same_call(cause) {
            return Ok(Some(seq));
        }
        if is_of_later_call(&other, cause) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Whether a transaction belongs to a later call of the same op by the same actor, such as the next sync of a vault.
/// Such calls follow each other, so the earlier one is over.
fn is_of_later_call(other: &Cause, cause: &Cause) -> bool {
    (&other.op, &other.actor) == (&cause.op, &cause.actor) && other.began > cause.began
}

/// A call of which a state has only the first transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedCall {
    /// The number of the last transaction that the state has.
    pub seq: u64,
    /// The op of the call.
    pub op: String,
    /// The number of the last transaction of the call.
    pub last: u64,
}

impl UnfinishedCall {
    /// The call of the last transaction of a state, if `later` has other transactions of it. They are the numbers of
    /// the following transactions with their causes, and none for one of another tenant. A call is assumed to have
    /// ended if many transactions in a row belong to others, so that not the whole log is read.
    pub(crate) fn of(
        seq: u64,
        cause: &Cause,
        later: impl Iterator<Item = Result<(u64, Option<Cause>)>>,
    ) -> Result<Option<UnfinishedCall>> {
        const MAX_OTHERS: usize = 64;
        if cause.began.is_none() {
            return Ok(None);
        }
        let (mut last, mut others) = (None, 0);
        for transaction in later {
            cancellation::check()?;
            let (number, other) = transaction?;
            if other.is_some_and(|other| cause.is_same_call(&other)) {
                (last, others) = (Some(number), 0);
            } else if others == MAX_OTHERS {
                break;
            } else {
                others += 1;
            }
        }
        Ok(last.map(|last| UnfinishedCall { seq, op: cause.op.clone(), last }))
    }

    /// The call of transaction `seq`, if later transactions belong to it.
    pub(crate) fn after(memory: &Memory, seq: u64) -> Result<Option<UnfinishedCall>> {
        let store = &memory.store;
        let Some(cause) = store.cause(seq)? else { return Ok(None) };
        let later = (seq + 1..=store.last_seq()).map(|number| Ok((number, store.cause(number)?)));
        UnfinishedCall::of(seq, &cause, later)
    }
}

impl fmt::Display for UnfinishedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnfinishedCall { seq, op, last } = self;
        write!(
            f,
            "this state ends with change {seq}, within one change (`{op}`) that ends with change {last}"
        )
    }
}

/// The number of the change that has undone all of these transactions of a call: that of the last transaction of the
/// undo. `None` if any of them is in effect.
pub(crate) fn undone_by(memory: &Memory, parts: &[u64]) -> Result<Option<u64>> {
    let Some(first) = parts.iter().min() else { return Ok(None) };
    let mut undoing: FxHashMap<u64, u64> = FxHashMap::default();
    for seq in (*first..=memory.store.last_seq()).rev() {
        cancellation::check()?;
        let Some(cause) = memory.store.cause(seq)? else { continue };
        // An undo that is undone itself undoes nothing.
        if !undoing.contains_key(&seq) {
            undoing.extend(cause.undoes.iter().map(|undone| (*undone, seq)));
        }
    }
    let undos: Option<Vec<u64>> = parts.iter().map(|part| undoing.get(part).copied()).collect();
    Ok(undos.and_then(|undos| undos.into_iter().max()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{entries, latest};
    use crate::testing::TestMemory;
    use crate::vault::VaultBinding;
    use poc_graph::testing::node;
    use poc_store::CompactionCallbacks;
    use proptest::prelude::*;

    #[test]
    fn damage_of_another_transaction_does_not_hide_the_history_of_a_note() {
        let memory = TestMemory::new();
        let call = Cause::new(Timestamp(5), "import:x", "import").part(Timestamp(5));
        for number in 1..=2 {
            memory.store.transact(call.clone(), |tx| tx.put_node(&node(number))).unwrap();
        }
        let numbers = || {
            let entries = entries(&memory, node(1).id, None).unwrap();
            entries.iter().map(|entry| (entry.seq, entry.last)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(), [(1, 2)]);
        damage_last(&memory);
        assert_eq!(numbers(), [(1, 2)], "cached");
        *memory.call_ends.lock() = CallEnds::default();
        assert_eq!(numbers(), [(1, 1)]);
    }

    /// Damages the last transaction in the log of a memory.
    fn damage_last(memory: &Memory) {
        let files = std::fs::read_dir(memory.paths.store().join("log")).unwrap();
        let segment =
            files.map(|file| file.unwrap().path()).find(|path| path.extension() == Some("log".as_ref()));
        let segment = segment.unwrap();
        let mut bytes = std::fs::read(&segment).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[end] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
    }

    #[test]
    fn the_transactions_of_a_call_are_read_once() {
        let memory = TestMemory::new();
        let call = Cause::new(Timestamp(5), "import:x", "import").part(Timestamp(5));
        for number in 1..=3 {
            memory.store.transact(call.clone(), |tx| tx.put_node(&node(number))).unwrap();
        }
        assert_eq!(of_call(&memory, 2, &call).unwrap(), [3, 2, 1]);
        damage_last(&memory);
        assert_eq!(of_call(&memory, 1, &call).unwrap(), [3, 2, 1], "cached");
        memory.call_parts.lock().0.clear();
        assert!(of_call(&memory, 1, &call).is_err());
    }

    #[test]
    fn a_transaction_that_is_all_of_its_call_is_read_once() {
        let memory = TestMemory::new();
        for number in 1..=2 {
            let cause = Cause::new(Timestamp(5), "manual", "insert");
            memory.store.transact(cause, |tx| tx.put_node(&node(number))).unwrap();
        }
        let numbers = || [1, 2].map(|seq| last_of_call(&memory, seq, 2).ok());
        assert_eq!(numbers(), [Some(1), Some(2)]);
        damage_last(&memory);
        memory.call_ends.lock().ends.clear();
        assert_eq!(numbers(), [Some(1), Some(2)], "other calls take none of their places");
        *memory.call_ends.lock() = CallEnds::default();
        assert_eq!(numbers(), [Some(1), None]);
    }

    #[test]
    fn no_number_of_a_deleted_history_is_cached() {
        let memory = TestMemory::new();
        let call = Cause::new(Timestamp(5), "import:x", "import").part(Timestamp(5));
        let with_notes = |notes: std::ops::Range<u64>| {
            let write = |tx: &mut poc_store::Transaction<'_>| {
                notes.clone().try_for_each(|number| tx.put_node(&node(number)))
            };
            memory.store.transact(call.clone(), write).unwrap();
        };
        with_notes(0..300);
        with_notes(300..600);
        memory
            .store
            .transact(Cause::new(Timestamp(9), "manual", "insert"), |tx| tx.put_node(&node(600)))
            .unwrap();
        let numbers = || {
            let entries = entries(&memory, node(1).id, None).unwrap();
            entries.iter().map(|entry| (entry.seq, entry.last)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(), [(1, 2)]);
        assert!(summary(&memory, 1, &|_| true).unwrap().is_some());
        let callbacks = CompactionCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) };
        memory.store.compact(Some(Timestamp(i64::MAX)), &callbacks).unwrap();
        assert_eq!(memory.store.first_seq(), 3);
        assert_eq!(numbers(), [(1, 1)]);
        assert!(summary(&memory, 1, &|_| true).unwrap().is_none());
    }

    poc_laws::laws! {
        #[test]
        fn single_calls_are_a_set_of_numbers(
            inserted in proptest::collection::btree_set(0u64..1_000, 0..40), asked in 0u64..100_000,
        ) {
            let mut singles = SingleCalls::default();
            inserted.iter().for_each(|&seq| singles.insert(seq));
            singles.insert(u64::MAX);
            for seq in (0..1_000).chain([asked, SingleCalls::END, u64::MAX]) {
                prop_assert_eq!(singles.contains(seq), inserted.contains(&seq));
            }
        }
    }

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// `is_of_call` has, for each transaction after the first, whether it belongs to the call.
        #[test]
        fn the_transactions_of_a_growing_call_are_those_in_the_log(
            is_of_call in proptest::collection::vec(any::<bool>(), 0..40), asked in 1usize..5,
        ) {
            let memory = TestMemory::new();
            let call = Cause::new(Timestamp(5), "import:x", "import");
            let other = Cause::new(Timestamp(5), "manual", "insert");
            let mut expected = Vec::new();
            for (at, is_of_call) in std::iter::once(true).chain(is_of_call).enumerate() {
                let cause = if is_of_call { call.part(Timestamp(5)) } else { other.clone() };
                let number = memory.store.last_seq() + 1;
                let seq = memory.store.transact(cause, |tx| tx.put_node(&node(number))).unwrap().seq;
                if is_of_call {
                    expected.insert(0, seq);
                }
                if at % asked == 0 {
                    let part = expected[at % expected.len()];
                    prop_assert_eq!(&of_call(&memory, part, &call.part(Timestamp(5))).unwrap(), &expected);
                }
            }
        }

        /// `between` has, for each transaction of a call after the first, how many others precede it. The last
        /// `without_notes` transactions of the call change no note. `is_repeated` says whether the call is repeated.
        #[test]
        fn each_transaction_of_a_call_has_the_number_of_the_list_of_changes(
            between in proptest::collection::vec(prop_oneof![4 => Just(0), 1 => 0..=MAX_BETWEEN], 0..24),
            without_notes in 0u32..4,
            is_repeated in any::<bool>(),
            others_after in 0usize..40,
        ) {
            let memory = TestMemory::new();
            let call = Cause::new(Timestamp(5), "import:x", "import");
            let transact = |cause: Cause| {
                let number = memory.store.last_seq() + 1;
                memory.store.transact(cause, |tx| tx.put_node(&node(number))).unwrap().seq
            };
            let other = || transact(Cause::new(Timestamp(5), "manual", "insert"));
            let mut parts = vec![transact(call.part(Timestamp(5)))];
            for others in between {
                for _ in 0..others {
                    other();
                }
                parts.push(transact(call.part(Timestamp(6))));
            }
            for number in 1..=without_notes {
                let (name, folder) = (number.to_string(), "/vault".into());
                let vault = VaultBinding { number, name, folder, write_back: false, bound: Timestamp(7) };
                let cause = call.part(Timestamp(7));
                memory.store.transact(cause, |tx| tx.put(&number.to_be_bytes(), &vault)).unwrap();
            }
            if is_repeated {
                transact(Cause::new(Timestamp(8), "import:x", "import").part(Timestamp(8)));
            }
            for _ in 0..others_after {
                other();
            }
            let newest = memory.store.last_seq();
            let changes = latest(&memory, 1000, None, &|_| true).unwrap();
            for &seq in &parts {
                let cause = memory.store.transaction(seq).unwrap().unwrap().cause;
                let listed = changes.iter().find(|change| change.cause.is_same_call(&cause)).unwrap();
                prop_assert_eq!(last_of_call(&memory, seq, newest).unwrap(), listed.seq);
                // From the cache, if the call is over.
                prop_assert_eq!(last_of_call(&memory, seq, newest).unwrap(), listed.seq);
                // As if the store ended with this transaction.
                prop_assert_eq!(last_of_call(&memory, parts[0], seq).unwrap(), seq);
            }
        }
    }
}
