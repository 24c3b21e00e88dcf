//! The permit layer: decides which actions of a reply may be applied, from the agent's file and the graph
//! alone and independently of the model.

mod permitted_action;
mod record;
mod refusal;

pub use permitted_action::PermittedAction;
pub use record::{rounded_strength, summary};
pub use refusal::{Refusal, RefusalReason};

use super::action::{Action, Insert, LinkAdd, Supersede, Weight};
use super::definition::{ActionKind, Definition, Mode, Targets};
use super::quotation;
use super::selection::{self, Handle, PromptExtent, Selection};
use poc_graph::error::Result;
use poc_graph::{Activity, ChunkRef, Node, NodeId, Trust, plural};
use poc_notes::{Draft, Memory, key_words};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A permitted action.
#[derive(Clone, Debug, PartialEq)]
pub struct PermitDecision {
    /// The action.
    pub permitted: PermittedAction,
    /// Whether it needs a person's approval.
    pub proposed: bool,
}

/// Maximum characters of a key that an agent gives an existing note.
const MAX_RENAMED_CHARS: usize = 100;

/// The rules of one run and the used part of its limits.
pub struct Permit<'a> {
    definition: &'a Definition,
    mode: Mode,
    selection: &'a Selection,
    protected: HashSet<NodeId>,
    trust: Trust,
    used: HashMap<ActionKind, usize>,
    links: HashSet<(NodeId, NodeId)>,
    reweighted: HashSet<NodeId>,
    replaced: HashSet<NodeId>,
    cut_off: HashSet<NodeId>,
    max_link_strength: f64,
}

type Verdict<T> = std::result::Result<T, Refusal>;

impl<'a> Permit<'a> {
    /// Number of selected nodes that are protected: they may not be superseded.
    pub fn protected(&self) -> usize {
        self.selection.selected().filter(|handle| self.protected.contains(&handle.node.id)).count()
    }

    /// The rules for a selection. Protection and trust follow from the current graph.
    ///
    /// # Errors
    /// Those of the store.
    pub fn new(
        memory: &Memory,
        definition: &'a Definition,
        mode: Mode,
        selection: &'a Selection,
    ) -> Result<Permit<'a>> {
        let view = memory.store.view();
        let nodes: Vec<_> = selection.handles.iter().filter_map(|handle| view.find(handle.node.id)).collect();
        let protected = selection::protected(memory, definition, &view, &nodes)?;
        let protected = protected.into_iter().filter_map(|ix| view.id(ix)).collect();
        Ok(Permit {
            definition,
            mode,
            selection,
            protected,
            // New notes are trusted no more than the notes that were read.
            trust: Trust::Agent.min(selection.trust(&view)),
            used: HashMap::new(),
            links: HashSet::new(),
            reweighted: HashSet::new(),
            replaced: HashSet::new(),
            cut_off: HashSet::new(),
            max_link_strength: definition.limits.link_add_max_strength,
        })
    }

    /// Multiplies the maximum strength of links by a factor, 0 to 1.
    #[must_use]
    pub fn with_link_strength(self, factor: f64) -> Permit<'a> {
        Permit { max_link_strength: self.definition.limits.link_add_max_strength * factor, ..self }
    }

    /// The action as it would be applied: a link strength above the limit is reduced to the limit, and so is a decrease
    /// of a weight that would go below the lowest weight that agents set.
    pub fn clamped<'b>(&self, action: &'b Action) -> Cow<'b, Action> {
        let max = self.max_link_strength;
        match action {
            Action::LinkAdd(link) if link.strength > max && link.strength <= 1.0 => {
                Cow::Owned(Action::LinkAdd(LinkAdd { strength: max, ..link.clone() }))
            }
            Action::Weight(weight) => match self.clamped_decrease(weight) {
                Some(decrease) => Cow::Owned(Action::Weight(Weight { delta: -decrease, ..weight.clone() })),
                None => Cow::Borrowed(action),
            },
            _ => Cow::Borrowed(action),
        }
    }

    /// The permitted part of a decrease of a weight; `None` if all or nothing of it is permitted.
    fn clamped_decrease(&self, action: &Weight) -> Option<f64> {
        let max_delta = self.definition.limits.weight_max_delta;
        let max = max_decrease(self.selection.get(action.node.trim())?.weight, max_delta);
        (max > 0.0 && -action.delta > max && -action.delta <= max_delta).then_some(max)
    }

    /// Decides about an action, and counts it if it is permitted.
    ///
    /// # Errors
    /// The refusal, if the action may not be applied.
    pub fn check(&mut self, action: &Action) -> Verdict<PermitDecision> {
        let kind = action.kind();
        if !self.definition.execution.actions.contains(&kind) {
            return Err(RefusalReason::NotPermitted.because(format!("`{}` is not permitted", kind.name())));
        }
        let permitted = match action {
            Action::LinkAdd(action) => self.link(action),
            Action::Weight(action) => self.weight(action),
            Action::Insert(action) => self.insert(action),
            Action::Supersede(action) => self.supersede(action),
        }?;
        if let Err(refusal) = self.count(kind) {
            self.cut_off.extend(permitted.nodes());
            return Err(refusal);
        }
        match &permitted {
            PermittedAction::Link { from, to, .. } => {
                self.links.insert((*from, *to));
            }
            PermittedAction::Weigh { node, .. } => {
                self.reweighted.insert(*node);
            }
            PermittedAction::Insert { .. } => {}
            PermittedAction::Replace { old: node, .. }
            | PermittedAction::Rewrite { old: node, .. }
            | PermittedAction::Revise { old: node, .. }
            | PermittedAction::Rename { node, .. } => {
                self.replaced.insert(*node);
            }
        }
        match self.mode {
            Mode::Observe => Err(RefusalReason::Observed.because("the agent only observes")),
            Mode::Propose => Ok(PermitDecision { permitted, proposed: true }),
            Mode::Apply => {
                let proposed = kind == ActionKind::Supersede && !self.definition.limits.supersede_apply;
                Ok(PermitDecision { permitted, proposed })
            }
        }
    }

    /// The nodes of actions that were refused only because of a limit on their number.
    pub fn cut_off(&self) -> &HashSet<NodeId> {
        &self.cut_off
    }

    fn link(&self, action: &LinkAdd) -> Verdict<PermittedAction> {
        let (from, to) = (self.handle(&action.from)?, self.handle(&action.to)?);
        if !self.in_targets(from) && !self.in_targets(to) {
            let why = format!("neither {} nor {} is {}", from.name, to.name, self.targets_in_words());
            return Err(RefusalReason::OutOfScope.because(why));
        }
        if from.node.id == to.node.id {
            return Err(RefusalReason::SelfLink
                .because(format!("{} and {} are the same note", action.from, action.to)));
        }
        if !(action.strength > 0.0 && action.strength <= 1.0) {
            let why = format!("the strength {} is not above 0 and at most 1", action.strength);
            return Err(RefusalReason::InvalidValue.because(why));
        }
        let max = self.definition.limits.link_add_max_per_note;
        let ends = [from, to];
        let (from, to) = (from.node.id, to.node.id);
        if self.links.contains(&(from, to)) || self.links.contains(&(to, from)) {
            return Err(RefusalReason::AlreadyPresent.because("the reply contains it twice"));
        }
        let links_of = |id| self.links.iter().filter(|(a, b)| [*a, *b].contains(&id)).count();
        if let Some(full) = ends.into_iter().find(|end| links_of(end.node.id) >= max) {
            let links = plural(max as u64, "link");
            return Err(RefusalReason::OverLimit.because(format!("more than {links} of {}", full.name)));
        }
        let reason = action.reason.clone();
        Ok(PermittedAction::Link { from, to, strength: action.strength, reason })
    }

    fn weight(&self, action: &Weight) -> Verdict<PermittedAction> {
        let node = self.target(&action.node)?;
        let max = self.definition.limits.weight_max_delta;
        if !action.delta.is_finite() || action.delta == 0.0 {
            return Err(
                RefusalReason::InvalidValue.because(format!("a delta of {} changes nothing", action.delta))
            );
        }
        if action.delta.abs() > max {
            return Err(
                RefusalReason::OverLimit.because(format!("a delta of {} is more than {max}", action.delta))
            );
        }
        if self.reweighted.contains(&node.node.id) {
            return Err(RefusalReason::AlreadyPresent.because("the reply changes this weight twice"));
        }
        if -action.delta > max_decrease(node.weight, max) {
            // Not a mistake of the model: the prompt does not tell it this limit.
            let initial = Activity::INITIAL_WEIGHT;
            let (lowest, name, weight) = ((initial - max).max(0.0), &node.name, node.weight);
            let why = format!(
                "agents lower no weight above {initial} or below {lowest:.2}; {name} has {weight:.2}"
            );
            return Err(RefusalReason::AlreadyPresent.because(why));
        }
        Ok(PermittedAction::Weigh { node: node.node.id, delta: action.delta })
    }

    /// The nodes that a new note is derived from.
    fn sources(&self, names: &[String]) -> Verdict<Vec<NodeId>> {
        let mut sources: Vec<NodeId> = Vec::new();
        for name in names {
            let handle = self.handle(name)?;
            if !self.in_targets(handle) {
                let why = format!("its source {} is not {}", handle.name, self.targets_in_words());
                return Err(RefusalReason::OutOfScope.because(why));
            }
            // A note cannot be derived from a note if the prompt shows only its key.
            if handle.shown == PromptExtent::Named {
                let why = format!("the prompt does not show the text of its source {}", handle.name);
                return Err(RefusalReason::OutOfScope.because(why));
            }
            if !sources.contains(&handle.node.id) {
                sources.push(handle.node.id);
            }
        }
        let max = self.definition.limits.insert_max_sources;
        if sources.len() > max {
            let sources = plural(max as u64, "source");
            return Err(RefusalReason::OverLimit.because(format!("more than {sources}")));
        }
        Ok(sources)
    }

    fn insert(&self, action: &Insert) -> Verdict<PermittedAction> {
        let sources = self.sources(&action.sources)?;
        self.check_min_sources(&sources)?;
        self.check_length(&action.title, &action.keywords, &action.body)?;
        let mut draft = self.draft(&action.key, &action.title, action.body.clone())?;
        draft.keywords = Some(action.keywords.clone());
        if self.definition.limits.insert_only_quotations {
            draft.key = Some(self.quotation_key(action, &sources)?);
        } else {
            refuse_quotation_key(&action.key, &action.title)?;
        }
        Ok(PermittedAction::Insert { draft: Box::new(draft), sources, reason: action.reason.clone() })
    }

    /// The key of a new note that must be a quotation of one of its sources.
    fn quotation_key(&self, action: &Insert, sources: &[NodeId]) -> Verdict<String> {
        let quotes = |id: &NodeId| {
            self.selection.by_id(*id).is_some_and(|source| quotation::is_of(&action.body, &source.node))
        };
        if !sources.iter().any(quotes) {
            let why = "the body is not text of a source between “ and ” (`limits.insert.only-quotations`)";
            return Err(RefusalReason::InvalidValue.because(why));
        }
        match action.key.trim() {
            "" => Ok(poc_graph::quotation_key(action.title.trim(), &action.body)),
            key if Node::is_quotation_key(key) => Ok(key.to_owned()),
            key => {
                let why = format!("a quotation cannot have the key `{key}`; without one, it gets its own");
                Err(RefusalReason::InvalidValue.because(why))
            }
        }
    }

    fn check_min_sources(&self, sources: &[NodeId]) -> Verdict<()> {
        let min = self.definition.limits.insert_min_sources;
        if sources.len() < min {
            let found = plural(sources.len() as u64, "source");
            let why = format!("{found}, fewer than {min} (`limits.insert.min-sources`)");
            return Err(RefusalReason::InvalidValue.because(why));
        }
        Ok(())
    }

    fn supersede(&self, action: &Supersede) -> Verdict<PermittedAction> {
        let old = self.target(&action.node)?;
        if self.protected.contains(&old.node.id) {
            return Err(RefusalReason::Protected.because(format!("{} is protected", old.name)));
        }
        if old.shown != PromptExtent::Whole {
            let why = format!("the prompt does not show {} in full", old.name);
            return Err(RefusalReason::OutOfScope.because(why));
        }
        if self.replaced.contains(&old.node.id) {
            return Err(RefusalReason::AlreadyPresent.because("the reply replaces this note twice"));
        }
        let has_new = [&action.key, &action.title, &action.body].iter().any(|text| !text.trim().is_empty());
        match (action.by.trim().is_empty(), has_new) {
            (false, false) => self.replace(action, old),
            (true, true) => self.rewrite(action, old),
            _ => Err(RefusalReason::InvalidValue.because("give either `by` or the text of a new note")),
        }
    }

    /// The permitted replacement of a note by the existing note `by`.
    fn replace(&self, action: &Supersede, old: &Handle) -> Verdict<PermittedAction> {
        let new = self.handle(&action.by)?;
        if new.node.id == old.node.id {
            return Err(RefusalReason::SelfLink.because(format!("{} cannot replace itself", action.node)));
        }
        if self.replaced.contains(&new.node.id) {
            let why = format!("the reply itself replaces {}", action.by);
            return Err(RefusalReason::InvalidValue.because(why));
        }
        Ok(PermittedAction::Replace { old: old.node.id, new: new.node.id, reason: action.reason.clone() })
    }

    /// The permitted replacement of a note by a new one, or its renaming if only its key is new.
    fn rewrite(&self, action: &Supersede, old: &Handle) -> Verdict<PermittedAction> {
        let (was, id) = (&old.node, old.node.id);
        if self.definition.limits.insert_only_quotations {
            let why = "a note can only be replaced by another note of the prompt, which `by` names \
                       (`limits.insert.only-quotations`)";
            return Err(RefusalReason::InvalidValue.because(why));
        }
        // Empty fields of the reply keep the old value.
        let kept = |text: &str, was: &str| {
            if text.trim().is_empty() { was.to_owned() } else { text.to_owned() }
        };
        self.check_length(&action.title, &[], &action.body)?;
        let (title, body) = (kept(&action.title, &was.title), kept(&action.body, &was.body));
        let draft = self.draft(&action.key, &title, body)?;
        refuse_quotation_key(&action.key, &title)?;
        if let Some(renaming) = PermittedAction::renaming(was, &draft) {
            return check_short_key(action.key.trim()).map(|()| renaming);
        }
        // The source of a chunk is its position in a message, so another note must not inherit it.
        let source = was.source.clone().filter(|source| ChunkRef::from_source(Some(source)).is_none());
        let draft = Draft {
            author: was.author.clone(),
            source,
            expires: was.expires,
            node_type: Some(was.node_type.0.clone()),
            category: Some(was.category),
            keywords: Some(was.keywords.clone()),
            emotion: Some(was.emotion),
            created: Some(was.created),
            weight: Some(old.weight),
            supersedes: Some(id),
            ..draft
        };
        let draft = Box::new(draft);
        // A note that was not derived from others stays one of its own.
        if self.selection.view.sources(old.ix).next().is_some() {
            let mut sources = self.sources(&action.sources)?;
            sources.retain(|source| *source != id);
            if !sources.is_empty() {
                self.check_min_sources(&sources)?;
                return Ok(PermittedAction::Revise {
                    old: id,
                    draft,
                    sources,
                    reason: action.reason.clone(),
                });
            }
        }
        Ok(PermittedAction::Rewrite { old: id, draft })
    }

    /// Checks the length of a new note: its body, and its title and keywords.
    fn check_length(&self, title: &str, keywords: &[String], body: &str) -> Verdict<()> {
        let max = self.definition.limits.insert_max_chars;
        let about = title.chars().count() + keywords.iter().map(|word| word.chars().count()).sum::<usize>();
        if about > max {
            let why = format!("title and keywords have {about} characters, more than {max}");
            return Err(RefusalReason::OverLimit.because(why));
        }
        let chars = body.chars().count();
        if chars > max {
            return Err(
                RefusalReason::OverLimit.because(format!("the body has {chars} characters, more than {max}"))
            );
        }
        Ok(())
    }

    fn draft(&self, key: &str, title: &str, body: String) -> Verdict<Draft> {
        if title.trim().is_empty() {
            return Err(RefusalReason::InvalidValue.because("a new note needs a title"));
        }
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut draft = Draft::new(self.definition.provenance(), self.trust);
        (draft.key, draft.title, draft.body) = (given(key), given(title), Some(body));
        Ok(draft)
    }

    fn handle(&self, name: &str) -> Verdict<&'a Handle> {
        self.selection.get(name.trim()).ok_or_else(|| {
            RefusalReason::UnknownHandle.because(format!("the prompt has no `{}`", name.trim()))
        })
    }

    /// The node of a handle, if it is among the targets.
    fn target(&self, name: &str) -> Verdict<&'a Handle> {
        let handle = self.handle(name)?;
        if !self.in_targets(handle) {
            let why = format!("{} is not {}", handle.name, self.targets_in_words());
            return Err(RefusalReason::OutOfScope.because(why));
        }
        Ok(handle)
    }

    /// Whether a node is among the targets.
    fn in_targets(&self, handle: &Handle) -> bool {
        handle.reach <= self.definition.limits.targets
    }

    /// The permitted targets, for messages.
    fn targets_in_words(&self) -> &'static str {
        match self.definition.limits.targets {
            Targets::Results => "among the results",
            Targets::Neighborhood => "among the results or their neighbors",
            Targets::Any => "a note of the prompt",
        }
    }

    /// Counts a permitted action against the limits.
    fn count(&mut self, kind: ActionKind) -> Verdict<()> {
        let limits = &self.definition.limits;
        if self.used.values().sum::<usize>() >= limits.max_actions {
            let actions = plural(limits.max_actions as u64, "action");
            return Err(RefusalReason::OverLimit.because(format!("more than {actions}")));
        }
        let used = self.used.entry(kind).or_default();
        let max = limits.max(kind);
        if *used >= max {
            return Err(RefusalReason::OverLimit.because(format!("more than {max} of `{}`", kind.name())));
        }
        *used += 1;
        Ok(())
    }
}

/// How far an agent may lower a weight, in steps of a thousandth, which texts show: to `max_delta` below the weight of
/// a new note, however many runs lower it. `recall` would otherwise lose sight of notes that a model lowers every night.
/// A weight above that of a new note is not lowered, because use or somebody has raised it.
fn max_decrease(weight: f64, max_delta: f64) -> f64 {
    if weight > Activity::INITIAL_WEIGHT {
        return 0.0;
    }
    let above_lowest = weight - (Activity::INITIAL_WEIGHT - max_delta);
    ((above_lowest * 1000.0).round() / 1000.0).max(0.0)
}

/// Refuses a key of the form of [`poc_graph::quotation_key`], also one that a title without a key would get, because lists
/// do not show a note with such a key.
fn refuse_quotation_key(key: &str, title: &str) -> Verdict<()> {
    let key = match key.trim() {
        "" => key_words(title).join("-"),
        key => key.to_owned(),
    };
    if !Node::is_quotation_key(&key) {
        return Ok(());
    }
    let why = format!(
        "only agents that insert quotations (`limits.insert.only-quotations`) may use a key such as `{key}`"
    );
    Err(RefusalReason::InvalidValue.because(why))
}

/// Checks that a key is a short name. The key is shown next to text that may be trusted more than the agent, so it must
/// not be a sentence.
fn check_short_key(key: &str) -> Verdict<()> {
    let is_short = key.chars().count() <= MAX_RENAMED_CHARS;
    if is_short && !key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    let why = format!("a new key has at most {MAX_RENAMED_CHARS} characters and no spaces");
    Err(RefusalReason::InvalidValue.because(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// However many runs lower a weight, they lower it by no more than one run may. They do not lower a weight that
        /// use has raised.
        #[test]
        fn runs_together_lower_a_weight_as_much_as_one_may(
            start in 0.01f64..2.0,
            max_delta in 0.01f64..1.0,
            decreases in proptest::collection::vec(0.0f64..1.0, 0..50),
        ) {
            let lower = |weight: f64, decrease: &f64| weight - decrease.min(max_decrease(weight, max_delta));
            let end = decreases.iter().fold(start, lower);
            let lowest = if start > 1.0 { start } else { start.min(1.0 - max_delta) };
            prop_assert!(end >= lowest - 5.1e-4, "{start} became {end}");
            prop_assert!(max_decrease(start, max_delta) <= max_delta + 5.1e-4);
        }
    }

    #[test]
    fn a_new_note_can_be_lowered_by_the_limit() {
        assert_eq!(max_decrease(1.0, 0.2), 0.2);
        assert_eq!(max_decrease(0.9931, 0.2), 0.193);
        assert_eq!([max_decrease(0.8, 0.2), max_decrease(0.5, 0.2), max_decrease(1.1, 0.2)], [0.0; 3]);
    }
}
