dir=${path%/*}/
if [ ! -d "$dir" ]; then echo "dir"; exit 0; fi
if [ -d "$path" ]; then echo "isdir"; exit 0; fi
if [ -f "$path" ] && [ ! -L "$path" ] && [ "$(size "$path")" = "$size" ] && [ "$(hash <"$path")" = "$sha" ]; then
  rm -f "$part"
  if [ "$(stat -c %a "$path")" = "$mode" ]; then echo same; else chmod "$mode" "$path" && echo mode; fi
  exit 0
fi
n=0 h=-
if [ -f "$part" ] && [ ! -L "$part" ]; then
  exec 8<>"$part"
  if command -v flock >/dev/null 2>&1; then flock -w "$wait" 8 || { echo busy; exit 0; }; fi
  n=$(size "$part")
else
  rm -rf "$part"
fi
if [ "$n" -gt "$size" ]; then n=0; fi
if [ "$n" -gt 0 ]; then h=$(head -c "$n" "$part" | hash); fi
echo "part $n $h $(room)"
