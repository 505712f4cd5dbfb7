# Times and bytes, and what their widths do to the blanks before them.
s/ +time +bytes$/  TIME/
s/ +[0-9.]+ (ns|µs|ms|s)( sim)? +[0-9.]+ (B|kB|MB)$/  TIME\2/
