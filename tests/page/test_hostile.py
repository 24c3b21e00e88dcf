"""Notes are hostile input: whatever they contain shows as text, on every screen."""

import json

from conftest import ready

ATTACKS = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    "<svg onload='window.pwned = 3'>",
    "\"><iframe srcdoc='<script>parent.pwned = 4</script>'>",
    "'--><style>body { display: none }</style>",
    "[click](javascript:window.pwned=5)",
    "![x](http://evil.example/pixel.png)",
    "<a href='javascript:window.pwned=6'>click</a>",
    "{{constructor.constructor('window.pwned = 7')()}}",
    "\u202egnp.exe \u2066\u202d mixed \u2069 directions",
    "<math><mtext></mtext><mglyph><style><img src onerror=window.pwned=8></style>",
    "<base href='http://evil.example/'><meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<form action='http://evil.example/'><button>send</button></form>",
    "`</code><script>window.pwned = 9</script>`",
    "</title><script>window.pwned = 10</script>",
    "<https://evil.example/\"onmouseover=window.pwned=11>",
]


def test_attacks_show_as_text_on_every_screen(browser):
    world = browser.world
    for number, attack in enumerate(ATTACKS):
        arguments = ["--title", f"{number} {attack}", "--body", f"{attack}\n\n{attack}\n\n# {attack}\n\n- {attack}\n\n```\n{attack}\n```\n\n[[{attack}]]"]
        world.run("insert", *arguments, "--key", f"attack-{number}", "--keyword", attack[:60], "--author", attack, "--source", attack, "--type", "episodic")
        world.run("link", f"attack-{number}", f"attack-{max(0, number - 1)}" if number else "btree", "--reason", attack)
    # Keys with markup, and a line of a megabyte.
    world.run("insert", "--title", "odd key", "--body", "x", "--key", "a\"b<i>c</i>/d e?f#g", check=False)
    long = world.home / "long.md"
    long.write_text("# One line\n\n" + "<b>word</b> " * 86_000)
    world.run("import", str(long))
    world.run("agent", "run", "linker", "--propose", check=False)
    # Agent files with markup, one of them broken.
    (world.home / "agents").mkdir(exist_ok=True)
    for name, attack in (("good", ATTACKS[1]), ("broken", ATTACKS[0])):
        pipeline = "all" if name == "good" else attack
        quoted = [json.dumps(text) for text in (attack, pipeline, f"{attack} {{{{ NODES }}}}")]
        (world.home / "agents" / f"{name}.toml").write_text(
            f"description = {quoted[0]}\n[query]\npipeline = {quoted[1]}\n[prompt]\ninline = {quoted[2]}\n"
            'placeholders = ["NODES"]\n[execution]\nmodel = "default"\nactions = ["weight"]\n')
    watched = browser.open()
    watched.expected = ("status of 4",)
    page = watched.page
    long_key = world.json("search", "One line", "-k", "1")["results"][0]["key"]
    keys = [f"attack-{number}" for number in range(len(ATTACKS))]
    paths = ["/", "/search", "/search?q=pwned+script", "/review", "/agents", "/agents/linker", "/activity", "/graph", "/graph?around=attack-3", "/graph?at=0s", "/health"]
    paths += ["/agents/good", "/agents/broken", "/notes/attack-3?at=0s", "/notes/attack-3?at=%3Cscript%3Ewindow.pwned=1%3C/script%3E"]
    paths += [f"/search?q=%3Cimg+src%3Dx+onerror%3Dwindow.pwned%3D1%3E", "/notes/%3Cscript%3Ewindow.pwned=1%3C%2Fscript%3E", f"/notes/{long_key}"]
    for path in paths + [f"/notes/{key}" for key in keys]:
        page.goto(browser.path(path))
        ready(page)
        assert page.evaluate("() => window.pwned") is None, path
        assert page.locator("main script, main iframe, main img, main style, main base, main object, main math").count() == 0, path
        # What is a form or a link here is ours.
        foreign = page.evaluate("() => [...document.querySelectorAll('a[href], form[action]')].map((one) => one.href ?? one.action).filter((to) => /^(javascript|data|vbscript):/i.test(to))")
        assert foreign == [], path
        assert page.evaluate("() => getComputedStyle(document.body).display") == "block", path
    page.goto(browser.path("/notes/attack-0"))
    ready(page)
    assert page.inner_text("h1") == f"0 {ATTACKS[0]}"
    assert ATTACKS[0] in page.inner_text(".prose")
    assert ATTACKS[0] in page.title()


def test_the_policy_refuses_markup_from_scripts(browser):
    watched = browser.open()
    watched.expected = ("Trusted", "Content Security Policy", "Content-Security-Policy")
    refused = watched.page.evaluate("""() => {
        try { document.body.innerHTML = '<b>x</b>'; return false; } catch (error) { return error.name === 'TypeError'; }
    }""")
    assert refused
