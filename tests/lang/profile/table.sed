# Times, shares and rates are the clock's.
s/[0-9.]+ (ns|µs|ms|s)\b/T/g
s/ +T( +(<1|[0-9]+)%.*)?$/ T/
s/ +T outside/ T outside/
s/memory: .*/memory/
