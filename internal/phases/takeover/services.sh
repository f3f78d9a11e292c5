# How the services among UNITS run that are not ours yet: "unit NAME", and of each then "arg WORD" of its command line, "env VARIABLE=VALUE"
# of etcd's environment, "version WORD", "dropin FILE" of one that starts it in another way, "file PATH" and "conf LINE" of its configuration,
# "var VARIABLE" of what else a program heeds and only its unit says, without the value, which may have a password,
# "pub LINE" of the keys by which an API server verifies tokens, "sum FLAG SUM" of the keys that it reads, without what is blank,
# "swap FILE" of what turns on again the swap that its unit turns off, "main PID" of the process that systemd has started, whatever it is.
pids() { printf '%s\n' "$1"; tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null || true; }
for u in $UNITS; do
  [ ! -e "$APPLIED/$u.service" ] || continue
  case $u in
  kubelet | kube-proxy) ;; # somebody may have put something in their place
  *) [ "$(systemctl show -p LoadState --value "$u.service" 2>/dev/null || true)" != not-found ] || continue ;; # of a role that the node gets now
  esac
  printf 'unit %s\n' "$u"
  for f in $(systemctl show -p DropInPaths --value "$u.service" 2>/dev/null || true); do
    if [ "$u" != kubelet ] && [ -f "$f" ] && grep -q '^ *ExecStart *=' "$f"; then printf 'dropin %s\n' "$f"; fi
  done
  if [ "$u" = kubelet ] && systemctl show -p ExecStartPre --value kubelet.service 2>/dev/null | grep -q swapoff &&
    awk '$1 !~ /^#/ && $3=="swap" {f=1} END {exit !f}' /etc/fstab 2>/dev/null; then echo 'swap /etc/fstab'; fi
  main=$(systemctl show -p MainPID --value "$u.service" 2>/dev/null || true)
  case $main in '' | 0 | *[!0-9]*) continue ;; esac
  printf 'main %s\n' "$main"
  p=''
  for x in $(pids "$main"); do # a shell may have started it
    exe=$(readlink "/proc/$x/exe" 2>/dev/null || true)
    exe=${exe% (deleted)}
    word=$(tr '\n\0' ' \n' 2>/dev/null <"/proc/$x/cmdline" | head -n 1) || true # a link may have led to it
    if [ "${exe##*/}" = "$u" ] || [ "${word##*/}" = "$u" ]; then p=$x; fi
  done
  [ -n "$p" ] && [ -r "/proc/$p/cmdline" ] || continue
  tr '\n\0' ' \n' <"/proc/$p/cmdline" | sed 's/^/arg /'
  heeded "$p" "$u"
  # flags NAME: its values, flag NAME: the last one
  flags() { tr '\n\0' ' \n' <"/proc/$p/cmdline" | sed -n -e "s/^--*$1=//p" -e "/^--*$1\$/{n;p;}"; }
  flag() { flags "$1" | tail -n 1; }
  case $u in
  etcd) tr '\n\0' ' \n' <"/proc/$p/environ" | grep '^ETCD_' | sed 's/^/env /' ;;
  kube-apiserver)
    for name in service-account-signing-key-file encryption-provider-config; do
      at=$(flag $name)
      if [ -n "$at" ] && [ -r "$at" ]; then printf 'sum %s %s\n' "$name" "$(tr -d ' \t\r\n' <"$at" | sha256sum | cut -d' ' -f1)"; fi
    done
    flags service-account-key-file | while IFS= read -r at; do
      if [ -r "$at" ]; then grep -h '' "$at" | sed 's/^/pub /'; fi
    done ;;
  kubelet | kube-proxy)
    at=$(flag config)
    if [ -n "$at" ] && [ -r "$at" ]; then
      printf 'file %s\n' "$at"
      sed 's/^/conf /' "$at"
      echo
    fi ;;
  esac
  printf 'version %s\n' "$(timeout 20 "/proc/$p/exe" --version 2>/dev/null | awk 'NR==1 {print $NF}')"
done
