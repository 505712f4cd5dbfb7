" Ricci: syntax. The lists of words are written by editors/words.py.
if exists("b:current_syntax")
    finish
endif

syn case match
syn iskeyword @,48-57,_,192-255

" -- words.py writes from here
syn keyword ricciConditional if else
syn keyword ricciRepeat for while in break continue
syn keyword ricciException try catch throw assert
syn keyword ricciStatement return
syn keyword ricciFunction fn nextgroup=ricciFunctionName skipwhite
syn keyword ricciInclude import extern
syn keyword ricciScope precision autocast on lazy compare explain timeit profile
syn keyword ricciWordOperator and or not
syn keyword ricciConstant true false none
syn keyword ricciSoft accumulate backward shadow round saturate flush reproducible strict fallback
syn keyword ricciSoft narrow verbose quiet against from as
syn keyword ricciValue pi inf nan null cpu gpu cuda opencl sim ans
syn keyword ricciFormat bf16 bool c128 c64 decimal e2m1 e2m3 e3m2 e4m3 e5m2 f16 f32 f64 float i32
syn keyword ricciFormat i64 i8 interval mp rational tf32 u8
syn keyword ricciBuiltin abs acos acosh add airy all allclose angle any append arange argmax argmin
syn keyword ricciBuiltin args argsort as_tensor asin asinh atan atan2 atanh attention
syn keyword ricciBuiltin attention_back attention_lse bar bessel_i bessel_j bessel_k bessel_y beta
syn keyword ricciBuiltin betainc betaincinv bincount bitand bitor bits block_diag broadcast_to
syn keyword ricciBuiltin calibrate cast cbrt ceil chebyshev_t checkpoint choice chol chol_solve
syn keyword ricciBuiltin clamp comb complex concat cond condest conj contains contour conv conv2
syn keyword ricciBuiltin copysign corrcoef correlate cos cosh count cov cross cstring ctranspose
syn keyword ricciBuiltin cummax cummin cumprod cumsum custom_rule dct deg2rad delete denominator
syn keyword ricciBuiltin dense dequantize det detach device devices diag diff digamma digits divide
syn keyword ricciBuiltin divmod dot draw draw_counts draw_vectors dtype eig eigh eigs eigvals
syn keyword ricciBuiltin eigvalsh einsum einsum_path ellipe ellipk endswith entries enumerate env
syn keyword ricciBuiltin eps equal erf erfc erfcinv erfinv errno exact exit exp expand expit expm
syn keyword ricciBuiltin expm1 eye factor factorial factorize fft fft2 fftfreq fftn fftshift filter
syn keyword ricciBuiltin filtfilt find find_peaks flags flatten flip floor floor_divide fma fmod
syn keyword ricciBuiltin format frexp full gamma gammainc gammaincinv gaussian_filter gcd gelu
syn keyword ricciBuiltin geomspace grad gradcheck gradient gram_schmidt graph greater greater_equal
syn keyword ricciBuiltin heat help hermite hess hessian hilbert hist histogram histogram2d hull
syn keyword ricciBuiltin hypot ic0 idct ifft ifft2 ifftn ifftshift ilu0 imag insert int interp
syn keyword ricciBuiltin intersect inv invert irfft isclose isdefinite isfinite ishermitian isin
syn keyword ricciBuiltin isinf isnan isprime issparse issymmetric istft jacobian join jvp keys kron
syn keyword ricciBuiltin kronrod laguerre lazy_stats lbeta lcm ldexp ldl legendre len less
syn keyword ricciBuiltin less_equal lexsort lfilter lgamma like lines linspace load log log10 log1p
syn keyword ricciBuiltin log2 logaddexp logit logm logspace logsumexp lower lstrip lstsq lu
syn keyword ricciBuiltin lu_solve lyapunov map matmul matmul_i8 matpow max maximum mean measure
syn keyword ricciBuiltin median median_filter member memory meshgrid mid min minimum mod moveaxis
syn keyword ricciBuiltin multiply nan_to_num nanmax nanmean nanmedian nanmin nanstd nansum nanvar
syn keyword ricciBuiltin ndim negative nextafter nnz nonzero norm not_contains not_equal notices
syn keyword ricciBuiltin numerator offsetof ones orth outer pad panels partition periodogram pin
syn keyword ricciBuiltin pinv plot polar polygamma positive power primes print prod product_i8
syn keyword ricciBuiltin progress prune ptp ptr qr quantile quantize quantize_decimal rad2deg
syn keyword ricciBuiltin radius rand randint randn rank ravel_index read real realmax realmin
syn keyword ricciBuiltin reduce release relu relu6 remainder repeat replace repr reshape rfft
syn keyword ricciBuiltin rfftfreq rint roll rot90 round rref rstrip sampled save scatter schur
syn keyword ricciBuiltin searchsorted seed setdiff shadow shape shl shr shuffle sigmoid sign silu
syn keyword ricciBuiltin simulate sin sinc sinh size sizeof slogdet softmax softplus solve sort
syn keyword ricciBuiltin sparse spdiags speye split spy sqrt sqrtm squeeze stack startswith std
syn keyword ricciBuiltin steps stft stream streams string strip subtract sum svd svds svdvals
syn keyword ricciBuiltin swapaxes sylvester take take_along tan tanh tempdir tensordot tile time to
syn keyword ricciBuiltin trace transpose trapezoid tril tril_indices triu triu_indices trunc type
syn keyword ricciBuiltin ulp union unique unpin unravel_index unwrap upper value_and_grad var vjp
syn keyword ricciBuiltin warn welch where width window with_fields with_values write xlogy xor
syn keyword ricciBuiltin zeros zeta zip
" -- to here

" A name behind a point is a field, whatever it is elsewhere: t.size.
syn match ricciPoint "[A-Za-z0-9_)\]']\@1<=\.\ze\h" nextgroup=ricciField
syn match ricciField "\h\w*" contained
syn match ricciFunctionName "\K\k*" contained
syn match ricciTest "^\s*test\ze\s*\""

syn match ricciOperator "[-+*/%@\\^&|!<>=:]"
syn match ricciOperator "[·⊗×≈≤≥≠√⋅−]"
syn match ricciDefine ":="
syn match ricciArrow "->\||>"
syn match ricciTranspose "\([A-Za-z0-9_)\]}'[:alpha:]]\)\@1<='\+"

syn match ricciNumber "\<\d[0-9_]*i\?\>"
syn match ricciNumber "\<0[xX][0-9a-fA-F_]\+\>"
syn match ricciNumber "\<0[bB][01_]\+\>"
syn match ricciFloat "\<\d[0-9_]*\.\d[0-9_]*\([eE][-+]\?\d\+\)\?i\?"
syn match ricciFloat "\<\d[0-9_]*[eE][-+]\?\d\+i\?\>"
syn match ricciFloat "\.\@1<!\.\d[0-9_]*\([eE][-+]\?\d\+\)\?i\?"

syn match ricciEscape "\\[ntr0\\\"]" contained
syn match ricciEscape "\\u{\x*}" contained
syn match ricciEscape "{{\|}}" contained
syn region ricciHole matchgroup=ricciHoleEdge start="{{\@!" end="}" contained contains=TOP
syn region ricciString start=+"+ skip=+\\"+ end=+"+ end=+$+ contains=ricciEscape,ricciHole
syn region ricciRaw start="`" end="`"

syn keyword ricciTodo TODO FIXME contained
syn match ricciComment "#.*$" contains=ricciTodo,@Spell
syn match ricciDoc "##.*$" contains=ricciTodo,@Spell

" What stands in an extern block is C.
syn region ricciExtern start=+\(\<extern\s*"[^"]*"\s*\(as\s\+\w\+\s*\)\?\)\@<={+ end="}" contains=ricciExternBrace
syn region ricciExternBrace start="{" end="}" contained contains=ricciExternBrace

hi def link ricciConditional Conditional
hi def link ricciRepeat Repeat
hi def link ricciException Exception
hi def link ricciStatement Statement
hi def link ricciFunction Keyword
hi def link ricciFunctionName Function
hi def link ricciInclude Include
hi def link ricciScope Keyword
hi def link ricciSoft Keyword
hi def link ricciTest Keyword
hi def link ricciWordOperator Operator
hi def link ricciConstant Boolean
hi def link ricciValue Constant
hi def link ricciFormat Type
hi def link ricciBuiltin Function
hi def link ricciOperator Operator
hi def link ricciDefine Operator
hi def link ricciArrow Operator
hi def link ricciTranspose Operator
hi def link ricciNumber Number
hi def link ricciFloat Float
hi def link ricciString String
hi def link ricciRaw String
hi def link ricciEscape SpecialChar
hi def link ricciHoleEdge Special
hi def link ricciComment Comment
hi def link ricciDoc SpecialComment
hi def link ricciTodo Todo

syn sync minlines=100
let b:current_syntax = "ricci"
