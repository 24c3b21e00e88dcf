"""What networkx, scipy and igraph do with the same graph: `peers.py FILE` prints JSON.

For each kind of work its seconds, without building the graph, and values to compare: `spread` the
activation of every node, `communities` the modularity, `embedding` the eigenvalues.
"""

import json
import sys
import time

import igraph
import networkx
import numpy
import scipy.sparse
import scipy.sparse.linalg

# Those of the stage `spread`.
HOPS, DECAY, LEAST = 3, 0.3, 0.005
# Ties that hold a community together.
STRONG = 0.3
DIMENSIONS = 16
# networkx needs kilobytes a tie and minutes at more.
MOST_FOR_NETWORKX = 150_000


def read(path):
    raw = numpy.fromfile(path, dtype="<u4")
    nodes, ties, count = raw[:3]
    seeds, columns = raw[3 : 3 + count], raw[3 + count :]
    a, b = columns[:ties], columns[ties : 2 * ties]
    strengths = columns[2 * ties :].view("<f4").astype(float)
    return int(nodes), seeds, a, b, strengths


def measured(work, repeat):
    """The best of several runs, as `timeit` advises, and what the work gave."""
    best, value = float("inf"), None
    for _ in range(repeat):
        started = time.perf_counter()
        value = work()
        best = min(best, time.perf_counter() - started)
    return best, value


def spread_by_loops(graph, seeds):
    total = {int(seed): 1.0 for seed in seeds}
    front = dict(total)
    for _ in range(HOPS):
        arriving = {}
        for node, activation in front.items():
            for other, data in graph.adj[node].items():
                arriving[other] = arriving.get(other, 0.0) + activation * DECAY * data["weight"]
        front = {node: sum_ for node, sum_ in arriving.items() if sum_ >= LEAST}
        for node, sum_ in front.items():
            total[node] = total.get(node, 0.0) + sum_
    return total


def spread_by_matrix(matrix, seeds):
    front = numpy.zeros(matrix.shape[0])
    front[seeds] = 1.0
    total = front.copy()
    for _ in range(HOPS):
        front = DECAY * (matrix @ front)
        front[front < LEAST] = 0.0
        total += front
    return total


def main():
    nodes, seeds, a, b, strengths = read(sys.argv[1])
    answers = {}

    def add(name, work, values, repeat=3):
        seconds, value = measured(work, repeat)
        answers[name] = {"seconds": seconds, "values": [float(number) for number in values(value)]}

    both = numpy.concatenate([a, b]), numpy.concatenate([b, a])
    matrix = scipy.sparse.csr_array((numpy.concatenate([strengths] * 2), both), shape=(nodes, nodes))
    add("spread/scipy", lambda: spread_by_matrix(matrix, seeds), lambda total: total, 5)

    root = 1.0 / numpy.sqrt(numpy.maximum(matrix.sum(axis=1), 1e-300))
    scale = scipy.sparse.diags_array(root)
    normalised = (scale @ matrix @ scale).tocsr()
    # The largest eigenvalues of the normalised adjacency are one minus the smallest of the
    # normalised Laplacian.
    add(
        "embedding/scipy",
        lambda: scipy.sparse.linalg.eigsh(normalised, k=DIMENSIONS + 1, which="LA", tol=1e-4),
        lambda found: numpy.sort(1.0 - found[0])[1:],
        1,
    )

    strong = strengths >= STRONG
    ties = numpy.column_stack([a[strong], b[strong]])
    graph = igraph.Graph(n=nodes, edges=ties)
    weights = strengths[strong]
    add(
        "communities/igraph",
        lambda: graph.community_label_propagation(weights=weights),
        lambda found: [graph.modularity(found, weights=weights), len(found)],
    )

    if nodes <= MOST_FOR_NETWORKX:
        graph = networkx.Graph()
        graph.add_nodes_from(range(nodes))
        graph.add_weighted_edges_from(zip(a.tolist(), b.tolist(), strengths.tolist()))
        add(
            "spread/networkx",
            lambda: spread_by_loops(graph, seeds),
            lambda total: [total.get(node, 0.0) for node in range(nodes)],
        )
        graph = networkx.Graph()
        graph.add_nodes_from(range(nodes))
        graph.add_weighted_edges_from(zip(ties[:, 0].tolist(), ties[:, 1].tolist(), weights.tolist()))
        add(
            "communities/networkx",
            lambda: list(networkx.community.asyn_lpa_communities(graph, weight="weight", seed=7)),
            lambda found: [networkx.community.modularity(graph, found), len(found)],
            1,
        )
    json.dump(answers, sys.stdout)


main()
