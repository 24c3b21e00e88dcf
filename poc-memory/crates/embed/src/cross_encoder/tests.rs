//! Tests of a cross-encoder with random weights.

use super::*;
use crate::bert::tests::TinyModel;
use poc_config::Config;

#[test]
fn likelihoods_match_the_formula_in_any_batch() {
    let tiny = TinyModel::with_head(5);
    let model = CrossEncoder::open(tiny.folder.path()).unwrap();
    // Pairs of `a tree` and each of these texts; the limit is sixteen tokens.
    let texts = ["lake", "splitting a page", "", "a b a b a b note stone lake tree a b a b", "Trees"];
    let tokens: [&[u32]; 5] = [&[8], &[10, 11, 4, 12], &[], &[4, 5, 4, 5, 4, 5, 9, 13, 8, 7, 4], &[7, 6]];
    let found = model.likelihoods("a tree", &texts.repeat(4)).unwrap();
    assert_eq!(found.len(), 20);
    for (at, second) in tokens.into_iter().cycle().take(20).enumerate() {
        let expected = tiny.likelihood(&[&[2, 4, 7, 3], second, &[3]].concat(), 4);
        assert!((found[at] - expected).abs() < 1e-5, "{at}: {} {expected}", found[at]);
    }
    assert!(found[0] != found[1] && model.likelihoods("a tree", &[]).unwrap().is_empty());
    // If both are too long, each gets half, and the second gets the odd token.
    let long = model.likelihoods(&"tree ".repeat(30), &["lake ".repeat(30).as_str()]).unwrap();
    let pair = [[2].as_slice(), &[7; 6], &[3], &[8; 7], &[3]].concat();
    assert!((long[0] - tiny.likelihood(&pair, 8)).abs() < 1e-5);
}

#[test]
fn models_that_are_not_cross_encoders_are_reported() {
    let report = |damage: &dyn Fn(&Path)| {
        let tiny = TinyModel::with_head(3);
        damage(tiny.folder.path());
        let error = CrossEncoder::open(tiny.folder.path()).err().unwrap().message;
        error.replace(&tiny.folder.path().display().to_string(), "DIR")
    };
    let edit = |from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let path = folder.join("config.json");
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace(from, to)).unwrap();
        }
    };
    let all = [
        report(&edit(r#""model_type""#, r#""type_vocab_size": 1, "model_type""#)),
        report(&edit("bert", "roberta")),
        report(&|folder| {
            // Rename the classifier in place.
            let path = folder.join("model.safetensors");
            let mut bytes = std::fs::read(&path).unwrap();
            let at = bytes.windows(17).position(|part| part == b"classifier.weight").unwrap();
            bytes[at] = b'k';
            std::fs::write(&path, bytes).unwrap();
        }),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    the model in `DIR` cannot be used: `config.json`: `type_vocab_size` is 1, so the model cannot read a second text
    the model in `DIR` cannot be used: `config.json`: it is a model of the type `roberta`, only `bert` can be run
    the model in `DIR` cannot be used: `model.safetensors`: tensor `classifier.weight` not found
    ");
}

#[test]
fn the_model_is_loaded_on_first_use() {
    let config =
        poc_config::RerankConfig { model: "/nonexistent".into(), ..Config::defaults().unwrap().rerank };
    assert!(Reranker::from_config(&Config::defaults().unwrap().rerank).is_none());
    let error = Reranker::from_config(&config).unwrap().likelihoods("a", &["b"]).unwrap_err();
    assert_eq!(error.at.and_then(|at| at.field).as_deref(), Some("rerank.model"));
    let tiny = TinyModel::with_head(4);
    let config = poc_config::RerankConfig { model: tiny.folder.path().display().to_string(), ..config };
    let reranker = Reranker::from_config(&config).unwrap();
    assert_eq!(reranker.likelihoods("a", &["b", "b"]).unwrap().len(), 2);
}
