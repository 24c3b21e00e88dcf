//! GGUF files: the header, which is checked before anything is allocated from it, and the weights.

use super::cancellable_reader::CancellableReader;
use super::deadline::Deadline;
use super::family::{FAMILIES, Family, Network};
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};
use parking_lot::Mutex;
use poc_embed::catch_panics;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The largest plausible dimension or count; a header with a larger one is damaged.
const MAX_DIMENSION: u64 = 1 << 20;

/// Length and modification time of a file. While both are the same, the file counts as unchanged.
pub(super) type FileStamp = (u64, Option<SystemTime>);

/// A file whose header has been read.
pub(super) struct Gguf {
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
    pub(super) content: Content,
    family: &'static Family,
}

/// Why the model in a GGUF file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum GgufError {
    #[error("`{}` is not a file; give the GGUF file of a model as `id`", .0.display())]
    NotAFile(PathBuf),
    #[error("the model `{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is not a GGUF file", .0.display())]
    NotGguf(PathBuf),
    /// The text comes from candle.
    #[error("the model `{}` cannot be read: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error("the model `{}` cannot be read: {problem}", path.display())]
    Header { path: PathBuf, problem: HeaderError },
    #[error(
        "`{}` is a model of the architecture `{architecture}`; {supported} can be run here, others by Ollama \
         or llama.cpp",
        path.display()
    )]
    Architecture { path: PathBuf, architecture: String, supported: String },
}

/// What is wrong with the header of a GGUF file.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeaderError {
    #[error("its `{key}` is {number}")]
    Dimension { key: &'static str, number: u64 },
    #[error("{width} dimensions or {groups} key heads cannot be divided among its {heads} heads")]
    Heads { width: u64, groups: u64, heads: u64 },
    #[error("its `{key}` is greater than the number of its tensors, which is {tensors}")]
    TooFewTensors { key: &'static str, tensors: u64 },
    #[error("its tensor `{0}` does not fit into it; it may have been cut off")]
    TensorOutside(String),
}

/// Cached tokenizer kinds by path, valid while the stamp is unchanged. The cache exists because a list of agents needs
/// the kind for each agent, and a header has megabytes.
static TOKENIZER_KINDS: Mutex<BTreeMap<PathBuf, (FileStamp, Option<String>)>> = Mutex::new(BTreeMap::new());

/// The tokenizer kind that a file names, once its header has been checked.
pub(super) fn tokenizer(path: &Path) -> Result<Option<String>, GgufError> {
    let now = file_stamp(path)?;
    if let Some((_, kind)) = TOKENIZER_KINDS.lock().get(path).filter(|(before, _)| *before == now) {
        return Ok(kind.clone());
    }
    let gguf = Gguf::open(path, &Deadline::never())?;
    let kind = gguf.tokenizer().map(str::to_owned);
    TOKENIZER_KINDS.lock().insert(path.to_owned(), (gguf.stamp, kind.clone()));
    Ok(kind)
}

/// The current stamp of a file.
pub(super) fn file_stamp(path: &Path) -> Result<FileStamp, GgufError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok((found.len(), found.modified().ok())),
        Ok(_) => Err(GgufError::NotAFile(path.to_owned())),
        Err(source) => Err(GgufError::Unreadable { path: path.to_owned(), source }),
    }
}

impl Gguf {
    /// Reads and checks the header.
    pub(super) fn open(path: &Path, deadline: &Deadline<'_>) -> Result<Gguf, GgufError> {
        let stamp = file_stamp(path)?;
        let unreadable = |source| GgufError::Unreadable { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(unreadable)?;
        let mut magic = [0; 4];
        if file.read_exact(&mut magic).is_err() || magic != *b"GGUF" {
            return Err(GgufError::NotGguf(path.to_owned()));
        }
        file.rewind().map_err(unreadable)?;
        let mut reader = CancellableReader::new(file, deadline);
        let content = catch_panics(|| Content::read(&mut reader))
            .map_err(|problem| GgufError::Damaged { path: path.to_owned(), problem })?;
        let architecture =
            content.metadata.get("general.architecture").and_then(|name| name.to_string().ok());
        let architecture = architecture.map_or("", String::as_str);
        let Some(family) = FAMILIES.iter().find(|family| family.name == architecture) else {
            let known: Vec<String> = FAMILIES.iter().map(|family| format!("`{}`", family.name)).collect();
            return Err(GgufError::Architecture {
                path: path.to_owned(),
                architecture: architecture.to_owned(),
                supported: known.join(", "),
            });
        };
        let gguf = Gguf { path: path.to_owned(), stamp, content, family };
        gguf.check().map_err(|problem| GgufError::Header { path: path.to_owned(), problem })?;
        Ok(gguf)
    }

    /// The tokenizer kind that the header names.
    pub(super) fn tokenizer(&self) -> Option<&str> {
        let kind = self.content.metadata.get("tokenizer.ggml.model")?;
        kind.to_string().ok().map(String::as_str)
    }

    /// A number of the header under the prefix of the architecture.
    fn number(&self, key: &str) -> Option<u64> {
        number(&self.content, &format!("{}.{key}", self.family.name))
    }

    /// The context length in tokens, for prompt and reply.
    pub(super) fn context(&self) -> usize {
        let length = self.number("context_length").unwrap_or(u64::MAX).max(1);
        usize::try_from(length).unwrap_or(usize::MAX).min(self.family.max_context)
    }

    /// Checks the values that candle does not check itself: numbers that it divides by or allocates for, and
    /// the positions of the tensors.
    fn check(&self) -> Result<(), HeaderError> {
        let dimension = |key: &'static str| match self.number(key) {
            Some(number) if number == 0 || number > MAX_DIMENSION => {
                Err(HeaderError::Dimension { key, number })
            }
            number => Ok(number),
        };
        let heads = dimension("attention.head_count")?.unwrap_or(1);
        let groups = dimension("attention.head_count_kv")?.unwrap_or(heads);
        let width = dimension("embedding_length")?.unwrap_or(heads);
        if heads % groups != 0 || width % heads != 0 {
            return Err(HeaderError::Heads { width, groups, heads });
        }
        for key in ["rope.dimension_count", "attention.key_length", "feed_forward_length", "block_count"] {
            dimension(key)?;
        }
        let tensors = self.content.tensor_infos.len() as u64;
        for key in ["block_count", "expert_count"] {
            if self.number(key).is_some_and(|number| number > tensors) {
                return Err(HeaderError::TooFewTensors { key, tensors });
            }
        }
        let outside = self.content.tensor_infos.iter().filter(|(_, tensor)| !self.contains(tensor));
        match outside.map(|(name, _)| name).min() {
            Some(name) => Err(HeaderError::TensorOutside(name.clone())),
            None => Ok(()),
        }
    }

    /// Whether a tensor is completely inside the file.
    fn contains(&self, tensor: &TensorInfo) -> bool {
        let elements = tensor.shape.dims().iter().try_fold(1_usize, |all, &one| all.checked_mul(one));
        let (block, bytes) = (tensor.ggml_dtype.block_size(), tensor.ggml_dtype.type_size());
        let end = elements
            .filter(|&elements| elements > 0)
            .and_then(|elements| (elements / block.max(1)).checked_mul(bytes))
            .and_then(|bytes| {
                let start = self.content.tensor_data_offset.checked_add(tensor.offset)?;
                start.checked_add(bytes as u64)
            });
        end.is_some_and(|end| end <= self.stamp.0)
    }

    /// Loads the weights for contexts of up to `context` tokens.
    pub(super) fn load(self, context: usize, deadline: &Deadline<'_>) -> Result<Box<dyn Network>, GgufError> {
        let Gguf { path, mut content, family, .. } = self;
        let context = u32::try_from(context).unwrap_or(u32::MAX);
        // Limits the position tables to the context that is used.
        content.metadata.insert(format!("{}.context_length", family.name), Value::U32(context));
        // 0 means f32. In f16, the positions 2048 and 2049 would be equal.
        content.metadata.insert("general.dtype".to_owned(), Value::U32(0));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(GgufError::Unreadable { path, source }),
        };
        let mut reader = CancellableReader::new(file, deadline);
        catch_panics(|| (family.load)(content, &mut reader))
            .map_err(|problem| GgufError::Damaged { path, problem })
    }
}

/// An integer of the header, whatever its width.
pub(super) fn number(content: &Content, key: &str) -> Option<u64> {
    let value = content.metadata.get(key)?;
    value.to_u64().ok().or_else(|| match value {
        Value::I8(number) => u64::try_from(*number).ok(),
        Value::I16(number) => u64::try_from(*number).ok(),
        Value::I32(number) => u64::try_from(*number).ok(),
        Value::I64(number) => u64::try_from(*number).ok(),
        _ => None,
    })
}
