//! Agents that feed each other in a circle: each writes notes that the next one looks at, so that they may
//! never come to an end.
//!
//! What an agent writes by itself are the notes it inserts (semantic ones), and those it puts in place of
//! others (of a type its own pipeline gives), made by `agent:NAME`. What waits for a person feeds nobody: what
//! is proposed, the parts of a note that is to be replaced (so one that inserts and proposes to replace is taken
//! to take notes apart), and whatever an agent does that only runs when it is asked to. Neither do links and
//! weights, which make no visited note stale. Another agent looks at them when its pipeline may give notes of
//! such a type, provenance and length. An agent alone is no circle: its own writes do not make notes stale for
//! it.

use super::Definition;
use super::definition::{ActionKind, Mode, provenance};
use super::schedule::Schedule;
use poc_graph::NodeType;
use poc_graph::error::Error;
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// A warning for every agent that is part of a feedback loop, by its name. `types` are those of notes.
pub fn feedback_loops(agents: &[&Definition], types: &[&str]) -> BTreeMap<String, Error> {
    let by_itself = |agent: &&Definition| agent.enabled && agent.execution.schedule != Schedule::OnDemand;
    let agents: Vec<&Definition> = agents.iter().copied().filter(by_itself).collect();
    let feeds = |from: &Definition, to: &Definition| {
        let writer = provenance(&from.name);
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
        let path = names(&shortest(&edges, at)?);
        let shown: Vec<String> = path.iter().chain(path.first()).map(|name| format!("`{name}`")).collect();
        let last = path.last().copied().unwrap_or_default();
        let message = format!(
            "agents feed each other in a circle: {}; each writes notes that the next one looks at",
            shown.join(" → ")
        );
        let hint = format!("leave the other's notes out, with `!provenance:{last}` in the pipeline");
        let error = Error::config(message).hint(hint).at(agent.at("query.pipeline", 0));
        Some((agent.name.clone(), error))
    });
    warned.collect()
}

/// The types of notes an agent writes without anybody else.
fn written_types<'a>(agent: &Definition, types: &[&'a str]) -> Vec<&'a str> {
    let may = |kind| agent.execution.actions.contains(&kind) && agent.limits.max(kind) > 0;
    if agent.mode != Mode::Apply || agent.limits.max_actions == 0 {
        return Vec::new();
    }
    let rewrites = may(ActionKind::Supersede) && agent.limits.supersede_apply;
    let inserts = may(ActionKind::Insert) && (rewrites || !may(ActionKind::Supersede));
    let given = |kind: &str| agent.query.pipeline.may_return(kind, "manual", usize::MAX);
    types
        .iter()
        .copied()
        .filter(|kind| (inserts && *kind == NodeType::DEFAULT) || (rewrites && given(kind)))
        .collect()
}

/// The shortest way from an agent back to it, without its end.
fn shortest(edges: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut predecessors: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
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
                open.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
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
        let context = Context { config: &config, names: &Names::of(&config), template: &|_| unreachable!() };
        Definition::parse(name, &format!("agents/{name}.toml"), &text, &context).unwrap()
    }

    fn told(agents: &[Definition]) -> String {
        let config = Config::defaults().unwrap();
        let types: Vec<&str> = config.node_types().collect();
        let agents: Vec<&Definition> = agents.iter().collect();
        feedback_loops(&agents, &types).values().map(|warning| format!("{}\n", warning.line())).collect()
    }

    #[test]
    fn agents_that_read_each_others_notes_are_warned_about() {
        let pair = [agent("a", "all | limit:5", ""), agent("b", "type:semantic", "")];
        insta::assert_snapshot!(told(&pair), @r#"
        agents/a.toml:2:13: agents feed each other in a circle: `a` → `b` → `a`; each writes notes that the next one looks at; leave the other's notes out, with `!provenance:b` in the pipeline
        agents/b.toml:2:13: agents feed each other in a circle: `b` → `a` → `b`; each writes notes that the next one looks at; leave the other's notes out, with `!provenance:a` in the pipeline
        "#);
        let three = [
            agent("a", "all | !provenance:b", ""),
            agent("b", "all | !provenance:c", ""),
            agent("c", "all | !provenance:a", ""),
        ];
        insta::assert_snapshot!(told(&three), @r#"
        agents/a.toml:2:13: agents feed each other in a circle: `a` → `b` → `c` → `a`; each writes notes that the next one looks at; leave the other's notes out, with `!provenance:c` in the pipeline
        agents/b.toml:2:13: agents feed each other in a circle: `b` → `c` → `a` → `b`; each writes notes that the next one looks at; leave the other's notes out, with `!provenance:a` in the pipeline
        agents/c.toml:2:13: agents feed each other in a circle: `c` → `a` → `b` → `c`; each writes notes that the next one looks at; leave the other's notes out, with `!provenance:b` in the pipeline
        "#);
    }

    #[test]
    fn agents_that_do_not_read_each_other_form_no_loop() {
        for (first, second) in [
            // One alone; one that reads what none writes; one that leaves the other's out.
            (agent("a", "all", ""), agent("b", "all", "actions = [\"link-add\", \"weight\"]\n")),
            (agent("a", "all", ""), agent("b", "type:episodic", "")),
            (agent("a", "all", ""), agent("b", "!provenance:a", "")),
            (agent("a", "all", ""), agent("b", "!provenance:agent", "")),
            (agent("a", "all", ""), agent("b", "!type:semantic", "")),
            // Longer than what is inserted.
            (agent("a", "all", ""), agent("b", "content-len:>4000", "")),
            (agent("a", "content-len:>=4001", ""), agent("b", "all", "")),
            // A person stands between.
            (agent("a", "all", ""), agent("b", "all", "actions = [\"supersede\"]\n")),
            (agent("a", "all", ""), agent("b", "all", "actions = [\"insert\", \"supersede\"]\n")),
            (agent("a", "all", ""), agent("b", "all", "schedule = \"on-demand\"\n")),
            (agent("a", "all", ""), agent("b", "all", "[limits.insert]\nmax = 0\n")),
        ] {
            assert_eq!(told(&[first.clone(), second.clone()]), "", "{}", second.source);
        }
        let rewrites = "actions = [\"supersede\"]\n[limits.supersede]\nmode = \"apply\"\n";
        assert_eq!(told(&[agent("a", "type:daily", rewrites), agent("b", "type:weekly", rewrites)]), "");
        assert_ne!(told(&[agent("a", "type:daily", rewrites), agent("b", "type:daily", rewrites)]), "");
        // What an algorithm gives has nothing to do with the filters before it.
        assert_ne!(told(&[agent("a", "type:daily | spread", ""), agent("b", "all", "")]), "");
        assert_ne!(told(&[agent("a", "content-len:>=4000", ""), agent("b", "!content-len:>10", "")]), "");
    }

    #[test]
    fn the_bundled_agents_form_no_feedback_loop() {
        let config = Config::defaults().unwrap();
        let prompt =
            |name: &str| Ok(embedded::prompts().iter().find(|(file, _)| *file == name).unwrap().1.to_owned());
        let context = Context { config: &config, names: &Names::of(&config), template: &prompt };
        let agents: Vec<Definition> = embedded::agents()
            .iter()
            .map(|(file, text)| {
                Definition::parse(file.trim_end_matches(".toml"), file, text, &context).unwrap()
            })
            .collect();
        assert_eq!(told(&agents), "");
    }
}
