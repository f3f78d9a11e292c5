# in_group GID: who besides root is in a group
in_group() {
  { getent group "$1" 2>/dev/null || awk -F: -v g="$1" '$3==g' /etc/group; } |
    awk -F: '{n=split($4,m,","); for (i=1;i<=n;i++) if (m[i]!="" && m[i]!="root") print m[i]}'
  { getent passwd 2>/dev/null || cat /etc/passwd; } | awk -F: -v g="$1" '$4==g && $3!=0 {print $1}'
}
# closed DIR: nobody but root can change what is in it. In a sticky one others cannot rename what is root's. A group may
# write to it when nobody is in the group, as in Debian's /usr/local (root:staff).
closed() {
  [ -d "$1" ] || return 1
  set -- "$1" $(stat -c '%u 0%a %g' "$1")
  [ "$2" = 0 ] || [ -O "$1" ] || return 1
  [ $(($3 & 022)) -ne 0 ] && [ $(($3 & 01000)) -eq 0 ] || return 0
  case $(ls -ld "$1") in ??????????+*) return 1 ;; esac # of an ACL the mask stands where the group's rights do
  [ $(($3 & 02)) -eq 0 ] && [ -z "$(in_group "$4")" ]
}
