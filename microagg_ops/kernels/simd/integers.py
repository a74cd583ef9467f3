"""Vectors of 8-bit and 16-bit integers: distances to points and boxes, masks, fits of boxes.

Written as LLVM vectors, because the compiler keeps the sums of a loop this short in memory. They
are exact, whatever instructions a processor has.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# Children of a group, points of a leaf, and the columns of a point that are loaded at once.
LANES, POINTS, COLUMNS = 16, 32, 16
BYTE, SHORT, WORD, LONG = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def constants(numbers):
    """Return a vector of int32 constants."""
    numbers = list(numbers)
    return ir.Constant(ir.VectorType(WORD, len(numbers)), numbers)


def splat(builder, value, width):
    """Broadcast a value to all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(empty, value, WORD(0)), empty, constants([0] * width)
    )


def load_vector(builder, data, offset, kind, width):
    """Load ``width`` elements from an array; only the alignment of an element is assumed."""
    at = builder.bitcast(builder.gep(data, [offset]), ir.VectorType(kind, width).as_pointer())
    return builder.load(at, align=kind.width // 8)


def multiply_add_pairs(builder, a, b):
    """Multiply int16 lanes and add neighbouring products, as pmaddwd does.

    The compiler recognizes this form as that instruction.
    """
    count = a.type.count
    wide = ir.VectorType(WORD, count)
    product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
    empty = ir.Constant(wide, ir.Undefined)
    even = builder.shuffle_vector(product, empty, constants(range(0, count, 2)))
    odd = builder.shuffle_vector(product, empty, constants(range(1, count, 2)))
    return builder.add(even, odd)


def data_pointers(context, builder, signature, args, *names):
    """Return the data pointers of the first arguments, which are arrays, by name."""
    return {
        name: context.make_array(signature.args[i])(context, builder, args[i]).data
        for i, name in enumerate(names)
    }


def sum_column_pairs(builder, centres, begin, pairs, bias, term):
    """Add a term of each pair of columns to the bias of each lane."""
    width = bias.type.count
    sums = cgutils.alloca_once_value(builder, bias)
    with cgutils.for_range_slice(builder, LONG(0), pairs, LONG(1)) as (pair, _):
        both = builder.gep(centres, [builder.mul(pair, LONG(2))])
        both = builder.load(builder.bitcast(both, WORD.as_pointer()), align=2)
        centre = builder.bitcast(splat(builder, both, width), ir.VectorType(SHORT, 2 * width))
        offset = builder.add(begin, builder.mul(pair, LONG(2 * width)))
        builder.store(builder.add(builder.load(sums), term(offset, centre)), sums)
    return builder.load(sums)


def bitmask(builder, lanes):
    """Return an int64 with a bit for each true lane."""
    return builder.zext(builder.bitcast(lanes, ir.IntType(lanes.type.count)), LONG)


def dot_bytes(context, builder, sums, points, weights):
    """Add dot products of four unsigned with four signed bytes to int32 lanes, as vpdpbusd does."""
    count = sums.type.count
    if "+avx512vnni" in context.codegen().magic_tuple()[2]:
        # The compiler does not recognize this one by what it computes.
        kind = ir.FunctionType(sums.type, [sums.type] * 3)
        name = "llvm.x86.avx512.vpdpbusd.512"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        fours = (builder.bitcast(bytes_, sums.type) for bytes_ in (points, weights))
        return builder.call(function, [sums, *fours])
    short = ir.VectorType(SHORT, 4 * count)
    twos = multiply_add_pairs(builder, builder.zext(points, short), builder.sext(weights, short))
    empty = ir.Constant(twos.type, ir.Undefined)
    for first in range(2):
        every = constants(range(first, 2 * count, 2))
        sums = builder.add(sums, builder.shuffle_vector(twos, empty, every))
    return sums


@intrinsic
def squared_distance(typingctx, points, point, index):
    """Return the squared distance of ``points[index]`` to ``point``, int16, as int32.

    Columns are padded with zeros to a multiple of sixteen.
    """

    def code(context, builder, signature, args):
        at = data_pointers(context, builder, signature, args, "points", "point")
        columns = columns_of(context, builder, signature, args)
        begin = builder.mul(args[2], columns)
        sums = cgutils.alloca_once_value(builder, constants([0] * (COLUMNS // 2)))
        with cgutils.for_range_slice(builder, LONG(0), columns, LONG(COLUMNS)) as (column, _):
            one = load_vector(builder, at["points"], builder.add(begin, column), SHORT, COLUMNS)
            off = builder.sub(one, load_vector(builder, at["point"], column, SHORT, COLUMNS))
            builder.store(
                builder.add(builder.load(sums), multiply_add_pairs(builder, off, off)), sums
            )
        total = reduce_lanes(builder, builder.load(sums), 1, type(builder).add)
        return builder.extract_element(total, WORD(0))

    return types.int32(points, point, types.intp), code


def columns_of(context, builder, signature, args):
    """Return the length of the second dimension of the first argument."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.unpack_tuple(builder, array.shape)[1]


@intrinsic
def box_distances(typingctx, low, high, tops, centre, out, index, pairs, weight, threshold):
    """Write lower bounds of the sixteen boxes of a group; return a mask of those within reach.

    The bound is the squared distance of the centre to the box, less ``weight`` eighths of the
    largest norm in it, ``tops``; in reach is what is not above the threshold. A box without points,
    whose top is -1, never is.

    Parameters
    ----------
    low, high : (groups, columns / 2, LANES, 2) int16
    tops : (groups, LANES) int32
    centre : (pairs, 2) int16
    out : (LANES,) int32
    """

    def code(context, builder, signature, args):
        at = data_pointers(
            context, builder, signature, args, "low", "high", "tops", "centre", "out"
        )
        index, pairs, weight, limit = args[5:]

        def term(offset, centre):
            low = load_vector(builder, at["low"], offset, SHORT, 2 * LANES)
            high = load_vector(builder, at["high"], offset, SHORT, 2 * LANES)
            outside = maximum(builder, builder.sub(low, centre), builder.sub(centre, high))
            outside = maximum(builder, outside, ir.Constant(outside.type, [0] * 2 * LANES))
            return multiply_add_pairs(builder, outside, outside)

        stride = columns_of(context, builder, signature, args)
        begin = builder.mul(builder.mul(index, stride), LONG(2 * LANES))
        tops = load_vector(builder, at["tops"], builder.mul(index, LONG(LANES)), WORD, LANES)
        bias = builder.mul(tops, splat(builder, builder.neg(weight), LANES))
        bias = builder.ashr(bias, constants([3] * LANES))
        values = sum_column_pairs(builder, at["centre"], begin, pairs, bias, term)
        builder.store(values, builder.bitcast(at["out"], values.type.as_pointer()), align=4)
        within = builder.icmp_signed("<=", values, splat(builder, limit, LANES))
        full = builder.icmp_signed(">=", tops, constants([0] * LANES))
        return bitmask(builder, builder.and_(within, full))

    numbers = (types.intp, types.intp, types.int32, types.int32)
    return types.int64(low, high, tops, centre, out, *numbers), code


def reduce_lanes(builder, values, left, pick):
    """Reduce a vector by combining its halves until ``left`` lanes remain."""
    while values.type.count > left:
        half = values.type.count // 2
        empty = ir.Constant(values.type, ir.Undefined)
        values = pick(
            builder,
            builder.shuffle_vector(values, empty, constants(range(half))),
            builder.shuffle_vector(values, empty, constants(range(half, 2 * half))),
        )
    return values


def lane_mask(builder, mask, width):
    """Return a vector of booleans from the bits of an integer."""
    return builder.bitcast(
        builder.trunc(mask, ir.IntType(width)), ir.VectorType(ir.IntType(1), width)
    )


@intrinsic
def fit_leaf_box(typingctx, points, low, high, mask, leaf):
    """Fit the box of a leaf to the points in ``mask``; write it as a child of its group."""

    def code(context, builder, signature, args):
        at = data_pointers(context, builder, signature, args, "points", "low", "high")
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
                for name, pick, rest in (("low", minimum, 32767), ("high", maximum, -32768))
            ]
            drawn = [rest for _, _, rest in sides]
            for slot in range(POINTS):
                offset = builder.add(builder.add(first, column), builder.mul(columns, LONG(slot)))
                values = load_vector(builder, at["points"], offset, SHORT, COLUMNS)
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
def fit_group_box(typingctx, low, high, mask, begin, to):
    """Fit two columns of a box to the children in ``mask``, from offset ``begin`` to ``to``."""

    def code(context, builder, signature, args):
        at = data_pointers(context, builder, signature, args, "low", "high")
        mask, begin, to = args[2:]
        twice = ir.VectorType(SHORT, 2 * LANES)
        # A child has two lanes, one for each column.
        both = builder.sext(lane_mask(builder, mask, LANES), ir.VectorType(WORD, LANES))
        both = builder.icmp_signed(
            "!=", builder.bitcast(both, twice), ir.Constant(twice, [0] * 2 * LANES)
        )
        for name, pick, rest in (("low", minimum, 32767), ("high", maximum, -32768)):
            values = load_vector(builder, at[name], begin, SHORT, 2 * LANES)
            values = builder.select(both, values, ir.Constant(twice, [rest] * 2 * LANES))
            values = reduce_lanes(builder, values, 2, pick)
            place = builder.bitcast(builder.gep(at[name], [to]), values.type.as_pointer())
            builder.store(values, place, align=2)
        return context.get_dummy_value()

    return types.void(low, high, types.int64, types.intp, types.intp), code


def largest_of(width):
    """Make an intrinsic that returns the largest of ``width`` int32s."""

    @intrinsic
    def top(typingctx, numbers, mask, index):
        """Return the largest of ``numbers[index]`` in the lanes of a mask; -1 where it is 0."""

        def code(context, builder, signature, args):
            at = data_pointers(context, builder, signature, args, "numbers")
            values = load_vector(
                builder, at["numbers"], builder.mul(args[2], LONG(width)), WORD, width
            )
            values = builder.select(
                lane_mask(builder, args[1], width), values, constants([-1] * width)
            )
            return builder.extract_element(reduce_lanes(builder, values, 1, maximum), WORD(0))

        return types.int32(numbers, types.int64, types.intp), code

    return top


largest_in_leaf, largest_in_group = largest_of(POINTS), largest_of(LANES)


@intrinsic
def nonempty_children(typingctx, tops, group):
    """Return a mask of the children of a group that have points."""

    def code(context, builder, signature, args):
        at = data_pointers(context, builder, signature, args, "tops")
        tops = load_vector(builder, at["tops"], builder.mul(args[1], LONG(LANES)), WORD, LANES)
        return bitmask(builder, builder.icmp_signed(">=", tops, constants([0] * LANES)))

    return types.int64(tops, types.intp), code


@intrinsic
def lowest_bit(typingctx, mask):
    """Return the index of the lowest set bit; undefined for 0."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), True))

    return types.int64(types.int64), code


def maximum(builder, a, b):
    """Return the elementwise maximum."""
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def minimum(builder, a, b):
    """Return the elementwise minimum."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)
