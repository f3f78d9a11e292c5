# accounts: the users and groups of the system; people have higher numbers
accounts() {
  awk -F: '$3<1000 {print "user", $1}' /etc/passwd
  awk -F: '$3<1000 {print "group", $1}' /etc/group
}
# census PACKAGE...: what is there before these packages come; an installation that was cut off has counted already
census() {
  [ ! -e "$D/accounts" ] || return 0
  for p in "$@"; do
    case $p in nginx-common) ds='/etc/nginx /var/lib/nginx' ;; *) ds= ;; esac
    for d in $ds; do [ -z "$(ls -A "$d" 2>/dev/null)" ] || rec residue "$p" "$d"; done
    case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || :) in config-files) rec residue "$p" config-files ;; esac
  done
  accounts >"$D/accounts.new"
  mv -f "$D/accounts.new" "$D/accounts"
}
# newcomers: the users and groups that came with the packages are recorded
newcomers() {
  [ -e "$D/accounts" ] || return 0
  accounts | grep -vxF -f "$D/accounts" | while read -r k a; do rec "$k" "$a" absent; done || :
  rm -f "$D/accounts"
}
# expel: they go after the packages; those that we made for a service of ours (account.sh) stay. One that somebody has taken into use is kept, and said.
expel() {
  newcomers
  awk -F'\t' '$1=="user" && $3!="eggo" {print $2}' "$R" | while read -r a; do
    ! grep -q "^$a:" /etc/passwd || userdel "$a" >/dev/null 2>&1 || keep "user $a"
  done
  awk -F'\t' '$1=="group" && $3!="eggo" {print $2}' "$R" | while read -r a; do
    case $(grep "^$a:" /etc/group || :) in
    '') ;;
    *:) groupdel "$a" >/dev/null 2>&1 || keep "group $a" ;;
    *) keep "group $a" ;;
    esac
  done
}
