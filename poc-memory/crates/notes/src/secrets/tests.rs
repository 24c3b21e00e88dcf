//! Tests of what is replaced and what is not.

use super::*;
use proptest::prelude::*;

fn check(text: &str, expected: &str) {
    let mut counts = SecretCounts::default();
    assert_eq!(scrub(text, &mut counts), expected);
    assert_eq!(counts.total() as usize, expected.matches(PLACEHOLDER).count());
}

fn stays(text: &str) {
    check(text, text);
}

#[test]
fn private_keys_are_replaced_as_a_whole() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(3);
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let key = format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
        check(&format!("here:\n{key}\nand on"), "here:\n[secret: private-key]\nand on");
        let quoted = key.replace('\n', "\\n");
        check(&format!("{{\"key\": \"{quoted}\"}}"), "{\"key\": \"[secret: private-key]\"}");
        // A truncated key.
        check(
            &format!("-----BEGIN {label}-----\n{body}and more text"),
            "[secret: private-key]\nand more text",
        );
    }
    stays("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----");
    // The end of another label or before the beginning does not count.
    let end = "-----END PRIVATE KEY-----";
    check(
        &format!(
            "{end} -----BEGIN PRIVATE KEY-----a b-----END RSA PRIVATE KEY----- ------END PRIVATE KEY------"
        ),
        &format!("{end} [secret: private-key]-"),
    );
    check(&format!("-----BEGIN PRIVATE KEY{end}"), "[secret: private-key]END PRIVATE KEY-----");
    let begin = "-----BEGIN PRIVATE KEY-----\n".repeat(10_000);
    check(&format!("{begin}{end}"), "[secret: private-key]");
    check(&begin, &"[secret: private-key]\n".repeat(10_000));
}

#[test]
fn the_end_of_a_quoted_password_with_a_backslash_is_replaced_too() {
    check(r#"password = "S3cret\$\"more9", x"#, r#"password = "[secret: password]", x"#);
    check(r#"{"password": "hunter2\nand more"}"#, r#"{"password": "[secret: password]\nand more"}"#);
    check(r#""{\"password\": \"hunter2\"}""#, r#""{\"password\": \"[secret: password]\"}""#);
}

#[test]
fn passwords_in_urls_are_replaced() {
    check("postgres://ann:hunter2@db.local/x", "postgres://ann:[secret: url-password]@db.local/x");
    check("see redis://:p%40ss@cache:6379.", "see redis://:[secret: url-password]@cache:6379.");
    check("amqp://a:b@c@host/", "amqp://a:[secret: url-password]@host/");
    stays("https://user@host/ and https://host:8080/a@b and postgres://ann:$PASSWORD@db");
    stays("http://user:<password>@host and ://a:b@c and mysql://root:****@db");
}

#[test]
fn tokens_of_http_are_replaced() {
    let token =
        ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"].join(".");
    check(&format!("cookie {token}."), "cookie [secret: json-web-token].");
    check("Authorization: Bearer abc123def456ghi789", "Authorization: Bearer [secret: bearer-token]");
    check(
        "authorization: basic YW5uOmh1bnRlcjIhISE5OQ==",
        "authorization: basic [secret: basic-credentials]",
    );
    stays("the bearer of this letter, and basic understanding of cryptography");
    stays("eyJ is how `{\"` begins in base64");
}

#[test]
fn assigned_values_are_replaced() {
    check("DB_PASSWORD=hunter2", "DB_PASSWORD=[secret: password]");
    check("password: \"corr3ct-horse\"", "password: \"[secret: password]\"");
    check("{\"password\":\"s3cret!\"}", "{\"password\":\"[secret: password]\"}");
    check("mysql --password='tr0ub4dor&3'", "mysql --password='[secret: password]'");
    check("API_KEY = 'f3a9c1e7b5d28046af91'", "API_KEY = '[secret: assigned-secret]'");
    check("?token=Zk3uVq8pW1xY7rTn2Lb5&page=2", "?token=[secret: assigned-secret]&page=2");
    check(
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzq93kTEST1",
        "aws_secret_access_key = [secret: assigned-secret]",
    );
    check("client-secret: 8Q~aVb3kD9fG2hJ5lZ7xC1vN", "client-secret: [secret: assigned-secret]");
}

#[test]
fn passwords_in_arguments_of_commands_are_replaced() {
    check("curl -u ann:hunter2 https://x.org", "curl -u ann:[secret: password] https://x.org");
    check("`curl -s --user 'ann:hun ter2'`", "`curl -s --user 'ann:[secret: password]'`");
    check("/usr/bin/curl --user=ann:a:b:c -v", "/usr/bin/curl --user=ann:[secret: password] -v");
    check("curl -s \\\n  -uann:hunter2 x.org", "curl -s \\\n  -uann:[secret: password] x.org");
    check("sshpass -p 'tr0ub4dor' ssh ann@host", "sshpass -p '[secret: password]' ssh ann@host");
    check("sudo sshpass -phunter2 ssh host", "sudo sshpass -p[secret: password] ssh host");
    check("mysql -u root -pS3cret shop < a.sql", "mysql -u root -p[secret: password] shop < a.sql");
    check("mysqldump -p\"S3 cret\" shop", "mysqldump -p\"[secret: password]\" shop");
    check("redis-cli -h cache -a Sup3r ping", "redis-cli -h cache -a [secret: password] ping");
    check("redis-cli --pass correcthorse", "redis-cli --pass [secret: password]");
}

#[test]
fn commands_without_a_password_stay() {
    stays("curl -u ann https://x.org:80 and curl -u $USER:$PASSWORD x and curl -u ann:${PASSWORD} x");
    stays("curl -u user:password x, curl --user name:PASSWORD x, curl -u name:<password> x");
    stays("curl --user-agent a:b x; git push -u ann:main and pycurl -u ann:hunter2");
    stays("sshpass -p reads it, sshpass -p \"$PASS\" ssh, sshpass -e ssh host -p 2222");
    stays("mysql -p shop and mysql -u root -h db --port 3306 -p");
    stays("docker run --name mysql -p3306:3306 mysql:8 and docker run --name mysql -p3306 x");
    stays("redis-cli -a flag is unsafe | grep -a Sup3r");
    stays("the curl option\n-u ann:main is described below");
}

#[test]
fn tokens_of_telegram_bots_are_replaced() {
    let token = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw4";
    check(&format!("the bot has {token}, ask it"), "the bot has [secret: telegram-token], ask it");
    check(
        &format!("https://api.telegram.org/bot{token}/getMe"),
        "https://api.telegram.org/bot[secret: telegram-token]/getMe",
    );
    stays("110201543:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA is a placeholder");
    stays("12:ABCdefGhIJKlmNoPQRsTUVwxyZ123456789ab and 110201543:Always, and at 10:AM");
}

#[test]
fn keys_in_sentences_are_replaced() {
    check("My API key is 9f86d081884c7d659a2feaa0c55ad015.", "My API key is [secret: assigned-secret].");
    check("the access token is `Zk3uVq8pW1xY7rTn2Lb5`", "the access token is `[secret: assigned-secret]`");
    check("api key: f3a9c1e7b5d28046af91", "api key: [secret: assigned-secret]");
    stays("the api key is stored in 1Password, and the token is valid-for-3600-seconds");
    stays("the api key is required, the secret is sk-learn, my token is bert-base-uncased-v2-finetuned");
    stays("the commit is 9f86d081884c7d659a2feaa0c55ad015 and the key is 9f86d081884c7d659a2feaa0c55ad015");
    stays("the secret is kept in /home/ann1234/.config/token-2024 and the token is https://x.org/a1b2c3d4e5");
}

#[test]
fn passwords_after_a_colon_are_replaced_in_several_languages() {
    check("my shop password is: Tram1987! can you", "my shop password is: [secret: password] can you");
    check("Mein Kennwort: Tram1987!", "Mein Kennwort: [secret: password]");
    check("La contraseña es: Tram1987!", "La contraseña es: [secret: password]");
    check("Contraseña: Tram1987!", "Contraseña: [secret: password]");
    stays("the password is: required. Das Passwort ist: egal, la contraseña: obligatoria");
}

#[test]
fn passwords_in_sentences_are_counted_but_not_replaced() {
    let counts = |text: &str| {
        stays(text);
        let mut counts = SecretCounts::default();
        count(text, &mut counts);
        counts.total()
    };
    for text in [
        "The password is hunter2",
        "our wifi password is `Kx4!qq`, for guests",
        "db_password is S3cret!",
        "Mein Passwort ist Tram1987!",
        "la contraseña es Tram1987!",
    ] {
        assert_eq!(counts(text), 1, "{text}");
    }
    for text in
        ["The password is required", "The password is base64-encoded", "the password is $PW", "it is hunter2"]
    {
        assert_eq!(counts(text), 0, "{text}");
    }
}

#[test]
fn prose_and_code_are_left_unchanged() {
    stays("The password: it must have a digit. Token: a word of the text.");
    stays("password = os.environ[\"DB_PASSWORD\"]");
    stays("let token = lexer.next_token();");
    stays("if user.password == form.password: return secret_key_of(user)");
    stays("max_tokens: 4096, token_count = 1234567890123456789");
    stays("password=$DB_PASSWORD and password: ${{ secrets.DB_PASSWORD }} and password=xxxxxxxx");
    stays("secret: see the wiki page about credentials");
    stays("api_key: Option<String>, password: String, token: &'a str");
}

/// Not in time that grows with the square of their length, which would be minutes.
#[test]
fn long_texts_of_prefixes_and_names_stay() {
    for part in ["tfp_", &format!("sk-ant-{}_", "a".repeat(20)), "token:"] {
        stays(&part.repeat(200_000 / part.len()));
    }
}

#[test]
fn tokens_in_one_run_of_characters_are_replaced() {
    let (first, second) = ("glpat-7fQ2kZ9aB4cX3dM6eW5v", "sk-ant-T8uS0rP1nLhGjYiEoD4c");
    check(&format!("{first}/{second}"), "[secret: gitlab-token]/[secret: anthropic-key]");
    // The alphabets differ, so the runs do.
    check(&format!("sk-{second}..."), "sk-[secret: anthropic-key]...");
    check(&format!("sk-ant-_{second}--"), "[secret: anthropic-key]--");
    check(
        &format!("hvs.{}.{second}", "x".repeat(30)),
        &format!("hvs.{}.[secret: anthropic-key]", "x".repeat(30)),
    );
    check(&format!("(password={}),", "Xy7".repeat(200)), &format!("(password={}),", "Xy7".repeat(200)));
    check("f(password=Xy7Xy7Xy7!)]}.,", "f(password=[secret: password])]}.,");
}

/// A secret of a kind, without quotes around it.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Z2-7]{16}".prop_map(|rest| format!("AKIA{rest}")),
        "[A-Za-z0-9]{36}".prop_map(|rest| format!("ghp_{rest}")),
        "[A-Za-z0-9_]{40}[A-Za-z]".prop_map(|rest| format!("sk-ant-{rest}")),
        "[a-z]{3,8}:[A-Za-z0-9!]{8,20}".prop_map(|user| format!("ftp://{user}@example.org")),
    ]
    .prop_filter("a placeholder is not a secret", |secret| entropy(secret) > 3.0)
}

poc_laws::laws! {
    /// A secret anywhere in a text is replaced, and the text around it stays.
    #[test]
    fn no_secret_is_left(before in "[a-z ,.\n]{0,40}", secret in secret(), after in "[ \n,][a-z ,.\n]{0,40}") {
        let text = format!("{before} {secret}{after}");
        let mut counts = SecretCounts::default();
        let scrubbed = scrub(&text, &mut counts).into_owned();
        let hidden = secret.rsplit([':', '@']).nth(1).unwrap_or(&secret);
        prop_assert!(!scrubbed.contains(hidden), "{scrubbed}");
        prop_assert_eq!(counts.total(), 1);
        prop_assert!(scrubbed.starts_with(&before) && scrubbed.ends_with(&after));
    }

    #[test]
    fn scrubbing_twice_changes_nothing_more(text in "(\\PC|[:=\"'\n@/-]|password|token|://|-----BEGIN PRIVATE KEY-----){0,60}") {
        let mut counts = SecretCounts::default();
        let once = scrub(&text, &mut counts).into_owned();
        let mut more = SecretCounts::default();
        prop_assert_eq!(scrub(&once, &mut more), once.as_str());
        prop_assert!(more.is_empty());
    }
}
