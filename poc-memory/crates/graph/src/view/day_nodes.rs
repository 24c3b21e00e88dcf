//! The nodes of days, such as `daily/2026-11-05`.

use super::{Ix, View};
use crate::time::CalendarDay;
use std::sync::{Arc, OnceLock};

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

    /// Whether a name of a node ends with a day.
    pub(super) fn is_of_day(&self, ix: Ix) -> bool {
        self.days_in_names(ix).next().is_some()
    }

    /// Whether the names of both nodes end with days, and with different ones. What happened on two days happened
    /// twice, however similar the texts are, and notes of days are often made from a template.
    pub fn are_of_different_days(&self, a: Ix, b: Ix) -> bool {
        let (mut days, mut others) = (self.days_in_names(a).peekable(), self.days_in_names(b).peekable());
        let are_days = days.peek().is_some() && others.peek().is_some();
        are_days && !days.any(|day| self.days_in_names(b).any(|other| day.may_be(other)))
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
            ],
        );
        let of = |number| view.find(testing::node(number).id).unwrap();
        let differ = |a, b| view.are_of_different_days(of(a), of(b));
        assert!(differ(1, 2) && differ(2, 1) && differ(2, 4));
        assert!(!differ(1, 1) && !differ(1, 3) && !differ(3, 2) && !differ(1, 4) && !differ(4, 1));
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
