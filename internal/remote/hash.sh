if command -v openssl >/dev/null 2>&1 && [ "$(printf abc | openssl dgst -sha256 -r 2>/dev/null | cut -c1-8)" = ba7816bf ]; then
  hash() { openssl dgst -sha256 -r | cut -c1-64; }
else
  hash() { sha256sum | cut -c1-64; }
fi
size() { wc -c <"$1" | tr -d " "; }
room() { df -Pk "${path%/*}/" | awk 'NR==2 && $2>0 {print $4; f=1} END {if (!f) print "-"}'; }
part=$path.eggo-part
