# SPDX-License-Identifier: Apache-2.0
# Macros that the configure fragments of tfrun share.

# TFR_INIT_TABLE
# Start the closing table. Every fragment adds its own rows.
AC_DEFUN([TFR_INIT_TABLE], [tfr_table=])

# TFR_ROW(WHAT, ANSWER, WHY)
# Add one row to the closing table: what it is, built or not, and why or with what.
# The arguments may use shell variables.
AC_DEFUN([TFR_ROW], [
tfr_row=$(printf '  %-18s %-5s %s' "$1" "$2" "$3")
tfr_table="$tfr_table$tfr_row
"
])

# TFR_PRINT_TABLE
# Print the table, and keep it as config.table for whoever asks later.
AC_DEFUN([TFR_PRINT_TABLE], [
AS_ECHO(["tfrun $PACKAGE_VERSION will be built like this:

  what               built why, or with what
$tfr_table"]) | tee config.table
])
