fw=''
if command -v firewall-cmd >/dev/null 2>&1 && systemctl is-active --quiet firewalld >/dev/null 2>&1; then
  fw=firewalld
  kv firewalld ''
  dev=$(ip -o addr show 2>/dev/null | awk '{sub("/.*","",$4)} $4=="@IP@" {print $2; exit}')
  zone=$({ firewall-cmd --get-zone-of-interface="$dev" 2>/dev/null || firewall-cmd --get-default-zone 2>/dev/null || true; } | tail -n 1)
  kv firewalld "zone: $zone"
  { LC_ALL=C firewall-cmd --zone="$zone" --list-all 2>/dev/null || echo 'sources: unknown'; } | sed 's/^/firewalld=/'
  { LC_ALL=C firewall-cmd --permanent --zone="$zone" --list-all 2>/dev/null || :; } | sed 's/^ */firewalld=permanent /'
  LC_ALL=C firewall-cmd --get-active-zones 2>/dev/null | awk '/^[^ ]/ {z=$1} $1=="sources:" && z!="trusted" {$1=$1; print "firewalld=" $0}'
fi
if command -v ufw >/dev/null 2>&1 && LC_ALL=C ufw status 2>/dev/null | grep -qx 'Status: active'; then
  fw=ufw
  LC_ALL=C ufw status verbose 2>/dev/null | sed 's/^/ufw=/'
fi
if [ -z "$fw" ]; then
  ipt=''
  for v in iptables ip6tables; do
    command -v $v >/dev/null 2>&1 || continue
    ipt="$ipt $v"
    # Not $v -S: the legacy variant makes the table that it lists, and the alternative points to it while the package is being installed.
    for c in $($v-save 2>/dev/null | awk '/^\*/ {t=$1} t=="*filter" && (/^:INPUT DROP / || /^:FORWARD DROP /) {print substr($1,2)}'); do
      kv nftables "$v $c"
    done
  done
  if command -v nft >/dev/null 2>&1; then
    nft list ruleset 2>/dev/null | awk -v ipt="$ipt" '
      /^table / {f=$2; t=$3}
      /^\tchain / {c=$2}
      / hook (input|forward) .*policy drop/ {
        if (t=="filter" && (f=="ip" && ipt ~ / iptables/ || f=="ip6" && ipt ~ /ip6tables/) && c ~ /^(INPUT|FORWARD)$/) next
        print "nftables=nft " f " " t " " c " " ($0 ~ / hook forward / ? "forward" : "input")
      }'
  fi
fi
