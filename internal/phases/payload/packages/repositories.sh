export DEBIAN_FRONTEND=noninteractive LC_ALL=C NEEDRESTART_MODE=l
repo_list() {
  if [ "$repo_pm" = apt ]; then dpkg-query -W -f '${db:Status-Status} ${Package}\n' | awk '$1=="installed" {print $2}' | sort -u
  else rpm -qa --qf '%{NAME}.%{ARCH}\n' | grep -v '^gpg-pubkey[.]' | sort -u; fi
}
repo_missing() {
  repo_list >/dev/null
  for p in "$@"; do
    if [ "$repo_pm" = apt ]; then repo_list | grep -qxF "$p" || echo "$p"
    else rpm -q --quiet "$p" || rpm -q --quiet --whatprovides "$p" || echo "$p"; fi
  done
}
repo_record() {
  kind=package; [ "$repo_pm" = apt ] || kind=rpm
  repo_list | while IFS= read -r p; do grep -qxF "$p" "$D/repo-known" || rec $kind "$p" absent; done
  newcomers
  rm -f "$D/repo-known"
}
repo_install() {
  [ -e "$D/repo-known" ] || { repo_list >"$D/repo-known.new"; mv "$D/repo-known.new" "$D/repo-known"; }
  census
  s=0
  if [ "$repo_pm" = apt ]; then
    apt-get -q -o DPkg::Lock::Timeout=600 update && apt-get -q -y --no-remove -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install "$@" || s=$?
  elif command -v dnf >/dev/null 2>&1; then dnf -y install "$@" || s=$?
  else yum -y install "$@" || s=$?; fi
  repo_record
  return $s
}
