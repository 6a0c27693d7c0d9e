"""What the experiments share: options, the maps of other libraries, scores, runs with their means, and tables."""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

import numpy as np
from sklearn.metrics import (
    adjusted_rand_score,
    homogeneity_score,
    normalized_mutual_info_score,
    pairwise_distances,
    silhouette_score,
)

PEERS = ("UMAP + k-means", "openTSNE + k-means")


def options(threads, names, chosen):
    """Options that every command has: a parent of its parser."""
    parser = argparse.ArgumentParser(add_help=False, parents=[threads])
    parser.add_argument("--data", type=pathlib.Path, help="folder with the datasets")
    parser.add_argument("--datasets", nargs="+", choices=names, default=chosen, metavar="NAME", help=", ".join(names))
    parser.add_argument("--smoke", action="store_true", help="small made-up data, to see that it runs")
    return parser


def add_files(parser):
    parser.add_argument("--json", type=pathlib.Path, help="file for every run")
    parser.add_argument("--markdown", type=pathlib.Path, help="file for what is printed")


def parsed(parser):
    arguments = parser.parse_args()
    if not arguments.smoke and arguments.data is None and list(arguments.datasets) != ["digits"]:
        parser.error("give --data FOLDER, or --smoke")
    if arguments.smoke:
        os.environ["OMP_NUM_THREADS"] = "1"  # on small data threads wait for each other more than they work
        for name in ("seeds", "paper_seeds", "peer_seeds"):
            if hasattr(arguments, name):
                setattr(arguments, name, 1)
    return arguments


def umap_map(X, seed, **settings):
    from umap import UMAP

    return UMAP(**settings, random_state=seed, n_jobs=1).fit_transform(X)  # with a seed, UMAP takes one thread


def opentsne_map(X, seed, **settings):
    from openTSNE import TSNE

    threads = int(os.environ["OMP_NUM_THREADS"])  # its own default is one
    return np.asarray(TSNE(**settings, random_state=seed, n_jobs=threads).fit(X))


def timed(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def majority(y, labels, n):
    """The class most frequent among the members of each prototype; the smaller of equals."""
    counts = np.zeros((n, y.max() + 1), int)
    np.add.at(counts, (labels, y), 1)
    return counts.argmax(1)


def scores(y, labels, places=None):
    """Of groups against classes, over all samples; and the silhouette of the groups' places against the class most
    frequent in each, plain and weighted by members: NaN without places, or if all or no groups share a class."""
    found = {
        "homogeneity": homogeneity_score(y, labels),
        "nmi": normalized_mutual_info_score(y, labels),
        "rand": adjusted_rand_score(y, labels),
        "silhouette": math.nan,
        "weighted silhouette": math.nan,
    }
    used, labels, members = np.unique(labels, return_inverse=True, return_counts=True)
    classes = majority(y, labels, len(used))
    if places is not None and 1 < len(np.unique(classes)) < len(used):
        found["silhouette"] = silhouette_score(places[used], classes)
        found["weighted silhouette"] = weighted_silhouette(places[used], classes, members)
    return {name: 100 * float(value) for name, value in found.items()}


def weighted_silhouette(places, classes, weights):
    """The silhouette with weights in its mean and in its mean distances; equal ones give scikit-learn's."""
    _, classes = np.unique(classes, return_inverse=True)
    every = np.arange(len(classes))
    mass = np.zeros((len(classes), classes.max() + 1))
    mass[every, classes] = weights
    others = np.repeat(mass.sum(0)[None], len(classes), axis=0)
    others[every, classes] -= weights  # none is its own neighbour
    alone = np.bincount(classes)[classes] == 1
    others[every[alone], classes[alone]] = 1.0
    distances = pairwise_distances(np.asarray(places, float)) @ mass / others
    own = distances[every, classes]
    distances[every, classes] = np.inf
    nearest = distances.min(1)
    larger = np.maximum(own, nearest)
    values = np.where(alone | (larger == 0), 0.0, (nearest - own) / np.where(larger == 0, 1.0, larger))
    return np.average(values, weights=weights)


def divergence(P, places):
    """The KL divergence of a map of t-SNE from the affinity P, over all pairs, 500 rows of the kernel at a time."""
    places = np.ascontiguousarray(places, np.float64)
    squares, total = (places**2).sum(1), -float(len(places))
    for first in range(0, len(places), 500):
        rows = slice(first, first + 500)
        total += (1 / (1 + np.maximum(squares[rows, None] + squares - 2 * places[rows] @ places.T, 0))).sum()
    P = (P / P.sum()).tocoo()
    P.eliminate_zeros()
    distances = ((places[P.row] - places[P.col]) ** 2).sum(1)
    return float((P.data * (np.log(P.data) + np.log1p(distances) + np.log(total))).sum())


def fitted(estimator):
    """How an estimator of gromap got there."""
    return {
        "loss": estimator.loss_,
        "used": int((estimator.weights_ > 0).sum()),
        "hardness": estimator.hardness_,
        "rounds": estimator.n_iter_,
        "stop_reason": estimator.stop_reason_,
        "warnings": list(estimator.warnings_),
    }


def run_of(data, setting, n, seed, seconds, found, **others):
    """One run, which is also told as it ends."""
    run = {"dataset": data.name, "setting": setting, "n": n, "seed": seed, "seconds": seconds, **found, **others}
    told = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    print(f"{data.name}, {setting}, n = {n}, seed {seed}: {told}, {seconds:.1f} s", file=sys.stderr, flush=True)
    return run


class Runs(list):
    """Every run of a table, and their means over the runs where a score is defined."""

    def values(self, score, **where):
        values = [run[score] for run in self if all(run.get(key) == value for key, value in where.items())]
        return [value for value in values if not math.isnan(value)]

    def mean(self, score, **where):
        values = self.values(score, **where)
        return statistics.fmean(values) if values else math.nan

    def shown(self, score, **where):
        values = self.values(score, **where)
        return shown(self.mean(score, **where), statistics.stdev(values) if len(values) > 1 else None)

    def seconds(self, setting):
        return sum(run["seconds"] for run in self if run["setting"].endswith(setting))


def shown(mean, deviation=None):
    return ("–" if math.isnan(mean) else f"{mean:.1f}") + ("" if deviation is None else f" ({deviation:.1f})")


def target(what, value, wanted, strict=False, digits=1):
    """Whether a value is at least (or, if strict, above) what is wanted."""
    return {
        "target": what,
        "value": f"{value:.{digits}f}",
        "wanted": f"{'>' if strict else '>='} {wanted:.{digits}f}",
        "reached": bool(value > wanted if strict else value >= wanted),
    }


def at_most(what, value, wanted, digits=1):
    return {
        "target": what,
        "value": f"{value:.{digits}f}",
        "wanted": f"<= {wanted:.{digits}f}",
        "reached": bool(value <= wanted),
    }


def markdown(head, rows):
    """A table aligned for the eye as well."""
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)


def listed(targets):
    """Targets as a table."""
    rows = [[one["target"], one["value"], one["wanted"], "yes" if one["reached"] else "NO"] for one in targets]
    return markdown(["target", "value", "wanted", "reached"], rows)


def counted(targets):
    """All targets, and how many are reached: parts of a report."""
    if not targets:
        return []
    return [f"Targets reached: {sum(one['reached'] for one in targets)} of {len(targets)}.", listed(targets)]


def publish(arguments, title, note, parts, runs, targets=()):
    """Prints a report and writes the files asked for."""
    text = "\n\n".join([f"## {title}", note, *parts])
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text + "\n", encoding="utf-8")
    if arguments.json:
        # NaN is not JSON.
        plain = [{key: None if value != value else value for key, value in run.items()} for run in runs]
        whole = {"title": title, "note": note, "threads": arguments.threads, "targets": list(targets), "runs": plain}
        arguments.json.write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n", encoding="utf-8")
