//! Score propagation: each of the best notes passes part of its score to related notes, one step away. A related note
//! is one that it mentions or that mentions it, that shares a rare name with it, or that is next to it in a session.
//! Three more relations pass score:
//!
//! - A window of consecutive notes of a session is scored as one text and passes a share to each of its notes, because
//!   the words of a question are often spread over several turns of a conversation.
//! - A note that was derived from others (a fact, a digest) passes a share to each of them, because it may use the
//!   words of the question where they use others. If they were derived from others as well, these get a share of it.
//! - A note that has no mentions and is in no session receives from its nearest notes, in proportion to their cosine.
//!
//! Otherwise, scores propagate only one step, because further steps add more unrelated notes than related ones. If
//! several notes mention a note, only the best one counts; with their sum, a note mentioned everywhere would rank high
//! everywhere. A shared name relates two notes if no note has it as its title, as phrases do in HippoRAG (Gutiérrez et
//! al. 2024, NeurIPS): the fewer notes have the name, the more score it passes on.

/// The weights of the relations, as shares of the score that is passed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropagationWeights {
    /// Weight for a note that a good note mentions.
    pub mentioned: f64,
    /// Weight for a note that mentions a good note.
    pub mentioning: f64,
    /// Weight for a note that shares a name with a good note, if no other note has the name.
    pub sharing: f64,
    /// The name passes no score if at least this many notes have it besides the two that it relates.
    pub shared_by: usize,
    /// Weight for the previous and the next note in a session.
    pub beside: f64,
    /// Weight for the notes two places before and after in a session.
    pub further: f64,
    /// Weight for the notes of a window of a session.
    pub window: f64,
    /// Weight for a note that a good note was derived from.
    pub derived: f64,
    /// Weight for a note that has a link of strength 1 with a good note.
    pub linking: f64,
    /// The number of links up to which each link of a note passes on its full share.
    pub linking_degree: usize,
    /// Weight for a note without other relations, for each of its nearest notes.
    pub alike: f64,
}

impl PropagationWeights {
    /// The score that a note of score `score` passes to a note that shares a name with it. `count` is the number of
    /// notes with the name, including these two. The full weight applies for 2 notes, and it falls linearly to 0 at
    /// `shared_by + 2`.
    pub fn of_shared_name(&self, count: usize, score: f64) -> f64 {
        let others = count.saturating_sub(2) as f64 / self.shared_by.max(1) as f64;
        self.sharing * (1.0 - others).max(0.0) * score.max(0.0)
    }

    /// The score that a note of score `score` with `degree` links passes along one link. With more than
    /// `linking_degree` links, the share falls with the square root of the degree, so that a hub does not raise
    /// everything around it.
    pub fn of_link(&self, strength: f64, degree: usize, score: f64) -> f64 {
        let degree_factor = (self.linking_degree.max(1) as f64 / degree.max(1) as f64).min(1.0).sqrt();
        self.linking * strength * degree_factor * score.max(0.0)
    }
}

/// The highest contribution of one relation, and the note that it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BestContribution {
    score: f64,
    from: usize,
}

impl BestContribution {
    fn raise(&mut self, score: f64, from: usize) {
        if score > self.score {
            *self = BestContribution { score, from };
        }
    }
}

/// The score that is passed to one note. Contributing notes are identified by numbers that the caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PropagatedScore {
    // The best note that mentions this one, and the best note that this one mentions.
    mentioned_by: BestContribution,
    mentions: BestContribution,
    // The highest contribution through a shared name.
    shares: BestContribution,
    // Sums over the neighbours in the note's session.
    beside: f64,
    further: f64,
    // The best window of the session that contains this note.
    window: f64,
    // The best note derived from it.
    derived: BestContribution,
    // The highest contribution along a link, and the highest score of a note at the other end of one.
    link: BestContribution,
    linked_score: f64,
    // The sum over the nearest notes.
    alike: f64,
}

impl PropagatedScore {
    /// Adds a note with the score `score` that mentions this one.
    pub fn add_mentioned_by(&mut self, score: f64, from: usize) {
        self.mentioned_by.raise(score, from);
    }

    /// Adds a note with the score `score` that this one mentions.
    pub fn add_mention_of(&mut self, score: f64, from: usize) {
        self.mentions.raise(score, from);
    }

    /// Adds a note that shares a name with this one and passes on `share`, from [`PropagationWeights::of_shared_name`].
    pub fn add_shared_name(&mut self, share: f64, from: usize) {
        self.shares.raise(share, from);
    }

    /// Adds the previous or the next note in the session, with its score.
    pub fn add_adjacent(&mut self, score: f64) {
        self.beside += score.max(0.0);
    }

    /// Adds a note two places before or after in the session, with its score.
    pub fn add_second_adjacent(&mut self, score: f64) {
        self.further += score.max(0.0);
    }

    /// Adds a window of the session that contains this note, with its score. Only the best window counts.
    pub fn add_window(&mut self, score: f64) {
        self.window = self.window.max(score);
    }

    /// Adds a note that was derived from this one, with its score, or with the share of it that is left after the steps
    /// between them. Only the best one counts.
    pub fn add_derived(&mut self, score: f64, from: usize) {
        self.derived.raise(score, from);
    }

    /// The contribution of the best note derived from this one.
    pub fn derived_share(&self, weights: PropagationWeights) -> f64 {
        weights.derived * self.derived.score
    }

    /// The note that [`PropagatedScore::derived_share`] comes from; `None` if the share is 0.
    pub fn derived_source(&self, weights: PropagationWeights) -> Option<usize> {
        (self.derived_share(weights) > 0.0).then_some(self.derived.from)
    }

    /// Adds a note with the score `score` that has a link with this one and passes on `share`, from
    /// [`PropagationWeights::of_link`]. Only the highest share counts.
    pub fn add_link(&mut self, share: f64, from: usize, score: f64) {
        self.link.raise(share, from);
        self.linked_score = self.linked_score.max(score);
    }

    /// The contribution of the best link to a note whose score without it is `unlinked`. It raises a note at most to
    /// the score of the best note that it has a link with: a note is not a better answer than all those that lead to
    /// it.
    pub fn link_share(&self, unlinked: f64) -> f64 {
        self.link.score.min(self.linked_score - unlinked).max(0.0)
    }

    /// The note at the other end of the best link; `None` if [`PropagatedScore::link_share`] is 0.
    pub fn link_source(&self, unlinked: f64) -> Option<usize> {
        (self.link_share(unlinked) > 0.0).then_some(self.link.from)
    }

    /// Adds one of the nearest notes, with its cosine and its score.
    pub fn add_similar(&mut self, cosine: f64, score: f64) {
        self.alike += cosine.max(0.0) * score.max(0.0);
    }

    /// The contributions of mentions (in the better direction) and of shared names. Only the higher one counts and the
    /// other is 0; if they are equal, mentions count.
    pub fn name_shares(&self, weights: PropagationWeights) -> [f64; 2] {
        let (mention, shared) = (self.by_mention(weights).score, self.shares.score);
        if mention >= shared { [mention, 0.0] } else { [0.0, shared] }
    }

    /// The note that the higher of the [`PropagatedScore::name_shares`] comes from; `None` if both are 0.
    pub fn name_source(&self, weights: PropagationWeights) -> Option<usize> {
        let mention = self.by_mention(weights);
        let greater = if mention.score >= self.shares.score { mention } else { self.shares };
        (greater.score > 0.0).then_some(greater.from)
    }

    /// The higher of the weighted contributions in the two directions of a mention.
    fn by_mention(&self, weights: PropagationWeights) -> BestContribution {
        let weighted =
            |weight: f64, best: BestContribution| BestContribution { score: weight * best.score, ..best };
        let mut best = weighted(weights.mentioned, self.mentioned_by);
        let reverse = weighted(weights.mentioning, self.mentions);
        best.raise(reverse.score, reverse.from);
        best
    }

    /// The contribution of the neighbours in the session.
    pub fn sequence_share(&self, weights: PropagationWeights) -> f64 {
        weights.beside * self.beside + weights.further * self.further
    }

    /// The contribution of the best window of the session.
    pub fn window_share(&self, weights: PropagationWeights) -> f64 {
        weights.window * self.window
    }

    /// The contribution of the nearest notes.
    pub fn similarity_share(&self, weights: PropagationWeights) -> f64 {
        weights.alike * self.alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::max_link_strength::max_link_strength;
    use poc_graph::Trust;
    use proptest::prelude::*;

    const WEIGHTS: PropagationWeights = PropagationWeights {
        mentioned: 0.35,
        mentioning: 0.30,
        sharing: 0.35,
        shared_by: 20,
        beside: 0.30,
        further: 0.15,
        window: 0.7,
        derived: 0.5,
        linking: 0.5,
        linking_degree: 6,
        alike: 0.15,
    };

    #[test]
    fn results_match_values_computed_by_hand() {
        let mut propagated = PropagatedScore::default();
        assert_eq!(propagated.name_source(WEIGHTS), None);
        propagated.add_mentioned_by(10.0, 3);
        propagated.add_mentioned_by(4.0, 4);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.name_source(WEIGHTS)), ([3.5, 0.0], Some(3)));
        propagated.add_mention_of(20.0, 5);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.name_source(WEIGHTS)), ([6.0, 0.0], Some(5)));
        propagated.add_shared_name(WEIGHTS.of_shared_name(12, 20.0), 6);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.name_source(WEIGHTS)), ([6.0, 0.0], Some(5)));
        propagated.add_shared_name(WEIGHTS.of_shared_name(2, 20.0), 7);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.name_source(WEIGHTS)), ([0.0, 7.0], Some(7)));
        propagated.add_adjacent(10.0);
        propagated.add_adjacent(2.0);
        propagated.add_second_adjacent(4.0);
        propagated.add_second_adjacent(-4.0);
        assert!((propagated.sequence_share(WEIGHTS) - 4.2).abs() < 1e-12);
        assert_eq!(propagated.window_share(WEIGHTS), 0.0);
        [-3.0, 10.0, 8.0].into_iter().for_each(|score| propagated.add_window(score));
        assert_eq!(propagated.window_share(WEIGHTS), 7.0);
        assert_eq!((propagated.derived_share(WEIGHTS), propagated.derived_source(WEIGHTS)), (0.0, None));
        [(-3.0, 1), (10.0, 8), (8.0, 2)]
            .into_iter()
            .for_each(|(score, from)| propagated.add_derived(score, from));
        assert_eq!((propagated.derived_share(WEIGHTS), propagated.derived_source(WEIGHTS)), (5.0, Some(8)));
        assert_eq!((propagated.link_share(0.0), propagated.link_source(0.0)), (0.0, None));
        for (strength, degree, score) in [(1.0, 24, 12.0), (0.5, 6, 20.0), (0.9, 1, -4.0)] {
            propagated.add_link(WEIGHTS.of_link(strength, degree, score), degree, score);
        }
        assert_eq!([0.0, 21.0].map(|unlinked| propagated.link_source(unlinked)), [Some(6), None]);
        assert_eq!(
            [0.0, 15.0, 17.0, 21.0].map(|unlinked| propagated.link_share(unlinked)),
            [5.0, 5.0, 3.0, 0.0]
        );
        assert_eq!(propagated.similarity_share(WEIGHTS), 0.0);
        propagated.add_similar(0.5, 10.0);
        propagated.add_similar(0.8, 20.0);
        propagated.add_similar(0.9, -7.0);
        assert!((propagated.similarity_share(WEIGHTS) - 3.15).abs() < 1e-12);
    }

    poc_laws::laws! {
        /// Contributions are not negative, do not depend on the order, and are at most the score of the contributing
        /// note.
        #[test]
        fn contributions_are_bounded_and_independent_of_the_order(scores in proptest::collection::vec(-5.0f64..20.0, 0..8)) {
            let of = |scores: &[f64]| {
                let mut propagated = PropagatedScore::default();
                scores.iter().enumerate().for_each(|(at, &score)| propagated.add_mentioned_by(score, at));
                scores.iter().enumerate().for_each(|(at, &score)| propagated.add_mention_of(score, at));
                propagated
            };
            let mut backwards = scores.clone();
            backwards.reverse();
            let [share, _] = of(&scores).name_shares(WEIGHTS);
            prop_assert_eq!([share, 0.0], of(&backwards).name_shares(WEIGHTS));
            let best = scores.iter().fold(0.0f64, |best, score| best.max(*score));
            prop_assert!(share >= 0.0 && share <= best);
            let first = scores.iter().position(|&score| score == best && score > 0.0);
            prop_assert_eq!(of(&scores).name_source(WEIGHTS), first);
        }

        /// The fewer notes have a name, the more it contributes, but at most the score of the contributing note.
        #[test]
        fn a_rarer_name_contributes_more(count in 2usize..60, score in -5.0f64..20.0) {
            let share = |count| WEIGHTS.of_shared_name(count, score);
            prop_assert!(share(count) >= share(count + 1) && share(count + 1) >= 0.0);
            prop_assert!(share(count) <= score.max(0.0));
            prop_assert!((share(count) > 0.0) == (score > 0.0 && count < 22));
        }

        /// A link contributes less from a note with more links, and at most the weight times its strength.
        #[test]
        fn a_link_of_a_hub_contributes_less(degree in 1usize..200, strength in 0.0f64..=1.0, score in -5.0f64..20.0) {
            let share = |degree| WEIGHTS.of_link(strength, degree, score);
            prop_assert!(share(degree) >= share(degree + 1) && share(degree + 1) >= 0.0);
            prop_assert!(share(degree) <= 0.5 * strength * score.max(0.0));
        }

        /// A link contributes no less if its writer is trusted more, and at most the weight times the score.
        #[test]
        fn a_link_of_a_more_trusted_writer_contributes_no_less(strength in 0.0f64..=1.0, degree in 1usize..200, score in -5.0f64..20.0) {
            let share = |trust: &Trust| WEIGHTS.of_link(strength.min(max_link_strength(*trust)), degree, score);
            let shares: Vec<f64> = Trust::ALL.iter().map(share).collect();
            prop_assert!(shares.is_sorted(), "{:?}", shares);
            prop_assert!(shares.iter().all(|share| (0.0..=0.5 * score.max(0.0)).contains(share)), "{:?}", shares);
        }

        /// Links never lower a score, and never raise it above that of the best note at their other ends.
        #[test]
        fn links_raise_a_score_at_most_to_the_best_linked_one(scores in proptest::collection::vec(-5.0f64..20.0, 0..8), unlinked in -5.0f64..25.0) {
            let mut propagated = PropagatedScore::default();
            for (at, &score) in scores.iter().enumerate() {
                propagated.add_link(WEIGHTS.of_link(0.8, at + 1, score), at, score);
            }
            let best = scores.iter().fold(0.0f64, |best, score| best.max(*score));
            let linked = unlinked + propagated.link_share(unlinked);
            prop_assert!(unlinked <= linked && linked <= unlinked.max(best) + 1e-12);
            if best > unlinked.max(0.0) {
                prop_assert!(linked > unlinked);
            }
        }

        /// Nearest notes contribute at most the mean of their scores, and more when they are nearer.
        #[test]
        fn nearer_notes_contribute_more(near in proptest::collection::vec((-1.0f64..1.0, -5.0f64..20.0), 1..6), at in any::<proptest::sample::Index>()) {
            let weights = PropagationWeights { alike: 0.75 / near.len() as f64, ..WEIGHTS };
            let share = |near: &[(f64, f64)]| {
                let mut propagated = PropagatedScore::default();
                near.iter().for_each(|&(cosine, score)| propagated.add_similar(cosine, score));
                propagated.similarity_share(weights)
            };
            let mean = near.iter().map(|(_, score)| score.max(0.0)).sum::<f64>() / near.len() as f64;
            let first = share(&near);
            prop_assert!(first >= 0.0 && first <= mean + 1e-12);
            let mut nearer = near.clone();
            nearer[at.index(near.len())].0 = 1.0;
            prop_assert!(share(&nearer) >= first);
        }
    }
}
