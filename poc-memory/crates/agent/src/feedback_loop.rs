//! Detection of feedback loops: cycles of agents in which each one writes notes for the next one, so that
//! they may never stop.
//!
//! An agent writes two kinds of notes without approval: inserted notes (semantic), and replacements of notes
//! (of the types that its own pipeline returns). Both have the provenance `agent:NAME`. Another agent reads
//! them when its pipeline may return notes of this type, provenance and length.
//!
//! The following does not count:
//! - proposals, and the inserts of an agent that proposes replacements: it is assumed to split notes, so that
//!   its inserts wait for the same decision;
//! - agents that are disabled or run only on demand;
//! - links and weight changes, because they make no visited note stale;
//! - the writes of an agent for itself, because they make no note stale for it.

use super::Definition;
use super::definition::{ActionKind, Mode};
use super::schedule::Schedule;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::{NodeType, provenance};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// A warning for every agent in a feedback loop, by agent name. `types` are the configured note types.
pub fn feedback_loops(agents: &[&Definition], types: &[&str]) -> BTreeMap<String, FileDiagnostic> {
    let is_scheduled = |agent: &&Definition| agent.enabled && agent.execution.schedule != Schedule::OnDemand;
    let agents: Vec<&Definition> = agents.iter().copied().filter(is_scheduled).collect();
    let feeds = |from: &Definition, to: &Definition| {
        let writer = provenance::of_agent(&from.name);
        from.name != to.name
            && written_types(from, types)
                .iter()
                .any(|kind| to.query.pipeline.may_return(kind, &writer, from.limits.insert_max_chars))
    };
    let edges: Vec<Vec<usize>> = agents
        .iter()
        .map(|from| (0..).zip(&agents).filter(|(_, to)| feeds(from, to)).map(|(at, _)| at).collect())
        .collect();
    let names = |path: &[usize]| -> Vec<&str> {
        path.iter().filter_map(|at| agents.get(*at)).map(|agent| agent.name.as_str()).collect()
    };
    let warned = (0..).zip(&agents).filter_map(|(at, agent)| {
        let path = names(&shortest_cycle(&edges, at)?);
        let shown: Vec<String> = path.iter().chain(path.first()).map(|name| format!("`{name}`")).collect();
        let last = path.last().copied().unwrap_or_default();
        let message = format!(
            "these agents form a feedback loop: {}; each writes notes that the next one reads",
            shown.join(" → ")
        );
        let hint = format!(
            "add `!provenance:{last}` to the pipeline, so that it does not return the other agent's notes"
        );
        let warning = FileDiagnostic::new(message).hint(hint).at(agent.location("query.pipeline", 0));
        Some((agent.name.clone(), warning))
    });
    warned.collect()
}

/// The note types that an agent writes without approval.
fn written_types<'a>(agent: &Definition, types: &[&'a str]) -> Vec<&'a str> {
    let may = |kind| agent.execution.actions.contains(&kind) && agent.limits.max(kind) > 0;
    if agent.mode != Mode::Apply || agent.limits.max_actions == 0 {
        return Vec::new();
    }
    let rewrites = may(ActionKind::Supersede) && agent.limits.supersede_apply;
    let inserts = may(ActionKind::Insert) && (rewrites || !may(ActionKind::Supersede));
    let may_read = |kind: &str| agent.query.pipeline.may_return(kind, "manual", usize::MAX);
    types
        .iter()
        .copied()
        .filter(|kind| (inserts && *kind == NodeType::DEFAULT) || (rewrites && may_read(kind)))
        .collect()
}

/// The shortest cycle through an agent, starting with it (breadth-first search).
fn shortest_cycle(edges: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut predecessors: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for &next in edges.get(at).into_iter().flatten() {
            if next == start {
                let mut path = vec![at];
                let mut back = at;
                while let Some(&before) = predecessors.get(&back).filter(|_| back != start) {
                    path.push(before);
                    back = before;
                }
                path.reverse();
                return Some(path);
            }
            if let Entry::Vacant(entry) = predecessors.entry(next) {
                entry.insert(at);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DefinitionContext;
    use crate::embedded;
    use poc_config::Config;
    use poc_search::query::Names;

    fn agent(name: &str, pipeline: &str, more: &str) -> Definition {
        let config = Config::defaults().unwrap();
        let actions = if more.contains("actions") { "" } else { "actions = [\"insert\", \"link-add\"]\n" };
        let schedule = if more.contains("schedule") { "" } else { "schedule = \"daily\"\n" };
        let text = format!(
            "[query]\npipeline = \"{pipeline}\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
             [execution]\nmodel = \"default\"\n{schedule}{actions}{more}"
        );
        let context =
            DefinitionContext { config: &config, names: &Names::of(&config), template: &|_| unreachable!() };
        Definition::parse(name, &format!("agents/{name}.toml"), &text, &context).unwrap()
    }

    fn warnings(agents: &[Definition]) -> String {
        let config = Config::defaults().unwrap();
        let types: Vec<&str> = config.node_types().collect();
        let agents: Vec<&Definition> = agents.iter().collect();
        feedback_loops(&agents, &types).values().map(|warning| format!("{}\n", warning.line())).collect()
    }

    #[test]
    fn agents_that_read_each_others_notes_are_warned_about() {
        let pair = [agent("a", "all | limit:5", ""), agent("b", "type:semantic", "")];
        insta::assert_snapshot!(warnings(&pair), @r#"
        agents/a.toml:2:13: these agents form a feedback loop: `a` → `b` → `a`; each writes notes that the next one reads; add `!provenance:b` to the pipeline, so that it does not return the other agent's notes
        agents/b.toml:2:13: these agents form a feedback loop: `b` → `a` → `b`; each writes notes that the next one reads; add `!provenance:a` to the pipeline, so that it does not return the other agent's notes
        "#);
        let three = [
            agent("a", "all | !provenance:b", ""),
            agent("b", "all | !provenance:c", ""),
            agent("c", "all | !provenance:a", ""),
        ];
        insta::assert_snapshot!(warnings(&three), @r#"
        agents/a.toml:2:13: these agents form a feedback loop: `a` → `b` → `c` → `a`; each writes notes that the next one reads; add `!provenance:c` to the pipeline, so that it does not return the other agent's notes
        agents/b.toml:2:13: these agents form a feedback loop: `b` → `c` → `a` → `b`; each writes notes that the next one reads; add `!provenance:a` to the pipeline, so that it does not return the other agent's notes
        agents/c.toml:2:13: these agents form a feedback loop: `c` → `a` → `b` → `c`; each writes notes that the next one reads; add `!provenance:b` to the pipeline, so that it does not return the other agent's notes
        "#);
    }

    #[test]
    fn agents_that_do_not_read_each_other_form_no_loop() {
        for (first, second) in [
            // Only one agent writes; the other reads a type that none writes, or excludes the first one's
            // notes.
            (agent("a", "all", ""), agent("b", "all", "actions = [\"link-add\", \"weight\"]\n")),
            (agent("a", "all", ""), agent("b", "type:episodic", "")),
            (agent("a", "all", ""), agent("b", "!provenance:a", "")),
            (agent("a", "all", ""), agent("b", "!provenance:agent", "")),
            (agent("a", "all", ""), agent("b", "!type:semantic", "")),
            // Longer than what is inserted.
            (agent("a", "all", ""), agent("b", "content-len:>4000", "")),
            (agent("a", "content-len:>=4001", ""), agent("b", "all", "")),
            // A person has to approve or start something.
            (agent("a", "all", ""), agent("b", "all", "actions = [\"supersede\"]\n")),
            (agent("a", "all", ""), agent("b", "all", "actions = [\"insert\", \"supersede\"]\n")),
            (agent("a", "all", ""), agent("b", "all", "schedule = \"on-demand\"\n")),
            (agent("a", "all", ""), agent("b", "all", "[limits.insert]\nmax = 0\n")),
        ] {
            assert_eq!(warnings(&[first.clone(), second.clone()]), "", "{}", second.source);
        }
        let rewrites = "actions = [\"supersede\"]\n[limits.supersede]\nmode = \"apply\"\n";
        assert_eq!(warnings(&[agent("a", "type:daily", rewrites), agent("b", "type:weekly", rewrites)]), "");
        assert_ne!(warnings(&[agent("a", "type:daily", rewrites), agent("b", "type:daily", rewrites)]), "");
        // Algorithms may return notes that the filters before them exclude.
        assert_ne!(warnings(&[agent("a", "type:daily | spread", ""), agent("b", "all", "")]), "");
        assert_ne!(warnings(&[agent("a", "content-len:>=4000", ""), agent("b", "!content-len:>10", "")]), "");
    }

    #[test]
    fn the_bundled_agents_form_no_feedback_loop() {
        let config = Config::defaults().unwrap();
        let prompt = |name: &str| {
            Ok(embedded::prompts().iter().find(|file| file.name == name).unwrap().text.to_owned())
        };
        let context = DefinitionContext { config: &config, names: &Names::of(&config), template: &prompt };
        let agents: Vec<Definition> = embedded::agents()
            .iter()
            .map(|file| {
                let name = file.name.trim_end_matches(".toml");
                Definition::parse(name, file.name, file.text, &context).unwrap()
            })
            .collect();
        assert_eq!(warnings(&agents), "");
    }
}
