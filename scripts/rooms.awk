# SPDX-License-Identifier: Apache-2.0
# rooms.awk: the folders of core/, called by check-includes with the sources of core/ as arguments.
#   1. A folder includes itself and those before it in `order`; `apart` are pairs that do not know
#      each other.
#   2. A public header belongs to a folder (`owner`); folders before that one do not include it.
#   3. Some headers are private to their folder.
#   4. No circle of calls goes through more than MAX files: a file calls another one if it names a
#      function that is defined there.
# Prints each offence as FILE:LINE: TEXT. With -v graph=1 prints the folders, the arrows between
# them and the largest circle instead, and exits with 1 if there is an offence.
BEGIN {
    MAX = 3
    n_rooms = split("base value op graph device kernel optimize plan run", order, " ")
    for (i = 1; i <= n_rooms; i++)
        rank[order[i]] = i
    apart["graph device"] = apart["device graph"] = 1
    apart["optimize plan"] = apart["plan optimize"] = 1
    split("status base  fail base  env base  plugin base  dtype value  shape value  tensor value " \
          "dlpack value  op op  graph graph  runtime device  device device  slot device  optimize optimize  " \
          "session run  trace run  native run",
          words, /  */)
    for (i = 1; i in words; i += 2)
        owner[words[i]] = words[i + 1]
    split("device/loader.h op/infer_kit.h op/infer_ml.h op/infer_window.h plan/plan_build.h " \
          "plan/plan_steps.h plan/plan_cost.h", words, " ")
    for (i in words)
        private[words[i]] = 1
}

FNR == 1 {
    file = FILENAME
    sub(/^.*core\//, "", file)
    room = file
    sub(/\/.*/, "", room)
    inside = 0
    if (!(room in rank))
        say("the folder is not in the order of scripts/rooms.awk")
    n_files[room]++
}

{ n_lines[room]++ }

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    if (split(part[2], path, "/") > 1 && path[1] != "..")
        arrow(path[1], part[2])
    next
}

/^[ \t]*#[ \t]*include[ \t]*<tfrun\// {
    name = $0
    sub(/.*<tfrun\//, "", name)
    sub(/\.h>.*/, "", name)
    if (!(name in owner))
        say("<tfrun/" name ".h> belongs to a layer above core")
    else if (rank[owner[name]] > rank[room])
        say("<tfrun/" name ".h> belongs to core/" owner[name])
    next
}

file ~ /\.c$/ {
    text = code($0)
    if (match(text, /^[a-zA-Z_].*[ *]tfr_[a-z0-9_]+\(/) && text !~ /;[ \t]*$/ && text !~ /^static /) {
        name = substr(text, 1, RLENGTH - 1)
        sub(/^.*[ *]/, "", name)
        defined[name] = file
    }
    while (match(text, /tfr_[a-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (!((file, name) in named)) {
            named[file, name] = 1
            names[file] = names[file] " " name
        }
    }
}

# The line without comments and texts.
function code(line,   out, a) {
    out = ""
    while (line != "") {
        if (inside) {
            a = index(line, "*/")
            if (!a)
                return out
            line = substr(line, a + 2)
            inside = 0
        }
        a = index(line, "/*")
        if (!a)
            return out line
        out = out substr(line, 1, a - 1)
        line = substr(line, a + 2)
        inside = 1
    }
    return out
}

function say(text) {
    offences = offences "core/" file ":" FNR ": " text "\n"
}

function arrow(to, header) {
    if (!(to in rank))
        return
    arrows[room, to]++
    if (rank[to] > rank[room])
        say("\"" header "\": core/" room " comes before core/" to)
    else if ((room " " to) in apart)
        say("\"" header "\": core/" room " and core/" to " do not know each other")
    else if (room != to && (header in private))
        say("\"" header "\" is private to core/" to)
}

# Tarjan, "Depth-first search and linear graph algorithms", 1972.
function visit(v,   n, i, w, parts, found) {
    number[v] = low[v] = ++n_visited
    stack[++top] = v
    on_stack[v] = 1
    n = split(calls[v], parts, " ")
    for (i = 1; i <= n; i++) {
        w = parts[i]
        if (!(w in number)) {
            visit(w)
            if (low[w] < low[v])
                low[v] = low[w]
        } else if (on_stack[w] && number[w] < low[v]) {
            low[v] = number[w]
        }
    }
    if (low[v] != number[v])
        return
    n = 0
    found = ""
    do {
        w = stack[top--]
        on_stack[w] = 0
        found = found " " w
        n++
    } while (w != v)
    if (n > largest) {
        largest = n
        circle = found
    }
}

END {
    for (file in names) {
        n = split(names[file], parts, " ")
        for (i = 1; i <= n; i++) {
            to = defined[parts[i]]
            if (to != "" && to != file && !((file, to) in edge)) {
                edge[file, to] = 1
                calls[file] = calls[file] " " to
            }
        }
    }
    largest = 0
    for (file in names)
        if (!(file in number))
            visit(file)
    if (largest > MAX)
        offences = offences "core: " largest " files call each other in a circle:" circle "\n"
    n_up = gsub(/\n/, "\n", offences)
    if (!graph) {
        printf "%s", offences
        exit n_up > 0
    }
    for (i = 1; i <= n_rooms; i++) {
        line = ""
        for (k = 1; k < i; k++)
            if (arrows[order[i], order[k]])
                line = line " " order[k] " " arrows[order[i], order[k]]
        printf "core/%-9s %3d files %5d lines  includes%s\n", order[i], n_files[order[i]],
            n_lines[order[i]], line == "" ? " none" : line
    }
    if (largest < 2)
        circle = ""
    printf "upward: %d\n%slargest circle of calls: %d files%s\n", n_up, offences, largest, circle
    exit n_up > 0
}
