"""graphsqueak sparsify --plan: what a run would cost."""

from graphsqueak.cli.options import print_json, print_table, readable_size

__all__ = ["print_plan"]


def print_plan(source, settings, where, memory_limit, *, as_json):
    """Print the plan of a merge tree, as JSON or for a person."""
    from graphsqueak.sparsifiers.tree.plan import make_plan

    how = {"tree": where["tree"], "n_parts": where["n_parts"], "workers": where["workers"]}
    plan = make_plan(source, settings, **how, memory_limit=memory_limit)
    if as_json:
        print_json(plan._asdict())
        return
    print_table(
        {
            "nodes, about": plan.nodes,
            "edges, about": plan.edges,
            "edges kept": plan.edges_kept,
            "parts": plan.parts,
            "tree": f"{plan.tree}, {plan.levels} levels",
            "workers": plan.workers,
            "expected time": f"{plan.seconds:,.1f} s (a part {plan.seconds_of_a_leaf:,.1f} s, "
            f"the last merge {plan.seconds_of_the_last_merge:,.1f} s)",
            "memory per worker": readable_size(plan.memory_per_worker_bytes),
            "moved between workers": readable_size(plan.moved_bytes),
            "result": readable_size(plan.result_bytes),
        }
    )
