//! The network of the BERT family: the encoder of Vaswani et al. (2017) in the variant of Devlin et al. (2019).
//!
//! The texts of a batch are concatenated without padding, and each dense layer is one matrix product over all tokens.
//! Attention is computed per text, so no mask is needed. Query, key and value are computed by one product, and the
//! attention scale is folded into the weights.

use super::elementwise::{self, LayerNorm};
use candle_core::{CpuStorage, Device, InplaceOp1, InplaceOp2, Layout, Result, Tensor, bail};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{Config, HiddenAct};

/// One input of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenSequence<'a> {
    /// The token ids, including special tokens.
    pub(super) ids: &'a [u32],
    /// The position at which the second text starts; the number of tokens if there is only one text.
    pub(super) second: usize,
}

/// The weights of the network.
pub(super) struct BertNetwork {
    words: Vec<f32>,
    positions: Vec<f32>,
    segments: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    width: usize,
}

/// A layer of the encoder.
struct Layer {
    heads: usize,
    // The weights of query, key and value side by side.
    qkv: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    intermediate: Linear,
    activation: fn(&mut [f32], &[f32]),
    output: Linear,
    output_norm: LayerNorm,
}

/// The weight and bias of a dense layer. The following operation adds the bias.
struct Linear {
    // One row per input.
    weight: Tensor,
    bias: Vec<f32>,
}

impl Linear {
    /// A layer from a weight with one row per output, as model files have it.
    fn of(weight: &Tensor, bias: &Tensor) -> Result<Linear> {
        Ok(Linear { weight: weight.t()?.contiguous()?, bias: bias.to_vec1()? })
    }

    fn load(weights: &VarBuilder<'_>, outputs: usize, inputs: usize) -> Result<Linear> {
        Linear::of(&weights.get((outputs, inputs), "weight")?, &weights.get(outputs, "bias")?)
    }

    fn product(&self, states: &Tensor) -> Result<Tensor> {
        states.matmul(&self.weight)
    }
}

impl LayerNorm {
    fn load(weights: &VarBuilder<'_>, width: usize, epsilon: f64) -> Result<LayerNorm> {
        // Models from TensorFlow use these older names.
        let names = if weights.contains_tensor("gamma") { ["gamma", "beta"] } else { ["weight", "bias"] };
        let [scale, shift] = names.map(|name| weights.get(width, name)?.to_vec1());
        Ok(LayerNorm { scale: scale?, shift: shift?, epsilon: epsilon as f32 })
    }
}

impl BertNetwork {
    /// Loads the weights under `embeddings` and `encoder`.
    pub(super) fn load(weights: &VarBuilder<'_>, config: &Config) -> Result<BertNetwork> {
        let (width, epsilon) = (config.hidden_size, config.layer_norm_eps);
        let table = weights.pp("embeddings");
        let rows = |name: &str, count: usize| {
            table.get((count, width), &format!("{name}.weight"))?.flatten_all()?.to_vec1()
        };
        let layers = (0..config.num_hidden_layers)
            .map(|number| Layer::load(&weights.pp(format!("encoder.layer.{number}")), config));
        Ok(BertNetwork {
            words: rows("word_embeddings", config.vocab_size)?,
            positions: rows("position_embeddings", config.max_position_embeddings)?,
            segments: rows("token_type_embeddings", config.type_vocab_size)?,
            norm: LayerNorm::load(&table.pp("LayerNorm"), width, epsilon)?,
            layers: layers.collect::<Result<_>>()?,
            width,
        })
    }

    /// The last hidden states of all texts in order, with one row per token.
    pub(super) fn states(&self, texts: &[TokenSequence<'_>]) -> Result<Vec<f32>> {
        let rows = self.embedded(texts)?;
        if rows.is_empty() {
            return Ok(rows);
        }
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        let count = rows.len() / self.width.max(1);
        let mut states = Tensor::from_vec(rows, (count, self.width), &Device::Cpu)?;
        for layer in &self.layers {
            states = layer.forward(&states, &lengths)?;
        }
        states.flatten_all()?.to_vec1()
    }

    /// The sum of word, position and segment embedding of each token, normalised; one row per token.
    fn embedded(&self, texts: &[TokenSequence<'_>]) -> Result<Vec<f32>> {
        let count: usize = texts.iter().map(|text| text.ids.len()).sum();
        let mut rows = Vec::with_capacity(count * self.width);
        for text in texts {
            for (index, &id) in text.ids.iter().enumerate() {
                let kind = usize::from(index >= text.second);
                let word = self.row(&self.words, id as usize)?;
                let position = self.row(&self.positions, index)?;
                let parts = word.iter().zip(position).zip(self.row(&self.segments, kind)?);
                rows.extend(parts.map(|((word, position), kind)| word + position + kind));
            }
        }
        elementwise::normalize(&mut rows, &[], &[], &self.norm);
        Ok(rows)
    }

    /// Row `at` of a table whose rows have the width of the network.
    fn row<'a>(&self, table: &'a [f32], at: usize) -> Result<&'a [f32]> {
        match table.get(at * self.width..(at + 1) * self.width) {
            Some(row) => Ok(row),
            None => bail!("an embedding table has {} rows and no row {at}", table.len() / self.width.max(1)),
        }
    }
}

impl Layer {
    fn load(weights: &VarBuilder<'_>, config: &Config) -> Result<Layer> {
        let (width, inner, epsilon) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let attention = weights.pp("attention");
        let part = |name: &str, scale: f64| -> Result<(Tensor, Tensor)> {
            let of = attention.pp("self").pp(name);
            Ok(((of.get((width, width), "weight")? * scale)?, (of.get(width, "bias")? * scale)?))
        };
        let scale = (width as f64 / config.num_attention_heads as f64).sqrt().recip();
        let (query, key, value) = (part("query", scale)?, part("key", 1.0)?, part("value", 1.0)?);
        Ok(Layer {
            heads: config.num_attention_heads,
            qkv: Linear::of(
                &Tensor::cat(&[&query.0, &key.0, &value.0], 0)?,
                &Tensor::cat(&[&query.1, &key.1, &value.1], 0)?,
            )?,
            attention_output: Linear::load(&attention.pp("output.dense"), width, width)?,
            attention_norm: LayerNorm::load(&attention.pp("output.LayerNorm"), width, epsilon)?,
            intermediate: Linear::load(&weights.pp("intermediate.dense"), inner, width)?,
            activation: match config.hidden_act {
                HiddenAct::Gelu => elementwise::gelu,
                HiddenAct::GeluApproximate => elementwise::gelu_by_tanh,
                HiddenAct::Relu => elementwise::relu,
            },
            output: Linear::load(&weights.pp("output.dense"), width, inner)?,
            output_norm: LayerNorm::load(&weights.pp("output.LayerNorm"), width, epsilon)?,
        })
    }

    fn forward(&self, states: &Tensor, lengths: &[usize]) -> Result<Tensor> {
        let attended = self.attention_output.product(&self.context(states, lengths)?)?;
        attended.inplace_op2(
            states,
            &InPlaceWith(|rows: &mut [f32], before: &[f32]| {
                elementwise::normalize(rows, before, &self.attention_output.bias, &self.attention_norm);
            }),
        )?;
        let inner = self.intermediate.product(&attended)?;
        inner.inplace_op1(&InPlace(|rows: &mut [f32]| (self.activation)(rows, &self.intermediate.bias)))?;
        let output = self.output.product(&inner)?;
        output.inplace_op2(
            &attended,
            &InPlaceWith(|rows: &mut [f32], before: &[f32]| {
                elementwise::normalize(rows, before, &self.output.bias, &self.output_norm);
            }),
        )?;
        Ok(output)
    }

    /// The attention output of each token, over the tokens of its text.
    fn context(&self, states: &Tensor, lengths: &[usize]) -> Result<Tensor> {
        let (count, width) = states.dims2()?;
        let qkv = self.qkv.product(states)?;
        qkv.inplace_op1(&InPlace(|rows: &mut [f32]| elementwise::shift(rows, &self.qkv.bias)))?;
        let qkv = qkv.reshape((count, 3, self.heads, width / self.heads))?;
        let mut contexts = Vec::with_capacity(lengths.len());
        let mut start = 0;
        for &length in lengths {
            let text = qkv.narrow(0, start, length)?;
            // A view of one head, without a copy.
            let part = |number| text.narrow(1, number, 1)?.squeeze(1)?.transpose(0, 1);
            let weights = part(0)?.matmul(&part(1)?.t()?)?;
            weights.inplace_op1(&InPlace(|rows: &mut [f32]| elementwise::softmax(rows, length)))?;
            contexts.push(weights.matmul(&part(2)?)?.transpose(0, 1)?.reshape((length, width))?);
            start += length;
        }
        Tensor::cat(&contexts, 0)
    }
}

/// An operation that changes the values of a tensor in place.
struct InPlace<F>(F);

impl<F: Fn(&mut [f32])> InplaceOp1 for InPlace<F> {
    fn name(&self) -> &'static str {
        "in-place"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        (self.0)(floats(storage, layout)?);
        Ok(())
    }
}

/// An operation that changes the values of a tensor in place, using those of another tensor.
struct InPlaceWith<F>(F);

impl<F: Fn(&mut [f32], &[f32])> InplaceOp2 for InPlaceWith<F> {
    fn name(&self) -> &'static str {
        "in-place-with"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        other: &CpuStorage,
        at: &Layout,
    ) -> Result<()> {
        let other = match (other, at.contiguous_offsets()) {
            (CpuStorage::F32(values), Some((from, to))) => values.get(from..to).unwrap_or_default(),
            _ => bail!("the tensor is not a contiguous block of 32-bit floats"),
        };
        (self.0)(floats(storage, layout)?, other);
        Ok(())
    }
}

/// The values of a contiguous tensor.
fn floats<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((from, to))) => Ok(values.get_mut(from..to).unwrap_or_default()),
        _ => bail!("the tensor is not a contiguous block of 32-bit floats"),
    }
}
