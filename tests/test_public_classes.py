"""Every public class has its real signature, a text, and pickles that are equal to the original."""

import inspect
import pickle
from functools import cache
from importlib import import_module

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import graphsqueak as gs
from graphsqueak import analysis, kernel, mail, online, outofcore, sources, sparsifiers, ssl
from graphsqueak._lazy import tables_of_contents
from graphsqueak.graph import EdgeList, TimedEdges
from graphsqueak.integrations.networkx_backend.graph import convert_from_nx
from tests.comparison import differences
from tests.online.test_learner import EVERY

pytestmark = pytest.mark.filterwarnings("ignore")

# Without an example below: abstract classes, steps of an iteration that hold functions, and a
# transform that needs torch (tests/integrations/test_pyg.py).
WITHOUT_EXAMPLE = {
    "BlockCG",
    "EdgeSource",
    "Iterate",
    "OnlineSampler",
    "Sparsify",
}


@cache
def public_classes():
    found = {}
    for package in tables_of_contents("graphsqueak"):
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                found[thing] = name
    return found


@cache
def graph():
    return sources.block_model(40, 300, random_state=4).to_edge_list()


def points(n=60):
    return np.random.default_rng(5).normal(size=(n, 3))


def timed():
    return TimedEdges.from_edges(graph(), np.arange(graph().n_edges) / 10)


def graphs(folder):
    yield graph()
    names = np.array([f"n{k}" for k in range(40)], dtype=object)
    yield EdgeList(tail=graph().tail, head=graph().head, weight=graph().weight, ids=names)
    yield timed()
    yield ssl.GraphNodes(graph(), np.arange(5))
    yield ssl.GraphSplit(3, random_state=3)
    yield convert_from_nx(nx.karate_club_graph(), edge_attrs={"weight": 1.0})


def edge_sources(folder):
    gs.write_edges(graph(), folder / "edges.csv")
    gs.write_edges(graph(), folder / "edges.parquet")
    (folder / "pairs.csv").write_text("who,what\na,x\nb,x\nc,y\na,y\n")
    yield gs.read_edges(folder / "edges.csv")
    yield gs.read_edges(folder / "edges.parquet")
    yield gs.read_projection(folder / "pairs.csv", random_state=3)
    fresh, read = (gs.neighbor_edges(points(40), 5) for _ in range(2))
    read.to_edge_list()
    yield fresh
    yield read
    yield sources.recent_edges(timed(), window=3.0)
    yield from (sources.path(6), sources.cycle(6), sources.star(6), sources.complete(6))
    yield from (sources.barbell(4, 3), sources.grid(3, 4), sources.hypercube(3))
    yield sources.complete_bipartite(3, 4)
    yield sources.erdos_renyi(10, 70_000, random_state=3)
    yield sources.block_model(12, 90, n_blocks=3, within=0.5, random_state=3)
    yield sources.chung_lu(10, 90, exponent=3.0, random_state=3)
    yield sources.small_world(4, 4, 60, random_state=3)
    yield sources.gaussian_neighbors(30, 3, random_state=3)


def streams(folder):
    def stream(cls=sparsifiers.StreamSparsifier, **settings):
        return cls(n_edges=60, options=gs.StreamOptions(chunk_size=32), random_state=3, **settings)

    def timed_stream(**settings):
        return stream(sparsifiers.TimedSparsifier, **settings)

    yield gs.StreamOptions(n_probes=3)
    yield stream()
    yield stream(ridge=0.5, priority_nodes=[1, 2], priority_fraction=0.3).partial_fit(graph())
    yield timed_stream(window=8)
    yield timed_stream(window=8, n_panes=3).partial_fit(timed())
    yield timed_stream(half_life=5.0).partial_fit(timed())
    yield timed_stream(window=8.0).partial_fit(timed())
    shown = timed_stream(window=8).partial_fit(timed())
    shown.sparsifier()
    yield shown
    yield gs.StreamSparsifier(method="kelner-levin", n_copies=3, random_state=3).partial_fit(
        graph()
    )


def solvers(folder):
    b = np.eye(40)[:, :2] - 1 / 40
    yield gs.LaplacianSolver(graph(), tol=1e-9, ridge=0.25, random_state=3)
    for name in ("jacobi", "cholesky", "amg", "direct"):
        solver = gs.LaplacianSolver(graph(), solver=name, random_state=3)
        solver.solve(b)
        yield solver
    streamed = gs.StreamedSolver(graph(), n_edges=150, tol=1e-7, random_state=3)
    streamed.solve(b)
    yield streamed
    yield sources.StreamedLaplacian(graph(), graph())
    yield outofcore.Pencil(graph(), graph(), np.zeros(40), seed=3)
    yield sparsifiers.BlockLanczos(graph(), ridge=0.0, n_columns=3, random_state=3)


def results(folder):
    kept = gs.sparsify(graph(), n_edges=120, random_state=3)
    plan = sparsifiers.SparsifyConfig(n_edges=120, certify=True, random_state=3)
    yield gs.certify(graph(), kept, random_state=3)
    yield gs.compare(graph(), kept, random_state=3)
    yield sparsifiers.compare_cuts(graph(), kept, n_edges=graph().n_edges, seed=3)
    yield analysis.spectral_clusters(graph(), 2, random_state=3)
    yield analysis.communities(graph(), random_state=3)
    yield analysis.cut(graph(), random_state=3)
    yield analysis.spectral_embedding(graph(), 2, random_state=3)
    yield analysis.rank(graph(), random_state=3)
    yield ssl.Bound(1.0, "little", True)
    yield kernel.Bound(1.0, (), ("bounded",))
    yield sparsifiers.Forecast(graph())
    yield plan
    yield sparsifiers.run_sparsify(graph(), plan)
    yield sparsifiers.estimate_cost(graph(), sparsifiers.SparsifyConfig(n_edges=100))
    yield sources.info(graph())
    yield online.run_prequential(online.KONS(), points(30), points(30)[:, 0])


def classifiers(folder):
    known = np.arange(40) < 16
    classes, values = np.where(known, np.arange(40) % 2, -1), np.where(known, 0.5, np.nan)
    values[:3] = 2.0
    for estimator, X, y in (
        (ssl.EigenfunctionClassifier(n_components=8), points(40), classes),
        (ssl.HFSClassifier(class_mass=True), graph(), classes),
        (ssl.NearestLabelClassifier(), graph(), classes),
        (ssl.PoissonClassifier(tol=1e-7), graph(), classes),
        (ssl.SimpleHFSClassifier(n_components=6), graph(), classes),
        (ssl.SparseHFSClassifier(n_edges=150, eta=0.5), graph(), classes),
        (ssl.StableHFSClassifier(eta=0.5), graph(), classes),
        (ssl.SubsampledHFSClassifier(n_samples=30, affinity="knn"), points(40), classes),
        (ssl.SparseHFSRegressor(n_edges=150, eta=0.5), graph(), values),
        (ssl.StableHFSRegressor(eta=0.5), graph(), values),
    ):
        if X is not graph():
            estimator.set_params(affinity="knn", n_neighbors=4)
        yield estimator.set_params(random_state=3)
        yield clone(estimator).fit(X, y)
    for cls in (ssl.Smoothed, ssl.CorrectAndSmooth):
        estimator = cls(LogisticRegression(), hops=1, n_folds=2, random_state=3)
        yield estimator
        yield clone(estimator).fit(graph(), classes, points(40))
    yield ssl.NeighborMeans(hops=1, deviations=False).fit(points(40), graph=graph())


def mails(folder):
    (folder / "mails.csv").write_text("text,label\nwin money,spam\nlunch at noon,ham\nlunch?,\n")
    source = mail.read_mail(folder / "mails.csv")
    yield source
    yield next(iter(source))
    yield mail.SpamFilter(n_neighbors=3)
    fitted = mail.SpamFilter(random_state=3)
    yield fitted.update(folder / "mails.csv", {"2": "spam", "3": "ham"})
    yield fitted
    yield mail.choose_threshold([0.2, 0.4], [False, True], 0.5)
    rates = mail.expected_rates([0.2, 0.4], [False, True], 0.3)
    yield from (rates, rates.caught_spam)
    view = mail.SecondView(points(40), 5)
    yield view
    yield mail.TwoViews(gs.neighbor_edges(points(40), 5), view)


def kernel_estimators(folder):
    for cls in (
        kernel.BLESS,
        kernel.ExactRLS,
        kernel.KORS,
        kernel.ManyStepRLS,
        kernel.RPCholesky,
        kernel.RecursiveRLS,
        kernel.SQUEAK,
        kernel.TwoStepRLS,
        kernel.UniformDictionary,
    ):
        sampler = cls(n_landmarks=8, ridge=0.5, random_state=3)
        yield sampler
        yield clone(sampler).fit(points())
    oracle = kernel.StreamingExactRLS(n_copies=5, ridge=0.5, random_state=3)
    yield oracle
    yield clone(oracle).fit(points())
    for name in ("NystromTransformer", "NystromRidge", "KernelRidge", "NystromPCA"):
        estimator = getattr(kernel, name)(random_state=3)
        yield estimator
        yield clone(estimator).fit(points(), points()[:, 0])


def learners(folder):
    more = (online.Forgetron, online.Projectron, online.ProjectronPP, online.RBP)
    X, y = points(50), np.sign(points(50)[:, 0])
    for learner in (*EVERY, *(cls(n_components=5) for cls in more)):
        yield learner
        yield clone(learner).fit(X, y)
    mixed = online.CONKONS(kernel_params="auto", random_state=2).fit(X, y)
    yield mixed
    yield mixed.mixture_


MAKERS = (
    graphs,
    edge_sources,
    streams,
    solvers,
    results,
    classifiers,
    mails,
    kernel_estimators,
    learners,
)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    return {make.__name__: list(make(folder)) for make in MAKERS}


def test_every_public_class_has_an_example(examples):
    shown = {type(example) for made in examples.values() for example in made}
    missing = {name for cls, name in public_classes().items() if cls not in shown}
    assert missing == WITHOUT_EXAMPLE


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_signatures_name_every_parameter(cls):
    """No *args and **kwargs, and no `__new__` that makes another class."""
    parameters = inspect.signature(cls).parameters.values()
    assert not [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    assert "__new__" not in vars(cls) or issubclass(cls, tuple)


@pytest.mark.parametrize(
    ("cls", "times"),
    [(gs.StreamSparsifier, {}), (sparsifiers.TimedSparsifier, {"window": 8, "n_panes": 16})],
)
def test_a_stream_shows_its_parameters(cls, times):
    parameters = inspect.signature(cls).parameters
    assert {"n_edges", "epsilon", "keep", "options", "random_state"} <= parameters.keys()
    time_parameters = {"window", "half_life", "n_panes"}
    assert parameters.keys() & time_parameters == (time_parameters if times else set())
    stream = cls(n_edges=9, **times)
    assert type(stream) is cls
    assert {name: getattr(stream, name) for name in ("n_edges", *times)} == {"n_edges": 9} | times
    assert repr(stream).startswith(f"{cls.__name__}(n_edges_seen_=0, n_nodes_=0")
    assert f"<caption>{cls.__name__}</caption>" in stream._repr_html_()


def test_timed_streams_need_a_time_and_plain_streams_have_none():
    with pytest.raises(gs.InputError, match="give window or half_life"):
        sparsifiers.TimedSparsifier(n_edges=9)
    plain = gs.StreamSparsifier(n_edges=9)
    timed_stream = sparsifiers.TimedSparsifier(n_edges=9, window=8)
    for name in ("span_", "n_too_old_", "window", "half_life"):
        assert not hasattr(plain, name)
        assert hasattr(timed_stream, name)
    assert not hasattr(timed_stream, "set_ridge")
    with pytest.raises(TypeError, match="ridge"):
        sparsifiers.TimedSparsifier(n_edges=9, window=8, ridge=1.0)
    with pytest.raises(gs.InputError, match="cannot be merged with a TimedSparsifier"):
        plain.merge(timed_stream)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_the_text_of_an_object_names_its_class(make, examples):
    for example in examples[make.__name__]:
        text = repr(example)
        plain = object.__repr__(example)
        described = text.startswith(("<edges of", "<projection of", "<5 nodes of"))
        assert text.startswith(type(example).__name__) or text == plain or described
        if hasattr(example, "_repr_html_"):
            assert example._repr_html_() is None or "<" in example._repr_html_()


def test_a_subclass_of_a_user_is_shown_as_its_parent():
    class MyStream(gs.StreamSparsifier):
        pass

    class MyEdges(EdgeList):
        pass

    assert repr(MyStream(n_edges=9)).startswith("MyStream(n_edges_seen_=0")
    assert repr(MyEdges(tail=[0], head=[1])) == "MyEdges(n_nodes=2, n_edges=1, total_weight=1)"


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_pickle_is_equal_to_the_original(make, examples):
    for example in examples[make.__name__]:
        copy = pickle.loads(pickle.dumps(example))  # noqa: S301
        assert type(copy) is type(example)
        assert repr(copy).split(" at 0x")[0] == repr(example).split(" at 0x")[0]
        assert differences(copy, example) == []


def test_a_pickled_source_gives_the_same_edges(examples):
    for source in examples["edge_sources"]:
        copy = pickle.loads(pickle.dumps(source))  # noqa: S301
        one, other = copy.to_edge_list(), source.to_edge_list()
        assert differences(one, other) == []


def test_a_pickled_stream_goes_on_to_the_same_edges(examples):
    for stream in examples["streams"][1:]:
        copy = pickle.loads(pickle.dumps(stream))  # noqa: S301
        is_timed = isinstance(stream, sparsifiers.TimedSparsifier)
        more = timed() if is_timed else graph()
        results = [each.partial_fit(more).sparsifier() for each in (copy, stream)]
        assert differences(*results) == []


def test_a_pickled_solver_solves_to_the_same_numbers(examples):
    b = np.eye(40)[:, 3:5] - 1 / 40
    for solver in examples["solvers"][:6]:
        copy = pickle.loads(pickle.dumps(solver))  # noqa: S301
        np.testing.assert_array_equal(copy.solve(b), solver.solve(b))
