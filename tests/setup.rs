//! `setup` and `plugin`: what they write for each assistant, and that `setup remove` undoes it.

use crate::support::mock_model::{Answer, MockModel};
use crate::support::world::files_below;
use crate::support::{CommandResult, World};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A user with a home folder, in which assistants have settings.
struct User {
    world: World,
    home: PathBuf,
}

impl User {
    fn new() -> User {
        let world = World::with_configured_embedder();
        let home = world.write("user/placeholder", "").parent().unwrap().to_owned();
        // A service manager that refuses every call, so that the test does not depend on this machine.
        let systemctl = world.write("bin/systemctl", "#!/bin/sh\nexit 1\n");
        std::fs::set_permissions(&systemctl, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        User { world, home }
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        self.world.write(&format!("user/{path}"), text)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.home.join(path)).unwrap()
    }

    fn json_at(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// `poc-memory` without the assistants of this machine.
    fn command(&self) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.world.home().join("bin").display());
        let mut command = self.world.command("poc-memory");
        command.env("HOME", &self.home).env("PATH", path);
        command
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> CommandResult {
        let mut command = self.command();
        command.args(arguments).envs(variables.iter().copied()).stdin(Stdio::null());
        let done = command.output().unwrap();
        CommandResult {
            status: done.status.code().unwrap(),
            stdout: String::from_utf8(done.stdout).unwrap(),
            stderr: String::from_utf8(done.stderr).unwrap(),
        }
    }

    fn run(&self, arguments: &[&str]) -> CommandResult {
        self.run_with(arguments, &[])
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// The files below the home folder with their texts.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let text = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).unwrap());
        let mut files: Vec<(PathBuf, String)> = files_below(&self.home).into_iter().map(text).collect();
        files.sort();
        files
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // `setup` may have started a daemon.
        self.run(&["daemon", "stop"]);
    }
}

const CLAUDE_STATE: &str = "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  },\n  \"userID\": \"u\"\n}\n";
const CLAUDE_SETTINGS: &str = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  }\n}\n";
const CODEX_CONFIG: &str = "# mine\nmodel = \"gpt-5-codex\" # fast\n\n[mcp_servers.other]\ncommand = \"x\"\n";
const ZED_SETTINGS: &str =
    "// Zed settings\n{\n  \"theme\": \"One\", // dark\n  /* fonts */\n  \"buffer_font_size\": 15,\n}\n";
const OWN_SETTINGS: &str = "# my settings\n[recall]\nk = 12\n";

/// All assistants, with settings of the user in most of their files.
fn with_assistants(user: &User) {
    user.write(".claude.json", CLAUDE_STATE);
    user.write(".claude/settings.json", CLAUDE_SETTINGS);
    user.write(".codex/config.toml", CODEX_CONFIG);
    user.write(".cursor/mcp.json", "{}");
    user.write(".config/Claude/other.json", "{}");
    user.write(".config/Code/User/settings.json", "{}");
    user.write(".config/zed/settings.json", ZED_SETTINGS);
    user.world.write("config.toml", OWN_SETTINGS);
}

#[cfg(target_os = "linux")]
#[test]
fn setup_registers_every_assistant_and_remove_restores_every_byte() {
    let user = User::new();
    with_assistants(&user);
    let before = user.files();
    // Nobody can be asked here, and a dry run writes nothing.
    let refused = user.run(&["setup"]);
    assert_eq!(refused.status, 4, "{refused:?}");
    assert!(refused.stderr.contains("`--yes` writes the changes"), "{}", refused.stderr);
    let diff = user.ok(&["setup", "--dry-run"]);
    for line in [
        "+[mcp_servers.poc-memory]",
        "+follow = true",
        "+  \"context_servers\": {",
        "   \"theme\": \"One\", // dark",
    ] {
        assert!(diff.contains(line), "no `{line}` in {diff}");
    }
    assert_eq!(user.files(), before);
    assert!(!user.world.home().join("store").exists());

    let output = user.ok(&["setup", "--yes"]);
    for assistant in ["claude-code", "codex", "cursor", "claude-desktop", "vscode", "zed"] {
        assert!(output.contains(&format!("ok       {assistant}: tools answer (6 tools)")), "{output}");
    }
    assert!(
        output.contains("ok       codex: hooks answer in ") && output.contains("trust the hooks"),
        "{output}"
    );
    assert!(output.contains("daemon   is running; the hooks start it when it is not ("), "{output}");
    let state = user.json_at(".claude.json");
    assert_eq!(state["numStartups"], 7);
    let server = &state["mcpServers"]["poc-memory"];
    assert_eq!((&server["type"], &server["args"]), (&json!("stdio"), &json!(["mcp"])));
    assert_eq!(server["env"]["POC_MEMORY_HOME"], user.world.home().display().to_string());
    assert_eq!(
        user.json_at(".config/Code/User/mcp.json")["servers"]["poc-memory"]["command"],
        server["command"]
    );
    assert_eq!(user.json_at(".cursor/mcp.json")["mcpServers"]["poc-memory"]["command"], server["command"]);
    let hooks = user.json_at(".claude/settings.json")["hooks"].clone();
    assert_eq!(hooks["Stop"].as_array().unwrap().len(), 2, "{hooks}");
    assert_eq!(hooks["Stop"][0]["hooks"][0]["command"], "say done");
    let events: Vec<&String> = hooks.as_object().unwrap().keys().collect();
    assert_eq!(events, ["Stop", "SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"]);
    assert_eq!(user.json_at(".codex/hooks.json")["hooks"]["SessionStart"], hooks["SessionStart"]);
    let own = std::fs::read_to_string(user.world.home().join("config.toml")).unwrap();
    assert_eq!(own, format!("{OWN_SETTINGS}\n[transcripts]\nfollow = true\n"));
    assert_eq!(user.run(&["daemon", "status"]).status, 0);

    // A second time there is nothing to do.
    let after = user.files();
    let again = user.ok(&["setup"]);
    assert!(again.starts_with("all settings files are up to date\n"), "{again}");
    let without_hooks = user.ok(&["setup", "cursor"]);
    assert!(
        without_hooks.contains("daemon   is running; it does not start with your session ("),
        "{without_hooks}"
    );
    assert_eq!(user.files(), after);

    // The daemon must not follow transcripts any more.
    let pid =
        || serde_json::from_str::<Value>(&user.ok(&["--json", "daemon", "status"])).unwrap()["pid"].clone();
    let following = pid();
    let removed = user.ok(&["setup", "remove", "--yes"]);
    assert!(removed.ends_with("the daemon was restarted\n"), "{removed}");
    assert_ne!(pid(), following);
    assert_eq!(user.files(), before);
    let own = std::fs::read_to_string(user.world.home().join("config.toml")).unwrap();
    assert_eq!(own, OWN_SETTINGS);
    assert!(!user.world.home().join("setup.json").exists());
    assert!(user.ok(&["setup", "remove"]).contains("no settings file contains entries of `setup`"));
}

#[test]
fn remove_keeps_what_others_have_written_since() {
    let user = User::new();
    user.write(".claude.json", CLAUDE_STATE);
    user.write(".codex/config.toml", CODEX_CONFIG);
    user.ok(&["setup", "claude-code", "codex", "--yes", "--no-daemon"]);
    // Claude Code counts its starts in the same file, and the user adds a key.
    let changed = user.read(".claude.json").replace("\"numStartups\": 7", "\"numStartups\": 8");
    user.write(".claude.json", &changed);
    let codex = user
        .read(".codex/config.toml")
        .replace("[mcp_servers.poc-memory]", "# added\n[mcp_servers.poc-memory]");
    user.write(".codex/config.toml", &format!("{codex}\n[tui]\ntheme = \"dark\"\n"));
    // A second `setup` in between must not record the first changes as the original content.
    let elsewhere = user.world.home().join("elsewhere").display().to_string();
    std::fs::create_dir(&elsewhere).unwrap();
    user.ok(&["setup", "claude-code", "--yes", "--no-daemon", "--no-hooks"]);
    user.ok(&["setup", "remove", "--yes"]);
    assert_eq!(user.json_at(".claude.json"), {
        let mut state: Value = serde_json::from_str(CLAUDE_STATE).unwrap();
        state["numStartups"] = json!(8);
        state
    });
    assert_eq!(
        user.read(".codex/config.toml"),
        format!("{CODEX_CONFIG}\n# added\n\n[tui]\ntheme = \"dark\"\n")
    );
    assert!(!user.home.join(".codex/hooks.json").exists(), "the file was new");
}

#[test]
fn setup_without_hooks_removes_those_of_an_earlier_setup() {
    let user = User::new();
    user.write(".claude.json", CLAUDE_STATE);
    user.write(".claude/settings.json", CLAUDE_SETTINGS);
    user.world.write("config.toml", OWN_SETTINGS);
    let own_settings = || std::fs::read_to_string(user.world.home().join("config.toml")).unwrap();
    user.ok(&["setup", "claude-code", "codex", "--yes", "--no-daemon"]);
    // The user has added a hook since, and called this program in another one.
    let mut settings = user.json_at(".claude/settings.json");
    let mine = json!({"hooks": [{"type": "command", "command": "poc-memory --profile work hook stop"}]});
    settings["hooks"]["Stop"].as_array_mut().unwrap().push(mine.clone());
    user.write(".claude/settings.json", &format!("{settings:#}\n"));
    let registered = user.files();
    let without = ["setup", "claude-code", "--no-daemon", "--no-hooks"];
    let diff = user.ok(&[&without[..], &["--dry-run"]].concat());
    assert!(diff.contains("-    \"SessionStart\": ") && diff.contains("nothing was written"), "{diff}");
    assert_eq!(user.files(), registered);
    let output = user.ok(&[&without[..], &["--yes"]].concat());
    assert!(output.contains("wrote    ") && output.contains(".claude/settings.json"), "{output}");
    let mut expected: Value = serde_json::from_str(CLAUDE_SETTINGS).unwrap();
    expected["hooks"]["Stop"].as_array_mut().unwrap().push(mine);
    assert_eq!(user.json_at(".claude/settings.json"), expected);
    assert!(!user.json_at(".claude.json")["mcpServers"]["poc-memory"].is_null());
    // The hooks of Codex were not meant, so transcripts are still followed.
    assert!(!user.json_at(".codex/hooks.json")["hooks"]["Stop"].is_null());
    assert!(own_settings().contains("follow = true"));
    let again = user.ok(&[&without[..], &["--yes"]].concat());
    assert!(again.starts_with("all settings files are up to date\n"), "{again}");

    let output = user.ok(&["setup", "codex", "--no-daemon", "--no-hooks", "--yes"]);
    assert!(output.contains("removed  ") && !user.home.join(".codex/hooks.json").exists(), "{output}");
    assert_eq!(own_settings(), OWN_SETTINGS);
    user.ok(&["setup", "remove", "--yes"]);
    assert_eq!(user.read(".claude.json"), CLAUDE_STATE);
    assert_eq!(user.json_at(".claude/settings.json"), expected);
}

#[test]
fn sessions_that_called_a_hook_are_followed_until_the_hooks_are_removed() {
    let user = User::new();
    user.world.write("config.toml", OWN_SETTINGS);
    let session = user.world.write("hooks/a.json", "{\"notes\": {}, \"transcript\": \"/home/ann/a.jsonl\"}");
    let removals: [(&[&str], &[&str]); 2] = [
        (&["setup", "codex"], &["setup", "remove"]),
        (&["setup", "claude-code"], &["setup", "claude-code", "--no-hooks", "--no-daemon"]),
    ];
    for (set_up, remove) in removals {
        user.ok(&[set_up, &["--yes", "--no-daemon"]].concat());
        std::fs::write(&session, "{\"notes\": {}, \"transcript\": \"/home/ann/a.jsonl\"}").unwrap();
        user.ok(&[remove, &["--yes"]].concat());
        assert!(!session.exists(), "{remove:?}");
    }
    // A plugin may have registered the hooks of the sessions.
    user.ok(&["setup", "remove", "--yes"]);
    user.ok(&["setup", "cursor", "--yes", "--no-daemon"]);
    std::fs::write(&session, "{}").unwrap();
    user.ok(&["setup", "remove", "--yes"]);
    assert!(session.exists());
}

#[test]
fn transcripts_are_not_followed_when_only_an_uninstalled_assistant_had_hooks() {
    let user = User::new();
    user.world.write("config.toml", OWN_SETTINGS);
    user.ok(&["setup", "claude-code", "codex", "--yes", "--no-daemon"]);
    std::fs::remove_dir_all(user.home.join(".codex")).unwrap();
    user.ok(&["setup", "claude-code", "--no-hooks", "--yes", "--no-daemon"]);
    let own_settings = std::fs::read_to_string(user.world.home().join("config.toml")).unwrap();
    assert_eq!(own_settings, OWN_SETTINGS);
}

#[test]
fn what_an_assistant_writes_while_setup_asks_is_kept() {
    let user = User::new();
    user.write(".claude.json", CLAUDE_STATE);
    let setup = ["setup", "claude-code", "--no-daemon", "--no-hooks"];
    let Some(mut command) = user.world.at_terminal(&user.command(), &setup) else { return };
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut shown, mut byte) = (Vec::new(), [0]);
    while !shown.ends_with(b"[y/N]") {
        output.read_exact(&mut byte).unwrap();
        shown.extend(byte);
    }
    user.write(".claude.json", &CLAUDE_STATE.replace("\"numStartups\": 7", "\"numStartups\": 8"));
    input.write_all(b"y\n").unwrap();
    drop(input);
    output.read_to_end(&mut shown).unwrap();
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&shown));
    let state = user.json_at(".claude.json");
    assert_eq!((&state["numStartups"], &state["userID"]), (&json!(8), &json!("u")));
    assert_eq!(state["mcpServers"]["poc-memory"]["type"], "stdio");
}

#[test]
fn a_file_that_cannot_be_read_stops_setup_before_anything_is_written() {
    let user = User::new();
    with_assistants(&user);
    user.write(".codex/config.toml", "model = \n");
    let before = user.files();
    let failed = user.run(&["setup", "--yes"]);
    assert_eq!(failed.status, 78, "{failed:?}");
    assert!(failed.stderr.contains(".codex/config.toml` cannot be changed"), "{}", failed.stderr);
    assert_eq!(user.files(), before);
    user.write(".claude.json", "{\"mcpServers\": [1]}");
    let failed = user.run(&["setup", "claude-code", "--yes"]);
    assert!(failed.stderr.contains("`mcpServers` is not an object"), "{}", failed.stderr);
    // If no assistant is installed, the error lists the names of the supported ones.
    let nobody = User::new();
    let none = nobody.run(&["setup"]);
    assert!(
        none.stderr.contains("found no assistant that it supports") && none.stderr.contains("`zed`"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_plugin_has_tools_hooks_and_a_skill() {
    let user = User::new();
    let folder = user.home.join("market");
    let output = user.ok(&["plugin", &folder.display().to_string()]);
    assert!(
        output.contains("claude plugin install poc-memory@poc") && output.contains("codex plugin add"),
        "{output}"
    );
    let market = user.json_at("market/.claude-plugin/marketplace.json");
    assert_eq!(market["plugins"][0]["source"], "./poc-memory");
    let server = user.json_at("market/poc-memory/.mcp.json")["mcpServers"]["poc-memory"].clone();
    assert_eq!((&server["args"], &server["alwaysLoad"]), (&json!(["mcp"]), &json!(true)));
    let hooks = user.json_at("market/poc-memory/hooks/hooks.json")["hooks"].clone();
    for entry in hooks.as_object().unwrap().values() {
        let hook = &entry[0]["hooks"][0];
        // Codex runs neither hooks with `args` nor those with `async`.
        let keys: Vec<&String> = hook.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "command", "timeout"]);
        assert!(hook["command"].as_str().unwrap().starts_with("POC_MEMORY_HOME="), "{hook}");
    }
    assert!(user.read("market/poc-memory/skills/remember/SKILL.md").starts_with("---\nname: remember\n"));
    // It replaces its own files, but touches no folder with others.
    user.ok(&["plugin", &folder.display().to_string()]);
    // Hooks serve the default tenant, so an assistant of another one would get notes that are not its own.
    let of_tenant = user.ok(&["--tenant", "user=ann", "plugin", &folder.display().to_string()]);
    assert!(of_tenant.contains("The plugin has no hooks") && !of_tenant.contains("/hooks"), "{of_tenant}");
    let server = user.json_at("market/poc-memory/.mcp.json")["mcpServers"]["poc-memory"].clone();
    assert_eq!(server["args"], json!(["--tenant", "user=ann", "mcp"]));
    assert!(!folder.join("poc-memory/hooks/hooks.json").exists());
    user.write("full/mine.txt", "x");
    let full = user.run(&["plugin", &user.home.join("full").display().to_string()]);
    assert!(full.status != 0 && full.stderr.contains("has other files in it"), "{full:?}");
}

/// Settings in which a provider has this address. The other ones are not running.
fn provider_settings(name: &str, address: &str) -> String {
    ["ollama", "lm-studio", "llama-cpp", "openai"]
        .map(|provider| {
            let kind = if provider == "lm-studio" { "openai" } else { provider };
            let address = if provider == name { address } else { "http://127.0.0.1:9" };
            format!("[providers.{provider}]\nkind = \"{kind}\"\nbase-url = \"{address}\"\n")
        })
        .concat()
        + "key-env = \"OPENAI_API_KEY\"\n"
}

#[test]
fn setup_finds_a_model_of_lm_studio() {
    let user = User::new();
    let model = MockModel::serve(|asked| match asked.line.as_str() {
        "GET /v1/models" => Answer::ok(
            json!({"data": [{"id": "text-embedding-nomic"}, {"id": "nousresearch/hermes"}, {"id": "a-mini"}]}),
        ),
        _ => Answer::chat("{\"notes\": \"\"}"),
    });
    user.world.write("config.toml", &provider_settings("lm-studio", &format!("{}/v1", model.url())));
    let output = user.ok(&["setup", "model", "--yes"]);
    assert!(
        output.contains("chosen     lm-studio/nousresearch/hermes") && output.contains("measured   "),
        "{output}"
    );
    assert!(model.requests().iter().all(|asked| asked.header("authorization").is_none()));
}

#[test]
fn setup_takes_a_cheap_model_of_a_provider_whose_key_is_in_the_environment() {
    let user = User::new();
    let model = MockModel::serve(|asked| match (asked.line.as_str(), asked.header("authorization")) {
        (_, authorization) if authorization != Some("Bearer sk-of-the-user") => {
            Answer::error(401, "invalid_api_key", "this key is unknown")
        }
        ("GET /v1/models", _) => Answer::ok(json!({"data": [
            {"id": "gpt-4o-mini", "created": 1}, {"id": "text-embedding-3-small", "created": 9},
            {"id": "gpt-5-pro", "created": 5}, {"id": "gpt-4o-mini-tts", "created": 6},
            {"id": "gpt-5-mini", "created": 4},
        ]})),
        _ => Answer::chat("{\"notes\": \"\"}"),
    });
    // To the program, this is the address of another machine. The system connects it to this one.
    let address = format!("{}/v1", model.url().replace("127.0.0.1", "0.0.0.0"));
    let settings = provider_settings("openai", &address);
    user.world.write("config.toml", &settings);
    let without_key = user.run(&["setup", "model", "--yes"]);
    assert_eq!(without_key.status, 1, "{without_key:?}");
    assert!(without_key.stderr.contains("`openai`: set `OPENAI_API_KEY`"), "{}", without_key.stderr);
    assert!(without_key.stderr.contains("then repeat `poc-memory setup model`"), "{}", without_key.stderr);
    let shown = user.ok(&["setup", "model", "--dry-run"]);
    assert!(shown.contains("openai     set `OPENAI_API_KEY`") && shown.contains("then repeat `"), "{shown}");
    assert!(model.requests().is_empty());
    let wrong = user.run_with(&["setup", "model", "--yes"], &[("OPENAI_API_KEY", "sk-wrong")]);
    assert!(wrong.status == 1 && wrong.stderr.contains("cannot be asked for its models"), "{wrong:?}");
    assert!(!wrong.stderr.contains("sk-wrong"), "{}", wrong.stderr);
    let key = [("OPENAI_API_KEY", "sk-of-the-user")];
    let found = user.run_with(&["setup", "model", "--yes"], &key);
    assert_eq!(found.status, 0, "{found:?}");
    assert!(found.stdout.contains("chosen     openai/gpt-5-mini"), "{}", found.stdout);
    assert!(found.stdout.contains("measured   "), "{}", found.stdout);
    let text = std::fs::read_to_string(user.world.home().join("config.toml")).unwrap();
    assert_eq!(text, format!("{settings}\n[models.default]\nprovider = \"openai\"\nid = \"gpt-5-mini\"\n"));
}

#[test]
fn setup_finds_a_model_measures_it_and_makes_it_the_default() {
    let user = User::new();
    let model = MockModel::serve(|asked| match asked.line.as_str() {
        "GET /api/tags" => {
            Answer::ok(json!({"models": [{"name": "all-minilm:latest"}, {"name": "qwen3:4b"}]}))
        }
        _ => Answer::ok(json!({
            "message": {"role": "assistant", "content": "{\"notes\": \"\"}"}, "done": true,
            "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 10,
        })),
    });
    let address = model.url();
    // No other provider is running on the machine of the tests.
    let nowhere = "http://127.0.0.1:9";
    let settings = format!(
        "# mine\n[providers.ollama]\nkind = \"ollama\"\nbase-url = \"{address}\"\n\
         [providers.lm-studio]\nkind = \"openai\"\nbase-url = \"{nowhere}\"\n\
         [providers.llama-cpp]\nkind = \"llama-cpp\"\nbase-url = \"{nowhere}\"\n"
    );
    user.world.write("config.toml", &settings);
    let shown = user.ok(&["setup", "model", "--dry-run"]);
    assert!(shown.contains("ollama     all-minilm:latest, qwen3:4b"), "{shown}");
    assert!(shown.contains("+id = \"qwen3:4b\"") && shown.contains("lm-studio  is not running"), "{shown}");
    let output = user.ok(&["setup", "model", "--yes"]);
    assert!(output.contains("chosen     ollama/qwen3:4b") && output.contains("measured   "), "{output}");
    let text = std::fs::read_to_string(user.world.home().join("config.toml")).unwrap();
    assert_eq!(text, format!("{settings}\n[models.default]\nprovider = \"ollama\"\nid = \"qwen3:4b\"\n"));
}
