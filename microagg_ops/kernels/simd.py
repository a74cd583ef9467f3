"""Many lanes at a time: distances to points and to boxes, in whole numbers of 16 bits.

Written as vectors of LLVM, because a loop over so few lanes keeps its sums in memory. Whole
numbers are exact, whatever instructions a processor has for them.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# Boxes that are compared at once, and points.
LANES, POINTS = 16, 32
SHORT, WORD, LONG = ir.IntType(16), ir.IntType(32), ir.IntType(64)


def constants(numbers):
    """Give a vector of constants."""
    numbers = list(numbers)
    return ir.Constant(ir.VectorType(WORD, len(numbers)), numbers)


def spread(builder, value, width):
    """Give a vector of one value."""
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(empty, value, WORD(0)), empty, constants([0] * width)
    )


def vector(builder, data, offset, kind, width):
    """Load a vector from an array of 16-bit or 32-bit numbers."""
    at = builder.bitcast(builder.gep(data, [offset]), ir.VectorType(kind, width).as_pointer())
    return builder.load(at, align=kind.width // 8)


def multiplied(builder, a, b):
    """Multiply pairs of 16-bit numbers side by side, and add the two products of each pair.

    In this form the compiler knows it for the one instruction that many processors have for it.
    """
    count = a.type.count
    wide = ir.VectorType(WORD, count)
    product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
    empty = ir.Constant(wide, ir.Undefined)
    even = builder.shuffle_vector(product, empty, constants(range(0, count, 2)))
    odd = builder.shuffle_vector(product, empty, constants(range(1, count, 2)))
    return builder.add(even, odd)


def summed(context, builder, signature, args, names, width, term):
    """Add a term of each pair of columns to the bias of each lane; write what comes out.

    Gives one bit for each lane that is within the threshold.
    """
    at = {
        name: context.make_array(signature.args[i])(context, builder, args[i]).data
        for i, name in enumerate(names)
    }
    index, pairs, flip, limit = args[-4:]
    lanes = LONG(width)
    begin = builder.mul(builder.mul(index, pairs), LONG(2 * width))
    bias = vector(builder, at["bias"], builder.mul(index, lanes), WORD, width)
    sums = cgutils.alloca_once_value(builder, bias)
    with cgutils.for_range_slice(builder, LONG(0), pairs, LONG(1)) as (pair, _):
        offset = builder.add(begin, builder.mul(pair, LONG(2 * width)))
        both = builder.bitcast(
            builder.gep(at["centre"], [builder.mul(pair, LONG(2))]), WORD.as_pointer()
        )
        centre = spread(builder, builder.load(both, align=2), width)
        centre = builder.bitcast(centre, ir.VectorType(SHORT, 2 * width))
        builder.store(builder.add(builder.load(sums), term(builder, at, offset, centre)), sums)
    values = builder.xor(builder.load(sums), spread(builder, flip, width))
    out = builder.bitcast(at["out"], values.type.as_pointer())
    builder.store(values, out, align=4)
    within = builder.icmp_signed("<=", values, spread(builder, limit, width))
    return builder.zext(builder.bitcast(within, ir.IntType(width)), LONG)


@intrinsic
def near_points(typingctx, points, bias, centre, out, index, pairs, flip, threshold):
    """Products of a block of points with a centre, each with its bias added, then flipped.

    ``points`` is blocks by pairs of columns by points by two, ``bias`` blocks by points; one bit a
    point is given. ``flip`` is 0, or -1 where the largest are sought: then all bits are turned.
    """

    def code(context, builder, signature, args):
        def term(builder, at, offset, centre):
            points = vector(builder, at["points"], offset, SHORT, 2 * POINTS)
            return multiplied(builder, points, centre)

        names = ("points", "bias", "centre", "out")
        return summed(context, builder, signature, args, names, POINTS, term)

    numbers = (types.intp, types.intp, types.int32, types.int32)
    return types.int64(points, bias, centre, out, *numbers), code


@intrinsic
def near_boxes(typingctx, low, high, bias, centre, out, index, pairs, flip, threshold):
    """Squared distances of sixteen boxes to a centre, each with its bias added."""

    def code(context, builder, signature, args):
        def term(builder, at, offset, centre):
            low = vector(builder, at["low"], offset, SHORT, 2 * LANES)
            high = vector(builder, at["high"], offset, SHORT, 2 * LANES)
            outside = larger(builder, builder.sub(low, centre), builder.sub(centre, high))
            outside = larger(builder, outside, ir.Constant(outside.type, [0] * 2 * LANES))
            return multiplied(builder, outside, outside)

        names = ("low", "high", "bias", "centre", "out")
        return summed(context, builder, signature, args, names, LANES, term)

    numbers = (types.intp, types.intp, types.int32, types.int32)
    return types.int64(low, high, bias, centre, out, *numbers), code


@intrinsic
def keep(typingctx, out, mask, at, number):
    """Write ``number`` plus each bit that is set to ``out`` from ``at`` on; give how many."""

    def code(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        bits = ir.VectorType(ir.IntType(1), LANES)
        lanes = ir.VectorType(WORD, LANES)
        first = spread(builder, builder.trunc(args[3], WORD), LANES)
        numbers = builder.add(first, constants(range(LANES)))
        store = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [lanes, WORD.as_pointer(), bits]),
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
    return builder.select(builder.icmp_signed(">", a, b), a, b)
