//! GGUF files of models with a few thousand random weights. Their output is random, so a property that holds for them
//! does not depend on the model.

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use poc_graph::rng::{Rng as _, SeededRng};
use std::path::Path;

const WIDTH: usize = 32;
const HEADS: usize = 2;
const HEAD: usize = WIDTH / HEADS;
const INNER: usize = 64;

/// The description of a file.
#[derive(Clone, Copy)]
pub(crate) struct Tiny {
    /// `llama`, `qwen2`, `qwen3` or `phi3`.
    pub(crate) architecture: &'static str,
    /// `gpt2` or `llama`; anything else is an unknown tokenizer.
    pub(crate) tokenizer: &'static str,
    pub(crate) template: Option<&'static str>,
    pub(crate) context: u32,
    pub(crate) seed: u64,
}

impl Tiny {
    pub(crate) fn new(seed: u64) -> Tiny {
        Tiny { architecture: "llama", tokenizer: "gpt2", template: None, context: 4096, seed }
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let rng = SeededRng::new(self.seed);
        let (metadata, count) = self.metadata();
        let tensors = self.tensors(count, &rng);
        let metadata: Vec<(&str, &Value)> =
            metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
        let tensors: Vec<(&str, &QTensor)> =
            tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let mut file = std::io::Cursor::new(Vec::new());
        gguf_file::write(&mut file, &metadata, &tensors).unwrap();
        file.into_inner()
    }

    pub(crate) fn save(&self, path: &Path) {
        std::fs::write(path, self.bytes()).unwrap();
    }

    fn metadata(&self) -> (Vec<(String, Value)>, usize) {
        let text = |text: &str| Value::String(text.to_owned());
        let texts = |all: &[String]| Value::Array(all.iter().map(|one| text(one)).collect());
        let name = |key: &str| format!("{}.{key}", self.architecture);
        let number = |key: &str, number: usize| (name(key), Value::U32(number as u32));
        let (tokens, kinds) = match self.tokenizer {
            "llama" => pieces(),
            _ => byte_pairs(),
        };
        let mut all = vec![
            ("general.architecture".to_owned(), text(self.architecture)),
            number("attention.head_count", HEADS),
            number("attention.head_count_kv", 1),
            number("attention.key_length", HEAD),
            number("block_count", 2),
            number("embedding_length", WIDTH),
            number("feed_forward_length", INNER),
            number("rope.dimension_count", HEAD),
            number("context_length", self.context as usize),
            (name("attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
            (name("rope.freq_base"), Value::F32(10_000.0)),
            ("tokenizer.ggml.model".to_owned(), text(self.tokenizer)),
            ("tokenizer.ggml.tokens".to_owned(), texts(&tokens)),
            (
                "tokenizer.ggml.token_type".to_owned(),
                Value::Array(kinds.iter().map(|kind| Value::I32(*kind)).collect()),
            ),
            ("tokenizer.ggml.bos_token_id".to_owned(), Value::U32(1)),
            ("tokenizer.ggml.eos_token_id".to_owned(), Value::U32(2)),
        ];
        let scores = (0..tokens.len()).map(|at| Value::F32(-(at as f32))).collect();
        match self.tokenizer {
            "llama" => all.push(("tokenizer.ggml.scores".to_owned(), Value::Array(scores))),
            _ => all.push(("tokenizer.ggml.merges".to_owned(), texts(&MERGES.map(str::to_owned)))),
        }
        if let Some(template) = self.template {
            all.push(("tokenizer.chat_template".to_owned(), text(template)));
        }
        (all, tokens.len())
    }

    fn tensors(&self, count: usize, rng: &SeededRng) -> Vec<(String, QTensor)> {
        let mut all = Vec::new();
        let mut add = |name: String, shape: &[usize], by: f32| all.push((name, tensor(shape, by, rng)));
        add("token_embd.weight".into(), &[count, WIDTH], 1.0);
        add("output_norm.weight".into(), &[WIDTH], 1.0);
        // Larger weights, so that the logits of the tokens differ.
        add("output.weight".into(), &[count, WIDTH], 2.0);
        let keys = HEAD;
        for layer in 0..2 {
            let name = |name: &str| format!("blk.{layer}.{name}");
            for norm in ["attn_norm.weight", "ffn_norm.weight"] {
                add(name(norm), &[WIDTH], 1.0);
            }
            add(name("attn_output.weight"), &[WIDTH, WIDTH], 0.3);
            add(name("ffn_down.weight"), &[WIDTH, INNER], 0.3);
            if self.architecture == "phi3" {
                add(name("attn_qkv.weight"), &[WIDTH + 2 * keys, WIDTH], 0.3);
                add(name("ffn_up.weight"), &[2 * INNER, WIDTH], 0.3);
                continue;
            }
            for (part, rows) in [("attn_q", WIDTH), ("attn_k", keys), ("attn_v", keys)] {
                add(name(&format!("{part}.weight")), &[rows, WIDTH], 0.3);
                if self.architecture == "qwen2" {
                    add(name(&format!("{part}.bias")), &[rows], 0.3);
                }
            }
            if self.architecture == "qwen3" {
                add(name("attn_q_norm.weight"), &[HEAD], 1.0);
                add(name("attn_k_norm.weight"), &[HEAD], 1.0);
            }
            add(name("ffn_gate.weight"), &[INNER, WIDTH], 0.3);
            add(name("ffn_up.weight"), &[INNER, WIDTH], 0.3);
        }
        all
    }
}

/// Matrices are quantised, as in real files; vectors are not.
fn tensor(shape: &[usize], by: f32, rng: &SeededRng) -> QTensor {
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| (unit(rng) * 2.0 - 1.0) * by).collect();
    let kind = if shape.len() == 2 { GgmlDType::Q8_0 } else { GgmlDType::F32 };
    QTensor::quantize(&Tensor::from_vec(values, shape, &Device::Cpu).unwrap(), kind).unwrap()
}

/// A random number from 0 to 1.
fn unit(rng: &SeededRng) -> f32 {
    (rng.next_u64() >> 40) as f32 / (1 << 24) as f32
}

/// Control tokens, which no reply may contain.
const CONTROLS: [&str; 5] = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"];
const MERGES: [&str; 14] = [
    "{ \"", "\" :", "\" ,", ", \"", "Ġ t", "h e", "Ġt he", "i n", "N 1", "\" }", "} ]", "] }", "\" :[", "Ã ©",
];

/// A vocabulary of GPT-2's kind: a character for each byte, and the merges.
fn byte_pairs() -> (Vec<String>, Vec<i32>) {
    let mut tokens: Vec<String> = CONTROLS.iter().map(|&token| token.to_owned()).collect();
    let shows = |byte: u32| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut hidden = 0x100..;
    for byte in 0..=255 {
        let code = if shows(byte) { byte } else { hidden.next().unwrap() };
        tokens.push(char::from_u32(code).unwrap().to_string());
    }
    tokens.push(":[".to_owned());
    tokens.extend(MERGES.iter().map(|merge| merge.replace(' ', "")));
    let kinds = (0..tokens.len()).map(|at| {
        if at == 0 {
            2
        } else if at < CONTROLS.len() {
            3
        } else {
            1
        }
    });
    let kinds = kinds.collect();
    (tokens, kinds)
}

/// A vocabulary of SentencePiece's kind: pieces, and a token for each byte.
fn pieces() -> (Vec<String>, Vec<i32>) {
    let mut tokens: Vec<String> = CONTROLS.iter().map(|&token| token.to_owned()).collect();
    let mut kinds = vec![2, 3, 3, 3, 3];
    tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    kinds.extend([6; 256]);
    let shown = (0x21..=0x7E).filter_map(char::from_u32).chain(['▁', 'é', 'ü', '世']);
    tokens.extend(shown.map(String::from));
    tokens
        .extend(["▁t", "he", "▁the", "in", "N1", "{\"", "\":", "\",", "\"}", "}]", "]}"].map(str::to_owned));
    kinds.resize(tokens.len(), 1);
    (tokens, kinds)
}
