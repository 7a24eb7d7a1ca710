"""The page and the API behind Debian's nginx: below a path, with another Host."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.cli.conftest import Prism
from tests.helpers.bands import recordings
from tests.helpers.browser import calibrate, drop, settled
from tests.helpers.processes import Served

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx, as in Debian's package nginx")

# As in docs/serve.md, in a folder of its own.
CONFIGURATION = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location = /prism {{ return 301 /prism/; }}
    location /prism/ {{
      proxy_pass {service}/;
      proxy_http_version 1.1;
      proxy_set_header Host sound.example;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $http_connection;
      proxy_request_buffering off;
      client_max_body_size 300m;
    }}
  }}
}}
"""


@pytest.fixture
def behind(prism: Prism, tmp_path: Path) -> Iterator[str]:
    """The address of a service below /prism/ of an nginx."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ("--behind-proxy", "--root-path", "/prism", "--allow-host", "sound.example")
    with Served(prism, *arguments) as served:
        text = CONFIGURATION.format(folder=tmp_path, port=port, service=served.url)
        (tmp_path / "nginx.conf").write_text(text)
        assert NGINX is not None
        command = (NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as nginx:
            url = f"http://127.0.0.1:{port}/prism/"
            try:
                _wait(url)
                yield url
            finally:
                nginx.terminate()


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            assert httpx.get(f"{url}healthz").status_code == 200
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("nginx does not answer")


def test_the_page_works_below_a_path(
    behind: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(behind)
    drop(page, [recordings(tmp_path / "place", each=4)])
    settled(page, 12)
    calibrate(page, "below")
    expect(page.locator("#site")).to_have_value("below")
    page.get_by_role("button", name="Use the microphone").click()
    expect(page.locator("#live-now .tag")).to_have_text("tone 7")
    page.get_by_role("button", name="Stop").click()


def test_foreign_pages_are_refused_behind_it(behind: str) -> None:
    refused = httpx.post(f"{behind}v1/classify", headers={"Origin": "http://evil.example"})
    assert (refused.status_code, refused.json()["code"]) == (403, "cross_origin")
