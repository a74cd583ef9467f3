"""Numbers that several threads read and write: in order, and each change by one of them alone."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD = ir.IntType(32)


def address(context, builder, signature, args):
    """Give the address of an element of the array that is the first argument."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.gep(data, [args[1]])


@intrinsic
def peek(typingctx, numbers, index):
    """Read a number; what its writer wrote before it is seen from now on."""

    def code(context, builder, signature, args):
        return builder.load_atomic(address(context, builder, signature, args), "acquire", 4)

    return types.int32(numbers, types.intp), code


@intrinsic
def post(typingctx, numbers, index, value):
    """Write a number; who reads it sees all that was written before."""

    def code(context, builder, signature, args):
        builder.store_atomic(args[2], address(context, builder, signature, args), "release", 4)
        return context.get_dummy_value()

    return types.void(numbers, types.intp, types.int32), code


@intrinsic
def claim(typingctx, numbers, index, before, after):
    """Change a number from one value to another; give whether this thread did it."""

    def code(context, builder, signature, args):
        at = address(context, builder, signature, args)
        done = builder.cmpxchg(at, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(done, 1)

    return types.boolean(numbers, types.intp, types.int32, types.int32), code


@intrinsic
def linger(typingctx):
    """Let a moment pass."""

    def code(context, builder, signature, args):
        if "x86" in context.codegen().magic_tuple()[0]:
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), code
