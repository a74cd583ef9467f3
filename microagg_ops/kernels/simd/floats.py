"""Vectors of four floats: distances, changes of SSE, and prefetching.

Arrays are (rows, columns), columns padded with zeros to a multiple of four, float64, or float32
where memory bandwidth is the limit; results are float64 unless said otherwise. Written as LLVM
vectors, because without fast-math the compiler must not reorder a sum. Here the order is fixed:
four partial sums, then (first + second) + (third + fourth).
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from microagg_ops.kernels.simd.integers import LONG, WORD, splat

LANES = 4
# Clusters that ``in_reach`` compares at once.
BLOCK = 64
# Rows above which prefetching pays: fewer fit into the cache.
LARGE = 10_000
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)


def row_loader(context, builder, kind, value, index):
    """Return a function that loads four columns of a row as float64, and the number of columns."""
    array = context.make_array(kind)(context, builder, value)
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    begin = builder.gep(array.data, [builder.mul(index, columns)])

    short = kind.dtype == types.float32
    loaded = ir.VectorType(ir.FloatType(), LANES) if short else VECTOR

    def load(column):
        at = builder.bitcast(builder.gep(begin, [column]), loaded.as_pointer())
        value = builder.load(at, align=4 if short else 8)
        return builder.fpext(value, VECTOR) if short else value

    return load, columns


def sum_columns(builder, columns, term, kind=VECTOR):
    """Sum a term of each four columns, in the fixed order."""
    sums = cgutils.alloca_once_value(builder, ir.Constant(kind, [0.0] * LANES))
    with cgutils.for_range_slice(builder, LONG(0), columns, LONG(LANES)) as (column, _):
        builder.store(builder.fadd(builder.load(sums), term(column)), sums)
    total = builder.load(sums)
    a, b, c, d = (builder.extract_element(total, WORD(lane)) for lane in range(LANES))
    return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))


@intrinsic
def to_centroid(typingctx, points, row, sums, cluster, share):
    """Return the squared distance of ``points[row]`` to ``share * sums[cluster]``."""

    def code(context, builder, signature, args):
        kinds = signature.args
        point, columns = row_loader(context, builder, kinds[0], args[0], args[1])
        total, _ = row_loader(context, builder, kinds[2], args[2], args[3])
        share = splat(builder, args[4], LANES)

        def term(column):
            off = builder.fsub(point(column), builder.fmul(total(column), share))
            return builder.fmul(off, off)

        return sum_columns(builder, columns, term)

    return types.float64(points, types.intp, sums, types.intp, types.float64), code


@intrinsic
def add_row(typingctx, sums, cluster, points, row):
    """Add ``points[row]`` to ``sums[cluster]``, float64."""

    def code(context, builder, signature, args):
        kinds = signature.args
        point, columns = row_loader(context, builder, kinds[2], args[2], args[3])
        total, _ = row_loader(context, builder, kinds[0], args[0], args[1])
        data = context.make_array(kinds[0])(context, builder, args[0]).data
        begin = builder.gep(data, [builder.mul(args[1], columns)])
        with cgutils.for_range_slice(builder, LONG(0), columns, LONG(LANES)) as (column, _):
            at = builder.bitcast(builder.gep(begin, [column]), VECTOR.as_pointer())
            builder.store(builder.fadd(total(column), point(column)), at, align=8)
        return context.get_dummy_value()

    return types.void(sums, types.intp, points, types.intp), code


@intrinsic
def squared_distance(typingctx, points, a, b):
    """Return the squared distance of two rows."""

    def code(context, builder, signature, args):
        first, columns = row_loader(context, builder, signature.args[0], args[0], args[1])
        second, _ = row_loader(context, builder, signature.args[0], args[0], args[2])

        def term(column):
            off = builder.fsub(first(column), second(column))
            return builder.fmul(off, off)

        return sum_columns(builder, columns, term)

    return types.float64(points, types.intp, types.intp), code


@intrinsic
def dot_along_line(typingctx, points, row, centres, cluster, a, b):
    """Return the dot product of row - centres[cluster] and centres[b] - centres[a]."""

    def code(context, builder, signature, args):
        kinds = signature.args
        point, columns = row_loader(context, builder, kinds[0], args[0], args[1])
        own, one, other = (
            row_loader(context, builder, kinds[2], args[2], index)[0] for index in args[3:]
        )

        def term(column):
            off = builder.fsub(point(column), own(column))
            return builder.fmul(off, builder.fsub(other(column), one(column)))

        return sum_columns(builder, columns, term)

    whole = types.intp
    return types.float64(points, whole, centres, whole, whole, whole), code


@intrinsic
def change_of_swap(typingctx, points, row, other, sums, here, there, share_here, share_there):
    """Return the change of SSE by a swap of two rows; shares are reciprocal cluster sizes."""

    def code(context, builder, signature, args):
        kinds = signature.args
        one, columns = row_loader(context, builder, kinds[0], args[0], args[1])
        other, _ = row_loader(context, builder, kinds[0], args[0], args[2])
        sum_here, _ = row_loader(context, builder, kinds[3], args[3], args[4])
        sum_there, _ = row_loader(context, builder, kinds[3], args[3], args[5])
        share_here, share_there = (splat(builder, share, LANES) for share in args[6:])
        both = builder.fadd(share_here, share_there)

        def term(column):
            off = builder.fsub(other(column), one(column))
            gap = builder.fsub(
                builder.fmul(sum_there(column), share_there),
                builder.fmul(sum_here(column), share_here),
            )
            gap = builder.fsub(builder.fadd(gap, gap), builder.fmul(off, both))
            return builder.fmul(off, gap)

        return sum_columns(builder, columns, term)

    whole, real = types.intp, types.float64
    return real(points, whole, whole, sums, whole, whole, real, real), code


@intrinsic
def change_of_swap_along(typingctx, points, row, other, gap, both):
    """Return the change of SSE by a swap of two rows, in the precision of ``points``.

    ``gap`` (columns,) is twice the difference of the centroids, the other less the first; ``both``
    the sum of the reciprocal cluster sizes.
    """
    if gap.dtype != points.dtype:
        raise TypingError("gap must have numbers like those of the points")

    def code(context, builder, signature, args):
        data, gaps = (
            context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 3)
        )
        columns = cgutils.unpack_tuple(builder, data.shape)[1]
        kind = ir.VectorType(args[4].type, LANES)

        def load(begin, column):
            at = builder.bitcast(builder.gep(begin, [column]), kind.as_pointer())
            return builder.load(at, align=4)

        one, two = (builder.gep(data.data, [builder.mul(row, columns)]) for row in args[1:3])
        both = splat(builder, args[4], LANES)

        def term(column):
            off = builder.fsub(load(two, column), load(one, column))
            return builder.fmul(off, builder.fsub(load(gaps.data, column), builder.fmul(off, both)))

        return sum_columns(builder, columns, term, kind)

    return points.dtype(points, types.intp, types.intp, gap, points.dtype), code


@intrinsic
def in_reach(typingctx, marks, place, start):
    """Return a mask of the clusters of a block that may interact with the one at ``place``.

    ``marks`` is (3, clusters) float64: norm, coordinate along the diagonal, and reach. Centroids
    are no nearer to each other than either of the first two differs.
    """

    def code(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        columns = cgutils.unpack_tuple(builder, array.shape)[1]
        many = ir.VectorType(DOUBLE, BLOCK)
        own, block = [], []
        for row in range(3):
            begin = builder.gep(array.data, [builder.mul(LONG(row), columns)])
            own.append(splat(builder, builder.load(builder.gep(begin, [args[1]])), BLOCK))
            at = builder.bitcast(builder.gep(begin, [args[2]]), many.as_pointer())
            block.append(builder.load(at, align=8))
        reach = builder.fadd(own[2], block[2])
        near = ir.Constant(ir.VectorType(ir.IntType(1), BLOCK), [True] * BLOCK)
        for row in range(2):
            for a, b in ((own[row], block[row]), (block[row], own[row])):
                within = builder.fcmp_ordered("<=", builder.fsub(a, b), reach)
                near = builder.and_(near, within)
        return builder.bitcast(near, LONG)

    return types.int64(marks, types.intp, types.intp), code


@intrinsic
def prefetch(typingctx, array, row):
    """Prefetch an element, or the first sixteen columns of a row, for reading."""

    def code(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0])
        shape = cgutils.unpack_tuple(builder, data.shape)
        columns = shape[1] if len(shape) == 2 else LONG(1)
        byte = ir.IntType(8).as_pointer()
        at = builder.bitcast(builder.gep(data.data, [builder.mul(args[1], columns)]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, WORD, WORD, WORD])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        length = 2 * signature.args[0].dtype.bitwidth if len(shape) == 2 else 1
        for offset in range(0, length, 64):
            line = builder.gep(at, [LONG(offset)])
            builder.call(function, [line, WORD(0), WORD(3), WORD(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), code
