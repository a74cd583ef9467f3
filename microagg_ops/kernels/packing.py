"""What passes a test, written one after the other: no branch has to guess which it will be."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from microagg_ops.kernels.simd import (
    BYTE,
    LANES,
    LONG,
    POINTS,
    SHORT,
    WORD,
    added,
    bits,
    chosen,
    constants,
    pointers,
    spread,
    vector,
)

# Fours of columns for which the weights of a search stay in registers.
UNROLLED = 4


def pressed(builder, values, truths, to, at):
    """Write the values that are true one after the other; all lanes behind are written too."""
    call = ir.FunctionType(values.type, [values.type, truths.type, values.type])
    name = f"llvm.experimental.vector.compress.v{LANES}i32"
    function = cgutils.get_or_insert_function(builder.module, call, name)
    values = builder.call(function, [values, truths, ir.Constant(values.type, ir.Undefined)])
    builder.store(values, builder.bitcast(builder.gep(to, [at]), values.type.as_pointer()), align=4)


def packed(builder, to, size, mask, first):
    """Write the numbers of the bits that are set, counted from ``first``; give the new size."""
    lanes = spread(builder, builder.trunc(first, WORD), LANES)
    lanes = builder.add(lanes, constants(range(LANES)))
    pressed(builder, lanes, chosen(builder, mask, LANES), to, size)
    return builder.add(size, builder.ctpop(mask))


@intrinsic
def sort_out(typingctx, keys, order, index, low, spare, others, high, limit):
    """Write sixteen keys below a limit, and what belongs to them, back to ``low``, others aside.

    Gives how many are below. Sixteen places are written in either case.
    """

    def code(context, builder, signature, args):
        names = {"keys": 0, "order": 1, "spare": 4, "others": 5}
        at = {
            name: context.make_array(signature.args[i])(context, builder, args[i]).data
            for name, i in names.items()
        }
        index, low, high, limit = (args[i] for i in (2, 3, 6, 7))
        keys, order = (vector(builder, at[n], index, WORD, LANES) for n in ("keys", "order"))
        below = builder.icmp_signed("<", keys, spread(builder, limit, LANES))
        above = builder.not_(below)
        pressed(builder, keys, above, at["spare"], high)
        pressed(builder, order, above, at["others"], high)
        pressed(builder, keys, below, at["keys"], low)
        pressed(builder, order, below, at["order"], low)
        return builder.ctpop(bits(builder, below))

    places = (types.intp, types.intp)
    return types.intp(keys, order, *places, spare, others, types.intp, types.int32), code


@intrinsic
def pack(typingctx, numbers, size, mask, first):
    """Write the numbers of the bits that are set, counted from ``first``; give the new size.

    All sixteen places behind the size are written.
    """

    def code(context, builder, signature, args):
        at = pointers(context, builder, signature, args, "numbers")
        return packed(builder, at["numbers"], *args[1:])

    return types.intp(numbers, types.intp, types.int64, types.intp), code


class Leaves:
    """Writes code that looks at the points of leaves."""

    def __init__(self, context, builder, signature, args):
        names = ("points", "bias", "alive", "weights", "leaves", "hits")
        self.at = pointers(context, builder, signature, args, *names)
        self.context, self.builder = context, builder
        self.many, self.quads, flip, limit = args[6:]
        self.flip, self.limit = (spread(builder, value, POINTS) for value in (flip, limit))
        self.count = cgutils.alloca_once_value(builder, LONG(0))
        self.halves = [
            cgutils.alloca_once(builder, ir.VectorType(WORD, LANES)) for _ in range(POINTS // LANES)
        ]

    def weights(self, quad):
        """Give sixteen times the weights of four columns."""
        builder = self.builder
        four = builder.gep(self.at["weights"], [builder.mul(quad, LONG(4))])
        four = builder.load(builder.bitcast(four, WORD.as_pointer()), align=1)
        return builder.bitcast(spread(builder, four, LANES), ir.VectorType(BYTE, 4 * LANES))

    def begin(self, first):
        """Begin the sums of a leaf's points with their bias."""
        builder = self.builder
        for half, sums in enumerate(self.halves):
            offset = builder.add(first, LONG(LANES * half))
            bias = vector(builder, self.at["bias"], offset, SHORT, LANES)
            builder.store(builder.sext(bias, ir.VectorType(WORD, LANES)), sums)

    def add(self, leaf, quad, weights):
        """Add what four columns contribute."""
        builder = self.builder
        block = builder.add(builder.mul(leaf, self.quads), quad)
        for half, sums in enumerate(self.halves):
            here = builder.add(builder.mul(block, LONG(4 * POINTS)), LONG(4 * LANES * half))
            points = vector(builder, self.at["points"], here, BYTE, 4 * LANES)
            total = added(self.context, builder, builder.load(sums), points, weights)
            builder.store(total, sums)

    def finish(self, leaf, first):
        """Write the places of the points that are within the limit, if any."""
        builder = self.builder
        sums = (builder.load(sums) for sums in self.halves)
        values = builder.xor(builder.shuffle_vector(*sums, constants(range(POINTS))), self.flip)
        found = bits(builder, builder.icmp_signed("<=", values, self.limit))
        found = builder.and_(found, builder.load(builder.gep(self.at["alive"], [leaf])))
        with builder.if_then(builder.icmp_unsigned("!=", found, LONG(0)), likely=False):
            for half in range(0, POINTS, LANES):
                part = builder.and_(builder.lshr(found, LONG(half)), LONG(2**LANES - 1))
                place, size = builder.add(first, LONG(half)), builder.load(self.count)
                builder.store(packed(builder, self.at["hits"], size, part, place), self.count)

    def look(self, known):
        """Look at all leaves; ``known`` are the weights, where they are few enough to be kept."""
        builder = self.builder
        with cgutils.for_range_slice(builder, LONG(0), self.many, LONG(1)) as (i, _):
            leaf = builder.zext(builder.load(builder.gep(self.at["leaves"], [i])), LONG)
            first = builder.mul(leaf, LONG(POINTS))
            self.begin(first)
            for quad, weights in enumerate(known):
                self.add(leaf, LONG(quad), weights)
            if not known:
                with cgutils.for_range_slice(builder, LONG(0), self.quads, LONG(1)) as (quad, _):
                    self.add(leaf, quad, self.weights(quad))
            self.finish(leaf, first)


@intrinsic
def near_points(typingctx, points, bias, alive, weights, leaves, hits, many, quads, flip, limit):
    """Write the places of points in leaves whose products with weights are within the limit.

    ``points`` is leaves by fours of columns by points by four, ``bias`` leaves by points: it is
    added to the products. ``flip`` is 0, or -1 where the largest are sought: then all bits are
    turned. Of the leaves the first so ``many`` count, and of their points those whose bit is set in
    ``alive``. Gives how many places were written; sixteen behind them may be written too.
    """

    def code(context, builder, signature, args):
        writer = Leaves(context, builder, signature, args)
        after, general = (builder.append_basic_block(name) for name in ("after", "general"))
        cases = builder.switch(writer.quads, general)
        for few in range(1, UNROLLED + 1):
            case = builder.append_basic_block(f"fours{few}")
            cases.add_case(LONG(few), case)
            builder.position_at_end(case)
            writer.look([writer.weights(LONG(quad)) for quad in range(few)])
            builder.branch(after)
        builder.position_at_end(general)
        writer.look([])
        builder.branch(after)
        builder.position_at_end(after)
        return builder.load(writer.count)

    arrays = (points, bias, alive, weights, leaves, hits)
    return types.intp(*arrays, types.intp, types.intp, types.int32, types.int32), code
