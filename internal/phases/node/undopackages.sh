# shellcheck disable=SC2086 # lists of packages are split
here() { dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' @ 2>/dev/null | awk "$1"; }
have=$(here '$1!="not-installed" && $1!="config-files" {print $2}')
all=yes
hold=$(held dpkg-query -S | sed 's/:.*//')
more=$hold
while [ -n "$more" ]; do # what these need stays with them
  needs=" $(dpkg-query -W -f '${Pre-Depends},${Depends},' $more 2>/dev/null | tr ',|' '\n\n' | awk '{sub(/:.*/, "", $1); print $1}' | tr '\n' ' ') "
  more=
  for p in $have; do case " $hold " in *" ${p%%:*} "*) ;; *) case $needs in *" ${p%%:*} "*) more="$more ${p%%:*}" ;; esac ;; esac; done
  hold="$(echo $hold) $(echo $more)"
done
gone=
for p in $have; do case " $hold " in *" ${p%%:*} "*) keep "package ${p%%:*} (firewalld uses it)" ;; *) gone="$gone $p" ;; esac; done
have=$gone
[ -z "$have" ] || dpkgw --remove $have || for p in $have; do dpkgw --remove "$p" || { keep "package $p"; all=; }; done
# Debian's docker leaves a program beside its images with which the purge would take them, whoever they are of.
rm -f /var/lib/docker/nuke-graph-directory.sh
left=
for p in $(here '$1=="config-files" {print $2}'); do has residue "${p%%:*}" || left="$left $p"; done
[ -z "$left" ] || dpkgw --purge $left
[ -z "$all" ] || expel
