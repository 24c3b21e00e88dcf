//! Measures single signals of retrieval: words alone, vectors alone, and both without the structure of the
//! graph. They show what the fusion gains on a set, and whether one signal alone is better.

use super::EvalPhase;
use super::measure::{Evaluation, score};
use super::report::{DEPTH, TypeMeasures, rows};
use super::set::EvalSet;
use crate::Memory;
use poc_config::RetrieveConfig;
use poc_graph::error::Result;
use poc_graph::{NodeId, Visibility};
use serde::{Deserialize, Serialize};

/// A part of retrieval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// BM25 over titles and bodies.
    Words,
    /// The cosine of the nearest passage of a note.
    Vectors,
    /// Both, without sessions, mentions, links and similar notes.
    Fused,
}

/// The measures of one baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineMeasures {
    /// The baseline.
    pub baseline: Baseline,
    /// A row for each type of question, by name, then one for all questions.
    pub rows: Vec<TypeMeasures>,
}

impl Baseline {
    /// All, in the order of a report.
    pub const ALL: [Baseline; 3] = [Baseline::Words, Baseline::Vectors, Baseline::Fused];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Words => "words",
            Baseline::Vectors => "vectors",
            Baseline::Fused => "fused",
        }
    }

    /// The best notes for a text, best first.
    fn search(self, memory: &Memory, text: &str) -> Result<Vec<NodeId>> {
        let view = memory.store.view();
        let visibility = Visibility::of_person(memory.now());
        // A note that only leads to others is never a hit.
        let keep = |id: NodeId| {
            view.find(id).is_some_and(|ix| view.is_visible(ix, visibility) && !view.is_pointer(ix))
        };
        Ok(match self {
            Baseline::Words => {
                let scores = memory.text.scores(text);
                scores.best(DEPTH, &keep).into_iter().map(|hit| hit.id).collect()
            }
            Baseline::Vectors => {
                let hits = memory.vectors.search(&memory.embedder.embed_one(text)?, DEPTH, &keep)?;
                hits.into_iter().map(|hit| hit.id).collect()
            }
            Baseline::Fused => {
                let config = RetrieveConfig { graph: false, ..memory.config.retrieve.clone() };
                let found = memory.retriever(&view).with_config(&config).find(text, DEPTH, visibility)?;
                found.hits.into_iter().map(|hit| hit.id).filter(|id| keep(*id)).collect()
            }
        })
    }
}

impl Evaluation {
    /// Asks the questions with each baseline.
    ///
    /// # Errors
    /// Those of the embedder.
    pub fn baselines(
        &self,
        set: &EvalSet,
        progress: &dyn Fn(EvalPhase, u64, u64),
    ) -> Result<Vec<BaselineMeasures>> {
        let total = (set.questions.len() * Baseline::ALL.len()) as u64;
        let mut done = 0;
        let mut measure = |baseline: Baseline| -> Result<BaselineMeasures> {
            let mut asked = Vec::with_capacity(set.questions.len());
            for question in &set.questions {
                if let Some(group) = self.group(question.group) {
                    let hits = baseline.search(&group.memory, &question.text)?;
                    asked.push(score(question, group, &hits));
                }
                done += 1;
                progress(EvalPhase::Asking, done, total);
            }
            Ok(BaselineMeasures { baseline, rows: rows(&asked) })
        };
        Baseline::ALL.into_iter().map(&mut measure).collect()
    }
}
