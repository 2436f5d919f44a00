"""The stand-in: a server process, or the address of one that runs."""

import os
import shutil
import subprocess
import tempfile
import time

from .world import World, call

_START_SECONDS = 30
_MEMORY = "/dev/shm"
_real_sleep = time.sleep


class StandIn:
    """A stand-in that serves worlds.

    ``StandIn.start()`` runs the program ``workgraph``, or the one that the environment variable ``WORKGRAPH_BIN`` names.
    ``StandIn(url)`` uses one that runs already.
    """

    def __init__(self, url, process=None, folder=None):
        self.url = url.rstrip("/")
        self._process = process
        self._folder = folder

    @classmethod
    def start(cls, *arguments, binary=None):
        """Starts a stand-in on a free port. ``arguments`` are further ones, such as ``"--seed=7"``."""
        binary = binary or os.environ.get("WORKGRAPH_BIN") or shutil.which("workgraph")
        if not binary:
            raise RuntimeError(
                "the program `workgraph` is not in the PATH; name it with the environment variable WORKGRAPH_BIN"
            )
        # What a test leaves is worth nothing, so it need not reach a disk.
        memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        folder = tempfile.mkdtemp(prefix="workgraph-stand-in-", dir=memory)
        port_file = os.path.join(folder, "port")
        log = open(os.path.join(folder, "log"), "wb")
        process = subprocess.Popen(
            [
                binary,
                "serve",
                "--stand-in",
                "--listen=127.0.0.1:0",
                f"--data={os.path.join(folder, 'data')}",
                f"--port-file={port_file}",
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        log.close()
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                with open(port_file, encoding="ascii") as file:
                    port = file.read().strip()
                if port:
                    return cls(f"http://127.0.0.1:{port}", process, folder)
            except FileNotFoundError:
                pass
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as file:
                    text = file.read()
                shutil.rmtree(folder, ignore_errors=True)
                raise RuntimeError(f"the stand-in did not start:\n{text}")
            _real_sleep(0.005)

    def world(self, **options):
        """Makes a world. ``options`` are those of ``POST /-/worlds``: ``from_`` (``"demo"``, ``"empty"`` or a world), ``fixture``,
        ``name``, ``seed``, ``now`` and ``settings``."""
        if "from_" in options:
            source = options.pop("from_")
            options["from"] = source.id if isinstance(source, World) else source
        made = call("POST", f"{self.url}/-/worlds", options)
        return World(self.url, made)

    def stop(self):
        """Ends the process, if this object started it, and removes its data."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
