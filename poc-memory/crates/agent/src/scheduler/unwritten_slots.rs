//! Slots of paused and disabled agents that have passed and are in no row yet. They are written together: an agent with
//! a slot in every second would otherwise cause a transaction in every second.

use super::record_skipped_slots;
use crate::due_slots::{SkippedSlots, SlotRange};
use crate::ledger::{StatusReason, Trigger};
use poc_graph::time::{Span, Timestamp};
use poc_notes::Memory;
use std::collections::BTreeMap;

/// Minimum time between two writes of slots of a paused or disabled agent.
const PERIOD: Span = Span(5 * Span::MINUTE.0);

/// The unwritten slots, by agent.
#[derive(Default)]
pub(super) struct UnwrittenSlots(BTreeMap<String, RecentSlots>);

/// What follows the last slot of an agent that was written.
struct RecentSlots {
    /// Why that slot was skipped.
    reason: StatusReason,
    /// When the next ones are written.
    until: Timestamp,
    /// The slots since then.
    slots: Option<SkippedSlots>,
}

impl UnwrittenSlots {
    /// Whether slots are to be written now.
    pub(super) fn are_due(&self, now: Timestamp) -> bool {
        self.0.values().any(|recent| recent.slots.is_some() && recent.until <= now)
    }

    /// The unwritten slots of an agent.
    pub(super) fn of(&self, agent: &str) -> Option<SlotRange> {
        Some(self.0.get(agent)?.slots.as_ref()?.slots)
    }

    /// Writes the slots whose time has come.
    pub(super) fn write_due(&mut self, memory: &Memory, now: Timestamp) {
        self.0.retain(|_, recent| {
            if now < recent.until {
                return true;
            }
            // Otherwise, the process has slept, and the slots in between were missed.
            let is_awake = now < recent.until.plus(PERIOD);
            recent.until = now.plus(PERIOD);
            recent.slots.take().is_some_and(|slots| record_skipped_slots(memory, &slots)) && is_awake
        });
    }

    /// Writes the slots of an agent.
    pub(super) fn write(&mut self, memory: &Memory, agent: &str) {
        if let Some(recent) = self.0.remove(agent) {
            recent.write(memory);
        }
    }

    /// Writes all slots.
    pub(super) fn write_all(&mut self, memory: &Memory) {
        std::mem::take(&mut self.0).into_values().for_each(|recent| recent.write(memory));
    }

    /// Writes slots that are not run. Those of an agent that was already paused or disabled a short time ago are
    /// written later. `settled` is the last slot of the agent that has an outcome or is unwritten.
    pub(super) fn add(
        &mut self,
        memory: &Memory,
        skipped: SkippedSlots,
        settled: Option<Timestamp>,
        now: Timestamp,
    ) {
        let SkippedSlots { agent, trigger, missed, reason, .. } = &skipped;
        let (agent, reason) = (agent.clone(), *reason);
        let lasts = reason.lasts() && matches!(trigger, Trigger::Slot(_));
        let continues =
            |recent: &&mut RecentSlots| lasts && recent.reason == reason && recent.is_followed_by(settled);
        if let Some(recent) = self.0.get_mut(&agent).filter(continues) {
            recent.add(skipped);
            return;
        }
        self.write(memory, &agent);
        let may_continue = lasts && !missed;
        if record_skipped_slots(memory, &skipped) && may_continue {
            self.0.insert(agent, RecentSlots { reason, until: now.plus(PERIOD), slots: None });
        }
    }
}

impl RecentSlots {
    /// Whether the slots are followed by those after `settled`. Otherwise, another process has handled slots in between.
    fn is_followed_by(&self, settled: Option<Timestamp>) -> bool {
        let last = self.slots.as_ref().map(|skipped| skipped.slots.last);
        last.is_none_or(|last| settled.is_none_or(|settled| settled <= last))
    }

    /// Adds slots. None of them was missed: this process has polled the agent a short time ago.
    fn add(&mut self, later: SkippedSlots) {
        match &mut self.slots {
            Some(SkippedSlots { slots, trigger, .. }) => {
                (slots.last, *trigger) = (later.slots.last, later.trigger);
                slots.count = slots.count.saturating_add(later.slots.count);
            }
            None => self.slots = Some(SkippedSlots { missed: false, ..later }),
        }
    }

    fn write(self, memory: &Memory) {
        if let Some(slots) = self.slots {
            record_skipped_slots(memory, &slots);
        }
    }
}
