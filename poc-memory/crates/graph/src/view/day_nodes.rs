//! The nodes of days, such as `daily/2026-11-05`.

use super::{Ix, View};
use crate::time::{CalendarDay, Timestamp};
use chrono::Datelike;
use std::sync::{Arc, OnceLock};

/// The most nodes that [`View::find_written_on`] returns.
const MAX_WRITTEN: usize = 256;

/// The reciprocal of the largest share of the live nodes that one day says something about. If more were created on it,
/// it is the day on which a memory was filled.
const MAX_CREATED_SHARE: usize = 4;

/// The days that end the names of nodes, with their nodes, sorted by month, day of the month and node. Few requests name
/// a day, so the first one reads all names. Views share the result until a node of a day changes.
#[derive(Clone, Debug, Default)]
pub(super) struct DayNodes(Arc<OnceLock<Vec<(CalendarDay, Ix)>>>);

impl View {
    /// The indexes of the nodes in any state of which a name ends with a day that may be the given one, ascending.
    pub fn find_day(&self, day: CalendarDay) -> Vec<Ix> {
        let all = self.day_nodes.0.get_or_init(|| {
            let of_node = |ix: Ix| self.days_in_names(ix).map(move |day| (day, ix));
            let mut all: Vec<(CalendarDay, Ix)> = (0..self.slots()).flat_map(of_node).collect();
            all.sort_by_key(|(day, _)| (day.month, day.day));
            all
        });
        let wanted = (day.month, day.day);
        let first = all.partition_point(|(named, _)| (named.month, named.day) < wanted);
        let same = all.iter().skip(first).take_while(|(named, _)| (named.month, named.day) == wanted);
        let mut found: Vec<Ix> = same.filter(|(named, _)| named.may_be(day)).map(|(_, ix)| *ix).collect();
        found.dedup();
        found
    }

    /// The indexes of the live nodes that were written on a day, ascending: the day is anywhere in one of their names
    /// (`log/2026-11-05-07`), or they were created on it, in UTC. A day on which more than a quarter of all nodes were
    /// created does not count, and neither do more than 256 nodes. Reads all nodes.
    pub fn find_written_on(&self, day: CalendarDay) -> Vec<Ix> {
        let is_same = |at: Timestamp| {
            let same_year = |year: i32| day.year.is_none_or(|wanted| wanted == year);
            at.utc().is_some_and(|at| (at.month(), at.day()) == (day.month, day.day) && same_year(at.year()))
        };
        let live = (0..self.slots()).filter(|&ix| self.is_live(ix));
        let mut found: Vec<Ix> = live.filter(|&ix| is_same(self.created(ix))).collect();
        if found.len() > MAX_WRITTEN.min(self.live_count() / MAX_CREATED_SHARE) {
            found.clear();
        }
        found.extend(self.find_day_in_names(day));
        found.sort_unstable();
        found.dedup();
        if found.len() > MAX_WRITTEN { Vec::new() } else { found }
    }

    /// The indexes of the live nodes with a day anywhere in one of their names ([`View::has_day_in_name`]), ascending;
    /// none if there are more than 256. Reads all names.
    pub fn find_day_in_names(&self, day: CalendarDay) -> Vec<Ix> {
        let is_named = |ix: &Ix| self.is_live(*ix) && self.has_day_in_name(*ix, day);
        let found: Vec<Ix> = (0..self.slots()).filter(is_named).take(MAX_WRITTEN + 1).collect();
        if found.len() > MAX_WRITTEN { Vec::new() } else { found }
    }

    /// Whether a name of a node contains a day as `2026-11-05`.
    pub fn has_day_in_name(&self, ix: Ix, day: CalendarDay) -> bool {
        self.names(ix).chain(self.other_names(ix)).any(|name| day.is_in_name(name))
    }

    /// Whether a name of a node ends with a day.
    pub(super) fn is_of_day(&self, ix: Ix) -> bool {
        self.days_in_names(ix).next().is_some()
    }

    /// Whether the names of both nodes end with days, and with different ones. A time may follow the day. What happened on two days happened
    /// twice, however similar the texts are, and notes of days are often made from a template.
    pub fn are_of_different_days(&self, a: Ix, b: Ix) -> bool {
        let days = |ix| self.names(ix).chain(self.other_names(ix)).filter_map(CalendarDay::of_timed_name);
        let (mut own, mut others) = (days(a).peekable(), days(b).peekable());
        let are_days = own.peek().is_some() && others.peek().is_some();
        are_days && !own.any(|day| days(b).any(|other| day.may_be(other)))
    }

    fn days_in_names(&self, ix: Ix) -> impl Iterator<Item = CalendarDay> {
        self.names(ix).chain(self.other_names(ix)).filter_map(CalendarDay::of_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Node, testing};
    use proptest::prelude::*;

    const NAMES: [&str; 6] =
        ["a/2026-11-05", "b", "2025-11-05", "c#2026-11-06", "5 November", "d/5 May 2026"];

    #[test]
    fn days_in_names_differ_unless_two_of_them_may_be_the_same() {
        let named = |number, key: &str, other: Option<&str>| {
            let other_names = other.map(str::to_owned).into_iter().collect();
            Delta::Node(Arc::new(Node { key: key.into(), other_names, ..testing::node(number) }))
        };
        let mut view = View::new();
        view.apply(
            1,
            &[
                named(1, "a/2026-11-05", None),
                named(2, "a/2026-11-06", None),
                named(3, "soup", None),
                named(4, "b", Some("5 November")),
                named(5, "log/2026-11-06-08", None),
                named(6, "log/2026-11-07-07", None),
            ],
        );
        let of = |number| view.find(testing::node(number).id).unwrap();
        let differ = |a, b| view.are_of_different_days(of(a), of(b));
        assert!(differ(1, 2) && differ(2, 1) && differ(2, 4));
        assert!(differ(5, 6) && differ(1, 5) && !differ(2, 5));
        assert!(!differ(1, 1) && !differ(1, 3) && !differ(3, 2) && !differ(1, 4) && !differ(4, 1));
    }

    #[test]
    fn nodes_written_on_a_day_have_it_in_a_name_or_were_created_on_it() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let on_day = |number: u64, key: &str, day: i64| {
            let created = Timestamp(day * DAY + 1);
            Delta::Node(Arc::new(Node { key: key.into(), created, ..testing::node(number) }))
        };
        let mut view = View::new();
        let keys = ["log/1970-01-02-07", "1970-01-02/roof", "a", "b", "c", "d", "1970-01-03", "e"];
        let days = [9, 9, 1, 1, 9, 9, 9, 9];
        let deltas: Vec<Delta> =
            (1u64..).zip(keys).zip(days).map(|((number, key), day)| on_day(number, key, day)).collect();
        view.apply(1, &deltas);
        let written = |year| view.find_written_on(CalendarDay { year, month: 1, day: 2 });
        let of = |numbers: [u64; 4]| numbers.map(|number| view.find(testing::node(number).id).unwrap());
        assert_eq!(written(Some(1970)), of([1, 2, 3, 4]));
        assert_eq!(written(None), written(Some(1970)));
        assert!(written(Some(1971)).is_empty());
        // Most nodes were created on the 10th of January.
        assert!(view.find_written_on(CalendarDay { year: None, month: 1, day: 10 }).is_empty());
    }

    poc_laws::laws! {
        /// After any changes, with questions between them, the nodes of a day are those that a scan of all names finds,
        /// also in views from before a change.
        #[test]
        fn the_nodes_of_a_day_equal_a_scan(
            steps in proptest::collection::vec(
                (0u64..4, proptest::option::of((0usize..6, 0usize..6)), any::<bool>()),
                0..12,
            ),
        ) {
            let mut view = View::new();
            let mut views = Vec::new();
            for (seq, (number, names, is_asked)) in (1u64..).zip(steps) {
                let node = testing::node(number);
                let delta = match names {
                    Some((key, other)) => {
                        let key = format!("{number}/{}", NAMES[key]);
                        Delta::Node(Arc::new(Node { key, other_names: vec![NAMES[other].into()], ..node }))
                    }
                    None => Delta::NodeDeleted(node.id),
                };
                view.apply(seq, &[delta]);
                views.push(view.clone());
                if is_asked {
                    view.find_day(CalendarDay { year: None, month: 11, day: 5 });
                }
            }
            for view in &views {
                for year in [None, Some(2026)] {
                    let asked = CalendarDay { year, month: 11, day: 5 };
                    let is_named = |ix: &Ix| {
                        let mut names = view.names(*ix).chain(view.other_names(*ix));
                        names.any(|name| CalendarDay::of_name(name).is_some_and(|day| day.may_be(asked)))
                    };
                    let scanned: Vec<Ix> = (0..view.slots()).filter(is_named).collect();
                    prop_assert_eq!(view.find_day(asked), scanned);
                }
            }
        }
    }
}
