# busy: the ticks that the processors worked since the boot as $b, all ticks as $a, and the number of processors as $c
busy() {
  a=0 b=0 c=0
  while read -r l u n s i o q f t x; do
    case $l in cpu) b=$((u + n + s + q + f + ${t:-0})) a=$((b + i + o)) ;; cpu*) c=$((c + 1)) ;; *) break ;; esac
  done </proc/stat
} 2>/dev/null
umask 077
: >>"$part" || exit 81
exec 8<>"$part"
if command -v flock >/dev/null 2>&1; then flock -w "$wait" 8 || exit 82; fi
if [ "$from" = 0 ]; then : >"$part"; fi
[ "$(size "$part")" = "$from" ] || exit 83
busy
b0=$b a0=$a
# The sum is taken afterwards, from memory mostly: a second reader in this pass would halve the speed of a slow node.
cat >>"$part" 8>&-
busy
n=$(size "$part")
if [ "$n" -lt "$size" ]; then echo "short $n $(room)"; exit 84; fi
h=$(hash <"$part")
if [ "$n" != "$size" ] || [ "$h" != "$sha" ]; then rm -f "$part"; echo "sum $h"; exit 85; fi
chmod "$mode" "$part" || exit 81
sync "$part" 2>/dev/null || sync
mv -f "$part" "$path" || exit 81
sync "${path%/*}/" 2>/dev/null || :
if [ "$a" -gt "$a0" ]; then echo "done $(((b - b0) * 100 * c / (a - a0))) $c"; else echo "done"; fi
