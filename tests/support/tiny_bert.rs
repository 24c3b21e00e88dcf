//! Files of BERT models with a few hundred random weights. Their similarities are random, so a property that holds for
//! them does not depend on the model.

use candle_core::{Device, Tensor};
use std::collections::HashMap;
use std::path::Path;

const WIDTH: usize = 8;
const INNER: usize = 16;
const PLACES: usize = 64;
const WORDS: &str = "[PAD] [UNK] [CLS] [SEP] the of . a lighthouse keeper harbour soup lemon moved house";

/// The files of a model by name. With `judges` it has a classifier, as a cross-encoder.
pub(crate) fn files(seed: u64, judges: bool) -> Vec<(&'static str, Vec<u8>)> {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let folder = poc_graph::testing::folder();
    let path = folder.path().join("model.safetensors");
    candle_core::safetensors::save(&tensors(seed, judges, words.len()), &path).unwrap();
    let config = serde_json::json!({
        "model_type": "bert", "vocab_size": words.len(), "hidden_size": WIDTH, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": INNER, "hidden_act": "gelu",
        "max_position_embeddings": PLACES,
    });
    vec![
        ("config.json", config.to_string().into_bytes()),
        ("vocab.txt", (words.join("\n") + "\n").into_bytes()),
        ("model.safetensors", std::fs::read(path).unwrap()),
    ]
}

/// Writes the files into a folder.
pub(crate) fn save(folder: &Path, seed: u64, judges: bool) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, bytes) in files(seed, judges) {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

fn tensors(seed: u64, judges: bool, words: usize) -> HashMap<String, Tensor> {
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![words, WIDTH]),
        ("embeddings.position_embeddings.weight".into(), vec![PLACES, WIDTH]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, WIDTH]),
    ];
    let layer = "encoder.layer.0";
    for (name, out, inner) in [
        (format!("{layer}.attention.self.query"), WIDTH, WIDTH),
        (format!("{layer}.attention.self.key"), WIDTH, WIDTH),
        (format!("{layer}.attention.self.value"), WIDTH, WIDTH),
        (format!("{layer}.attention.output.dense"), WIDTH, WIDTH),
        (format!("{layer}.intermediate.dense"), INNER, WIDTH),
        (format!("{layer}.output.dense"), WIDTH, INNER),
        ("pooler.dense".into(), WIDTH, WIDTH),
    ] {
        shapes.push((format!("{name}.weight"), vec![out, inner]));
        shapes.push((format!("{name}.bias"), vec![out]));
    }
    for name in ["embeddings", &format!("{layer}.attention.output"), &format!("{layer}.output")] {
        shapes.push((format!("{name}.LayerNorm.weight"), vec![WIDTH]));
        shapes.push((format!("{name}.LayerNorm.bias"), vec![WIDTH]));
    }
    if judges {
        shapes.iter_mut().for_each(|(name, _)| name.insert_str(0, "bert."));
        shapes.push(("classifier.weight".into(), vec![1, WIDTH]));
        shapes.push(("classifier.bias".into(), vec![1]));
    }
    let mut dice = seed;
    let mut rng = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((dice >> 33) as f64 / f64::from(u32::MAX >> 1) - 0.5) as f32 * 4.0
    };
    let made = shapes.into_iter().map(|(name, shape)| {
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng()).collect();
        (name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap())
    });
    made.collect()
}
