package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// hookLog is where hooks and scripts on a node say that they ran; /run is no part of a listing.
const hookLog = "/run/e2e-hooks"

// hookText is a hook: its name, what the manual promises it in its environment, and what of the node was there when it
// ran.
func hookText(name string) string {
	return `#!/bin/sh
here=; for f in /etc/kubernetes/admin.conf /usr/local/bin/kubelet; do [ ! -e $f ] || here="$here,$(basename $f)"; done
echo "` + name +
		` $EGGO_OPERATOR $EGGO_HOOK_TYPE $EGGO_CLUSTER_ID $EGGO_CLUSTER_API_ENDPOINT $EGGO_CLUSTER_CONFIG_DIR $EGGO_NODE_NAME $EGGO_NODE_IP $EGGO_NODE_ARCH $EGGO_NODE_ROLE kubelet=$(systemctl is-active kubelet) here=${here#,}" >>` + hookLog + "\n"
}

// packagesBundle packs the default spec in a layout, with a package, files, a directory, a manifest and scripts beside
// it that no role gets by itself.
func packagesBundle(t *testing.T, s *stand.Stand, layout string) (bundle string, spec map[string]any) {
	t.Helper()
	w := workshopOn(t, s)
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(s.Dir, "parts", name)
		must(t, name, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, name, os.WriteFile(file, []byte(text), mode))
		must(t, name, os.Chmod(file, mode))
	}
	put("site.conf", "of the site\n", 0o644)
	put("filed.yaml", configMap("filed"), 0o644)
	put("added.yaml", configMap("added"), 0o644)
	put("tools/bin/run", "#!/bin/sh\necho ran\n", 0o755)
	put("tools/conf/.hidden", "yes\n", 0o644)
	files := []any{map[string]any{"name": "site.conf", "path": "parts/site.conf", "dst": "/etc/kubernetes",
		"mode": "0640", "roles": []any{}},
		map[string]any{"name": "filed.yaml", "path": "parts/filed.yaml", "dst": "/etc/kubernetes", "roles": []any{}}}
	for _, schedule := range []string{"prejoin", "postjoin", "precleanup", "postcleanup"} {
		put(schedule+".sh", hookText(schedule), 0o644)
		files = append(files, map[string]any{"name": schedule + ".sh", "path": "parts/" + schedule + ".sh",
			"dst": "/tmp", "roles": []any{}})
	}
	path := w.spec(t, "packages-"+layout, func(doc map[string]any) {
		doc["layout"], doc["files"] = layout, files
		doc["dirs"] = []any{map[string]any{"name": "tools", "path": "parts/tools", "dst": "/root/.eggo",
			"roles": []any{}}}
		doc["addons"] = append(doc["addons"].([]any), map[string]any{"name": "added.yaml", "path": "parts/added.yaml"})
		p := doc["packages"].(map[string]any)
		p["install"] = append(p["install"].([]any), map[string]any{"name": "jq", "roles": []any{}})
		spec = doc
	})
	return filepath.Join(w.pack(t, path, runtime.GOARCH), "packages-"+layout+"-"+runtime.GOARCH+".tar.gz"), spec
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// ownRepository gives every node an apt repository of its own with a package that needs another one.
func ownRepository(t *testing.T, s *stand.Stand, nodes int) {
	t.Helper()
	dir := t.TempDir()
	var index strings.Builder
	for name, more := range map[string]string{"e2e-tool": "Depends: e2e-library\n", "e2e-library": ""} {
		control := "Package: " + name + "\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody\n" + more +
			"Description: of a test\n"
		root := filepath.Join(dir, name)
		must(t, name, os.MkdirAll(filepath.Join(root, "DEBIAN"), 0o755))
		must(t, name, os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755))
		must(t, name, os.WriteFile(filepath.Join(root, "DEBIAN/control"), []byte(control), 0o644))
		must(t, name, os.WriteFile(filepath.Join(root, "usr/bin", name), []byte("#!/bin/sh\n"), 0o755))
		program(t, "dpkg-deb", "--root-owner-group", "--build", root, filepath.Join(dir, name+".deb"))
		data, err := os.ReadFile(filepath.Join(dir, name+".deb"))
		must(t, name, err)
		fmt.Fprintf(&index, "%sFilename: ./%s.deb\nSize: %d\nSHA256: %x\n\n", control, name, len(data),
			sha256.Sum256(data))
	}
	must(t, "Packages", os.WriteFile(filepath.Join(dir, "Packages"), []byte(index.String()), 0o644))
	archive := filepath.Join(dir, "repository.tar")
	program(t, "tar", "-cf", archive, "-C", dir, "e2e-tool.deb", "e2e-library.deb", "Packages")
	for k := 1; k <= nodes; k++ {
		f, err := os.Open(archive)
		must(t, "repository", err)
		c := s.Lab.SSH(t.Context(), fmt.Sprintf("n%d", k),
			"mkdir /srv/repository && tar -xf - -C /srv/repository && echo 'deb [trusted=yes] file:/srv/repository "+
				"./' >/etc/apt/sources.list.d/site.list")
		c.Stdin = f
		out, err := c.CombinedOutput()
		_ = f.Close()
		must(t, "repository: "+string(out), err)
	}
}

// everyType is a list with one of each type, as the older layout writes it.
func everyType(dst, url string) []string {
	return []string{
		"{name: jq, type: pkg, " + dst + ": ''}", "{name: e2e-tool, type: repo, " + dst + ": ''}",
		"{name: site.conf, type: file, " + dst + ": /root/.eggo/site}",
		"{name: tools, type: dir, " + dst + ": /usr/local/bin}", "{name: agnhost, type: image}",
		"{name: filed.yaml, type: yaml}", "{name: added.yaml, type: yaml}",
		"{name: '" + url + "', type: yaml}", "{name: prejoin.sh, type: shell, schedule: prejoin}",
		"{name: postjoin.sh, type: shell, schedule: postjoin, timeout: 60s}",
		"{name: precleanup.sh, type: shell, schedule: precleanup}",
		"{name: postcleanup.sh, type: shell, schedule: postcleanup}",
	}
}

// wholeList is a role's list in the older layout: what the manifest would give it, by name, and one of each type.
func wholeList(spec map[string]any, role, url string) string {
	var out []string
	has := func(x any) bool {
		for _, r := range x.(map[string]any)["roles"].([]any) {
			if r == role {
				return true
			}
		}
		return false
	}
	for _, x := range spec["packages"].(map[string]any)["install"].([]any) {
		if has(x) {
			out = append(out, "{name: "+x.(map[string]any)["name"].(string)+", type: pkg, dstpath: ''}")
		}
	}
	for _, x := range spec["binaries"].([]any) {
		if !has(x) {
			continue
		}
		b := x.(map[string]any)
		names := []string{b["name"].(string)}
		if pick, ok := b["pick"].(map[string]any); ok {
			names = nil
			for _, n := range pick {
				names = append(names, n.(string))
			}
		}
		for _, n := range names {
			out = append(out, "{name: "+n+", type: binary, dstpath: "+b["dst"].(string)+"}")
		}
	}
	if role == "control-plane" {
		out = append(out, "{name: addons, type: binary, dstpath: /etc/kubernetes}")
	}
	if role != "etcd" {
		out = append(out, everyType("dstpath", url)...)
	}
	return "\n  - " + strings.Join(out, "\n  - ") + "\n"
}

// TestPackagesAndHooks deploys packages of all types, from a flat bundle by lists that stand in place of the manifest's
// and from a typed one by additions to it, with scripts of deploy.yaml and hooks of the command line: each is looked up
// on the machines, the second run changes nothing, and a purge leaves the machines as they were.
func TestPackagesAndHooks(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(configMap("fetched")))
	}))
	defer web.Close()
	url := web.URL + "/fetched.yaml"
	ownRepository(t, s, 2)
	hooks := hookFiles(t)
	before := untouched(t, s, 2)
	source := "package-src:\n  type: tar.gz\n  x86src: "

	t.Run("flat", func(t *testing.T) {
		bundle, spec := packagesBundle(t, s, "flat")
		base := packagesBase(t, s, bundle)
		file, err := s.Vary(base, "flat.yaml", source,
			"pacakges:\n  master:"+wholeList(spec, "control-plane", url)+"  node:"+wholeList(spec, "worker", url)+
				"  etcd:"+wholeList(spec, "etcd", url)+source)
		must(t, "deploy.yaml", err)
		packagesLife(t, s, "flat", base, file, hooks, before)
		if t.Failed() {
			return
		}
		s.Say("== what is not in the bundle, and what may not be where, is told before anything is touched")
		for old, now := range map[string]string{"name: tools, type: dir": "name: tolls, type: dir",
			"name: postjoin.sh": "name: absent.sh", "name: agnhost, type: image": "name: acmhost, type: image"} {
			wrong, err := s.Vary(file, "wrong.yaml", old, now)
			must(t, "deploy.yaml", err)
			name, _, _ := strings.Cut(strings.TrimPrefix(now, "name: "), ",")
			if err := try(t, s, 6, "deploy", "-f", wrong).Has(name); err != nil {
				t.Error(err)
			}
			if got, err := s.Packs(t.Context(), nil, "verify", bundle, "-f", wrong); err != nil || got.Code != 6 ||
				got.Has("config.not-in-bundle", name) != nil {
				t.Errorf("eggo-bundle verify: %d %v\n%s", got.Code, err, tail(got.Out, 20))
			}
		}
		wrong, err := s.Vary(file, "wrong.yaml", "/root/.eggo/site", "/etc/cron.d")
		must(t, "deploy.yaml", err)
		if err := try(t, s, 2, "deploy", "-f", wrong).Has("config.dst", "/etc/cron.d"); err != nil {
			t.Error(err)
		}
		same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
	})
	t.Run("typed", func(t *testing.T) {
		bundle, _ := packagesBundle(t, s, "typed")
		base := packagesBase(t, s, bundle)
		list := "\n    - " + strings.Join(everyType("dst", url), "\n    - ") + "\n"
		file, err := s.Vary(base, "typed.yaml", source+bundle+"\n",
			"install:\n  package-source: {type: tar.gz, srcpath: {"+runtime.GOARCH+": "+bundle+
				"}}\n  addition:\n    master:"+list+"    worker:"+list)
		must(t, "deploy.yaml", err)
		packagesLife(t, s, "typed", base, file, hooks, before)
	})
}

func packagesBase(t *testing.T, s *stand.Stand, bundle string) string {
	t.Helper()
	s.Bundle = bundle
	base, err := s.Deploy("root.yaml", "parts", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	return base
}

// hookFiles are the hooks of the command line, as the manual wants them.
func hookFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "hooks", os.Mkdir(filepath.Join(dir, "first.d"), 0o750))
	for _, name := range []string{"first.d/10-a.sh", "first.d/20-b.bash", "workers.sh", "etcds.sh", "after.sh"} {
		file := filepath.Join(dir, name)
		must(t, name, os.WriteFile(file, []byte(hookText(filepath.Base(name))), 0o750))
		must(t, name, os.Chmod(file, 0o750))
	}
	return dir
}

// packagesLife deploys, looks everything up, deploys in vain, and cleans up.
func packagesLife(t *testing.T, s *stand.Stand, layout, base, file, hooks string, before []lab.Snapshot) {
	ctx := t.Context()
	c, problems, err := config.LoadFile(base)
	must(t, fmt.Sprint("deploy.yaml: ", problems), err)
	address := map[string]string{}
	for _, n := range c.Nodes {
		address[n.Name] = n.IP.String()
	}
	line := func(name, operator, kind, node, role, kubelet, here string) string {
		return strings.Join([]string{name, operator, kind, "parts", address["n1"] + ":6443", "/etc/kubernetes", node,
			address[node], runtime.GOARCH, role, "kubelet=" + kubelet, "here=" + here}, " ")
	}
	ran := func(want map[string][]string) {
		t.Helper()
		for node, lines := range want {
			got, err := s.Lab.Run(ctx, node, "cat "+hookLog+"; rm -f "+hookLog)
			must(t, "hooks of "+node, err)
			if wanted := strings.Join(lines, "\n") + "\n"; got != wanted {
				t.Errorf("hooks of %s:\n%swant\n%s", node, got, wanted)
			}
		}
	}

	s.Say("== %s: a link that leads out of the white list is found by preflight", layout)
	_, err = s.Lab.Run(ctx, "n2", "mkdir /srv/elsewhere && ln -s /srv/elsewhere /root/.eggo")
	must(t, "link", err)
	if err := try(t, s, 5, "deploy", "-f", file).Has("node.outside-whitelist", "/srv/elsewhere"); err != nil {
		t.Error(err)
	}
	_, err = s.Lab.Run(ctx, "n2", "rm /root/.eggo && rmdir /srv/elsewhere")
	must(t, "nothing was put there", err)
	_, err = s.Each(ctx, 2, "rm -f "+hookLog)
	must(t, "hooks", err)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	_, err = s.Each(ctx, 2, "rm -f "+hookLog)
	must(t, "hooks", err)
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })

	s.Say("== %s: deploy", layout)
	try(t, s, 0, "deploy", "-f", file, "--cluster-prehook", filepath.Join(hooks, "first.d"), "--cluster-prehook",
		filepath.Join(hooks, "workers.sh")+",worker",
		"--cluster-posthook", filepath.Join(hooks, "etcds.sh")+",etcd", "--cluster-posthook",
		filepath.Join(hooks, "after.sh")+",worker")
	programs, all := "kubelet", "admin.conf,kubelet"
	ran(map[string][]string{
		"n1": {line("10-a.sh", "deploy", "cluster-prehook", "n1", "master,etcd", "inactive", ""),
			line("20-b.bash", "deploy", "cluster-prehook", "n1", "master,etcd", "inactive", ""),
			line("prejoin", "deploy", "prehook", "n1", "master,etcd", "inactive", programs),
			line("postjoin", "deploy", "posthook", "n1", "master,etcd", "active", all),
			line("etcds.sh", "deploy", "cluster-posthook", "n1", "master,etcd", "active", all)},
		"n2": {line("workers.sh", "deploy", "cluster-prehook", "n2", "worker", "inactive", ""),
			line("prejoin", "deploy", "prehook", "n2", "worker", "inactive", programs),
			line("postjoin", "deploy", "posthook", "n2", "worker", "active", programs),
			line("after.sh", "deploy", "cluster-posthook", "n2", "worker", "active", programs)},
	})
	looked, err := s.Each(ctx, 2, `set -e
jq --version >/dev/null
dpkg-query -W -f '${Package}=${Version} ' e2e-tool e2e-library
stat -c '%n=%a' /root/.eggo/site/site.conf /usr/local/bin/tools/bin/run /usr/local/bin/tools/conf/.hidden
/usr/local/bin/tools/bin/run; cat /usr/local/bin/tools/conf/.hidden
ctr -n k8s.io images ls -q | grep -x 'registry.k8s.io/e2e-test-images/agnhost:2.57'`)
	must(t, "packages", err)
	for i, got := range looked {
		if want := "e2e-library=1.0 e2e-tool=1.0 /root/.eggo/site/site.conf=640\n/usr/local/bin/tools/bin/run=755\n" +
			"/usr/local/bin/tools/conf/.hidden=644\nran\nyes\nregistry.k8s.io/e2e-test-images/agnhost:2.57"; got != want {
			t.Errorf("on n%d:\n%s\nwant\n%s", i+1, got, want)
		}
	}
	if layout == "flat" {
		onNode(t, s, "cmp /etc/kubernetes/addons/added.yaml - <<'Y'\n"+configMap("added")+
			"Y\n[ -e /etc/kubernetes/addons/kube-flannel.yml ]", "")
	}
	for _, name := range []string{"filed", "added", "fetched"} {
		_, err := s.Kubectl(ctx, "get", "configmap", name)
		must(t, "manifest "+name, err)
	}
	must(t, "nodes", stand.Until(ctx, 2*time.Minute, "both nodes are Ready", func(ctx context.Context) error {
		out, err := s.Kubectl(ctx, "get", "nodes", "--no-headers")
		if err == nil && strings.Count(out, " Ready ") != 2 {
			err = fmt.Errorf("%s", out)
		}
		return err
	}))

	s.Say("== %s: the same again", layout)
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "parts")

	s.Say("== %s: cleanup", layout)
	_, err = s.Lab.Run(ctx, "n2", "mv /usr/local/bin/tools /srv/tools && ln -s /srv/tools /usr/local/bin/tools")
	must(t, "link", err)
	got := try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge", "--cluster-prehook",
		filepath.Join(hooks, "workers.sh")+",worker", "--cluster-posthook", filepath.Join(hooks, "after.sh")+",worker")
	if err := got.Has("/usr/local/bin/tools/bin/run"); err != nil {
		t.Errorf("what was kept: %v\n%s", err, tail(got.Out, 30))
	}
	ran(map[string][]string{
		"n1": {line("precleanup", "cleanup", "prehook", "n1", "master,etcd", "active", all),
			line("postcleanup", "cleanup", "posthook", "n1", "master,etcd", "inactive", "")},
		"n2": {line("workers.sh", "cleanup", "cluster-prehook", "n2", "worker", "active", programs),
			line("precleanup", "cleanup", "prehook", "n2", "worker", "active", programs),
			line("postcleanup", "cleanup", "posthook", "n2", "worker", "inactive", ""),
			line("after.sh", "cleanup", "cluster-posthook", "n2", "worker", "inactive", "")},
	})
	_, err = s.Lab.Run(ctx, "n2", "[ \"$(/srv/tools/bin/run)\" = ran ] && rm -r /srv/tools /usr/local/bin/tools")
	must(t, "what the link leads to is kept", err)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	_, err = s.Each(ctx, 2, "rm -f "+hookLog)
	must(t, "hooks", err)
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}
