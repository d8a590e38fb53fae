#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["grpcio-tools==1.85.1"]
# ///
"""Generate the Python modules and their stubs beside every ``_proto/*.proto`` of the workspace.

``python tools/protoc.py`` writes them; with ``--check`` nothing is written, and the exit code is 1 if a file differs,
is missing, or has no ``.proto`` any more. Only messages are generated: both the kubelet's gRPC and NRI's ttrpc find
their methods in the service descriptors. The compiler is pinned above, because its output changes with its version.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]  # it ships no types

WORKSPACE = Path(__file__).resolve().parent.parent
SUFFIXES = ("_pb2.py", "_pb2.pyi")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; give its exit code."""
    parser = argparse.ArgumentParser(description="generate protobuf modules of the workspace")
    parser.add_argument("--check", action="store_true", help="compare with what is there and write nothing")
    options = parser.parse_args(arguments)
    if problem := wrong_compiler():
        return fail(problem)
    stale = [line for root, protos in roots() for line in build(root, protos, check=options.check)]
    sys.stdout.writelines(f"{line}\n" for line in stale)
    return 1 if options.check and stale else 0


def wrong_compiler() -> str | None:
    """Say what is wrong if the installed compiler is not the pinned one."""
    match = re.search(r"grpcio-tools==([\d.]+)", Path(__file__).read_text(encoding="utf-8"))
    wanted = match.group(1) if match else "?"
    found = importlib.metadata.version("grpcio-tools")
    return None if found == wanted else f"grpcio-tools {found} is installed; install grpcio-tools=={wanted}"


def fail(message: str) -> int:
    """Write the message to standard error and give exit code 2."""
    sys.stderr.write(f"protoc.py: {message}\n")
    return 2


def roots() -> Iterator[tuple[Path, list[Path]]]:
    """Find source roots (``…/src``) with their ``.proto`` files. Module names are relative to the root."""
    for root in sorted(WORKSPACE.glob("*/src")) + sorted(WORKSPACE.glob("*/*/src")):
        if protos := sorted(root.glob("**/_proto/*.proto")):
            yield root, protos


def build(root: Path, protos: Sequence[Path], *, check: bool) -> Iterator[str]:
    """Generate the files of one root; give a line for each that was, or with ``check`` would be, changed."""
    with tempfile.TemporaryDirectory() as folder:
        compile_protos(root, protos, Path(folder))
        made = {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*_pb2.py*")}
    for name, content in sorted(made.items()):
        target = root / name
        if not target.exists() or target.read_bytes() != content:
            yield f"{'differs' if check else 'written'}: {target.relative_to(WORKSPACE)}"
            if not check:
                target.write_bytes(content)
    for target in leftovers(root, made.keys()):
        yield f"{'no proto' if check else 'removed'}: {target.relative_to(WORKSPACE)}"
        if not check:
            target.unlink()


def leftovers(root: Path, made: Collection[Path]) -> list[Path]:
    """List generated files whose ``.proto`` is gone."""
    found = [path for suffix in SUFFIXES for path in root.glob(f"**/_proto/*{suffix}")]
    return sorted(path for path in found if path.relative_to(root) not in made)


def compile_protos(root: Path, protos: Sequence[Path], folder: Path) -> None:
    """Run the compiler into ``folder``."""
    files = [str(path.relative_to(root)) for path in protos]
    options = [f"--proto_path={root}", f"--python_out={folder}", f"--pyi_out={folder}"]
    if code := protoc.main(["protoc", *options, *files]):
        raise SystemExit(code)


if __name__ == "__main__":
    raise SystemExit(main())
