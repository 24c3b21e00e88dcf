"""Runs networkx, scipy, numpy and igraph on the same graph: `peers.py FOLDER` prints JSON.

`peers.py FOLDER mixed NODES MIXING SEED` only writes the edges of a graph with communities of power-law sizes
(Lancichinetti, Fortunato and Radicchi 2008), of whose edges the share MIXING leaves its community. `peers.py FOLDER
communities` compares only communities.

The folder contains columns of little-endian numbers, named after their content and type. For each kind of
work, the answer has the seconds it took, without building the graph, and values to compare; comments below
describe the values. `just bench` installs the libraries.
"""

import json
import sys
import time
from pathlib import Path

import igraph
import networkx
import numpy
import scipy.sparse
import scipy.sparse.linalg

# Parameters of the stage `spread`.
HOPS, DECAY, LEAST = 3, 0.3, 0.005
# The least strength of edges that count for communities.
STRONG = 0.3
# The parameter `k` of the stage `spectral`.
NEAREST = 20
# networkx needs kilobytes per edge, and minutes for larger graphs.
MAX_FOR_NETWORKX = 150_000


def measured(work, repeat):
    """The shortest time of several runs, as `timeit` advises, and the result of the work."""
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


def nearest_by_brute_force(matrix, places, seeds):
    """The nodes nearest to any seed, without the seeds, and their distances. The distance from a seed to its own
    neighbour is divided by the strength of their edge."""
    best = numpy.full(len(places), numpy.inf)
    for seed in seeds:
        apart = places - places[seed]
        distance = numpy.sqrt(numpy.einsum("ij,ij->i", apart, apart))
        row = slice(matrix.indptr[seed], matrix.indptr[seed + 1])
        distance[matrix.indices[row]] /= matrix.data[row]
        numpy.minimum(best, distance, out=best)
    best[seeds] = numpy.inf
    few = numpy.argpartition(best, NEAREST)[:NEAREST]
    few = few[numpy.argsort(best[few], kind="stable")]
    return few, best[few]


def mixed(folder, nodes, mixing, seed):
    graph = networkx.LFR_benchmark_graph(
        nodes, 3, 1.5, mixing, average_degree=10, max_degree=50, min_community=20, seed=seed
    )
    pairs = numpy.array([(a, b) for a, b in graph.edges() if a != b], dtype="<u4")
    pairs[:, 0].tofile(folder / "a.u4")
    pairs[:, 1].tofile(folder / "b.u4")


def communities(a, b, strengths, labels):
    """The shortest time of igraph's Leiden algorithm, and the values: the modularity and the number of its
    communities, and the modularity of ours."""
    strong = strengths >= STRONG
    weights = strengths[strong]
    graph = igraph.Graph(n=len(labels), edges=numpy.column_stack([a[strong], b[strong]]))
    seconds, found = measured(
        lambda: graph.community_leiden(objective_function="modularity", weights=weights), 3
    )
    ours = graph.modularity(labels.tolist(), weights=weights)
    return {"seconds": seconds, "values": [graph.modularity(found, weights=weights), len(found), ours]}


def main():
    folder = Path(sys.argv[1])

    def column(name, kind):
        return numpy.fromfile(folder / f"{name}.{kind}", dtype="<" + kind)

    if sys.argv[2:3] == ["mixed"]:
        return mixed(folder, int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
    if sys.argv[2:3] == ["communities"]:
        edges = column("a", "u4"), column("b", "u4"), column("strengths", "f4").astype(float)
        return json.dump({"communities/igraph": communities(*edges, column("communities", "u4"))}, sys.stdout)

    a, b, strengths = column("a", "u4"), column("b", "u4"), column("strengths", "f4").astype(float)
    seeds, labels = column("seeds", "u4"), column("communities", "u4")
    eigenvalues, coordinates = column("eigenvalues", "f8"), column("coordinates", "f4").astype(float)
    pairs = column("pairs", "u4").reshape(-1, 2)
    nodes, dimensions = len(labels), len(eigenvalues)
    answers = {}

    def add(name, work, values, repeat=3):
        seconds, value = measured(work, repeat)
        answers[name] = {"seconds": seconds, "values": [float(number) for number in values(value)]}

    both = numpy.concatenate([a, b]), numpy.concatenate([b, a])
    matrix = scipy.sparse.csr_array((numpy.concatenate([strengths] * 2), both), shape=(nodes, nodes))
    # The activation of every node.
    add("spread/scipy", lambda: spread_by_matrix(matrix, seeds), lambda total: total, 5)
    # The nodes, followed by their distances.
    places = coordinates.reshape(nodes, dimensions)
    add(
        "spectral/numpy",
        lambda: nearest_by_brute_force(matrix, places, seeds),
        lambda found: numpy.concatenate(found),
        5,
    )

    answers["communities/igraph"] = communities(a, b, strengths, labels)

    strength = matrix.sum(axis=1)
    root = 1.0 / numpy.sqrt(strength)
    scale = scipy.sparse.diags_array(root)
    normalised = (scale @ matrix @ scale).tocsr()

    def commute(found):
        """The eigenvalues, and the distances of the pairs by as many dimensions as we have. The
        largest eigenvalues of the normalised adjacency are one minus the smallest of the normalised
        Laplacian; the first of those is zero."""
        order = numpy.argsort(-found[0])[1 : dimensions + 1]
        values = 1.0 - found[0][order]
        place = numpy.sqrt(strength.sum() / values) * found[1][:, order] * root[:, None]
        apart = place[pairs[:, 0]] - place[pairs[:, 1]]
        return numpy.concatenate([values, numpy.sqrt((apart**2).sum(axis=1))])

    # As exact as ours: a residual of 1e-6.
    add(
        "embedding/scipy",
        lambda: scipy.sparse.linalg.eigsh(normalised, k=dimensions + 1, which="LA", tol=1e-6),
        commute,
        1,
    )

    if nodes <= MAX_FOR_NETWORKX:
        graph = networkx.Graph()
        graph.add_nodes_from(range(nodes))
        graph.add_weighted_edges_from(zip(a.tolist(), b.tolist(), strengths.tolist()))
        add(
            "spread/networkx",
            lambda: spread_by_loops(graph, seeds),
            lambda total: [total.get(node, 0.0) for node in range(nodes)],
        )
    json.dump(answers, sys.stdout)


main()
