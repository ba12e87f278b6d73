# SPDX-License-Identifier: Apache-2.0
# Writes small ONNX files for the tests, so that they need no test data: protobuf by hand. The
# strings that shell variables hold have no zero bytes; raw tensor data is printed last.

# byte N...: prints bytes by their numbers.
byte() { for b; do printf "\\$(printf %03o "$b")"; done; }

# varint N
varint() {
    v=$1
    while [ "$v" -ge 128 ]; do
        byte $((v % 128 + 128))
        v=$((v / 128))
    done
    byte "$v"
}

# number FIELD N: a varint field.
number() { varint $(($1 * 8)); varint "$2"; }

# text FIELD CONTENT: a field of bytes, also a message.
text() {
    varint $(($1 * 8 + 2))
    varint ${#2}
    printf %s "$2"
}

# keep COMMAND...: sets $kept to what the command prints, its last line end too.
keep() {
    kept=$("$@"; printf .)
    kept=${kept%.}
}

# A ValueInfoProto: NAME, element type, dims; a word is the name of an open dim.
value_info() {
    name=$1 type=$2
    shift 2
    dims=
    for d; do
        case $d in [!0-9]*) keep text 2 "$d" ;; *) keep number 1 "$d" ;; esac
        keep text 1 "$kept"
        dims=$dims$kept
    done
    keep text 2 "$dims"
    shape=$kept
    keep number 1 "$type"
    keep text 1 "$kept$shape"
    typed=$kept
    keep text 1 "$name"
    named=$kept
    keep text 2 "$typed"
    printf %s "$named$kept"
}

# A NodeProto: OP, NAME, INPUT, OUTPUT (lists of words).
node() {
    op=$1 name=$2 in=$3 out=$4
    for i in $in; do text 1 "$i"; done
    for o in $out; do text 2 "$o"; done
    text 3 "$name"
    text 4 "$op"
}

# model NODES INPUTS OUTPUTS: a ModelProto of opset 17; each argument is fields of the graph.
model() {
    keep text 2 g
    name=$kept
    keep text 7 "$1$name$2$3"
    graph=$kept
    keep number 2 17
    keep text 8 "$kept"
    number 1 8
    printf %s "$graph$kept"
}

# field N COMMAND...: prints what the command prints as field N.
field() {
    n=$1
    shift
    keep "$@"
    text "$n" "$kept"
}

# model_of OP SHAPE [TYPE]: y = OP(x), x and y are of this shape, a list of dims, and of the element
# type of that number in onnx.proto; float32 without.
model_of() {
    # shellcheck disable=SC2086 # a list of words
    {
        keep field 1 node "$1" n1 x y; nodes=$kept
        keep field 11 value_info x "${3-1}" $2; inputs=$kept
        keep field 12 value_info y "${3-1}" $2; outputs=$kept
    }
    model "$nodes" "$inputs" "$outputs"
}

# float32_pb DIM OCTALS: a TensorProto of float32 with one dim; the bytes as printf takes them.
float32_pb() {
    number 1 "$1"
    number 2 1
    varint $((9 * 8 + 2))
    varint $((4 * $1))
    # shellcheck disable=SC2059 # the bytes are a format
    printf "$2"
}

# float32_npy DIM OCTALS: the same as a .npy file.
float32_npy() {
    header="{'descr': '<f4', 'fortran_order': False, 'shape': ($1,), }"
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
    # shellcheck disable=SC2059 # the bytes are a format
    printf "$2"
}

# -1, 0, 2 and Relu of them.
floats='\000\000\200\277\000\000\000\000\000\000\000\100'
floats_relu='\000\000\000\000\000\000\000\000\000\000\000\100'
