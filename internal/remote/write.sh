umask 077
: >>"$part" || exit 81
exec 8<>"$part"
if command -v flock >/dev/null 2>&1; then flock -w "$wait" 8 || exit 82; fi
if [ "$from" = 0 ]; then : >"$part"; fi
[ "$(size "$part")" = "$from" ] || exit 83
h=$({ if [ "$from" != 0 ]; then cat "$part"; fi; tee -a "$part" 8>&-; } | hash)
n=$(size "$part")
if [ "$n" -lt "$size" ]; then echo "short $n $(room)"; exit 84; fi
if [ "$n" != "$size" ] || [ "$h" != "$sha" ]; then rm -f "$part"; echo "sum $h"; exit 85; fi
chmod "$mode" "$part" || exit 81
sync "$part" 2>/dev/null || sync
mv -f "$part" "$path" || exit 81
sync "${path%/*}/" 2>/dev/null || :
echo "done"
