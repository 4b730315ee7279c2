"""Mails and corpora made to exhaust time or memory, or to read files outside the corpus."""

import mailbox
import os
import signal
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.mail.corpus import read_mail
from graphsqueak.mail.html_text import visible_text
from graphsqueak.mail.layouts import raw_mails
from graphsqueak.mail.limits import LIMITS
from graphsqueak.mail.mime import parse_mail
from graphsqueak.mail.text import mail_text

SEED = 40_118_327
SIZE = 2_000_000
# A mail of 2 MB takes 0.6 s of one slow core at most; the quadratic cases take minutes to hours.
LIMIT_SECONDS = 20

HTML = b"Content-Type: text/html\n\n"
MIXED = b"Content-Type: multipart/mixed; boundary=b\n\n"
NESTED = b"".join(
    b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(300)
)


@contextmanager
def time_limit(seconds):
    def stop(number, frame):
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("start", "pattern"),
    [
        (HTML, b"<a "),
        (HTML, b"<"),
        (HTML, b"<!--"),
        (HTML, b"<![CDATA["),
        (HTML, b"</"),
        (HTML, b"&#1"),
        (HTML, b'<a b="'),
        (HTML, b'<a =">" '),
        (HTML, b"<script>"),
        (HTML, b"<p>x"),
        (HTML + b"&#", b"1"),
        (b'Content-Type: text/plain; a="', b";"),
        (b"Content-Type: text/plain; charset=", b'a=";'),
        (b"Content-Type: multipart/mixed; ", b";"),
        (b"Subject: ", b"=?utf-8?q?"),
        (b"Subject: ", b"=?utf-8?b?A"),
        (b"From: ", b"("),
        (b"X: y\n", b" folded\n"),
        (b"", b"a:\n"),
        (NESTED, b"\n"),
        (b"", b"Content-Type: message/rfc822\n\n"),
        (MIXED, b"--b\n\n"),
        (MIXED, b"--b\nContent-Type: text/plain; " + b";" * 8000 + b"\n\n"),
        (MIXED, b"--b\nContent-Type: text/plain; charset*=punycode''" + b"a" * 8000 + b"\n\n"),
        (b"Content-Type: text/plain; charset=punycode\n\n", b"b"),
        (b"Content-Type: text/plain; charset=idna\n\n", b"xn--a."),
        (b"Content-Transfer-Encoding: base64\n\n", b"AB=\n"),
        (b"Content-Transfer-Encoding: quoted-printable\n\n", b"=4=\n"),
        (b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 x\n", b"M\n"),
    ],
)
def test_two_megabytes_of_a_hostile_pattern_are_read_in_time(start, pattern):
    raw = (start + pattern * (SIZE // len(pattern) + 1))[:SIZE]
    with time_limit(LIMIT_SECONDS):
        assert isinstance(mail_text(raw).text, str)


def test_random_mixtures_of_hostile_patterns_are_read_in_time():
    rng = np.random.default_rng(SEED)
    tokens = [
        *(b"<a ", b"<", b">", b"<!--", b"-->", b"<![CDATA[", b"</b", b"&#", b"&amp", b'"', b"'"),
        *(
            b"=",
            b"=?utf-8?q?",
            b"?=",
            b";",
            b'a=";',
            b"\\",
            b"(",
            b"\n",
            b"\n\n",
            b"\r",
            b" ",
            b"\t",
        ),
        *(
            b"--b",
            b"\n--b\n",
            b"\n--b--\n",
            b"a:",
            b"From ",
            b"<script>",
            b"</script>",
            b"x",
            b"\0",
        ),
        *(b"\xff", b"Content-Type: text/html\n", b"Content-Type: message/rfc822\n", MIXED),
    ]
    for start in (b"", HTML, MIXED, b"Subject: ", b"Content-Type: text/html; "):
        chosen = rng.choice(len(tokens), size=rng.integers(2, 6), replace=False)
        mixture = b"".join(tokens[i] for i in rng.choice(chosen, size=2000))
        raw = (start + mixture * (SIZE // len(mixture) + 1))[:SIZE]
        with time_limit(LIMIT_SECONDS):
            mail_text(raw)


def test_what_exceeds_a_limit_is_cut_and_the_rest_is_read():
    deep = mail_text(NESTED + b"\ntoo deep")
    assert deep.is_cut
    assert "too deep" not in deep.text
    parts = mail_text(MIXED + b"--b\n\nword\n" * 1200)
    assert parts.is_cut
    assert parts.text.split().count("word") == 999  # the 1,000th entity is the mail itself
    field = mail_text(b"Subject: " + b"a" * 9000 + b"\n\nbody")
    assert field.is_cut
    assert field.subject == "a" * 8192
    section = mail_text(b"X: y\n" * 60_000 + b"Subject: late\n\nbody")
    assert section.is_cut
    assert section.text.split() == ["body"]
    assert not mail_text(b"Subject: short\n\nbody").is_cut


def test_a_numeric_reference_with_thousands_of_digits_is_text():
    assert visible_text("a &#65; b").split() == ["a", "A", "b"]
    assert visible_text("x &#" + "9" * 5000 + "; y").split()[-1] == "y"


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("a<b", ["a<b"]),
        ("5 < 6 and 7 > 3", ["5", "<", "6", "and", "7", ">", "3"]),
        ("<p title='a > b'>text", ["text"]),
        ('<p title="it\'s">text', ["text"]),
        ("<p don't>text", ["text"]),
        ("<p title='open>text</p> more", ["text", "more"]),
        ("one<!-- hidden > --> two<!-- never closed", ["one", "two"]),
        ("one<!-->two", ["onetwo"]),
        ("a<?php echo?>b</>c", ["abc"]),
        ("a<script src=x>if (1 < 2) no()</SCRIPT >b", ["a", "b"]),
        ("a<title/>b", ["a", "b"]),
        ("a<style>never closed", ["a"]),
        ("&lt;b&gt; &eacute;t&eacute &#x41;&nosuch;", ["<b>", "été", "A&nosuch;"]),
        ("V<b>i</b>ag<span x=y>ra</span><br>now", ["Viagra", "now"]),
    ],
)
def test_visible_text(page, seen):
    assert visible_text(page).split() == seen


def random_mail(rng, depth=0):
    message = EmailMessage()
    words = ["lunch", "naïve", "дом", "a=b", "--", "\nFrom here", "5 < 6", "& more"]

    def text():
        return " ".join(rng.choice(words, size=rng.integers(1, 20))) + "\n"

    message["Subject"] = text().replace("\n", " ")[:50]
    message["From"] = "Ann <ann@mx1.example>"
    message.set_content(text(), cte=rng.choice(["8bit", "base64", "quoted-printable"]))
    if rng.random() < 0.5:
        message.add_alternative(f"<p>{text()}</p>", subtype="html")
    if rng.random() < 0.5:
        message.add_attachment(text(), filename="notes.txt")
    if rng.random() < 0.4 and depth < 3:
        message.add_attachment(random_mail(rng, depth + 1))
    return message


def test_parts_are_those_that_the_standard_library_finds():
    rng = np.random.default_rng(SEED)
    for number in range(60):
        line_ends = policy.SMTP if number % 2 else policy.default
        raw = random_mail(rng).as_bytes(policy=line_ends)
        expected = [
            (
                part.get_content_subtype(),
                part.get_content_charset(),
                part.get_payload(decode=True).split(),
            )
            for part in message_from_bytes(raw).walk()
            if part.get_content_maintype() == "text"
            and part.get_content_disposition() != "attachment"
        ]
        parsed = parse_mail(raw)
        assert not parsed.is_cut
        found = [(part.subtype, part.charset, part.decoded().split()) for part in parsed.parts]
        assert found == expected
        names = [name.lower() for name, _ in message_from_bytes(raw).raw_items()]
        assert [name for name, _ in parsed.fields] == names


MAIL = b"From: a@b\nSubject: hello\n\nbody\n"


def corpus_with_index(folder, entries):
    (folder / "full").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "data" / "inmail.1").write_bytes(MAIL)
    lines = [f"ham {entry}\n" for entry in ("../data/inmail.1", *entries)]
    (folder / "full" / "index").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("entry", ["../../secret", "/etc/passwd", "/dev/null", "../data/link"])
@pytest.mark.parametrize("given", ["", "full/index"])
def test_an_index_entry_that_leads_out_of_the_corpus_is_refused(tmp_path, entry, given):
    (tmp_path / "secret").write_text("the key")
    corpus = corpus_with_index(tmp_path / "corpus", [entry])
    (corpus / "data" / "link").symlink_to(tmp_path / "secret")
    with time_limit(LIMIT_SECONDS), pytest.raises(InputError, match="leads out") as caught:
        list(read_mail(corpus / given))
    assert entry in str(caught.value)
    assert "index, line 2" in str(caught.value)


@pytest.mark.parametrize("entry", ["../data/pipe", "../data"])
def test_an_index_entry_that_is_not_a_regular_file_is_refused(tmp_path, entry):
    corpus = corpus_with_index(tmp_path / "corpus", [entry])
    os.mkfifo(corpus / "data" / "pipe")
    with time_limit(LIMIT_SECONDS), pytest.raises(InputError, match=r"line 2.*not a regular file"):
        list(read_mail(corpus))


def test_an_index_that_is_a_link_out_of_the_corpus_is_refused(tmp_path):
    """Its first line would be printed as one that is not an entry."""
    (tmp_path / "secret").write_text("secret of another user\n")
    (tmp_path / "corpus" / "full").mkdir(parents=True)
    (tmp_path / "corpus" / "full" / "index").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="index leads out of the corpus") as caught:
        list(raw_mails(tmp_path / "corpus"))
    assert "another user" not in str(caught.value)


@pytest.mark.parametrize("line", [b"ham \0", b"\0" * 100_000])
def test_an_index_of_binary_junk_is_refused(tmp_path, line):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "index").write_bytes(line)
    with pytest.raises(InputError, match=r"line 1: .* is not 'spam") as caught:
        list(raw_mails(tmp_path))
    assert len(str(caught.value)) < 1000


def test_an_index_is_not_read_into_memory(tmp_path):
    """A file without blocks on disk claims 64 GiB."""
    (tmp_path / "full").mkdir()
    with open(tmp_path / "full" / "index", "wb") as index:
        index.truncate(1 << 36)
    with pytest.raises(InputError, match="line 1: "):
        next(raw_mails(tmp_path))


def test_links_inside_a_corpus_are_followed(tmp_path):
    corpus = corpus_with_index(tmp_path / "corpus", ["../data/inmail.2", "../data/missing"])
    (corpus / "data" / "inmail.2").symlink_to(corpus / "data" / "inmail.1")
    (tmp_path / "by_link").symlink_to(corpus)
    for path in (corpus, tmp_path / "by_link", tmp_path / "by_link" / "full" / "index"):
        source = read_mail(path)
        assert [mail.subject for mail in source] == ["hello", "hello"]
        assert source.counts["unreadable"] == 1


@pytest.mark.parametrize("layout", ["folders", "maildir", "mbox"])
def test_links_out_of_a_folder_of_mails_are_refused(tmp_path, layout):
    secret = tmp_path / "secret"
    secret.write_bytes(b"From a\n" + MAIL)
    corpus = tmp_path / "corpus"
    if layout == "maildir":
        mailbox.Maildir(corpus).add(MAIL)
        (corpus / "cur" / "link").symlink_to(secret)
    else:
        (corpus / "spam").mkdir(parents=True)
        (corpus / "spam" / "link").symlink_to(secret)
    with pytest.raises(InputError, match=r"link leads out of the corpus"):
        list(read_mail(corpus, layout=layout))


@pytest.mark.parametrize("layout", ["auto", "folders", "sms", "csv", "mbox", "trec"])
def test_a_named_pipe_or_device_is_not_a_corpus(tmp_path, layout):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with time_limit(LIMIT_SECONDS), pytest.raises(InputError, match="not a regular file"):
            list(read_mail(path, layout=layout))


def test_a_named_pipe_in_a_folder_of_mails_does_not_block(tmp_path):
    (tmp_path / "1.eml").write_bytes(MAIL)
    os.mkfifo(tmp_path / "pipe")
    with time_limit(LIMIT_SECONDS):
        assert [mail.subject for mail in read_mail(tmp_path)] == ["hello"]
        (tmp_path / "spam").mkdir()
        os.mkfifo(tmp_path / "spam" / "pipe")
        with pytest.raises(InputError, match="spam/pipe is not a regular file"):
            list(read_mail(tmp_path))


@pytest.mark.parametrize("layout", ["folders", "mbox"])
def test_at_most_eight_mebibytes_of_a_mail_are_read(tmp_path, layout):
    with open(tmp_path / "big.eml", "wb") as file:
        file.write(b"From a\nSubject: big\n\n" + b"word " * 1000)
        file.truncate(3 * LIMITS.mail_bytes)  # zeros that take no space on disk
    (raw,) = raw_mails(tmp_path, layout)
    assert len(raw.content) == LIMITS.mail_bytes + 1
    source = read_mail(tmp_path, layout=layout)
    assert [mail.subject for mail in source] == ["big"]
    assert source.counts["cut"] == 1
