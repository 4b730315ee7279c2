"""Backends of merge trees: this process, processes on this machine, or a Dask cluster.

Dask places the tasks, moves the results, restarts dead workers and repeats their unfinished tasks.
This module names the tasks, sets their priorities and gives each task one thread.

Tasks have the priority of their place in the post-order of the tree: then the fewest results are in
the memory of the workers.

The scheduler gets the whole tree at once, so that it can place the first leaf with regard to all
others. On this machine it assigns a leaf only to an idle worker. Otherwise a leaf could wait behind
a merge on a busy worker and delay the next merge.

Dask is imported on use; it belongs to the extra `distributed`.
"""

import contextlib
import logging
import os
import queue
import secrets
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba

from graphsqueak import __version__
from graphsqueak.errors import InputError
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.time_limits import call_within, timeout_seconds
from graphsqueak.trees.running import compute, run_here, size_of
from graphsqueak.validation import check_count

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
    check_backend(workers=workers, scheduler=scheduler)
    if workers is None and scheduler is None:
        yield run_here
        return
    connected = _connect_to_scheduler(scheduler) if workers is None else _start_workers(workers)
    with connected as client:
        yield partial(_run, client)


def check_backend(*, workers: int | None = None, scheduler: str | None = None) -> None:
    """Raise an InputError if `open_backend` cannot open a backend with these arguments."""
    if workers is None and scheduler is None:
        return
    if None not in (workers, scheduler):
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


@contextlib.contextmanager
def _connect_to_scheduler(scheduler):
    """Yield a client of a running scheduler; raise an InputError if it does not answer."""
    import distributed
    from distributed.comm import CommClosedError

    timeout = timeout_seconds()
    try:
        # Dask's client has no time limit for a scheduler that accepts and does not answer.
        client = call_within(timeout, distributed.Client, scheduler, timeout=timeout)
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
        _check_versions(found)
        yield client


def _check_versions(found):
    """Refuse a cluster with another version of this package: its tasks would never finish."""
    packages_of = {"the scheduler": found["scheduler"], **found["workers"]}
    for name, machine in packages_of.items():
        installed = machine["packages"].get("graphsqueak")
        if installed != __version__:
            has = f"has graphsqueak {installed}" if installed else "has no graphsqueak"
            raise InputError(f"{name} {has}, this is {__version__}; install the same one there")


def _run(client, tree, leaf, merge, items, seeds, report, make_prior):
    """Run a tree on the workers of a Dask client: a backend, see `running`."""
    import distributed

    topic = f"graphsqueak-{secrets.token_hex(8)}"
    # The client receives reports in a thread of its own. They are passed on in this thread, where
    # an exception of the caller's progress function ends the run.
    events: queue.SimpleQueue = queue.SimpleQueue()
    client.subscribe_topic(topic, events.put)
    root = _submit(client, topic, tree, leaf, merge, items, seeds, make_prior)
    try:
        # A worker reports a node before it finishes, over the same connection. So all reports
        # precede the end of the root.
        root.add_done_callback(lambda _: events.put(None))
        for _, node_report in iter(events.get, None):
            report(*node_report)
        return root.result()
    except distributed.KilledWorker as death:
        raise InputError(
            f"task {death.task} killed {death.allowed_failures + 1} workers; if memory was short, "
            "use fewer workers or a lower memory limit"
        ) from None
    finally:
        root.cancel()
        client.unsubscribe_topic(topic)


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C in a local worker; Dask calls this when the worker starts.

    The terminal sends Ctrl-C to every process. The main process stops the run and its workers,
    which should not print errors of their own.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _submit(client, topic, tree, leaf, merge, items, seeds, make_prior):
    """Submit all tasks; return the future of the root.

    Dask frees the result of every other task once its last user has run.
    """
    import dask

    outputs = {}
    priors = {}
    for place, node in enumerate(tree.post_order()):
        children = tree.children(node)
        prior_node = tree.prior_node(node)
        task = partial(_run_node, topic=topic, node=node, seed=seeds[node])
        if children:
            kind = "merge"
            call = partial(task, merge)
            inputs = [outputs[child] for child in children]
        else:
            kind = "leaf"
            call = partial(task, leaf, item=items[node])
            inputs = [] if prior_node is None else [priors[prior_node]]
        key = (f"{topic}-{kind}", node)
        # Dask runs tasks of higher priority first.
        with dask.annotate(priority=-place):
            outputs[node] = _delay(call, inputs, key)
            if node in tree.prior_nodes:
                # A leaf gets the prior alone, which is smaller than the result.
                priors[node] = _delay(make_prior, [outputs[node]], (f"{topic}-prior", node))
    # The leaves are requested too: the scheduler starts with the most urgent of what is requested.
    requested = [outputs[node] for node in (*range(tree.n_leaves), tree.root)]
    with dask.config.set(_SEND_LARGE_TASKS):
        return client.compute(requested, optimize_graph=False)[-1]


def _delay(call, inputs, key):
    import dask

    return dask.delayed(call, name=key, pure=False, traverse=False)(*inputs, dask_key_name=key)


def _run_node(function, *inputs, topic, node, seed, item=None):
    """Return the result of one node, run by a worker, and report the node to the client.

    The inputs of a merge are results of other nodes. Those of a leaf are its prior, if it has one.
    """
    import distributed

    with _one_thread():
        if item is None:
            result = compute(function, list(inputs), seed)
        else:
            result = compute(function, item, seed, prior=inputs[0] if inputs else None)
    distributed.get_worker().log_event(topic, (node, peak_rss(), size_of(result)))
    return result


@contextlib.contextmanager
def _one_thread():
    """Limit numba to one thread, or to NUMBA_NUM_THREADS if the worker's environment sets it."""
    n_threads = numba.get_num_threads()
    numba.set_num_threads(min(int(os.environ.get("NUMBA_NUM_THREADS", 1)), n_threads))
    try:
        yield
    finally:
        numba.set_num_threads(n_threads)
