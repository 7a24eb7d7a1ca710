from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from prism_audio.encoders import registry
from prism_audio.encoders.registry import load_encoder
from prism_audio.errors import InputError, PrismError
from tests.helpers.moments import Moments


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint("moments", "tests.helpers.moments:Moments", registry.ENTRY_POINTS),
        metadata.EntryPoint("clap", f"{__name__}:FakeClap", registry.ENTRY_POINTS),
        metadata.EntryPoint("broken", "no_such_package.at_all:Thing", registry.ENTRY_POINTS),
        metadata.EntryPoint("half", f"{__name__}:Half", registry.ENTRY_POINTS),
    ]
    found = metadata.EntryPoints(points)
    monkeypatch.setattr(metadata, "entry_points", lambda **wanted: found.select(**wanted))


class FakeClap(Moments):
    def __init__(self, source: str = "default", **options: Any) -> None:
        super().__init__()
        self.source, self.options = source, options


class Half:
    id = "half"


@pytest.mark.usefixtures("registered")
class TestLoadEncoder:
    def test_by_name_with_options(self) -> None:
        encoder = load_encoder("moments", gain=2.0)
        assert isinstance(encoder, Moments)
        assert encoder.gain == 2.0

    @pytest.mark.parametrize("name", ["laion/clap-htsat-fused", "./model.pt"])
    def test_a_hub_id_or_a_path_is_clap(self, name: str) -> None:
        encoder = load_encoder(name, device="cpu")
        assert isinstance(encoder, FakeClap)
        assert (encoder.source, encoder.options) == (name, {"device": "cpu"})

    def test_a_file_without_a_slash_is_clap_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("model.pt").touch()
        assert load_encoder("model.pt").source == "model.pt"  # type: ignore[attr-defined]
        assert load_encoder(tmp_path).source == str(tmp_path)  # type: ignore[attr-defined]

    def test_an_unknown_name_lists_the_known(self) -> None:
        with pytest.raises(InputError, match="broken, clap, half, moments"):
            load_encoder("momets")

    def test_one_that_does_not_import_says_so(self) -> None:
        with pytest.raises(PrismError, match="no_such_package"):
            load_encoder("broken")

    def test_one_that_lacks_a_part_is_refused(self) -> None:
        with pytest.raises(PrismError, match="protocol"):
            load_encoder("half")


def test_concepts_is_the_default_and_registered() -> None:
    points = metadata.entry_points(group=registry.ENTRY_POINTS)
    assert {"concepts", "clap"} <= points.names
    assert registry.DEFAULT == "concepts"
