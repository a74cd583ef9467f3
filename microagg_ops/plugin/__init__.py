"""A page inside the Airflow UI: the releases, their runs over time, their reports."""
