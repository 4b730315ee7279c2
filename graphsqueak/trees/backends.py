"""Backends of merge trees: this process, processes on this machine, or a Dask cluster.

Dask places the tasks, moves the results, restarts dead workers and repeats their unfinished tasks.
This module names the tasks, sets their priorities and gives each task one thread.

In a large or guided tree, tasks have the priority of their place in the post-order: then the fewest
results are in the memory of the workers. In a small tree the leaves come first, level by level:
their results fit in memory, and fewer workers are idle at the end.

The scheduler gets the whole tree at once, so that it can place the first leaf with regard to all
others. On this machine it assigns a leaf only to an idle worker. Otherwise a leaf could wait behind
a merge on a busy worker and delay the next merge.

Dask is imported on use; it belongs to the extra `distributed`.
"""

import asyncio
import contextlib
import logging
import os
import queue
import secrets
import signal
from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numba

from graphsqueak import __version__
from graphsqueak.errors import InputError
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.time_limits import call_within, timeout_seconds
from graphsqueak.trees.running import compute, run_here, size_of
from graphsqueak.validation import check_count

__all__ = ["connect", "dask_setup", "make_runner", "open_backend"]

# Largest number of leaves of a tree that is run level by level. Simulated schedules of balanced
# trees on 4 workers, merges at 0.3 of a leaf: post-order takes 18 % more time with 16 leaves, 12 %
# with 32, 7 % with 64 and 4 % with 128. By level, the results of all leaves are in memory.
_MAX_LEAVES_BY_LEVEL = 64
# After the root is finished, the reports of other nodes may be late by this time. Some are lost if
# a worker died.
_REPORT_TIMEOUT_SECONDS = 0.2
# Parts of a graph in memory are sent with the tasks, on purpose; Dask warns from 10 MB.
_SEND_LARGE_TASKS = {"distributed.admin.large-graph-warning-threshold": "1000 PB"}
_LOCAL_CONFIG = {
    # One thread per worker. Dask's default also makes the C library return every freed array to
    # the system at once; allocating its pages again costs time.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
    "distributed.worker.profile.enabled": False,
    "distributed.worker.preload": [__name__],  # calls `dask_setup`
    # No leaf is queued at a busy worker, not even one that depends on a prior.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.rootish-taskgroup-dependencies": 1_000,
    # With Dask's defaults, monitoring takes 5 % of a core.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextlib.contextmanager
def open_backend(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Callable]:
    """Yield a backend (see `running`): this process, new processes, or a Dask cluster.

    Parameters
    ----------
    workers : int, optional
        Number of processes to start, with one thread each. They end with the block.
    scheduler : str, optional
        Address of a running Dask scheduler, such as "tcp://host:8786". Its workers need the same
        version of this package and access to the same files.
    """
    if workers is None and scheduler is None:
        yield run_here
        return
    if workers is not None and scheduler is not None:
        raise InputError(
            "workers and scheduler are both given; give workers, to start them here, or scheduler, "
            "to use those of a cluster"
        )
    if workers is not None:
        check_count("workers", workers)
    try:
        import distributed  # noqa: F401 - fails early if Dask is missing
    except ImportError as missing:
        raise InputError(
            f"workers need Dask, and {missing.name} is not installed: "
            "pip install 'graphsqueak[distributed]'"
        ) from None
    with connect(workers, scheduler) as client:
        yield make_runner(client)


@contextlib.contextmanager
def connect(
    workers: int | None,
    scheduler: str | None,
    *,
    timeout: float | None = None,
    version: str = __version__,
) -> Iterator[Any]:
    """Yield a Dask client of `workers` new processes, or of the scheduler at an address.

    Parameters
    ----------
    workers : int or None
    scheduler : str or None
    timeout : float, optional
        Seconds to wait for the scheduler. Default: 60, or GRAPHSQUEAK_TIMEOUT.
    version : str
        Version of graphsqueak that the cluster must have.
    """
    if scheduler is None:
        with _start_workers(workers) as client:
            yield client
        return
    timeout = timeout_seconds() if timeout is None else timeout
    with _connect_to_scheduler(scheduler, timeout) as client:
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


@contextlib.contextmanager
def _start_workers(n_workers):
    """Yield a client of new processes on this machine."""
    import dask
    import distributed

    with dask.config.set(_LOCAL_CONFIG):
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            # A stream bounds its own memory; Dask would kill a worker instead.
            memory_limit=0,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            env={"NUMBA_NUM_THREADS": "1"},
        )
    with cluster, distributed.Client(cluster, direct_to_workers=True) as client:
        yield client


def _connect_to_scheduler(scheduler, timeout):
    """Return a client of a running scheduler; raise an InputError if it does not answer."""
    import distributed
    from distributed.comm import CommClosedError

    try:
        # Dask's client has no time limit for a scheduler that accepts and does not answer.
        call_within(timeout, _try_connection, scheduler, timeout)
        return distributed.Client(scheduler, timeout=timeout)
    except (OSError, ValueError, TimeoutError, CommClosedError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(
            f"no Dask scheduler answers at {scheduler} ({reason}); check the address, "
            "tcp://host:port, and that `dask scheduler` runs there"
        ) from None


def _try_connection(scheduler, timeout):
    """Connect to a scheduler and disconnect; raise what `distributed.Client` would raise."""
    import distributed
    from distributed.comm import connect as open_comm

    async def connect_once():
        options = distributed.Security().get_connection_args("client")
        comm = await open_comm(scheduler, timeout=timeout, **options)
        comm.abort()

    asyncio.run(connect_once())


def _check_versions(found, version):
    """Refuse a cluster with another version of this package: its tasks would never finish."""
    packages_of = {"the scheduler": found["scheduler"], **found["workers"]}
    for name, machine in packages_of.items():
        installed = machine["packages"].get("graphsqueak")
        if installed != version:
            has = f"has graphsqueak {installed}" if installed else "has no graphsqueak"
            raise InputError(f"{name} {has}, this is {version}; install the same one there")


def make_runner(client: Any) -> Callable:
    """Return the backend that runs trees on the workers of a Dask client."""
    import distributed

    def run(tree, leaf, merge, items, seeds, report):
        topic = f"graphsqueak-{secrets.token_hex(8)}"
        # The client receives reports in a thread of its own. They are passed on in this thread,
        # where an exception of the caller's progress function ends the run.
        events: queue.SimpleQueue = queue.SimpleQueue()
        reported = set()

        def pass_on(event):
            _, arguments = event
            reported.add(arguments[0])
            report(*arguments)

        client.subscribe_topic(topic, events.put)
        try:
            root = _submit(client, topic, tree, leaf, merge, items, seeds)
            root.add_done_callback(lambda _: events.put(None))
            try:
                for event in iter(events.get, None):
                    pass_on(event)
                result, _ = root.result()
            except distributed.KilledWorker as death:
                raise InputError(
                    f"task {death.task} killed {death.allowed_failures + 1} workers; if memory was "
                    "short, use fewer workers or a lower memory limit"
                ) from None
            finally:
                root.cancel()
            with contextlib.suppress(queue.Empty):
                while len(reported) < tree.n_nodes:
                    pass_on(events.get(timeout=_REPORT_TIMEOUT_SECONDS))
            return result
        finally:
            client.unsubscribe_topic(topic)

    return run


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C in a local worker; Dask calls this when the worker starts.

    The terminal sends Ctrl-C to every process. The main process stops the run and its workers,
    which should not print errors of their own.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _submit(client, topic, tree, leaf, merge, items, seeds):
    """Submit all tasks; return the future of the root, a pair of result and prior.

    Dask frees the result of every other task once its last user has run.
    """
    import dask

    in_post_order = tree.n_leaves > _MAX_LEAVES_BY_LEVEL or bool(tree.prior_nodes)
    outputs = {}
    priors = {}
    for place, node in enumerate(tree.post_order()):
        children = tree.children(node)
        prior_node = tree.prior_node(node)
        task = _NodeTask(
            function=merge if children else leaf,
            node=node,
            seed=seeds[node],
            topic=topic,
            returns_prior=node in tree.prior_nodes,
        )
        if children:
            call = partial(_run_merge, task)
            inputs = [outputs[child] for child in children]
        else:
            call = partial(_run_leaf, task, items[node])
            inputs = [] if prior_node is None else [priors[prior_node]]
        kind = "merge" if children else "leaf"
        # Dask runs tasks of higher priority first.
        with dask.annotate(priority=-(place if in_post_order else node)):
            outputs[node] = _delay(call, inputs, key=(f"{topic}-{kind}", node))
            if task.returns_prior:
                priors[node] = _delay(itemgetter(1), [outputs[node]], key=(f"{topic}-prior", node))
    # The leaves are requested too: the scheduler starts with the most urgent of what is requested.
    requested = [outputs[node] for node in (*range(tree.n_leaves), tree.root)]
    with dask.config.set(_SEND_LARGE_TASKS):
        return client.compute(requested, optimize_graph=False)[-1]


def _delay(call, inputs, key):
    import dask

    return dask.delayed(call, name=key, pure=False, traverse=False)(*inputs, dask_key_name=key)


class _NodeTask(NamedTuple):
    """Work of one node of the tree, run by a worker."""

    function: Callable
    node: int
    seed: int
    topic: str
    returns_prior: bool

    def run(self, inputs, prior=None):
        """Return result and prior, and report the node to the client."""
        import distributed

        with _one_thread():
            result, own_prior = compute(
                self.function, inputs, self.seed, prior=prior, returns_prior=self.returns_prior
            )
        report = (self.node, peak_rss(), size_of(result))
        distributed.get_worker().log_event(self.topic, report)
        return result, own_prior


def _run_leaf(task, item, prior=None):
    return task.run(item, prior)


def _run_merge(task, *outputs):
    return task.run([result for result, _ in outputs])


@contextlib.contextmanager
def _one_thread():
    """Limit numba to one thread, or to NUMBA_NUM_THREADS if the worker's environment sets it."""
    n_threads = numba.get_num_threads()
    numba.set_num_threads(min(int(os.environ.get("NUMBA_NUM_THREADS", 1)), n_threads))
    try:
        yield
    finally:
        numba.set_num_threads(n_threads)
