"""A fit while it runs: the GIL is free, Ctrl-C is heard in every stage, callbacks are told, no thread is left."""

import io
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from gromap import GromovClustering, GromovDR, Progress, affinity, srgw_barycenter
from gromap._progress import STAGES, Bar
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(center, 1.0, (150, 8)) for center in (0.0, 3.0, 6.0)])
SMALL = {"perplexity": 10, "random_state": 0}


def threads():
    """Threads of this process that the operating system knows."""
    return len(os.listdir("/proc/self/task"))


GRAPH = """
half = sp.random_array((15_000, 15_000), density=2e-3, format="csr", rng=rng)
data = half + half.T
"""

# What to run for so long that a signal after a quarter of a second meets it, stage by stage: data, and the call.
LONG = {
    "prepare": ("data = rng.random((30_000, 1500))", "GromovDR(10).fit(data)"),
    "wide prepare": ("data = rng.random((3_000, 20_000))", "GromovDR(10).fit(data)"),
    "exact neighbours": ("data = rng.random((60_000, 60), dtype=np.float32)", "nearest_neighbors(data, 30)"),
    "approximate neighbours": (
        "data = rng.random((120_000, 40), dtype=np.float32)",
        "nearest_neighbors(data, 30, search='descent')",
    ),
    "affinity": ("data = rng.random((30_000, 4))", "SymmetricEntropic(perplexity=60).fit(data)"),
    "geodesics": ("data = rng.random((8_000, 3))", "Geodesic().fit(data)"),
    "kernel": ("data = rng.random((9_000, 300))", "Kernel(kernel='laplacian').fit(data)"),
    "agglomerative start": (GRAPH, "GromovDR(1500, precomputed='similarity').fit(data)"),
    "spectral start": (GRAPH, "GromovDR(40, init='spectral', precomputed='similarity').fit(data)"),
    "first embedding": (GRAPH, "GromovDR(1000, precomputed='similarity', init=np.arange(15_000) % 1000).fit(data)"),
    "decomposition": (GRAPH, "GromovDR(2500, precomputed='similarity', init=np.arange(15_000) % 2500).fit(data)"),
    "classical": ("data = rng.random((12_000, 3))", "GromovDR(None).fit(data)"),
    "vertex descent": (GRAPH, "GromovClustering(500, init='random', precomputed='similarity', tol=0.0).fit(data)"),
    "conditional gradient": (
        GRAPH,
        "GromovClustering(300, init='random', solver='cg', precomputed='similarity', tol=0.0).fit(data)",
    ),
    "conditional gradient of a map": (
        GRAPH,
        "GromovDR(300, init='random', solver='cg', precomputed='similarity', tol=0.0).fit(data)",
    ),
    "score": (
        "data = rng.random((60_000, 50)); m = GromovDR(None, method='pca').fit(data[:200])",
        "m.score(data)",
    ),
}

# A large dense decomposition is one call that hears nothing: it is left alone on its thread, and ends by itself.
LEFT_ALONE = {"decomposition"}

SCRIPT = """
import os, signal, threading, time
import numpy as np
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR
from gromap.affinity import Geodesic, Kernel, SymmetricEntropic, nearest_neighbors

rng = np.random.default_rng(0)
{data}
sent = []

def interrupt():
    time.sleep(0.25)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

before = len(os.listdir("/proc/self/task"))
threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print("heard", time.perf_counter() - sent[0])
else:
    print("too short")
over = time.perf_counter() + {patience}
while len(os.listdir("/proc/self/task")) > before and time.perf_counter() < over:
    time.sleep(0.01)
assert len(os.listdir("/proc/self/task")) <= before, "threads are left"
# Nothing is broken: the next fit is what it always is.
small = rng.random((100, 5))
runs = [GromovDR(5, perplexity=10, random_state=0).fit(small) for _ in range(2)]
assert np.array_equal(runs[0].labels_, runs[1].labels_)
print("well")
"""


@pytest.mark.parametrize("stage", LONG)
def test_ctrl_c_is_heard_within_a_second(stage):
    data, call = LONG[stage]
    patience = "30" if stage in LEFT_ALONE else "0.5"
    script = SCRIPT.replace("{data}", data).replace("{call}", call).replace("{patience}", patience)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    heard, last = done.stdout.splitlines()
    assert last == "well"
    word, seconds = heard.split()
    assert word == "heard" and float(seconds) < 1.0


def test_other_threads_run_during_a_fit():
    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.perf_counter()
    samples = RNG.normal(size=(6_000, 20))
    ticks.clear()
    affinity.SymmetricEntropic(perplexity=50).fit(samples)
    seconds = time.perf_counter() - begun
    over.set()
    thread.join()
    assert len(ticks) > 5 and np.diff(ticks).max() < max(0.2, 0.5 * seconds), "the GIL was held"


@pytest.mark.parametrize(
    "call",
    [
        lambda: GromovDR(6, n_jobs=3, **SMALL).fit(X).transform(X),
        lambda: GromovClustering(3, n_jobs=3, **SMALL).fit(X),
        lambda: affinity.Entropic(perplexity=10).fit(X),
        lambda: srgw_barycenter((X,), 3, random_state=0),
    ],
    ids=["map", "clusters", "affinity", "barycenter"],
)
def test_no_thread_is_left(call):
    before = threads()
    call()
    # The operating system takes a moment to forget a thread that has ended.
    over = time.perf_counter() + 5.0
    while threads() > before and time.perf_counter() < over:
        time.sleep(0.001)
    assert threads() <= before  # fewer, if one of an earlier test was still on its way out


def test_two_fits_at_once_do_not_hear_each_other():
    """One is stopped by its callback; the other comes to its end."""
    found = {}

    def fit(name, callback):
        try:
            found[name] = GromovDR(6, callback=callback, **SMALL).fit(X)
        except RuntimeError as error:
            found[name] = error

    def refuse(progress):
        raise RuntimeError("no")

    pair = [threading.Thread(target=fit, args=pair) for pair in (("refused", refuse), ("well", None))]
    [thread.start() for thread in pair]
    [thread.join() for thread in pair]
    assert isinstance(found["refused"], RuntimeError)
    np.testing.assert_array_equal(found["well"].labels_, GromovDR(6, **SMALL).fit(X).labels_)


@pytest.mark.parametrize("kind", [GromovDR, GromovClustering])
def test_a_callback_is_told_of_stages_and_rounds_on_the_calling_thread(kind):
    told, where = [], set()

    def listen(progress):
        told.append(progress)
        where.add(threading.get_ident())

    m = kind(6, init="random", callback=listen, **SMALL).fit(X)
    assert all(isinstance(progress, Progress) for progress in told) and where == {threading.get_ident()}
    stages = list(dict.fromkeys(progress.stage for progress in told))
    assert stages == [stage for stage in STAGES if stage in stages] and {*STAGES} - {*stages} <= {"neighbors"}
    rounds = [(progress.round, progress.loss) for progress in told if progress.round is not None]
    assert rounds == list(enumerate(m.loss_curve_))
    assert all(a.seconds <= b.seconds for a, b in zip(told[:-1], told[1:], strict=True))


@pytest.mark.parametrize("kind", [GromovDR, GromovClustering])
def test_a_callback_can_end_the_descent(kind):
    m = kind(6, init="random", tol=0.0, callback=lambda progress: progress.round == 2, **SMALL).fit(X)
    assert m.stop_reason_ == "interrupted" and m.n_iter_ == 2
    assert len(m.labels_) == len(X) and np.isfinite(m.loss_)
    early = kind(6, init="random", callback=lambda progress: progress.stage == "affinity", **SMALL).fit(X)
    assert early.stop_reason_ == "interrupted" and len(early.loss_curve_) == 1


def test_what_a_callback_raises_is_raised():
    class Odd(Exception):
        pass

    def fail(progress):
        if progress.stage == "start":
            raise Odd("here")

    m = GromovDR(6, callback=fail, **SMALL)
    with pytest.raises(Odd, match="here"):
        m.fit(X)
    assert not hasattr(m, "labels_")
    m.set_params(callback=None).fit(X)


def test_a_path_is_watched_too():
    told = []
    GromovDR(callback=told.append, **SMALL).path(X, [3, 6])
    assert [p.stage for p in told if p.round is None][-4:] == ["start", "fit", "start", "fit"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, verbose=1, monkeypatch=None):
    monkeypatch.setattr(sys, "stderr", stream)
    GromovDR(6, verbose=verbose, **SMALL).fit(X)
    return stream.getvalue()


def test_the_bar_of_a_terminal_is_one_line(monkeypatch):
    text = shown(Terminal(), monkeypatch=monkeypatch)
    assert text.count("\n") == 1 and text.endswith("\n")
    last = text.split("\r")[-1]
    assert "done" in last and "loss" in last and "█" * Bar.WIDTH in last


def test_a_log_gets_a_line_for_every_stage(monkeypatch):
    lines = shown(io.StringIO(), monkeypatch=monkeypatch).splitlines()
    lines = [line for line in lines if "neighbors" not in line]
    assert [line.split(",")[0] for line in lines] == [
        f"gromap: {s}" for s in ("prepare", "affinity", "start", "fit", "done")
    ]


def test_a_notebook_cell_is_written_over(monkeypatch):
    class Cell:
        def __init__(self):
            self.lines = []

        def update(self, bundle, raw):
            self.lines.append(bundle["text/plain"])

    cell = Cell()
    monkeypatch.setattr("gromap._progress._notebook_cell", lambda: cell)
    assert shown(io.StringIO(), monkeypatch=monkeypatch) == ""
    assert "done" in cell.lines[-1]


def test_silence_is_the_default(monkeypatch, capfd):
    assert shown(Terminal(), verbose=0, monkeypatch=monkeypatch) == ""
    assert capfd.readouterr() == ("", "")


def test_the_bar_is_closed_when_a_fit_fails(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    def fail(progress):
        if progress.stage == "fit":
            raise KeyError(1)

    with pytest.raises(KeyError):
        GromovDR(6, verbose=1, callback=fail, **SMALL).fit(X)
    assert stream.getvalue().endswith("\n") and "stopped" in stream.getvalue().split("\r")[-1]


class Recorder:
    """A callback of scikit-learn's kind."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.calls.append(("begin", context.task_name, context.task_id, X.shape))

    def on_fit_task_end(self, estimator, context):
        self.calls.append(("end", context.task_name, context.task_id))
        return context.task_name == "round" and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.calls.append("teardown")


@pytest.mark.parametrize("kind", [GromovDR, GromovClustering])
def test_scikit_learns_callbacks_see_rounds(kind):
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    recorder = Recorder()
    m = kind(6, init="random", **SMALL).set_callbacks(recorder).fit(X)
    rounds = len(m.loss_curve_) - 1
    assert recorder.calls[0] == "setup" and recorder.calls[-1] == "teardown"
    assert recorder.calls[1] == ("begin", "fit", 0, X.shape) and recorder.calls[-2] == ("end", "fit", 0)
    assert [call[2] for call in recorder.calls if call[:2] == ("end", "round")] == list(range(rounds))
    stopped = kind(6, init="random", tol=0.0, **SMALL).set_callbacks(Recorder(stop_after=2)).fit(X)
    assert stopped.stop_reason_ == "interrupted" and stopped.n_iter_ == 2


def test_scikit_learns_callbacks_reach_a_map_in_a_pipeline():
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    recorder = Recorder()
    recorder.max_propagation_depth = None
    pipeline = make_pipeline(StandardScaler(), GromovDR(6, init="random", **SMALL)).set_callbacks(recorder).fit(X)
    rounds = [call for call in recorder.calls if call[:2] == ("end", "round")]
    assert len(rounds) == len(pipeline[-1].loss_curve_) - 1
    assert recorder.calls.count("setup") == recorder.calls.count("teardown") == 1
