# account NAME DIR: a user and a group of ours as which nobody logs in, and who may pass through DIR to what is theirs below it. One that
# is there already is used as it is; not that of a person, nor root by another name.
account() {
  if ! grep -q "^$1:" /etc/passwd && ! id "$1" >/dev/null 2>&1; then
    if grep -q "^$1:" /etc/group; then g="--gid $1"; else rec group "$1" eggo; g=--user-group; fi
    rec user "$1" eggo
    # shellcheck disable=SC2086 # an option and its value
    useradd --system $g --no-create-home --home-dir "$2" --shell /usr/sbin/nologin "$1"
  fi
  u=$(id -u "$1")
  { [ "$u" -gt 0 ] && [ "$u" -lt 1000 ]; } || fail node.account "$1"
  case $(stat -c %a "$2") in
  *[1357]) ;;
  *) has tree "$2" || rec mode "$2" "$(stat -c %a "$2")"; chmod o+x "$2" ;;
  esac
}
