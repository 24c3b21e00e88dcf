//! The head of a cross-encoder: a `tanh` layer on the first token (the pooler), followed by a linear layer with one
//! output.

use candle_core::{Result, bail};
use candle_nn::VarBuilder;

/// The weights of the head.
pub(crate) struct Head {
    // A square matrix by rows, one row per output of the pooler.
    pooler: Vec<f32>,
    pooler_bias: Vec<f32>,
    classifier: Vec<f32>,
    classifier_bias: f32,
}

impl Head {
    /// Loads the pooler, whose tensors have the prefix of the encoder, and the linear layer `classifier`. `width` is
    /// the length of a hidden state.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape.
    pub(super) fn load(model: &VarBuilder<'_>, encoder: &VarBuilder<'_>, width: usize) -> Result<Head> {
        let classifier = model.get_unchecked("classifier.weight")?;
        if classifier.dims() != [1, width] {
            bail!(
                "`classifier.weight` has the shape {:?}, but a model with one label has {:?}",
                classifier.dims(),
                [1, width]
            );
        }
        let (pooler, bias) = (encoder.pp("pooler.dense"), model.get(1, "classifier.bias")?);
        Ok(Head {
            pooler: pooler.get((width, width), "weight")?.flatten_all()?.to_vec1()?,
            pooler_bias: pooler.get(width, "bias")?.to_vec1()?,
            classifier: classifier.flatten_all()?.to_vec1()?,
            classifier_bias: bias.to_vec1()?.first().copied().unwrap_or_default(),
        })
    }

    /// The output for the last hidden state of the first token, mapped to 0–1 by the sigmoid.
    pub(super) fn likelihood(&self, state: &[f32]) -> f64 {
        let rows = self.pooler.chunks_exact(self.pooler_bias.len().max(1));
        let pooled =
            rows.zip(&self.pooler_bias).map(|(row, bias)| (dot(row, state) + f64::from(*bias)).tanh());
        let sum: f64 = pooled.zip(&self.classifier).map(|(value, weight)| value * f64::from(*weight)).sum();
        1.0 / (1.0 + (-(sum + f64::from(self.classifier_bias))).exp())
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
