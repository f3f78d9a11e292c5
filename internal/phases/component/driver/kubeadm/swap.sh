# The manifest that was made takes the place of the one that the kubelet has, which is kept. Where that one is of the same revision, and was
# edited or has to start again, its pod ends first: nothing else would tell the new one from it.
at=$MANIFESTS/$NAME.yaml
own "$at"
# shellcheck disable=SC3044 # dirs is a function of the record
dirs "$ASIDE"
(umask 077; cat "$D/pods/$NAME/$NAME.yaml" >"$ASIDE/$NAME.new")
# what the kubelet would make for a pod is made and recorded here
awk '/^ *path: / {p=$0; sub(/^ *path: /, "", p); gsub(/^["\047]|["\047]$/, "", p)} /^ *type: DirectoryOrCreate$/ {print p}' "$ASIDE/$NAME.new" | while IFS= read -r p; do
  # shellcheck disable=SC3044 # as above
  dirs "$p"
done
if [ -e "$at" ]; then
  if grep -qF "$REVISION" "$at"; then down "$NAME" "$SECONDS_TO_END"; else cp -p "$at" "$ASIDE/$NAME.before"; fi
fi
sync "$ASIDE/$NAME.new" 2>/dev/null || sync
mv -f "$ASIDE/$NAME.new" "$at"
rm -rf "$ASIDE/$NAME.stopped" "$D/pods/$NAME"
sum=$(sha256sum <"$at")
stamp "$NAME.manifest" "${sum%% *}"
stamp "$NAME" "$REVISION"
