"""Atomic access to int32 arrays that threads share."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD = ir.IntType(32)


def address(context, builder, signature, args):
    """Return the address of an element of the first argument, an array."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.gep(data, [args[1]])


@intrinsic
def load_acquire(typingctx, numbers, index):
    """Load with acquire order: what was written before the matching store is visible."""

    def code(context, builder, signature, args):
        return builder.load_atomic(address(context, builder, signature, args), "acquire", 4)

    return types.int32(numbers, types.intp), code


@intrinsic
def store_release(typingctx, numbers, index, value):
    """Store with release order: who loads it sees all that was written before."""

    def code(context, builder, signature, args):
        builder.store_atomic(args[2], address(context, builder, signature, args), "release", 4)
        return context.get_dummy_value()

    return types.void(numbers, types.intp, types.int32), code


@intrinsic
def compare_and_swap(typingctx, numbers, index, before, after):
    """Compare and swap; return whether this thread made the change."""

    def code(context, builder, signature, args):
        at = address(context, builder, signature, args)
        done = builder.cmpxchg(at, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(done, 1)

    return types.boolean(numbers, types.intp, types.int32, types.int32), code


@intrinsic
def spin_pause(typingctx):
    """Pause in a spin loop."""

    def code(context, builder, signature, args):
        if "x86" in context.codegen().magic_tuple()[0]:
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), code
