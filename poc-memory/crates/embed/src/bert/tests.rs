//! Compares the BERT model with its published formulas, and with the vectors of other implementations.

use super::*;
use crate::CandleEmbedder;
use crate::DistillOptions;
use crate::DistillStage;
use crate::Embedder;
use crate::StaticEmbedder;
use crate::distill;
use candle_core::Tensor;
use poc_rank::cosine::cosine;
use std::collections::HashMap;

/// Texts and the first values of their vectors, computed by sentence-transformers 6.2.
const REFERENCE: &[(&str, [f32; 5])] = &[
    (
        "A B-tree splits a leaf page when an insert does not truncated_lengths.",
        [-0.057749, 0.003146, 0.031378, 0.039846, 0.038615],
    ),
    ("What did Anna say about the harbour in Lisbon?", [0.016158, 0.122783, 0.073423, 0.069173, 0.006415]),
    ("Größe – naïve café, 東京!", [0.067255, 0.040971, 0.019393, -0.011033, -0.046627]),
];

/// The first values of the vector of a text that exceeds the token limit.
const TRUNCATED_REFERENCE: [f32; 5] = [-0.008124, -0.095586, -0.038673, 0.049662, -0.043794];

const WIDTH: usize = 8;
const HEADS: usize = 2;
const INTERMEDIATE: usize = 16;
const LAYERS: usize = 2;
const TOKENS: &[&str] = &[
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "##s", "tree", "lake", "note", "split", "##ting", "page",
    "stone",
];

/// A model with random weights in a folder.
pub(crate) struct TinyModel {
    pub(crate) folder: tempfile::TempDir,
    weights: HashMap<String, Vec<f64>>,
}

impl TinyModel {
    fn new(seed: u64) -> TinyModel {
        TinyModel::of(seed, false)
    }

    /// Creates a cross-encoder.
    pub(crate) fn with_head(seed: u64) -> TinyModel {
        TinyModel::of(seed, true)
    }

    fn of(seed: u64, with_head: bool) -> TinyModel {
        let mut state = seed;
        let mut rng = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(u32::MAX >> 1) - 0.5
        };
        let mut shapes: Vec<(String, Vec<usize>)> = vec![
            ("embeddings.word_embeddings.weight".into(), vec![TOKENS.len(), WIDTH]),
            ("embeddings.position_embeddings.weight".into(), vec![16, WIDTH]),
            ("embeddings.token_type_embeddings.weight".into(), vec![2, WIDTH]),
            ("embeddings.LayerNorm.weight".into(), vec![WIDTH]),
            ("embeddings.LayerNorm.bias".into(), vec![WIDTH]),
        ];
        for layer in 0..LAYERS {
            for (name, out, inner) in [
                ("attention.self.query", WIDTH, WIDTH),
                ("attention.self.key", WIDTH, WIDTH),
                ("attention.self.value", WIDTH, WIDTH),
                ("attention.output.dense", WIDTH, WIDTH),
                ("intermediate.dense", INTERMEDIATE, WIDTH),
                ("output.dense", WIDTH, INTERMEDIATE),
            ] {
                shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![out, inner]));
                shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![out]));
            }
            for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
                shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![WIDTH]));
                shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![WIDTH]));
            }
        }
        if with_head {
            shapes.push(("pooler.dense.weight".into(), vec![WIDTH, WIDTH]));
            shapes.push(("pooler.dense.bias".into(), vec![WIDTH]));
            shapes.iter_mut().for_each(|(name, _)| name.insert_str(0, "bert."));
            shapes.push(("classifier.weight".into(), vec![1, WIDTH]));
            shapes.push(("classifier.bias".into(), vec![1]));
        }
        let mut weights = HashMap::new();
        let mut tensors = HashMap::new();
        for (name, shape) in shapes {
            let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng() as f32).collect();
            tensors.insert(name.clone(), Tensor::from_vec(values.clone(), shape, &Device::Cpu).unwrap());
            let name = name.trim_start_matches("bert.").to_owned();
            weights.insert(name, values.into_iter().map(f64::from).collect());
        }
        let folder = poc_graph::testing::folder();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors")).unwrap();
        write(
            "config.json",
            &format!(
                r#"{{"model_type": "bert", "vocab_size": {}, "hidden_size": {WIDTH}, "num_hidden_layers": {LAYERS},
                "num_attention_heads": {HEADS}, "intermediate_size": {INTERMEDIATE}, "hidden_act": "gelu",
                "max_position_embeddings": 16}}"#,
                TOKENS.len()
            ),
        );
        write("vocab.txt", &(TOKENS.join("\n") + "\n"));
        TinyModel { folder, weights }
    }

    fn row(&self, name: &str, at: usize) -> &[f64] {
        &self.weights[name][at * WIDTH..(at + 1) * WIDTH]
    }

    fn norm(&self, name: &str, x: &mut [f64]) {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / x.len() as f64;
        for (at, v) in x.iter_mut().enumerate() {
            *v = (*v - mean) / (variance + 1e-12).sqrt() * self.weights[&format!("{name}.weight")][at]
                + self.weights[&format!("{name}.bias")][at];
        }
    }

    fn dense(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let weight = &self.weights[&format!("{name}.weight")];
        let bias = &self.weights[&format!("{name}.bias")];
        let row = |at: usize| {
            weight[at * x.len()..(at + 1) * x.len()].iter().zip(x).map(|(w, x)| w * x).sum::<f64>()
        };
        (0..bias.len()).map(|at| row(at) + bias[at]).collect()
    }

    /// The last hidden states by the formulas of Devlin et al. (2019), in double precision.
    fn states(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        self.states_of_pair(tokens, tokens.len())
    }

    /// The last hidden states of two texts; the second starts at `second`.
    fn states_of_pair(&self, tokens: &[u32], second: usize) -> Vec<Vec<f64>> {
        let mut states: Vec<Vec<f64>> = Vec::new();
        for (index, &token) in tokens.iter().enumerate() {
            let word = self.row("embeddings.word_embeddings.weight", token as usize);
            let position = self.row("embeddings.position_embeddings.weight", index);
            let kind = self.row("embeddings.token_type_embeddings.weight", usize::from(index >= second));
            let mut x: Vec<f64> = (0..WIDTH).map(|at| word[at] + position[at] + kind[at]).collect();
            self.norm("embeddings.LayerNorm", &mut x);
            states.push(x);
        }
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let all =
                |part: &str| -> Vec<Vec<f64>> { states.iter().map(|x| self.dense(&name(part), x)).collect() };
            let (query, key, value) =
                (all("attention.self.query"), all("attention.self.key"), all("attention.self.value"));
            let size = WIDTH / HEADS;
            let mut next = Vec::new();
            for (index, before) in states.iter().enumerate() {
                let mut context = vec![0.0; WIDTH];
                for head in 0..HEADS {
                    let part = head * size..(head + 1) * size;
                    let weights: Vec<f64> = key
                        .iter()
                        .map(|key| {
                            let dot: f64 = part.clone().map(|at| query[index][at] * key[at]).sum();
                            (dot / (size as f64).sqrt()).exp()
                        })
                        .collect();
                    let sum: f64 = weights.iter().sum();
                    for (weight, value) in weights.iter().zip(&value) {
                        part.clone().for_each(|at| context[at] += weight / sum * value[at]);
                    }
                }
                let mut x = self.dense(&name("attention.output.dense"), &context);
                x.iter_mut().zip(before).for_each(|(x, before)| *x += before);
                self.norm(&name("attention.output.LayerNorm"), &mut x);
                let inner: Vec<f64> = self
                    .dense(&name("intermediate.dense"), &x)
                    .into_iter()
                    .map(|x| 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)))
                    .collect();
                let mut out = self.dense(&name("output.dense"), &inner);
                out.iter_mut().zip(&x).for_each(|(out, x)| *out += x);
                self.norm(&name("output.LayerNorm"), &mut out);
                next.push(out);
            }
            states = next;
        }
        states
    }

    /// The sigmoid of the classifier's output for the pooled first token.
    pub(crate) fn likelihood(&self, tokens: &[u32], second: usize) -> f64 {
        let first = self.states_of_pair(tokens, second).swap_remove(0);
        let pooled: Vec<f64> = self.dense("pooler.dense", &first).into_iter().map(f64::tanh).collect();
        1.0 / (1.0 + (-self.dense("classifier", &pooled)[0]).exp())
    }

    fn vector(&self, tokens: &[u32]) -> Vec<f32> {
        let states = self.states(tokens);
        let mut mean: Vec<f32> =
            (0..WIDTH).map(|at| states.iter().map(|state| state[at]).sum::<f64>() as f32).collect();
        poc_rank::cosine::normalize(&mut mean);
        mean
    }
}

/// The error function by its series, which is accurate for small arguments.
pub(super) fn erf(x: f64) -> f64 {
    let (mut sum, mut term) = (x, x);
    for n in 1..120 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn assert_near(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far < 1e-5, "{far}: {a:?} {b:?}");
}

#[test]
fn vectors_match_the_formula_in_any_batch() {
    let tiny = TinyModel::new(7);
    let embedder = CandleEmbedder::open(tiny.folder.path()).unwrap();
    assert_eq!(embedder.dimensions(), WIDTH);
    let texts = ["a tree", "splitting a page", "lake", "Trees", "unknownword note", "a b a b a b note", ""];
    let tokens: [&[u32]; 7] =
        [&[4, 7], &[10, 11, 4, 12], &[8], &[7, 6], &[1, 9], &[4, 5, 4, 5, 4, 5, 9], &[]];
    let found = embedder.embed(&texts.repeat(3)).unwrap();
    for (at, tokens) in tokens.into_iter().cycle().take(21).enumerate() {
        if tokens.is_empty() {
            assert_eq!(found[at], [0.0; WIDTH]);
        } else {
            assert_near(&found[at], &tiny.vector(&[[2].as_slice(), tokens, &[3]].concat()));
        }
    }
    // Texts that are too long are truncated.
    let long = embedder.embed_one(&"tree ".repeat(100)).unwrap();
    assert_near(&long, &tiny.vector(&[[2].as_slice(), &[7; 14], &[3]].concat()));
}

#[test]
fn a_distilled_table_keeps_the_angles_between_token_states() {
    let tiny = TinyModel::new(11);
    let options = |dimensions, common| DistillOptions {
        dimensions,
        common,
        corpus: Vec::new(),
        model: "tiny".into(),
        licence: "none".into(),
        made_by: "a test".into(),
    };
    let mut report = 0;
    let distilled =
        distill(tiny.folder.path(), &options(WIDTH, 0.0), &mut |_, done, total| report = done * total)
            .unwrap();
    assert_eq!((distilled.tokens, report), (TOKENS.len(), TOKENS.len() * TOKENS.len()));
    assert!((distilled.kept - 1.0).abs() < 1e-9);
    let path = tiny.folder.path().join("tiny.table");
    std::fs::write(&path, &distilled.bytes).unwrap();
    let table = StaticEmbedder::open(&path).unwrap();
    // With all axes and no weights, the table holds the rotated states of the model, so angles are preserved.
    let state = |token: u32| -> Vec<f32> {
        tiny.states(&[2, token, 3])[1].iter().map(|&value| value as f32).collect()
    };
    let sum = |a: &[f32], b: &[f32]| -> Vec<f32> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
    let cases = [
        ("tree", state(7)),
        ("Lake", state(8)),
        ("a note", sum(&state(4), &state(9))),
        ("splitting", sum(&state(10), &state(11))),
    ];
    for (a, x) in &cases {
        for (b, y) in &cases {
            let found = cosine(&table.embed_one(a).unwrap(), &table.embed_one(b).unwrap());
            assert!((found - cosine(x, y)).abs() < 0.02, "{a} / {b}: {found}");
        }
    }
    // Words are weighted by their rank, starting at the first word: `tree` 1, `split` 4.
    let distilled = distill(tiny.folder.path(), &options(3, 2.0), &mut |_, _, _| {}).unwrap();
    assert!((0.5..1.0).contains(&distilled.kept));
    std::fs::write(&path, &distilled.bytes).unwrap();
    let weighted = StaticEmbedder::open(&path).unwrap();
    assert_eq!((weighted.dimensions(), weighted.embed_one("tree").unwrap().len()), (3, 3));
    assert_ne!(weighted.name(), table.name());
    let error = distill(tiny.folder.path(), &options(9, 150.0), &mut |_, _, _| {}).unwrap_err();
    insta::assert_snapshot!(error, @"`dims`: a table cannot have 9 dimensions");
}

#[test]
fn a_table_fitted_to_texts_is_closer_to_the_model() {
    let tiny = TinyModel::new(11);
    let model = CandleEmbedder::open(tiny.folder.path()).unwrap();
    let texts = ["a tree", "splitting a page", "lake note", "trees", "a lake a note", "the note"];
    let agreement = |corpus: &[&str]| {
        let options = DistillOptions {
            dimensions: WIDTH,
            common: 0.0,
            corpus: corpus.iter().map(|text| (*text).to_owned()).collect(),
            model: "tiny".into(),
            licence: "none".into(),
            made_by: "a test".into(),
        };
        let mut stages = Vec::new();
        let mut note = |stage: DistillStage, done: usize, total: usize| {
            stages.push(stage);
            assert!(done <= total);
        };
        let distilled = distill(tiny.folder.path(), &options, &mut note).unwrap();
        assert_eq!(stages.contains(&DistillStage::Texts), corpus.iter().any(|text| !text.trim().is_empty()));
        let path = tiny.folder.path().join("tiny.table");
        std::fs::write(&path, &distilled.bytes).unwrap();
        let table = StaticEmbedder::open(&path).unwrap();
        // Vectors of different axes are compared by their cosines among each other.
        let cosines = |embedder: &dyn Embedder| -> Vec<f64> {
            let vectors = embedder.embed(&texts).unwrap();
            vectors.iter().flat_map(|a| vectors.iter().map(|b| cosine(a, b))).collect()
        };
        let differences = cosines(&table).into_iter().zip(cosines(&model)).map(|(a, b)| (a - b).powi(2));
        (distilled.bytes, differences.sum::<f64>())
    };
    let (before, error) = agreement(&[]);
    let repeated = texts.repeat(40);
    let (fitted, smaller) = agreement(&repeated);
    assert!(smaller < error, "{smaller} {error}");
    assert_eq!(agreement(&repeated).0, fitted, "the same texts, the same table");
    assert_eq!(agreement(&["", " "]).0, before);
}

#[test]
fn invalid_models_are_reported() {
    let report = |damage: &dyn Fn(&Path)| {
        let tiny = TinyModel::new(3);
        damage(tiny.folder.path());
        let error = CandleEmbedder::open(tiny.folder.path()).err().unwrap().message;
        error.replace(&tiny.folder.path().display().to_string(), "DIR")
    };
    let write = |name: &'static str, text: &'static str| {
        move |folder: &Path| std::fs::write(folder.join(name), text).unwrap()
    };
    let all = [
        report(&|folder| std::fs::remove_file(folder.join("config.json")).unwrap()),
        report(&write("config.json", r#"{"model_type": "llama"}"#)),
        report(&write("model.safetensors", "garbage")),
        report(&write("vocab.txt", "a\nb\n")),
        report(&|folder| {
            let path = folder.join("model.safetensors");
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
        }),
    ];
    assert!(
        all[0].starts_with("the model in `DIR` cannot be used: `DIR/config.json` cannot be read"),
        "{}",
        all[0]
    );
    assert!(all[1].contains("it is a model of the type `llama`, only `bert` can be run"), "{}", all[1]);
    assert!(all[2].contains("`model.safetensors`"), "{}", all[2]);
    assert!(all[3].contains("the special token `[CLS]`") || all[3].contains("vocab.txt"), "{}", all[3]);
    assert!(all[4].contains("`model.safetensors`"), "{}", all[4]);
}

/// Compares the vectors of the real model with two references: Hugging Face's own code (the first five values)
/// and onnxruntime through `bench/bert.py` (all values).
#[test]
#[ignore = "needs the folder of all-MiniLM-L6-v2 in POC_MEMORY_TEST_MINILM"]
fn the_real_model_matches_the_reference_vectors() {
    let folder = std::env::var_os("POC_MEMORY_TEST_MINILM")
        .expect("set POC_MEMORY_TEST_MINILM to the folder of all-MiniLM-L6-v2");
    let embedder = CandleEmbedder::open(Path::new(&folder)).unwrap();
    let long = "word ".repeat(400);
    for (text, expected) in REFERENCE.iter().copied().chain([(long.as_str(), TRUNCATED_REFERENCE)]) {
        let found = embedder.embed_one(text).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{text}: {found} {expected}");
        }
    }
    let lines: Vec<Line> =
        include_str!("reference.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let mut farthest = 0.0f32;
    for (found, line) in embedder.embed(&texts).unwrap().iter().zip(&lines) {
        assert_eq!(found.len(), line.vector.len());
        let far = found.iter().zip(&line.vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-4, "{}: {far}", line.text);
        farthest = farthest.max(far);
    }
    println!("{} texts, {farthest:e} apart at most", lines.len());
}

#[derive(serde::Deserialize)]
struct Line {
    text: String,
    vector: Vec<f32>,
}

#[test]
fn pairs_are_truncated_like_in_the_tokenizers_library() {
    use tokenizers::{Encoding, TruncationStrategy, utils::truncation::truncate_encodings};
    let encoding = |length: usize| {
        let (ids, words) = (vec![1u32; length], vec![None; length]);
        let texts = vec![String::new(); length];
        Encoding::new(
            ids.clone(),
            ids.clone(),
            texts,
            words,
            vec![(0, 0); length],
            ids.clone(),
            ids,
            Vec::new(),
            Default::default(),
        )
    };
    for max in 1..9 {
        for (one, two) in (0..12).flat_map(|one| (0..12).map(move |two| (one, two))) {
            let params = TruncationParams {
                max_length: max,
                strategy: TruncationStrategy::LongestFirst,
                ..Default::default()
            };
            let (a, b) = truncate_encodings(encoding(one), Some(encoding(two)), &params).unwrap();
            assert_eq!(truncated_lengths(one, two, max), (a.len(), b.unwrap().len()), "{one} {two} {max}");
        }
    }
}
