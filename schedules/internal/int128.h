// 128-bit integers, for products of extents that may not fit 64 bits. GCC and clang have them as an
// extension.
#pragma once

namespace kindred {

__extension__ typedef __int128 Int128;

}  // namespace kindred
