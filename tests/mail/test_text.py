"""Mail as it comes: what is wrong with it never stops the reader, and what is right is read."""

import base64
import quopri
from email.message import EmailMessage

import numpy as np
import pytest

from graphsqueak.mail.corpus import read_mail
from graphsqueak.mail.text import mail_text

SEED = 93_117_206


def part(body, headers="Content-Type: text/plain; charset=utf-8"):
    return b"Subject: hello\n" + headers.encode() + b"\n\n" + body


def found(raw):
    return mail_text(raw).text.split()


@pytest.mark.parametrize(
    "charset", ["utf-8", "iso-8859-1", "windows-1252", "utf-16", "koi8-r", "gb2312", "shift_jis"]
)
def test_declared_charsets_are_obeyed(charset):
    text = {"koi8-r": "привет", "gb2312": "你好", "shift_jis": "こんにちは"}.get(charset, "naïve")
    body = base64.encodebytes(text.encode(charset))
    headers = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64"
    assert found(part(body, headers)) == ["hello", text]
    assert not mail_text(part(body, headers)).is_guessed


@pytest.mark.parametrize("charset", ["us-ascii", "utf-8", "x-unknown", "rot13", "hex", "", "a\0b"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_wrong_charsets_are_guessed(charset, encoding):
    raw = part("naïve café".encode(encoding), f'Content-Type: text/plain; charset="{charset}"')
    assert found(raw) == ["hello", "naïve", "café"]


def test_guesses_are_reported():
    assert mail_text(part("é".encode("latin-1"))).is_guessed
    assert not mail_text(part("é".encode())).is_guessed


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (b"=?utf-8?b?bmHDr3Zl?= =?iso-8859-1?q?_caf=E9?=", "naïve café"),
        (b"na\xc3\xafve", "naïve"),
        (b"na\xefve", "naïve"),
        (b"=?utf-8?b?not base64!?=", "=?utf-8?b?not base64!?="),
        (b"=?nonsense?q?caf=E9?=", "café"),
        (b"folded\n over lines", "folded over lines"),
    ],
)
def test_subjects_are_decoded_as_far_as_they_go(subject, expected):
    text = mail_text(b"Subject: " + subject + b"\n\nbody").text
    assert " ".join(text.split()) == expected + " body"


def test_html_becomes_what_is_seen():
    page = b"""<html><head><title>no</title><style>p {color: red}</style></head><body>
    <script>if (a < b) alert("no")</script><!-- no --><p>Caf&eacute;</p>now<br>pi<b>ll</b>s &lt;3"""
    seen = ["hello", "Café", "now", "pills", "<3"]
    assert found(part(page, "Content-Type: text/html")) == seen


def test_html_that_says_it_is_plain_is_recognized():
    assert found(part(b"\n<HTML><b>buy</b></HTML>")) == ["hello", "buy"]


def test_attachments_are_left_out_and_nested_parts_found():
    message, inner = EmailMessage(), EmailMessage()
    message["Subject"] = "outer"
    message.set_content("plain")
    message.add_alternative("<i>rich</i>", subtype="html")
    message.add_attachment(
        b"\x00\x01binary", maintype="application", subtype="pdf", filename="a.pdf"
    )
    message.add_attachment("notes to leave out", filename="notes.txt")
    inner.set_content("forwarded")
    message.add_attachment(inner)
    assert found(message.as_bytes()) == ["outer", "plain", "rich", "forwarded"]


def test_enron_style_mail_without_a_blank_line():
    text = mail_text(b"Subject: re : deal\nthanks : see below\nbye").text
    assert text == "re : deal\nthanks : see below\nbye"


def test_huge_mails_are_cut():
    read = mail_text(part(b"word " * 3_000_000))
    assert read.is_cut
    assert len(read.text) < 2_000_000


def test_bottomless_nesting_is_given_up():
    raw = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(3000)
    )
    read = mail_text(raw)
    assert read is None or isinstance(read.text, str)


def tricky_messages(n):
    """Every kind of trouble, then random damage to it."""
    rng = np.random.default_rng(SEED)
    outer = 'Content-Type: multipart/mixed; boundary="x"'
    seeds = [
        b"",
        b"\n\n",
        b"\x00" * 500,
        bytes(rng.integers(256, size=3000, dtype=np.uint8)),
        b"no header at all",
        b"Subject\n\n: what",
        part(b"", "Content-Type: text/html"),
        part(b"<p <b <<a href='x\n<![CDATA[ <!-- <!DOCTYPE <? <![if", "Content-Type: text/html"),
        part(b"&#1114112; &#xD800; &bogus; &#0;", "Content-Type: text/html"),
        part(b"=ZZ=\n=C3", "Content-Transfer-Encoding: quoted-printable"),
        part(b"!!! not base64 $$$", "Content-Transfer-Encoding: base64"),
        part(b"begin 644 x\n!!", "Content-Transfer-Encoding: x-uuencode"),
        part(b"+AGEA-", "Content-Type: text/plain; charset=utf-7"),
        part(b"x", "Content-Type: text/plain; charset*=utf-8''%E9; charset*0*=a"),
        part(b"x", "Content-Type: text; charset"),
        part(b"--x\n\nfirst\n--x\nContent-Type: text/html\n\n<b>second", outer),
        part(b"--y\n\nwrong boundary", outer),
        part(b"x", "Content-Type: multipart/mixed"),
        part(b"Subject: in\n\ninside", "Content-Type: message/rfc822"),
        part(quopri.encodestring("ü".encode("latin-1")), "Content-Transfer-Encoding: 8bit"),
        b"Subject: \xff\xfe\xfa\nFrom: \x80\n\nbody",
        b"From someone Thu Aug 22 13:17:22 2002\nSubject: mbox line\n\nbody",
        b"Subject: " + b"long " * 20_000 + b"\n\nbody",
        part(b"A" * 200_000),
        part(
            base64.encodebytes(bytes(2000)),
            "Content-Type: image/png\nContent-Transfer-Encoding: base64",
        ),
    ]
    yield from seeds
    for number in range(n - len(seeds)):
        message = bytearray(seeds[number % len(seeds)] or b"Subject: x\n\ny")
        for offset in rng.integers(len(message), size=8):
            message[offset] = rng.integers(256)
        cut = rng.integers(len(message) + 1)
        yield bytes(message[:cut] if number % 3 == 0 else message)


def test_three_hundred_tricky_messages_are_read_and_counted(tmp_path):
    folder = tmp_path / "spam"
    folder.mkdir()
    for number, message in enumerate(tricky_messages(300)):
        (folder / f"{number:03}").write_bytes(message)
    (folder / "missing").symlink_to(tmp_path / "nowhere")
    source = read_mail(tmp_path)
    mails = list(source)
    assert source.counts["mails"] == len(mails)
    assert source.counts["mails"] + source.counts["unreadable"] == 301
    assert 1 <= source.counts["unreadable"] <= 3
    assert source.counts["guessed"] > 20
    assert source.counts["empty"] >= 3
    assert all(mail.label == 1 for mail in mails)
    text = {mail.id: mail.text.split() for mail in mails}
    assert text["spam/015"] == ["hello", "first", "second"]
    assert text["spam/018"] == ["hello", "inside"]


def test_headers_become_words_and_verdicts_of_filters_do_not():
    raw = b"Received: from mx1.example.com by us;\n\tid 77\nX-Spam-Status: Yes\nSubject: hi\n"
    raw += b"X-Mailer: \xff " + 50 * b"k" + b"\n\ntext"
    words = mail_text(raw).headers.split()
    assert words[:2] == ["has:received", "received:from"]
    assert {"received:mx0.example.com", "received:00", "has:x-mailer"} <= set(words)
    assert not any("spam" in word or "hi" in word or "kkk" in word for word in words)
