/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/tfrun.h: all of libtfrun. The readers of libtfrun-nn have their own: tfrun/onnx.h, npy.h.
 */
#ifndef TFRUN_TFRUN_H
#define TFRUN_TFRUN_H

#include <tfrun/device.h>
#include <tfrun/dlpack.h>
#include <tfrun/dtype.h>
#include <tfrun/env.h>
#include <tfrun/graph.h>
#include <tfrun/native.h>
#include <tfrun/op.h>
#include <tfrun/optimize.h>
#include <tfrun/runtime.h>
#include <tfrun/session.h>
#include <tfrun/shape.h>
#include <tfrun/slot.h>
#include <tfrun/status.h>
#include <tfrun/tensor.h>
#include <tfrun/trace.h>

#endif
