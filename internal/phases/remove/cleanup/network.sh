for l in cni0 flannel.1 flannel-v6.1 vxlan.calico cilium_vxlan cilium_host; do ip link show "$l" >/dev/null 2>&1 && ip link del "$l" || true; done
for v in iptables ip6tables; do
  command -v $v-save >/dev/null 2>&1 || continue
  $v-save | awk '
    function ours(c) { return c ~ /^((KUBE|FLANNEL|CNI|cali)-|CILIUM_)/ }
    /^\*/ { table=$0; n=0; next }
    /^:/ { c=substr($1,2); if (ours(c)) chain[++n]=c; next }
    /^-A/ && /--comment "?cali:/ { if (!ours($2)) { r=$0; sub(/^-A/,"-D",r); del[++d]=r } next }
    /^-A/ { if (!ours($2)) for (i=3;i<NF;i++) if (($i=="-j" || $i=="-g") && ours($(i+1))) { r=$0; sub(/^-A/,"-D",r); del[++d]=r } next }
    /^COMMIT/ { if (n+d) { print table; for (i=1;i<=d;i++) print del[i]; for (i=1;i<=n;i++) print "-F " chain[i]; for (i=1;i<=n;i++) print "-X " chain[i]; print "COMMIT" } n=0; d=0 }
  ' >"$D/rules.$v"
  [ ! -s "$D/rules.$v" ] || $v-restore --noflush <"$D/rules.$v"
  rm -f "$D/rules.$v"
done
if grep -q '	/var/lib/calico	' "$R"; then # calico's routes to the pods of other nodes, and to none of this one's
  for v in -4 -6; do ip $v route flush proto 80 2>/dev/null || true; done
fi
# Tables that were not there before go when nothing but empty chains of the kernel's hooks is left in them.
if command -v nft >/dev/null 2>&1; then
  awk -F'\t' '$1=="table" {print $2}' "$R" | while read -r family t; do
    nft list table "$family" "$t" >"$D/table" 2>/dev/null || continue
    if awk '/^#/ || /^table / || /^\tchain / || /^\t\ttype [a-z]+ hook [a-z]+ priority [^;]+; policy accept;$/ || /^\t?}$/ || /^$/ {next} {exit 1}' "$D/table"; then nft delete table "$family" "$t"; fi
  done
  rm -f "$D/table"
fi
