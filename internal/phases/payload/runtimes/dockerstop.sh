systemctl stop cri-dockerd.service 2>/dev/null || true
if command -v docker >/dev/null 2>&1 && systemctl is-active --quiet docker; then
  for i in 1 2 3 4 5 6; do
    ids=$(timeout 20 docker ps -aq --filter label=io.kubernetes.docker.type) || break
    [ -n "$ids" ] || break
    # shellcheck disable=SC2086 # several containers
    timeout 60 docker rm -f $ids >/dev/null 2>&1 || true
    sleep 0.5
  done
fi
if has unit docker.service; then
  systemctl stop docker.socket docker.service 2>/dev/null || true
  for n in /run/docker/netns/*; do [ -e "$n" ] || continue; umount "$n" 2>/dev/null || true; rm -f "$n"; done
fi
