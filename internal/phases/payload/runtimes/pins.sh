# The mark of images that the kubelet does not remove. Those that we have marked are listed in the node's record.
mark=io.cri-containerd.pinned
# among LIST NAME: the list has the name
among() { printf '%s\n' "$1" | grep -Fqx -e "$2"; }
# loose NAME...: those of the images that the node has and nobody has marked
loose() {
  has=$(@CTR@ images ls -q)
  held=$(@CTR@ images ls -q "labels.\"$mark\"==pinned")
  for i in "$@"; do
    ! among "$has" "$i" || among "$held" "$i" || printf '%s\n' "$i"
  done
}
# pin NAME...: marks them
pin() {
  list=$(loose "$@")
  for i in $list; do
    printf '%s\n' "$i" >>"$D/pinned"
    @CTR@ images label "$i" "$mark=pinned" >/dev/null
  done
}
# unpin: takes away the marks that are ours, of the images that are still there
unpin() {
  [ -e "$D/pinned" ] || return 0
  has=$(@CTR@ images ls -q)
  while IFS= read -r i; do
    ! among "$has" "$i" || @CTR@ images label "$i" "$mark=" >/dev/null
  done <"$D/pinned"
  rm -f "$D/pinned"
}
