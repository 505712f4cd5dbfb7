# Which kernel a product takes is the machine's, and that of the build: all of those that this one may
# have are KERNEL. tests/cli.sh has the names. What is left over of a residual is the library's rounding.
s/^(  routine   )([sdcz]gem[mv] \(OpenBLAS\)|our own loop: too small for a call to pay|loop nest: (bf16 in, f32 sums: )?plain loops)$/\1KERNEL/
s/^( {12})(gemm|gemv|dot|direct contraction|loop nest): (f32 in, f64 sums: )?(OpenBLAS|own small products|own blocked kernel|vectors along [0-9]+|plain loops)(, ([0-9]+ (×|taps) ?)?(\([^)]*\))?)?(, [0-9.]+ kB copied|, temporary of [0-9.]+ kB)?$/\1KERNEL\9/
s/^(.*   )(gemm|loop nest)(, [0-9.e+]+ FLOPs)$/\1KERNEL\3/
s/^(  residual  )(0|[0-9.]+e-[0-9]+) (= \|b - A x\| \/ \(\|A\| \|x\|\))(, [0-9]{1,2}(\.[0-9]+)? eps)?$/\1R \3, below 100 eps/
