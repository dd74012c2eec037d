"""The packages that are linked into the command: cargo says them."""
import functools
import json

from releasing.process import output_of


@functools.lru_cache(maxsize=None)
def metadata(processor):
    return json.loads(output_of("cargo", "metadata", "--locked", "--format-version", "1",
                                "--filter-platform", processor.rust_target))


def by_id(processor):
    return {package["id"]: package for package in metadata(processor)["packages"]}


def linked(processor):
    """The command's id, and for it and each that is linked into it the ids of those it asks for."""
    nodes = {node["id"]: node for node in metadata(processor)["resolve"]["nodes"]}
    root = next(identity for identity, package in by_id(processor).items()
                if package["name"] == "loam")
    asked, waiting = {}, [root]
    while waiting:
        identity = waiting.pop()
        if identity not in asked:
            asked[identity] = sorted(
                one["pkg"] for one in nodes[identity]["deps"]
                if any(kind["kind"] is None for kind in one["dep_kinds"]))
            waiting += asked[identity]
    return root, asked
