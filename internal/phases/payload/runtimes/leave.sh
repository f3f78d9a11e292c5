keep() { printf 'kept %s\n' "$1"; }
# gone FILE...: files of ours go, and are no longer recorded
gone() {
  for x in "$@"; do
    if has file "$x"; then unfile "$x"; unrec via "$x"; unrec file "$x"; fi
  done
}
# ours KIND PATTERN: the keys in the record that match
ours() { awk -F'\t' -v k="$1" -v e="$2" '$1==k && $2 ~ e {print $2}' "$R"; }
# hollow DIR...: directories that were made for files which are gone
hollow() {
  for x in "$@"; do
    has dir "$x" || continue
    if [ -d "$x" ]; then rmdir "$x" 2>/dev/null || continue; fi
    unrec dir "$x"
  done
}
# fell DIR...: trees of ours go. One with volumes that somebody has named, or with a mount in it, stays recorded, and is said.
fell() {
  for x in "$@"; do
    has tree "$x" || has emptied "$x" || continue
    [ -d "$x" ] || { unrec tree "$x"; continue; }
    if awk -v p="$x/" 'index($2,p)==1 {f=1} END {exit !f}' /proc/mounts || { has tree "$x" && mounted "$x"; } ||
      [ -n "$(find "$x/volumes" -mindepth 1 -maxdepth 1 2>/dev/null | sed 's,.*/,,' | grep -vxE 'backingFsBlockDev|metadata\.db|[0-9a-f]{64}')" ]; then
      keep "$x"
    elif has tree "$x"; then
      rm -rf --one-file-system "$x"
      if [ -e "$x" ]; then keep "$x"; else unrec tree "$x"; fi
    else
      find "$x" -xdev -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf --one-file-system {} +
    fi
  done
}
# dismiss PATTERN: packages of ours of these names go. One that something else has come to need is kept, and said. What
# they have brought with them stays until the node is cleaned up.
dismiss() {
  here=
  for x in $(ours package "$1"); do
    case $(dpkg-query -W -f '${db:Status-Status}' "$x" 2>/dev/null || :) in
    '' | not-installed) unrec package "$x" ;;
    *) here="$here $x" ;;
    esac
  done
  if [ -n "$here" ]; then
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C
    # shellcheck disable=SC2086 # several packages
    dpkgw --remove $here || for x in $here; do dpkgw --remove "$x" || keep "package $x"; done
    rm -f /var/lib/docker/nuke-graph-directory.sh
    for x in $here; do
      case $(dpkg-query -W -f '${db:Status-Status}' "$x" 2>/dev/null || :) in
      config-files) has residue "$x" || dpkgw --purge "$x" ;;
      '' | not-installed) ;;
      *) continue ;;
      esac
      unrec package "$x"
    done
  fi
  here=$(ours rpm "$1")
  [ -n "$here" ] || return 0
  rpmlock
  # shellcheck disable=SC2086 # several packages
  rpmgone $here
  for x in $here; do [ -n "$(rpmhas "$x")" ] || unrec rpm "$x"; done
}
