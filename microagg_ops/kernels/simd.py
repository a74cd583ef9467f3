"""Many lanes at a time: distances to points and to boxes, in whole numbers of 8 and 16 bits.

Written as vectors of LLVM, because a loop over so few lanes keeps its sums in memory. Whole
numbers are exact, whatever instructions a processor has for them.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# Boxes that are compared at once, points, and columns of one point.
LANES, POINTS, COLUMNS = 16, 32, 16
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


def added(context, builder, sums, points, weights):
    """Add to each of sixteen sums the products of four unsigned bytes with four signed ones."""
    count = sums.type.count
    if "+avx512vnni" in context.codegen().magic_tuple()[2]:
        # One instruction; the compiler does not know it by what it computes.
        kind = ir.FunctionType(sums.type, [sums.type] * 3)
        name = "llvm.x86.avx512.vpdpbusd.512"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        fours = (builder.bitcast(bytes_, sums.type) for bytes_ in (points, weights))
        return builder.call(function, [sums, *fours])
    short = ir.VectorType(SHORT, 4 * count)
    twos = multiplied(builder, builder.zext(points, short), builder.sext(weights, short))
    empty = ir.Constant(twos.type, ir.Undefined)
    for first in range(2):
        every = constants(range(first, 2 * count, 2))
        sums = builder.add(sums, builder.shuffle_vector(twos, empty, every))
    return sums


@intrinsic
def squared(typingctx, points, point, index):
    """Squared distance of one of the points to another, which stands alone; columns by sixteens."""

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "points", "point")
        columns = columns_of(context, builder, signature, args)
        begin = builder.mul(args[2], columns)
        sums = cgutils.alloca_once_value(builder, constants([0] * (COLUMNS // 2)))
        with cgutils.for_range_slice(builder, LONG(0), columns, LONG(COLUMNS)) as (column, _):
            one = vector(builder, at["points"], builder.add(begin, column), SHORT, COLUMNS)
            off = builder.sub(one, vector(builder, at["point"], column, SHORT, COLUMNS))
            builder.store(builder.add(builder.load(sums), multiplied(builder, off, off)), sums)
        total = folded(builder, builder.load(sums), 1, type(builder).add)
        return builder.extract_element(total, WORD(0))

    return types.int32(points, point, types.intp), code


def columns_of(context, builder, signature, args):
    """Give the number of columns of the first argument, an array of two dimensions."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.unpack_tuple(builder, array.shape)[1]


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

        stride = columns_of(context, builder, signature, args)
        begin = builder.mul(builder.mul(index, stride), LONG(2 * LANES))
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


@intrinsic
def draw_leaf(typingctx, points, low, high, mask, leaf):
    """Draw the box around the points of a leaf whose bit is set."""

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "points", "low", "high")
        mask, leaf = args[3:]
        columns = columns_of(context, builder, signature, args)
        first = builder.mul(builder.mul(leaf, LONG(POINTS)), columns)
        group, child = builder.udiv(leaf, LONG(LANES)), builder.urem(leaf, LONG(LANES))
        to = builder.add(
            builder.mul(builder.mul(group, columns), LONG(LANES)), builder.mul(child, LONG(2))
        )
        row = ir.VectorType(SHORT, COLUMNS)
        with cgutils.for_range_slice(builder, LONG(0), columns, LONG(COLUMNS)) as (column, _):
            sides = [
                (name, pick, ir.Constant(row, [rest] * COLUMNS))
                for name, pick, rest in (("low", smaller, 32767), ("high", larger, -32768))
            ]
            drawn = [rest for _, _, rest in sides]
            for slot in range(POINTS):
                offset = builder.add(builder.add(first, column), builder.mul(columns, LONG(slot)))
                values = vector(builder, at["points"], offset, SHORT, COLUMNS)
                there = builder.trunc(builder.lshr(mask, LONG(slot)), ir.IntType(1))
                drawn = [
                    pick(builder, side, builder.select(there, values, rest))
                    for side, (_, pick, rest) in zip(drawn, sides, strict=True)
                ]
            for side, (name, _, _) in zip(drawn, sides, strict=True):
                twos = builder.bitcast(side, ir.VectorType(WORD, COLUMNS // 2))
                for pair in range(COLUMNS // 2):
                    # A pair of columns of all children stands together.
                    offset = builder.add(builder.mul(column, LONG(LANES)), LONG(2 * LANES * pair))
                    place = builder.gep(at[name], [builder.add(to, offset)])
                    builder.store(
                        builder.extract_element(twos, WORD(pair)),
                        builder.bitcast(place, WORD.as_pointer()),
                        align=2,
                    )
        return context.get_dummy_value()

    return types.void(points, low, high, types.int64, types.intp), code


@intrinsic
def draw_group(typingctx, low, high, mask, begin, to):
    """Draw the sides of a box in a pair of columns, around the children whose bit is set."""

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "low", "high")
        mask, begin, to = args[2:]
        twice = ir.VectorType(SHORT, 2 * LANES)
        # One truth for a child is two for its two columns.
        both = builder.sext(chosen(builder, mask, LANES), ir.VectorType(WORD, LANES))
        both = builder.icmp_signed(
            "!=", builder.bitcast(both, twice), ir.Constant(twice, [0] * 2 * LANES)
        )
        for name, pick, rest in (("low", smaller, 32767), ("high", larger, -32768)):
            values = vector(builder, at[name], begin, SHORT, 2 * LANES)
            values = builder.select(both, values, ir.Constant(twice, [rest] * 2 * LANES))
            values = folded(builder, values, 2, pick)
            place = builder.bitcast(builder.gep(at[name], [to]), values.type.as_pointer())
            builder.store(values, place, align=2)
        return context.get_dummy_value()

    return types.void(low, high, types.int64, types.intp, types.intp), code


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
