"""What can be checked of the image without an engine."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()


def test_airflow_is_that_of_the_lock() -> None:
    image = re.search(r"^FROM apache/airflow:([\d.]+)-python3\.11$", DOCKERFILE, re.MULTILINE)
    locked = re.search(
        r"^apache-airflow==([\d.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE
    )
    assert image and locked
    assert image[1] == locked[1]


def test_every_copied_path_exists() -> None:
    copied = re.findall(r"^COPY --chown=\S+ (.+) \S+$", DOCKERFILE, re.MULTILINE)
    paths = [path for line in copied for path in line.split()]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
