kv() { printf '%s=%s\n' "$1" "$2"; }
# now: sets n to the time in hundredths of a second
now() { read -r n _ </proc/uptime && n=${n%.*}${n#*.}; }
now; began=$n
kv arch "$(uname -m)"
kv kernel "$(uname -r)"
[ -d /sys/module/ip_set ] || modprobe -n ip_set 2>/dev/null || kv noipset yes
[ -e /proc/net/ip_vs ] || modprobe -n ip_vs 2>/dev/null || grep -qs '/ip_vs\.ko' "/lib/modules/$(uname -r)/modules.dep" "/lib/modules/$(uname -r)/modules.builtin" || kv noipvs yes
command -v ipset >/dev/null 2>&1 || [ -x /usr/sbin/ipset ] || [ -x /sbin/ipset ] || kv noipsetprogram yes
kv hostname "$(cat /proc/sys/kernel/hostname)"
kv machineid "$(cat /etc/machine-id 2>/dev/null || true)"
o=/etc/os-release
[ -r $o ] || o=/usr/lib/os-release
if [ -r $o ]; then head -c 65536 $o | sed 's/^/os=/'; echo; fi
[ -d /run/systemd/system ] && kv systemd yes
[ -f /sys/fs/cgroup/cgroup.controllers ] && kv cgroup2 yes
awk 'NR>1 {print "swap=yes"; exit}' /proc/swaps
kv cpus "$(ls -d /sys/devices/system/cpu/cpu[0-9]* 2>/dev/null | wc -l)"
awk '/^MemTotal:/ {printf "memory=%.0f\n", $2*1024}' /proc/meminfo
awk '/^CapBnd/ {print "caps=" $2}' /proc/self/status
c=/proc/sys/net/netfilter/nf_conntrack_max
if [ ! -e $c ] || { v=$(cat $c) && (echo "$v" >$c) 2>/dev/null; }; then kv conntrack yes; fi
[ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null || true)" = Y ] && kv apparmor yes
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then have=" $(cat /sys/fs/cgroup/cgroup.controllers) "; else have=" $(awk 'NR>1 && $4==1 {printf "%s ", $1}' /proc/cgroups)"; have=" $have "; fi
for x in cpu memory pids; do case "$have" in *" $x "*) ;; *) kv missing "cgroup controller $x";; esac; done
grep -qw overlay /proc/filesystems || modprobe -n overlay 2>/dev/null || kv missing "kernel module overlay"
[ -e /proc/sys/net/bridge ] || modprobe -n br_netfilter 2>/dev/null || kv missing "kernel module br_netfilter"
for x in tar gzip awk sed grep head stat sha256sum mktemp realpath timeout systemctl flock; do command -v $x >/dev/null 2>&1 || kv missing "program $x"; done
now; kv took $((n - began))
if command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ]; then kv nginx yes; fi
for x in apt-get dnf yum; do if command -v $x >/dev/null 2>&1; then kv pkg $x; fi; done
if command -v ip >/dev/null 2>&1; then ip -o addr show | awk '{sub("/.*","",$4); print "address=" $4}'; else hostname -I | tr ' ' '\n' | sed '/^$/d;s/^/address=/'; fi
if command -v ss >/dev/null 2>&1; then ss -Hltnp | awk '{n=split($4,a,":"); p="?"; if (match($0,/users:\(\("[^"]*/)) p=substr($0,RSTART+9,RLENGTH-9); print "listen=" a[n] " " p}'; fi
if command -v ss >/dev/null 2>&1; then ss -Hlntup 'sport = :53' | awk '{a=$5; sub(/:53$/,"",a); sub(/%.*/,"",a); gsub(/[][]/,"",a); if (a=="0.0.0.0" || a=="*" || a=="::" || a=="@IP@") {p="?"; if (match($0,/users:\(\("[^"]*/)) p=substr($0,RSTART+9,RLENGTH-9); print "dnstaken=" p; exit}}'; fi
if [ -r /var/lib/eggo-node/node ]; then kv cluster "$(head -n1 /var/lib/eggo-node/node)"; kv nodename "$(sed -n 2p /var/lib/eggo-node/node)"; fi
if [ -r /var/lib/eggo-node/node ] && [ -r /var/lib/eggo-node/owner ]; then kv owner "$(head -c 2000 /var/lib/eggo-node/owner | head -n1)"; fi
if [ -e /var/lib/eggo-node/record ]; then
  kv recorded yes
  awk -F'\t' 'NF>2 {k=$1; if (NF>3) k=k "+"; if (k=="format") print "recordformat=" $2; else if (!s[k]++) print "recordkind=" k}' /var/lib/eggo-node/record
fi
for p in /var/lib/eggo-node/applied/*.manifest; do # of static pods
  [ -e "$p" ] || continue
  c=${p##*/} c=${c%.manifest}
  [ -e @MANIFESTS@/"$c.yaml" ] || [ -e @ASIDE@/"$c.stopped" ] || kv nomanifest "$c"
done
if grep -qs '^imported' /var/lib/eggo-node/record; then
  # drop-ins that start the kubelet in a way of their own, and what took their place
  for p in /etc/systemd/system/@DROPINS@/*.conf /run/systemd/system/@DROPINS@/*.conf /usr/local/lib/systemd/system/@DROPINS@/*.conf /usr/lib/systemd/system/@DROPINS@/*.conf; do
    if [ -f "$p" ] && grep -q -e '^ *ExecStart *=' -e '^# Written by Eggo' "$p"; then kv kubeletdropin "${p##*/}"; fi
  done
  awk -F'\t' '$1=="unit" && $3=="imported" {print "theirunit=" $2}' /var/lib/eggo-node/record
  [ -s @THEIRS@ ] && kv joined yes
  # whose cgroups the pods are in, as our kubelet was told or, before that, as they are
  if [ -s @KUBELET@ ]; then c=$(sed -n 's/^cgroupDriver: *//p' @KUBELET@)
  elif [ -d /sys/fs/cgroup/kubepods ] || [ -d /sys/fs/cgroup/memory/kubepods ]; then c=cgroupfs
    # or were, when a kubelet was changed to systemd since the machine started
    if { [ -d /sys/fs/cgroup/kubepods.slice ] || [ -d /sys/fs/cgroup/memory/kubepods.slice ]; } &&
      [ -z "$(find /sys/fs/cgroup/kubepods /sys/fs/cgroup/memory/kubepods -name cgroup.procs -exec cat {} + 2>/dev/null | head -n 1)" ]; then c=systemd; fi
  else c=systemd; fi
  [ "$c" = cgroupfs ] && kv cgroupfs yes
fi
[ -r @CA@ ] && kv ca "$(sha256sum <@CA@ | cut -d' ' -f1)"
[ -r @ETCDCA@ ] && kv etcdca "$(sha256sum <@ETCDCA@ | cut -d' ' -f1)"
[ -r /var/lib/eggo-node/node ] && systemctl is-active --quiet kubelet >/dev/null 2>&1 && kv kubelet "$(p=/usr/local/bin/kubelet; [ -x $p ] || p=/usr/bin/kubelet; timeout 60 $p --version 2>/dev/null || true)"
own=''
# shellcheck disable=SC2043 # several are put there
for p in @MARKERS@; do if [ -e "${p#*:}" ]; then own=${p%%:*}; kv ownruntime "$own"; fi; done
# active KEY UNITS: the first of several
# shellcheck disable=SC2086 # the units are split
active() { systemctl is-active $2 2>/dev/null | awk -v k="$1" -v u="$2" 'BEGIN {split(u,n," ")} $1=="active" || $1=="reloading" {print k "=" n[NR]}'; }
[ -n "$own" ] || active runtime 'containerd docker isulad crio'
[ -e /etc/docker/daemon.json ] && kv dockerjson yes
[ -s @KUBECONFIG@ ] && kv joined yes
active active 'kubelet kube-apiserver etcd kube-proxy k3s k0scontroller k0sworker rke2-server rke2-agent'
# shellcheck disable=SC2010 # one name, whatever else there is
for p in /etc/kubernetes /etc/rancher /etc/k0s /var/lib/k0s /var/lib/etcd /var/lib/kubelet /etc/cni/net.d; do [ -d "$p" ] && ls -A $p 2>/dev/null | grep -qvx 'lost+found' && kv present $p; done
# there PATH: sets q to the part of a path that is there
there() { q=$1; while [ ! -e "$q" ]; do q=${q%/*}; q=${q:-/}; done; }
# shellcheck disable=SC2043
each() { for p in @PATHS@; do there "$p"; df -PB1 "$q" 2>/dev/null | awk -v p="$p" 'NR==2 {print "free=" p " " $1 " " $4}'; done; }
set --
# shellcheck disable=SC2043
for p in @PATHS@; do there "$p"; set -- "$@" "$q"; done
# One df for all; one for each where a place has no answer, which is left unknown then.
df -PB1 "$@" 2>/dev/null | awk -v p='@PATHS@' '{is[NR]=$1 " " $4} END {if (split(p,at," ")!=NR-1) exit 1; for (i in at) print "free=" at[i] " " is[i+1]}' || each
for p in /opt/eggo/*/bin/*; do case $p in *.eggo-part) ;; *) if [ -f "$p" ]; then kv version "$p"; fi ;; esac; done
resolv=''
if [ -r /etc/resolv.conf ]; then
  resolv=/etc/resolv.conf
  stub=/run/systemd/resolve/resolv.conf
  if [ -r $stub ] && ! awk '$1=="nameserver" && $2 !~ /^127\./ {f=1} END {exit !f}' $resolv; then resolv=$stub; fi
  awk '$1=="nameserver" && $2 !~ /^127\./ && $2!="::1" {print "nameserver=yes"; exit}' $resolv
fi
kv resolv "$resolv"
if command -v ip >/dev/null 2>&1; then ip -4 route get @SERVICE@ >/dev/null 2>&1 || kv noroute yes; fi
# Who turned it off for now, as the load balancer of the original eggo does, has it again when the machine starts.
if [ "$(cat /sys/fs/selinux/enforce 2>/dev/null || true)" = 1 ] || { [ -e /sys/fs/selinux/enforce ] && grep -qs '^SELINUX=enforcing' /etc/selinux/config; }; then kv selinux enforcing; fi
e=@ENDPOINT@
if [ -n "$e" ]; then
  if sed -n '/^# eggo begin$/,/^# eggo end$/p' /etc/hosts 2>/dev/null | awk -v e="$e" '{for (i=2;i<=NF;i++) if ($i==e) f=1} END {exit !f}'; then kv resolves ours
  elif getent hosts "$e" >/dev/null 2>&1; then kv resolves yes
  else kv resolves no; fi
fi
awk '$2=="/tmp" && $4 ~ /noexec/ {print "noexectmp=yes"}' /proc/mounts
