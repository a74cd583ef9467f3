"""What every Airflow process is told of this package; so it imports nothing."""


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
        "task-decorators": [
            {"class-name": "microagg_ops.decorators.microagg_task", "name": "microagg"}
        ],
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
