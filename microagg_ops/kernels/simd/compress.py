"""Stream compaction: write the lanes that pass a test one after the other, without branches."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from microagg_ops.kernels.simd.integers import (
    BYTE,
    LANES,
    LONG,
    POINTS,
    SHORT,
    WORD,
    bitmask,
    constants,
    data_pointers,
    dot_bytes,
    lane_mask,
    load_vector,
    splat,
)

# Quadruples of columns for which the weights of a query stay in registers.
UNROLLED = 4


def compress_store(builder, values, truths, to, at):
    """Emit a compressing store of the true lanes; the places behind them are overwritten too."""
    call = ir.FunctionType(values.type, [values.type, truths.type, values.type])
    name = f"llvm.experimental.vector.compress.v{LANES}i32"
    function = cgutils.get_or_insert_function(builder.module, call, name)
    values = builder.call(function, [values, truths, ir.Constant(values.type, ir.Undefined)])
    builder.store(values, builder.bitcast(builder.gep(to, [at]), values.type.as_pointer()), align=4)


def emit_append(builder, to, size, mask, first):
    """Emit code that appends ``first`` plus the index of each set bit; return the new size."""
    lanes = splat(builder, builder.trunc(first, WORD), LANES)
    lanes = builder.add(lanes, constants(range(LANES)))
    compress_store(builder, lanes, lane_mask(builder, mask, LANES), to, size)
    return builder.add(size, builder.ctpop(mask))


@intrinsic
def partition_keys(typingctx, keys, order, index, low, spare, others, high, limit):
    """Partition sixteen keys at a pivot: those below to ``low``, the others to ``spare[high:]``.

    ``order`` and ``others``, int32 like ``keys`` and ``spare``, move with them. Return the number
    of keys below. Sixteen places are overwritten in either case.
    """

    def code(context, builder, signature, args):
        names = {"keys": 0, "order": 1, "spare": 4, "others": 5}
        at = {
            name: context.make_array(signature.args[i])(context, builder, args[i]).data
            for name, i in names.items()
        }
        index, low, high, limit = (args[i] for i in (2, 3, 6, 7))
        keys, order = (load_vector(builder, at[n], index, WORD, LANES) for n in ("keys", "order"))
        below = builder.icmp_signed("<", keys, splat(builder, limit, LANES))
        above = builder.not_(below)
        compress_store(builder, keys, above, at["spare"], high)
        compress_store(builder, order, above, at["others"], high)
        compress_store(builder, keys, below, at["keys"], low)
        compress_store(builder, order, below, at["order"], low)
        return builder.ctpop(bitmask(builder, below))

    places = (types.intp, types.intp)
    return types.intp(keys, order, *places, spare, others, types.intp, types.int32), code


@intrinsic
def append_set_bits(typingctx, numbers, size, mask, first):
    """Append ``first`` plus the index of each set bit of ``mask`` to ``numbers[:size]``, int32.

    Return the new size. Sixteen places behind the old one are overwritten.
    """

    def code(context, builder, signature, args):
        at = data_pointers(context, builder, signature, args, "numbers")
        return emit_append(builder, at["numbers"], *args[1:])

    return types.intp(numbers, types.intp, types.int64, types.intp), code


class LeafScan:
    """Emits code that scans the points of leaves on the coarse grid."""

    def __init__(self, context, builder, signature, args):
        names = ("points", "bias", "alive", "weights", "leaves", "hits")
        self.at = data_pointers(context, builder, signature, args, *names)
        self.context, self.builder = context, builder
        self.many, self.quads, flip, limit = args[6:]
        self.flip, self.limit = (splat(builder, value, POINTS) for value in (flip, limit))
        self.count = cgutils.alloca_once_value(builder, LONG(0))
        self.halves = [
            cgutils.alloca_once(builder, ir.VectorType(WORD, LANES)) for _ in range(POINTS // LANES)
        ]

    def weights(self, quad):
        """Return the weights of four columns, repeated in sixteen lanes."""
        builder = self.builder
        four = builder.gep(self.at["weights"], [builder.mul(quad, LONG(4))])
        four = builder.load(builder.bitcast(four, WORD.as_pointer()), align=1)
        return builder.bitcast(splat(builder, four, LANES), ir.VectorType(BYTE, 4 * LANES))

    def begin(self, first):
        """Start the sums of the points of a leaf from their bias."""
        builder = self.builder
        for half, sums in enumerate(self.halves):
            offset = builder.add(first, LONG(LANES * half))
            bias = load_vector(builder, self.at["bias"], offset, SHORT, LANES)
            builder.store(builder.sext(bias, ir.VectorType(WORD, LANES)), sums)

    def add(self, leaf, quad, weights):
        """Add the dot products of four columns."""
        builder = self.builder
        block = builder.add(builder.mul(leaf, self.quads), quad)
        for half, sums in enumerate(self.halves):
            here = builder.add(builder.mul(block, LONG(4 * POINTS)), LONG(4 * LANES * half))
            points = load_vector(builder, self.at["points"], here, BYTE, 4 * LANES)
            total = dot_bytes(self.context, builder, builder.load(sums), points, weights)
            builder.store(total, sums)

    def finish(self, leaf, first):
        """Append the places of the points within the limit."""
        builder = self.builder
        sums = (builder.load(sums) for sums in self.halves)
        values = builder.xor(builder.shuffle_vector(*sums, constants(range(POINTS))), self.flip)
        found = bitmask(builder, builder.icmp_signed("<=", values, self.limit))
        found = builder.and_(found, builder.load(builder.gep(self.at["alive"], [leaf])))
        with builder.if_then(builder.icmp_unsigned("!=", found, LONG(0)), likely=False):
            for half in range(0, POINTS, LANES):
                part = builder.and_(builder.lshr(found, LONG(half)), LONG(2**LANES - 1))
                place, size = builder.add(first, LONG(half)), builder.load(self.count)
                builder.store(emit_append(builder, self.at["hits"], size, part, place), self.count)

    def scan(self, known):
        """Scan all leaves; ``known`` are the weights, where they fit into registers."""
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
def scan_leaves(typingctx, points, bias, alive, weights, leaves, hits, many, quads, flip, limit):
    """Write the places of the points whose value is within the limit; return their number.

    The value of a point is its bias plus the dot product of its bytes with the weights, XOR
    ``flip``: 0, or -1 where the largest are sought.

    Parameters
    ----------
    points : (leaves, quads, POINTS, 4) uint8
    bias : (leaves, POINTS) int16
    alive : (leaves,) int64
        A mask of the points to consider.
    weights : (quads, 4) int8
    leaves : (many or more,) int32
        The leaves to scan.
    hits : int32
        Where places are written; sixteen behind the last may be overwritten too.
    """

    def code(context, builder, signature, args):
        writer = LeafScan(context, builder, signature, args)
        after, general = (builder.append_basic_block(name) for name in ("after", "general"))
        cases = builder.switch(writer.quads, general)
        for few in range(1, UNROLLED + 1):
            case = builder.append_basic_block(f"fours{few}")
            cases.add_case(LONG(few), case)
            builder.position_at_end(case)
            writer.scan([writer.weights(LONG(quad)) for quad in range(few)])
            builder.branch(after)
        builder.position_at_end(general)
        writer.scan([])
        builder.branch(after)
        builder.position_at_end(after)
        return builder.load(writer.count)

    arrays = (points, bias, alive, weights, leaves, hits)
    return types.intp(*arrays, types.intp, types.intp, types.int32, types.int32), code
