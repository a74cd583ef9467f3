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
BYTE, SHORT, WORD, LONG = (ir.IntType(bits) for bits in (8, 16, 32, 64))


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


def pointers(context, builder, signature, args, *names):
    """Give the addresses of the arrays that come first among the arguments, by name."""
    return {
        name: context.make_array(signature.args[i])(context, builder, args[i]).data
        for i, name in enumerate(names)
    }


def summed(builder, centres, begin, pairs, bias, term):
    """Add a term of each pair of columns to the bias of each lane."""
    width = bias.type.count
    sums = cgutils.alloca_once_value(builder, bias)
    with cgutils.for_range_slice(builder, LONG(0), pairs, LONG(1)) as (pair, _):
        both = builder.gep(centres, [builder.mul(pair, LONG(2))])
        both = builder.load(builder.bitcast(both, WORD.as_pointer()), align=2)
        centre = builder.bitcast(spread(builder, both, width), ir.VectorType(SHORT, 2 * width))
        offset = builder.add(begin, builder.mul(pair, LONG(2 * width)))
        builder.store(builder.add(builder.load(sums), term(offset, centre)), sums)
    return builder.load(sums)


def bits(builder, lanes):
    """Give a number with one bit for each lane that is true."""
    return builder.zext(builder.bitcast(lanes, ir.IntType(lanes.type.count)), LONG)


@intrinsic
def near_points(typingctx, points, bias, centre, index, pairs, flip, threshold):
    """Products of a block of points with a centre, each with its bias added, then flipped.

    ``points`` is blocks by pairs of columns by points by two, ``bias`` blocks by points. ``flip``
    is 0, or -1 where the largest are sought: then all bits are turned. Gives a bit for each point
    that is within the threshold.
    """

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "points", "bias", "centre")
        index, pairs, flip, limit = args[3:]

        def term(offset, centre):
            points = vector(builder, at["points"], offset, BYTE, 2 * POINTS)
            return multiplied(builder, builder.sext(points, centre.type), centre)

        begin = builder.mul(builder.mul(index, pairs), LONG(2 * POINTS))
        bias = vector(builder, at["bias"], builder.mul(index, LONG(POINTS)), WORD, POINTS)
        values = summed(builder, at["centre"], begin, pairs, bias, term)
        values = builder.xor(values, spread(builder, flip, POINTS))
        return bits(builder, builder.icmp_signed("<=", values, spread(builder, limit, POINTS)))

    numbers = (types.intp, types.intp, types.int32, types.int32)
    return types.int64(points, bias, centre, *numbers), code


@intrinsic
def near_boxes(typingctx, low, high, tops, centre, out, index, pairs, weight, threshold):
    """Squared distances of sixteen boxes to a centre, less ``weight`` eighths of their tops.

    Writes what comes out, and gives a bit for each box that has points and is within the threshold.
    """

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "low", "high", "tops", "centre", "out")
        index, pairs, weight, limit = args[5:]

        def term(offset, centre):
            low = vector(builder, at["low"], offset, SHORT, 2 * LANES)
            high = vector(builder, at["high"], offset, SHORT, 2 * LANES)
            outside = larger(builder, builder.sub(low, centre), builder.sub(centre, high))
            outside = larger(builder, outside, ir.Constant(outside.type, [0] * 2 * LANES))
            return multiplied(builder, outside, outside)

        begin = builder.mul(builder.mul(index, pairs), LONG(2 * LANES))
        tops = vector(builder, at["tops"], builder.mul(index, LONG(LANES)), WORD, LANES)
        bias = builder.mul(tops, spread(builder, builder.neg(weight), LANES))
        bias = builder.ashr(bias, constants([3] * LANES))
        values = summed(builder, at["centre"], begin, pairs, bias, term)
        builder.store(values, builder.bitcast(at["out"], values.type.as_pointer()), align=4)
        within = builder.icmp_signed("<=", values, spread(builder, limit, LANES))
        full = builder.icmp_signed(">=", tops, constants([0] * LANES))
        return bits(builder, builder.and_(within, full))

    numbers = (types.intp, types.intp, types.int32, types.int32)
    return types.int64(low, high, tops, centre, out, *numbers), code


def folded(builder, values, left, pick):
    """Pick between the halves of a vector, and again, until so many lanes are left."""
    while values.type.count > left:
        half = values.type.count // 2
        empty = ir.Constant(values.type, ir.Undefined)
        values = pick(
            builder,
            builder.shuffle_vector(values, empty, constants(range(half))),
            builder.shuffle_vector(values, empty, constants(range(half, 2 * half))),
        )
    return values


def chosen(builder, mask, width):
    """Give a vector of truths from the bits of a number."""
    return builder.bitcast(
        builder.trunc(mask, ir.IntType(width)), ir.VectorType(ir.IntType(1), width)
    )


def drawing(width):
    """Make a function that draws the sides of a box around ``width`` points or boxes."""
    twice = ir.VectorType(SHORT, 2 * width)

    @intrinsic
    def draw(typingctx, lows, highs, low, high, mask, begin, to):
        """Draw the sides of a box in a pair of columns, around those whose bit is set."""

        def code(context, builder, signature, args):
            at = pointers(context, builder, signature, args, "lows", "highs", "low", "high")
            mask, begin, to = args[4:]
            # One truth for a point is two for its two columns.
            both = builder.sext(chosen(builder, mask, width), ir.VectorType(WORD, width))
            both = builder.icmp_signed(
                "!=", builder.bitcast(both, twice), ir.Constant(twice, [0] * 2 * width)
            )
            for source, goal, pick, rest in (
                ("lows", "low", smaller, 32767), ("highs", "high", larger, -32768)
            ):  # fmt: skip
                values = vector(builder, at[source], begin, SHORT, 2 * width)
                values = builder.select(both, values, ir.Constant(twice, [rest] * 2 * width))
                values = folded(builder, values, 2, pick)
                place = builder.bitcast(builder.gep(at[goal], [to]), values.type.as_pointer())
                builder.store(values, place, align=2)
            return context.get_dummy_value()

        numbers = (types.int64, types.intp, types.intp)
        return types.none(lows, highs, low, high, *numbers), code

    return draw


def topping(width):
    """Make a function that gives the largest of ``width`` numbers."""

    @intrinsic
    def top(typingctx, numbers, mask, index):
        """Give the largest of a row of numbers whose bit is set; -1 where there are none."""

        def code(context, builder, signature, args):
            at = pointers(context, builder, signature, args, "numbers")
            values = vector(builder, at["numbers"], builder.mul(args[2], LONG(width)), WORD, width)
            values = builder.select(
                chosen(builder, args[1], width), values, constants([-1] * width)
            )
            return builder.extract_element(folded(builder, values, 1, larger), WORD(0))

        return types.int32(numbers, types.int64, types.intp), code

    return top


draw_leaf, draw_group = drawing(POINTS), drawing(LANES)
top_of_leaf, top_of_group = topping(POINTS), topping(LANES)


@intrinsic
def filled(typingctx, tops, group):
    """Give a bit for each child of a group that has points."""

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "tops")
        tops = vector(builder, at["tops"], builder.mul(args[1], LONG(LANES)), WORD, LANES)
        return bits(builder, builder.icmp_signed(">=", tops, constants([0] * LANES)))

    return types.int64(tops, types.intp), code


@intrinsic
def first_bit(typingctx, mask):
    """Give the number of the lowest bit that is set."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), True))

    return types.int64(types.int64), code


def larger(builder, a, b):
    """Give the larger of two vectors, lane by lane."""
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def smaller(builder, a, b):
    """Give the smaller of two vectors, lane by lane."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)
