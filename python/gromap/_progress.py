"""How a fit tells how far it is: a bar for people, ``callback=`` for programs, scikit-learn's own callbacks.

The core calls :class:`Watch` on the thread that called ``fit``, at the start of every stage and after every round.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method):
        return method


__all__ = ["CallbackSupportMixin", "Progress", "Watch", "with_callbacks"]

STAGES = ("prepare", "neighbors", "affinity", "start", "fit")


@dataclass(frozen=True)
class Progress:
    """What ``callback=`` is called with.

    Attributes
    ----------
    stage : str
        "prepare", "neighbors", "affinity", "start" or "fit".
    round : int or None
        Rounds of the descent done so far; None before the first.
    loss : float or None
        The loss after that round.
    seconds : float
        Since the fit began.
    """

    stage: str
    round: int | None
    loss: float | None
    seconds: float


class Watch:
    """Passes on what the core tells; true when someone asks to stop."""

    def __init__(self, *listeners):
        self._listeners = [listener for listener in listeners if listener is not None]
        self._stage = STAGES[0]
        self._begun = time.perf_counter()

    @property
    def listens(self):
        return bool(self._listeners)

    def __call__(self, stage, round, loss):
        self._stage = stage or self._stage
        progress = Progress(self._stage, round, loss, time.perf_counter() - self._begun)
        # A list, not a generator: all are told, whatever the first says.
        return any([bool(listener(progress)) for listener in self._listeners])


class SklearnCallbacks:
    """Rounds as subtasks of a fit, for the callbacks that were set on the estimator or its pipeline."""

    def __init__(self, estimator, rounds, **given):
        self._estimator = estimator
        self._context = estimator._init_callback_context(max_subtasks=rounds)
        self._context.call_on_fit_task_begin(estimator=estimator, **given)
        self._given = given

    @classmethod
    def of(cls, estimator, rounds, X, sample_weight):
        """None where none are set."""
        if not getattr(estimator, "_skl_callbacks", None):
            return None
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        return cls(estimator, rounds, X=X, y=None, metadata=metadata)

    def __call__(self, progress):
        if not progress.round:
            return False
        round_ = self._context.subcontext(task_name="round")
        round_.call_on_fit_task_begin(estimator=self._estimator, **self._given)
        return round_.call_on_fit_task_end(estimator=self._estimator, **self._given)

    def end(self):
        self._context.call_on_fit_task_end(estimator=self._estimator, **self._given)


class Bar:
    """One line that is written over: on a terminal, in a notebook; elsewhere a line for every stage."""

    WIDTH = 24
    PERIOD = 0.1

    def __init__(self, rounds, stream=None):
        self._rounds = max(rounds, 1)
        self._stream = stream or sys.stderr
        self._cell = None if stream else _notebook_cell()
        self._overwrites = self._cell is not None or self._stream.isatty()
        self._shown = None
        self._last = None

    def __call__(self, progress):
        new_stage = self._last is None or self._last.stage != progress.stage
        self._last = progress
        if not self._overwrites:
            if new_stage:
                self._stream.write(f"gromap: {progress.stage}, {progress.seconds:.1f} s\n")
        elif new_stage or self._shown is None or progress.seconds - self._shown >= self.PERIOD:
            self._show(self._line(progress))
            self._shown = progress.seconds
        return False

    def end(self, outcome):
        """Leaves the last state to be read."""
        if self._last is None:
            return
        if self._overwrites:
            self._show(self._line(self._last, outcome))
        else:
            self._stream.write(f"gromap: {outcome}, {self._told(self._last)}\n")
        if self._overwrites and self._cell is None:
            self._stream.write("\n")
        self._stream.flush()

    def _told(self, progress):
        rounds = "" if progress.round is None else f"round {progress.round}, loss {progress.loss:.6g}, "
        return f"{rounds}{progress.seconds:.1f} s"

    def _line(self, progress, outcome=None):
        share = 1.0 if outcome == "done" else (progress.round or 0) / self._rounds
        filled = round(self.WIDTH * share)
        bar = "█" * filled + "·" * (self.WIDTH - filled)
        return f"gromap {outcome or progress.stage:<9} {bar} {self._told(progress)}"

    def _show(self, line):
        if self._cell is not None:
            self._cell.update({"text/plain": line}, raw=True)
        else:
            self._stream.write(f"\r\x1b[2K{line}")
            self._stream.flush()


def _notebook_cell():
    """A place in the output of a notebook that can be written again; None elsewhere."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython.display import display

    return display({"text/plain": ""}, raw=True, display_id=True)
