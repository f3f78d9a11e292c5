# What a kubelet that others have set up is started with: "env VARIABLE=VALUE" of each line of its files of variables, "arg WORD" of its
# command line, "var VARIABLE" of what it heeds and ours would not have, "file PATH" and "conf LINE" of its configuration. Nothing of one that is ours already.
[ ! -e "$APPLIED" ] || exit 0
for f in /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet; do
  if [ -r "$f" ]; then sed 's/^/env /' "$f"; echo; fi
done
p=$(systemctl show -p MainPID --value kubelet.service 2>/dev/null || true)
config=/var/lib/kubelet/config.yaml
case $p in '' | 0 | *[!0-9]*) ;;
*)
  if [ -r "/proc/$p/cmdline" ]; then
    at=$(tr '\n\0' ' \n' <"/proc/$p/cmdline" | sed -n -e 's/^--*config=//p' -e '/^--*config$/{n;p;}' | tail -n 1)
    [ -z "$at" ] || config=$at
    tr '\n\0' ' \n' <"/proc/$p/cmdline" | sed 's/^/arg /'
    heeded "$p" kubelet
  fi
  ;;
esac
if [ -f "$config" ] && [ -r "$config" ]; then
  printf 'file %s\n' "$config"
  sed 's/^/conf /' "$config"
  echo
fi
