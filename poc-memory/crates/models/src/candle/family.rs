//! The architectures that are run, by the names files give them.
//!
//! Gemma 3 is not among them: candle keeps a table of 131,072 positions for every layer of it, gigabytes
//! for the smallest model, and cannot read a prompt in pieces.

use super::reader::Reader;
use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::{quantized_llama, quantized_phi3, quantized_qwen2, quantized_qwen3};

/// A model that can be run.
pub(super) trait Network: Send {
    /// Reads tokens behind the `at` ones before; weights of what may follow.
    fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor>;
    /// Gives back the memory of what was read.
    fn forget(&mut self);
}

/// An architecture.
pub(super) struct Family {
    /// What files call it.
    pub(super) name: &'static str,
    /// Tokens it can be run with at most.
    pub(super) longest: usize,
    /// Reads the weights.
    pub(super) load: fn(Content, &mut Reader<'_>) -> Result<Box<dyn Network>>,
}

/// All of them. Tables of positions are as long as the context, which a damaged file may give as anything.
pub(super) const FAMILIES: &[Family] = &[
    // Also Mistral, TinyLlama, SmolLM and many more.
    Family {
        name: "llama",
        longest: quantized_llama::MAX_SEQ_LEN,
        load: |content, reader| {
            Ok(Box::new(quantized_llama::ModelWeights::from_gguf(content, reader, &Device::Cpu)?))
        },
    },
    Family {
        name: "qwen2",
        longest: 131_072,
        load: |content, reader| {
            Ok(Box::new(quantized_qwen2::ModelWeights::from_gguf(content, reader, &Device::Cpu)?))
        },
    },
    Family {
        name: "qwen3",
        longest: 131_072,
        load: |content, reader| {
            Ok(Box::new(quantized_qwen3::ModelWeights::from_gguf(content, reader, &Device::Cpu)?))
        },
    },
    Family {
        name: "phi3",
        // Longer texts need rope factors, which candle does not read.
        longest: 4096,
        load: |content, reader| {
            Ok(Box::new(quantized_phi3::ModelWeights::from_gguf(false, content, reader, &Device::Cpu)?))
        },
    },
];

macro_rules! networks {
    ($($family:ident),+) => {$(
        impl Network for $family::ModelWeights {
            fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor> {
                $family::ModelWeights::forward(self, tokens, at)
            }

            fn forget(&mut self) {
                self.clear_kv_cache();
            }
        }
    )+};
}
networks!(quantized_llama, quantized_qwen2, quantized_qwen3);

impl Network for quantized_phi3::ModelWeights {
    fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor> {
        quantized_phi3::ModelWeights::forward(self, tokens, at)
    }

    /// It forgets by itself at the start of a text.
    fn forget(&mut self) {}
}
