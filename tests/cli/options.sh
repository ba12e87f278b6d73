# SPDX-License-Identifier: Apache-2.0
# Options on both sides of their limits, and the words that stand beside them.
. "$TFR_SRCDIR/tests/lib.sh"

# STATUS | WORDS | PATTERN of the first line on standard error, where the status is 2
while IFS='|' read -r status words pattern; do
    # shellcheck disable=SC2086 # lists of words
    exits "$status" "tfrun$words" "$TFRUN" $words
    [ "$status" = 0 ] || has "the sentence" "$tmp/err" "^tfrun: $pattern; see \`tfrun.* --help\`\$"
done <<'END'
0| -q devices --threads 1|
0| -q devices --threads 4096|
0| -q devices --threads 0|
2| devices --threads 4097|devices: --threads takes a number from 0 to 4096, not "4097"
2| devices --threads -1|devices: --threads takes a number from 0 to 4096, not "-1"
2| devices --threads 2x|devices: --threads takes a number from 0 to 4096, not "2x"
2| --threads= devices|--threads takes a number from 0 to 4096, not ""
2| --threads 99999999999999999999 devices|--threads takes .* not "99999999999999999999"
0| -q verify --rtol 0 --help|
0| -q verify --rtol 1e30 --help|
0| -q verify --rtol .5 --help|
2| verify --rtol -1 x|verify: --rtol takes a number from 0 to 1e+30, not "-1"
2| verify --rtol 2e30 x|verify: --rtol takes a number from 0 to 1e+30, not "2e30"
2| verify --rtol 1e999 x|verify: --rtol takes a number from 0 to 1e+30, not "1e999"
2| verify --rtol nan x|verify: --rtol takes a number from 0 to 1e+30, not "nan"
2| verify --rtol 1,5 x|verify: --rtol takes a number from 0 to 1e+30, not "1,5"
2| verify --rtol= x|verify: --rtol takes a number from 0 to 1e+30, not ""
2| devices --plugin-option naive|devices: --plugin-option takes NAME.KEY=VALUE, .*, not "naive"
2| devices --plugin-option naive.x|devices: --plugin-option takes .*, not "naive.x"
2| devices --plugin-option naive.=x|devices: --plugin-option takes .*, not "naive.=x"
2| devices --plugin-option=.x=1|devices: --plugin-option takes .*, not ".x=1"
2| devices --plugin-option=Naive.x=1|devices: --plugin-option takes .*, not "Naive.x=1"
0| devices -q --plugin-option naive.x= --plugin-option=naive.y=a=b,c|
0| --color=auto -q devices|
0| --color=never -q devices|
2| --color=alway devices|--color takes one of auto.always.never, not "alway"
2| --color=always- devices|--color takes one of auto.always.never, not "always-"
2| --color= devices|--color takes one of auto.always.never, not ""
0| --list-devices -q|
0| --list-dev -q|
2| devices --list-devices|devices: there is no option --list-devices
2| --list-device-s|there is no option --list-device-s, did you mean --list-devices?
2| -Z devices|there is no option -Z
2| devices -qZ|devices: there is no option -Z
2| devices --threads|devices: --threads needs a value
2| devices -- x|devices: it takes no words, but got "x"
2| help env env|help: there is a word too many: "env"
2| help nothing|help: there is no command "nothing"
2| dev|there is no command "dev"; commands are devices, .*, version
2| devics|there is no command "devics", did you mean "devices"? commands are .*
2| runn|there is no command "runn", did you mean "run"? commands are .*
2| -q|a command is missing
END

# What comes before --json is told as JSON, too, but not what comes after --.
exits 2 "a mistake before --json" "$TFRUN" --threads -1 devices --json
has "is an object" "$tmp/out" '"schema": "tfrun.error/1"'
exits 2 "a mistake before -- --json" "$TFRUN" --threads -1 devices -- --json
claim "is none" test ! -s "$tmp/out"
exits 0 "an option's value may stand apart, together and after a letter" \
    "$TFRUN" -q devices --threads 1 --threads=1 --json

exits 3 "an option of no plugin" "$TFRUN" devices --plugin-option nobody.x=1
has "says which" "$tmp/err" '^tfrun: option nobody.x: there is no plugin "nobody"; `tfrun plugins`'
finish
