package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/assets/eggops"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// operatorImage is the name of the operator's image on the nodes of the lab.
const operatorImage = "registry.lab/eggo/eggops:lab"

// meta is a cluster of the lab with the operator. Its kubectl is that of the stand.
type meta struct {
	*testing.T
	*stand.Stand
}

// newMeta installs a cluster on n1 with eggo-tui, and the operator in it: image, manifests, policies, and a namespace
// with a claim that has the bundle.
func newMeta(t *testing.T, s *stand.Stand) *meta {
	t.Helper()
	ctx := t.Context()
	file, err := s.Deploy("meta.yaml", "meta", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "meta.yaml", err)
	deploy(t, s, file)
	c := exec.CommandContext(ctx, "make", "-C", filepath.Join(s.Root, "cmd/eggops"), "docker-build", "ARCH=amd64",
		"IMG="+operatorImage)
	out, err := c.CombinedOutput()
	must(t, "docker-build: "+string(out), err)
	m := &meta{t, s}
	m.copy("n1", filepath.Join(s.Root, "bin/eggops-image/eggops-amd64.tar"), "/var/eggops.tar")
	m.copy("n1", s.Bundle, "/var/bundles/eggo-amd64.tar.gz")
	_, err = s.Lab.Run(ctx, "n1", "ctr -n k8s.io images import /var/eggops.tar && rm /var/eggops.tar")
	must(t, "import of the image", err)
	manifest, err := eggops.Manifest(operatorImage)
	must(t, "eggops.yaml", err)
	policies, err := eggops.Policies()
	must(t, "policies", err)
	for _, text := range []string{string(manifest), string(policies), poolNamespace} {
		must(t, "apply", s.Apply(ctx, text))
	}
	_, err = s.Kubectl(ctx, "-n", eggops.Namespace, "rollout", "status", "deployment/eggops-manager", "--timeout=120s")
	must(t, "rollout of the operator", err)
	t.Cleanup(func() {
		if t.Failed() {
			m.explain()
		}
	})
	return m
}

// poolNamespace has a claim with the bundle of n1.
const poolNamespace = `apiVersion: v1
kind: Namespace
metadata: {name: lab, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: bundles}
spec:
  capacity: {storage: 4Gi}
  accessModes: [ReadOnlyMany]
  storageClassName: ""
  hostPath: {path: /var/bundles}
  claimRef: {namespace: lab, name: bundles}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bundles, namespace: lab}
spec:
  accessModes: [ReadOnlyMany]
  storageClassName: ""
  volumeName: bundles
  resources: {requests: {storage: 1Gi}}
`

// copy copies a file to a node.
func (m *meta) copy(node, from, to string) {
	m.Helper()
	f, err := os.Open(from)
	must(m.T, from, err)
	defer f.Close()
	c := m.Lab.SSH(m.Context(), node, "mkdir -p "+shell.Quote(filepath.Dir(to))+" && cat > "+shell.Quote(to)+
		" && chmod 0644 "+shell.Quote(to))
	c.Stdin = f
	out, err := c.CombinedOutput()
	must(m.T, "copy to "+node+": "+string(out), err)
}

// apply applies objects of the namespace lab.
func (m *meta) apply(text string) {
	m.Helper()
	must(m.T, "apply", m.Apply(m.Context(), text))
}

// get returns a field of an object of the namespace lab, as JSONPath.
func (m *meta) get(object, path string) string {
	m.Helper()
	out, err := m.Kubectl(m.Context(), "-n", "lab", "get", object, "-o", "jsonpath="+path)
	must(m.T, "get "+object, err)
	return out
}

// until waits until a condition of an object has a status.
func (m *meta) until(object, kind, status string, limit time.Duration) {
	m.Helper()
	path := fmt.Sprintf(`{range .status.conditions[?(@.type=="%s")]}{.status} {.reason}: {.message}{end}`, kind)
	last := ""
	err := stand.Until(m.Context(), m.Limit(limit), object+" "+kind+"="+status, func(context.Context) error {
		is := m.get(object, path)
		if is != last {
			m.Say("%s %s=%s %s", object, kind, is, m.get(object, "{.status.currentOperation}"))
			last = is
		}
		if !strings.HasPrefix(is, status+" ") {
			return fmt.Errorf("%s", is)
		}
		return nil
	})
	must(m.T, object, err)
}

// machine returns a Machine of a node of the lab with its host keys, which logs in with the Secret pool.
func (m *meta) machine(node, role string) string {
	m.Helper()
	address, err := m.Lab.Address(node)
	must(m.T, "address", err)
	key, err := m.Lab.Run(m.Context(), node, "cat /etc/ssh/ssh_host_ed25519_key.pub")
	must(m.T, "host key", err)
	return fmt.Sprintf(`---
apiVersion: eggo.isula.org/v1
kind: Machine
metadata: {name: %s, namespace: lab, labels: {role: %s}}
spec:
  hostname: %[1]s
  arch: amd64
  ip: %[3]s
  loginSecretRef: {name: pool}
  hostKeys: [%[4]q]
`, node, role, address, strings.TrimSpace(key))
}

// pool returns the Secret with the login of the lab's nodes.
func (m *meta) pool() string {
	m.Helper()
	key, err := os.ReadFile(m.Lab.IdentityFile())
	must(m.T, "key", err)
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: pool, namespace: lab}\ntype: kubernetes.io/ssh-auth\n" +
		"stringData:\n  username: root\n  ssh-privatekey: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(string(key)), "\n", "\n    ") + "\n"
}

// of runs kubectl for a cluster of the operator, with the kubeconfig of its Secret.
func (m *meta) of(cluster string, args ...string) (string, error) {
	m.Helper()
	line := "kubectl -n lab get secret " + cluster + "-kubeconfig -o 'jsonpath={.data.value}' --kubeconfig " +
		"/etc/kubernetes/admin.conf | base64 -d > /run/" + cluster + ".conf && kubectl --kubeconfig /run/" + cluster +
		".conf " + shell.QuoteAll(args)
	return m.Lab.Run(m.Context(), "n1", line)
}

// explain says what the operator has of everything, when a test has failed.
func (m *meta) explain() {
	ctx := context.WithoutCancel(m.Context())
	for _, args := range [][]string{{"-n", "lab", "get", "em,ec,eop,emb,ei,jobs,pods", "-o", "wide"},
		{"-n", "lab", "get", "ec,eop,em,ei", "-o", "yaml"}, {"-n", "lab", "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", "lab", "describe", "jobs,pods"},
		{"-n", eggops.Namespace, "logs", "deployment/eggops-manager", "--tail=200"}} {
		out, err := m.Kubectl(ctx, args...)
		m.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	out, err := m.Kubectl(ctx, "-n", "lab", "logs", "-l", "app.kubernetes.io/name=eggops", "--tail=60")
	m.Logf("runs: %v\n%s", err, out)
}
