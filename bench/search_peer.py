"""Searches notes and vectors from a folder with SQLite, FTS5 and sqlite-vec. Prints JSON: the seconds per question, the
number of notes that contain a word of each question, and the cosines of its nearest notes."""

import json
import pathlib
import statistics
import struct
import sys
import time

import apsw
import sqlite_vec

DEPTH = 50
WANTED = 10
ROUNDS = 7

# A note has two vectors, of title and body; the better one counts. 60 is the usual constant of reciprocal rank
# fusion.
HYBRID = """
WITH near AS (
    SELECT note, min(distance) AS distance FROM
        (SELECT rowid / 2 AS note, distance FROM vectors WHERE vector MATCH ?1 AND k = 100)
    GROUP BY note ORDER BY distance LIMIT 50
), near_ranked AS (SELECT note, row_number() OVER (ORDER BY distance) AS rank FROM near),
words AS (
    SELECT rowid AS note, row_number() OVER (ORDER BY score) AS rank FROM
        (SELECT rowid, bm25(texts, 3.0, 1.0) AS score FROM texts WHERE texts MATCH ?2 ORDER BY score LIMIT 50)
)
SELECT note, sum(1.0 / (60 + rank)) AS score
FROM (SELECT * FROM near_ranked UNION ALL SELECT * FROM words)
GROUP BY note ORDER BY score DESC, note LIMIT ?3
"""


def packed(vector):
    return struct.pack(f"{len(vector)}f", *vector)


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def main():
    folder = pathlib.Path(sys.argv[1])
    notes, questions = read(folder / "notes.jsonl"), read(folder / "questions.jsonl")
    database = apsw.Connection(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    dimensions = len(questions[0]["vector"])
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(title, body)")
    database.execute(
        f"CREATE VIRTUAL TABLE vectors USING vec0(vector float[{dimensions}] distance_metric=cosine)"
    )
    with database:
        for number, note in enumerate(notes):
            database.execute(
                "INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)",
                (number, note["title"], note["body"]),
            )
            for part, vector in enumerate(note["parts"]):
                database.execute(
                    "INSERT INTO vectors (rowid, vector) VALUES (?, ?)", (2 * number + part, packed(vector))
                )
    asked = [
        (packed(question["vector"]), " OR ".join(sorted(set(question["text"].split()))))
        for question in questions
    ]
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for vector, words in asked:
            database.execute(HYBRID, (vector, words, WANTED)).fetchall()
        times.append((time.perf_counter() - started) / len(asked))
    holding, nearest = [], []
    for vector, words in asked:
        holding.append(database.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (words,)).get)
        near = database.execute(
            """SELECT min(distance) AS distance FROM
               (SELECT rowid / 2 AS note, distance FROM vectors WHERE vector MATCH ? AND k = 100)
               GROUP BY note ORDER BY distance LIMIT ?""",
            (vector, WANTED),
        )
        nearest.append([1 - distance for (distance,) in near])
    json.dump(
        {"seconds": statistics.median(times), "holding": holding, "nearest": nearest}, sys.stdout
    )


main()
