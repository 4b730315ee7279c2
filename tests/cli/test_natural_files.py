"""Files as people have them: each is read right, or refused with advice that reads it right."""

import gzip
import re
import shlex

import pytest

from graphsqueak import read_edges
from graphsqueak.cli import run

PLAIN = {(1, 2, 1.0), (2, 3, 1.0), (3, 1, 1.0)}
NAMES = {("ann", "bob", 1.0), ("bob", "cy", 1.0), ("cy", "ann", 1.0)}
HEAVY = {(1, 2, 0.5), (2, 3, 1.5), (3, 1, 2.5)}

READ = {
    "pandas writes an index": (",user,friend\n0,1,2\n1,2,3\n2,3,1\n", PLAIN),
    "pandas wrote an index twice": ("Unnamed: 0,source,target\n0,1,2\n1,2,3\n2,3,1\n", PLAIN),
    "pandas with weights": (",source,target,weight\n0,1,2,.5\n1,2,3,1.5\n2,3,1,2.5\n", HEAVY),
    "SNAP": ("# Nodes: 3 Edges: 3\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n3\t1\n", PLAIN),
    "OGB": (gzip.compress(b"1,2\n2,3\n3,1\n"), PLAIN),
    "MUSAE": ("id_1,id_2\n1,2\n2,3\n3,1\n", PLAIN),
    "LastFM": ("userID\tfriendID\r\n1\t2\r\n2\t3\r\n3\t1\r\n", PLAIN),
    "Excel": (b"\xef\xbb\xbfsource;target\r\n1;2\r\n2;3\r\n3;1\r\n", PLAIN),
    "KONECT": ("% sym unweighted\n% 3 3 3\n1 2\n2 3\n3 1\n", PLAIN),
    "a tab ends every line": ("1\t2\t\n2\t3\t\n3\t1\t\n", PLAIN),
    "a tab ends every line of texts": ("a b\tc d\t\nc d\te f\t\n",
                                       {("a b", "c d", 1.0), ("c d", "e f", 1.0)}),
    "a comma ends every line": ("1,2,\n2,3,\n3,1,\n", PLAIN),
    "a comma ends every line, with names": ("source,target,weight,\n1,2,.5,\n2,3,1.5,\n3,1,2.5,\n",
                                            HEAVY),
    "quoted commas": ('"Doe, A","Roe, B"\n"Roe, B","Smith, J"\n',
                      {("Doe, A", "Roe, B", 1.0), ("Roe, B", "Smith, J", 1.0)}),
    "R write.csv": ('"","from","to"\n"1","ann","bob"\n"2","bob","cy"\n"3","cy","ann"\n', NAMES),
    "R write.table": ('"from" "to"\n"1" "ann" "bob"\n"2" "bob" "cy"\n"3" "cy" "ann"\n', NAMES),
    "Gephi": ("Source,Target,Type,Id,Label,Weight\n1,2,Undirected,0,,.5\n2,3,Undirected,1,,1.5\n"
              "3,1,Undirected,2,,2.5\n", HEAVY),
    "stops": ("from_stop,to_stop\nann,bob\nbob,cy\ncy,ann\n", NAMES),
    "two people who are called sender and receiver": (
        "sender 1\nreceiver 1\n", {("1", "sender", 1.0), ("1", "receiver", 1.0)}),
    "sources as long as days, with weights": (
        "20240101,20240103,1\n20240102,20240101,2\n20240103,20240102,1\n",
        {(20240101, 20240103, 1.0), (20240102, 20240101, 2.0), (20240103, 20240102, 1.0)}),
    "nodes that are numbered names": ("n1 n2\nn2 n3\n", {("n1", "n2", 1.0), ("n2", "n3", 1.0)}),
    "ids as long as Unix times, sorted": (
        "".join(f"{10**9 + k * k},{2 * 10**9 - k * k},{k % 3}.5\n" for k in range(1, 30)),
        {(10**9 + k * k, 2 * 10**9 - k * k, k % 3 + 0.5) for k in range(1, 30)}),
}  # fmt: skip

# What each piece of advice gives. Every option that a message names is tried.
ASKED = {
    "an id of rows": (
        "id,user,friend\n7,1,2\n8,2,3\n9,3,1\n",
        {"--columns user,friend": PLAIN}),
    "an amount in the middle": (
        "user,amount,merchant\n1,0.5,2\n2,1.5,3\n3,2.5,1\n",
        {"--columns user,merchant": PLAIN, "--columns user,merchant,amount": HEAVY}),
    "an amount of integers": (
        "user,amount,merchant\nann,1,bob\nbob,1,cy\ncy,1,ann\n",
        {"--columns user,merchant": NAMES, "--columns user,merchant,amount": NAMES}),
    "an amount in the middle, without names": (
        "1,0.5,2\n2,1.5,3\n3,2.5,1\n",
        {"--columns 0,2": PLAIN, "--columns 0,2,1": HEAVY}),
    "a named index": (
        ",user,friend,hits\n0,1,2,0.5\n1,2,3,1.5\n2,3,1,2.5\n",
        {"--columns user,friend": PLAIN, "--columns user,friend,hits": HEAVY}),
    "dates first": (
        "2024-01-01,1,2\n2024-01-02,2,3\n2024-01-02,3,1\n",
        {"--columns 1,2": PLAIN, "--time 0": PLAIN}),
    "dates and times first": (
        "2024-01-01 12:00:00,1,2\n2024-01-01 13:30:00,2,3\n2024-01-02 00:00:00,3,1\n",
        {"--columns 1,2": PLAIN, "--time 0": PLAIN}),
    "ISO times first": (
        "2024-01-01T12:00:00Z\tann\tbob\n2024-01-01T13:30:00Z\tbob\tcy\n"
        "2024-01-02T00:00:00+00:00\tcy\tann\n",
        {"--columns 1,2": NAMES, "--time 0": NAMES}),
    "date and time of day in two columns": (
        "2024-01-01 12:00:00 1 2\n2024-01-01 13:30:00 2 3\n2024-01-02 00:00:00 3 1\n",
        {"--columns 2,3": PLAIN}),
    "days or months first": (
        "01/02/2024,1,2\n01/03/2024,2,3\n01/04/2024,3,1\n",
        {"--columns 1,2": PLAIN}),
    "German dates, with semicolons": (
        "31.12.2024;1;2\n31.12.2024;2;3\n1.1.2025;3;1\n",
        {"--columns 1,2": PLAIN}),
    "days first": (
        "20240101,1,2\n20240102,2,3\n20240102,3,1\n",
        {"--columns 1,2": PLAIN, "--time 0": PLAIN, "--columns 0,1,2": None}),
    "Unix times first": (
        "1600000000 1 2\n1600000005 2 3\n1600000009 3 1\n",
        {"--columns 1,2": PLAIN, "--time 0": PLAIN, "--columns 0,1,2": None}),
    "Unix milliseconds first, nodes with names": (
        "1600000000123,ann,bob\n1600000005456,bob,cy\n1600000009789,cy,ann\n",
        {"--columns 1,2": NAMES, "--time 0": NAMES, "--columns 0,1,2": None}),
    "names of months first": (
        "01-Jan-2024,1,2\n02-Feb-2024,2,3\n03-Mar-2024,3,1\n",
        {"--columns 1,2": PLAIN}),
    "months first": (
        "2024-01,1,2\n2024-02,2,3\n2024-03,3,1\n",
        {"--columns 1,2": PLAIN}),
    "times of Twitter first": (
        "Mon Apr 06 22:19:45 PDT 2009,1,2\nMon Apr 06 22:20:00 PDT 2009,2,3\n"
        "Tue Apr  7 01:00:00 PDT 2009,3,1\n",
        {"--columns 1,2": PLAIN}),
    "an id of transactions": (
        "transaction_id,sender,receiver,amount\n7,1,2,.5\n8,2,3,1.5\n9,3,1,2.5\n",
        {"--columns sender,receiver": PLAIN, "--columns sender,receiver,amount": HEAVY}),
    "balances of the two ends": (
        "type,fee,nameOrig,oldOrig,nameDest\nPAY,1,ann,4,bob\nPAY,2,bob,4,cy\nPAY,3,cy,4,ann\n",
        {"--columns nameOrig,nameDest": NAMES}),
    "dates in the middle": (
        "1,2024-01-01,2\n2,2024-01-02,3\n3,2024-01-02,1\n",
        {"--columns 0,2": PLAIN, "--time 1": PLAIN}),
    "dates last": (
        "1,2,2024-01-01\n2,3,2024-01-02\n3,1,2024-01-02\n",
        {"--no-weights": PLAIN, "--time 2": PLAIN}),
    "German dates last": (
        "1;2;1.12.2024\n2;3;2.12.2024\n3;1;3.12.2024\n",
        {"--no-weights": PLAIN}),
    "dates with a name": (
        "date,user,friend\n2024-01-01,1,2\n2024-01-02,2,3\n2024-01-02,3,1\n",
        {"--columns user,friend": PLAIN, "--time date": PLAIN}),
    "dates with a name and amounts": (
        "date,user,friend,amount\n2024-01-01,1,2,0.5\n2024-01-02,2,3,1.5\n2024-01-02,3,1,2.5\n",
        {"--columns user,friend": PLAIN, "--columns user,friend,amount": HEAVY,
         "--time date": PLAIN}),
    "Unix times with a name": (
        "ts,user,friend\n1600000000,1,2\n1600000001,2,3\n1600000002,3,1\n",
        {"--columns user,friend": PLAIN, "--time ts": PLAIN}),
    "dates that may be nodes": (
        "2024-01-01,ann\n2024-01-02,bob\n",
        {"--columns 0,1": {("2024-01-01", "ann", 1.0), ("2024-01-02", "bob", 1.0)}}),
    "SNAP with times": (
        "".join(f"{1 + k % 3} {1 + (k + 1) % 3} {1_600_000_000 + 9 * k}\n" for k in range(3)),
        {"--no-weights": PLAIN, "--time 2": PLAIN, "--weights": None}),
    "KONECT with weights and times": (
        "% asym posweighted\n1 2 2 1082040961\n2 3 2 1082040999\n3 1 2 1082050961\n",
        {"--time 3": {(1, 2, 2.0), (2, 3, 2.0), (3, 1, 2.0)}}),
    "KONECT of two kinds": (
        "% bip unweighted\n% 3 3 3\n1 2\n2 3\n3 1\n",
        {"--unipartite": PLAIN,
         "--bipartite": {("source:1", "target:2", 1.0), ("source:2", "target:3", 1.0),
                         ("source:3", "target:1", 1.0)}}),
    "MovieLens": (
        "person_1,person_2,rating,timestamp\n1,2,.5,1260759144\n2,3,1.5,1260759179\n"
        "3,1,2.5,1260759182\n",
        {"--columns person_1,person_2": PLAIN, "--columns person_1,person_2,rating": HEAVY,
         "--time timestamp": PLAIN}),
    "STRING": (
        "protein1 protein2 combined_score\n9606.P1 9606.P2 5\n9606.P2 9606.P3 7\n",
        {"--columns protein1,protein2": {("9606.P1", "9606.P2", 1.0), ("9606.P2", "9606.P3", 1.0)},
         "--columns protein1,protein2,combined_score":
             {("9606.P1", "9606.P2", 5.0), ("9606.P2", "9606.P3", 7.0)}}),
    "lines of a tram": (
        "line,from_station,to_station\nU1,ann,bob\nU1,bob,cy\nU2,cy,ann\n",
        {"--columns from_station,to_station": NAMES}),
    "neo4j": (
        ":START_ID,:END_ID,:TYPE\n1,2,KNOWS\n2,3,KNOWS\n3,1,KNOWS\n",
        {"--columns :START_ID,:END_ID": PLAIN}),
    "kinds of edges": (
        "2,3,friend\n1,2,enemy\n3,1,friend\n",
        {"--columns 0,1": PLAIN, "--header": None}),
    "kinds of edges, or an index": (
        "1,2,friend\n2,3,enemy\n3,1,friend\n",
        {"--columns 0,1": PLAIN, "--columns 1,2": None}),
    "an index without a name": (
        "0,ann,bob\n1,bob,cy\n2,cy,ann\n",
        {"--columns 1,2": NAMES, "--columns 0,1": None}),
    "names with blanks": (
        "row,from node,to node,kind\n1,1,2,x\n2,2,3,y\n3,3,1,z\n",
        {"--columns 'from node,to node'": PLAIN}),
    "names that the command line cannot hold": (
        'id,"from, user","to, user"\n1,1,2\n2,2,3\n3,3,1\n',
        {"--columns 1,2": PLAIN}),
    "pipes": ("1|2\n2|3\n3|1\n", {"--delimiter '|'": PLAIN}),
}  # fmt: skip

ADVICE = re.compile(
    r"--(?:columns|time|delimiter) (?:'[^']*'|[^ ;]*[^ ;,])|"
    r"--(?:no-weights|weights|unipartite|bipartite|header|no-header)\b(?!-)"
)


def edges_of(path):
    graph = read_edges(path).to_edge_list()
    ids = graph.ids.tolist()
    ends = zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True)
    return {(*sorted((ids[u], ids[v])), weight) for u, v, weight in ends}


def undirected(edges):
    return {(*sorted((source, target)), weight) for source, target, weight in edges}


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def sparsify(path, *options):
    """All edges of a file, as the command line reads them."""
    words = ["sparsify", str(path), "-o", "out.csv", "--n-edges", "1000", "--force", "--seed", "1"]
    return run([*words, *options])


@pytest.mark.parametrize("name", READ)
def test_a_file_that_is_read(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, expected = READ[name]
    write(tmp_path / "edges.txt", data)
    assert sparsify("edges.txt", "--quiet") == 0
    assert edges_of("out.csv") == undirected(expected)


@pytest.mark.parametrize("name", ASKED)
def test_a_file_that_is_asked_about(name, tmp_path, monkeypatch, capsys):
    """Every option that the message names gives the graph that is meant."""
    monkeypatch.chdir(tmp_path)
    data, expected = ASKED[name]
    write(tmp_path / "edges.txt", data)
    assert sparsify("edges.txt") == 2
    said = capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    advised = {option for option in ADVICE.findall(said) if "SOURCE" not in option}
    assert advised == set(expected), said
    ends = next((option for option in expected if option.startswith("--columns")), "")
    for option, graph in expected.items():
        if graph is None:
            continue
        words = shlex.split(option)
        if option.startswith("--time"):
            # Times come with the columns that are advised, or chosen in their place.
            words += shlex.split(ends) or (["--columns", "0,1,2"] if "KONECT" in name else [])
        assert sparsify("edges.txt", *words, "--quiet") == 0, option
        assert edges_of("out.csv") == undirected(graph), option


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("c a graph\np edge 3 3\ne 1 2\ne 2 3\n", r"DIMACS file.*grep '\^\[ae\] ' edges.txt"),
        ("sep=;\nsource;target\n1;2\n", r"line for Excel.*tail -n \+2 edges.txt"),
        ("1::2::5::978300760\n2::3::3::978302109\n", "'::'.*sed 's/::/;/g'"),
    ],
)
def test_other_kinds_of_files_name_the_command_that_converts_them(
    text, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "edges.txt", text)
    assert sparsify("edges.txt") == 2
    assert re.search(said, capsys.readouterr().err)


def test_ignoring_weights_does_not_misread_the_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for text in ("id,user,friend\n7,1,2\n8,2,3\n", "user,amount,merchant\n1,9,2\n2,8,3\n"):
        write(tmp_path / "edges.txt", text)
        assert sparsify("edges.txt", "--no-weights") == 2
        assert "do not seem to be source and target; give --columns" in capsys.readouterr().err
    write(tmp_path / "edges.txt", "2024-01-01,1,2\n2024-01-02,2,3\n")
    assert sparsify("edges.txt", "--no-weights") == 2
    assert "--columns 1,2" in capsys.readouterr().err
