# SPDX-License-Identifier: Apache-2.0
# Arrays of NumPy become tensors and tensors become arrays, without a copy, where Python has a NumPy
# that speaks DLPack 1.x. The script calls libtfrun by ctypes, as a program in Python would.
. "$TFR_SRCDIR/tests/lib.sh"
python=${PYTHON:-python3}
[ -z "$TFR_SANITIZE" ] || skip_all "libtfrun with sanitizers cannot be loaded into Python"
"$python" -c 'import numpy; numpy.zeros(1).__dlpack__(max_version=(1, 0))' 2>/dev/null ||
    skip_all "$python has no NumPy from 2.1 on"

cat >"$tmp/exchange.py" <<'EOF2'
import ctypes
import gc
import sys

import numpy as np

lib = ctypes.CDLL(sys.argv[1])
api = ctypes.pythonapi
pointer, text = ctypes.c_void_p, ctypes.c_char_p
NEW, USED = b"dltensor_versioned", b"used_dltensor_versioned"
for function, result, arguments in (
    (api.PyCapsule_New, ctypes.py_object, [pointer, text, pointer]),
    (api.PyCapsule_GetPointer, pointer, [ctypes.py_object, text]),
    (api.PyCapsule_SetName, ctypes.c_int, [ctypes.py_object, text]),
    (lib.tfr_tensor_data, pointer, [pointer]),
    (lib.tfr_tensor_is_read_only, ctypes.c_bool, [pointer]),
    (lib.tfr_tensor_is_plain, ctypes.c_bool, [pointer]),
    (lib.tfr_tensor_release, None, [pointer]),
    (lib.tfr_tensor_elements, ctypes.c_int64, [pointer]),
):
    function.restype, function.argtypes = result, arguments


class Err(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("code", ctypes.c_int32),
                ("native", ctypes.c_int64), ("text", ctypes.c_char * 512)]


def call(function, *arguments):
    err, out = Err(), pointer()
    err.size = ctypes.sizeof(err)
    if function(*arguments, ctypes.byref(out), ctypes.byref(err)):
        raise RuntimeError(err.text.decode())
    return out


def tensor_of(array):
    """What a consumer does: takes the struct out of the capsule, which is then a used one."""
    capsule = array.__dlpack__(max_version=(1, 3))
    tensor = call(lib.tfr_tensor_from_dlpack, pointer(api.PyCapsule_GetPointer(capsule, NEW)))
    api.PyCapsule_SetName(capsule, USED)
    return tensor


class Producer:
    """What a producer does: gives out a capsule."""

    def __init__(self, tensor, flags=0):
        self.tensor, self.flags = tensor, flags

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        managed = call(lib.tfr_tensor_to_dlpack, self.tensor, ctypes.c_uint32(self.flags))
        return api.PyCapsule_New(managed, NEW, None)


def claim(good, words):
    global bad
    if not good:
        print("FAILED:", words)
        bad = 1


def references(array):
    gc.collect()
    return sys.getrefcount(array)


bad = 0


def there_and_back(array, words):
    before = references(array)
    tensor = tensor_of(array)
    claim(array.size == 0 or lib.tfr_tensor_data(tensor) == array.ctypes.data, words + ": no copy")
    claim(lib.tfr_tensor_elements(tensor) == array.size, words + ": elements")
    claim(lib.tfr_tensor_is_read_only(tensor) != array.flags.writeable, words + ": read-only")
    back = np.from_dlpack(Producer(tensor))
    lib.tfr_tensor_release(tensor)
    claim(references(array) > before, words + ": the way back keeps the array")
    claim(back.dtype == array.dtype and back.shape == array.shape, words + ": type and shape")
    claim(np.array_equal(back, array), words + ": values")
    claim(back.flags.writeable == array.flags.writeable, words + ": writeable")
    if array.size:
        claim(back.ctypes.data == array.ctypes.data, words + ": the same memory")
        claim(array.size == 1 or back.strides == array.strides, words + ": strides")
    if array.size and array.flags.writeable:
        back[...] = 1
        claim((array == 1).all(), words + ": what is written is seen")
    del back
    claim(references(array) == before, words + ": all references are given back")


types = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"
types += " float16 float32 float64 complex64 complex128"
for name in types.split():
    there_and_back(np.arange(24).reshape(2, 3, 4).astype(name), name)
base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
fixed = base.copy()
fixed.flags.writeable = False
for words, array in (
    ("a transposed array", base.copy().transpose(2, 0, 1)),
    ("an array backwards", base.copy()[:, ::-1, ::-2]),
    ("a part of an array", base.copy()[1:, 1:3, 2]),
    ("a broadcast array", np.broadcast_to(base[0, 0], (5, 4))),
    ("a read-only array", fixed),
    ("a scalar", np.array(3.5)),
    ("no elements", np.zeros((3, 0, 2), np.int16)),
    ("16 dims", np.zeros((1,) * 15 + (3,), np.int8)),
):
    there_and_back(array, words)

tensor = tensor_of(base)
copy = np.from_dlpack(Producer(tensor, 2))
claim(copy.ctypes.data != base.ctypes.data and np.array_equal(copy, base), "a copy is one")
read_only = np.from_dlpack(Producer(tensor, 1))
claim(not read_only.flags.writeable, "read-only on demand")
lib.tfr_tensor_release(tensor)

# Refused: the capsule still owns the struct, and its destructor gives it back.
wide = np.zeros((1,) * 17, np.float32)
before = references(wide)
try:
    tensor_of(wide)
    claim(False, "17 dims are refused")
except RuntimeError as error:
    claim("rank 17" in str(error), f"17 dims are refused with their number, not: {error}")
claim(references(wide) == before, "what is refused stays its producer's")
sys.exit(bad)
EOF2
exits 0 "arrays and tensors are exchanged without a copy, in both directions" \
    "$python" "$tmp/exchange.py" "$TFR_BUILDDIR/.libs/libtfrun.so"
[ ! -s "$tmp/out" ] || cat "$tmp/out"
finish
