"""The screens: the table, the dialog that asks before anything is written, the help."""
