# Static pods of the kubelet, by the names of their components. Each carries in its environment the revision that it was made with.
MANIFESTS=/etc/kubernetes/manifests
ASIDE=/etc/kubernetes/eggo
# madebefore DIR: on a node that was imported the process is of a pod in the network of the node, which kubeadm made before
madebefore() {
  grep -qs '^imported' /var/lib/eggo-node/record && grep -qs kubepods "$1/cgroup" &&
    [ "$(readlink "$1/ns/net")" = "$(readlink /proc/1/ns/net)" ]
}
# pods: a line of each process of such a pod: component, process, revision
pods() {
  find /proc -mindepth 2 -maxdepth 2 -name exe -path '/proc/[0-9]*' -printf '%h %l\n' 2>/dev/null | while read -r d l; do
    case ${l##*/} in etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy) ;; *) continue ;; esac
    v=$(tr '\0' '\n' <"$d/environ" 2>/dev/null | sed -n 's/^EGGO_REVISION=//p')
    if [ -z "$v" ] && madebefore "$d"; then v=-; fi
    [ -z "$v" ] || printf '%s %s %s\n' "${l##*/}" "${d#/proc/}" "$v"
  done
}
# podstates NAME...: how each is, and the image that it runs from
podstates() {
  all=$(pods)
  for c in "$@"; do
    case "
$all" in
    *"
$c "*) printf 'unit=%s active\n' "$c" ;;
    *) printf 'unit=%s inactive\n' "$c" ;;
    esac
    [ ! -e "$MANIFESTS/$c.yaml" ] || printf 'runs=%s %s\n' "$c" "$(sed -n 's/^ *image: *//p' "$MANIFESTS/$c.yaml" | head -n 1)"
  done
}
# podlog NAME: the last lines that the newest container of the component logged
podlog() {
  # shellcheck disable=SC2012 # the kubelet names these files
  f=$(ls -t /var/log/pods/kube-system_"$1"-*/"$1"/*.log 2>/dev/null | head -n 1)
  [ -z "$f" ] || tail -n 20 "$f" | sed 's/^[^ ]* \(stdout\|stderr\) [^ ]* //'
}
# ended NAME: waits until no process of the component runs any more
ended() {
  n=0
  while pods | grep -q "^$1 "; do
    n=$((n + 1))
    if [ $n -gt 600 ]; then echo "the kubelet does not end $1" >&2; exit 1; fi
    sleep 0.2
  done
}
# down NAME: its manifest is put aside, and it has ended
down() {
  if [ -e "$MANIFESTS/$1.yaml" ]; then mv -f "$MANIFESTS/$1.yaml" "$ASIDE/$1.stopped"; fi
  ended "$1"
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
