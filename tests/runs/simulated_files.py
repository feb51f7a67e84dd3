"""Files and folders of a simulated disk, and what a loss of power leaves of them."""

import random
from dataclasses import dataclass, field


@dataclass
class File:
    """A file, and what of it is on the disk; None before the first sync."""

    data: bytes = b""
    synced: bytes | None = None


@dataclass
class Folder:
    """A folder, the names that are on the disk, and the changes of names that may be.

    A change is a dictionary of names and what they stand for from now on, None for nothing. It is
    on the disk as a whole or not at all.
    """

    entries: dict[str, "Node"] = field(default_factory=dict)
    synced: dict[str, "Node"] = field(default_factory=dict)
    changes: list[dict[str, "Node | None"]] = field(default_factory=list)

    def change(self, **nodes: "Node | None") -> None:
        self.changes.append(nodes)
        apply(self.entries, nodes)


Node = File | Folder


def apply(entries: dict[str, Node], change: dict[str, Node | None]) -> None:
    for name, node in change.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def crashed(
    node: Node, names: str, contents: str, chance: random.Random, done: dict[int, Node]
) -> Node:
    """Return what is on the disk of a file or a folder after power was lost."""
    if id(node) in done:
        return done[id(node)]
    if isinstance(node, File):
        done[id(node)] = file = File(_content(node, contents, chance))
        file.synced = file.data
        return file
    entries = dict(node.synced)
    for change in node.changes:
        if names == "all" or (names == "some" and chance.random() < 0.5):
            apply(entries, change)
    done[id(node)] = folder = Folder()
    folder.entries = {
        name: crashed(each, names, contents, chance, done) for name, each in entries.items()
    }
    folder.synced = dict(folder.entries)
    return folder


def _content(file: File, contents: str, chance: random.Random) -> bytes:
    if contents == "mixed":
        contents = chance.choice(["synced", "zeros", "cut", "all"])
    if file.synced == file.data or contents == "all":
        return file.data
    before = file.synced or b""
    kept = len(before) if file.data.startswith(before) else 0
    if contents == "zeros":
        return file.data[:kept] + bytes(len(file.data) - kept)
    return before if contents == "synced" else file.data[: (kept + len(file.data)) // 2]
