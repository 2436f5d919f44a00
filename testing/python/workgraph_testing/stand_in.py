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
        return cls.begin(*arguments, binary=binary).wait()

    @classmethod
    def begin(cls, *arguments, binary=None):
        """Starts a stand-in that has no address before ``wait()``."""
        binary = binary or os.environ.get("WORKGRAPH_BIN") or shutil.which("workgraph")
        if not binary:
            raise RuntimeError(
                "the program `workgraph` is not in the PATH; name it with the environment variable WORKGRAPH_BIN"
            )
        # What a test leaves is worth nothing, so it need not reach a disk.
        memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        folder = tempfile.mkdtemp(prefix="workgraph-stand-in-", dir=memory)
        command = [binary, "serve", "--stand-in", "--listen=127.0.0.1:0", f"--data={os.path.join(folder, 'data')}"]
        command += [f"--port-file={os.path.join(folder, 'port')}", *arguments]
        try:
            with open(os.path.join(folder, "log"), "wb") as log:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls("", process, folder)

    def wait(self):
        """Waits until the stand-in that was begun has its address."""
        deadline = time.monotonic() + _START_SECONDS
        while not self.url:
            port = self._read("port").strip()
            if port:
                self.url = f"http://127.0.0.1:{port}"
            elif self._process.poll() is not None or time.monotonic() > deadline:
                text = self._read("log")
                self._process.kill()
                self.stop()
                raise RuntimeError(f"the stand-in did not start:\n{text}")
            else:
                _real_sleep(0.005)
        return self

    def _read(self, name):
        try:
            with open(os.path.join(self._folder, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

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
