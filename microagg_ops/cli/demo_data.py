"""A believable table of clinic patients, made up from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = ("Ana", "Ben", "Carla", "Dario", "Elif", "Fatou", "Goran", "Hana", "Ivo", "Jana", "Kofi",
         "Lena", "Marc", "Nadia", "Omar", "Pia", "Quim", "Rosa", "Sven", "Tove")  # fmt: skip
LAST = ("Abbas", "Berger", "Costa", "Dupont", "Eriksen", "Fischer", "Garcia", "Horvat", "Ivanov",
        "Jansen", "Kaya", "Lopez", "Meyer", "Novak", "Okafor", "Petit", "Rossi", "Silva", "Tan",
        "Weber")  # fmt: skip
REGIONS = ("north", "east", "south", "west", "capital", "islands")
EDUCATION = ("none", "primary", "secondary", "tertiary")
DIAGNOSES = ("hypertension", "diabetes", "asthma", "fracture", "migraine", "depression", "angina")


def clinic_patients(rows: int, seed: int = 7) -> pa.Table:
    """Make admissions; about one in seven is a patient who was there before.

    Parameters
    ----------
    rows
        How many admissions.
    seed
        The same seed gives the same table.
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    people = max(1, int(rows * 0.86))
    patient = np.concatenate([np.arange(people), rng.integers(0, people, rows - people)])
    rng.shuffle(patient)
    born_age = np.clip(rng.gamma(6, 8.2, people), 0, 101)
    tall = rng.normal(np.where(rng.random(people) < 0.5, 163, 176), 7.2, people)
    grown = np.clip(born_age / 17, 0.35, 1)
    mass = np.clip(rng.normal(26, 4.2, people) + (born_age - 45) * 0.03, 13, 58)
    visits = rng.poisson(1 + born_age / 25, people)
    names = [f"{FIRST[i]} {LAST[j]}" for i, j in rng.integers(0, 20, (people, 2))]
    region = rng.choice(REGIONS, people, p=[0.2, 0.16, 0.22, 0.15, 0.22, 0.05]).astype(object)
    few = people // 10_000  # too few to be told apart
    region[:few], region[few : 2 * few] = "abroad", "at sea"
    education = rng.choice(EDUCATION, people, p=[0.06, 0.22, 0.45, 0.27])
    # Older people come with other complaints than younger ones.
    lean = np.clip(born_age / 100, 0.05, 0.95)
    weights = np.stack([lean, lean, 1 - lean, 1.2 - lean, 1 - lean, 0.6 + 0 * lean, lean**2], 1)
    chance = (weights / weights.sum(1, keepdims=True)).cumsum(1)
    illness = np.minimum((rng.random((rows, 1)) > chance[patient]).sum(1), len(DIAGNOSES) - 1)
    admitted = np.datetime64("2024-01-01") + rng.integers(0, 1000, rows)
    postcode = rng.integers(100, 160, people)
    return pa.table(
        {
            "ssn": [f"{100000000 + 7919 * p % 899999999}" for p in patient],
            "full_name": [names[p] for p in patient],
            "patient_id": pa.array(patient, pa.int32()),
            "age": pa.array(born_age[patient].astype(np.int16)),
            "height_cm": np.round(tall[patient] * grown[patient], 1),
            "bmi": np.round(mass[patient] + rng.normal(0, 0.6, rows), 1),
            "admitted": pa.array(admitted.astype("datetime64[D]")),
            "visits": pa.array(visits[patient].astype(np.int32)),
            "education": pa.array(education[patient], mask=rng.random(rows) < 0.04),
            "smoker": pa.array(rng.random(rows) < 0.23, mask=rng.random(rows) < 0.08),
            "postcode": [f"{int(code)}" for code in postcode[patient]],
            "area": pa.array(
                [f"{int(code) // 10}x" for code in postcode[patient]],
                mask=rng.random(rows) < 0.0005,
            ),
            "diagnosis": [DIAGNOSES[i] for i in illness],
            "region": region[patient],
        }
    )
