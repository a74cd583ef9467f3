"""Python tasks on executors: Arrow in, answers out, and errors that show no data.

Spark writes the text of an exception into its logs, and that text may quote a cell. So no task
raises: what went wrong comes back as an answer, and is raised where it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from microagg_ops import errors
from microagg_ops.errors import MicroaggError, scrubbed

if TYPE_CHECKING:
    import pyarrow as pa

ANSWER = "answer"
FAULT = "fault"
#: What asks the rows of a partition, and answers in JSON.
Ask = Callable[[Iterator["pa.RecordBatch"]], Any]


def fault_of(error: BaseException) -> str:
    """Write an error down, scrubbed."""
    found = scrubbed(error)
    return json.dumps({FAULT: {"kind": type(found).__name__} | found.__dict__})


def raise_fault(answer: Mapping[str, Any]) -> None:
    """Raise the error that a task wrote down, if it did."""
    fault = answer.get(FAULT)
    if fault is None:
        return
    kind = getattr(errors, fault["kind"], MicroaggError)
    raise kind(
        fault["message"], code=fault["code"], hint=fault["hint"], retryable=fault["retryable"]
    )


def asked(task: Ask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Answer of the rows of a partition."""
    import pyarrow as pa

    try:
        found = json.dumps(task(batches))
    except Exception as error:  # noqa: BLE001 - told where it was asked
        found = fault_of(error)
    yield pa.RecordBatch.from_pydict({ANSWER: [found]})


def quietly(task: Callable[[pa.RecordBatch], Any], batch: pa.RecordBatch) -> Any:
    """Do a task that has no answer to tell an error in: what it raises shows no data either."""
    try:
        return task(batch)
    except Exception as error:  # noqa: BLE001 - its text may hold data
        raise scrubbed(error) from None


def told(answers: Iterable[str]) -> list[Any]:
    """Read answers; raise the first error among them."""
    found = [json.loads(one) for one in answers]
    for one in found:
        if isinstance(one, dict):
            raise_fault(one)
    return found


def block_told(task: Callable[[pa.Table], pa.Table], empty: pa.Schema, block: pa.Table) -> pa.Table:
    """Do the task of a block; what goes wrong is one row that says so."""
    import pyarrow as pa

    try:
        return task(block).cast(empty)
    except Exception as error:  # noqa: BLE001 - told where it was asked
        row = {field.name: pa.nulls(1, field.type) for field in empty}
        row[ANSWER] = pa.array([fault_of(error)])
        return pa.table(row, schema=empty)
