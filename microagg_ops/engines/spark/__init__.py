"""Apache Spark: the only place that knows it, and only once it is asked for."""
