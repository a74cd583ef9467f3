"""Connections of Airflow: what a warehouse is behind one, and hooks where no provider has any."""
