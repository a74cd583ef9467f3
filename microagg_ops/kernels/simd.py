"""Many lanes at a time: distances to points and to boxes, in single precision.

Written as vectors of LLVM, because a loop over so few lanes keeps its sums in memory. The results
are only ever compared with a threshold that allows for their rounding, so it does not matter to
what instructions a processor maps them.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# Boxes that are compared at once, and points.
LANES, POINTS = 16, 32
FLOAT, LONG = ir.FloatType(), ir.IntType(64)
# A product may be added without being rounded in between.
FUSE = ("contract",)


def spread(builder, value, width):
    """Give a vector of one value."""
    word = ir.IntType(32)
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    zeros = ir.Constant(ir.VectorType(word, width), [0] * width)
    return builder.shuffle_vector(builder.insert_element(empty, value, word(0)), empty, zeros)


def pointer(builder, data, offset, width):
    """Give where a vector lies in an array."""
    at = builder.gep(data, [offset])
    return builder.bitcast(at, ir.VectorType(FLOAT, width).as_pointer())


def summed(context, builder, signature, args, names, width, term):
    """Sum the squares of a term over the columns, beginning with the bias of each lane.

    Columns come in the given order; after the first of them it is seen whether any lane is still
    within the threshold. Gives one bit for each that is.
    """
    at = {
        name: context.make_array(signature.args[i])(context, builder, args[i]).data
        for i, name in enumerate(names)
    }
    index, columns, first, limit = args[-4:]
    lanes = LONG(width)
    begin = builder.mul(builder.mul(index, columns), lanes)
    bias = pointer(builder, at["bias"], builder.mul(index, lanes), width)
    sums = cgutils.alloca_once_value(builder, builder.load(bias, align=4))
    mask = cgutils.alloca_once(builder, LONG)

    def add_columns(start, stop):
        with cgutils.for_range_slice(builder, start, stop, LONG(1)) as (number, _):
            column = builder.load(builder.gep(at["order"], [number]))
            offset = builder.add(begin, builder.mul(column, lanes))
            centre = spread(builder, builder.load(builder.gep(at["centre"], [column])), width)
            part = term(builder, at, offset, centre)
            square = builder.fmul(part, part, flags=FUSE)
            builder.store(builder.fadd(builder.load(sums), square, flags=FUSE), sums)
        within = builder.fcmp_ordered("<=", builder.load(sums), spread(builder, limit, width))
        builder.store(builder.zext(builder.bitcast(within, ir.IntType(width)), LONG), mask)

    add_columns(LONG(0), first)
    with builder.if_then(builder.icmp_signed("!=", builder.load(mask), LONG(0))):
        add_columns(first, columns)
    builder.store(builder.load(sums), pointer(builder, at["out"], LONG(0), width), align=4)
    return builder.load(mask)


@intrinsic
def near_points(typingctx, points, bias, centre, order, out, index, columns, first, threshold):
    """Squared distances of a block of points to a centre, each with its bias added.

    ``points`` is blocks by columns by points, ``bias`` blocks by points; one bit a point is given.
    """

    def code(context, builder, signature, args):
        def term(builder, at, offset, centre):
            points = pointer(builder, at["points"], offset, POINTS)
            return builder.fsub(builder.load(points, align=4), centre)

        names = ("points", "bias", "centre", "order", "out")
        return summed(context, builder, signature, args, names, POINTS, term)

    numbers = (types.intp, types.intp, types.intp, types.float32)
    return types.int64(points, bias, centre, order, out, *numbers), code


@intrinsic
def near_boxes(typingctx, low, high, bias, centre, order, out, index, columns, first, threshold):
    """Squared distances of sixteen boxes to a centre, as `near_points` gives those of points."""

    def code(context, builder, signature, args):
        def term(builder, at, offset, centre):
            low = builder.load(pointer(builder, at["low"], offset, LANES), align=4)
            high = builder.load(pointer(builder, at["high"], offset, LANES), align=4)
            outside = larger(builder, builder.fsub(low, centre), builder.fsub(centre, high))
            return larger(builder, outside, ir.Constant(outside.type, [0.0] * LANES))

        names = ("low", "high", "bias", "centre", "order", "out")
        return summed(context, builder, signature, args, names, LANES, term)

    numbers = (types.intp, types.intp, types.intp, types.float32)
    return types.int64(low, high, bias, centre, order, out, *numbers), code


@intrinsic
def keep(typingctx, out, mask, at, number):
    """Write ``number`` plus each bit that is set to ``out`` from ``at`` on; give how many."""

    def code(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        word, bits = ir.IntType(32), ir.VectorType(ir.IntType(1), LANES)
        lanes = ir.VectorType(word, LANES)
        counted = ir.Constant(lanes, list(range(LANES)))
        numbers = builder.add(spread(builder, builder.trunc(args[3], word), LANES), counted)
        store = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [lanes, word.as_pointer(), bits]),
            f"llvm.masked.compressstore.v{LANES}i32",
        )
        chosen = builder.bitcast(builder.trunc(args[1], ir.IntType(LANES)), bits)
        builder.call(store, [numbers, builder.gep(data, [args[2]]), chosen])
        return builder.ctpop(args[1])

    return types.int64(out, types.int64, types.int64, types.int64), code


@intrinsic
def first_bit(typingctx, mask):
    """Give the number of the lowest bit that is set."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), True))

    return types.int64(types.int64), code


def larger(builder, a, b):
    """Give the larger of two vectors, lane by lane."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)
