//! The supported model architectures.
//!
//! Gemma 3 is not supported: candle keeps a table of 131,072 positions for each of its layers, which takes
//! gigabytes even for the smallest model, and candle cannot read Gemma prompts in chunks.

use super::cancellable_reader::CancellableReader;
use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::{quantized_llama, quantized_phi3, quantized_qwen2, quantized_qwen3};

/// A model with loaded weights.
pub(super) trait Network: Send {
    /// Reads tokens after the `at` tokens read before; returns the logits of the next token.
    fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor>;
    /// Clears the key-value cache.
    fn clear_cache(&mut self);
}

/// An architecture.
pub(super) struct Family {
    /// The value of `general.architecture` in files.
    pub(super) name: &'static str,
    /// Maximum context length in tokens.
    pub(super) max_context: usize,
    /// Loads the weights.
    pub(super) load: fn(Content, &mut CancellableReader<'_>) -> Result<Box<dyn Network>>,
}

/// All supported architectures. The maximum context lengths bound the position tables, because a damaged file
/// may contain any context length.
pub(super) const FAMILIES: &[Family] = &[
    // Mistral, TinyLlama, SmolLM and many other models have this architecture, too.
    Family {
        name: "llama",
        max_context: quantized_llama::MAX_SEQ_LEN,
        load: |content, reader| {
            Ok(Box::new(quantized_llama::ModelWeights::from_gguf(content, reader, &Device::Cpu)?))
        },
    },
    Family {
        name: "qwen2",
        max_context: 131_072,
        load: |content, reader| {
            Ok(Box::new(quantized_qwen2::ModelWeights::from_gguf(content, reader, &Device::Cpu)?))
        },
    },
    Family {
        name: "qwen3",
        max_context: 131_072,
        load: |content, reader| {
            Ok(Box::new(quantized_qwen3::ModelWeights::from_gguf(content, reader, &Device::Cpu)?))
        },
    },
    Family {
        name: "phi3",
        // Longer contexts need RoPE scaling factors, which candle does not read.
        max_context: 4096,
        load: |content, reader| {
            Ok(Box::new(quantized_phi3::ModelWeights::from_gguf(false, content, reader, &Device::Cpu)?))
        },
    },
];

macro_rules! impl_network {
    ($($family:ident),+) => {$(
        impl Network for $family::ModelWeights {
            fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor> {
                $family::ModelWeights::forward(self, tokens, at)
            }

            fn clear_cache(&mut self) {
                self.clear_kv_cache();
            }
        }
    )+};
}
impl_network!(quantized_llama, quantized_qwen2, quantized_qwen3);

impl Network for quantized_phi3::ModelWeights {
    fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor> {
        quantized_phi3::ModelWeights::forward(self, tokens, at)
    }

    /// Phi-3 clears its cache itself at position 0.
    fn clear_cache(&mut self) {}
}
