//! The vocabulary of a model: its tokenizer, the bytes of its tokens, and the parsers for grammars over them.
//!
//! It comes from the GGUF file, from a `tokenizer.json` next to it, or from the file that the settings name.

use super::chat;
use super::gguf::{Gguf, number};
use super::spelling::Spelling;
use crate::conversation::{messages, transcript};
use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use llguidance::ParserFactory;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use poc_agent::model::Request;
use poc_embed::catch_panics;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{Prepend, Replace, Sequence};
use tokenizers::{AddedToken, DecoderWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

/// Maximum number of tokens of a plausible vocabulary.
const MAX_TOKENS: usize = 1 << 22;

/// The tokens of a model.
pub(super) struct TokenVocabulary {
    tokenizer: Tokenizer,
    /// Creates parsers over these tokens.
    pub(super) parsers: ParserFactory,
    tokens: TokEnv,
    /// Control tokens, which structure a prompt and must not appear in the text of notes. Longest first.
    controls: Vec<String>,
    template: Option<String>,
    /// The token in front of a prompt without a template.
    bos_token: Option<u32>,
    /// The text of the token that begins a sequence; empty if there is none.
    begin: String,
    /// The text of the token that ends a sequence; empty if there is none.
    end: String,
}

/// Where a vocabulary comes from.
pub(super) enum VocabularySource {
    /// The GGUF file.
    Embedded(Spelling),
    /// A `tokenizer.json`.
    File(PathBuf),
}

/// Why there is no vocabulary.
#[derive(Debug, thiserror::Error)]
pub(super) enum VocabularyError {
    #[error("the tokenizer `{}` does not exist", .0.display())]
    Missing(PathBuf),
    #[error(
        "`{}` has {}: put `tokenizer.json` next to it, or set `tokenizer` of the provider to the path of \
         such a file",
        path.display(), tokenizer_description(kind.as_deref())
    )]
    NotEmbedded { path: PathBuf, kind: Option<String> },
    /// The tokenizer in a GGUF file.
    #[error("the tokenizer of `{}` cannot be read: {problem}", path.display())]
    Embedded { path: PathBuf, problem: String },
    /// A `tokenizer.json`.
    #[error("the tokenizer `{}` cannot be read: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("the tokenizer of `{}` cannot be used: {problem}", path.display())]
    Unusable { path: PathBuf, problem: String },
}

/// Why a prompt cannot be split into tokens.
#[derive(Debug, thiserror::Error)]
pub(super) enum PromptError {
    #[error("the prompt cannot be read as tokens: {0}")]
    NotTokens(tokenizers::Error),
    #[error("the prompt is empty")]
    Empty,
}

/// The tokenizer of a GGUF file in words. `kind` is the kind of tokenizer that the file names.
fn tokenizer_description(kind: Option<&str>) -> String {
    match kind {
        Some(kind) => format!("a tokenizer of the kind `{kind}`, which cannot be read from a GGUF file"),
        None => "no tokenizer".to_owned(),
    }
}

/// Finds the vocabulary of a GGUF file that names the tokenizer kind `kind`. `given` is the path in the settings.
pub(super) fn locate(
    file: &Path,
    kind: Option<&str>,
    given: Option<&Path>,
) -> Result<VocabularySource, VocabularyError> {
    if let Some(given) = given {
        return match given.is_file() {
            true => Ok(VocabularySource::File(given.to_owned())),
            false => Err(VocabularyError::Missing(given.to_owned())),
        };
    }
    match kind {
        Some("gpt2") => return Ok(VocabularySource::Embedded(Spelling::Bytes)),
        Some("llama") => return Ok(VocabularySource::Embedded(Spelling::Pieces)),
        _ => {}
    }
    let sibling = file.with_file_name("tokenizer.json");
    if sibling.is_file() {
        return Ok(VocabularySource::File(sibling));
    }
    Err(VocabularyError::NotEmbedded { path: file.to_owned(), kind: kind.map(str::to_owned) })
}

impl TokenVocabulary {
    pub(super) fn read(gguf: &Gguf, given: Option<&Path>) -> Result<TokenVocabulary, VocabularyError> {
        let content = &gguf.content;
        let unreadable = |problem| VocabularyError::Embedded { path: gguf.path.clone(), problem };
        let unusable = |problem| VocabularyError::Unusable { path: gguf.path.clone(), problem };
        let (tokenizer, spelling) = match locate(&gguf.path, gguf.tokenizer(), given)? {
            VocabularySource::Embedded(Spelling::Bytes) => {
                let mut tokenizer = catch_panics(|| Tokenizer::from_gguf(content)).map_err(unreadable)?;
                // For unknown pre-tokenizers, candle adds a space in front of each piece of text; this
                // disables it.
                if let Some(PreTokenizerWrapper::ByteLevel(bytes)) = tokenizer.get_pre_tokenizer() {
                    let bytes = bytes.add_prefix_space(false);
                    tokenizer.with_pre_tokenizer(Some(bytes));
                }
                (tokenizer, Spelling::Bytes)
            }
            VocabularySource::Embedded(Spelling::Pieces) => {
                (sentencepiece_tokenizer(content).map_err(unreadable)?, Spelling::Pieces)
            }
            VocabularySource::File(path) => {
                let tokenizer = Tokenizer::from_file(&path)
                    .map_err(|error| VocabularyError::File { path, problem: error.to_string() })?;
                let bytes = tokenizer.get_decoder().is_some_and(is_byte_level);
                (tokenizer, if bytes { Spelling::Bytes } else { Spelling::Pieces })
            }
        };
        let added = tokenizer.get_added_tokens_decoder();
        let controls: BTreeSet<String> =
            added.values().filter(|token| token.special).map(|token| token.content.clone()).collect();
        let tokens = token_trie(&tokenizer, spelling, &controls).map_err(unusable)?;
        let parsers = catch_panics(|| ParserFactory::new_simple(&tokens).map_err(candle_core::Error::msg));
        let mut parsers = parsers.map_err(unusable)?;
        parsers.quiet();
        let of = |key: &str| {
            let id = u32::try_from(number(content, key)?).ok()?;
            Some((id, tokenizer.id_to_token(id)?))
        };
        let (begin, end) = (of("tokenizer.ggml.bos_token_id"), of("tokenizer.ggml.eos_token_id"));
        let begins = match content.metadata.get("tokenizer.ggml.add_bos_token") {
            Some(value) => value.to_bool().unwrap_or(false),
            None => spelling == Spelling::Pieces,
        };
        let word =
            |token: &Option<(u32, String)>| token.as_ref().map(|(_, word)| word.clone()).unwrap_or_default();
        let (first, begin, end) =
            (begin.as_ref().filter(|_| begins).map(|(id, _)| *id), word(&begin), word(&end));
        let template = metadata_text(content, "tokenizer.chat_template").map(str::to_owned);
        // Longer ones first: one may be a prefix of another.
        let mut controls: Vec<String> = controls.into_iter().filter(|control| !control.is_empty()).collect();
        controls.sort_by_key(|control| std::cmp::Reverse(control.len()));
        Ok(TokenVocabulary { tokenizer, parsers, tokens, controls, template, bos_token: first, begin, end })
    }

    /// The tokens of a prompt.
    pub(super) fn prompt(&self, request: &Request<'_>) -> Result<Vec<u32>, PromptError> {
        let (text, first) = self.prompt_text(request);
        let encoded = self.tokenizer.encode_fast(text, false).map_err(PromptError::NotTokens)?;
        let tokens: Vec<u32> = first.into_iter().chain(encoded.get_ids().iter().copied()).collect();
        if tokens.is_empty() { Err(PromptError::Empty) } else { Ok(tokens) }
    }

    /// The text of a prompt and the token in front of it. With a chat template, the template writes that token.
    fn prompt_text(&self, request: &Request<'_>) -> (String, Option<u32>) {
        let plain = || (self.escape_controls(&transcript(request)), self.bos_token);
        let Some(template) = &self.template else { return plain() };
        let mut turns = messages(request, "");
        for turn in &mut turns {
            if let Some(content) = turn.get_mut("content") {
                *content = self.escape_controls(content.as_str().unwrap_or_default()).into();
            }
        }
        let system = self.escape_controls(request.system);
        match chat::render(template, &system, &turns, &self.begin, &self.end) {
            Ok(text) => (text, None),
            Err(error) => {
                tracing::warn!("the chat template of the local model cannot be followed: {error:#}");
                plain()
            }
        }
    }

    /// The text with a space inside each control token, so that it cannot begin or end a turn.
    fn escape_controls(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for control in &self.controls {
            if text.contains(control.as_str()) {
                let mut characters = control.chars();
                let first: String = characters.next().into_iter().collect();
                text = text.replace(control.as_str(), &format!("{first} {}", characters.as_str()));
            }
        }
        text
    }

    /// The bytes of a token.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        self.tokens.tok_trie().token(token)
    }

    /// The token that consists of one byte.
    pub(super) fn token(&self, byte: u8) -> Option<u32> {
        self.tokens.tok_trie().token_id_at_bytes(&[byte])
    }
}

/// A text among the metadata of a GGUF file.
fn metadata_text<'a>(content: &'a Content, key: &str) -> Option<&'a str> {
    content.metadata.get(key)?.to_string().ok().map(String::as_str)
}

fn is_byte_level(decoder: &DecoderWrapper) -> bool {
    match decoder {
        DecoderWrapper::ByteLevel(_) => true,
        DecoderWrapper::Sequence(all) => all.get_decoders().iter().any(is_byte_level),
        _ => false,
    }
}

/// A trie of all tokens by their bytes, with an additional token for the end: a grammar ends after its last
/// bracket, independent of the end token of the model.
fn token_trie(
    tokenizer: &Tokenizer,
    spelling: Spelling,
    controls: &BTreeSet<String>,
) -> Result<TokEnv, String> {
    let names: HashMap<u32, String> =
        tokenizer.get_vocab(true).into_iter().map(|(name, id)| (id, name)).collect();
    let count = names.keys().max().map_or(0, |&last| last as usize + 1);
    if count == 0 || count > MAX_TOKENS {
        return Err(format!("it has {count} tokens"));
    }
    let control = |name: &str| [&[TokTrie::SPECIAL_TOKEN_MARKER], name.as_bytes()].concat();
    let word = |id: usize| {
        let name = u32::try_from(id).ok().and_then(|id| names.get(&id));
        match name {
            Some(name) if controls.contains(name) => control(name),
            Some(name) => match spelling.bytes(name) {
                Some(bytes) if !bytes.is_empty() => bytes,
                _ => control(&format!("<[{id}]>")),
            },
            None => control(&format!("<[{id}]>")),
        }
    };
    let mut words: Vec<Vec<u8>> = (0..count).map(word).collect();
    words.push(control("<[end]>"));
    let end = u32::try_from(count).unwrap_or(u32::MAX);
    catch_panics(|| {
        let trie = TokTrie::from(&TokRxInfo::new(end.saturating_add(1), end), &words);
        Ok(Arc::new(ApproximateTokEnv::new(trie)) as TokEnv)
    })
}

/// A tokenizer for SentencePiece BPE, from the pieces and scores of a file: two pieces that form a third are merged, in
/// the order of the scores, highest first.
fn sentencepiece_tokenizer(content: &Content) -> Result<Tokenizer, String> {
    let list = |key: &str| content.metadata.get(key).and_then(|value| value.to_vec().ok());
    let pieces: Vec<String> = list("tokenizer.ggml.tokens")
        .ok_or("it has no tokens")?
        .iter()
        .map(|piece| piece.to_string().cloned().unwrap_or_default())
        .collect();
    let scores: Vec<f32> = list("tokenizer.ggml.scores")
        .ok_or("its pieces have no scores")?
        .iter()
        .map(|score| score.to_f32().unwrap_or(f32::MIN))
        .collect();
    let ids: HashMap<&str, u32> = pieces.iter().map(String::as_str).zip(0..).collect();
    let mut merges = Vec::new();
    for (piece, &score) in pieces.iter().zip(&scores) {
        for (at, _) in piece.char_indices().skip(1) {
            let (left, right) = piece.split_at(at);
            if let (Some(&a), Some(&b)) = (ids.get(left), ids.get(right)) {
                merges.push((score, a, b, left, right));
            }
        }
    }
    merges.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    let merges = merges.into_iter().map(|(.., left, right)| (left.to_owned(), right.to_owned())).collect();
    let mut model = BPE::builder()
        .vocab_and_merges(
            ids.iter()
                .map(|(piece, &id)| ((*piece).to_owned(), id))
                .collect::<tokenizers::models::bpe::Vocab>(),
            merges,
        )
        .byte_fallback(true)
        .fuse_unk(true);
    // Token types: 2 is unknown, 3 control, 4 user-defined.
    let kinds = list("tokenizer.ggml.token_type").map(Vec::as_slice).unwrap_or_default();
    let kind = |value: &Value| value.to_i32().ok().or_else(|| value.to_u32().ok()?.try_into().ok());
    let of_type = |wanted: i32| {
        let found = pieces.iter().zip(kinds).filter(move |(_, value)| kind(value) == Some(wanted));
        found.map(|(piece, _)| piece.clone()).filter(|piece| !piece.is_empty())
    };
    if let Some(unknown) = of_type(2).next() {
        model = model.unk_token(unknown);
    }
    let failed = |error: tokenizers::Error| error.to_string();
    let mut tokenizer = Tokenizer::new(model.build().map_err(failed)?);
    let mut steps: Vec<NormalizerWrapper> = vec![Replace::new(" ", "▁").map_err(failed)?.into()];
    let adds_space =
        content.metadata.get("tokenizer.ggml.add_space_prefix").and_then(|value| value.to_bool().ok());
    if adds_space.unwrap_or(true) {
        steps.insert(0, Prepend::new("▁".to_owned()).into());
    }
    tokenizer.with_normalizer(Some(Sequence::new(steps))).map_err(failed)?;
    let special = |piece: String| AddedToken::from(piece, true);
    tokenizer
        .add_special_tokens(of_type(2).chain(of_type(3)).map(special).collect::<Vec<_>>())
        .map_err(failed)?;
    let user_defined = of_type(4).map(|piece| AddedToken::from(piece, false).normalized(false));
    tokenizer.add_tokens(user_defined.collect::<Vec<_>>()).map_err(failed)?;
    Ok(tokenizer)
}
