# version FILE LINK: records a version of a binary and the link to it, before either is made. The directory of versions is root's alone.
version() {
  v=/opt/eggo
  if [ -e $v ] || [ -L $v ]; then
    [ ! -L $v ] && [ -d $v ] && [ -O $v ] && [ -z "$(find $v -maxdepth 0 -perm /022)" ] || fail node.unsafe-versions $v
  fi
  own "$1"
  own "$2"
  ! command -v restorecon >/dev/null 2>&1 || restorecon -R "$v" 2>/dev/null || : # by SELinux's policy: binaries
}
# point LINK FILE: the link leads to the file from one moment to the next; a file of ours that was in its place is gone then
point() {
  own "$1"
  [ -x "$2" ] || fail node.no-binary "$2"
  rm -f "$1.eggo-new"
  ln -s "$2" "$1.eggo-new"
  mv -fT "$1.eggo-new" "$1"
}
# retire FILE LINK...: a version goes, with the links of ours that still lead to it, and is no longer recorded; each line may run twice. It
# stays when one of the LINKs, by which services are started, leads to it.
retire() {
  f=$1
  shift
  for l in "$@"; do
    if [ -L "$l" ] && [ "$(realpath -m "$l")" = "$(realpath -m "$f")" ]; then fail node.version-linked "$l"; fi
  done
  set -- "$f"
  awk -F'\t' '$1=="file" {print $2}' "$R" >"$D/files"
  while IFS= read -r l; do
    if [ -L "$l" ] && [ "$(readlink "$l")" = "$1" ]; then rm -f "$l"; unrec file "$l"; fi
  done <"$D/files"
  rm -f "$1" "$1.eggo-part" "$D/files"
  for d in "${1%/*}" "${1%/bin/*}"; do # one in which somebody put something stays recorded
    [ ! -d "$d" ] || rmdir "$d" 2>/dev/null || break
    unrec dir "$d"
  done
  unrec via "$1"
  unrec file "$1"
}
