#!/bin/bash
# The subcommands of the program: doctest, test, fmt, doc, --explain, and the command line's own
# errors. What each prints, and its exit status. RICCI names the binary.
set -u
here=$(cd "$(dirname "$0")" && pwd)
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-tools.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export TERM=dumb LC_ALL=C.UTF-8
passed=0 failed=0

# says NAME STATUS COMMAND…: what it prints on both streams is on this function's own input.
says() {
    local name=$1 want=$2 got
    shift 2
    cat >want
    timeout 20 "$@" </dev/null >got 2>&1
    got=$?
    if [ $got = "$want" ] && diff -u want got >diff; then passed=$((passed + 1)); else
        failed=$((failed + 1)); echo "FAIL $name (exit $got, $want expected)"; cat diff; fi
}
# has NAME STATUS PATTERN COMMAND…: one line of what it prints matches.
has() {
    local name=$1 want=$2 pattern=$3 got
    shift 3
    timeout 20 "$@" </dev/null >got 2>&1
    got=$?
    if [ $got = "$want" ] && grep -qaE -- "$pattern" got && ! grep -qaE 'Sanitizer|runtime error' got; then passed=$((passed + 1)); else
        failed=$((failed + 1)); echo "FAIL $name (exit $got, $want expected; /$pattern/)"; head -c 800 got; fi
}

# ---- doctest ----
block() { printf '```%s\n%s\n```\n' "$1" "$2"; }
{ block ricci 'print(1/3)
print("a")'; block text '0.3333333333
b'; } >one.md
says "a difference" 1 "$RICCI" doctest one.md <<'W'
FAIL one.md:1: what comes out differs (- shown, + came out)
    @@ line 6
      0.3333333333
    - b
    + a
    help: ricci doctest --fix one.md writes what came out
0 passed, 1 failed
W
cp one.md fixed.md
says "--fix" 0 "$RICCI" doctest --fix fixed.md <<'W'
fixed fixed.md:1
1 passed, 0 failed
W
sed 's/^b$/a/' one.md >want.md
says "--fix keeps all else" 0 cmp fixed.md want.md </dev/null
sed 's/$/\r/' one.md >crlf.md
sed 's/$/\r/' want.md >want_crlf.md
"$RICCI" doctest --fix crlf.md >/dev/null
says "--fix of CRLF" 0 cmp crlf.md want_crlf.md </dev/null
{ echo '1. in a list'; echo; sed 's/^/   /' one.md; } >list.md
{ echo '1. in a list'; echo; sed 's/^/   /' want.md; } >want_list.md
"$RICCI" doctest --fix list.md >/dev/null
says "--fix in a list" 0 cmp list.md want_list.md </dev/null
says "tolerance 0" 1 "$RICCI" doctest --tolerance 0 want.md <<'W'
FAIL want.md:1: what comes out differs (- shown, + came out)
    @@ line 6
    - 0.3333333333
    + 0.3333333333333333
      a
    help: ricci doctest --fix want.md writes what came out
0 passed, 1 failed
W
match() {           # NAME STATUS PROGRAM SHOWN
    { block ricci "$3"; block text "$4"; } >match.md
    has "$1" "$2" "^$((1 - $2)) passed" "$RICCI" doctest match.md
}
match "a number within the tolerance" 0 'print(1/3)' '0.33333333'
match "one outside" 1 'print(1/3)' '0.3334'
match "one unit of the last shown place" 0 'print([1/3])' '[0.33334]'
match "two units" 1 'print([1/3])' '[0.33335]'
match "an int is exact" 1 'print(1000000000)' '1000000001'
match "an int is no float" 1 'print(2.0)' '2'
match "digits beyond a double's" 1 'precision mp(100) { print(sqrt(2.0)) }' '1.414213562373095048801688724208'
match "bytes within the tolerance" 0 'print("100000000 B")' '100000001 B'
match "kilobytes, one of them whole" 0 'print("59.0000001 kB")' '59 kB'
match "bytes outside" 1 'print("944 B")' '896 B'
match "a duration" 0 'print("took 3.2 ms")' 'took 17 µs'
match "a rate" 0 'print("at 3.2 GFLOP/s")' 'at 17.5 MFLOP/s'
match "no duration" 1 'print("3.2 m")' '3.3 m'
match "… in a line" 0 'print("a b c", 3)' 'a … 3'
match "… that does not fit" 1 'print("a b c", 3)' 'a … 4'
match "… takes any lines" 0 'for k in 0:9 { print(k) }' '0
…
8'
match "... too" 0 'for k in 0:9 { print(k) }' '...
8'
match "columns of other widths" 0 'print([1/3; 2/3], "x")' '⎡0.333331⎤   x
⎣0.66667 ⎦'
match "a duration of another width" 0 'print("    3.2 ms sim  3 kB")' '17 µs sim  3 kB'
match "blanks that differ alone" 1 'print([1; 20])' '⎡1⎤
⎣20⎦'
match "blanks at the end" 0 'print("a")' 'a  

'
match "nothing shown" 1 'print("a")' ''
{ block ricci 'v = [1, 2]'; block 'ricci continue' 'print(v)'; block text '[1, 2]'
  block 'session continue' 'ricci> v + 1
vector of 2 i64
[2, 3]
ricci> w = v;'; block 'ricci continue' 'print(w)'; block text '[1, 2]'; block 'ricci skip' 'nonsense('; } >continue.md
has "continue" 0 '^4 passed, 0 failed' "$RICCI" doctest continue.md
block 'ricci continue' 'print(1)' >alone.md
has "continue of nothing" 1 'there is no block before' "$RICCI" doctest alone.md
block session 'ricci> fn f(x) {
  ...>     x + 1
  ...> }
ricci> f(1)
2
  ...> f(2)
3' >session.md
says "a session" 1 "$RICCI" doctest session.md <<'W'
FAIL session.md:7: the entry before is complete: this line would be one of its own
0 passed, 1 failed
W
block session 'ricci> 1 +
ricci> 2' >session.md
has "a session that goes on" 1 'session.md:3: the entry before is not complete' "$RICCI" doctest session.md
block session 'ricci> 1 + 1
3

ricci> 5
6
ricci> y = 2' >session.md
has "--fix of a session" 0 '^fixed session.md:1' "$RICCI" doctest --fix session.md
says "what it wrote" 0 cat session.md <<'W'
```session
ricci> 1 + 1
2

ricci> 5
5
ricci> y = 2
```
W
block session 'ricci> :quit
ricci> 2' >session.md
has "a session that ends" 1 'session.md:3: the session ended before' "$RICCI" doctest session.md
block ricci 'nonsense(' >fails.md
has "a program that fails" 1 'fails.md:1: fails with exit status 1' "$RICCI" doctest fails.md
block ricci-error '1 + 1' >runs.md
has "one that does not" 1 'runs.md:1: has to fail, but runs' "$RICCI" doctest runs.md
{ block ricci-error '[1, 2] + [1, 2, 3]'; block text 'error[shape]: …
...'; } >error.md
has "an error" 0 '^1 passed, 0 failed' "$RICCI" doctest error.md
{ block ricci 'while true { }'; block ricci 'print(2)'; } >loop.md
says "an endless loop" 1 "$RICCI" doctest --timeout 0.3 loop.md <<'W'
FAIL loop.md:1: did not end within 0.3 s
1 passed, 1 failed
W
{ block ricci 'extern "libc.so.6" { int raise(int); }
raise(9)'; block ricci 'exit(3)'; block ricci 'exit(0)'; } >crash.md
has "a crash" 1 'crash.md:1: crashed: Killed' "$RICCI" doctest --trust crash.md
has "its neighbours" 1 '^1 passed, 2 failed' "$RICCI" doctest --trust crash.md
block ricci 'while true { print("x" * 1000) }' >flood.md
has "endless output" 1 'printed more than' "$RICCI" doctest flood.md
printf '```ricci\nprint(1)\n' >open.md
has "an open fence" 1 'open.md:1: this fence is never closed' "$RICCI" doctest open.md
{ echo '````markdown'; block ricci 'nonsense('; echo '````'; echo '~~~ricci'; echo 'print(1)'; echo '~~~'; } >nested.md
has "nested fences" 0 '^1 passed, 0 failed' "$RICCI" doctest nested.md
block 'ricci contine' 1 >slip.md
has "a slip in a word" 1 'slip.md:1: `contine` after the fence: did you mean `continue`' "$RICCI" doctest slip.md
block 'ricci title="a b" {.x}' 1 >words.md
has "words of others" 0 '^1 passed, 0 failed' "$RICCI" doctest words.md
{ block ricci 'print("```")'; block text 'x'; } >fence.md
has "--fix with a fence in the output" 1 'holds a fence' "$RICCI" doctest --fix fence.md
head -c 100000 /dev/urandom >noise.md
has "noise" 1 'holds NUL bytes' "$RICCI" doctest noise.md
tr -d '\0' <noise.md >noise2.md
has "noise without NUL" 0 '^0 passed, 0 failed' "$RICCI" doctest noise2.md
yes '```ricci' | head -20000 >fences.md
has "only fences" 1 'fences.md:1: this fence is never closed' "$RICCI" doctest fences.md
has "no such file" 1 'nothing.md: cannot be read: No such file' "$RICCI" doctest nothing.md
mkdir -p folder/inner
block ricci 'print(1)' | tee folder/a.md >folder/inner/b.md
has "a folder" 0 '^2 passed, 0 failed' "$RICCI" doctest folder
if [ "$(id -u)" != 0 ]; then
    chmod 444 one.md
    has "--fix of a file that may not be written" 1 'cannot be written: Permission denied' "$RICCI" doctest --fix one.md
fi

{ echo '# Pictures'; block ricci 'plot([1, 2, 3], to="line.svg")
plot([1, 2], to="alone.svg")
print("ends ``` here")'; echo '![a line](line.svg) and [no picture](alone.svg)'; block ricci-error 'throw "no"'
block ricci 'x = 1'; echo '- in a list'; block ricci 'print(1)' | sed 's/^/  /'; } >folder/made.md
has "without --fix nothing is written" 0 '^4 passed, 0 failed' "$RICCI" doctest folder/made.md
says "no picture either" 1 test -e folder/line.svg </dev/null
says "--fix of missing outputs" 0 "$RICCI" doctest --fix folder/made.md <<'W'
fixed folder/made.md:2
fixed folder/made.md:8
fixed folder/made.md:15
wrote line.svg beside folder/made.md
4 passed, 0 failed
W
says "what it wrote" 0 sed -n '6,30p' folder/made.md <<'W'
```
````text
ends ``` here
````
![a line](line.svg) and [no picture](alone.svg)
```ricci-error
throw "no"
```
```text
error[throw]: no
  --> <stdin>:1:1
 1 | throw "no"
   | ^^^^^
```
```ricci
x = 1
```
- in a list
  ```ricci
  print(1)
  ```
  ```text
  1
  ```
W
has "the picture the document shows" 0 '<svg' head -3 folder/line.svg
says "and no other" 1 test -e folder/alone.svg </dev/null
says "--fix again" 0 "$RICCI" doctest --fix folder/made.md <<'W'
4 passed, 0 failed
W
{ echo '# A <b> & *c*'; echo; echo 'See [it](https://a.b/?x&y), [no](javascript:x) `a<b` **x**'; echo '![outside](https://a.b/x.png)'; echo; echo '- one'; echo '  - two'; echo
echo '| a | b |'; echo '|---|---|'; echo '| 1 | `|` |'; block ricci 'plot([1, 2], to="line.svg")
write("bad.svg", "<svg><script>alert(1)</script></svg>")
print("<i>")'; } >page.md
cp page.md page.want
has "--html" 0 '^1 passed, 0 failed' "$RICCI" doctest --html page.html page.md
says "the document stays" 0 cmp page.md page.want </dev/null
says "what the page says" 0 sh -c 'sed -n "/<body>/,/<p><img/p" page.html | cut -c1-40' <<'W'
<body>
<h1 id="a-b--c">A &lt;b&gt; &amp; <em>c<
<p>See <a href="https://a.b/?x&amp;y">it
outside</p>
<ul>
<li>one
<ul>
<li>two
</li></ul>
</li></ul>
<table>
<tr><th>a </th><th>b </th></tr>
<tr><td>1 </td><td><code>|</code> </td><
</table>
<pre class="ricci"><code>plot([1, 2], to
write(&quot;bad.svg&quot;, &quot;&lt;svg
print(&quot;&lt;i&gt;&quot;)
</code></pre>
<pre class="text"><code>&lt;i&gt;
</code></pre>
<p><img src="data:image/svg+xml;base64,P
W
has "a drawing in the page" 0 '^<p><svg xmlns=' cat page.html
says "nothing in it runs" 1 grep -iE '<script|javascript|onload|<img src="[^d]' page.html </dev/null
has "a page of two documents" 2 'takes one document' "$RICCI" doctest --html page.html page.md one.md
has "a page that cannot be written" 1 '^FAIL nowhere/page.html: cannot be written' "$RICCI" doctest --html nowhere/page.html page.md

# ---- test ----
mkdir -p suite/inner
printf 'x = 2\ntest "good sum" { assert x + 1 == 3 }\ntest "bad" { y = x + 1; assert y == 4 }\n' >suite/a.ric
printf 'test "good product" { assert 2 * 3 == 6 }\nprecision f16 { test "in a scope" { assert dtype(0.1) == f16 } }\n' >suite/inner/b.ric
has "a folder of tests" 1 '^3 passed, 1 failed' "$RICCI" test suite
has "the folder one is in" 1 '^3 passed, 1 failed' sh -c "cd suite && '$RICCI' test"
has "-k" 0 '^2 passed, 0 failed' "$RICCI" test -k GOOD suite
has "-k that nothing has" 0 "no test has 'zebra'" "$RICCI" test -k zebra suite
says "--list" 0 "$RICCI" test --list suite <<'W'
suite/a.ric:2: good sum
suite/a.ric:3: bad
suite/inner/b.ric:1: good product
suite/inner/b.ric:2: in a scope
W
has "-v" 1 '^ok   suite/a.ric: good sum  [0-9.]+ [nµm]?s' "$RICCI" test -v suite
printf 'test "quick" { assert true }\ntest "endless" {\n    while true { }\n}\ntest "caught" { try { while true { } } catch e { } }\n' >slow.ric
says "tests that do not end" 1 "$RICCI" test --timeout 0.2 slow.ric <<'W'
FAIL slow.ric:2: endless: ran longer than 0.2 s, what --timeout gives a test
error[interrupt]: stopped here after 0.2 s
  --> slow.ric:3:5
 3 |     while true { }
   |     ^^^^^
FAIL slow.ric:5: caught: ran longer than 0.2 s, what --timeout gives a test
error[interrupt]: stopped here after 0.2 s
  --> slow.ric:5:23
 5 | test "caught" { try { while true { } } catch e { } }
   |                       ^^^^^
1 passed, 2 failed
W
printf 'extern "libc.so.6" { int pause(void); }\ntest "native" { while true { pause() } }\ntest "after" { assert true }\n' >native.ric
has "a native call that does not end" 1 '^FAIL native.ric:2: native: ran longer' "$RICCI" test --timeout 0.2 native.ric
has "no limit" 0 '^1 passed, 0 failed' "$RICCI" test --timeout 0 -k quick slow.ric
has "--limit of the run" 1 '^1 passed, 1 failed' "$RICCI" --limit seconds=1 test slow.ric
has "the values of what failed" 1 'y is 3' "$RICCI" test suite/a.ric

# ---- fmt ----
printf 'x=1\ny = 2\n' >messy.ric
printf 'x = 1\ny = 2\n' >tidy.ric
says "fmt --check" 1 "$RICCI" fmt --check messy.ric tidy.ric <<'W'
messy.ric:1: is not in canonical form
  - x=1
  + x = 1
1 file would change; ricci fmt -w rewrites it
W
says "fmt --diff" 1 "$RICCI" fmt --diff messy.ric tidy.ric <<'W'
messy.ric
@@ line 1
- x=1
+ x = 1
  y = 2
W
says "fmt --check of tidy files" 0 "$RICCI" fmt --check tidy.ric </dev/null
says "fmt -w" 0 "$RICCI" fmt -w messy.ric </dev/null
says "what it wrote" 0 cmp messy.ric tidy.ric </dev/null
printf '\n\n\n' >blank.ric
: >empty.ric
says "fmt --check of an empty file" 0 "$RICCI" fmt --check empty.ric </dev/null
has "fmt of a syntax error" 1 'error\[syntax\]' sh -c "echo 'x = (' >bad.ric; '$RICCI' fmt --check bad.ric"

# ---- doc and --explain ----
has "doc of several" 0 '^qr\(' "$RICCI" doc svd qr
has "doc of an operator" 0 '' "$RICCI" doc -
has "--explain" 0 '^  shape ' "$RICCI" --explain
has "--explain KIND" 0 'error\[shape\]' "$RICCI" --explain shape
has "--explain 'error[KIND]'" 0 'error\[shape\]' "$RICCI" --explain 'error[shape]'
has "--explain of a slip" 1 "there is no kind of error 'shap'; did you mean shape" "$RICCI" --explain shap

# ---- the command line ----
has "a slip in an option" 2 'did you mean --strict-devices' "$RICCI" --strict-device
has "a slip in a subcommand" 2 'did you mean ricci doctest' "$RICCI" doctets x.md
has "a slip in a subcommand's option" 2 'did you mean --check' "$RICCI" fmt --chek x.ric
has "another's option" 2 "unknown option '--fix'" "$RICCI" test --fix x.ric
has "a word of other tools" 2 'ricci FILE' "$RICCI" run x.ric
has "a subcommand's help" 0 'usage: ricci doctest' "$RICCI" doctest --help
has "an option without its value" 2 "missing after '-k'" "$RICCI" test -k
has "a value that is none" 2 "not 'x'" "$RICCI" doctest --tolerance x a.md
has "two ways to format" 2 'one of -w' "$RICCI" fmt -w --check x.ric

# ---- links of the documents ----
missing=$(cd "$here/.." && for file in README.md docs/*.md; do
    grep -oE '\]\([A-Za-z.][^)#: ]*\)' "$file" | tr -d '()]' | sort -u | while IFS= read -r link; do
        [ -e "$(dirname "$file")/$link" ] || echo "$file: $link"
    done
done)
if [ -z "$missing" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL links to nothing"; echo "$missing"; fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
