//! Tokens with the prefix of a provider.
//!
//! Prefixes and lengths are those that the providers document or that the rules of gitleaks
//! (<https://github.com/gitleaks/gitleaks>, `config/gitleaks.toml`) list; `source` names the page or the rule. The
//! lengths are lower bounds, because providers lengthen their tokens from time to time.

use super::{DetectedSecret, entropy};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// A form of tokens.
struct TokenForm {
    kind: &'static str,
    prefixes: &'static [&'static str],
    /// The characters after the prefix.
    alphabet: Alphabet,
    /// The minimum number of characters after the prefix.
    min: usize,
    /// The maximum number of characters after the prefix; a longer run of such characters is not a token.
    max: usize,
    /// Where the form is documented.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test checks that every form has one"))]
    source: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Alphabet {
    /// `0-9a-f`.
    Hex,
    /// `A-Z2-7`.
    Base32,
    /// `0-9A-Za-z`.
    Letters,
    /// `0-9A-Za-z_-`.
    Url,
    /// `0-9A-Za-z_.=-`.
    Dotted,
    /// `0-9A-Za-z+/=_-`.
    Base64,
}

impl Alphabet {
    fn contains(self, byte: u8) -> bool {
        match self {
            Alphabet::Hex => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            Alphabet::Base32 => byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte),
            Alphabet::Letters => byte.is_ascii_alphanumeric(),
            Alphabet::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'='),
            Alphabet::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
            }
        }
    }
}

/// The maximum number of characters of a form whose tokens may have any length.
const UNBOUNDED: usize = usize::MAX;

const fn form(
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: Alphabet,
    (min, max): (usize, usize),
    source: &'static str,
) -> TokenForm {
    TokenForm { kind, prefixes, alphabet, min, max, source }
}

/// All forms. The first one that fits counts, so a longer prefix must precede a shorter one.
const FORMS: &[TokenForm] = &[
    form(
        "aws-access-key",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        Alphabet::Base32,
        (16, 16),
        "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
    ),
    form("alibaba-access-key", &["LTAI"], Alphabet::Letters, (20, 20), "gitleaks alibaba-access-key-id"),
    form("anthropic-key", &["sk-ant-"], Alphabet::Url, (20, UNBOUNDED), "gitleaks anthropic-api-key"),
    form(
        "openrouter-key",
        &["sk-or-v1-"],
        Alphabet::Hex,
        (64, 64),
        "openrouter.ai/docs/api-reference/authentication",
    ),
    form(
        "openai-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        Alphabet::Url,
        (20, UNBOUNDED),
        "gitleaks openai-api-key",
    ),
    // Other providers with an interface like OpenAI's use the same prefix.
    form("api-key", &["sk-"], Alphabet::Letters, (32, UNBOUNDED), "gitleaks openai-api-key"),
    form("groq-key", &["gsk_"], Alphabet::Letters, (48, UNBOUNDED), "console.groq.com/docs/api-reference"),
    form("xai-key", &["xai-"], Alphabet::Letters, (60, UNBOUNDED), "docs.x.ai/docs/api-reference"),
    form("perplexity-key", &["pplx-"], Alphabet::Letters, (40, UNBOUNDED), "gitleaks perplexity-api-key"),
    form(
        "replicate-token",
        &["r8_"],
        Alphabet::Letters,
        (37, 40),
        "replicate.com/docs/topics/security/api-tokens",
    ),
    form(
        "huggingface-token",
        &["hf_", "api_org_"],
        Alphabet::Letters,
        (34, 40),
        "gitleaks huggingface-access-token",
    ),
    form(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        Alphabet::Letters,
        (36, UNBOUNDED),
        "docs.github.com/authentication: token formats",
    ),
    form(
        "github-token",
        &["github_pat_"],
        Alphabet::Url,
        (60, UNBOUNDED),
        "gitleaks github-fine-grained-pat",
    ),
    form(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glwt-",
            "glsoat-", "glffct-", "gloas-",
        ],
        Alphabet::Dotted,
        (20, UNBOUNDED),
        "docs.gitlab.com/security/tokens: token prefixes",
    ),
    form(
        "slack-token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-", "xapp-"],
        Alphabet::Url,
        (16, UNBOUNDED),
        "docs.slack.dev/authentication/tokens",
    ),
    form(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/"],
        Alphabet::Base64,
        (30, UNBOUNDED),
        "gitleaks slack-webhook-url",
    ),
    form(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Alphabet::Base64,
        (40, UNBOUNDED),
        "discord.com/developers/docs/resources/webhook",
    ),
    form(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "whsec_"],
        Alphabet::Base64,
        (16, UNBOUNDED),
        "docs.stripe.com/keys",
    ),
    form("google-api-key", &["AIza"], Alphabet::Url, (35, 35), "gitleaks gcp-api-key"),
    form(
        "google-oauth-secret",
        &["GOCSPX-"],
        Alphabet::Url,
        (24, UNBOUNDED),
        "developers.google.com/identity/protocols/oauth2",
    ),
    form(
        "google-oauth-token",
        &["ya29."],
        Alphabet::Dotted,
        (20, UNBOUNDED),
        "developers.google.com/identity/protocols/oauth2",
    ),
    form("npm-token", &["npm_"], Alphabet::Letters, (36, UNBOUNDED), "gitleaks npm-access-token"),
    form("pypi-token", &["pypi-"], Alphabet::Url, (50, UNBOUNDED), "pypi.org/help: API tokens"),
    form("rubygems-key", &["rubygems_"], Alphabet::Hex, (48, 48), "gitleaks rubygems-api-token"),
    form(
        "crates-io-token",
        &["cio"],
        Alphabet::Letters,
        (32, 32),
        "crates.io: token format of trustpub and API tokens",
    ),
    form(
        "docker-token",
        &["dckr_pat_", "dckr_oat_"],
        Alphabet::Url,
        (27, UNBOUNDED),
        "docs.docker.com/security/access-tokens",
    ),
    form(
        "digitalocean-token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        Alphabet::Hex,
        (64, 64),
        "gitleaks digitalocean-pat",
    ),
    form("sendgrid-key", &["SG."], Alphabet::Dotted, (60, 70), "gitleaks sendgrid-api-token"),
    form("sendinblue-key", &["xkeysib-"], Alphabet::Url, (64, UNBOUNDED), "gitleaks sendinblue-api-token"),
    form("mailgun-key", &["key-"], Alphabet::Hex, (32, 32), "gitleaks mailgun-private-api-token"),
    form("twilio-key", &["SK"], Alphabet::Hex, (32, 32), "gitleaks twilio-api-key"),
    form(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        Alphabet::Hex,
        (32, 32),
        "gitleaks shopify-access-token",
    ),
    form(
        "square-token",
        &["sq0atp-", "sq0csp-"],
        Alphabet::Url,
        (22, UNBOUNDED),
        "gitleaks square-access-token",
    ),
    form("heroku-key", &["HRKU-AA"], Alphabet::Url, (50, UNBOUNDED), "gitleaks heroku-api-key-v2"),
    form(
        "vault-token",
        &["hvs.", "hvb.", "hvr."],
        Alphabet::Url,
        (24, UNBOUNDED),
        "developer.hashicorp.com/vault/docs/concepts/tokens",
    ),
    form(
        "grafana-token",
        &["glsa_", "glc_"],
        Alphabet::Base64,
        (32, UNBOUNDED),
        "gitleaks grafana-service-account-token",
    ),
    form(
        "new-relic-key",
        &["NRAK-", "NRJS-", "NRII-"],
        Alphabet::Url,
        (19, 32),
        "gitleaks new-relic-user-api-key",
    ),
    form("linear-key", &["lin_api_", "lin_oauth_"], Alphabet::Letters, (32, 64), "gitleaks linear-api-key"),
    form("notion-token", &["ntn_", "secret_"], Alphabet::Letters, (43, 50), "gitleaks notion-api-token"),
    form(
        "atlassian-token",
        &["ATATT3", "ATCTT3"],
        Alphabet::Base64,
        (50, UNBOUNDED),
        "gitleaks atlassian-api-token",
    ),
    form(
        "figma-token",
        &["figd_", "figo_"],
        Alphabet::Url,
        (36, UNBOUNDED),
        "developers.figma.com/docs/rest-api/authentication",
    ),
    form("databricks-token", &["dapi"], Alphabet::Hex, (32, 32), "gitleaks databricks-api-token"),
    form(
        "supabase-key",
        &["sbp_", "sb_secret_"],
        Alphabet::Url,
        (30, UNBOUNDED),
        "supabase.com/docs/guides/api/api-keys",
    ),
    form("postman-key", &["PMAK-"], Alphabet::Url, (59, 59), "gitleaks postman-api-token"),
    form(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."],
        Alphabet::Dotted,
        (40, UNBOUNDED),
        "docs.doppler.com/reference/auth-token-formats",
    ),
    form(
        "fly-token",
        &["FlyV1 fm2_", "fm2_", "fo1_"],
        Alphabet::Base64,
        (40, UNBOUNDED),
        "gitleaks flyio-access-token",
    ),
    form("age-key", &["AGE-SECRET-KEY-1"], Alphabet::Letters, (58, 58), "gitleaks age-secret-key"),
    form(
        "sentry-token",
        &["sntrys_", "sntryu_"],
        Alphabet::Base64,
        (60, UNBOUNDED),
        "gitleaks sentry-org-token",
    ),
    form("pulumi-token", &["pul-"], Alphabet::Hex, (40, 40), "gitleaks pulumi-api-token"),
    form(
        "planetscale-token",
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        Alphabet::Dotted,
        (32, 64),
        "gitleaks planetscale-api-token",
    ),
    form("tailscale-key", &["tskey-"], Alphabet::Url, (16, UNBOUNDED), "tailscale.com/kb/1277/key-prefixes"),
    form(
        "1password-token",
        &["ops_eyJ"],
        Alphabet::Base64,
        (100, UNBOUNDED),
        "gitleaks 1password-service-account-token",
    ),
    form("netlify-token", &["nfp_"], Alphabet::Letters, (36, 40), "docs.netlify.com: personal access tokens"),
    form("artifactory-key", &["AKCp"], Alphabet::Letters, (69, 69), "gitleaks artifactory-api-key"),
    form("dynatrace-token", &["dt0c01."], Alphabet::Dotted, (80, UNBOUNDED), "gitleaks dynatrace-api-token"),
    form(
        "buildkite-token",
        &["bkua_"],
        Alphabet::Hex,
        (40, 40),
        "buildkite.com/docs/apis/managing-api-tokens",
    ),
    form("clojars-token", &["CLOJARS_"], Alphabet::Hex, (60, 60), "gitleaks clojars-api-token"),
    form("typeform-token", &["tfp_"], Alphabet::Dotted, (59, 59), "gitleaks typeform-api-token"),
    form("cloudflare-key", &["v1.0-"], Alphabet::Url, (171, 171), "gitleaks cloudflare-origin-ca-key"),
    form("adobe-secret", &["p8e-"], Alphabet::Letters, (32, 32), "gitleaks adobe-client-secret"),
];

/// The forms by the first byte of their prefixes. A text has many words, and most begin none of them.
static BY_FIRST_BYTE: LazyLock<[Vec<&TokenForm>; 256]> = LazyLock::new(|| {
    let begins = |form: &&TokenForm, byte: u8| {
        form.prefixes.iter().any(|prefix| prefix.as_bytes().first() == Some(&byte))
    };
    std::array::from_fn(|byte| FORMS.iter().filter(|form| begins(form, byte as u8)).collect())
});

/// Minimum entropy of what follows a prefix, in bits per character: `ghp_xxxxxxxxxxxx` is a placeholder. A random
/// token of 16 characters of `0-9a-f` has 3.1 on average; of a million, none was below 1.9.
const MIN_ENTROPY: f64 = 1.9;

/// Maximum number of characters after a prefix of which the entropy is computed.
const ENTROPY_CHARS: usize = 512;

/// A run of characters of an alphabet, by byte offsets.
#[derive(Clone, Copy)]
struct CharacterRun {
    start: usize,
    end: usize,
    /// Its end without the punctuation at the end.
    trimmed_end: usize,
}

/// The last run of each alphabet. Tokens that begin in the same run end together, so a long run with many prefixes is
/// read once.
#[derive(Default)]
struct CharacterRuns(FxHashMap<Alphabet, CharacterRun>);

impl CharacterRuns {
    /// The run of characters of an alphabet at an offset. It may begin before the offset.
    fn at(&mut self, text: &str, offset: usize, alphabet: Alphabet) -> CharacterRun {
        if let Some(run) = self.0.get(&alphabet).filter(|run| (run.start..=run.end).contains(&offset)) {
            return *run;
        }
        let rest = text.get(offset..).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| alphabet.contains(*byte)).count();
        // A full stop or a dash after a token belongs to the sentence.
        let trimmed = rest.get(..length).unwrap_or_default().trim_end_matches(['.', '-', '=']);
        let run = CharacterRun { start: offset, end: offset + length, trimmed_end: offset + trimmed.len() };
        self.0.insert(alphabet, run);
        run
    }
}

/// The tokens in a text.
pub(super) fn find(text: &str) -> Vec<DetectedSecret> {
    let bytes = text.as_bytes();
    let (mut secrets, mut runs) = (Vec::new(), CharacterRuns::default());
    let mut at = 0;
    let mut in_word = false;
    while let Some(&byte) = bytes.get(at) {
        // A prefix in the middle of a word is a coincidence.
        if !in_word && let Some(secret) = token_at(text, at, byte, &mut runs) {
            at = secret.at.end;
            secrets.push(secret);
            in_word = true;
            continue;
        }
        // The letter of an escaped line break or tab, as JSON writes it, does not belong to the word after it.
        if byte == b'\\' && matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't')) {
            at += 2;
            in_word = false;
            continue;
        }
        in_word = byte.is_ascii_alphanumeric() || byte >= 0x80;
        at += 1;
    }
    secrets
}

fn token_at(text: &str, at: usize, first: u8, runs: &mut CharacterRuns) -> Option<DetectedSecret> {
    let forms = BY_FIRST_BYTE.get(usize::from(first)).filter(|forms| !forms.is_empty())?;
    let rest = text.get(at..)?;
    forms.iter().find_map(|form| {
        let prefix = form.prefixes.iter().find(|prefix| rest.starts_with(**prefix))?;
        let token = rest.get(prefix.len()..)?;
        let start = at + prefix.len();
        let run = runs.at(text, start, form.alphabet);
        let length = run.trimmed_end.saturating_sub(start).max((run.end - start).min(form.min));
        let sample = token.get(..length.min(ENTROPY_CHARS))?;
        let ends = token.as_bytes().get(length).is_none_or(|next| !next.is_ascii_alphanumeric());
        let fits = (form.min..=form.max).contains(&length) && ends && entropy(sample) >= MIN_ENTROPY;
        fits.then(|| DetectedSecret { kind: form.kind, at: at..at + prefix.len() + length })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{SecretCounts, scrub};

    /// A token of each form, from a fixed sequence of characters.
    fn example(form: &TokenForm, prefix: &str) -> String {
        const CHARS: &[u8] = b"7fQ2kZ9aB4cX3dM6eW5vT8uS0rP1nL-_hGjYiE.oD";
        let has = |byte: &&u8| form.alphabet.contains(**byte) && byte.is_ascii_alphanumeric();
        let chars: Vec<char> = CHARS.iter().filter(has).map(|byte| char::from(*byte)).collect();
        let length = form.min.max(24).min(form.max);
        prefix.to_owned() + &chars.iter().cycle().take(length).collect::<String>()
    }

    #[test]
    fn a_token_of_each_form_is_replaced() {
        for form in FORMS {
            assert!(!form.source.is_empty());
            for prefix in form.prefixes {
                let token = example(form, prefix);
                for text in [
                    format!("it is {token}."),
                    format!("\"{token}\","),
                    format!("KEY={token}\n"),
                    format!("{{\"log\":\"first\\n{token}\\n\"}}"),
                    token.clone(),
                ] {
                    let mut counts = SecretCounts::default();
                    let scrubbed = scrub(&text, &mut counts);
                    assert!(!scrubbed.contains(&token), "{scrubbed}");
                    assert_eq!(counts.total(), 1, "{text} → {scrubbed}");
                }
            }
        }
    }

    #[test]
    fn text_that_only_looks_like_a_token_stays() {
        for text in [
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is a placeholder",
            "task-force-of-the-day and sk-learn, risk-management",
            "the function hf_hub_download of the library",
            "AKIAshort and SKetch",
            "npm_config_registry and secret_santa",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "https://github.com/a/b/commit/0a4776b0c1f5f6d7e8a9b0c1d2e3f4a5b6c7d8e9",
            "6a5d6a5e-8b93-4692-a3f0-eaa07924f2d8",
        ] {
            let mut counts = SecretCounts::default();
            assert_eq!(scrub(text, &mut counts), text);
            assert!(counts.is_empty());
        }
    }
}
