"""Stores notes and vectors from a folder in a file of SQLite, with FTS5 and sqlite-vec. Prints JSON: the seconds of
processor time, and the bytes of the file."""

import json
import pathlib
import sys
import time

import apsw
import sqlite_vec


def main():
    folder, dimensions, chunk = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    path = folder / "peer.sqlite"
    started = time.process_time()
    database = apsw.Connection(str(path))
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(title, body, keywords)")
    database.execute(
        f"CREATE VIRTUAL TABLE vectors USING vec0(vector float[{dimensions}] distance_metric=cosine)"
    )
    row = 0
    with open(folder / "notes.jsonl") as notes, open(folder / "vectors.f4", "rb") as vectors:
        while lines := [line for _, line in zip(range(chunk), notes)]:
            with database:
                for note in map(json.loads, lines):
                    database.execute(
                        "INSERT INTO texts (title, body, keywords) VALUES (?, ?, ?)",
                        (note["title"], note["body"], ", ".join(note["keywords"])),
                    )
                    for _ in range(note["parts"]):
                        row += 1
                        database.execute(
                            "INSERT INTO vectors (rowid, vector) VALUES (?, ?)",
                            (row, vectors.read(4 * dimensions)),
                        )
    database.close()
    seconds = time.process_time() - started
    json.dump({"seconds": seconds, "bytes": path.stat().st_size}, sys.stdout)


main()
