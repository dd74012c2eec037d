"""A CPython workload: objects, dictionaries, strings and JSON, as services have them.

Run with PYTHONMALLOC=malloc, so that every object is a malloc. The argument is the number of
rounds (default 6). Prints a checksum.
"""
import json
import sys


class Record:
    """An object with a dictionary, a list and strings of its own."""

    def __init__(self, number, names):
        self.number = number
        self.name = names[number % len(names)] + str(number)
        self.tags = [f"{self.name}:{i}" for i in range(number % 5)]
        self.links = {}


def build(count, names):
    """Records that point at each other: many small blocks that live together."""
    records = [Record(number, names) for number in range(count)]
    for number, record in enumerate(records):
        for step in (1, 7, 31):
            other = records[(number * step + step) % count]
            record.links[other.name] = other
    return records


def churn(records):
    """Short-lived strings and lists, one dictionary that grows."""
    words = {}
    for record in records:
        for part in ("-".join(record.tags) + record.name.upper()).split("-"):
            words[part] = words.get(part, 0) + 1
    return sum(words.values())


def through_json(records):
    """To text and back: blocks of all sizes, some of them large."""
    text = json.dumps([{"n": r.number, "name": r.name, "tags": r.tags,
                        "links": sorted(r.links)} for r in records])
    return len(json.loads(text)) + len(text)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    names = ["loam", "clay", "sand", "silt", "peat", "chalk", "marl"]
    check = 0
    kept = []
    for number in range(rounds):
        records = build(20000 + 3000 * (number % 4), names)
        check += churn(records) + through_json(records)
        kept.append(records[::16])
        if len(kept) > 3:
            kept.pop(0)
    print("check", check)


main()
