# What a kubelet that others have set up is started with: "env VARIABLE=VALUE" of each line of its files of variables, "arg WORD" of its
# command line. Nothing of one that is ours already.
[ ! -e "$APPLIED" ] || exit 0
for f in /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet; do
  if [ -r "$f" ]; then sed 's/^/env /' "$f"; echo; fi
done
p=$(systemctl show -p MainPID --value kubelet.service 2>/dev/null || true)
case $p in '' | 0 | *[!0-9]*) exit 0 ;; esac
if [ -r "/proc/$p/cmdline" ]; then tr '\n\0' ' \n' <"/proc/$p/cmdline" | sed 's/^/arg /'; fi
