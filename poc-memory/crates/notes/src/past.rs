//! A past state with its indexes, which are built on first use.

use super::Memory;
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_index::{
    Index, MentionIndex, MentionReader, TenantIndex, TextIndex, TextReader, VectorIndex, VectorReader,
};
use poc_search::query::Indexes;
use poc_store::PastState;
use std::sync::{Arc, OnceLock};

/// The memory as it was after one of its changes.
pub struct PastMemory {
    /// The records and the graph of that state.
    pub store: poc_store::PastSnapshot,
    text: PastIndex<TextIndex>,
    vectors: PastIndex<VectorIndex>,
    mentions: PastIndex<MentionIndex>,
}

/// A current index, and its past state.
struct PastIndex<I> {
    now: TenantIndex<I>,
    then: OnceLock<I>,
    // Held during the build, so that concurrent requests build the index only once.
    building: Mutex<()>,
}

impl<I: Index> PastIndex<I> {
    fn of(now: &TenantIndex<I>) -> Self {
        PastIndex { now: now.clone(), then: OnceLock::new(), building: Mutex::default() }
    }

    /// The past index: a copy of the current one with the later changes reverted.
    fn get(&self, past: &poc_store::PastSnapshot, fork: fn(&I) -> I) -> Result<&I> {
        if let Some(then) = self.then.get() {
            return Ok(then);
        }
        let _building = self.building.lock();
        if self.then.get().is_none() {
            // Copied before the changes are read, so that they include everything the copy has seen.
            let copy = fork(&self.now);
            copy.apply(0, &past.deltas()?)?;
            let _ = self.then.set(copy);
        }
        self.then.get().ok_or_else(|| Error::internal("an index of the past was not kept"))
    }
}

impl Indexes for PastMemory {
    fn text(&self) -> Result<&dyn TextReader> {
        Ok(self.text.get(&self.store, TextIndex::fork)?)
    }

    fn vectors(&self) -> Result<&dyn VectorReader> {
        Ok(self.vectors.get(&self.store, VectorIndex::fork)?)
    }

    fn mentions(&self) -> Result<&dyn MentionReader> {
        Ok(self.mentions.get(&self.store, MentionIndex::fork)?)
    }
}

impl Memory {
    /// A past state. The last requested state is cached, because reads of the past usually come in series.
    ///
    /// # Errors
    /// `invalid_argument` if the time is in the future; `not_found` if there is no such change yet, if nothing was
    /// stored yet, or if the log does not reach back that far.
    pub fn past(&self, state: impl Into<PastState>) -> Result<Arc<PastMemory>> {
        let state = state.into();
        let checked = match state {
            PastState::At(at) => self.check_time(at),
            PastState::AfterChange(seq) => self.check_change(seq),
        };
        checked.map_err(|error| error.field("at"))?;
        let kept = self.past.lock().clone();
        if let Some(past) = kept
            && past.store.tenant() == self.store.tenant()
            && past.store.is_as_of(state)?
        {
            return Ok(past);
        }
        // The lock is not held here, so that building one past state does not block requests for another. The
        // indexes must be complete before they are rewound.
        self.store.settle();
        let past = Arc::new(PastMemory {
            store: self.store.snapshot_at(state).map_err(|error| error.field("at"))?,
            text: PastIndex::of(&self.text),
            vectors: PastIndex::of(&self.vectors),
            mentions: PastIndex::of(&self.mentions),
        });
        *self.past.lock() = Some(past.clone());
        Ok(past)
    }

    /// Refuses times in the future and those that calendars cannot express.
    fn check_time(&self, at: Timestamp) -> Result<()> {
        let now = self.now();
        if at > now {
            return Err(Error::invalid(format!("{at} is in the future"))
                .hint(format!("it is {now}; without a time the newest state is shown")));
        }
        match at.utc() {
            Some(_) => Ok(()),
            None => Err(Error::not_found("this memory had no notes at that time")),
        }
    }

    /// Refuses numbers of changes that were not made yet.
    fn check_change(&self, seq: u64) -> Result<()> {
        match self.store.published_seq() {
            last if seq <= last => Ok(()),
            0 => Err(Error::not_found("nothing has been stored yet")),
            last => {
                let date = date_of_digits(seq)
                    .map_or_else(String::new, |date| format!("; for a date write `{date}`"));
                Err(Error::not_found(format!("there is no change {seq}")).hint(format!(
                    "the last change is {last}; without a number the newest state is shown{date}"
                )))
            }
        }
    }
}

/// The date that a number such as `20261129` may mean, or the first day of a year such as `2026`.
fn date_of_digits(number: u64) -> Option<String> {
    let date = match number {
        1900..=2999 => format!("{number}-01-01"),
        19_000_101..=29_991_231 => {
            format!("{}-{:02}-{:02}", number / 10_000, number / 100 % 100, number % 100)
        }
        _ => return None,
    };
    Timestamp::parse(&date).is_ok().then_some(date)
}
