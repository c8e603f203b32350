"""Downloads over a line that drops, lies and stalls."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.data.download import RetryPolicy, check_base, download, join
from errands.errors import DataError

Server = Any

QUICK = RetryPolicy(attempts=3, backoff=0.01, timeout=30)
BODY = random.Random(7).randbytes(3_000_000)
HALF = 1_500_000


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "big.part"


def get(server: Server, part: Path, **options: Any) -> Any:
    options = {"limit": 10_000_000, "retries": QUICK, **options}
    return download([f"{server.url}/big"], part, **options)


def begin(server: Server, part: Path) -> int:
    """Leave half a download behind; says how many bytes are there."""
    server.faults.append(f"drop:{HALF}")
    with pytest.raises(DataError, match=r"gave up .* broke off at byte .* run the same command"):
        get(server, part, retries=RetryPolicy(attempts=1))
    server.seen.clear()
    return part.stat().st_size


def test_a_plain_download_tells_its_progress(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    steps: list[tuple[str, int, int | None]] = []
    transfer = get(server, part, progress=lambda *step: steps.append(step))
    assert part.read_bytes() == BODY
    assert (transfer.received, transfer.resumed) == (len(BODY), False)
    assert steps[-1] == ("big", len(BODY), len(BODY))
    assert [step[1] for step in steps] == sorted(step[1] for step in steps)


def test_a_dropped_connection_is_resumed_with_only_the_missing_bytes(
    server: Server, part: Path
) -> None:
    server.files["/big"] = BODY
    server.faults.extend([f"drop:{HALF}", "drop:500000"])
    transfer = get(server, part)
    assert part.read_bytes() == BODY
    assert server.sent == [HALF, 500_000, len(BODY) - HALF - 500_000]
    assert [seen.range for seen in server.seen[1:]] == [f"bytes={HALF}-", f"bytes={HALF + 500000}-"]
    assert server.seen[1].if_range == '"one"'
    assert transfer.received == len(BODY)


def test_a_later_run_resumes_too(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    assert begin(server, part) == HALF
    transfer = get(server, part)
    assert part.read_bytes() == BODY
    assert (transfer.resumed, transfer.received) == (True, len(BODY) - HALF)
    assert server.sent == [len(BODY) - HALF]


def test_the_date_serves_where_the_etag_is_weak(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.etag, server.modified = 'W/"one"', "Mon, 06 Jan 2025 10:00:00 GMT"
    begin(server, part)
    get(server, part)
    assert server.seen[0].if_range == server.modified
    assert server.sent == [len(BODY) - HALF]


@pytest.mark.parametrize(("checked", "sent"), [(True, len(BODY) - HALF), (False, len(BODY))])
def test_without_etag_and_date_only_a_checked_file_is_resumed(
    server: Server, part: Path, checked: bool, sent: int
) -> None:
    server.files["/big"] = BODY
    server.etag = None
    begin(server, part)
    get(server, part, checked=checked)
    assert part.read_bytes() == BODY
    assert server.sent == [sent]


def test_a_server_that_ignores_ranges_sends_all_again(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    begin(server, part)
    server.ranges = False
    transfer = get(server, part)
    assert part.read_bytes() == BODY
    assert not transfer.resumed
    assert server.sent == [len(BODY)]


@pytest.mark.parametrize("honours", [True, False])
def test_a_changed_file_is_never_mixed(server: Server, part: Path, honours: bool) -> None:
    server.files["/big"] = BODY
    begin(server, part)
    server.files["/big"] = BODY[::-1]
    server.etag, server.honours_if_range = '"two"', honours
    get(server, part)
    assert part.read_bytes() == BODY[::-1]


def test_a_file_of_another_length_is_never_mixed(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.etag = None
    begin(server, part)
    server.files["/big"] = BODY[::-1] + b"more"
    get(server, part, checked=True)
    assert part.read_bytes() == BODY[::-1] + b"more"


def test_416_with_the_length_we_have_means_complete(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.lengths = False
    get(server, part)
    transfer = get(server, part)
    assert part.read_bytes() == BODY
    assert server.seen[-1].status == 416
    assert (transfer.received, transfer.resumed) == (0, True)


def test_416_with_another_length_starts_over(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.lengths = False
    get(server, part)
    server.files["/big"] = BODY[:1000]
    get(server, part)
    assert part.read_bytes() == BODY[:1000]


def test_a_complete_part_asks_nothing(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    get(server, part)
    server.seen.clear()
    assert get(server, part).received == 0
    assert server.seen == []


def test_a_part_longer_than_the_file_or_with_a_broken_memo_is_not_used(
    server: Server, part: Path
) -> None:
    server.files["/big"] = BODY
    get(server, part)
    part.write_bytes(BODY + b"x")
    get(server, part)
    assert part.read_bytes() == BODY
    part.write_bytes(BODY[:10])
    part.with_name("big.part.json").write_text("{")
    get(server, part)
    assert part.read_bytes() == BODY


def test_a_part_from_another_address_is_not_used(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    begin(server, part)
    server.files["/other"] = BODY
    download([f"{server.url}/other"], part, limit=len(BODY), retries=QUICK)
    assert server.seen[0].range is None
    assert part.read_bytes() == BODY


def test_server_errors_are_retried(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.extend(["500", "503:0"])
    get(server, part)
    assert part.read_bytes() == BODY
    assert [seen.status for seen in server.seen] == [500, 503, 200]


def test_retrying_ends(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.extend(["500"] * 9)
    with pytest.raises(DataError, match="after 3 attempts: the server answers HTTP 500"):
        get(server, part)
    assert len(server.seen) == 3


def test_an_attempt_that_moved_forward_restores_patience(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.extend(["500", "500", f"drop:{HALF}", "500", "500"])
    with pytest.raises(DataError, match="after 3 attempts"):
        get(server, part)
    assert len(server.seen) == 5
    server.faults.clear()
    get(server, part)
    assert part.read_bytes() == BODY


def test_the_second_address_is_tried_when_the_first_is_absent(server: Server, part: Path) -> None:
    server.files["/b/big"] = BODY
    urls = [f"{server.url}/a/big", f"{server.url}/b/big"]
    assert download(urls, part, limit=len(BODY), retries=QUICK).url == urls[1]
    del server.files["/b/big"]
    part.unlink()
    with pytest.raises(DataError, match=r"no such file: tried .*/a/big and .*/b/big"):
        download(urls, part, limit=len(BODY), retries=QUICK)
    assert not part.exists()


def test_other_refusals_end_at_once(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.append("401")
    with pytest.raises(DataError, match="HTTP 401"):
        get(server, part)
    assert len(server.seen) == 1


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_redirects_out_of_http_are_refused(server: Server, part: Path, where: str) -> None:
    server.faults.append(f"to:{where}")
    with pytest.raises(DataError, match=r"redirects to .* not followed"):
        get(server, part)
    assert not part.exists()


def test_redirects_within_http_are_followed_and_resumed(server: Server, part: Path) -> None:
    server.files["/real"] = BODY
    server.faults.extend([f"to:{server.url}/real", f"drop:{HALF}", f"to:{server.url}/real"])
    get(server, part)
    assert part.read_bytes() == BODY
    assert server.sent == [0, HALF, 0, len(BODY) - HALF]


def test_an_endless_redirect_ends(server: Server, part: Path) -> None:
    server.faults.extend([f"to:{server.url}/big"] * 30)
    with pytest.raises(DataError, match="not followed"):
        get(server, part)


def test_a_wrong_size_is_refused_before_the_body(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    with pytest.raises(DataError, match="has 3,000,000 bytes, expected 5 or 7"):
        get(server, part, sizes=(5, 7))
    with pytest.raises(DataError, match="expected at most 100"):
        get(server, part, limit=100)
    assert not part.exists()


def test_an_unannounced_flood_is_stopped(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.lengths = False
    with pytest.raises(DataError, match="more than the 1,000,000 bytes"):
        get(server, part, limit=1_000_000)
    assert not part.exists()


def test_a_packed_body_is_refused(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.encoding = "gzip"
    with pytest.raises(DataError, match="Content-Encoding gzip"):
        get(server, part)


def test_too_little_disk_is_said_before(
    server: Server, part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/big"] = BODY

    class Usage:
        free = 17_000_000

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(DataError, match=r"17,000,000 bytes free, but big needs 19,777,216"):
        get(server, part)
    assert not part.exists()


def test_a_full_disk_is_one_sentence(
    server: Server, part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/big"] = BODY

    def fail(what: str, done: int, total: int | None) -> None:
        raise OSError(errno.EACCES, "not a matter of the line")

    with pytest.raises(OSError, match="not a matter of the line"):
        get(server, part, progress=fail)
    if Path("/dev/full").exists():
        part.unlink()
        part.symlink_to("/dev/full")
        with pytest.raises(DataError, match=r"disk of .* is full"):
            get(server, part)


def test_a_silent_server_times_out(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.extend(["hold:1000", "ok"])
    get(server, part, retries=RetryPolicy(attempts=9, backoff=0.01, timeout=0.3))
    assert part.read_bytes() == BODY
    assert server.seen[1].range == "bytes=1000-"


def test_a_trickle_counts_as_dead(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.append("trickle")
    with pytest.raises(DataError, match=r"next to nothing|timed out"):
        get(server, part, retries=RetryPolicy(attempts=1, timeout=0.15))


def test_nobody_listening_is_said_at_once(part: Path) -> None:
    with pytest.raises(DataError, match=r"cannot reach http://127.0.0.1:9/"):
        download(["http://127.0.0.1:9/x"], part, limit=9, retries=RetryPolicy(backoff=60))


def test_a_killed_download_is_continued(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    server.faults.append(f"hold:{HALF}")
    code = (
        "import sys; from pathlib import Path; from errands.data.download import download\n"
        "download([sys.argv[1]], Path(sys.argv[2]), limit=10**7)"
    )
    source = str(Path(errands.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", code, f"{server.url}/big", str(part)],
        env={**os.environ, "PYTHONPATH": source},
    )
    try:
        deadline = time.monotonic() + 120
        while not (part.exists() and part.stat().st_size >= HALF - 100_000):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    server.release.set()
    there = part.stat().st_size
    transfer = get(server, part)
    assert part.read_bytes() == BODY
    assert server.seen[-1].range == f"bytes={there}-"
    assert server.seen[-1].sent == transfer.received == len(BODY) - there


@pytest.mark.parametrize(
    ("base", "complaint"),
    [
        ("file:///tmp/data", "--from"),
        ("ftp://example.org/x", "http or https"),
        ("/tmp/data", "http or https"),
        ("http://", "http or https"),
        ("http://me:secret@example.org", "user name or password"),
        ("http://example.org:99999/", "not a URL"),
        ("http://[::1", "not a URL"),
        ("http://example.org/a b", "plain address"),
        ("http://example.org/?x=1", "plain address"),
    ],
)
def test_addresses_that_cannot_work(base: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as caught:
        check_base(base)
    assert "secret" not in str(caught.value)


def test_addresses_are_joined_and_quoted() -> None:
    assert check_base("https://example.org/data/") == "https://example.org/data"
    assert join("https://example.org", "a b", "c?.json") == "https://example.org/a%20b/c%3F.json"


def test_the_memo_is_readable(server: Server, part: Path) -> None:
    server.files["/big"] = BODY
    begin(server, part)
    memo = json.loads(part.with_name("big.part.json").read_text())
    assert memo == {
        "url": f"{server.url}/big",
        "etag": '"one"',
        "modified": None,
        "total": len(BODY),
    }
