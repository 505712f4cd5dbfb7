s/"ts": [0-9.]+/"ts": T/
/"pid": 1,/s/"dur": [0-9.]+/"dur": T/
/^[0-9(]|^[a-z]/d
s/\/[^"]*trace.ric/trace.ric/
s/"kernel": "(sgemm \(OpenBLAS\)|loop nest)"/"kernel": "KERNEL"/
