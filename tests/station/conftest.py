"""The installed command and a site, as the tests of the commands have them."""

from __future__ import annotations

from tests.cli.conftest import prism, refused, site, sounds

__all__ = ["prism", "refused", "site", "sounds"]
