/* SPDX-License-Identifier: Apache-2.0 */
/* vec_end.h: the end of what vec_avx2.h or vec_avx512.h began. */
#if defined(__clang__)
#pragma clang attribute pop
#endif
