package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// driverWords are in texts of a driver alone: units of components, and where their files are. Whoever else has one of
// them is written for one driver.
func driverWords() []string {
	return []string{"kube-apiserver.service", "kube-controller-manager.service", "kube-scheduler.service",
		"kube-proxy.service", "kubelet.service", "etcd.service", "coredns.service",
		"/etc/kubernetes/", "/etc/etcd", "/var/lib/etcd",
		"kubelet-client-current", "kubelet-server-current"}
}

// driverNames are components; who means one says driver.APIServer. The kubelet, etcd and CoreDNS are not among them:
// phases and steps have their names too.
func driverNames() []string {
	return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}
}

// driverPatterns find names of components where they must be units: systemd takes them without their ending, too. In a
// script every word counts.
func driverPatterns(script bool) []*regexp.Regexp {
	out := []*regexp.Regexp{regexp.MustCompile(`\b(?:systemctl|journalctl)\b[^\n;|&]*[ '"](` +
		strings.Join(append(driverNames(), "kubelet", "etcd", "coredns"), "|") + `)(?:[^.\w-]|$)`)}
	if script {
		out = append(out, regexp.MustCompile(`\b(`+strings.Join(driverNames(), "|")+`)(?:[^.\w-]|$)`))
	}
	return out
}

// apart are the files outside drivers that may have one of the words, and why. The kubelet is a unit with every driver.
var apart = map[string]map[string]string{
	"internal/phases/node/facts/facts.sh": {
		"/var/lib/etcd":  "a trace of whatever cluster the machine is or was in, whoever made it",
		"kubelet":        "a unit with every driver; and a trace, as the next two are",
		"kube-apiserver": "a trace of a cluster that somebody else made", "kube-proxy": "likewise"},
	"internal/phases/preflight/check_takeover_versions.go": {
		"/etc/kubernetes/": "what kubeadm runs of a cluster that is not ours yet"},
	"internal/phases/payload/host/ports.go": {"kubelet.service": "the firewall is up before the kubelet starts"},
	"internal/phases/pki/pki.go": {"kube-apiserver": "the name of a certificate, whichever way the component runs",
		"kube-proxy": "likewise"},
	"internal/phases/node/lib.sh": {"kubelet.service": "whose node the tables of the network are",
		"kube-proxy.service": "likewise, of records of earlier versions too"},
}

// namesComponent are the words of drivers in the texts of a file, each with its line. Comments are none of them.
func namesComponent(path string, src []byte) (map[string]int, error) {
	out, patterns := map[string]int{}, driverPatterns(strings.HasSuffix(path, ".sh"))
	look := func(text string, line int) {
		for _, w := range driverWords() {
			if strings.Contains(text, w) {
				out[w] = line
			}
		}
		if slices.Contains(driverNames(), text) {
			out[text] = line
		}
		for _, re := range patterns {
			for _, m := range re.FindAllStringSubmatch(text, -1) {
				out[m[1]] = line
			}
		}
	}
	if strings.HasSuffix(path, ".sh") {
		for i, line := range strings.Split(string(src), "\n") {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				look(line, i+1)
			}
		}
		return out, nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				look(text, fset.Position(lit.Pos()).Line)
			}
		}
		return true
	})
	return out, nil
}

// TestNothingOutsideADriverNamesAComponent: docs/decisions/0026-drivers.md. Tests and what is there for them apart.
func TestNothingOutsideADriverNamesAComponent(t *testing.T) {
	used := map[string]bool{}
	elsewhere := []string{"internal/phases/component/driver", "internal/phases/takeover",
		"internal/phases/takeover/foreign"} // whose clusters were not made by a driver
	read := func(file string, text []byte) {
		if !strings.HasPrefix(file, "internal/phases/") || strings.HasSuffix(file, "_test.go") ||
			slices.ContainsFunc(elsewhere, func(d string) bool { return strings.HasPrefix(file, d+"/") }) {
			return
		}
		words, err := namesComponent(file, text)
		if err != nil {
			t.Error(err)
		}
		for w, line := range words {
			if apart[file][w] == "" {
				t.Errorf("%s:%d names %q: that is the driver's", file, line, w)
			}
			used[file+w] = true
		}
	}
	sources(t, read)
	files(t, ".sh", read)
	for path, words := range apart {
		for w := range words {
			if !used[path+w] {
				t.Errorf("%s has no %q any more: take it out of the list", path, w)
			}
		}
	}
}

func TestANameOfAComponentIsSeen(t *testing.T) {
	script := "# kubelet.service is a unit\n\nif x; then systemctl stop etcd.service; fi\n"
	if got, _ := namesComponent("a.sh", []byte(script)); got["etcd.service"] != 3 || len(got) != 1 {
		t.Error(got)
	}
	script = "active runtime 'docker'\nactive active 'kube-proxy k3s'\n" +
		"systemctl is-active --quiet kubelet && x\n"
	if got, _ := namesComponent("a.sh", []byte(script)); got["kube-proxy"] != 2 ||
		got["kubelet"] != 3 || len(got) != 2 {
		t.Error(got)
	}
	for text, want := range map[string]string{
		`var a = "systemctl stop etcd.service\n"`:                "etcd.service",
		"var a = `\nsystemctl restart kubelet.service\n`":        "kubelet.service",
		`var a = "journalctl -u kubelet -n 20"`:                  "kubelet",
		`var a = "x; systemctl stop etcd"`:                       "etcd",
		`var a = "systemctl is-active 'kube-proxy'"`:             "kube-proxy",
		`var a = "df /var/lib/etcd"`:                             "/var/lib/etcd",
		`var a = "/etc/etcd/etcd.conf"`:                          "/etc/etcd",
		`var a = "systemctl stop kubelet-extra etcd-backup"`:     "",
		`var a = "systemctl stop x; echo etcd"`:                  "",
		`var a = "cat /etc/kubernetes/pki/ca.crt"`:               "/etc/kubernetes/",
		`var a = "/etc/kuber\u006eetes/admin.conf"`:              "/etc/kubernetes/",
		`var a = "/var/lib/kubelet/pki/kubelet-client-current."`: "kubelet-client-current",
		`var a = "kube-apiserver"`:                               "kube-apiserver",
		`var a = "the kube-apiserver of the bundle"`:             "",
		"// etcd.service is a unit\nvar a = \"etcd\"":            "",
		`var a = "/etc/kubernetes"`:                              "",
	} {
		got, err := namesComponent("a.go", []byte("package a\n\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got[want] == 0 && want != "" || want == "" && len(got) > 0 {
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
}
