# Of what explain lists, the statements.
/^(by|y\[|dx\[|dw\[)/!d
s/: index notation of .*//
