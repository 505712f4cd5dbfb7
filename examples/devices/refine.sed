# How far the first solution is off, and how soon the rest is right, is the library's rounding.
s/wrong by [0-9]e[-+][0-9]+/wrong by X/g
s/after [2-6] steps/after N steps/
