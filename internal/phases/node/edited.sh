# A line edited=NAME PATH for each file that is not what NAME was started with, or is gone. What was noted for an earlier stamp, or by
# another version of this program, does not count.
for f in /var/lib/eggo-node/applied/*.files; do
  s=${f%.files}
  { [ -e "$f" ] && [ -e "$s" ] && [ "$(head -n 1 "$f")" = "$(cat "$s")" ]; } || continue
  n=${s##*/}
  sed 1d "$f" | LC_ALL=C sha256sum -c 2>/dev/null | sed -n 's/: FAILED.*$//p' | while IFS= read -r p; do
    printf 'edited=%s %s\n' "${n%.service}" "$p"
  done
done
