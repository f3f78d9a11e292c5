cd /
: >"$D/record.new"
# shellcheck disable=SC2010 # one name, whatever else there is
while IFS=$T read -r k p w; do
  case $w in
  *"$T"*) more=yes ;; # than we write: nobody here knows what it says
  *) more= ;;
  esac
  case $more$k in
  yes*) ;;
  tree|dir) [ -e "$p" ] || continue ;;
  emptied) [ -n "$(ls -A "$p" 2>/dev/null | grep -vx lost+found)" ] || continue ;;
  @KNOWN@) continue ;;
  *) [ -n "$w" ] || continue ;;
  esac
  [ -s "$D/record.new" ] || printf 'format\t1\t-\n' >"$D/record.new"
  printf '%s\t%s\t%s\n' "$k" "$p" "$w" >>"$D/record.new"
done <"$R"
rm -f "$D/node"
find "$D" -mindepth 1 -maxdepth 1 ! -name record ! -name record.new -exec rm -rf --one-file-system {} +
if [ -s "$D/record.new" ]; then mv -f "$D/record.new" "$R"; else rm -f "$D/record.new" "$R"; rmdir "$D"; fi
