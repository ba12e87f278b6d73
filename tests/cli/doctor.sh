# SPDX-License-Identifier: Apache-2.0
# tfrun doctor, and --build-info, which opens as much. What the CUDA backend tells is in
# tests/cuda/doctor.sh.
. "$TFR_SRCDIR/tests/lib.sh"

mkdir "$tmp/broken"
echo "no plugin" >"$tmp/broken/tfrun-broken.so"
exits 0 "doctor exits with 0 whatever it finds" "$TFRUN" doctor --plugin-path "$tmp/broken"
has "a plugin that works has its version" "$tmp/out" '^naive  *plugin  *usable  *[0-9]'
has "one that does not has its state and the next step" "$tmp/out" \
    '^tfrun-broken.so  *plugin  *not_a_plugin  .*remove it'
exits 0 "it prints an object" "$TFRUN" doctor --json --plugin-path "$tmp/broken"
has "of its own schema" "$tmp/out" '"schema": "tfrun.doctor/1"'
has "with the reason" "$tmp/out" '"state": "not_a_plugin"'
exits 2 "it takes no words" "$TFRUN" doctor cuda
exits 0 "--build-info is an option and a command" "$TFRUN" --build-info
has "that tells of plugins" "$tmp/out" '^naive [0-9]'
exits 0 "as version --build-info does" "$TFRUN" version --build-info --json
has "in JSON, too" "$tmp/out" '"name": "naive"'
exits 0 "--version looks at no plugin" "$TFRUN" --version
claim "and tells of none" sh -c '! grep -q naive "$1"' - "$tmp/out"
if [ -e "$TFR_BUILDDIR/.libs/tfrun-onednn.so" ]; then
    exits 0 "a plugin that has a library" "$TFRUN" doctor
    has "tells what it was built with" "$tmp/out" '^onednn  *onednn  *built  *[23]\.'
    has "and what it has loaded" "$tmp/out" '^onednn  *onednn  *loaded  *[23]\.'
else
    skip "a plugin that has a library: onednn is not built"
fi
finish
