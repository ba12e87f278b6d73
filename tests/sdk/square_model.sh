# SPDX-License-Identifier: Apache-2.0
# square_model DOMAIN TYPE FILE: a model with Y = Square(X) of that domain, and dX, its gradient by
# ONNX's Gradient. X is a vector of 3 elements of TYPE, a number of TensorProto.DataType.

# field OCTAL TEXT: a field of a message with its tag, of less than 128 bytes.
field() {
    printf "\\$1\\$(printf %o "$(printf %s "$2" | wc -c)")%s" "$2"
}

# message OCTAL: the same from standard input, which may have 16383 bytes.
message() {
    cat >"$tmp/message.$1"
    message_bytes=$(wc -c <"$tmp/message.$1")
    printf "\\$1\\$(printf %o $((message_bytes % 128 + 128)))\\$(printf %o $((message_bytes / 128)))"
    cat "$tmp/message.$1"
}

# attribute NAME TYPE TAG TEXT
attribute() {
    { field 012 "$1"; printf '\240\001'; printf "\\$2"; field "$3" "$4"; } | message 052
}

# value TAG NAME TYPE: a ValueInfoProto
value() {
    { field 012 "$2"; printf "\\022\\012\\012\\010\\010\\$(printf %o "$3")\\022\\004\\012\\002\\010\\003"; } |
        message "$1"
}

square_model() {
    {
        printf '\010\012' # ir_version 10
        {
            {
                field 012 X
                field 022 Y
                field 042 Square
                field 072 "$1"
            } | message 012
            {
                field 012 X
                field 022 dX
                field 042 Gradient
                attribute xs 010 112 X
                attribute y 003 042 Y
                field 072 ai.onnx.preview.training
            } | message 012
            field 022 squares
            value 132 X "$2"
            value 142 Y "$2"
            value 142 dX "$2"
        } | message 072
        printf '\102\002\020\025'
        { field 012 "$1"; printf '\020\001'; } | message 102
        { field 012 ai.onnx.preview.training; printf '\020\001'; } | message 102
    } >"$3"
}
