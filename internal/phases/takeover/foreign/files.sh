# file PATH: its path and its content in base64, if it is there
file() {
  if [ -f "$1" ] && [ -r "$1" ]; then printf '%s %s\n' "$1" "$(head -c 1048576 "$1" | base64 | tr -d '\n')"; fi
}
