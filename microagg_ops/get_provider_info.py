"""What every Airflow process is told of this package; so it imports nothing of its own."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

TEXT = {"type": ["string", "null"]}
# The types of connections that no installed provider has, and what their forms ask for.
CONNECTION_TYPES: dict[str, dict[str, Any]] = {
    "duckdb": {
        "hook-class-name": "microagg_ops.hooks.warehouses.DuckDBHook",
        "hook-name": "DuckDB",
        "ui-field-behaviour": {
            "hidden-fields": ["schema", "login", "password", "port"],
            "relabeling": {"host": "Path of the file"},
            "placeholders": {"host": "/data/warehouse.duckdb"},
        },
        "conn-fields": {
            "memory_limit": {"label": "Memory limit, such as 2GB", "schema": TEXT},
            "threads": {"label": "Threads", "schema": {"type": ["integer", "null"]}},
            "temp_directory": {"label": "Folder for what memory cannot hold", "schema": TEXT},
        },
    },
    "postgres": {
        "hook-class-name": "microagg_ops.hooks.warehouses.PostgresHook",
        "hook-name": "PostgreSQL",
        "ui-field-behaviour": {
            "hidden-fields": [],
            "relabeling": {"schema": "Database"},
            "placeholders": {"host": "db.example", "port": "5432"},
        },
        "conn-fields": {
            "sslmode": {
                "label": "TLS (sslmode)",
                "schema": TEXT
                | {"enum": ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]},
            },
            "search_path": {
                "label": "Schemas of names without one (search_path)",
                "schema": TEXT,
            },
            "options": {
                "label": "Options of the server, such as -c statement_timeout=60000",
                "schema": TEXT,
            },
            "connect_timeout": {
                "label": "Seconds to wait for the server",
                "schema": {"type": ["integer", "null"]},
            },
        },
    },
    "sqlite": {
        "hook-class-name": "microagg_ops.hooks.warehouses.SQLiteHook",
        "hook-name": "SQLite",
        "ui-field-behaviour": {
            "hidden-fields": ["schema", "login", "password", "port"],
            "relabeling": {"host": "Path of the file"},
            "placeholders": {"host": "/data/warehouse.db"},
        },
    },
    "mysql": {
        "hook-class-name": "microagg_ops.hooks.warehouses.MySQLHook",
        "hook-name": "MySQL",
        "ui-field-behaviour": {
            "hidden-fields": [],
            "relabeling": {"schema": "Database"},
            "placeholders": {"host": "db.example", "port": "3306"},
        },
    },
    "delta": {
        "hook-class-name": "microagg_ops.hooks.warehouses.DeltaHook",
        "hook-name": "Delta tables",
        "ui-field-behaviour": {
            "hidden-fields": ["schema", "login", "password", "port"],
            "relabeling": {"host": "Folder or URI", "extra": "Options of the store"},
            "placeholders": {"host": "s3://bucket/lake", "extra": '{"AWS_REGION": "eu-north-1"}'},
        },
    },
    "iceberg": {
        "hook-class-name": "microagg_ops.hooks.warehouses.IcebergHook",
        "hook-name": "Iceberg catalogue",
        "ui-field-behaviour": {
            "hidden-fields": ["schema", "port"],
            "relabeling": {
                "host": "URI of the catalogue",
                "login": "Client id",
                "password": "Client secret",
                "extra": "Properties of pyiceberg",
            },
            "placeholders": {"host": "https://catalogue.example", "extra": '{"type": "rest"}'},
        },
    },
}
# The community's provider of a type, where it is not called after it.
PROVIDERS = {"iceberg": "apache-iceberg"}


def connection_types() -> list[dict[str, Any]]:
    """List the types that are ours to serve: whoever installed a provider keeps its hook."""
    return [
        {"connection-type": name, **form}
        for name, form in CONNECTION_TYPES.items()
        if not is_installed(f"apache-airflow-providers-{PROVIDERS.get(name, name)}")
    ]


def is_installed(package: str) -> bool:
    """Whether a package is installed; nothing of it is loaded."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def get_provider_info() -> dict[str, object]:
    """Describe the provider."""
    integration = {
        "integration-name": "Microaggregation",
        "external-doc-url": "https://microagg-ops.example/",
        "tags": ["software"],
    }
    stages = (
        "extract", "standardize", "group", "aggregate", "validate", "report", "approve",
        "publish", "cleanup",
    )  # fmt: skip
    return {
        "package-name": "microagg-ops",
        "name": "Microaggregation",
        "description": "k-anonymous tables that flow out of a data warehouse on a schedule.",
        "integrations": [integration],
        "operators": [
            {
                "integration-name": "Microaggregation",
                "python-modules": [f"microagg_ops.operators.{stage}" for stage in stages],
            }
        ],
        "hooks": [
            {
                "integration-name": "Microaggregation",
                "python-modules": ["microagg_ops.hooks.warehouses"],
            }
        ],
        "connection-types": connection_types(),
        "task-decorators": [
            {"class-name": "microagg_ops.decorators.microagg_task", "name": "microagg"}
        ],
        "notifications": ["microagg_ops.notifications.release.MicroaggNotifier"],
        "extra-links": ["microagg_ops.operators.links.MicroaggReportLink"],
        "config": {
            "microagg": {
                "description": "Where releases keep what they need for a while, and for good.",
                "options": {
                    "staging": {
                        "description": "The folder or URI for raw data between tasks. All workers "
                        "must reach it. By default a private folder in the temporary directory.",
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://conn_id@bucket/microagg",
                        "default": "",
                    },
                    "reports": {
                        "description": "The folder or URI for audit reports of releases that name "
                        "none. By default microagg/reports in the Airflow home.",
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://conn_id@bucket/reports",
                        "default": "",
                    },
                    "key": {
                        "description": "The key of this installation, for digests that must not be "
                        "tried out and for verdicts in staging. All workers must have the same. "
                        "By default it is derived from the Fernet key.",
                        "version_added": "0.2.0",
                        "type": "string",
                        "sensitive": True,
                        "example": "",
                        "default": "",
                    },
                    "catalogue": {
                        "description": "The folder with the release files that the page Releases "
                        "lists, subfolders included. By default the DAGs folder.",
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "/opt/airflow/releases",
                        "default": "",
                    },
                },
            }
        },
    }
