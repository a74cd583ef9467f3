"""``@task.microagg``: a function returns a frame, and its protected table is what leaves the task.

The frame stays in memory: neither an XCom nor a file ever holds its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.decorator import (
    DecoratedOperator,
    determine_kwargs,
    task_decorator_factory,
)

from microagg_ops.columns.frames import kind_of_frame
from microagg_ops.errors import ReleaseError
from microagg_ops.operators.aggregate import MicroaggAggregateOperator

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.bases.decorator import TaskDecorator

    from microagg_ops.options import Place


class MicroaggDecoratedOperator(DecoratedOperator, MicroaggAggregateOperator):
    """Protect the frame that a function returns, check it, and write it to ``target``.

    Parameters
    ----------
    **kwargs
        As for `MicroaggAggregateOperator` alone, without ``source``.
    """

    custom_operator_name = "@task.microagg"
    template_fields: Sequence[str] = (
        *DecoratedOperator.template_fields,
        *MicroaggAggregateOperator.template_fields,
    )

    _frame: Any = None

    def perform_alone(self, context: Context) -> dict[str, Any]:
        """Call the function; what it returns is the source."""
        given = {**context, **self.op_kwargs}
        how = determine_kwargs(self.python_callable, self.op_args, given)
        frame = self.python_callable(*self.op_args, **how)
        if not kind_of_frame(frame):
            raise ReleaseError(
                f"{self.python_callable.__name__} must return a pandas, polars or Arrow frame. "
                f"Got {type(frame).__name__} instead."
            )
        self._frame = frame
        try:
            return super().perform_alone(context)
        finally:
            self._frame = None  # the rows are gone with the task

    def source_place(self) -> Place:
        """Return the frame; no name of it is kept, for a name would show its cells."""
        from microagg_ops.options import Place

        return Place(self._frame)


def microagg_task(
    python_callable: Callable[..., Any] | None = None, **kwargs: Any
) -> TaskDecorator:
    """Make a task of a function that returns a pandas, polars or Arrow frame.

    Parameters
    ----------
    python_callable
        The function.
    **kwargs
        As for `MicroaggAggregateOperator` alone: ``quasi``, ``k``, ``target``, …
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=False,
        decorated_operator_class=MicroaggDecoratedOperator,
        **kwargs,
    )
