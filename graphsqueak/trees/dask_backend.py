"""Merge trees on Dask: processes on this machine, or a cluster by its scheduler's address.

Dask places the tasks, moves the results, starts dead workers again and repeats what they had not
delivered. Here tasks are only named, ordered and given one thread: a worker has as many tasks at
a time as it has threads. In a large tree a task is more urgent the earlier it stands in the tree's
post-order: then the fewest results wait in the workers' memory. In a small one the leaves come
first, level by level: their results fit, and fewer workers are idle at the end.
"""

import contextlib
import logging
import os
import queue
import secrets

import dask
import distributed
import numba
from distributed.comm import CommClosedError

from graphsqueak import __version__
from graphsqueak.errors import InputError
from graphsqueak.system.memory import peak_rss
from graphsqueak.trees.running import computed, size_of

__all__ = ["connected", "runner"]

_PATIENCE = "20s"  # for a scheduler to answer
_FEW_LEAVES = 64  # of a tree that is run level by level
_LOOK = 0.2  # seconds between two looks at what has been reported
_LOCAL = {
    # One thread each, and memory handed back as the C library sees fit: Dask's default hands back
    # every array at once, and its pages have to be fetched anew.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
    "distributed.worker.profile.enabled": False,
    "distributed.worker.preload": ["graphsqueak.trees.worker_setup"],
}


@contextlib.contextmanager
def connected(workers, scheduler):
    """A client of `workers` new processes, or of the scheduler at an address."""
    if scheduler is None:
        with dask.config.set(_LOCAL):
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,  # a stream keeps its own bound, by shrinking: nobody is killed
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
                env={"NUMBA_NUM_THREADS": "1"},
            )
        with cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError, TimeoutError, CommClosedError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"no Dask scheduler answers at {scheduler} ({reason}); check the address, "
            "tcp://host:port, and that `dask scheduler` runs there"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError(
                f"the scheduler at {scheduler} has no workers; start some: dask worker {scheduler}"
            )
        _check_versions(client)
        yield client


def _check_versions(client):
    """Refuse a cluster that does not have this package: its tasks would never be finished."""
    found = client.get_versions(packages=["graphsqueak"])
    for name, about in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        version = about["packages"].get("graphsqueak")
        if version != __version__:
            has = f"has graphsqueak {version}" if version else "has no graphsqueak"
            raise InputError(f"{name} {has}, this is {__version__}; install the same one there")


def runner(client):
    """The backend of a client; see `running`."""

    def run(tree, leaf, merge, items, seeds, report):
        name, finished = f"graphsqueak-{secrets.token_hex(8)}", queue.SimpleQueue()
        client.subscribe_topic(name, lambda event: finished.put(event[1]))
        try:
            root = _submitted(client, name, tree, leaf, merge, items, seeds)
            try:
                while not root.done():
                    _pass_on(finished, report)
                result = root.result()
            except distributed.KilledWorker as death:
                raise InputError(
                    f"{death.allowed_failures + 1} workers died of task {death.task}; if memory "
                    "was short, give fewer workers or a lower memory limit"
                ) from None
            finally:
                root.cancel()
            _pass_on(finished, report)
            while not finished.empty():
                _pass_on(finished, report)
            return result
        finally:
            client.unsubscribe_topic(name)

    return run


def _submitted(client, name, tree, leaf, merge, items, seeds):
    """The future of the root; the others are let go, so that results vanish once merged."""
    futures = {}
    for place, node in enumerate(tree.post_order()):
        children = tree.children(node)
        rank = node if tree.n_leaves <= _FEW_LEAVES else place
        how = {"priority": -rank, "pure": False}
        if children:
            inputs = [futures.pop(child) for child in children]
            key = (f"{name}-merge", node)
            future = client.submit(_task, merge, inputs, seeds[node], name, node, key=key, **how)
        else:
            key = (f"{name}-leaf", node)
            future = client.submit(
                _task, leaf, items[node], seeds[node], name, node, key=key, **how
            )
        futures[node] = future
    return futures[tree.root]


def _pass_on(finished, report):
    with contextlib.suppress(queue.Empty):
        report(*finished.get(timeout=_LOOK))


def _task(function, inputs, seed, topic, node):
    """Runs on a worker, on one thread, unless its environment allows numba more."""
    allowed = numba.get_num_threads()
    numba.set_num_threads(min(int(os.environ.get("NUMBA_NUM_THREADS", 1)), allowed))
    try:
        result = computed(function, inputs, seed)
    finally:
        numba.set_num_threads(allowed)
    distributed.get_worker().log_event(topic, (node, peak_rss(), size_of(result)))
    return result
