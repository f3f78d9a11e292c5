# The manifest of a static pod, as kubeadm makes it, beside the one that the kubelet has.
made="$D/pods/$NAME"
rm -rf "$made"
[ -d "$D/pods" ] || mkdir -m 700 "$D/pods"
mkdir -m 700 "$made"
[ -d "$PATCHES" ] || mkdir -m 755 "$PATCHES"
set -- init phase "$@" --config "$CONF" --dry-run
KUBEADM_INIT_DRYRUN_DIR=$made "$KUBEADM" "$@" >"$made/log" 2>&1 </dev/null || {
  tail -n 20 "$made/log" >&2
  exit 1
}
if [ ! -s "$made/$NAME.yaml" ]; then
  echo "kubeadm made no manifest of $NAME" >&2
  exit 1
fi
# a uid of its own: else the kubelet makes one of all fields that its version knows
sed "s/^metadata:\$/&\\n  uid: \"$POD_UID\"/" "$made/$NAME.yaml" >"$made/with-uid"
if ! grep -q '^  uid: ' "$made/with-uid"; then
  echo "kubeadm made a manifest of $NAME without metadata" >&2
  exit 1
fi
mv -f "$made/with-uid" "$made/$NAME.yaml"
