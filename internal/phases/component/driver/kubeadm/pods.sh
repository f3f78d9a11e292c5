# Static pods of the kubelet, by the names of their components. Each carries in its environment the revision that it was made with.
MANIFESTS=/etc/kubernetes/manifests
ASIDE=/etc/kubernetes/eggo
# madebefore NAME DIR: on a node that was imported and not taken over yet, the process is of a container that kubeadm made before: the one of
# this name of a static pod, which alone has a uid without dashes, or of kube-proxy's pod. Somebody's own etcd, say, is none of them.
madebefore() {
  grep -qs '^imported' /var/lib/eggo-node/record || return 1
  u=$(sed -n 's#.*[/-]pod\([0-9a-f_-]*\)\(\.slice\)\{0,1\}/.*#\1#p' "$2/cgroup" 2>/dev/null | head -n 1 | tr _ -)
  case $u in '') return 1 ;; *-*) [ "$1" = kube-proxy ] || return 1 ;; esac
  [ -d "/var/lib/kubelet/pods/$u/containers/$1" ]
}
# pods: a line of each process of such a pod: component, process, revision
pods() {
  find /proc -mindepth 2 -maxdepth 2 -name exe -path '/proc/[0-9]*' -printf '%h %l\n' 2>/dev/null | while read -r d l; do
    case ${l##*/} in etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy) ;; *) continue ;; esac
    v=$(tr '\0' '\n' 2>/dev/null <"$d/environ" | sed -n 's/^EGGO_REVISION=//p')
    if [ -z "$v" ] && madebefore "${l##*/}" "$d"; then v=-; fi
    [ -z "$v" ] || printf '%s %s %s\n' "${l##*/}" "${d#/proc/}" "$v"
  done
}
# podstates NAME...: how each is, and the image that it runs from. One whose manifest the kubelet has, and of which no container runs, failed.
podstates() {
  all=$(pods)
  for c in "$@"; do
    case "
$all" in
    *"
$c "*) printf 'unit=%s active\n' "$c" ;;
    *) if [ -e "$MANIFESTS/$c.yaml" ]; then printf 'unit=%s failed\n' "$c"; else printf 'unit=%s inactive\n' "$c"; fi ;;
    esac
    [ ! -e "$MANIFESTS/$c.yaml" ] || printf 'runs=%s %s\n' "$c" "$(sed -n 's/^ *image: *//p' "$MANIFESTS/$c.yaml" | head -n 1)"
  done
}
# edited NAME...: the manifests that are not what they were when they were made, or are gone
edited() {
  for c in "$@"; do
    m=$MANIFESTS/$c.yaml s=/var/lib/eggo-node/applied/$c.manifest
    { [ -e "$s" ] && [ ! -e "$ASIDE/$c.stopped" ]; } || continue
    if [ -e "$m" ]; then
      x=$(sha256sum <"$m")
      [ "${x%% *}" != "$(cat "$s")" ] || continue
    fi
    printf 'edited=%s %s\n' "$c" "$m"
  done
}
# podlog NAME: the last lines that the newest container of the component logged
podlog() {
  # shellcheck disable=SC2012 # the kubelet names these files
  f=$(ls -t /var/log/pods/kube-system_"$1"-*/"$1"/*.log 2>/dev/null | head -n 1)
  [ -z "$f" ] || tail -n 20 "$f" | sed 's/^[^ ]* \(stdout\|stderr\) [^ ]* //'
}
# ended NAME SECONDS: waits until no process of the component runs any more
ended() {
  n=0
  while pods | grep -q "^$1 "; do
    n=$((n + 1))
    if [ $n -gt $(($2 * 5)) ]; then echo "the kubelet does not end $1" >&2; exit 1; fi
    sleep 0.2
  done
}
# down NAME SECONDS: its manifest is put aside, and it has ended
down() {
  if [ -e "$MANIFESTS/$1.yaml" ]; then mv -f "$MANIFESTS/$1.yaml" "$ASIDE/$1.stopped"; fi
  ended "$1" "$2"
}
# up NAME: the manifest that was put aside is the kubelet's again
up() { [ ! -e "$ASIDE/$1.stopped" ] || mv -f "$ASIDE/$1.stopped" "$MANIFESTS/$1.yaml"; }
# isdown NAME...: nothing but up, or another manifest, starts one of them
isdown() {
  all=$(pods)
  for c in "$@"; do
    case "
$all" in
    *"
$c "*) return 1 ;;
    esac
    [ ! -e "$MANIFESTS/$c.yaml" ] || return 1
  done
}
