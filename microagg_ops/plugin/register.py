"""What Airflow loads into every one of its components; so it imports nothing of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from airflow.sdk.configuration import conf
from airflow.sdk.plugins_manager import AirflowPlugin

PREFIX = "/microagg"


class LazyApp:
    """The app of the page, made when a browser first asks for it."""

    @cached_property
    def app(self) -> Any:
        """The app itself."""
        from microagg_ops.plugin.app import make_app

        return make_app()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self.app(scope, receive, send)


def address() -> str:
    """Find where the page is, also where Airflow itself is served below a path."""
    base = urlsplit(str(conf.get("api", "base_url", fallback="") or "")).path.rstrip("/")
    return f"{base}{PREFIX}/"


class ReleasesPlugin(AirflowPlugin):
    """Browse → Releases."""

    name = "microagg"
    # Airflow's own class says that these are attributes of instances.
    fastapi_apps: list[Any] = [{"app": LazyApp(), "url_prefix": PREFIX, "name": "Releases"}]  # noqa: RUF012
    external_views: list[Any] = [  # noqa: RUF012
        {
            "name": "Releases",
            "href": address(),
            "destination": "nav",
            "category": "browse",
            "url_route": "releases",
        }
    ]
