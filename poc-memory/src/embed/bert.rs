//! A sentence model of the BERT family in a folder, run by candle on the processor.
//!
//! The folder is as the Hugging Face hub has it: `config.json`, `model.safetensors`, and `tokenizer.json`
//! or `vocab.txt`; of what sentence-transformers adds, `1_Pooling/config.json` says how tokens become a
//! vector and `sentence_bert_config.json` how many are read.

use super::guard::guarded;
use crate::error::{Error, Result};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{ModelWrapper, NormalizerWrapper, Tokenizer, TruncationParams};

/// Tokens of a text that are read when the folder does not say; longer texts are cut.
const LONGEST: usize = 256;

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pooling {
    /// Their mean.
    Mean,
    /// That of the first token.
    First,
}

/// A model that has been read.
pub(super) struct Bert {
    network: BertModel,
    tokenizer: Tokenizer,
    pooling: Pooling,
    /// The marks that begin and end a text.
    ends: [u32; 2],
    /// Length of a vector.
    pub(super) dimensions: usize,
    /// The first bytes of the BLAKE3 of weights and settings, as hex.
    pub(super) revision: String,
}

/// What a vocabulary is made for.
pub(super) struct Words {
    /// The tokens by id; ids that the model has and the vocabulary has not are empty.
    pub(super) tokens: Vec<String>,
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    pub(super) continues: String,
}

impl Bert {
    /// The model in a folder.
    pub(super) fn open(folder: &Path) -> Result<Bert> {
        Bert::read(folder).map_err(|problem| {
            Error::config(format!("the model in `{}` cannot be used: {problem}", folder.display())).hint(
                "give a folder with `config.json`, `model.safetensors` and `tokenizer.json` of a model of the BERT family",
            )
        })
    }

    fn read(folder: &Path) -> Result<Bert, String> {
        let settings = bytes(&folder.join("config.json"))?;
        let config = config(&settings)?;
        let pooling = pooling(folder)?;
        let weights = bytes(&folder.join("model.safetensors"))?;
        let mut hash = blake3::Hasher::new();
        hash.update(&weights).update(&settings).update(&[pooling as u8]);
        let revision = hash.finalize().to_hex().as_str().chars().take(8).collect();
        let network = guarded(|| {
            let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
            BertModel::load(weights, &config)
        })
        .map_err(|problem| format!("`model.safetensors`: {problem}"))?;
        let said = json(&folder.join("sentence_bert_config.json"))?;
        let longest = said.as_ref().and_then(|said| said.get("max_seq_length")?.as_u64());
        let longest = longest.and_then(|longest| usize::try_from(longest).ok()).unwrap_or(LONGEST);
        let tokenizer = tokenizer(folder, longest.min(config.max_position_embeddings).max(3))?;
        let mark = |name: &str| {
            let id = tokenizer.token_to_id(name).filter(|&id| (id as usize) < config.vocab_size);
            id.ok_or_else(|| format!("its vocabulary has no `{name}` that the model knows"))
        };
        let ends = [mark("[CLS]")?, mark("[SEP]")?];
        Ok(Bert { network, tokenizer, pooling, ends, dimensions: config.hidden_size, revision })
    }

    /// The tokens of a text, marks included.
    pub(super) fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, false);
        let encoding = encoding
            .map_err(|error| Error::internal(format!("a text cannot be cut into tokens: {error}")))?;
        let [first, last] = self.ends;
        Ok([&[first], encoding.get_ids(), &[last]].concat())
    }

    /// The unit vectors of texts given as tokens, which are run through the model together: best ones of
    /// about the same length.
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let (states, length) = self.states(texts)?;
        let width = self.dimensions;
        let pooled = states.chunks(length * width).zip(texts).map(|(states, text)| {
            let count = match self.pooling {
                Pooling::Mean => text.len(),
                Pooling::First => 1,
            };
            let mut vector = vec![0.0; width];
            for state in states.chunks(width).take(count) {
                vector.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
            }
            crate::rank::cosine::normalize(&mut vector);
            vector
        });
        Ok(pooled.collect())
    }

    /// The last hidden state of each of some tokens, each read by itself between the marks.
    pub(super) fn alone(&self, tokens: std::ops::Range<u32>) -> Result<Vec<Vec<f32>>> {
        let [first, last] = self.ends;
        let texts: Vec<[u32; 3]> = tokens.map(|token| [first, token, last]).collect();
        let texts: Vec<&[u32]> = texts.iter().map(|text| text.as_slice()).collect();
        let (states, length) = self.states(&texts)?;
        let width = self.dimensions;
        let middle = |states: &[f32]| states.get(width..2 * width).unwrap_or_default().to_vec();
        Ok(states.chunks(length * width).map(middle).collect())
    }

    /// The last hidden states, text by text and token by token, and to how many tokens texts were filled.
    fn states(&self, texts: &[&[u32]]) -> Result<(Vec<f32>, usize)> {
        let length = texts.iter().map(|text| text.len()).max().unwrap_or(0).max(1);
        let filled = |value: &dyn Fn(Option<&u32>) -> u32| -> Vec<u32> {
            texts.iter().flat_map(|text| (0..length).map(|at| value(text.get(at)))).collect()
        };
        let tokens = filled(&|token| token.copied().unwrap_or(0));
        let mask = filled(&|token| u32::from(token.is_some()));
        let shape = (texts.len(), length);
        let states = guarded(|| {
            let tokens = Tensor::from_vec(tokens, shape, &Device::Cpu)?;
            let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
            let states = self.network.forward(&tokens, &tokens.zeros_like()?, Some(&mask))?;
            states.flatten_all()?.to_vec1::<f32>()
        });
        let states = states
            .map_err(|problem| Error::internal(format!("the embedding model cannot be run: {problem}")))?;
        Ok((states, length))
    }

    /// The vocabulary, when it is one of word pieces.
    pub(super) fn words(&self) -> Result<Words> {
        let ModelWrapper::WordPiece(model) = self.tokenizer.get_model() else {
            return Err(Error::invalid("the model's vocabulary is not one of word pieces")
                .hint("take a model of the BERT family, such as all-MiniLM-L6-v2"));
        };
        let (lowercase, strip_accents) = match self.tokenizer.get_normalizer() {
            Some(NormalizerWrapper::BertNormalizer(normalizer)) => {
                (normalizer.lowercase, normalizer.strip_accents.unwrap_or(normalizer.lowercase))
            }
            _ => {
                return Err(Error::invalid("the model's tokenizer prepares texts as BERT does not")
                    .hint("take a model of the BERT family, such as all-MiniLM-L6-v2"));
            }
        };
        let vocabulary = self.tokenizer.get_vocab(true);
        let count = vocabulary.values().max().map_or(0, |&last| last as usize + 1);
        let mut tokens = vec![String::new(); count];
        for (token, id) in vocabulary {
            if let Some(place) = tokens.get_mut(id as usize) {
                *place = token;
            }
        }
        Ok(Words { tokens, lowercase, strip_accents, continues: model.continuing_subword_prefix.clone() })
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

/// The JSON of a file that may be missing.
fn json(path: &Path) -> Result<Option<Value>, String> {
    match path.exists() {
        false => Ok(None),
        true => serde_json::from_slice(&bytes(path)?)
            .map(Some)
            .map_err(|error| format!("`{}` is no JSON: {error}", path.display())),
    }
}

/// The settings of the network. What only training needs may be missing.
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
    // Three names of the same approximation.
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
    let Some(said) = json(&folder.join("1_Pooling").join("config.json"))? else { return Ok(Pooling::Mean) };
    let is = |name: &str| said.get(name).and_then(Value::as_bool) == Some(true);
    match (is("pooling_mode_mean_tokens"), is("pooling_mode_cls_token")) {
        (true, false) => Ok(Pooling::Mean),
        (false, true) => Ok(Pooling::First),
        _ => {
            Err("`1_Pooling/config.json` asks for neither the mean of the tokens nor the first one alone"
                .into())
        }
    }
}

/// The tokenizer, which cuts texts so that with the marks they have at most `longest` tokens.
fn tokenizer(folder: &Path, longest: usize) -> Result<Tokenizer, String> {
    let (ready, vocabulary): (PathBuf, PathBuf) = (folder.join("tokenizer.json"), folder.join("vocab.txt"));
    let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let mut tokenizer = if ready.exists() {
        Tokenizer::from_file(&ready).map_err(|error| wrong(&ready, &error))?
    } else {
        let words = WordPiece::from_file(&vocabulary.to_string_lossy())
            .build()
            .map_err(|error| wrong(&vocabulary, &error))?;
        let mut tokenizer = Tokenizer::new(words);
        let said = json(&folder.join("tokenizer_config.json"))?;
        let lowercase = said.and_then(|said| said.get("do_lower_case")?.as_bool()).unwrap_or(true);
        tokenizer
            .with_normalizer(Some(BertNormalizer::new(true, true, None, lowercase)))
            .map_err(|error| wrong(&vocabulary, &error))?;
        tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
        tokenizer
    };
    tokenizer.with_padding(None);
    let most = TruncationParams { max_length: longest.saturating_sub(2), ..TruncationParams::default() };
    tokenizer.with_truncation(Some(most)).map_err(|error| wrong(&ready, &error))?;
    Ok(tokenizer)
}

#[cfg(test)]
mod tests;
