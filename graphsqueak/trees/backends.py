"""Who computes a merge tree: this process, processes on this machine, or a Dask cluster.

Dask places the tasks, moves the results, starts dead workers again and repeats what they had not
delivered. Here tasks are only named, ordered and given one thread: a worker has as many tasks at
a time as it has threads. In a large tree, and in one with priors, a task is more urgent the earlier
it stands in the tree's post-order: then the fewest results wait in the workers' memory. In a small
one the leaves come first, level by level: their results fit, and fewer workers are idle at the end.

The scheduler gets the tree whole, so that it knows of all leaves when it places the first. On this
machine it hands a leaf out when a worker is free and not before: a leaf that waits behind a merge,
while the other worker goes on with less urgent ones, holds up the next merge.

Dask is imported when it is asked for; it belongs to the extra `distributed`.
"""

import contextlib
import logging
import os
import queue
import secrets
import signal
from functools import partial
from operator import itemgetter

import numba

from graphsqueak import __version__
from graphsqueak.errors import InputError
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.time_limits import call_within, timeout_seconds
from graphsqueak.trees.running import compute, run_here, size_of
from graphsqueak.validation import check_count

__all__ = ["connect", "dask_setup", "make_runner", "open_backend"]

_FEW_LEAVES = 64  # of a tree that is run level by level
_POLL = 0.2  # seconds between two looks at what workers have reported
_NO_LIMIT = {"distributed.admin.large-graph-warning-threshold": 2**60}  # parts may be in memory
_LOCAL = {
    # One thread each, and memory handed back as the C library sees fit: Dask's default hands back
    # every array at once, and its pages have to be fetched anew.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
    "distributed.worker.profile.enabled": False,
    "distributed.worker.preload": [__name__],  # for `dask_setup`
    # No leaf waits at a worker that is busy, not even one of those that depend on priors.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.rootish-taskgroup-dependencies": 1_000,
    # Dask's looks at its own health took a twentieth of a core, which workers need.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextlib.contextmanager
def open_backend(*, workers=None, scheduler=None):
    """Yield a backend (see `running`): this process, processes on this machine, or a Dask cluster.

    Parameters
    ----------
    workers : int, optional
        Processes to start, of one thread each; they end with the block.
    scheduler : str, optional
        Address of a Dask scheduler that runs already, as "tcp://host:8786". Its workers must have
        this package, and see the same files.
    """
    if workers is None and scheduler is None:
        yield run_here
        return
    if workers is not None and scheduler is not None:
        raise InputError(
            "give workers, to start them here, or scheduler, to use those of a cluster"
        )
    if workers is not None:
        check_count("workers", workers)
    try:
        import distributed  # noqa: F401 - only to see whether it is there
    except ImportError as missing:
        raise InputError(
            f"workers need Dask, and {missing.name} is not installed: "
            "pip install 'graphsqueak[distributed]'"
        ) from None
    with connect(workers, scheduler) as client:
        yield make_runner(client)


@contextlib.contextmanager
def connect(workers, scheduler, *, timeout=None, version=__version__):
    """Yield a client of `workers` new processes, or of the scheduler at an address.

    Parameters
    ----------
    workers : int or None
    scheduler : str or None
    timeout : float, optional
        Seconds that a scheduler may take to answer; default: 60, or GRAPHSQUEAK_TIMEOUT.
    version : str
        Of graphsqueak, which the cluster must have as well.
    """
    import dask
    import distributed
    from distributed.comm import CommClosedError

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
        with cluster, distributed.Client(cluster, direct_to_workers=True) as client:
            yield client
        return
    timeout = timeout_seconds() if timeout is None else timeout
    try:
        # The client of Dask waits without end for a scheduler that accepts and does not answer.
        call_within(timeout, _shake_hands, scheduler, timeout)
        client = distributed.Client(scheduler, timeout=timeout)
    except (OSError, ValueError, TimeoutError, CommClosedError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(
            f"no Dask scheduler answers at {scheduler} ({reason}); check the address, "
            "tcp://host:port, and that `dask scheduler` runs there"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError(
                f"the scheduler at {scheduler} has no workers; start some: dask worker {scheduler}"
            )
        try:
            found = call_within(timeout, client.get_versions, packages=["graphsqueak"])
        except TimeoutError as error:
            raise InputError(f"the scheduler at {scheduler} gives {error.strerror}") from None
        _check_versions(found, version)
        yield client


def _shake_hands(scheduler, timeout):
    """Connect to a scheduler and disconnect; raises as `distributed.Client` does."""
    import asyncio

    import distributed
    from distributed.comm import connect as open_comm

    async def connect_once():
        options = distributed.Security().get_connection_args("client")
        comm = await open_comm(scheduler, timeout=timeout, **options)
        comm.abort()

    asyncio.run(connect_once())


def _check_versions(found, version):
    """Refuse a cluster that does not have this package: its tasks would never be finished."""
    for name, about in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        there = about["packages"].get("graphsqueak")
        if there != version:
            has = f"has graphsqueak {there}" if there else "has no graphsqueak"
            raise InputError(f"{name} {has}, this is {version}; install the same one there")


def make_runner(client):
    """Return the backend that runs trees on the workers of a Dask client."""
    import distributed

    def run(tree, leaf, merge, items, seeds, report):
        name, finished = f"graphsqueak-{secrets.token_hex(8)}", queue.SimpleQueue()
        reported = set()

        def pass_on():
            """Whether somebody has reported."""
            try:
                event = finished.get(timeout=_POLL)
            except queue.Empty:
                return False
            if event is not None:
                reported.add(event[0])
                report(*event)
            return True

        client.subscribe_topic(name, lambda event: finished.put(event[1]))
        try:
            root = _submit(client, name, tree, leaf, merge, items, seeds)
            root.add_done_callback(lambda _: finished.put(None))
            try:
                while not root.done():
                    pass_on()
                result = root.result()
            except distributed.KilledWorker as death:
                raise InputError(
                    f"{death.allowed_failures + 1} workers died of task {death.task}; if memory "
                    "was short, give fewer workers or a lower memory limit"
                ) from None
            finally:
                root.cancel()
            while len(reported) <= tree.root and pass_on():
                pass
            return result
        finally:
            client.unsubscribe_topic(name)

    return run


def dask_setup(worker):
    """Leave Ctrl-C to the process that has the terminal; Dask calls this on every local worker.

    Ctrl-C goes to every process of the program. The first one stops the work and ends the workers;
    these should not each complain as well.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _submit(client, name, tree, leaf, merge, items, seeds):
    """The future of the root; the others are let go, so that results vanish once merged.

    Leaves are asked for as well, since the scheduler begins with the most urgent of those.
    """
    import dask

    is_large = tree.n_leaves > _FEW_LEAVES or bool(tree.prior_nodes)
    tasks, priors = {}, {}
    for turn, node in enumerate(tree.post_order()):
        children, prior_node = tree.children(node), tree.prior_node(node)
        if children:
            kind, inputs = "merge", [tasks[child] for child in children]
            work = partial(_run_merge, merge, [child in tree.prior_nodes for child in children])
        else:
            kind, inputs = "leaf", [] if prior_node is None else [priors[prior_node]]
            work = partial(_run_leaf, leaf, items[node])
        own = {
            "seed": seeds[node],
            "topic": name,
            "node": node,
            "returns_prior": node in tree.prior_nodes,
        }
        with dask.annotate(priority=-(turn if is_large else node)):
            tasks[node] = _task(partial(work, **own), inputs, (f"{name}-{kind}", node))
            if node in tree.prior_nodes:
                priors[node] = _task(itemgetter(1), [tasks[node]], (f"{name}-prior", node))
    wanted = [tasks[node] for node in (*range(tree.n_leaves), tree.root)]
    with dask.config.set(_NO_LIMIT):
        return client.compute(wanted, optimize_graph=False)[-1]


def _task(work, inputs, key):
    import dask

    return dask.delayed(work, name=key, pure=False, traverse=False)(*inputs, dask_key_name=key)


def _run_leaf(leaf, item, *priors, **own):
    more = {"prior": priors[0]} if priors else {}
    return _run(leaf, item, **own, **more)


def _run_merge(merge, has_prior, *results, **own):
    """Merge what is left of results without their priors."""
    results = [found[0] if two else found for found, two in zip(results, has_prior, strict=True)]
    return _run(merge, results, **own)


def _run(function, inputs, *, seed, topic, node, returns_prior, **more):
    """Run on a worker, and report."""
    import distributed

    more |= {"returns_prior": True} if returns_prior else {}
    with _one_thread():
        result = compute(function, inputs, seed, **more)
    size = size_of(result[0] if returns_prior else result)
    distributed.get_worker().log_event(topic, (node, peak_rss(), size))
    return result


@contextlib.contextmanager
def _one_thread():
    """Keep a worker to one thread, unless its environment allows numba more."""
    allowed = numba.get_num_threads()
    numba.set_num_threads(min(int(os.environ.get("NUMBA_NUM_THREADS", 1)), allowed))
    try:
        yield
    finally:
        numba.set_num_threads(allowed)
