# SPDX-License-Identifier: Apache-2.0
# What tfrun doctor says of CUDA's libraries, which are stand-ins.
. "$TFR_SRCDIR/tests/lib.sh"

plugin=$TFR_BUILDDIR/plugins/cuda/.libs/tfrun-cuda.so
stand_in=$TFR_BUILDDIR/tests/cuda
[ -e "$plugin" ] && [ -e "$stand_in/libcuda.so.1" ] ||
    skip_all "the CUDA backend was switched off"

mkdir "$tmp/libraries"
for library in libcuda.so.1 libcublasLt.so.13 libcusolver.so.12; do
    ln -s "$stand_in/$library" "$tmp/libraries/"
done
# A file that is no library hides one that the system may have.
echo none >"$tmp/libraries/libcudnn.so.9"
LD_LIBRARY_PATH=$tmp/libraries XDG_CACHE_HOME=$tmp/cache
export LD_LIBRARY_PATH XDG_CACHE_HOME
TFRUN_FAKE_CUDA=log=$tmp/calls
export TFRUN_FAKE_CUDA

exits 0 "a listing opens no library for products" "$TFRUN" --list-devices --plugin "$plugin" \
    --log-level info
claim "nor says that it did" sh -c '! grep -q cublas "$1" "$2"' - "$tmp/out" "$tmp/err"
exits 0 "doctor opens all" "$TFRUN" doctor --plugin "$plugin"
has "and tells what nvcc compiled the kernels" "$tmp/out" '^cuda  *cuda  *built  *[0-9n]'
has "and the driver's version of CUDA" "$tmp/out" '^cuda  *cuda  *loaded  *13\.0 (libcuda\.so\.1)'
has "and that of a library" "$tmp/out" \
    '^cuda  *cublaslt  *loaded  *1[0-9]\.[0-9.]* (libcublasLt\.so\.13)'
has "of each" "$tmp/out" '^cuda  *cusolver  *loaded  *12\.0\.4 (libcusolver\.so\.12)'
has "what is missing has the names that were tried" "$tmp/out" \
    '^cuda  *cudnn  *missing  *.*tried libcudnn\.so\.9'
has "and the package that brings it" "$tmp/out" "install NVIDIA's libcudnn9-cuda-13"
exits 0 "as JSON" "$TFRUN" doctor --json --plugin "$plugin"
has "the next step stands for itself" "$tmp/out" '"next_step": "install NVIDIA.s libcudnn9-cuda-13'
exits 0 "versions are in --build-info" "$TFRUN" --build-info --plugin "$plugin"
has "of CUDA, built and loaded" "$tmp/out" '^cuda .*cuda_built=.* cuda_loaded=13\.0'
claim "doctor makes no context and takes no memory" \
    sh -c '! grep -E "^cu(Ctx|DevicePrimaryCtx|Mem|Stream|Library)" "$1"' - "$tmp/calls"

rm "$tmp/libraries/libcudnn.so.9"
ln -s "$stand_in/libcudnn.so.9" "$tmp/libraries/"
exits 0 "what has been installed since" "$TFRUN" doctor --plugin "$plugin"
has "is found" "$tmp/out" '^cuda  *cudnn  *loaded  *9\.[0-9.]* (libcudnn\.so\.9)'
TFRUN_FAKE_CUDA=nodevice
exits 0 "without a GPU" "$TFRUN" doctor --plugin "$plugin"
has "it says so" "$tmp/out" '^cuda  *plugin  *no_device'
has "and still opens the libraries" "$tmp/out" '^cuda  *cudnn  *loaded  *9\.'

# A file that is no driver hides one that the system may have.
rm "$tmp/libraries/libcuda.so.1" "$tmp/libraries/libcusolver.so.12"
for library in libcuda.so.1 libcusolver.so.12 libcusolver.so.11 libnccl.so.2; do
    echo none >"$tmp/libraries/$library"
done
exits 0 "without a driver, too" "$TFRUN" doctor --plugin "$plugin"
has "it says that the driver does not open, and what to install" "$tmp/out" \
    '^cuda  *plugin  *no_device  *the NVIDIA driver does not open: .*libcuda\.so\.1.*install driver 525'
has "each library has its row: one that was opened, with its file" "$tmp/out" \
    '^cuda  *cublaslt  *loaded  *1[0-9]\.[0-9.]* (libcublasLt\.so\.13)'
has "and the next" "$tmp/out" '^cuda  *cudnn  *loaded  *9\.[0-9.]* (libcudnn\.so\.9)'
has "one that is missing, with all names that were tried and who needs it" "$tmp/out" \
    'cusolver  *missing  *.*tried libcusolver\.so\.12, libcusolver\.so\.11: inverses of large'
has "and the package" "$tmp/out" "install NVIDIA's libcusolver-13-0 or libcusolver-12-0"
has "and the last one" "$tmp/out" '^cuda  *nccl  *missing  *.*training on several GPUs needs it'
# Libraries of CUDA 12.
mv "$tmp/libraries/libcublasLt.so.13" "$tmp/libraries/libcublasLt.so.12"
echo none >"$tmp/libraries/libcublasLt.so.13"
exits 0 "with libraries of CUDA 12" "$TFRUN" doctor --plugin "$plugin"
has "these are opened" "$tmp/out" '^cuda  *cublaslt  *loaded  *.*(libcublasLt\.so\.12)'
finish
