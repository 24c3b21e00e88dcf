//! Random pipelines of all stages over random graphs. The result is always a set of existing nodes with finite scores,
//! it is deterministic, and the counts add up.

use super::naive::{Graph, graph, state};
use super::parse;
use crate::query::{Param, ParamPosition, ParamType, Presence, StageDef, StageKind, vocabulary};
use poc_graph::error::Code;
use poc_graph::{Ix, State};
use proptest::prelude::*;
use proptest::sample::select;

/// A valid value of a parameter, as written.
fn value(param: &'static Param) -> BoxedStrategy<String> {
    let words = |list: &[&'static str]| select(list.to_vec()).prop_map(str::to_owned).boxed();
    match param.value_type {
        ParamType::Text => words(&["title", "body 3", "\"n1 title 2\"", "word", "éé"]),
        ParamType::Key => words(&["n0", "n1", "n3", "n7", "n99"]),
        ParamType::Name => words(&["linker", "manual", "import", "nobody"]),
        ParamType::NodeType => words(&["episodic", "daily", "weekly"]),
        ParamType::SortField => {
            words(&["priority", "weight", "score", "degree", "created", "visited:linker"])
        }
        ParamType::Direction => words(&["asc", "desc"]),
        ParamType::Glob => words(&["n*", "n?", "n[0-4]", "*"]),
        ParamType::State => words(&["active", "stale", "superseded", "expired"]),
        ParamType::Category => words(&["core", "general", "technical", "observation", "task"]),
        ParamType::Count(min, max) => {
            let near = min..=max.min(min + 12);
            prop_oneof![12 => near, 1 => Just(max)].prop_map(|count| count.to_string()).boxed()
        }
        ParamType::Number(min, max) => (0u32..=10)
            .prop_map(move |tenths| (min + (max - min) * f64::from(tenths) / 10.0).to_string())
            .boxed(),
        ParamType::Duration => words(&["7d", "24h", "90", "2w", "45s"]),
        ParamType::CompareNumber => words(&[">0.5", ">=1", "<3", "<=2", "2", "=1"]),
        ParamType::CompareDuration => words(&[">7d", ">=3h", "<2w", "<=86400", "90"]),
        ParamType::CompareInstant => words(&[">7d", "<=86400", "90", "2026-11-21", "<=2026-11-21"]),
    }
}

/// A stage with values for its required parameters and some of the others.
fn stage(def: &'static StageDef) -> BoxedStrategy<String> {
    let start = any::<bool>()
        .prop_map(|negated| {
            if negated && def.kind() == StageKind::Filter {
                format!("!{}", def.word)
            } else {
                def.word.to_owned()
            }
        })
        .boxed();
    def.params.iter().fold(start, |written, param| {
        let given =
            if param.presence == Presence::Required { Just(true).boxed() } else { any::<bool>().boxed() };
        (written, given, value(param))
            .prop_map(move |(written, given, value)| match param.position {
                _ if !given => written,
                ParamPosition::Colon => format!("{written}:{value}"),
                ParamPosition::Comma => format!("{written},{value}"),
                ParamPosition::Named => format!("{written},{}={value}", param.name),
                ParamPosition::Space => format!("{written} {value}"),
            })
            .boxed()
    })
}

/// A filter without `!`. `state:` is excluded, because it widens `all`.
fn filter() -> impl Strategy<Value = String> {
    let filters = vocabulary().iter().filter(|def| def.kind() == StageKind::Filter && def.word != "state");
    let plain = select(filters.collect::<Vec<_>>()).prop_flat_map(stage);
    plain.prop_map(|text| text.trim_start_matches('!').to_owned())
}

fn pipeline() -> impl Strategy<Value = String> {
    let of = |generates: bool| {
        let defs: Vec<&'static StageDef> =
            vocabulary().iter().filter(|def| (def.kind() == StageKind::Generator) == generates).collect();
        select(defs).prop_flat_map(stage)
    };
    (of(true), proptest::collection::vec(of(false), 0..5))
        .prop_map(|(first, others)| std::iter::once(first).chain(others).collect::<Vec<_>>().join(" | "))
}

fn check(graph: &Graph, text: &str) -> Result<(), TestCaseError> {
    let world = graph.world();
    let pipeline = parse(text).map_err(|error| TestCaseError::fail(error.message))?;
    let (set, explanation) = match pipeline.run(&world.sources()) {
        Ok(answer) => answer,
        Err(error) => {
            prop_assert_eq!(error.code, Code::NotFound, "{}", error);
            prop_assert!(text.contains("n99") || graph.records.len() <= 7, "{}", error);
            return Ok(());
        }
    };
    let mut seen = std::collections::BTreeSet::new();
    for item in &set.items {
        prop_assert!(seen.insert(item.ix), "note {} twice", item.ix);
        prop_assert!(item.score.is_finite(), "score {}", item.score);
        let state = state(&graph.records[item.ix as usize]);
        let asked = text.contains(&format!("state:{state}"));
        prop_assert!(matches!(state, State::Active | State::Stale) || asked, "{} is {}", item.ix, state);
    }
    for pair in &set.pairs {
        prop_assert!(seen.contains(&pair.a) && seen.contains(&pair.b) && pair.a != pair.b);
        prop_assert!(pair.similarity.is_finite());
    }
    let ranked = |stage: &&crate::query::StageReport| {
        stage.kind != "filter" && !stage.stage.starts_with("limit") && !stage.stage.starts_with("offset")
    };
    let last = explanation.stages.iter().rfind(ranked).map_or("", |stage| stage.kind.as_str());
    // After a filter by visits, a visited member of a pair follows the other one.
    let follows_partner =
        last == "generator" && text.starts_with("interference-pairs") && text.contains("visited:");
    if last != "transform" && !follows_partner {
        let id = |at: usize| world.view.id(set.items[at].ix);
        for (at, two) in set.items.windows(2).enumerate() {
            let ordered =
                two[0].score > two[1].score || (two[0].score == two[1].score && id(at) < id(at + 1));
            prop_assert!(ordered, "{:?} before {:?}", two[0], two[1]);
        }
    }
    for two in explanation.stages.windows(2) {
        prop_assert_eq!(two[0].output, two[1].input);
        let shrinks = two[1].kind != "algorithm";
        prop_assert!(!shrinks || two[1].output <= two[1].input);
    }
    prop_assert_eq!(explanation.stages.last().map(|stage| stage.output), Some(set.items.len()));
    let (again, _) = pipeline.run(&world.sources()).map_err(|error| TestCaseError::fail(error.message))?;
    prop_assert_eq!(again.items, set.items);
    prop_assert_eq!(again.pairs, set.pairs);
    Ok(())
}

poc_laws::laws! {
    /// A filter and its negation together keep the whole set, in order.
    #[test]
    fn a_filter_and_its_negation_partition_the_set(
        graph in graph(14), filters in proptest::collection::vec(filter(), 6),
    ) {
        let world = graph.world();
        let run = |text: &str| -> Option<Vec<Ix>> {
            let (set, _) = parse(text).unwrap().run(&world.sources()).ok()?;
            Some(set.items.iter().map(|item| item.ix).collect())
        };
        for filter in filters {
            let halves = [run(&format!("all | {filter}")), run(&format!("all | !{filter}"))];
            // Either both fail because the key does not exist, or neither does.
            let [Some(kept), Some(left)] = halves else {
                prop_assert_eq!(halves, [None, None], "{}", filter);
                continue;
            };
            let all = run("all").unwrap();
            let of = |half: &[Ix]| all.iter().copied().filter(|ix| half.contains(ix)).collect::<Vec<_>>();
            prop_assert_eq!((of(&kept), of(&left)), (kept.clone(), left.clone()), "{}", filter);
            prop_assert_eq!(kept.len() + left.len(), all.len(), "{}", filter);
        }
    }
}

poc_laws::laws! {
    #[test]
    fn any_pipeline_over_any_graph(graph in graph(14), pipelines in proptest::collection::vec(pipeline(), 4)) {
        for pipeline in pipelines {
            check(&graph, &pipeline).map_err(|error| TestCaseError::fail(format!("{pipeline}: {error}")))?;
        }
    }
}
