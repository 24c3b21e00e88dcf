//! What a score gives on along the structure of the notes, one step: to what a good note mentions, to what
//! mentions it, to what has a rare name in common with it, and to what stands beside it in a session. A note
//! that no mention and no session ties has what is alike as well: its nearest notes, each as far as it is near.
//!
//! One step alone: each further one brings more that has nothing to do with the question than that has.
//! Of several notes that mention one the best counts, not their sum, so that what is mentioned
//! everywhere does not come up everywhere. A name in common ties two notes where nothing has it as its
//! title, as the phrases of a text do in HippoRAG (Gutiérrez et al. 2024, NeurIPS): the fewer have it, the
//! more.

/// What each way is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropagationWeights {
    /// To a note whose title a good note mentions.
    pub mentioned: f64,
    /// To a note that mentions a good note's title.
    pub mentioning: f64,
    /// To a note that has a name in common with a good one, when nobody else has it.
    pub sharing: f64,
    /// How many notes may have such a name.
    pub shared_by: usize,
    /// To the note before and the note after.
    pub beside: f64,
    /// To those one further away.
    pub further: f64,
    /// From each of the nearest notes to one that nothing else is tied to.
    pub alike: f64,
}

impl PropagationWeights {
    /// What a note that is worth `score` gives one that has a name in common with it, which `count` notes
    /// have, these two among them: the whole weight at two and evenly less, to nothing at `shared_by + 2`.
    pub fn of_shared_name(&self, count: usize, score: f64) -> f64 {
        let others = count.saturating_sub(2) as f64 / self.shared_by.max(1) as f64;
        self.sharing * (1.0 - others).max(0.0) * score.max(0.0)
    }
}

/// The most that comes one way, and from whom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BestContribution {
    worth: f64,
    from: usize,
}

impl BestContribution {
    fn raise(&mut self, worth: f64, from: usize) {
        if worth > self.worth {
            *self = BestContribution { worth, from };
        }
    }
}

/// What comes to a note. Who gives is told by a number of the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PropagatedScore {
    // The best of the notes that mention it, and of those it mentions.
    mentioned_by: BestContribution,
    mentions: BestContribution,
    // What the best of those gives that it has a name in common with.
    shares: BestContribution,
    // Sums over the notes beside it.
    beside: f64,
    further: f64,
    // The sum over the notes nearest to it.
    alike: f64,
}

impl PropagatedScore {
    /// A note that is worth `score` mentions this one.
    pub fn add_mentioned_by(&mut self, score: f64, from: usize) {
        self.mentioned_by.raise(score, from);
    }

    /// This note mentions one that is worth `score`.
    pub fn add_mention_of(&mut self, score: f64, from: usize) {
        self.mentions.raise(score, from);
    }

    /// This note has a name in common with another, which gives it so much: [`PropagationWeights::of_shared_name`].
    pub fn add_shared_name(&mut self, share: f64, from: usize) {
        self.shares.raise(share, from);
    }

    /// The note before or after it is worth `score`.
    pub fn add_adjacent(&mut self, score: f64) {
        self.beside += score.max(0.0);
    }

    /// The note two before or two after it is worth `score`.
    pub fn add_second_adjacent(&mut self, score: f64) {
        self.further += score.max(0.0);
    }

    /// One of the notes nearest to it, by this cosine, is worth `score`.
    pub fn add_similar(&mut self, cosine: f64, score: f64) {
        self.alike += cosine.max(0.0) * score.max(0.0);
    }

    /// Shares of the mentions, the better of the two ways, and of the names in common: the greater of them
    /// alone, of equals that of the mentions.
    pub fn name_shares(&self, weights: PropagationWeights) -> [f64; 2] {
        let (mention, shared) = (self.by_mention(weights).worth, self.shares.worth);
        if mention >= shared { [mention, 0.0] } else { [0.0, shared] }
    }

    /// Who gives the greater of these shares; `None` when there is none.
    pub fn leading_source(&self, weights: PropagationWeights) -> Option<usize> {
        let mention = self.by_mention(weights);
        let greater = if mention.worth >= self.shares.worth { mention } else { self.shares };
        (greater.worth > 0.0).then_some(greater.from)
    }

    fn by_mention(&self, weights: PropagationWeights) -> BestContribution {
        let weighed = |weight: f64, most: BestContribution| BestContribution { worth: weight * most.worth, ..most };
        let mut best = weighed(weights.mentioned, self.mentioned_by);
        let back = weighed(weights.mentioning, self.mentions);
        best.raise(back.worth, back.from);
        best
    }

    /// Share of the order.
    pub fn sequence_share(&self, weights: PropagationWeights) -> f64 {
        weights.beside * self.beside + weights.further * self.further
    }

    /// Share of what is alike.
    pub fn similarity_share(&self, weights: PropagationWeights) -> f64 {
        weights.alike * self.alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WEIGHTS: PropagationWeights = PropagationWeights {
        mentioned: 0.35,
        mentioning: 0.30,
        sharing: 0.35,
        shared_by: 20,
        beside: 0.30,
        further: 0.15,
        alike: 0.15,
    };

    #[test]
    fn by_hand() {
        let mut propagated = PropagatedScore::default();
        assert_eq!(propagated.leading_source(WEIGHTS), None);
        propagated.add_mentioned_by(10.0, 3);
        propagated.add_mentioned_by(4.0, 4);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.leading_source(WEIGHTS)), ([3.5, 0.0], Some(3)));
        propagated.add_mention_of(20.0, 5);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.leading_source(WEIGHTS)), ([6.0, 0.0], Some(5)));
        propagated.add_shared_name(WEIGHTS.of_shared_name(12, 20.0), 6);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.leading_source(WEIGHTS)), ([6.0, 0.0], Some(5)));
        propagated.add_shared_name(WEIGHTS.of_shared_name(2, 20.0), 7);
        assert_eq!((propagated.name_shares(WEIGHTS), propagated.leading_source(WEIGHTS)), ([0.0, 7.0], Some(7)));
        propagated.add_adjacent(10.0);
        propagated.add_adjacent(2.0);
        propagated.add_second_adjacent(4.0);
        propagated.add_second_adjacent(-4.0);
        assert!((propagated.sequence_share(WEIGHTS) - 4.2).abs() < 1e-12);
        assert_eq!(propagated.similarity_share(WEIGHTS), 0.0);
        propagated.add_similar(0.5, 10.0);
        propagated.add_similar(0.8, 20.0);
        propagated.add_similar(0.9, -7.0);
        assert!((propagated.similarity_share(WEIGHTS) - 3.15).abs() < 1e-12);
    }

    proptest! {
        /// Nothing takes anything away, the order in which it comes plays no part, and one note gives a
        /// note on to another less than it is worth itself.
        #[test]
        fn it_only_adds(scores in proptest::collection::vec(-5.0f64..20.0, 0..8)) {
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
            prop_assert_eq!(of(&scores).leading_source(WEIGHTS), first);
        }

        /// The fewer have a name the more it gives, never more than the note it comes from is worth.
        #[test]
        fn the_rarer_the_more(count in 2usize..60, score in -5.0f64..20.0) {
            let share = |count| WEIGHTS.of_shared_name(count, score);
            prop_assert!(share(count) >= share(count + 1) && share(count + 1) >= 0.0);
            prop_assert!(share(count) <= score.max(0.0));
            prop_assert!((share(count) > 0.0) == (score > 0.0 && count < 22));
        }

        /// What is alike gives less than the mean of what it is worth, and the nearer it is the more.
        #[test]
        fn the_nearer_the_more(near in proptest::collection::vec((-1.0f64..1.0, -5.0f64..20.0), 1..6), at in any::<proptest::sample::Index>()) {
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
