//! A GGUF file: its head, looked at before anything is made of it, and its weights.

use super::family::{FAMILIES, Family, Network};
use super::reader::Reader;
use super::watch::Watch;
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};
use parking_lot::Mutex;
use poc_embed::guarded;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// No model has wider layers or more of them; what asks for more is damaged.
const WIDEST: u64 = 1 << 20;

/// Tells whether a file is still the one that was read.
pub(super) type Stamp = (u64, Option<SystemTime>);

/// A file whose head has been read.
pub(super) struct Gguf {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) content: Content,
    family: &'static Family,
}

/// What the heads of files were found to say of their tokenizers, as long as the files stay as they were: whoever
/// lists agents asks for each of them, and a head has megabytes.
static HEADS: Mutex<BTreeMap<PathBuf, (Stamp, Option<String>)>> = Mutex::new(BTreeMap::new());

/// The kind of tokenizer a file says it has, once its head was found to be good.
pub(super) fn tokenizer(path: &Path) -> Result<Option<String>, String> {
    let now = stamp(path)?;
    if let Some((_, kind)) = HEADS.lock().get(path).filter(|(before, _)| *before == now) {
        return Ok(kind.clone());
    }
    let gguf = Gguf::open(path, &Watch::never())?;
    let kind = gguf.tokenizer().map(str::to_owned);
    HEADS.lock().insert(path.to_owned(), (gguf.stamp, kind.clone()));
    Ok(kind)
}

/// The stamp of a file as it is.
pub(super) fn stamp(path: &Path) -> Result<Stamp, String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok((found.len(), found.modified().ok())),
        Ok(_) => Err(format!("`{}` is no file; give the GGUF file of a model as `id`", path.display())),
        Err(error) => Err(format!("the model `{}` cannot be read: {error}", path.display())),
    }
}

impl Gguf {
    /// Reads the head.
    pub(super) fn open(path: &Path, watch: &Watch<'_>) -> Result<Gguf, String> {
        let stamp = stamp(path)?;
        let name = path.display();
        let unread = |error: &dyn std::fmt::Display| format!("the model `{name}` cannot be read: {error}");
        let mut file = File::open(path).map_err(|error| unread(&error))?;
        let mut magic = [0; 4];
        if file.read_exact(&mut magic).is_err() || magic != *b"GGUF" {
            return Err(format!("`{name}` is not a GGUF file"));
        }
        file.rewind().map_err(|error| unread(&error))?;
        let mut reader = Reader::new(file, watch);
        let content = guarded(|| Content::read(&mut reader)).map_err(|error| unread(&error))?;
        let architecture =
            content.metadata.get("general.architecture").and_then(|name| name.to_string().ok());
        let architecture = architecture.map_or("", String::as_str);
        let Some(family) = FAMILIES.iter().find(|family| family.name == architecture) else {
            let known: Vec<String> = FAMILIES.iter().map(|family| format!("`{}`", family.name)).collect();
            return Err(format!(
                "`{name}` is a model of the architecture `{architecture}`; {} can be run here, others by Ollama or llama.cpp",
                known.join(", ")
            ));
        };
        let gguf = Gguf { path: path.to_owned(), stamp, content, family };
        gguf.check().map_err(|error| unread(&error))?;
        Ok(gguf)
    }

    /// The kind of tokenizer it says it has.
    pub(super) fn tokenizer(&self) -> Option<&str> {
        let kind = self.content.metadata.get("tokenizer.ggml.model")?;
        kind.to_string().ok().map(String::as_str)
    }

    /// A number of the head that belongs to the architecture.
    fn number(&self, key: &str) -> Option<u64> {
        number(&self.content, &format!("{}.{key}", self.family.name))
    }

    /// Tokens of prompt and reply together.
    pub(super) fn context(&self) -> usize {
        let said = self.number("context_length").unwrap_or(u64::MAX).max(1);
        usize::try_from(said).unwrap_or(usize::MAX).min(self.family.longest)
    }

    /// What candle takes on trust: numbers it divides by or makes room for, and where weights lie.
    fn check(&self) -> Result<(), String> {
        let wide = |key: &str| match self.number(key) {
            Some(0) => Err(format!("its `{key}` is 0")),
            Some(number) if number > WIDEST => Err(format!("its `{key}` is {number}")),
            number => Ok(number),
        };
        let heads = wide("attention.head_count")?.unwrap_or(1);
        let groups = wide("attention.head_count_kv")?.unwrap_or(heads);
        let width = wide("embedding_length")?.unwrap_or(heads);
        if heads % groups != 0 || width % heads != 0 {
            return Err(format!("its {heads} heads share neither {width} dimensions nor {groups} keys"));
        }
        for key in ["rope.dimension_count", "attention.key_length", "feed_forward_length", "block_count"] {
            wide(key)?;
        }
        let tensors = self.content.tensor_infos.len() as u64;
        for key in ["block_count", "expert_count"] {
            if self.number(key).is_some_and(|number| number > tensors) {
                return Err(format!("its `{key}` is greater than its {tensors} tensors"));
            }
        }
        let outside = self.content.tensor_infos.iter().filter(|(_, tensor)| !self.holds(tensor));
        match outside.map(|(name, _)| name).min() {
            Some(name) => Err(format!("its tensor `{name}` does not fit into it; it may have been cut off")),
            None => Ok(()),
        }
    }

    /// Whether a tensor lies within the file.
    fn holds(&self, tensor: &TensorInfo) -> bool {
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

    /// Reads the weights, for texts of up to `context` tokens.
    pub(super) fn load(self, context: usize, watch: &Watch<'_>) -> Result<Box<dyn Network>, String> {
        let Gguf { path, mut content, family, .. } = self;
        let context = u32::try_from(context).unwrap_or(u32::MAX);
        // Tables of positions are made for this many …
        content.metadata.insert(format!("{}.context_length", family.name), Value::U32(context));
        // … and exact: halves cannot tell position 2049 from 2048.
        content.metadata.insert("general.dtype".to_owned(), Value::U32(0));
        let name = path.display();
        let unread = |error: &dyn std::fmt::Display| format!("the model `{name}` cannot be read: {error}");
        let file = File::open(&path).map_err(|error| unread(&error))?;
        let mut reader = Reader::new(file, watch);
        guarded(|| (family.load)(content, &mut reader)).map_err(|error| unread(&error))
    }
}

/// A whole number of the head, whatever its width.
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
