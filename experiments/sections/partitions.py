"""Section on clusters of the largest dependence: Wang & Li (2018), section 3.1."""

from __future__ import annotations

from experiments.reporting.formatting import mean_and_deviation
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, explained_claim, judge, table
from experiments.reporting.statistics import compare_methods

METHODS = ("HSIC", "HSIC, linear kernel", "multiple kernels")
OTHERS = ("k-means", "spectral", "spectral, median width", "spectral, neighbors")
NEAR = 5.0
"""Clusters are counted as comparable within this many points of the index."""


def section(results: Results) -> Section:
    """Write the adjusted Rand indices."""
    rows = []
    for problem in results.problems:
        row = [problem]
        for method in (*METHODS, *OTHERS):
            row.append(mean_and_deviation(results.values("index", problem, method), 100.0))
        rows.append(row)
    body = f"""The paper says that its framework covers clustering and combinations of kernels, and
shows neither. Here `HSICClustering` finds the partition that maximizes HSIC with a Gaussian kernel
as wide as the median distance, or with a linear kernel, for which the criterion is that of k-means,
and `MultipleKernelClustering` does so with twenty widths whose weights it learns. k-means and
spectral clustering are scikit-learn's: spectral with gamma = 1, with the median width, and on a
graph of nearest neighbors. Features are in [0, 1], there are as many clusters as classes, and
repeats differ in the seed of the starts.

Adjusted Rand index with the classes, in %, mean ± standard deviation.

{table(["set", *METHODS, *OTHERS], rows)}"""
    return Section(body, claims_on_clustering(results))


def claims_on_clustering(results: Results) -> list[Claim]:
    """Return the claims that the framework applies to clustering."""
    claims = []
    statements = {
        "HSIC": "The framework is directly applied to clustering.",
        "multiple kernels": "It gives an algorithm of clustering with multiple kernels.",
    }
    for method, statement in statements.items():
        ahead, behind, comparable = [], [], []
        for problem in results.problems:
            best = max(OTHERS, key=lambda other: results.mean("index", problem, other))
            pair = compare_methods(results, "index", problem, method, "k-means")
            if not pair.n_pairs:
                continue
            ahead += [problem] if pair.sign == 1 else []
            behind += [problem] if pair.sign == -1 else []
            lacks = results.mean("index", problem, best) - results.mean("index", problem, method)
            comparable.append(100.0 * lacks <= NEAR)
        if not comparable:
            continue
        within = [
            100.0 * results.mean("index", p, method)
            >= 100.0 * results.mean("index", p, "k-means") - NEAR
            for p in results.problems
        ]
        claims.append(
            explained_claim(
                statement,
                "Wang & Li 2018, sections 3.1 and 5",
                f"Index at most {NEAR:g} points below that of k-means on each set.",
                f"on {sum(within)} of {len(within)} sets; significantly above k-means on "
                f"{len(ahead)}, below on {len(behind)}; within {NEAR:g} points of the best of "
                f"{len(OTHERS)} baselines on {sum(comparable)}",
                judge(within),
                why="The index compares clusters with classes, which no criterion of clustering "
                "knows; the order of the baselines, too, differs from set to set.",
            )
        )
    return claims
