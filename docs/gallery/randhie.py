"""RAND health insurance: 20,190 person-years (pip install statsmodels)."""

from statsmodels.datasets import randhie

from microagg_ops import microaggregate

people = randhie.load_pandas().data
print(
    f"{len(people):,} rows; {people.value_counts(['disea', 'lpi', 'physlm']).eq(1).sum():,} are "
    "the only one with their chronic diseases, payment and limitation"
)

quasi = {
    "disea": {"type": "number", "top": 40},  # chronic diseases: few have very many
    "lpi": "number",  # log of a yearly payment
    "physlm": "number",  # limited physically
    "idp": {"type": "boolean", "cast": True},  # 0 and 1 in the data
}
done = microaggregate(people, quasi=quasi, sensitive=["mdvis"], k=10, l={"mdvis": 3})
print(done)
print(
    f"found with a chance of at most {done.risk.highest:.0%}, "
    f"{done.risk.average:.1%} on average; {done.risk.linked:.1%} of the rows are linked"
)

# Does the question that the data are for have the same answer? Visits by chronic diseases.
for name, table in (("before", people), ("after", done.frame)):
    print(f"{name:<7} correlation of visits and diseases {table['mdvis'].corr(table['disea']):.3f}")
