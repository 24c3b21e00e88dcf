use super::*;
use crate::testing::request::TestRequest;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn the_same_suspension_reason_is_logged_once() {
    let provider = ProviderState::default();
    let hour = Span::HOUR.0;
    let suspend = |now, why: &str| provider.suspend(Timestamp(now), why);
    // One attempt per hour.
    let is_new: Vec<bool> = (0..24).map(|hours| suspend(hours * hour, "no money left")).collect();
    assert_eq!(is_new.iter().filter(|is_new| **is_new).count(), 1);
    assert!(provider.suspension("mock", Span::HOUR, Timestamp(23 * hour + 1)).is_some());
    assert!(suspend(24 * hour, "the key is refused") && !suspend(25 * hour, "the key is refused"));
    provider.clear_suspension("mock");
    assert!(suspend(26 * hour, "the key is refused"), "it answered in between");
}

#[test]
fn calls_of_one_provider_share_its_concurrency_limit() {
    let (inside, max) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let model = |limit: Option<usize>, provider: &Arc<ProviderState>| GuardedModel {
        inner: Box::new(Counting(inside.clone(), max.clone())),
        provider_name: "mock".into(),
        provider: provider.clone(),
        concurrency: limit,
        suspension: Span::HOUR,
    };
    let provider = Arc::<ProviderState>::default();
    // Two models of one provider share its limit.
    let models = [model(Some(1), &provider), model(Some(1), &provider)];
    std::thread::scope(|scope| {
        for number in 0..8 {
            let model = &models[number % 2];
            scope.spawn(move || model.call(&TestRequest::new("linker").request()).unwrap());
        }
    });
    assert_eq!(max.load(Ordering::SeqCst), 1);
}

/// Counts concurrent calls: those now, and the maximum.
struct Counting(Arc<AtomicUsize>, Arc<AtomicUsize>);

impl Model for Counting {
    fn call(&self, _: &Request<'_>) -> Result<Reply, CallFailure> {
        let now = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.1.fetch_max(now, Ordering::SeqCst);
        (0..1000).for_each(|_| std::thread::yield_now());
        self.0.fetch_sub(1, Ordering::SeqCst);
        Ok(Reply::default())
    }

    fn context(&self) -> Option<usize> {
        Some(2048)
    }
}

/// Builds models that count their calls.
struct CountingFactory;

impl ModelFactory for CountingFactory {
    fn credentials(&self, _: &poc_config::ProviderConfig) -> Option<blake3::Hash> {
        None
    }

    fn build(&self, _: ModelSettings<'_>, _: &RetryAfter) -> Result<Box<dyn Model>, String> {
        Ok(Box::new(Counting(Arc::default(), Arc::default())))
    }
}

#[test]
fn the_registry_builds_each_model_once_and_without_providers_only_the_heuristic_one() {
    let text = "[models.a]\nprovider = \"openai\"\nid = \"a\"\n";
    let config = Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap();
    let models = ModelRegistry::new(Arc::new(CountingFactory));
    assert!(Arc::ptr_eq(&models.open(&config, "a").unwrap(), &models.open(&config, "a").unwrap()));
    let model = models.open(&config, "a").unwrap();
    assert_eq!(model.context(), Some(2048));
    let models = ModelRegistry::default();
    assert!(models.open(&config, "a").is_err() && models.missing(&config, "a").is_some());
    assert!(models.open(&config, "default").is_ok() && models.missing(&config, "default").is_none());
    assert!(model.is_language_model() && !models.open(&config, "default").unwrap().is_language_model());
}

#[test]
fn the_heuristic_model_follows_the_settings_of_the_fusion_of_scores_that_a_reload_changes() {
    let models = ModelRegistry::default();
    let before = Config::defaults().unwrap();
    let mut after = before.clone();
    after.retrieve.scores.shared_by += 1;
    let open = |config: &Config| models.open(config, "default").unwrap();
    let model = open(&before);
    assert!(Arc::ptr_eq(&model, &open(&before)));
    assert!(!Arc::ptr_eq(&model, &open(&after)));
    // No other model reads these settings, and one in a file would be loaded again.
    let text = "[models.a]\nprovider = \"openai\"\nid = \"a\"\n";
    let models = ModelRegistry::new(Arc::new(CountingFactory));
    let before = Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap();
    let mut after = before.clone();
    after.retrieve.scores.shared_by += 1;
    assert!(Arc::ptr_eq(&models.open(&before, "a").unwrap(), &models.open(&after, "a").unwrap()));
}
