# SPDX-License-Identifier: Apache-2.0
# tfrun devices and tfrun plugins: what works, what does not, as tables and as JSON.
. "$TFR_SRCDIR/tests/lib.sh"

# The backends of this build vary, so only naive is on the path.
mkdir "$tmp/plugins" "$tmp/broken"
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" "$tmp/plugins"
echo "no plugin" >"$tmp/broken/tfrun-broken.so"
TFRUN_PLUGIN_PATH=$tmp/plugins

# Masks what is of this machine and this build: the processor, memory, versions, paths. The columns'
# widths depend on them, too.
mask() {
    sed -e "s|$tmp|TMP|g" -e 's/  */ /g' -e 's/ $//' \
        -e 's/^\(CPU:0\) .* [0-9.]* [KMGT]iB \/ [0-9.]* [KMGT]iB /\1 DESCRIPTION MEMORY /' \
        -e 's/\(naive\) [0-9.]* (/\1 VERSION (/' -e 's/ [0-9][0-9]*$/ N/' \
        -e 's/\("description": \)".*"/\1"DESCRIPTION"/' -e 's/\("version": \)".*"/\1"VERSION"/' \
        -e 's/\("\(memory_[a-z]*\|clock_hz\|threads\|ops\|numa_node\)": \)[0-9a-z]*/\1N/'
}

exits 0 "--list-devices lists the device" "$TFRUN" --list-devices --plugin-path "$tmp/broken"
mask <"$tmp/out" >"$tmp/masked"
claim "the tables say what works and what does not" \
    diff "$TFR_SRCDIR/tests/cli/devices.expected" "$tmp/masked"
claim "nothing is on standard error" test ! -s "$tmp/err"
cp "$tmp/out" "$tmp/first"
exits 0 "devices is the same command" "$TFRUN" devices --plugin-path "$tmp/broken"
# Free memory changes from one moment to the next.
mask <"$tmp/out" >"$tmp/again"
claim "and prints the same" cmp "$tmp/masked" "$tmp/again"

exits 0 "--json prints an object" "$TFRUN" --list-devices --json --plugin-path "$tmp/broken"
mask <"$tmp/out" >"$tmp/masked"
claim "the object has the fields of the tables" \
    diff "$TFR_SRCDIR/tests/cli/devices_json.expected" "$tmp/masked"

exits 0 "a list without any device is no failure" env TFRUN_DISABLE='*' "$TFRUN" devices
has "it says that there is none" "$tmp/out" '^no device can be used$'
has "and why" "$tmp/out" '^naive  *disabled '

exits 0 "the CPU can be split" "$TFRUN" devices --logical-cpus 2 --threads 2
has "there is a second device" "$tmp/out" '^CPU:1 '
exits 0 "devices can be hidden" "$TFRUN" devices --logical-cpus 2 --visible-devices CPU:0
claim "the second device is gone" sh -c '! grep -q "^CPU:1 " "$1"' - "$tmp/out"

exits 0 "plugins lists every file" "$TFRUN" plugins --plugin-path "$tmp/broken" -v
has "the good one" "$tmp/out" '^naive  *usable  *backend '
has "with its ABI, priority, devices and ops" "$tmp/out" \
    '^naive  *usable  *backend  *[0-9.]*  *0\.[0-9]*  *[-0-9]*  *1  *[0-9][0-9][0-9]  */.*naive.so$'
has "nothing is known of the bad one" "$tmp/out" \
    '^tfrun-broken.so  *not_a_plugin  *-  *-  *-  *-  *-  *-  */'
claim "and nothing more is said of the good one than who made it" \
    test "$(grep -c '^naive: ' "$tmp/out")" = 1
has "which it does" "$tmp/out" '^naive: made by tfrun$'
has "the bad one" "$tmp/out" "^tfrun-broken.so  *not_a_plugin .*$tmp/broken/tfrun-broken.so\$"
has "with the reason below" "$tmp/out" '^tfrun-broken.so: .*; '
exits 0 "plugins prints JSON" "$TFRUN" plugins --json
has "with its schema" "$tmp/out" '"schema": "tfrun.plugins/1"'

# What the user repairs is seen by the next listing.
asks=$TFR_BUILDDIR/tests/fake/asks.so
if [ -e "$asks" ]; then
    exits 0 "a plugin without a device" "$TFRUN" devices --plugin "$asks"
    has "says what it looked for" "$tmp/out" '^asks  *no_device .*no /nowhere/vendor.icd'
    mkdir "$tmp/vendors" && : >"$tmp/vendors/vendor.icd"
    exits 0 "after that was made" env ASKS_ON=1 ASKS_FOLDER="$tmp/vendors" \
        "$TFRUN" devices --plugin "$asks"
    has "it is listed" "$tmp/out" '^CPU:0 .*asks'
    exits 0 "all plugins can be asked anew" "$TFRUN" devices --refresh
    exits 0 "by plugins, too" "$TFRUN" plugins --refresh
else
    skip "the fake plugins are not built"
fi

# Colours are for terminals.
exits 0 "a pipe has no colours" env TERM=xterm NO_COLOR= "$TFRUN" plugins
claim "no escape byte is in the output" sh -c '! grep -q "$(printf "\033")" "$1"' - "$tmp/out"
exits 0 "colours can be forced" "$TFRUN" plugins --color always
claim "an escape byte is in the output" grep -q "$(printf '\033')" "$tmp/out"

# What a plugin says is not obeyed by the terminal.
if [ -e "$TFR_BUILDDIR/tests/fake/control_bytes.so" ]; then
    exits 0 "a plugin with control bytes is listed" \
        "$TFRUN" plugins -v --plugin "$TFR_BUILDDIR/tests/fake/control_bytes.so"
    claim "its control bytes are stripped" sh -c '! grep -q "$(printf "\033")" "$1"' - "$tmp/out"
else
    skip "the fake plugins are not built"
fi
finish
