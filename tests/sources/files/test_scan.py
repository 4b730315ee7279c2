"""The compiled scanner and the slow rules of `fields.py` agree on every line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphsqueak.sources.files.fields import find_fault, split_fields
from graphsqueak.sources.files.scan import scan_block
from graphsqueak.sources.files.schema import TextSchema

PAIR, TRIPLE = ("source", "target"), ("source", "target", "weight")
ODD_ROLES = ("weight", "skip", "target", "source")


def schema(separator="\t", roles=PAIR, kind="int64", *, canonical=True):
    return TextSchema(separator, roles, kind, canonical, ("#", "%"), 0, 1)


def scan(text, shape, *, skip_bad=True):
    block = np.frombuffer(bytearray(text + b"\n"), dtype=np.uint8)
    return block, scan_block(block, shape, skip_bad=skip_bad)


integers = st.one_of(
    st.integers(-(2**64), 2**65), st.integers(0, 99), st.sampled_from([2**63 - 1, 2**63, 2**64])
).map(str)
numbers = st.one_of(
    st.floats(0, allow_infinity=False).map(repr),
    st.floats(0, 100).map(lambda value: f"{value:.3f}"),
    st.floats().map(repr),
    st.integers(0, 10**25).map(str),
)
scraps = st.text(alphabet='0123456789-+.eE"ab# ,;\t\r', max_size=8)
fields = st.one_of(
    integers, numbers, scraps, st.sampled_from(['"7"', '"a ""b"""', "007", "", " 5 "])
)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(
    words=st.lists(fields, min_size=1, max_size=5),
    separator=st.sampled_from(["\t", ",", ";", ""]),
    roles=st.sampled_from([PAIR, TRIPLE, ODD_ROLES]),
    kind=st.sampled_from(["int64", "uint64", "text"]),
    canonical=st.booleans(),
)
@example(["18446744073709551615", "1"], ",", PAIR, "uint64", True)
@example(["18446744073709551616", "1"], ",", PAIR, "uint64", True)
@example(["-9223372036854775808", "9223372036854775807"], ",", PAIR, "int64", True)
@example(["1", "2", "1e-400"], ",", TRIPLE, "int64", True)
@example(["1", "2", "179769313486231570000e290"], ",", TRIPLE, "int64", True)
@example(["1", "2", "0.1000000000000000055511151231257827"], ",", TRIPLE, "int64", True)
@example(["1", "2", "1e308"], ",", TRIPLE, "int64", True)
@example(["1", "2", "9.9e307"], ",", TRIPLE, "int64", True)
@example(["1", "2", "4.9e-324"], ",", TRIPLE, "int64", True)
def test_scanner_agrees_with_the_rules(words, separator, roles, kind, canonical):
    line = (separator or " ").join(words).encode()
    shape = schema(separator, roles, kind, canonical=canonical)
    bare = line.removesuffix(b"\r")
    is_data = bare.strip(b" " if separator == "\t" else b" \t") and not bare.lstrip(
        b" " if separator == "\t" else b" \t"
    ).startswith((b"#", b"%"))
    block, result = scan(line, shape)
    if not is_data:
        assert len(result.ends) == result.n_bad == 0
        return
    fault = find_fault(bare, shape)
    assert (result.n_bad, len(result.ends)) == ((0, 1) if fault is None else (1, 0)), fault
    if fault is None:
        expected = dict(zip(roles, split_fields(bare, separator), strict=True))
        ends = result.ends[0]
        if kind == "text":
            found = [block[ends[0] : ends[1]].tobytes(), block[ends[2] : ends[3]].tobytes()]
            assert found == [expected["source"], expected["target"]]
        else:
            numbers = [int(expected[end].partition(b".")[0]) for end in ("source", "target")]
            assert ends.view(kind).tolist() == numbers
        if "weight" in roles:
            assert result.weight[0] == float(expected["weight"])


@settings(deadline=None)  # the first call compiles
@given(st.floats(0, 1e307))
def test_weights_survive_repr_exactly(value):
    _, result = scan(f"1 2 {value!r}".encode(), schema("", TRIPLE))
    assert result.weight[0] == value


def test_blank_and_comment_lines_are_counted_as_lines():
    _, result = scan(b"# a\n\n 1\t2\r\n%b\n3\t4", schema())
    assert result.ends.tolist() == [[1, 2], [3, 4]]
    assert result.n_lines == 5


def test_stops_at_the_first_bad_line_and_says_where():
    _, result = scan(b"1\t2\nx\t3\n4\t5\ny\t6", schema(), skip_bad=False)
    assert (result.ends.tolist(), result.bad_line, result.bad_start) == ([[1, 2]], 1, 4)


def test_skips_bad_lines_and_counts_them():
    _, result = scan(b"1\t2\nx\t3\n4\t5\ny\t6", schema())
    assert (result.ends.tolist(), result.n_bad) == ([[1, 2], [4, 5]], 2)


@pytest.mark.parametrize("line", [b'a "b\tc', b'"a""\tc', b'"a"b\tc'])
def test_quotes_that_do_not_match_are_a_fault_only_at_the_start_of_a_field(line):
    _, result = scan(line, schema(kind="text"))
    assert result.n_bad == line.startswith(b'"')


def test_one_kernel_is_compiled_for_files_of_plain_pairs(tmp_path):
    """The kernel for all other lines takes seconds to compile."""
    lines = "".join(f"{k}\t{k + 1}\n" for k in range(50))
    paths = []
    for start in ("", "source\ttarget\n", "# SNAP\n# FromNodeId\tToNodeId\n\n"):
        paths.append(str(tmp_path / f"{len(paths)}.tsv"))
        Path(paths[-1]).write_text(start + lines)
    code = (
        "import graphsqueak as gs\n"
        f"print([gs.read_edges(path).to_edge_list().n_edges for path in {paths}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[50, 50, 50]"
    # Kernels call inlined functions, which have no file of their own.
    assert len(list(tmp_path.glob("cache/**/scan.*.nbi"))) == 1
