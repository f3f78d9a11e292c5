package binary

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
)

// Stop implements driver.Driver.
func (r *Binary) Stop(cs ...driver.Component) string { return "systemctl stop " + units(cs) + "\n" }

// Resume implements driver.Driver. etcd's notify answers only once there is a leader, which a member alone cannot have.
func (r *Binary) Resume(cs ...driver.Component) string {
	return "systemctl start --no-block " + units(cs) + "\n"
}

// Restart implements driver.Driver.
func (r *Binary) Restart(c driver.Component) string { return "systemctl restart " + unit(c) + "\n" }

// Stale implements driver.Driver.
func (r *Binary) Stale(c driver.Component) string { return "rm -f $D/applied/" + unit(c) + "\n" }

// StopAll implements driver.Driver: it is the kubelet that starts containers.
func (r *Binary) StopAll() string {
	return "systemctl stop " + units([]driver.Component{driver.Kubelet, driver.Proxy}) + " 2>/dev/null || true\n"
}

// certScript prints the certificates that lie in these files; of those that hold a key too only the certificate.
const certScript = `for f in ` + pkiDir + `/*.crt ` + pkiDir + `/etcd/*.crt ` + clientCert + ` @SERVING@; do
  [ -r "$f" ] || continue
  printf 'cert=%s %s\n' "$f" "$(awk '/-BEGIN CERTIFICATE-/ {p=1} p {printf "%s", $0 "|"} /-END CERTIFICATE-/ {exit}' "$f")"
done
for f in ` + kubeDir + `/*.conf ` + corednsConf + `; do
  [ -r "$f" ] || continue
  printf 'conf=%s %s\n' "$f" "$(awk '$1=="client-certificate-data:" {print $2; exit}' "$f")"
done
`

// StatusScript implements driver.Driver.
func (r *Binary) StatusScript(n config.Node) string { return r.StatusOf(n, r.Components(n)) }

// StatusOf is the StatusScript of a node on which these components are services.
func (r *Binary) StatusOf(n config.Node, services []driver.Component) string {
	serving := "" // without enable-kubelet-serving one of an earlier time may lie there
	if r.Cluster.KubeletServing {
		serving = servingCert
	}
	script := ""
	if len(services) > 0 {
		script = systemd.StatusScript(Units(services...)...)
	}
	return script + strings.ReplaceAll(certScript, "@SERVING@", serving)
}

// SupportUnits implements driver.Driver.
func (r *Binary) SupportUnits() []string {
	return strings.Fields(units([]driver.Component{driver.Etcd, driver.APIServer, driver.ControllerManager,
		driver.Scheduler, driver.Kubelet, driver.Proxy, driver.CoreDNS}))
}
