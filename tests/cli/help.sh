# SPDX-License-Identifier: Apache-2.0
# Help, version, wrong usage; and the man page says what the option tables say.
. "$TFR_SRCDIR/tests/lib.sh"

exits 0 "tfrun --help explains" "$TFRUN" --help
cp "$tmp/out" "$tmp/overview"
exits 0 "tfrun help is the same" "$TFRUN" help
claim "word for word" cmp "$tmp/out" "$tmp/overview"
exits 2 "no command is wrong usage" "$TFRUN"
has "it says what is missing" "$tmp/err" '^tfrun: a command is missing; see `tfrun --help`$'

sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p' "$tmp/overview" >"$tmp/commands"
claim "the overview lists the commands" test "$(wc -l <"$tmp/commands")" -ge 9
while read -r command; do
    exits 0 "$command --help explains" "$TFRUN" "$command" --help
    has "$command has a usage line" "$tmp/out" "^usage: tfrun $command "
    cp "$tmp/out" "$tmp/help"
    exits 0 "help $command explains" "$TFRUN" help "$command"
    claim "help $command is $command --help" cmp "$tmp/out" "$tmp/help"
    claim "the lines of help $command fit 80 columns" \
        awk 'length > 80 { print; bad = 1 } END { exit bad }' "$tmp/help"
done <"$tmp/commands"

exits 0 "help env lists the variables" env TFRUN_THREADS=3 "$TFRUN" help env
has "with their values" "$tmp/out" '^TFRUN_THREADS  *3  *environment  *threads  *threads for computing'
mkdir -p "$tmp/config/tfrun"
printf '# mine\nlog = debug\n' >"$tmp/config/tfrun/tfrun.conf"
exits 0 "help env lists settings" env XDG_CONFIG_HOME="$tmp/config" "$TFRUN" help env --json
has "with their values" "$tmp/out" '"value": "debug"'
has "and their lines" "$tmp/out" '"origin": ".*/config/tfrun/tfrun.conf:2"'
exits 0 "the configuration says how much is said" \
    env XDG_CONFIG_HOME="$tmp/config" "$TFRUN" devices
has "to all commands" "$tmp/err" '^tfrun: '
exits 0 "an option beats it" env XDG_CONFIG_HOME="$tmp/config" "$TFRUN" devices --log-level error
claim "and is obeyed" test ! -s "$tmp/err"
exits 0 "help env prints JSON" "$TFRUN" help env --json
has "with its schema" "$tmp/out" '"schema": "tfrun.env/1"'

exits 0 "--version prints the version" "$TFRUN" --version
has "in one line" "$tmp/out" '^tfrun [0-9.]*$'
exits 0 "version --verbose prints the plugins" "$TFRUN" version --verbose
has "with theirs" "$tmp/out" '^naive [0-9.]*'
exits 0 "version prints JSON" "$TFRUN" --version --json
has "with its schema" "$tmp/out" '"schema": "tfrun.version/1"'

# Wrong words are answered with the right ones.
exits 2 "an unknown command is wrong usage" "$TFRUN" explian
has "the nearest command" "$tmp/err" 'no command "explian", did you mean "explain"? commands are'
exits 2 "an unknown option is wrong usage" "$TFRUN" run --inptu
has "the nearest option" "$tmp/err" 'no option --inptu, did you mean --input?; see `tfrun run --help`'
exits 2 "an option without its value is wrong usage" "$TFRUN" run m --input
has "which option" "$tmp/err" 'run: --input needs a value'
exits 2 "a value for a flag is wrong usage" "$TFRUN" devices --json=x
has "which flag" "$tmp/err" 'json takes no value'
exits 2 "a word that is no number is wrong usage" "$TFRUN" devices --threads many
has "the limits" "$tmp/err" 'threads takes a number from 0 to 4096, not "many"'
exits 2 "a number out of range is wrong usage" "$TFRUN" verify --jobs 0 x
exits 2 "a word that is no choice is wrong usage" "$TFRUN" run m --fallback never
has "the choices" "$tmp/err" 'fallback takes one of allow|warn|error, not "never"'
exits 2 "a missing word is wrong usage" "$TFRUN" run
has "which word" "$tmp/err" 'run: MODEL is missing'
exits 2 "a word too many is wrong usage" "$TFRUN" run a b
exits 2 "a word for a command without words is wrong usage" "$TFRUN" devices a
exits 2 "a wrong size is wrong usage" "$TFRUN" matmul CPU:0 0
exits 2 "usage errors are JSON, too" "$TFRUN" --json explian
has "as an object" "$tmp/out" '"exit": 2'
exits 7 "a full disk is seen" sh -c '"$1" help >/dev/full' - "$TFRUN"
has "and told" "$tmp/err" 'standard output cannot be written: No space left on device'

# ---- the man page ----
man=$TFR_SRCDIR/docs/tfrun.1
# Options by command, as the page has them; the first section stands for every command.
awk '
    /^\.Ss Options of every command/ { command = "*" }
    /^\.Ss tfrun / { command = $3 }
    /^\.Sh / { command = "" }
    /^\.It Fl/ && command != "" {
        line = $0
        while (match(line, /Fl -[a-z0-9-]+/)) {
            name = substr(line, RSTART + 3, RLENGTH - 3)
            print command, "-" name
            line = substr(line, RSTART + RLENGTH)
        }
    }' "$man" | sort >"$tmp/man_options"
"$TFRUN" __complete options | sed 's/=.*//' | sort >"$tmp/options"
claim "the man page has the options of the tables" diff "$tmp/options" "$tmp/man_options"
sed -n 's/^\.Ss tfrun \([a-z]*\).*/\1/p' "$man" | sort >"$tmp/man_commands"
sort "$tmp/commands" >"$tmp/sorted"
claim "the man page has the commands" diff "$tmp/sorted" "$tmp/man_commands"
sed -n 's/^  *\([0-9][0-9]*\)  \(.*\)/\1 \2/p' "$tmp/overview" | sed 's/=error//' >"$tmp/status"
awk '/^\.Sh EXIT STATUS/ { on = 1; next } /^\.Sh/ { on = 0 }
    !on { next }
    /^\.It/ { if (number != "") print number, text; number = $2; text = ""; next }
    /^\.El/ { print number, text; number = "" }
    /^\.Fl/ { sub(/^\.Fl -/, "--"); sub(/ Ns = Ns Cm error/, "") ; text = text " " $0; next }
    /^[^.]/ { text = text (text == "" ? "" : " ") $0 }' "$man" >"$tmp/man_status"
claim "the man page has the exit statuses" diff "$tmp/status" "$tmp/man_status"
if command -v mandoc >/dev/null 2>&1; then
    claim "mandoc has nothing against the man page" mandoc -Tlint -Wstyle "$man"
else
    skip "mandoc is not installed, so the man page's markup is not checked"
fi
finish
