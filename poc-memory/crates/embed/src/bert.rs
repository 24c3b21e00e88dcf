//! Runs a sentence model of the BERT family from a folder, with candle on the CPU.
//!
//! The folder has the layout of the Hugging Face hub: `config.json`, `model.safetensors`, and `tokenizer.json` or
//! `vocab.txt`. Two optional files come from sentence-transformers: `1_Pooling/config.json` defines the pooling, and
//! `sentence_bert_config.json` the maximum number of tokens.

mod elementwise;
mod head;
mod network;

use super::panics::catch_panics;
use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::Config;
pub(super) use head::Head;
use network::{BertNetwork, TokenSequence};
use poc_graph::error::{Error, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{ModelWrapper, NormalizerWrapper, Tokenizer, TruncationParams};

/// Maximum number of tokens of a model whose files define none. Longer texts are truncated.
const DEFAULT_MAX_TOKENS: usize = 256;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
enum ModelError {
    #[error("the model in `{}` cannot be used: {problem}", folder.display())]
    NoEncoder { folder: PathBuf, problem: String },
    #[error("the model in `{}` cannot be used: {problem}", folder.display())]
    NoCrossEncoder { folder: PathBuf, problem: String },
    #[error("a text cannot be tokenized: {0}")]
    Tokenize(tokenizers::Error),
    #[error("the embedding model cannot be run: {0}")]
    Encode(String),
    #[error("the reranking model cannot be run: {0}")]
    Rerank(String),
    #[error("the model's tokenizer is not WordPiece")]
    NotWordPiece,
    #[error("the model's tokenizer does not normalise text as BERT does")]
    OtherNormalizer,
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Error {
        let message = error.to_string();
        match error {
            ModelError::NoEncoder { .. } => Error::config(message).hint(
                "give a folder with `config.json`, `model.safetensors` and `tokenizer.json` of a model of the BERT family",
            ),
            ModelError::NoCrossEncoder { .. } => Error::config(message).hint(
                "give the folder of a cross-encoder of the BERT family with one label, such as ms-marco-MiniLM-L6-v2",
            ),
            ModelError::Tokenize(_) | ModelError::Encode(_) | ModelError::Rerank(_) => Error::internal(message),
            ModelError::NotWordPiece | ModelError::OtherNormalizer => {
                Error::invalid(message).hint("use a model of the BERT family, such as all-MiniLM-L6-v2")
            }
        }
    }
}

/// How the vectors of all tokens are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The vector of the first token.
    First,
}

/// A loaded BERT model.
pub(super) struct Bert {
    network: BertNetwork,
    tokenizer: Tokenizer,
    pooling: Pooling,
    /// The special tokens at the start and the end of a text.
    ends: [u32; 2],
    /// Maximum number of tokens of a text or a pair, including special tokens.
    max_tokens: usize,
    /// The number of dimensions of a vector.
    pub(super) dimensions: usize,
    /// The first bytes of the BLAKE3 hash of weights and settings, in hexadecimal.
    pub(super) revision: String,
}

/// Two texts as one input of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPair {
    /// The token ids of both texts, including special tokens.
    pub(super) ids: Vec<u32>,
    // The position at which the second text starts.
    second: usize,
}

/// A vocabulary and how texts are normalised for it.
pub(super) struct VocabularyInfo {
    /// The tokens by id; empty for ids missing from the vocabulary.
    pub(super) tokens: Vec<String>,
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    pub(super) continues: String,
}

impl Bert {
    /// Opens the model in a folder.
    pub(super) fn open(folder: &Path) -> Result<Bert> {
        let (model, _) = Bert::read(folder, false)
            .map_err(|problem| ModelError::NoEncoder { folder: folder.to_owned(), problem })?;
        Ok(model)
    }

    /// Opens the cross-encoder in a folder.
    pub(super) fn open_with_head(folder: &Path) -> Result<(Bert, Head)> {
        let read = Bert::read(folder, true);
        let read = read.and_then(|(model, head)| Ok((model, head.ok_or("it has no classifier")?)));
        Ok(read.map_err(|problem| ModelError::NoCrossEncoder { folder: folder.to_owned(), problem })?)
    }

    fn read(folder: &Path, with_head: bool) -> Result<(Bert, Option<Head>), String> {
        let settings = bytes(&folder.join("config.json"))?;
        let config = config(&settings)?;
        if with_head && config.type_vocab_size < 2 {
            return Err(
                "`config.json`: `type_vocab_size` is 1, so the model cannot read a second text".into()
            );
        }
        let pooling = pooling(folder)?;
        let weights = bytes(&folder.join("model.safetensors"))?;
        let mut hash = blake3::Hasher::new();
        hash.update(&weights).update(&settings).update(&[pooling as u8]);
        // Another tokenizer gives other vectors, so it is part of the revision.
        for name in ["tokenizer.json", "vocab.txt", "tokenizer_config.json", "sentence_bert_config.json"] {
            let text = std::fs::read(folder.join(name)).unwrap_or_default();
            hash.update(&(text.len() as u64).to_le_bytes()).update(&text);
        }
        let revision = hash.finalize().to_hex().as_str().chars().take(8).collect();
        let (network, head) = catch_panics(|| {
            let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
            // Models with a head store the encoder under the prefix `bert`.
            let prefixed = weights.pp("bert");
            let has_prefix = prefixed.contains_tensor("embeddings.word_embeddings.weight");
            let encoder = if has_prefix { &prefixed } else { &weights };
            let head = with_head.then(|| Head::load(&weights, encoder, config.hidden_size)).transpose()?;
            Ok((BertNetwork::load(encoder, &config)?, head))
        })
        .map_err(|problem| format!("`model.safetensors`: {problem}"))?;
        let number = |file: &str, key: &str| {
            let found = json(&folder.join(file))?.and_then(|settings| settings.get(key)?.as_u64());
            Ok::<_, String>(found.and_then(|number| usize::try_from(number).ok()))
        };
        let max_tokens = match with_head {
            false => number("sentence_bert_config.json", "max_seq_length")?.unwrap_or(DEFAULT_MAX_TOKENS),
            true => number("tokenizer_config.json", "model_max_length")?.unwrap_or(usize::MAX),
        };
        let max_tokens = max_tokens.min(config.max_position_embeddings).max(3);
        let tokenizer = tokenizer(folder, max_tokens)?;
        let special_token = |name: &str| {
            let id = tokenizer.token_to_id(name).filter(|&id| (id as usize) < config.vocab_size);
            id.ok_or_else(|| {
                format!("the special token `{name}` is missing from the vocabulary or unknown to the model")
            })
        };
        let ends = [special_token("[CLS]")?, special_token("[SEP]")?];
        Ok((
            Bert { network, tokenizer, pooling, ends, max_tokens, dimensions: config.hidden_size, revision },
            head,
        ))
    }

    /// The token ids of a text, including special tokens.
    pub(super) fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, false);
        let encoding = encoding.map_err(ModelError::Tokenize)?;
        let [first, last] = self.ends;
        Ok([&[first], encoding.get_ids(), &[last]].concat())
    }

    /// The unit vectors of tokenized texts, computed in one batch.
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let states = self.states(texts)?;
        let width = self.dimensions;
        let mut rows = states.chunks(width);
        let pooled = texts.iter().map(|text| {
            let mut vector = vec![0.0; width];
            let used = match self.pooling {
                Pooling::Mean => text.len(),
                Pooling::First => 1,
            };
            for (_, state) in rows.by_ref().take(text.len()).enumerate().filter(|(at, _)| *at < used) {
                vector.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
            }
            poc_rank::cosine::normalize(&mut vector);
            vector
        });
        Ok(pooled.collect())
    }

    /// The last hidden state of each token in a range, where each token is an input of its own between the special
    /// tokens.
    pub(super) fn single_token_states(&self, tokens: std::ops::Range<u32>) -> Result<Vec<Vec<f32>>> {
        let [first, last] = self.ends;
        let texts: Vec<[u32; 3]> = tokens.map(|token| [first, token, last]).collect();
        let texts: Vec<&[u32]> = texts.iter().map(|text| text.as_slice()).collect();
        let states = self.states(&texts)?;
        Ok(states.chunks(self.dimensions).skip(1).step_by(3).map(<[f32]>::to_vec).collect())
    }

    /// The last hidden states, text by text and token by token.
    fn states(&self, texts: &[&[u32]]) -> Result<Vec<f32>> {
        let texts: Vec<TokenSequence<'_>> =
            texts.iter().map(|ids| TokenSequence { ids, second: ids.len() }).collect();
        Ok(catch_panics(|| self.network.states(&texts)).map_err(ModelError::Encode)?)
    }

    /// Joins two tokenized texts into one input.
    pub(super) fn pair(&self, first: &[u32], second: &[u32]) -> TextPair {
        let without_special_tokens =
            |text: &[u32]| text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_vec();
        let (mut one, mut two) = (without_special_tokens(first), without_special_tokens(second));
        let (max_of_one, max_of_two) =
            truncated_lengths(one.len(), two.len(), self.max_tokens.saturating_sub(3));
        one.truncate(max_of_one);
        two.truncate(max_of_two);
        let [start, end] = self.ends;
        TextPair { second: one.len() + 2, ids: [&[start], one.as_slice(), &[end], &two, &[end]].concat() }
    }

    /// The output of the head for each pair, 0–1.
    pub(super) fn likelihoods(&self, pairs: &[&TextPair], head: &Head) -> Result<Vec<f64>> {
        let texts: Vec<TokenSequence<'_>> =
            pairs.iter().map(|pair| TokenSequence { ids: &pair.ids, second: pair.second }).collect();
        let states = catch_panics(|| self.network.states(&texts)).map_err(ModelError::Rerank)?;
        let mut rows = states.chunks(self.dimensions);
        Ok(pairs
            .iter()
            .map(|pair| {
                let first = rows.next().unwrap_or_default();
                // The state of the first token was used; the other tokens of the pair are skipped.
                rows.by_ref().take(pair.ids.len() - 1).for_each(drop);
                head.likelihood(first)
            })
            .collect())
    }

    /// The vocabulary; fails if the tokenizer is not WordPiece.
    pub(super) fn vocabulary(&self) -> Result<VocabularyInfo> {
        let ModelWrapper::WordPiece(model) = self.tokenizer.get_model() else {
            return Err(ModelError::NotWordPiece.into());
        };
        let (lowercase, strip_accents) = match self.tokenizer.get_normalizer() {
            Some(NormalizerWrapper::BertNormalizer(normalizer)) => {
                (normalizer.lowercase, normalizer.strip_accents.unwrap_or(normalizer.lowercase))
            }
            _ => {
                return Err(ModelError::OtherNormalizer.into());
            }
        };
        let vocabulary = self.tokenizer.get_vocab(true);
        let count = vocabulary.values().max().map_or(0, |&last| last as usize + 1);
        let mut tokens = vec![String::new(); count];
        for (token, id) in vocabulary {
            if let Some(slot) = tokens.get_mut(id as usize) {
                *slot = token;
            }
        }
        Ok(VocabularyInfo {
            tokens,
            lowercase,
            strip_accents,
            continues: model.continuing_subword_prefix.clone(),
        })
    }
}

/// The lengths of two texts after truncation to `max` tokens together. The longer text is first truncated to the length
/// of the shorter, then both to one half each. The `tokenizers` library does the same.
fn truncated_lengths(one: usize, two: usize, max: usize) -> (usize, usize) {
    if one + two <= max {
        return (one, two);
    }
    let shorter = one.min(two);
    let (few, many) = match shorter > max / 2 {
        true => (max / 2, max - max / 2),
        false => (shorter, max - shorter),
    };
    if one > two { (many, few) } else { (few, many) }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

/// Parses a JSON file; `None` if the file does not exist.
fn json(path: &Path) -> Result<Option<Value>, String> {
    match path.exists() {
        false => Ok(None),
        true => serde_json::from_slice(&bytes(path)?)
            .map(Some)
            .map_err(|error| format!("`{}` is not JSON: {error}", path.display())),
    }
}

/// Parses the configuration of the network. Fields that are only needed for training may be missing.
fn config(text: &[u8]) -> Result<Config, String> {
    let wrong = |problem: &dyn std::fmt::Display| format!("`config.json`: {problem}");
    let mut settings: serde_json::Map<String, Value> =
        serde_json::from_slice(text).map_err(|error| wrong(&error))?;
    let kind = settings.get("model_type").and_then(Value::as_str).unwrap_or("bert");
    if kind != "bert" {
        return Err(wrong(&format!("it is a model of the type `{kind}`, only `bert` can be run")));
    }
    for (name, value) in
        [("hidden_dropout_prob", 0.0), ("initializer_range", 0.02), ("layer_norm_eps", 1e-12)]
    {
        settings.entry(name).or_insert(value.into());
    }
    for (name, value) in [("pad_token_id", 0), ("type_vocab_size", 2)] {
        settings.entry(name).or_insert(value.into());
    }
    // These are three names for the same approximation.
    if let Some("gelu_new" | "gelu_fast" | "gelu_pytorch_tanh") =
        settings.get("hidden_act").and_then(Value::as_str)
    {
        settings.insert("hidden_act".into(), "geluapproximate".into());
    }
    let config: Config = serde_json::from_value(Value::Object(settings)).map_err(|error| wrong(&error))?;
    let heads = config.num_attention_heads;
    if heads == 0 || !config.hidden_size.is_multiple_of(heads) || config.hidden_size == 0 {
        return Err(wrong(&format!("{heads} heads cannot share {} dimensions", config.hidden_size)));
    }
    Ok(config)
}

fn pooling(folder: &Path) -> Result<Pooling, String> {
    let Some(settings) = json(&folder.join("1_Pooling").join("config.json"))? else {
        return Ok(Pooling::Mean);
    };
    let is_set = |name: &str| settings.get(name).and_then(Value::as_bool) == Some(true);
    match (is_set("pooling_mode_mean_tokens"), is_set("pooling_mode_cls_token")) {
        (true, false) => Ok(Pooling::Mean),
        (false, true) => Ok(Pooling::First),
        _ => {
            Err("`1_Pooling/config.json` asks for neither the mean of the tokens nor the first one alone"
                .into())
        }
    }
}

/// Loads the tokenizer. It truncates texts to `max_tokens` tokens, including special tokens.
fn tokenizer(folder: &Path, max_tokens: usize) -> Result<Tokenizer, String> {
    let (tokenizer_json, vocabulary): (PathBuf, PathBuf) =
        (folder.join("tokenizer.json"), folder.join("vocab.txt"));
    let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let mut tokenizer = if tokenizer_json.exists() {
        Tokenizer::from_file(&tokenizer_json).map_err(|error| wrong(&tokenizer_json, &error))?
    } else {
        let words = WordPiece::from_file(&vocabulary.to_string_lossy())
            .build()
            .map_err(|error| wrong(&vocabulary, &error))?;
        let mut tokenizer = Tokenizer::new(words);
        let settings = json(&folder.join("tokenizer_config.json"))?;
        let lowercase =
            settings.and_then(|settings| settings.get("do_lower_case")?.as_bool()).unwrap_or(true);
        tokenizer
            .with_normalizer(Some(BertNormalizer::new(true, true, None, lowercase)))
            .map_err(|error| wrong(&vocabulary, &error))?;
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        tokenizer
    };
    tokenizer.with_padding(None);
    let max = TruncationParams { max_length: max_tokens.saturating_sub(2), ..TruncationParams::default() };
    tokenizer.with_truncation(Some(max)).map_err(|error| wrong(&tokenizer_json, &error))?;
    Ok(tokenizer)
}

#[cfg(test)]
pub(super) mod tests;
